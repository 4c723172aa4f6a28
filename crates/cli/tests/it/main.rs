//! The command from its users' side: the real binary, its exit codes, its stdout and stderr.
#![cfg(unix)] // for other systems the code is checked, not tested
#![expect(
    clippy::disallowed_methods,
    reason = "tests start programs, and read the environment and the clock"
)]
#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot go on should stop where it stands"
)]

mod acp;
mod acp_peers;
mod agents;
mod agents_run;
mod answer_peers;
mod bad_input;
mod capabilities;
mod clients;
mod config_command;
mod confine;
mod connect;
mod delegation;
mod demo;
mod doctor;
mod documents;
mod event_input;
mod examples;
mod export;
mod fleet;
mod fleet_commands;
mod golden;
mod help;
mod hook_commands;
mod hooks;
mod mcp;
mod own_streams;
mod policy;
mod readme;
mod real;
mod record;
mod recordings;
mod remote_agents;
mod replay;
mod rule_matrix;
mod run;
mod runs;
mod search;
mod serve;
mod sessions;
mod skills;
mod streaming;
mod support;
mod talk;
mod transcripts;
mod usage;
mod workspace;
