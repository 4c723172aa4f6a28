//! Permission requests of running tickets, and their answers.

use jiff::Timestamp;

use crate::{ClaimedTerm, RunId, TicketId};

/// A permission request that waits for an answer.
#[derive(Debug, Clone)]
pub struct NewPrompt {
    /// The ticket and the term.
    pub claimed: ClaimedTerm,
    /// The `requestId` of the `permission_request` event.
    pub request: String,
    /// The `seq` of that event.
    pub seq: u64,
    /// The event.
    pub body: Vec<u8>,
}

/// An answer to a permission request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PromptAnswer {
    /// The run that asked.
    pub run: RunId,
    /// The `requestId`.
    pub request: String,
    /// The answer: a line of `connect`'s commands (`answer_permission`), as JSON.
    pub answer: Vec<u8>,
    /// The person or program that gave the answer.
    pub by: String,
}

/// The answer to an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AnswerReply {
    /// It is stored; the worker gets it with its next heartbeat.
    Stored,
    /// Another answer came first.
    AlreadyAnswered {
        /// The person or program that gave the answer.
        by: String,
    },
    /// The request was withdrawn, timed out, or its attempt ended.
    Over,
    /// The run has no such permission request.
    Unknown,
}

/// A permission request as the store has it.
#[derive(Debug, Clone)]
pub struct PromptRecord {
    /// The ticket.
    pub ticket: TicketId,
    /// The run that asks.
    pub run: RunId,
    /// The `requestId`.
    pub request: String,
    /// The `seq` of its event.
    pub seq: u64,
    /// The event.
    pub body: Vec<u8>,
    /// When it was asked.
    pub asked_at: Timestamp,
    /// The person or program that answered it.
    pub answered_by: Option<String>,
    /// How it ended: the word given to [`crate::FleetStore::settle_prompt`], or `attempt_ended`.
    pub settled: Option<String>,
}
