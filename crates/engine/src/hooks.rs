//! Hooks: commands of the user that are run at certain moments, told what is going on, and heard about what is to happen.
//!
//! Which hooks there are and which of them run is in [`lapidary_gemini::hooks`]; this runs them. All of it is as Gemini CLI (0.61) does it
//! on the same files, but for three things: a hook that exits with 2 blocks even if it is silent, one that takes too long is ended
//! with everything that it started, and what it writes is kept only up to a bound.
//!
//! ```no_run
//! # async fn demo(plan: lapidary_gemini::hooks::HookPlan, around: lapidary_engine::hooks::Surroundings) {
//! use lapidary_engine::hooks::{Effect, effects, fire};
//! use lapidary_wire::gemini::hooks::{EventDetails, HookEvent};
//!
//! let prompt = "fix the build".to_owned();
//! let input = around.input(EventDetails::BeforeAgent { prompt });
//! let fired = fire(&plan, input, &around, &tokio_util::sync::CancellationToken::new()).await;
//! for effect in fired.effects() {
//!     if let Effect::Block(reason) = effect {
//!         println!("blocked: {reason}");
//!     }
//! }
//! # }
//! ```

mod aggregate;
mod effect;
mod environment;
mod expand;
mod fire;
mod result;
mod running;
mod secrets;
mod shell;
mod surroundings;
mod tools;

pub use aggregate::aggregate;
pub use effect::{Effect, effects};
pub use environment::Redaction;
pub use fire::{Fired, HookError, MOST_COMPLAINTS, MOST_OUTPUT, Ran, fire};
pub use result::{Answer, Format, answer};
pub use running::Running;
pub(crate) use running::named;
pub use surroundings::Surroundings;
pub use tools::{MOST_FILES, Side, Wanted, once_each, tool_response};
