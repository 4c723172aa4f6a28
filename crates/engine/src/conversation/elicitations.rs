//! Elicitations: forms and pages that the agent wants filled in by the user, and that a client answers.
//!
//! The line observer opens an elicitation in the [inbox](crate::client::ClientInbox) and attaches it to the request. The task that
//! answers the agent waits for the answer, the end of the turn, or the end of the commands.

use lapidary_vocab::Json;
use lapidary_vocab::event::ElicitationAction;
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use super::conversation_state::{ConversationState, session_of};
use crate::acp::{IncomingRequest, RpcError};
use crate::client::{ElicitationReply, PromptTarget};

const NO_USER: &str = "no user is there to fill in a form: ask in your answer instead";
const TOO_MUCH: &str = "the form is too long, or too many of them are open";
const NOT_ANSWERED: &str = "the client ended before the user had answered";
const CANCELLED: &str = "the turn was cancelled";

/// Answers an elicitation. It is about a session, or about one of our requests before there is a session.
pub(super) async fn answer_elicitation(
    incoming: IncomingRequest,
    open: Option<oneshot::Receiver<ElicitationReply>>,
    state: &ConversationState,
) {
    let params = incoming.params.clone().unwrap_or_else(Json::empty_object);
    let session = session_of(&params);
    let turn = state.lock_table().turn_of(&session);
    let is_named = params.token().get("sessionId").is_some();
    let open = open.ok_or_else(|| match &state.prompts {
        PromptTarget::Client(inbox) if inbox.is_closed() => NOT_ANSWERED,
        PromptTarget::Client(_) => TOO_MUCH,
        PromptTarget::Nobody | PromptTarget::Person(_) => NO_USER,
    });
    if is_named && turn.is_none() {
        let message = "unknown session";
        let refusal = RpcError::new(RpcError::BAD_PARAMS, message);
        return incoming.respond.refuse(&refusal);
    }
    let reply = match open {
        Ok(replied) => waited_for(replied, &incoming, turn, state).await,
        Err(why) => ElicitationReply::declined_by_us(why),
    };
    incoming.respond.answer(&reply.into_json());
}

async fn waited_for(
    replied: oneshot::Receiver<ElicitationReply>,
    incoming: &IncomingRequest,
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
        replied = replied => replied.unwrap_or_else(|_| ElicitationReply::declined_by_us(NOT_ANSWERED)),
    }
}
