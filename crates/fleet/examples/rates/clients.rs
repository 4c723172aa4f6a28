//! Clients that do one thing until their time is over, and count it.

use std::fmt::Write as _;
use std::sync::Arc;
use std::time::{Duration, Instant};

use lapidary_fleet::{
    AppendReply, AttemptEnd, AttemptUsage, ClaimRequest, EventAppend, FleetStore, LeaseUse,
    NewTicket, RetryAdvice, StoreAddress, StoreError, TicketClaim, TicketSpec, WorkerHeartbeat,
    WorkerId, WorkerStart, fresh_nonce,
};
use tokio::task::JoinSet;

use crate::Failed;

/// Events of a chunk, and bytes of an event: text of a model in small pieces.
const CHUNK_EVENTS: u32 = 100;
const EVENT_BYTES: usize = 220;

const LEASE: Duration = Duration::from_secs(90);

/// What all clients together counted within this time.
pub(crate) async fn count_all<F>(
    address: &StoreAddress,
    (clients, time): (usize, Duration),
    client: impl Fn(Arc<dyn FleetStore>, Instant) -> F,
) -> Result<u64, Failed>
where
    F: Future<Output = Result<u64, StoreError>> + Send + 'static,
{
    let mut stores = Vec::new();
    for _ in 0..clients {
        stores.push(address.open().await?);
    }
    let end = Instant::now() + time;
    let running: JoinSet<_> = stores.into_iter().map(|store| client(store, end)).collect();
    let counts: Result<Vec<u64>, _> = running.join_all().await.into_iter().collect();
    Ok(counts?.iter().sum())
}

/// Whole lives of tickets: submitted, claimed, kept by a heartbeat, finished.
pub(crate) async fn lifecycles(
    store: Arc<dyn FleetStore>,
    end: Instant,
) -> Result<u64, StoreError> {
    let worker = register(&*store).await?;
    let mut count = 0;
    while Instant::now() < end {
        store.submit(&[ticket()]).await?;
        for claim in store.claim(&request(&worker)).await? {
            let heartbeat = WorkerHeartbeat {
                worker: worker.clone(),
                held: vec![claim.claimed_term()],
                lease: LEASE,
                draining: false,
            };
            store.heartbeat(&heartbeat).await?;
            store.finish(&completed(&claim)).await?;
            count += 1;
        }
    }
    Ok(count)
}

/// Events appended to one log for each client.
pub(crate) async fn appends(store: Arc<dyn FleetStore>, end: Instant) -> Result<u64, StoreError> {
    let worker = register(&*store).await?;
    let claim = claim_own(&*store, &worker).await?;
    let mut append = EventAppend {
        claimed: claim.claimed_term(),
        first: 0,
        count: CHUNK_EVENTS,
        body: events(),
        touched: false,
        lease: LeaseUse::Held,
    };
    let mut count = 0;
    while Instant::now() < end {
        match store.append(&append).await? {
            AppendReply::Stored { next } | AppendReply::OutOfOrder { next } => append.first = next,
        }
        count += u64::from(CHUNK_EVENTS);
    }
    store.finish(&completed(&claim)).await?;
    Ok(count)
}

/// A claimed ticket. Another client may take the one that was submitted here, and leaves its own.
async fn claim_own(store: &dyn FleetStore, worker: &WorkerId) -> Result<TicketClaim, StoreError> {
    loop {
        store.submit(&[ticket()]).await?;
        if let Some(claim) = store.claim(&request(worker)).await?.pop() {
            return Ok(claim);
        }
    }
}

/// Lines of events whose text does not repeat, so that a store that compresses has work to do.
fn events() -> Vec<u8> {
    let mut text = String::new();
    let mut state: u64 = 0x9e37_79b9_7f4a_7c15;
    for _ in 0..CHUNK_EVENTS {
        let line = text.len();
        text.push_str(r#"{"type":"stream_delta","text":""#);
        while text.len() - line < EVENT_BYTES - 3 {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            let _ = write!(text, "{:x} ", state & 0xf_ffff); // a string takes all
        }
        text.push_str("\"}\n");
    }
    text.into_bytes()
}

pub(crate) async fn register(store: &dyn FleetStore) -> Result<WorkerId, StoreError> {
    let start = WorkerStart {
        id: WorkerId::fresh(),
        name: "rates".to_owned(),
        host: "here".to_owned(),
        version: "0".to_owned(),
        labels: Vec::new(),
        slots: 1,
    };
    store.register(&start).await?;
    Ok(start.id)
}

pub(crate) fn ticket() -> NewTicket {
    NewTicket::new(TicketSpec::new("fix it"), "rates")
}

pub(crate) fn request(worker: &WorkerId) -> ClaimRequest {
    ClaimRequest {
        worker: worker.clone(),
        labels: Vec::new(),
        limit: 1,
        lease: LEASE,
        nonce: fresh_nonce(),
    }
}

pub(crate) fn completed(claim: &TicketClaim) -> AttemptEnd {
    AttemptEnd {
        claimed: claim.claimed_term(),
        outcome: "completed".to_owned(),
        cause: "end_turn".to_owned(),
        evidence: None,
        result: None,
        usage: AttemptUsage::default(),
        retry: RetryAdvice::Final,
    }
}
