//! Gemini CLI's own files in `.gemini`: settings, trust, extensions, hooks, skills, agents. Read as Gemini CLI reads them, never
//! written by reading.
//!
//! Where things are depends on variables, and what counts depends on trust: callers pass the variables in ([`Vars`]), and
//! [`trust`] decides as Gemini CLI 0.61 does.

pub mod agents;
pub mod auth;
mod dotenv;
pub mod extensions;
pub mod file;
pub mod hooks;
pub mod js;
pub mod json_schema;
mod jsonc;
pub mod lock;
pub mod memory;
mod notice;
pub mod owned_dir;
mod paths;
pub mod settings;
pub mod setup;
pub mod skills;
pub mod trust;
pub mod yaml;

pub use file::{ReadError, UpstreamReaction};
pub use jsonc::SyntaxError;
pub use notice::{FileNotice, TextPosition};
pub use paths::{GeminiHome, Vars};
