//! Stores for tests, and the steps that most tests take.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use lapidary_fleet::{
    AppendReply, AttemptEnd, ClaimRequest, ClaimedTerm, EventAppend, FleetStore, LaneLimit,
    LeaseUse, NewTicket, RetryAdvice, StoreAddress, SubmissionAnswer, TicketClaim, TicketFate,
    TicketId, TicketRecord, TicketSpec, WorkerHeartbeat, WorkerId, WorkerStart, fresh_nonce,
};
use lapidary_testkit::postgres::PostgresServer;
use tempfile::TempDir;
use tokio_postgres::NoTls;

/// Long enough for every test, however busy the machine is.
pub(crate) const LEASE: Duration = Duration::from_mins(15);

/// An empty store, with the directory or server that holds it.
pub(crate) struct TestStore {
    pub(crate) store: Arc<dyn FleetStore>,
    pub(crate) address: StoreAddress,
    _directory: Option<TempDir>,
    _server: Option<Arc<PostgresServer>>,
}

impl TestStore {
    pub(crate) async fn sqlite() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("fleet.db");
        let address = StoreAddress::Sqlite(file);
        Self {
            store: address.open().await.unwrap(),
            address,
            _directory: Some(directory),
            _server: None,
        }
    }

    /// A database of its own in the shared server.
    pub(crate) async fn postgres() -> Self {
        let server = tokio::task::spawn_blocking(PostgresServer::shared);
        let server = server.await.unwrap();
        let address = new_database(server.url()).await;
        address.initialise().await.unwrap();
        Self {
            store: address.open().await.unwrap(),
            address,
            _directory: None,
            _server: Some(server),
        }
    }

    /// Puts the end of all leases into the past.
    pub(crate) async fn expire_leases(&self) {
        match &self.address {
            StoreAddress::Sqlite(path) => {
                let connection = rusqlite::Connection::open(path).unwrap();
                connection.busy_timeout(LEASE).unwrap();
                let update = "update ticket set lease_until = 1 where state = 'running'";
                connection.execute(update, []).unwrap();
            }
            StoreAddress::Postgres(address) => {
                let update =
                    "update lapidary.ticket set lease_until = 'epoch' where state = 'running'";
                execute(&address.to_string(), update).await;
            }
        }
    }

    /// Another connection to the same store.
    pub(crate) async fn another(&self) -> Arc<dyn FleetStore> {
        self.address.open().await.unwrap()
    }
}

/// An empty database beside the administrator's.
pub(crate) async fn new_database(url: &str) -> StoreAddress {
    let name = format!("test_{}", fresh_nonce());
    execute(url, &format!("create database {name}")).await;
    let (server, _) = url.rsplit_once('/').unwrap();
    StoreAddress::parse(&format!("{server}/{name}"), Path::new("/")).unwrap()
}

/// Runs a statement as an administrator.
pub(crate) async fn execute(url: &str, sql: &str) {
    let (client, connection) = tokio_postgres::connect(url, NoTls).await.unwrap();
    let connection = tokio::spawn(connection);
    client.batch_execute(sql).await.unwrap();
    drop(client);
    let _ = connection.await;
}

pub(crate) fn ticket(prompt: &str) -> NewTicket {
    NewTicket::new(TicketSpec::new(prompt), "a test")
}

pub(crate) fn in_lanes(prompt: &str, lanes: &[(&str, u32)]) -> NewTicket {
    let lanes = lanes.iter().map(|(name, limit)| LaneLimit {
        name: (*name).to_owned(),
        limit: Some(*limit),
    });
    NewTicket {
        lanes: lanes.collect(),
        ..ticket(prompt)
    }
}

pub(crate) fn texts(words: &[&str]) -> Vec<String> {
    words.iter().map(ToString::to_string).collect()
}

