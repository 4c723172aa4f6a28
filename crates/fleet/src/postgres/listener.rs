//! Listening for changes on a connection of its own, and polling where that does not work.
//!
//! A pooler in transaction mode (`PgBouncer`) accepts `LISTEN`, and drops the notifications. Whether they arrive is tried out: a
//! notification of our own must come back.

use std::future::poll_fn;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::Notify;
use tokio::task::JoinHandle;
use tokio::time::{Instant, timeout};
use tokio_postgres::{AsyncMessage, Client, Connection, NoTls};

use super::doorbell::{CHANNEL, read_payload, ring};
use super::pool::SessionPool;
use crate::{ChangeListener, ListenFuture, StoreChanges, fresh_nonce};

/// How long our own notification may take to come back.
const ECHO_TIMEOUT: Duration = Duration::from_secs(2);

/// The pause between two reports of everything while notifications arrive.
const LIVE_POLL: Duration = Duration::from_secs(10);

/// The pause between two reports of everything while no notifications arrive.
const BLIND_POLL: Duration = Duration::from_secs(1);

/// The longest pause between two attempts to listen. Behind a pooler each of them is in vain, and costs a connection and a
/// notification.
const LONGEST_RETRY: Duration = Duration::from_mins(1);

/// Listens on a connection, and polls.
#[derive(Debug)]
pub(super) struct NotifyListener {
    /// The pause before the next attempt to listen. It doubles with each that fails.
    retry: Duration,
    retry_at: Instant,
    pool: Arc<SessionPool>,
    connection: Option<ListenConnection>,
}

#[derive(Debug)]
struct ListenConnection {
    inbox: Arc<ChangeInbox>,
    task: JoinHandle<()>,
    /// The connection ends with its client.
    client: Client,
}

/// Changes that arrived. They are merged, so a slow listener costs no memory.
#[derive(Debug, Default)]
struct ChangeInbox {
    changes: Mutex<ArrivedChanges>,
    arrived: Notify,
}

#[derive(Debug, Default)]
struct ArrivedChanges {
    changes: StoreChanges,
    echo: Option<String>,
    is_closed: bool,
}

impl NotifyListener {
    pub(super) async fn new(pool: Arc<SessionPool>) -> Self {
        let connection = ListenConnection::open(&pool).await;
        Self {
            retry: BLIND_POLL,
            retry_at: Instant::now() + BLIND_POLL,
            pool,
            connection,
        }
    }

    async fn try_to_listen(&mut self) {
        self.connection = ListenConnection::open(&self.pool).await;
        self.retry = match &self.connection {
            Some(_) => BLIND_POLL,
            None => LONGEST_RETRY.min(self.retry * 2),
        };
        self.retry_at = Instant::now() + self.retry;
    }

    async fn next_changes(&mut self) -> StoreChanges {
        let Some(connection) = &self.connection else {
            tokio::time::sleep(BLIND_POLL).await;
            if Instant::now() >= self.retry_at {
                self.try_to_listen().await;
            }
            return StoreChanges::everything();
        };
        let next = timeout(LIVE_POLL, connection.inbox.next()).await;
        match next {
            Ok(Some(changes)) => changes,
            // No notification for a while: report everything, in case one was lost.
            Err(_) => StoreChanges::everything(),
            Ok(None) => {
                self.connection = None;
                StoreChanges::everything()
            }
        }
    }
}

impl ChangeListener for NotifyListener {
    fn next(&mut self) -> ListenFuture<'_> {
        Box::pin(self.next_changes())
    }

    fn is_live(&self) -> bool {
        self.connection.is_some()
    }
}

impl ListenConnection {
    /// A connection on which notifications arrive.
    async fn open(pool: &SessionPool) -> Option<Self> {
        let inbox = Arc::new(ChangeInbox::default());
        let config = &pool.address().config;
        let (client, task) = if pool.address().uses_tls {
            let tls = pool.tls().ok()?;
            let (client, connection) = config.connect(tls).await.ok()?;
            (
                client,
                tokio::spawn(receive(connection, Arc::clone(&inbox))),
            )
        } else {
            let (client, connection) = config.connect(NoTls).await.ok()?;
            (
                client,
                tokio::spawn(receive(connection, Arc::clone(&inbox))),
            )
        };
        let listening = Self {
            inbox,
            task,
            client,
        };
        let listen = format!("listen {CHANNEL}");
        listening.client.batch_execute(&listen).await.ok()?;
        let nonce = fresh_nonce();
        ring(pool, &format!("echo:{nonce}")).await.ok()?;
        let echo = timeout(ECHO_TIMEOUT, listening.inbox.wait_for_echo(&nonce)).await;
        echo.ok()?.then_some(listening)
    }
}

impl Drop for ListenConnection {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl ChangeInbox {
    fn lock(&self) -> std::sync::MutexGuard<'_, ArrivedChanges> {
        self.changes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn put(&self, payload: &str) {
        let mut arrived = self.lock();
        match payload.strip_prefix("echo:") {
            Some(echo) => arrived.echo = Some(echo.to_owned()),
            None => read_payload(payload, &mut arrived.changes),
        }
        // Watched runs are few; more than that are worth a look at everything.
        if arrived.changes.runs.len() > 1000 {
            arrived.changes.runs.clear();
            arrived.changes.all_runs = true;
        }
        drop(arrived);
        self.arrived.notify_one();
    }

    fn close(&self) {
        self.lock().is_closed = true;
        self.arrived.notify_one();
    }

    /// The changes that arrived; none when the connection is lost.
    async fn next(&self) -> Option<StoreChanges> {
        loop {
            {
                let mut arrived = self.lock();
                if arrived.changes != StoreChanges::default() {
                    return Some(std::mem::take(&mut arrived.changes));
                }
                if arrived.is_closed {
                    return None;
                }
            }
            self.arrived.notified().await;
        }
    }

    /// Whether our own notification came back before the connection was lost.
    async fn wait_for_echo(&self, nonce: &str) -> bool {
        loop {
            {
                let arrived = self.lock();
                if arrived.echo.as_deref() == Some(nonce) {
                    return true;
                }
                if arrived.is_closed {
                    return false;
                }
            }
            self.arrived.notified().await;
        }
    }
}

async fn receive<S, T>(mut connection: Connection<S, T>, inbox: Arc<ChangeInbox>)
where
    S: AsyncRead + AsyncWrite + Unpin,
    T: AsyncRead + AsyncWrite + Unpin,
{
    while let Some(Ok(message)) = poll_fn(|context| connection.poll_message(context)).await {
        if let AsyncMessage::Notification(notification) = message {
            inbox.put(notification.payload());
        }
    }
    inbox.close();
}
