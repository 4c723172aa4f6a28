//! A connection, as its users hold it.

use std::sync::Arc;
use std::time::Duration;

use lapidary_vocab::Json;
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;
use tokio::time::timeout;

use super::driver::{DriverGuard, drive_connection};
use super::error::{ConnectionError, RequestError};
use super::limits::{ConnectionLimits, HandledMethods};
use super::log::{TrafficLog, TrafficObserver};
use super::message::{RequestAnswer, RequestId};
use super::outgoing;
use super::shared_connection::IncomingRequests;
use super::shared_connection::{RequestResult, SharedConnection};
use super::transport::Transport;

/// A connection, with the agent's requests and the observer of its lines.
#[derive(Debug)]
pub struct OpenConnection {
    /// To speak to the agent.
    pub connection: Connection,
    /// The agent's requests.
    pub requests: IncomingRequests,
    /// Sees the lines of both directions.
    pub observer: TrafficObserver,
}

/// Connects. Has to be called on a tokio runtime with time and I/O, which drives the connection until it is over or its last
/// [`Connection`] is dropped.
pub fn connect(
    transport: impl Transport,
    methods: HandledMethods,
    limits: ConnectionLimits,
) -> OpenConnection {
    let log = Arc::new(TrafficLog::new(limits, None));
    connect_noting(transport, methods, limits, log)
}

pub(super) fn connect_noting(
    transport: impl Transport,
    methods: HandledMethods,
    limits: ConnectionLimits,
    log: Arc<TrafficLog>,
) -> OpenConnection {
    let observer = TrafficObserver::new(&log);
    let (sender, requests) = mpsc::unbounded_channel(); // as many as may be unanswered
    let shared = Arc::new(SharedConnection::new(log, methods, limits, sender));
    let task = tokio::spawn(drive_connection(
        transport,
        DriverGuard(Arc::clone(&shared)),
    ));
    OpenConnection {
        connection: Connection(Arc::new(HeldConnection { shared, task })),
        requests: IncomingRequests(requests),
        observer,
    }
}

/// Speaks to an agent. Clones speak to the same one; when the last is dropped the connection ends, and with it the agent.
#[derive(Debug, Clone)]
pub struct Connection(Arc<HeldConnection>);

#[derive(Debug)]
struct HeldConnection {
    shared: Arc<SharedConnection>,
    task: JoinHandle<()>,
}

impl Drop for HeldConnection {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Connection {
    /// Sends a request and waits for the answer, at most for `time`. If the wait ends without an answer, because the time is over
    /// or because this future is dropped, the agent gets `$/cancel_request`.
    pub async fn request(
        &self,
        method: &str,
        params: Option<&Json>,
        time: Option<Duration>,
    ) -> Result<RequestAnswer, RequestError> {
        self.ask(method, params)?.answer(time).await
    }

    /// Sends a request. The answer can be waited for later.
    pub fn ask(&self, method: &str, params: Option<&Json>) -> Result<PendingCall, RequestError> {
        let (id, answer) = self.0.shared.send_request(method, params)?;
        Ok(PendingCall {
            connection: self.clone(),
            method: method.to_owned(),
            id,
            answer,
        })
    }

    /// Sends a notification.
    pub fn notify(&self, method: &str, params: Option<&Json>) -> Result<(), ConnectionError> {
        self.0
            .shared
            .send_line(outgoing::notification_line(method, params))
    }

    /// Sends the queued lines and no more, and closes the agent's stdin: most agents end then. Their output until they do is
    /// still read.
    pub fn hang_up(&self) {
        self.0.shared.hang_up();
    }

    /// Why the connection has ended, if it has.
    pub fn ended(&self) -> Option<ConnectionError> {
        self.0.shared.closing_reason()
    }
}

/// A request that waits for its answer. Dropping it tells the agent that the answer is no longer needed.
#[derive(Debug)]
pub struct PendingCall {
    connection: Connection,
    method: String,
    id: RequestId,
    answer: oneshot::Receiver<RequestResult>,
}

impl PendingCall {
    /// The request's id.
    pub fn id(&self) -> &RequestId {
        &self.id
    }

    /// Waits for the answer, but not longer than this.
    pub async fn answer(mut self, time: Option<Duration>) -> Result<RequestAnswer, RequestError> {
        let answer = match time {
            None => (&mut self.answer).await,
            Some(time) => match timeout(time, &mut self.answer).await {
                Ok(answer) => answer,
                Err(_) => return Err(self.late_error(time)),
            },
        };
        answer.unwrap_or(Err(ConnectionError::Released.into()))
    }

    fn late_error(&self, time: Duration) -> RequestError {
        RequestError::Late {
            method: self.method.clone(),
            time,
        }
    }
}

impl Drop for PendingCall {
    fn drop(&mut self) {
        self.connection.0.shared.give_up(&self.id);
    }
}
