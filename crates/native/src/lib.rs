//! Agents of our own: their requests to a model, the tools it may call, and the end of a task.
//!
//! An agent here speaks ACP over a pipe in memory, as any agent does over a pipe between processes. So rules, hooks, recording,
//! budget and the end of a run are the engine's, unchanged, and only `normalize` makes events. This crate never prints, reads no
//! environment, and does nothing on its own that needs permission: see [`tool::PermissionGate`].

pub mod a2a;
pub mod acp_agent;
pub mod chat_log;
pub mod executor;
pub mod http;
pub mod ids;
pub mod mcp;
pub mod mcp_server;
pub mod model;
pub mod remote_acp;
pub mod tool;
pub mod tools;
pub mod websocket;
pub mod workspace;

pub use lapidary_gemini::json_schema as schema;
