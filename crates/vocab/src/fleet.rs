//! The output of `lapidary fleet`: tickets, attempts, workers, and changes to them.

use serde::{Deserialize, Serialize};

use crate::open_enum::open_enum;
use crate::{Cause, Outcome};

/// The version that a list of tickets carries in `schema`.
pub const FLEET_TICKETS_SCHEMA: &str = "lapidary.fleet-tickets/1";

/// The version that a ticket carries in `schema`.
pub const FLEET_TICKET_SCHEMA: &str = "lapidary.fleet-ticket/1";

/// The version that a change of a fleet carries in `schema`.
pub const FLEET_CHANGE_SCHEMA: &str = "lapidary.fleet-change/1";

/// The version that an overview carries in `schema`.
pub const FLEET_OVERVIEW_SCHEMA: &str = "lapidary.fleet-overview/1";

open_enum! {
    /// The state of a ticket.
    pub enum FleetTicketState {
        /// It waits for other tickets.
        Blocked = "blocked",
        /// It waits for a worker.
        Waiting = "waiting",
        /// A worker runs it.
        Running = "running",
        /// It ended.
        Done = "done",
    }
}

/// Tickets, newest first.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "generate", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct FleetTicketList {
    /// The vocabulary and its version, `lapidary.fleet-tickets/1`. Derived.
    pub schema: String,
    /// The store, without its password. Derived.
    pub store: String,
    /// The tickets, newest first. Derived.
    pub tickets: Vec<FleetTicket>,
}

/// A ticket of a fleet.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "generate", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct FleetTicket {
    /// Its id. Derived.
    pub ticket: String,
    /// Its state. Derived.
    pub state: FleetTicketState,
    /// The beginning of its prompt. Upstream.
    pub title: String,
    /// The agent that it names. Upstream.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// The key under which it was submitted. Upstream.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request_key: Option<String>,
    /// Its priority: higher ones first. Upstream.
    pub priority: i16,
    /// The lanes in which it runs. Upstream.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lanes: Vec<String>,
    /// Labels that its worker must have. Upstream.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub needs: Vec<String>,
    /// Tickets that it waits for. Derived.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub waits_for: Vec<String>,
    /// Not run before this time. Derived.
    pub not_before: String,
    /// How often it was claimed. Derived.
    pub attempts: u32,
    /// How many attempts there may be. Upstream.
    pub max_attempts: u32,
    /// How many attempts lost their worker. Derived.
    pub lost: u32,
    /// The fencing number of its last attempt; 0 before the first. Derived.
    pub term: i64,
    /// The worker that runs it. Derived.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub worker: Option<String>,
    /// The end of the worker's lease, on the store's clock. Derived.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lease_until: Option<String>,
    /// Permission requests that wait for an answer. Derived.
    pub open_prompts: u32,
    /// Who ordered its end. Derived.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cancelled_by: Option<String>,
    /// The reason for that, in words. Derived.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cancel_reason: Option<String>,
    /// How it ended. Derived.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome: Option<Outcome>,
    /// Why. Derived.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cause: Option<Cause>,
    /// Tokens of all its attempts that ended, as far as they are known. Derived.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub total_tokens: Option<u64>,
    /// The cost of all its attempts that ended in US dollars, as far as it is known: reported by agents, or by prices. Derived.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_usd: Option<f64>,
    /// Who submitted it. Derived.
    pub created_by: String,
    /// When it was submitted. Derived.
    pub created_at: String,
    /// When its last attempt began. Derived.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started_at: Option<String>,
    /// When it ended. Derived.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended_at: Option<String>,
}

/// A ticket with its attempts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "generate", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct FleetTicketReport {
    /// The vocabulary and its version, `lapidary.fleet-ticket/1`. Derived.
    pub schema: String,
    /// The ticket. Derived.
    #[serde(flatten)]
    pub ticket: FleetTicket,
    /// What it asks for, as it was submitted. Upstream.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spec: Option<serde_json::Value>,
    /// The attempts, oldest first. Derived.
    pub attempt_list: Vec<FleetAttempt>,
    /// Permission requests that wait for an answer. Derived.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub prompts: Vec<FleetPrompt>,
    /// The result of the last attempt that has one (`lapidary.result/1`). Derived.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<serde_json::Value>,
}

