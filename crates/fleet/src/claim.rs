//! A worker and the tickets that it holds.

use std::time::Duration;

use jiff::Timestamp;

use crate::{PromptAnswer, RunId, Term, TicketId, WorkerId};

/// A worker that starts.
#[derive(Debug, Clone)]
pub struct WorkerStart {
    /// Minted at this start, and never used again.
    pub id: WorkerId,
    /// A name for people.
    pub name: String,
    /// The machine.
    pub host: String,
    /// The version of the program.
    pub version: String,
    /// Its labels, such as `agent:gemini` and `os:linux`. It claims tickets whose needs are among them.
    pub labels: Vec<String>,
    /// How many tickets it runs at a time.
    pub slots: u32,
}

/// A worker as the store has it.
#[derive(Debug, Clone)]
pub struct WorkerRecord {
    /// Its registration: name, machine, version, labels and slots.
    pub start: WorkerStart,
    /// How many tickets it runs.
    pub running: u32,
    /// When it started.
    pub started_at: Timestamp,
    /// Its last heartbeat.
    pub seen_at: Timestamp,
    /// Whether it claims no more tickets.
    pub draining: bool,
    /// When it left in order.
    pub left_at: Option<Timestamp>,
}

/// A request for tickets.
#[derive(Debug, Clone)]
pub struct ClaimRequest {
    /// The worker, which must be registered.
    pub worker: WorkerId,
    /// Its labels.
    pub labels: Vec<String>,
    /// At most so many tickets.
    pub limit: u32,
    /// The lease: until its end no other worker may claim them. Count it from the moment *before* the request is sent.
    pub lease: Duration,
    /// [`crate::fresh_nonce`]. A request that is repeated with the same nonce, because its answer was lost, gives the same tickets.
    pub nonce: String,
}

/// A ticket that a worker holds: one attempt, which is the only one until its lease ends.
#[derive(Debug, Clone)]
pub struct TicketClaim {
    /// The ticket.
    pub ticket: TicketId,
    /// The fencing number: greater than that of every earlier attempt.
    pub term: Term,
    /// The id of the attempt's run.
    pub run: RunId,
    /// The spec, for [`crate::TicketSpec::parse`]. Its version is one that this program knows.
    pub spec: Vec<u8>,
    /// The number of this attempt, from 1.
    pub attempt: u32,
    /// How many attempts there may be.
    pub max_attempts: u32,
    /// How many attempts lost their worker so far.
    pub lost: u32,
    /// How long the ticket was claimable before it was claimed.
    pub waited: Duration,
    /// The submitter, for people.
    pub created_by: String,
}

impl TicketClaim {
    /// The ticket and the term.
    pub fn claimed_term(&self) -> ClaimedTerm {
        ClaimedTerm {
            ticket: self.ticket.clone(),
            term: self.term,
        }
    }
}

/// A ticket under a term. A worker names both in all requests after the claim.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ClaimedTerm {
    /// The ticket.
    pub ticket: TicketId,
    /// Its term.
    pub term: Term,
}

impl ClaimedTerm {
    /// The id of the attempt's run.
    pub fn run(&self) -> RunId {
        RunId::new(&self.ticket, self.term)
    }
}

/// One heartbeat for all tickets of a worker.
#[derive(Debug, Clone)]
pub struct WorkerHeartbeat {
    /// The worker.
    pub worker: WorkerId,
    /// The tickets that it holds. Others are left to their lease's end.
    pub held: Vec<ClaimedTerm>,
    /// The lease, counted from the moment before the request is sent.
    pub lease: Duration,
    /// Whether it claims no more tickets.
    pub draining: bool,
}

/// The answer to a heartbeat.
#[derive(Debug, Clone, Default)]
pub struct HeartbeatReply {
    /// Tickets that the worker holds for another lease.
    pub kept: Vec<KeptLease>,
    /// Tickets that it does not hold any more: their trees are to be killed, and only their history may still be uploaded.
    pub lost: Vec<ClaimedTerm>,
    /// Answers to prompts of the tickets in `kept`. Each comes with every heartbeat until [`crate::FleetStore::settle_prompt`].
    pub answers: Vec<PromptAnswer>,
}

/// A ticket that a worker holds for another lease.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeptLease {
    /// The ticket and its term.
    pub claimed: ClaimedTerm,
    /// The order to end it. It comes with every heartbeat until the attempt ends.
    pub cancel: Option<CancelOrder>,
}

/// The order to end a running ticket.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CancelOrder {
    /// The person or program that gave the order.
    pub by: String,
    /// The reason, for people.
    pub why: Option<String>,
    /// Whether the agent is killed without the time to end by itself.
    pub now: bool,
}
