//! Connections to `PostgreSQL`: a few, shared by all operations, each with its prepared statements.

use std::collections::HashMap;
use std::future::Future;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;
use tokio_postgres::error::{Error, SqlState};
use tokio_postgres::types::ToSql;
use tokio_postgres::{Client, NoTls, Row, Statement};

use super::address::PostgresAddress;
use super::tls::TlsMaker;
use crate::StoreError;

/// Operations at a time. A worker needs one or two; a server that shows a fleet to many needs more.
const MOST_CONNECTIONS: usize = 8;

/// How long an operation may take. A connection that answers no more is closed then, and the effect is unknown.
const OPERATION_TIMEOUT: Duration = Duration::from_secs(20);

/// How often an operation is repeated that `PostgreSQL` gave up for another one's sake.
const CONFLICT_RETRIES: u32 = 5;

/// Parameters of a statement.
pub(super) type Parameters<'a> = &'a [&'a (dyn ToSql + Sync)];

/// Why an operation failed: the driver's error, or ours.
#[derive(Debug)]
pub(super) enum PostgresFault {
    Sql(Error),
    Store(StoreError),
}

impl From<Error> for PostgresFault {
    fn from(error: Error) -> Self {
        Self::Sql(error)
    }
}

impl From<StoreError> for PostgresFault {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

/// The connections of a store.
#[derive(Debug)]
pub(super) struct SessionPool {
    address: PostgresAddress,
    shown: String,
    idle: Mutex<Vec<PooledSession>>,
    places: Arc<Semaphore>,
}

/// A connection with its prepared statements.
pub(super) struct PooledSession {
    client: Client,
    statements: HashMap<String, Statement>,
}

impl std::fmt::Debug for PooledSession {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PooledSession").finish_non_exhaustive()
    }
}

impl PooledSession {
    /// Runs a statement, which is prepared once.
    pub(super) async fn query(
        &mut self,
        sql: &str,
        parameters: Parameters<'_>,
    ) -> Result<Vec<Row>, Error> {
        let statement = self.prepared(sql).await?;
        self.client.query(&statement, parameters).await
    }

    /// Runs a statement that gives one row or none.
    pub(super) async fn query_opt(
        &mut self,
        sql: &str,
        parameters: Parameters<'_>,
    ) -> Result<Option<Row>, Error> {
        let statement = self.prepared(sql).await?;
        self.client.query_opt(&statement, parameters).await
    }

    /// Begins a transaction with a statement that gives one row or none: both are sent together.
    pub(super) async fn begin_with(
        &mut self,
        sql: &str,
        parameters: Parameters<'_>,
    ) -> Result<Option<Row>, Error> {
        let statement = self.prepared(sql).await?;
        let (begun, row) = tokio::join!(
            biased;
            self.client.batch_execute("begin"),
            self.client.query_opt(&statement, parameters),
        );
        begun?;
        row
    }

    /// Runs a statement that gives no rows. Returns how many rows it changed.
    pub(super) async fn execute(
        &mut self,
        sql: &str,
        parameters: Parameters<'_>,
    ) -> Result<u64, Error> {
        let statement = self.prepared(sql).await?;
        self.client.execute(&statement, parameters).await
    }

    /// Runs statements without parameters.
    pub(super) async fn batch(&mut self, sql: &str) -> Result<(), Error> {
        self.client.batch_execute(sql).await
    }

    async fn prepared(&mut self, sql: &str) -> Result<Statement, Error> {
        if let Some(statement) = self.statements.get(sql) {
            return Ok(statement.clone());
        }
        let statement = self.client.prepare(sql).await?;
        self.statements.insert(sql.to_owned(), statement.clone());
        Ok(statement)
    }
}

/// A connection in use. If an operation is dropped or fails in the middle, the connection is closed, and with it its transaction.
pub(super) struct SessionLoan {
    session: Option<PooledSession>,
    _place: OwnedSemaphorePermit,
}

impl SessionLoan {
    pub(super) fn session(&mut self) -> &mut PooledSession {
        self.session
            .as_mut()
            .expect("a loan has its session until it ends")
    }
}

/// Runs an operation, a function that takes a session, on a connection of a pool. A macro rather than a function of an async
/// closure, whose future the compiler does not recognise as `Send`.
macro_rules! on_session {
    ($pool:expr, $operation:path $(, $argument:expr)* $(,)?) => {{
        let pool: &$crate::postgres::pool::SessionPool = $pool;
        pool.within_timeout(async move {
            let mut conflicts = 0;
            loop {
                let mut loan = pool.borrow().await?;
                let done = $operation(loan.session() $(, $argument)*).await;
                if let Some(done) = pool.settle(loan, done, &mut conflicts).await {
                    return done;
                }
            }
        })
    }};
}
pub(super) use on_session;

impl SessionPool {
    pub(super) fn new(address: &PostgresAddress) -> Self {
        Self {
            shown: address.to_string(),
            address: address.clone(),
            idle: Mutex::default(),
            places: Arc::new(Semaphore::new(MOST_CONNECTIONS)),
        }
    }

    pub(super) fn shown(&self) -> &str {
        &self.shown
    }

    /// Takes back a connection after an operation, and returns the operation's result. None if the operation must be repeated,
    /// because `PostgreSQL` ended it in favour of another one.
    pub(super) async fn settle<T>(
        &self,
        loan: SessionLoan,
        done: Result<T, PostgresFault>,
        conflicts: &mut u32,
    ) -> Option<Result<T, StoreError>> {
        match done {
            // The connection may be inside of a transaction: it is closed.
            Err(PostgresFault::Sql(error)) => {
                drop(loan);
                *conflicts += 1;
                if !is_conflict(&error) || *conflicts > CONFLICT_RETRIES {
                    return Some(Err(self.store_error(&error)));
                }
                tokio::time::sleep(Duration::from_millis(5 << *conflicts)).await;
                None
            }
            // Both are detected outside of a transaction, and both are common: keep the connection.
            Err(PostgresFault::Store(
                error @ (StoreError::LeaseLost(_) | StoreError::UnknownWorker { .. }),
            )) => {
                self.give_back(loan);
                Some(Err(error))
            }
            Err(PostgresFault::Store(error)) => Some(Err(error)),
            Ok(value) => {
                self.give_back(loan);
                Some(Ok(value))
            }
        }
    }

    /// Ends an operation that takes too long. Its connection is closed.
    pub(super) async fn within_timeout<T>(
        &self,
        operation: impl Future<Output = Result<T, StoreError>>,
    ) -> Result<T, StoreError> {
        let done = timeout(OPERATION_TIMEOUT, operation).await;
        done.unwrap_or_else(|_| {
            Err(StoreError::Unavailable {
                store: self.shown.clone(),
                reason: format!("no answer within {} s", OPERATION_TIMEOUT.as_secs()),
            })
        })
    }

    /// A connection: an idle one, or a new one.
    pub(super) async fn borrow(&self) -> Result<SessionLoan, StoreError> {
        let place = Arc::clone(&self.places).acquire_owned().await;
        let place = place.expect("the semaphore is never closed");
        loop {
            let idle = self
                .idle
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .pop();
            match idle {
                Some(session) if session.client.is_closed() => {}
                Some(session) => {
                    return Ok(SessionLoan {
                        session: Some(session),
                        _place: place,
                    });
                }
                None => break,
            }
        }
        let client = self.connect().await.map_err(|fault| match fault {
            PostgresFault::Sql(error) => self.store_error(&error),
            PostgresFault::Store(error) => error,
        })?;
        let statements = HashMap::new();
        Ok(SessionLoan {
            session: Some(PooledSession { client, statements }),
            _place: place,
        })
    }

    fn give_back(&self, mut loan: SessionLoan) {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        idle.extend(loan.session.take());
    }

    async fn connect(&self) -> Result<Client, PostgresFault> {
        // The task of a connection ends with its client.
        if self.address.uses_tls {
            let (client, connection) = self.address.config.connect(self.tls()?).await?;
            tokio::spawn(connection);
            return Ok(client);
        }
        let (client, connection) = self.address.config.connect(NoTls).await?;
        tokio::spawn(connection);
        Ok(client)
    }

    pub(super) fn tls(&self) -> Result<TlsMaker, StoreError> {
        let maker = TlsMaker::new(self.address.root_certificates.as_deref());
        maker.map_err(|error| StoreError::Denied {
            store: self.shown.clone(),
            reason: format!("TLS is not possible: {error}"),
        })
    }

    pub(super) fn address(&self) -> &PostgresAddress {
        &self.address
    }

    fn store_error(&self, error: &Error) -> StoreError {
        store_error(&self.shown, error)
    }
}

/// Whether `PostgreSQL` gave up this transaction for another one's sake.
fn is_conflict(error: &Error) -> bool {
    let code = error.code();
    [
        &SqlState::T_R_SERIALIZATION_FAILURE,
        &SqlState::T_R_DEADLOCK_DETECTED,
    ]
    .iter()
    .any(|known| code == Some(known))
}

fn store_error(shown: &str, error: &Error) -> StoreError {
    let store = shown.to_owned();
    let reason = error_reason(error);
    let Some(code) = error.code().map(SqlState::code) else {
        // Without an answer of the server: the connection was lost, was never made, or the password is missing.
        return if is_configuration(error) {
            StoreError::Denied { store, reason }
        } else {
            StoreError::Unavailable { store, reason }
        };
    };
    match code {
        "25006" => StoreError::ReadOnly { store, reason },
        "53100" => StoreError::DiskFull { store, reason },
        "42P01" | "3F000" => StoreError::NotInitialised { store },
        "42501" | "3D000" => StoreError::Denied { store, reason },
        code if code.starts_with("28") => StoreError::Denied { store, reason },
        code if ["08", "40", "53", "55", "57", "58"].contains(&&code[..2]) => {
            StoreError::Unavailable { store, reason }
        }
        _ => StoreError::Internal { store, reason },
    }
}

fn is_configuration(error: &Error) -> bool {
    let text = error.to_string();
    text.contains("password missing") || text.contains("invalid configuration")
}

/// The error with its causes: the driver's own words are `db error` or `error connecting to server`.
fn error_reason(error: &Error) -> String {
    if let Some(answer) = error.as_db_error() {
        return format!("{} ({})", answer.message(), answer.code().code());
    }
    let mut reason = error.to_string();
    let mut cause = std::error::Error::source(error);
    while let Some(next) = cause {
        let text = next.to_string();
        if !reason.contains(&text) {
            reason = format!("{reason}: {text}");
        }
        cause = next.source();
    }
    reason
}
