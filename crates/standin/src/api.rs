//! A scripted stand-in for the APIs of models: Gemini's, and for other agents Anthropic's messages and `OpenAI`'s chat completions.
//!
//! Point Gemini CLI at it with `GOOGLE_GEMINI_BASE_URL` and any `GEMINI_API_KEY`; its settings have to say
//! `{"security": {"auth": {"selectedType": "gemini-api-key"}}}`. A [`Script`] holds the model's answers, turn by turn.
//!
//! ```
//! use lapidary_standin::api::{ApiError, FakeApi, Script, Turn};
//! use serde_json::json;
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let script = Script::new()
//!     .stream(ApiError::rate_limited(std::time::Duration::from_secs(1)))
//!     .stream(Turn::thought("Let me look.").and_call("run_shell_command", json!({"command": "ls"})))
//!     .stream("There is nothing here.");
//! let api = FakeApi::start(script).await?;
//! assert!(api.base_url().starts_with("http://127.0.0.1:"));
//! // … run the agent with `GOOGLE_GEMINI_BASE_URL` set to that address, then see what it asked:
//! assert_eq!(api.requests(), []);
//! api.stop().await;
//! # Ok(())
//! # }
//! ```
//!
//! It listens on loopback only, keeps a bounded log, reads no environment, and ends with its handle.

mod chunk;
mod dialect;
mod error;
mod handle;
mod log;
mod playback;
mod player;
mod playhead;
mod reply;
mod request;
mod schema;
mod script;
mod serve;
mod turn;

pub use chunk::{Chunk, ReportedUsage};
pub use dialect::Dialect;
pub use error::ApiError;
pub use handle::{FakeApi, StartError};
pub use player::{PlayedAnswer, PlayedCut, ScriptPlayer};
pub use request::{AnswerSource, ApiRequest, RequestKind};
pub use script::{AfterScript, Script, ScriptRule};
pub use turn::Turn;
