//! The agent's requests to us.

use std::sync::Arc;

use lapidary_vocab::{Json, Text};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::SharedConnection;
use crate::error::RpcError;
use crate::log::LineFacts;
use crate::message::RequestId;

/// The agent's requests with a handler, in the order in which they came.
#[derive(Debug)]
pub struct IncomingRequests(pub(crate) mpsc::UnboundedReceiver<IncomingRequest>);

impl IncomingRequests {
    /// The next request. None when the connection is over. Can be cancelled.
    pub async fn next(&mut self) -> Option<IncomingRequest> {
        self.0.recv().await
    }
}

/// A request of the agent.
#[derive(Debug)]
pub struct IncomingRequest {
    /// The [number](crate::ObservedLine::number) of its line.
    pub number: u64,
    /// The agent's id for it.
    pub id: RequestId,
    /// The method.
    pub method: Text,
    /// The parameters.
    pub params: Option<Json>,
    /// The facts that the [`LineTap`](crate::LineTap) returned for its line.
    pub facts: Option<LineFacts>,
    /// How it is answered.
    pub respond: RequestResponder,
}

/// Answers one request, once. If it is dropped, the agent gets an internal error (-32603), so that it does not wait for ever.
#[derive(Debug)]
pub struct RequestResponder {
    pub(super) shared: Arc<SharedConnection>,
    /// Our own number for it: an agent may use an id twice.
    pub(super) serial: u64,
    pub(super) id: RequestId,
    pub(super) cancelled: CancellationToken,
    pub(super) is_answered: bool,
}

impl RequestResponder {
    /// Answers with a result.
    pub fn answer(mut self, result: &Json) {
        self.send_outcome(Ok(result));
    }

    /// Answers with an error.
    pub fn refuse(mut self, refusal: &RpcError) {
        self.send_outcome(Err(refusal));
    }

    /// Waits until the answer is not wanted any more: the agent says so, or is gone. Can be cancelled.
    pub async fn cancelled(&self) {
        self.cancelled.cancelled().await;
    }

    /// Whether the answer is not wanted any more. One is due anyway, unless the agent is gone.
    pub fn is_cancelled(&self) -> bool {
        self.cancelled.is_cancelled()
    }

    fn send_outcome(&mut self, outcome: Result<&Json, &RpcError>) {
        self.is_answered = true;
        self.shared.send_answer(self.serial, &self.id, outcome);
    }
}

impl Drop for RequestResponder {
    fn drop(&mut self) {
        if !self.is_answered {
            let refusal = RpcError::new(RpcError::INTERNAL, "the client did not answer");
            self.send_outcome(Err(&refusal));
        }
    }
}
