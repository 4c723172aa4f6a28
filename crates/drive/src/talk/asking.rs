//! Asking somebody, where the policy says so.

use lapidary_vocab::event::{DecidedBy, PermissionRequest};
use lapidary_vocab::{Json, Text};
use tokio::sync::{mpsc, oneshot};

use crate::policy::{Decision, Deed, Effect};

/// Who is asked.
#[derive(Debug, Clone, Default)]
pub enum Attendant {
    /// Nobody is there: what would have to be asked is denied, with a reason.
    #[default]
    Nobody,
    /// Whoever reads the other end.
    Somebody(mpsc::UnboundedSender<Question>),
    /// The program that gives the orders.
    Peer,
}

/// A question.
#[derive(Debug)]
pub struct Question {
    /// What the agent asks, as its event tells it.
    pub request: PermissionRequest,
    /// The session that it is about.
    pub session_id: Text,
    /// What it would do, as it was judged.
    pub deed: Deed,
    /// The options that the agent offers: an array, or nothing.
    pub options: Option<Json>,
    /// Why it is asked.
    pub reason: String,
    /// Where the reply goes. If it is dropped, that is a no.
    pub reply: oneshot::Sender<Reply>,
}

/// What somebody says.
#[derive(Debug, Clone, PartialEq)]
pub struct Reply {
    /// Whether it may.
    pub allowed: bool,
    /// Which of the agent's options is meant, if that was said.
    pub option_id: Option<String>,
    /// Why, in words for the agent.
    pub reason: Option<String>,
    /// Who says so.
    pub by: DecidedBy,
}

impl Reply {
    /// The reply as a decision.
    pub(super) fn decision(&self) -> Decision {
        let (effect, usual) = if self.allowed {
            (Effect::Allow, "the user allowed it")
        } else {
            (Effect::Deny, "the user denied it")
        };
        let reason = self.reason.as_deref().unwrap_or(usual);
        Decision::new(effect, self.by.clone(), reason)
    }
}
