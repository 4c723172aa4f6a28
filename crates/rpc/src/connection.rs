//! A connection, as its users hold it.

use std::sync::Arc;
use std::time::Duration;

use lapidary_vocab::Json;
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;
use tokio::time::timeout;

use super::driver::{Over, drive};
use super::error::{ConnectionError, RequestError};
use super::limits::{Limits, Methods};
use super::log::{Log, Observer};
use super::message::{Answer, Id};
use super::outgoing;
use super::shared::Requests;
use super::shared::{Shared, Told};
use super::transport::Transport;

/// A connection and what comes out of it.
#[derive(Debug)]
pub struct Connected {
    /// To speak to the agent.
    pub connection: Connection,
    /// What the agent asks.
    pub requests: Requests,
    /// All that is said.
    pub observer: Observer,
}

/// Connects. Has to be called on a tokio runtime with time and I/O, which drives the connection until it is over or its last
/// [`Connection`] is dropped.
pub fn connect(transport: impl Transport, methods: Methods, limits: Limits) -> Connected {
    let log = Arc::new(Log::new(limits, None));
    connect_noting(transport, methods, limits, log)
}

pub(super) fn connect_noting(
    transport: impl Transport,
    methods: Methods,
    limits: Limits,
    log: Arc<Log>,
) -> Connected {
    let observer = Observer::of(&log);
    let (sender, requests) = mpsc::unbounded_channel(); // as many as may be unanswered
    let shared = Arc::new(Shared::new(log, methods, limits, sender));
    let task = tokio::spawn(drive(transport, Over(Arc::clone(&shared))));
    Connected {
        connection: Connection(Arc::new(Held { shared, task })),
        requests: Requests(requests),
        observer,
    }
}

/// Speaks to an agent. Clones speak to the same one; when the last is dropped the connection ends, and with it the agent.
#[derive(Debug, Clone)]
pub struct Connection(Arc<Held>);

#[derive(Debug)]
struct Held {
    shared: Arc<Shared>,
    task: JoinHandle<()>,
}

impl Drop for Held {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Connection {
    /// Asks the agent something and waits for the answer, but not longer than this. If nobody waits any more, because it is late or
    /// because this future is dropped, the agent is told (`$/cancel_request`).
    pub async fn request(
        &self,
        method: &str,
        params: Option<&Json>,
        time: Option<Duration>,
    ) -> Result<Answer, RequestError> {
        self.ask(method, params)?.answer(time).await
    }

    /// Asks the agent something. The answer can be waited for later.
    pub fn ask(&self, method: &str, params: Option<&Json>) -> Result<Waiting, RequestError> {
        let (id, told) = self.0.shared.ask(method, params)?;
        Ok(Waiting {
            connection: self.clone(),
            method: method.to_owned(),
            id,
            told,
        })
    }

    /// Tells the agent something.
    pub fn notify(&self, method: &str, params: Option<&Json>) -> Result<(), ConnectionError> {
        self.0.shared.tell(outgoing::notification(method, params))
    }

    /// Says what is still to be said and nothing more, and closes the agent's stdin: most agents end then. What they say until they
    /// do is still read.
    pub fn hang_up(&self) {
        self.0.shared.hang_up();
    }

    /// Why the connection has ended, if it has.
    pub fn ended(&self) -> Option<ConnectionError> {
        self.0.shared.closed()
    }
}

/// A request that waits for its answer. Dropping it tells the agent that nobody does any more.
#[derive(Debug)]
pub struct Waiting {
    connection: Connection,
    method: String,
    id: Id,
    told: oneshot::Receiver<Told>,
}

impl Waiting {
    /// The request's id.
    pub fn id(&self) -> &Id {
        &self.id
    }

    /// Waits for the answer, but not longer than this.
    pub async fn answer(mut self, time: Option<Duration>) -> Result<Answer, RequestError> {
        let told = match time {
            None => (&mut self.told).await,
            Some(time) => match timeout(time, &mut self.told).await {
                Ok(told) => told,
                Err(_) => return Err(self.late(time)),
            },
        };
        told.unwrap_or(Err(ConnectionError::Released.into()))
    }

    fn late(&self, time: Duration) -> RequestError {
        RequestError::Late {
            method: self.method.clone(),
            time,
        }
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        self.connection.0.shared.give_up(&self.id);
    }
}
