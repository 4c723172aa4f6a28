//! Forms and pages: what the agent asks of the user, and a client answers.
//!
//! The line observer opens an elicitation in the [inbox](super::client_inbox) and attaches it to the request. The task that answers the
//! agent waits for the answer, the end of the turn, or the end of the commands.

use lapidary_json::{Kind, Token};
use lapidary_vocab::Json;
use lapidary_vocab::command::ElicitationResponse;
use lapidary_vocab::event::{DecidedBy, ElicitationAction};
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use super::conversation_state::{ConversationState, session_of};
use super::prompt::PromptTarget;
use crate::acp::{Incoming, Refusal};

const NO_USER: &str = "no user is there to fill in a form: ask in your answer instead";
const TOO_MUCH: &str = "the form is too long, or too many of them are open";
const NOT_ANSWERED: &str = "the client ended before the user had answered";
const CANCELLED: &str = "the turn was cancelled";

/// What the agent is told.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct ElicitationReply {
    action: ElicitationAction,
    content: Option<Json>,
    by: DecidedBy,
    reason: Option<&'static str>,
}

impl ElicitationReply {
    fn by_us(action: ElicitationAction, reason: &'static str) -> Self {
        Self {
            action,
            content: None,
            by: DecidedBy::Default,
            reason: Some(reason),
        }
    }

    fn declined(reason: &'static str) -> Self {
        Self::by_us(ElicitationAction::Decline, reason)
    }

    /// A command as a reply, or what is wrong with it.
    pub(super) fn read(response: ElicitationResponse) -> Result<Self, String> {
        let action = ElicitationAction::from(&*response.action.to_str());
        if let ElicitationAction::Other(word) = &action {
            let word: String = word.chars().take(40).collect();
            return Err(format!(
                "`{word}` is not an answer: use `accept`, `decline` or `cancel`"
            ));
        }
        let content = response
            .content
            .filter(|it| it.token().non_null().is_some());
        if content.is_some() && action != ElicitationAction::Accept {
            return Err(format!("`{action}` has no `content`"));
        }
        if content.as_ref().is_some_and(|it| !is_content(it.token())) {
            let wanted = "an object whose values are texts, numbers, booleans or lists of texts";
            return Err(format!("`content` has to be {wanted}"));
        }
        Ok(Self {
            action,
            content,
            by: DecidedBy::Peer,
            reason: None,
        })
    }

    fn into_json(self) -> Json {
        let reason = self.reason.map(|it| ("reason", Json::from_value(&it)));
        let mark = [("decidedBy", Json::from_value(&self.by))];
        let mark = Json::object(mark.into_iter().chain(reason));
        let action = [("action", Json::from_value(&self.action))];
        let content = self.content.map(|content| ("content", content));
        let ours = [("_meta", Json::object([("lapidary", mark)]))];
        Json::object(action.into_iter().chain(content).chain(ours))
    }
}

/// Whether an agent can read this as what a user filled in.
fn is_content(content: Token<'_>) -> bool {
    let is_text = |token: Token<'_>| token.kind() == Kind::String;
    let is_value = |value: Token<'_>| match value.kind() {
        Kind::String | Kind::Number | Kind::Bool => true,
        Kind::Array => value.elements().all(is_text),
        Kind::Object | Kind::Null => false,
    };
    content.kind() == Kind::Object && content.members().all(|(_, value)| is_value(value))
}

/// Answers an elicitation. It is about a session, or about one of our requests before there is a session.
pub(super) async fn answer(
    incoming: Incoming,
    open: Option<oneshot::Receiver<ElicitationReply>>,
    state: &ConversationState,
) {
    let params = incoming.params.clone().unwrap_or_else(Json::empty_object);
    let session = session_of(&params);
    let turn = state.table().turn_of(&session);
    let is_named = params.token().get("sessionId").is_some();
    let open = open.ok_or_else(|| match &state.prompts {
        PromptTarget::Client(inbox) if inbox.is_closed() => NOT_ANSWERED,
        PromptTarget::Client(_) => TOO_MUCH,
        PromptTarget::Nobody | PromptTarget::Person(_) => NO_USER,
    });
    if is_named && turn.is_none() {
        let message = "unknown session";
        let refusal = Refusal::new(Refusal::BAD_PARAMS, message);
        return incoming.respond.refuse(&refusal);
    }
    let reply = match open {
        Ok(replied) => waited_for(replied, &incoming, turn, state).await,
        Err(why) => ElicitationReply::declined(why),
    };
    incoming.respond.answer(&reply.into_json());
}

async fn waited_for(
    replied: oneshot::Receiver<ElicitationReply>,
    incoming: &Incoming,
    turn: Option<CancellationToken>,
    state: &ConversationState,
) -> ElicitationReply {
    let cancelled = || ElicitationReply::by_us(ElicitationAction::Cancel, CANCELLED);
    let turn_is_over = async {
        match &turn {
            Some(turn) => turn.cancelled().await,
            None => std::future::pending().await,
        }
    };
    let _asked = state.being_asked();
    // Each of these can be cancelled: there is at most one reply.
    tokio::select! {
        biased;
        () = turn_is_over => cancelled(),
        () = incoming.respond.cancelled() => cancelled(),
        replied = replied => replied.unwrap_or_else(|_| ElicitationReply::declined(NOT_ANSWERED)),
    }
}
