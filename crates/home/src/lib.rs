//! What lies on disk in `.gemini`: read as Gemini CLI reads it, never written by reading.
//!
//! Where things are depends on variables, and what counts depends on trust: callers pass the variables in ([`Vars`]), and
//! [`trust`] decides as Gemini CLI 0.61 does.

pub mod auth;
mod dotenv;
pub mod extensions;
mod file;
pub mod hooks;
mod js;
mod jsonc;
mod lock;
pub mod mark;
mod notice;
mod places;
pub mod sessions;
pub mod settings;
pub mod setup;
pub mod skills;
pub mod trust;
pub mod vault;
pub mod yaml;

pub use file::{ReadError, Verdict};
pub use jsonc::SyntaxError;
pub use notice::{Notice, Place};
pub use places::{GeminiHome, Vars};
