//! What the agent asks of us.

use std::sync::Arc;

use lapidary_vocab::{Json, Text};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::Shared;
use crate::error::Refusal;
use crate::log::LineFacts;
use crate::message::Id;

/// The requests of the agent that somebody handles, in the order in which they came.
#[derive(Debug)]
pub struct Requests(pub(crate) mpsc::UnboundedReceiver<Incoming>);

impl Requests {
    /// The next request. None when the connection is over. Can be cancelled.
    pub async fn next(&mut self) -> Option<Incoming> {
        self.0.recv().await
    }
}

/// A request of the agent.
#[derive(Debug)]
pub struct Incoming {
    /// The number of its line in what was [observed](crate::Observed::number).
    pub number: u64,
    /// The agent's id for it.
    pub id: Id,
    /// What is wanted.
    pub method: Text,
    /// With what.
    pub params: Option<Json>,
    /// What the [`Tap`](crate::Tap) knows of its line.
    pub facts: Option<LineFacts>,
    /// How it is answered.
    pub respond: Responder,
}

/// Answers one request, once. If it is dropped, the agent hears that something went wrong (-32603): it must not wait for ever.
#[derive(Debug)]
pub struct Responder {
    pub(super) shared: Arc<Shared>,
    /// Our own number for it: an agent may use an id twice.
    pub(super) serial: u64,
    pub(super) id: Id,
    pub(super) cancelled: CancellationToken,
    pub(super) is_answered: bool,
}

impl Responder {
    /// Gives the agent what it wants.
    pub fn answer(mut self, result: &Json) {
        self.say(Ok(result));
    }

    /// Tells the agent that it does not get it.
    pub fn refuse(mut self, refusal: &Refusal) {
        self.say(Err(refusal));
    }

    /// Waits until the answer is not wanted any more: the agent says so, or is gone. Can be cancelled.
    pub async fn cancelled(&self) {
        self.cancelled.cancelled().await;
    }

    /// Whether the answer is not wanted any more. One is due anyway, unless the agent is gone.
    pub fn is_cancelled(&self) -> bool {
        self.cancelled.is_cancelled()
    }

    fn say(&mut self, outcome: Result<&Json, &Refusal>) {
        self.is_answered = true;
        self.shared.answer(self.serial, &self.id, outcome);
    }
}

impl Drop for Responder {
    fn drop(&mut self) {
        if !self.is_answered {
            let refusal = Refusal::new(Refusal::INTERNAL, "the client did not answer");
            self.say(Err(&refusal));
        }
    }
}
