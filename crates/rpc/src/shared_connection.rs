//! State that both directions of a connection share: pending requests of either side, and the queue of lines to send.
//!
//! Nothing in here waits. The lock is held for a moment, never across an `await`.

mod incoming;

pub use incoming::{IncomingRequest, IncomingRequests, RequestResponder};

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use lapidary_vocab::{Json, Text};
use tokio::sync::{Notify, mpsc, oneshot};
use tokio_util::sync::CancellationToken;

use super::error::{ConnectionError, RequestError, RpcError};
use super::limits::{ConnectionLimits, HandledMethods};
use super::log::{LineFacts, TrafficLog};
use super::message::{AnswerExpectation, RequestAnswer, RequestId};
use super::outgoing;

/// The cost of an open request beside its line.
const REQUEST: usize = 512;

pub(super) type RequestResult = Result<RequestAnswer, RequestError>;

#[derive(Debug)]
pub(super) struct SharedConnection {
    state: Mutex<ConnectionState>,
    /// There is a line to send, or none will follow.
    news: Notify,
    pub(super) log: Arc<TrafficLog>,
    pub(super) limits: ConnectionLimits,
    methods: HandledMethods,
}

#[derive(Debug)]
struct ConnectionState {
    /// Our next id.
    next: u64,
    pending: HashMap<u64, oneshot::Sender<RequestResult>>,
    /// The agent's requests that are not answered yet.
    open: HashMap<u64, OpenCalls>,
    open_bytes: usize,
    serial: u64,
    handler: Option<mpsc::UnboundedSender<IncomingRequest>>,
    outbox: VecDeque<Arc<str>>,
    outbox_bytes: usize,
    /// Nothing will be said any more once the outbox is empty.
    is_hanging_up: bool,
    closed: Option<ConnectionError>,
}

#[derive(Debug)]
struct OpenCalls {
    id: RequestId,
    bytes: usize,
    cancelled: CancellationToken,
}

/// A request of the agent, as it was read.
pub(super) struct RawRequest {
    pub(super) number: u64,
    pub(super) id: RequestId,
    pub(super) method: Text,
    pub(super) params: Option<Json>,
    pub(super) bytes: usize,
    pub(super) facts: Option<LineFacts>,
}

impl SharedConnection {
    pub(super) fn new(
        log: Arc<TrafficLog>,
        methods: HandledMethods,
        limits: ConnectionLimits,
        handler: mpsc::UnboundedSender<IncomingRequest>,
    ) -> Self {
        Self {
            state: Mutex::new(ConnectionState {
                next: 0,
                pending: HashMap::new(),
                open: HashMap::new(),
                open_bytes: 0,
                serial: 0,
                handler: Some(handler),
                outbox: VecDeque::new(),
                outbox_bytes: 0,
                is_hanging_up: false,
                closed: None,
            }),
            news: Notify::new(),
            log,
            limits,
            methods,
        }
    }

    /// Sends a request.
    pub(super) fn send_request(
        &self,
        method: &str,
        params: Option<&Json>,
    ) -> Result<(RequestId, oneshot::Receiver<RequestResult>), RequestError> {
        let mut state = self.lock_state();
        state.check_usable()?;
        let waiting = state.pending.len();
        if waiting >= self.limits.pending {
            return Err(RequestError::TooMany { waiting });
        }
        let (sender, told) = oneshot::channel();
        let number = state.next;
        let id = RequestId::from_token(number);
        state.next += 1;
        state.pending.insert(number, sender);
        let said = self.queue_line(&mut state, outgoing::request_line(&id, method, params));
        drop(state);
        said.inspect_err(|error| self.close_with_reason(error))?;
        Ok((id, told))
    }

    /// Sends a line that wants no answer.
    pub(super) fn send_line(&self, line: Arc<str>) -> Result<(), ConnectionError> {
        let mut state = self.lock_state();
        state.check_usable()?;
        let said = self.queue_line(&mut state, line);
        drop(state);
        said.inspect_err(|error| self.close_with_reason(error))
    }

    /// The answer to this request is no longer needed. The agent is told, unless it has answered.
    pub(super) fn give_up(&self, id: &RequestId) {
        let pending = id
            .number()
            .and_then(|number| self.lock_state().pending.remove(&number));
        if pending.is_some() {
            let _ = self.send_line(outgoing::cancel_request(id)); // if there is no connection, nothing is to cancel
        }
    }

    /// The request that waits for this answer, and whether there ever was one.
    pub(super) fn take_awaited(
        &self,
        id: &RequestId,
    ) -> (AnswerExpectation, Option<oneshot::Sender<RequestResult>>) {
        let mut state = self.lock_state();
        let Some(number) = id.number().filter(|number| *number < state.next) else {
            return (AnswerExpectation::Never, None);
        };
        match state.pending.remove(&number) {
            Some(sender) => (AnswerExpectation::Awaited, Some(sender)),
            None => (AnswerExpectation::Before, None),
        }
    }

    /// A request of the agent: its handler gets it, or, if there is none, the agent gets an error at once.
    pub(super) fn take_request(self: &Arc<Self>, asking: RawRequest) {
        if let Err((id, refusal)) = self.hand_over(asking) {
            let _ = self.send_line(outgoing::answer_line(&id, Err(&refusal)));
        }
    }

