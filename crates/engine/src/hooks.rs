//! Hooks: commands of the user that are run at certain moments, told what is going on, and heard about what is to happen.
//!
//! Which hooks there are and which of them run is in [`lapidary_gemini::hooks`]; this runs them. All of it is as Gemini CLI (0.61) does it
//! on the same files, but for three things: a hook that exits with 2 blocks even if it is silent, one that takes too long is ended
//! with everything that it started, and what it writes is kept only up to a bound.
//!
//! ```no_run
//! # async fn demo(plan: lapidary_gemini::hooks::HookPlan, around: lapidary_engine::hooks::HookContext) {
//! use lapidary_engine::hooks::{AppliedEffect, effects, fire};
//! use lapidary_wire::gemini::hooks::{EventDetails, HookEvent};
//!
//! let prompt = "fix the build".to_owned();
//! let input = around.input(EventDetails::BeforeAgent { prompt });
//! let fired = fire(&plan, input, &around, &tokio_util::sync::CancellationToken::new()).await;
//! for effect in fired.effects() {
//!     if let AppliedEffect::Block(reason) = effect {
//!         println!("blocked: {reason}");
//!     }
//! }
//! # }
//! ```

mod active_hooks;
mod aggregate;
mod effect;
mod environment;
mod expand;
mod fire;
mod hook_context;
mod result;
mod secrets;
mod shell;
mod tools;

pub use active_hooks::ActiveHooks;
pub(crate) use active_hooks::named;
pub use aggregate::aggregate;
pub use effect::{AppliedEffect, effects};
pub use environment::VariableRedaction;
pub use fire::{HookError, HookResult, HookResults, MOST_COMPLAINTS, MOST_OUTPUT, fire};
pub use hook_context::HookContext;
pub use result::{AnswerFormat, HookAnswer, answer};
pub use tools::{CallSide, MOST_FILES, WantedCall, once_each, tool_response};