pub(crate) async fn submit(store: &dyn FleetStore, ticket: &NewTicket) -> TicketId {
    let submitted = store.submit(std::slice::from_ref(ticket)).await.unwrap();
    let [SubmissionAnswer::Created(id)] = submitted.as_slice() else {
        panic!("not created: {submitted:?}");
    };
    id.clone()
}

pub(crate) async fn worker(store: &dyn FleetStore) -> WorkerId {
    let start = WorkerStart {
        id: WorkerId::fresh(),
        name: "worker".to_owned(),
        host: "here".to_owned(),
        version: "0".to_owned(),
        labels: Vec::new(),
        slots: 8,
    };
    store.register(&start).await.unwrap();
    start.id
}

/// A request of this worker for so many tickets.
pub(crate) fn claim_request(worker: &WorkerId, limit: u32) -> ClaimRequest {
    ClaimRequest {
        worker: worker.clone(),
        labels: Vec::new(),
        limit,
        lease: LEASE,
        nonce: fresh_nonce(),
    }
}

pub(crate) async fn claim(
    store: &dyn FleetStore,
    worker: &WorkerId,
    limit: u32,
) -> Vec<TicketClaim> {
    store.claim(&claim_request(worker, limit)).await.unwrap()
}

/// The one ticket that can be claimed.
pub(crate) async fn claim_one(store: &dyn FleetStore, worker: &WorkerId) -> TicketClaim {
    let claims = claim(store, worker, 1).await;
    claims.into_iter().next().expect("a ticket waits")
}

/// The one ticket, by a worker that vanishes: the lease is over. The fleet is not silent.
pub(crate) async fn claim_and_vanish(test: &TestStore, worker: &WorkerId) -> TicketClaim {
    test.store.heartbeat(&heartbeat(worker, &[])).await.unwrap();
    let claim = claim_one(&*test.store, worker).await;
    test.expire_leases().await;
    claim
}

pub(crate) fn end(claimed: ClaimedTerm, outcome: &str, cause: &str) -> AttemptEnd {
    AttemptEnd {
        claimed,
        outcome: outcome.to_owned(),
        cause: cause.to_owned(),
        evidence: None,
        result: None,
        usage: lapidary_fleet::AttemptUsage::default(),
        retry: RetryAdvice::Final,
    }
}

pub(crate) async fn complete(store: &dyn FleetStore, claim: &TicketClaim) -> TicketFate {
    let end = end(claim.claimed_term(), "completed", "end_turn");
    store.finish(&end).await.unwrap()
}

pub(crate) fn failed_for_now(claim: &TicketClaim) -> AttemptEnd {
    AttemptEnd {
        retry: RetryAdvice::After(Duration::ZERO),
        ..end(claim.claimed_term(), "failed", "quota_retryable")
    }
}

pub(crate) fn done(outcome: &str, cause: &str) -> TicketFate {
    TicketFate::Done {
        outcome: outcome.to_owned(),
        cause: cause.to_owned(),
    }
}

pub(crate) fn heartbeat(worker: &WorkerId, held: &[&TicketClaim]) -> WorkerHeartbeat {
    WorkerHeartbeat {
        worker: worker.clone(),
        held: held.iter().map(|claim| claim.claimed_term()).collect(),
        lease: LEASE,
        draining: false,
    }
}

pub(crate) fn append(claim: &TicketClaim, first: u64, lines: &[&str]) -> EventAppend {
    EventAppend {
        claimed: claim.claimed_term(),
        first,
        count: u32::try_from(lines.len()).unwrap(),
        body: lines
            .iter()
            .flat_map(|line| format!("{line}\n").into_bytes())
            .collect(),
        touched: false,
        lease: LeaseUse::Held,
    }
}

pub(crate) fn stored(next: u64) -> AppendReply {
    AppendReply::Stored { next }
}

pub(crate) async fn record(store: &dyn FleetStore, ticket: &TicketId) -> TicketRecord {
    store
        .ticket(ticket)
        .await
        .unwrap()
        .expect("the ticket is there")
}
