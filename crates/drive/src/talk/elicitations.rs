//! Forms and pages: what the agent asks of the user, and who gives the orders answers.
//!
//! The watcher opens an elicitation when its line comes by, before the line is told as an event: so no answer can come too early. The task
//! that answers the agent then waits for the answer, the end of the turn, or the end of the orders.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use lapidary_json::{Kind, Token};
use lapidary_vocab::command::ElicitationResponse;
use lapidary_vocab::event::{DecidedBy, ElicitationAction, ElicitationRequest};
use lapidary_vocab::{Json, Text};
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use super::stage::{Stage, session_of};
use crate::acp::{Incoming, Refusal};

/// So many elicitations may wait for an answer. One more is declined.
const MOST_OPEN: usize = 64;

/// The longest message that is put to a user, in bytes.
const LONGEST_MESSAGE: usize = 64 << 10;

/// The longest form or address, in bytes.
const LONGEST_FORM: usize = 256 << 10;

const NO_USER: &str = "no user is there to fill in a form: ask in your answer instead";
const TOO_MUCH: &str = "the form is too long, or too many of them are open";
const NOT_ANSWERED: &str = "the client ended before the user had answered";
const CANCELLED: &str = "the turn was cancelled";

/// The elicitations of a conversation that wait for an answer.
#[derive(Debug, Default)]
pub(super) struct Elicitations(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    /// Those that wait for a command, under their ids.
    open: BTreeMap<String, oneshot::Sender<ElicitationReply>>,
    /// Those whose requests are not handled yet, under the numbers of their lines.
    seen: BTreeMap<u64, oneshot::Receiver<ElicitationReply>>,
    /// Commands do not come any more.
    is_closed: bool,
}

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

impl Elicitations {
    /// A request has come by. If it is not too much to ask, it can be answered from now on.
    pub(super) fn see(&self, number: u64, request: &ElicitationRequest) {
        let form = request
            .requested_schema
            .as_ref()
            .map_or(0, |it| it.as_str().len());
        let url = request.url.as_ref().map_or(0, Text::size);
        let is_short = request.message.size() <= LONGEST_MESSAGE && form.max(url) <= LONGEST_FORM;
        let mut state = self.state();
        state.open.retain(|_, reply| !reply.is_closed());
        if is_short && !state.is_closed && state.open.len() < MOST_OPEN {
            let (reply, replied) = oneshot::channel();
            state.open.insert(request.request_id.to_string(), reply);
            state.seen.insert(number, replied);
        }
    }

    /// Answers a request, if it still waits.
    pub(super) fn reply(&self, id: &Text, reply: ElicitationReply) -> Result<(), &'static str> {
        let open = self.state().open.remove(&id.to_string());
        let open = open.ok_or("no elicitation of this id waits for an answer")?;
        let sent = open.send(reply);
        sent.map_err(|_| "the agent has withdrawn the elicitation")
    }

    /// Commands do not come any more: what is open, and what still comes, is declined.
    pub(super) fn close(&self) {
        let mut state = self.state();
        state.is_closed = true;
        state.open.clear();
    }

    fn take(&self, number: u64) -> Result<oneshot::Receiver<ElicitationReply>, &'static str> {
        let mut state = self.state();
        let why = if state.is_closed {
            NOT_ANSWERED
        } else {
            TOO_MUCH
        };
        state.seen.remove(&number).ok_or(why)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Answers a request of the agent's. It is about a session, or about one of our requests before there is a session.
pub(super) async fn answer(incoming: Incoming, stage: &Stage) {
    let params = incoming.params.clone().unwrap_or_else(Json::empty_object);
    let session = session_of(&params);
    let turn = stage.turn_of(&session);
    let is_named = params.token().get("sessionId").is_some();
    let taken = match &stage.elicitations {
        Some(elicitations) => elicitations.take(incoming.number),
        None => Err(NO_USER),
    };
    if is_named && turn.is_none() {
        let message = "unknown session";
        let refusal = Refusal::new(Refusal::BAD_PARAMS, message);
        return incoming.respond.refuse(&refusal);
    }
    let reply = match taken {
        Ok(replied) => waited_for(replied, &incoming, turn, stage).await,
        Err(why) => ElicitationReply::declined(why),
    };
    incoming.respond.answer(&reply.into_json());
}

async fn waited_for(
    replied: oneshot::Receiver<ElicitationReply>,
    incoming: &Incoming,
    turn: Option<CancellationToken>,
    stage: &Stage,
) -> ElicitationReply {
    let cancelled = || ElicitationReply::by_us(ElicitationAction::Cancel, CANCELLED);
    let turn_is_over = async {
        match &turn {
            Some(turn) => turn.cancelled().await,
            None => std::future::pending().await,
        }
    };
    let _asked = stage.being_asked();
    // Each of these can be cancelled: there is at most one reply.
    tokio::select! {
        biased;
        () = turn_is_over => cancelled(),
        () = incoming.respond.cancelled() => cancelled(),
        replied = replied => replied.unwrap_or_else(|_| ElicitationReply::declined(NOT_ANSWERED)),
    }
}
