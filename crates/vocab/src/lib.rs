//! The published vocabularies: what Lapidary prints, and nothing about where it came from.
//!
//! | module | `--format` | contents |
//! |---|---|---|
//! | [`event`] | `events` | the canonical one: a flat JSON object per line, discriminated by `event` |
//! | [`message`] | `messages` | Claude-shaped messages with content blocks |
//! | [`runtime`] | `runtime` | ticket-mode events for orchestrators |
//! | [`result`] | `result` | one object at the end of a run |
//! | [`command`] | – | the commands of a front end |
//! | [`recording`] | – | the manifest of a recorded run |
//! | [`runs`] | – | recorded runs, and removed ones |
//! | [`agents`] | `activity` | agents that a model can call, and what happens in their runs |
//! | [`capabilities`] | – | the abilities of an agent, and whether it is installed |
//! | [`doctor`] | – | the preconditions of a run, and whether they hold |
//! | [`fleet`] | – | tickets, workers, and changes to them |
//! | [`hook_test`] | – | hooks, tried out |
//! | [`policy_report`] | – | what rules would have done to past runs |
//! | [`session`] | – | recorded sessions |
//! | [`session_document`] | – | a recorded session, whole |
//! | [`removal`] | – | sessions that go, and why |
//! | [`skills`] | – | skills, and why each candidate is one or not |
//! | [`stats`] | – | what sessions used |
//! | [`hooks`] | – | hooks, their problems, and changes to them |
//! | [`vault`] | – | copies of sessions, and the sessions that can be recovered |
//!
//! These types *are* the contract. They serialise exactly as documented, carry their JSON Schema ([`schema`]) and change by
//! version. Every field's description ends in **Upstream** (the agent said it) or **Derived** (we inferred or added it).
//! Enums are open: a value we do not know yet survives reading and writing.

mod json;
mod open_enum;
mod tagged;

pub mod agents;
pub mod capabilities;
pub mod command;
pub mod config_report;
pub mod content;
pub mod doctor;
pub mod event;
pub mod fleet;
pub mod hook_test;
pub mod hooks;
pub mod line;
pub mod message;
pub mod outcome;
pub mod policy_report;
pub mod recording;
pub mod removal;
pub mod result;
pub mod runs;
pub mod runtime;
pub mod schema;
pub mod session;
pub mod session_document;
pub mod skills;
pub mod stats;
pub mod structured_data;
pub mod usage;
pub mod vault;

pub use capabilities::Capabilities;
pub use doctor::Checkup;
pub use event::{Base, Body, Event};
pub use json::{ArrayBuilder, Json, Number, Text, TextBuilder};
pub use lapidary_json::SharedToken;
pub use message::Message;
pub use outcome::{Cause, Outcome};
pub use policy_report::PolicyReport;
pub use result::RunResult;
pub use runtime::RuntimeEvent;
pub use structured_data::{DataSource, DataViolation, StructuredAnswer};
