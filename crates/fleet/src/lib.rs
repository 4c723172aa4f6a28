//! Fleets: tickets that any machine submits, and workers on as many machines as one likes.
//!
//! A [`FleetStore`] keeps tickets, attempts and events: `PostgreSQL` for many machines, `SQLite` for one. A ticket is a task for an agent
//! ([`TicketSpec`]) with its place in the queue. A worker claims it under a *term*, a number that only grows, and runs one attempt.
//! Each statement of the attempt names its term, so a worker that lost its lease changes nothing any more.

mod address;
mod artifact;
mod attempt;
mod claim;
mod fate;
mod id;
mod postgres;
mod prompt;
mod ranking;
mod spec;
mod sqlite;
mod store;
mod ticket;
pub mod worker;
pub mod workspace;

pub use address::{StoreAddress, StoreAddressError};
pub use artifact::{
    ArtifactPart, ArtifactRecord, ArtifactSeal, BUNDLE_ARTIFACT, FILES_ARTIFACT, LARGEST_PART,
    PATCH_ARTIFACT,
};
pub use attempt::{
    AppendReply, AttemptEnd, AttemptRecord, AttemptUsage, EventAppend, EventChunk, LeaseUse,
    LogState, RetryAdvice, TicketFate, TicketRelease,
};
pub use claim::{
    CancelOrder, ClaimRequest, ClaimedTerm, HeartbeatReply, KeptLease, TicketClaim,
    WorkerHeartbeat, WorkerRecord, WorkerStart,
};
pub use id::{IdError, RunId, Term, TicketId, WorkerId, fresh_nonce};
pub use postgres::{PostgresAddress, PostgresStore};
pub use prompt::{AnswerReply, NewPrompt, PromptAnswer, PromptRecord};
pub use spec::{RetryPolicy, SPEC_VERSION, SpecError, TicketSpec, WorkspaceSpec};
pub use sqlite::SqliteStore;
pub use store::{ChangeListener, FleetStore, ListenFuture, StoreChanges, StoreError, StoreFuture};
pub use ticket::{
    CancelReply, CancelRequest, FleetOverview, LaneLimit, LaneRecord, NewTicket, RetryReply,
    SubmissionAnswer, TicketFilter, TicketRecord, TicketState,
};