    /// Whether a handler exists for a method.
    pub(super) fn has_handler(&self, method: &Text) -> bool {
        self.methods.has_method(method)
    }

    fn hand_over(self: &Arc<Self>, asking: RawRequest) -> Result<(), (RequestId, RpcError)> {
        if !self.methods.has_method(&asking.method) {
            let refusal = RpcError::new(RpcError::NO_METHOD, "method not found");
            return Err((asking.id, refusal));
        }
        let mut state = self.lock_state();
        let bytes = asking.bytes + REQUEST;
        if state.open.len() >= self.limits.open
            || (state.open_bytes + bytes > self.limits.open_bytes && !state.open.is_empty())
        {
            let refusal = RpcError::new(RpcError::INTERNAL, "too many requests are unanswered");
            return Err((asking.id, refusal));
        }
        let Some(handler) = state.handler.clone() else {
            return Ok(()); // no answer can be sent any more
        };
        let responder = RequestResponder {
            shared: Arc::clone(self),
            serial: state.serial,
            id: asking.id.clone(),
            cancelled: CancellationToken::new(),
            is_answered: false,
        };
        state.open(&responder, bytes);
        drop(state);
        // If the receiver is gone, the responder is returned and dropped, and that is an answer.
        let _ = handler.send(IncomingRequest {
            number: asking.number,
            id: asking.id,
            method: asking.method,
            params: asking.params,
            facts: asking.facts,
            respond: responder,
        });
        Ok(())
    }

    /// The agent does not want to know any more.
    pub(super) fn cancel_request(&self, id: &RequestId) {
        let state = self.lock_state();
        let meant = state.open.values().filter(|open| open.id == *id);
        let tokens: Vec<_> = meant.map(|open| open.cancelled.clone()).collect();
        drop(state);
        for token in tokens {
            token.cancel();
        }
    }

    /// Answers the agent.
    pub(super) fn send_answer(
        &self,
        serial: u64,
        id: &RequestId,
        outcome: Result<&Json, &RpcError>,
    ) {
        self.lock_state().settle_request(serial);
        let _ = self.send_line(outgoing::answer_line(id, outcome)); // without a connection the answer is not needed
    }

    /// The next line to send. None if there will be none. Can be cancelled.
    pub(super) async fn next_line(&self) -> Option<Arc<str>> {
        loop {
            {
                let mut state = self.lock_state();
                if let Some(line) = state.outbox.pop_front() {
                    state.outbox_bytes -= line.len();
                    return Some(line);
                }
                if state.is_hanging_up || state.closed.is_some() {
                    return None;
                }
            }
            self.news.notified().await;
        }
    }

    /// How much is still to be said.
    pub(super) fn unsent_bytes(&self) -> usize {
        self.lock_state().outbox_bytes
    }

    /// Sends the queued lines and no more: the agent reads the end of its stdin.
    pub(super) fn hang_up(&self) {
        self.lock_state().is_hanging_up = true;
        self.news.notify_one();
    }

    /// Ends the connection: every pending request fails with the reason. The first reason counts.
    pub(super) fn close_with_reason(&self, why: &ConnectionError) {
        let mut state = self.lock_state();
        if state.closed.is_some() {
            return;
        }
        state.closed = Some(why.clone());
        state.outbox = VecDeque::new();
        state.outbox_bytes = 0;
        state.handler = None;
        let pending = std::mem::take(&mut state.pending);
        let open = std::mem::take(&mut state.open);
        drop(state);
        for sender in pending.into_values() {
            let _ = sender.send(Err(why.clone().into())); // a caller that has given up need not know
        }
        for open in open.into_values() {
            open.cancelled.cancel();
        }
        self.news.notify_one();
    }

    /// Why the connection has ended, if it has.
    pub(super) fn closing_reason(&self) -> Option<ConnectionError> {
        self.lock_state().closed.clone()
    }

    fn queue_line(
        &self,
        state: &mut ConnectionState,
        line: Arc<str>,
    ) -> Result<(), ConnectionError> {
        let unread = state.outbox_bytes + line.len();
        if unread > self.limits.unread_bytes && !state.outbox.is_empty() {
            return Err(ConnectionError::NotReading { unread });
        }
        state.outbox_bytes = unread;
        state.outbox.push_back(line);
        self.news.notify_one();
        Ok(())
    }

    fn lock_state(&self) -> MutexGuard<'_, ConnectionState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ConnectionState {
    fn check_usable(&self) -> Result<(), ConnectionError> {
        match &self.closed {
            Some(why) => Err(why.clone()),
            None if self.is_hanging_up => Err(ConnectionError::Released),
            None => Ok(()),
        }
    }

    fn open(&mut self, responder: &RequestResponder, bytes: usize) {
        let open = OpenCalls {
            id: responder.id.clone(),
            bytes,
            cancelled: responder.cancelled.clone(),
        };
        self.open.insert(self.serial, open);
        self.open_bytes += bytes;
        self.serial += 1;
    }

    fn settle_request(&mut self, serial: u64) {
        if let Some(open) = self.open.remove(&serial) {
            self.open_bytes -= open.bytes;
        }
    }
}
