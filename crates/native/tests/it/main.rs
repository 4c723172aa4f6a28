//! Our own agents: model client, executor and ACP; tools beside those of Gemini CLI and on files that mean harm.
#![cfg(unix)] // other systems are compiled, but not tested
#![expect(
    clippy::disallowed_methods,
    reason = "tests start programs, and read the environment and the clock"
)]
#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot go on should stop where it stands"
)]

mod a2a;
mod acp;
mod agent_scripts;
mod compression;
mod crowd;
mod definition_scope;
mod edit_hints;
mod executor;
mod faults;
mod hostile;
mod limits;
mod mcp_address;
mod mcp_server;
mod model;
mod model_hooks;
mod modules;
mod oracle;
mod remote_http;
mod remote_http2;
mod remote_websocket;
mod scene;
mod steering;
mod support;
mod tls;
