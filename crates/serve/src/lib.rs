//! `lapidary serve`: runs, permission prompts and sessions over HTTP, and the page that shows them.
//!
//! HTTP is a transport: events and commands are those of `lapidary connect`, lists are those of the commands. Each request passes
//! the gate (host, origin, token). Requests that only read are answered by the command of the same name ([`CommandRunner`]); runs
//! are kept in a table, and their events are read from their recordings, so a client can come back at any `seq`.

mod access_log;
mod access_token;
mod acp;
mod api;
mod bound_listener;
mod command_bounds;
mod command_output;
mod event_encoder;
mod event_stream;
mod gate;
mod list_page;
mod listener;
mod live_run;
mod own_hosts;
mod past_events;
mod problem;
mod request_keys;
mod request_parts;
mod run_request;
mod run_table;
mod server;
mod server_state;
mod stall_guard;
mod started_runs;
mod state_lock;
mod static_files;
mod tls;
mod watcher;

pub use access_token::TokenUse;
pub use acp::StdioAgent;
pub use command_output::{CommandCall, CommandRunner};
pub use listener::{ListenAddress, ListenAddressError};
pub use server::{HttpServer, ServeError, ServeOptions, ServerAddress};
pub use tls::{TlsError, TlsFiles};