/// One attempt at a ticket.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "generate", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct FleetAttempt {
    /// Its number, from 1. Derived.
    pub attempt: u32,
    /// Its fencing number. Derived.
    pub term: i64,
    /// The id of its run. Derived.
    pub run: String,
    /// Its worker. Derived.
    pub worker: String,
    /// How many events its log has. Derived.
    pub events: u64,
    /// Whether the log shows that something was touched. Derived.
    pub touched: bool,
    /// When it began. Derived.
    pub started_at: String,
    /// When it ended. Derived.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended_at: Option<String>,
    /// How it ended. Derived.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome: Option<Outcome>,
    /// Why. Derived.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cause: Option<Cause>,
    /// Its tokens, if they are known. Derived.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub total_tokens: Option<u64>,
    /// Its cost in US dollars, if that is known: reported by the agent, or by prices. Derived.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_usd: Option<f64>,
    /// What led to it: JSON, or a text. Derived.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub evidence: Option<serde_json::Value>,
    /// The files that it left. Derived.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub artifacts: Vec<FleetArtifact>,
}

/// A file that an attempt left.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "generate", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct FleetArtifact {
    /// Its name. Derived.
    pub name: String,
    /// Its media type. Derived.
    pub media_type: String,
    /// Its size. Derived.
    pub bytes: u64,
    /// Its SHA-256 in hexadecimal digits. Derived.
    pub sha256: String,
}

/// A permission request that waits for an answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "generate", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct FleetPrompt {
    /// The run that asks. Derived.
    pub run: String,
    /// Its `requestId`. Upstream.
    pub request_id: String,
    /// The `permission_request` event. Upstream.
    pub event: serde_json::Value,
    /// When it was asked. Derived.
    pub asked_at: String,
}

/// One line of `fleet submit`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "generate", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct FleetSubmission {
    /// The ticket's id. Absent if it was refused. Derived.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ticket: Option<String>,
    /// True if the ticket was there already, under the same key. Derived.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub existing: bool,
    /// Why it was refused. Derived.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// The line of a batch that this is about, from 1. Derived.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u64>,
}

/// A change of a fleet.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "generate", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct FleetChange {
    /// The vocabulary and its version, `lapidary.fleet-change/1`. Derived.
    pub schema: String,
    /// The store, without its password. Derived.
    pub store: String,
    /// The ticket that was changed. Derived.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ticket: Option<String>,
    /// What was done: `initialised`, `cancelled`, `cancel_ordered`, `retried`, `answered`, `archived`, `removed`. Derived.
    pub change: String,
    /// Versions of the tables that were applied. Derived.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub versions: Vec<i64>,
    /// The directory that was written. Derived.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub directory: Option<String>,
}

/// Queue, lanes and workers of a fleet.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "generate", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct FleetOverviewReport {
    /// The vocabulary and its version, `lapidary.fleet-overview/1`. Derived.
    pub schema: String,
    /// The store, without its password. Derived.
    pub store: String,
    /// The store's clock. Derived.
    pub now: String,
    /// Tickets that wait for other tickets. Derived.
    pub blocked: u64,
    /// Tickets that wait for a worker. Derived.
    pub waiting: u64,
    /// Tickets that run. Derived.
    pub running: u64,
    /// Tickets that ended, counted up to 100,000. Derived.
    pub done: u64,
    /// How long the ticket that waits longest has been claimable, in milliseconds. Derived.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub oldest_waiting_ms: Option<u64>,
    /// Permission requests that wait for an answer. Derived.
    pub open_prompts: u32,
    /// The oldest of them, up to 100. Derived.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub prompts: Vec<FleetPrompt>,
    /// The attempts that ended of tickets that were submitted within the last day, at most of the newest 100,000. Derived.
    #[serde(default)]
    pub last_day: FleetUsage,
    /// Lanes in which a ticket runs or waits. Derived.
    pub lanes: Vec<FleetLane>,
    /// Workers that were seen within a day. Derived.
    pub workers: Vec<FleetWorker>,
}

/// Tokens and cost of several attempts, as far as they are known.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "generate", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct FleetUsage {
    /// The tokens. Derived.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub total_tokens: Option<u64>,
    /// The cost in US dollars: reported by agents, or by prices. Derived.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_usd: Option<f64>,
}

/// A lane.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "generate", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct FleetLane {
    /// Its name. Upstream.
    pub name: String,
    /// How many of its tickets run. Derived.
    pub running: u32,
    /// How many may run. Upstream.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
    /// How many of its tickets wait. Derived.
    pub waiting: u32,
}

/// A worker.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "generate", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct FleetWorker {
    /// Its id, which is new at each start. Derived.
    pub id: String,
    /// Its name. Derived.
    pub name: String,
    /// Its machine. Derived.
    pub host: String,
    /// The version of its program. Derived.
    pub version: String,
    /// Its labels. Derived.
    pub labels: Vec<String>,
    /// How many tickets it runs. Derived.
    pub running: u32,
    /// How many it may run. Derived.
    pub slots: u32,
    /// When it started. Derived.
    pub started_at: String,
    /// Its last heartbeat. Derived.
    pub seen_at: String,
    /// Whether it claims no more tickets. Derived.
    pub draining: bool,
    /// Whether it left in order. Derived.
    pub left: bool,
}
