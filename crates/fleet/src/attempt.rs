//! One attempt at a ticket: its log of events, and its end.

use std::time::Duration;

use jiff::Timestamp;

use crate::{ClaimedTerm, RunId, Term, WorkerId};

/// Events for the log of an attempt.
#[derive(Debug, Clone)]
pub struct EventAppend {
    /// The ticket and the term.
    pub claimed: ClaimedTerm,
    /// The `seq` of the first event, which must be the log's next.
    pub first: u64,
    /// How many events there are; at least one.
    pub count: u32,
    /// The events, one JSON per line, each line with its `\n`, as `run --format events` prints them. Bytes, not text: events may
    /// have NUL and lone surrogates escaped in them, and are kept as they are.
    pub body: Vec<u8>,
    /// Whether one of the events shows a side effect: a call of kind edit, execute, delete, move, fetch or MCP began. It stays
    /// true for the attempt.
    pub touched: bool,
    /// Whether the lease is needed.
    pub lease: LeaseUse,
}

/// Whether a request needs the lease of its term.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LeaseUse {
    /// The ticket must be held under this term: else [`crate::StoreError::LeaseLost`].
    Held,
    /// History of an attempt that may have lost its lease. It changes nothing but the attempt's own log and artifacts.
    Late,
}

/// The answer to an append.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AppendReply {
    /// The events are in the log.
    Stored {
        /// The log's next `seq`.
        next: u64,
    },
    /// Nothing was stored: the log's next `seq` is another one. After an append whose answer was lost, `next` tells whether it
    /// was stored: go on from there.
    OutOfOrder {
        /// The log's next `seq`.
        next: u64,
    },
}

/// A piece of the log.
#[derive(Debug, Clone)]
pub struct EventChunk {
    /// The `seq` of its first event.
    pub first: u64,
    /// The `seq` of its last event.
    pub last: u64,
    /// The events, one JSON per line.
    pub body: Vec<u8>,
}

/// Tokens and cost, as far as they are known.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct AttemptUsage {
    /// The tokens.
    pub tokens: Option<u64>,
    /// The cost in US dollars.
    pub cost_usd: Option<f64>,
}

/// The end of an attempt.
#[derive(Debug, Clone)]
pub struct AttemptEnd {
    /// The ticket and the term.
    pub claimed: ClaimedTerm,
    /// The outcome of `run_end`.
    pub outcome: String,
    /// The cause of `run_end`, or the worker's own.
    pub cause: String,
    /// The evidence for the cause, as JSON for people and programs.
    pub evidence: Option<Vec<u8>>,
    /// The result of the run (`lapidary.result/1`).
    pub result: Option<Vec<u8>>,
    /// The tokens and cost of the attempt.
    pub usage: AttemptUsage,
    /// Whether another attempt makes sense. The worker decides by the spec's policy and the log; the store by the count.
    pub retry: RetryAdvice,
}

/// Whether another attempt makes sense.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RetryAdvice {
    /// No: the ticket ends with this attempt.
    Final,
    /// Yes, after this time, if there are attempts left. Else the ticket ends with the cause `gave_up`.
    After(Duration),
}

/// The state of a ticket after the end of an attempt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TicketFate {
    /// It ended.
    Done {
        /// Its outcome.
        outcome: String,
        /// Its cause.
        cause: String,
    },
    /// It waits for another attempt.
    Waiting,
}

/// A ticket that is given back before an agent was started.
#[derive(Debug, Clone)]
pub struct TicketRelease {
    /// The ticket and the term.
    pub claimed: ClaimedTerm,
    /// Why, for people: `draining`, `disk_floor`, ….
    pub reason: String,
    /// Not claimed again before this time has passed.
    pub delay: Duration,
}

/// An attempt as the store has it.
#[derive(Debug, Clone)]
pub struct AttemptRecord {
    /// Its number, from 1.
    pub number: u32,
    /// Its term.
    pub term: Term,
    /// The id of its run.
    pub run: RunId,
    /// Its worker.
    pub worker: WorkerId,
    /// The log's next `seq`: how many events there are.
    pub next_seq: u64,
    /// Whether the log shows a side effect.
    pub touched: bool,
    /// When it began.
    pub started_at: Timestamp,
    /// When it ended.
    pub ended_at: Option<Timestamp>,
    /// Its outcome.
    pub outcome: Option<String>,
    /// Its cause: one of `run_end`'s, the worker's own, `lease_lost` or `released`.
    pub cause: Option<String>,
    /// The evidence for the cause.
    pub evidence: Option<Vec<u8>>,
    /// The tokens and cost of the attempt.
    pub usage: AttemptUsage,
}

/// The length of an attempt's log, and whether it may still grow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LogState {
    /// The log's next `seq`.
    pub next_seq: u64,
    /// Whether the attempt has ended. Until then its processes may still write.
    pub has_ended: bool,
}
