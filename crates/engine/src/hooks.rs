//! Hooks: commands of the user that run at events of the agent, get a description of the event, and may change or block it.
//!
//! [`lapidary_gemini::hooks`] finds the hooks and selects the ones to run; this module runs them. It does this as Gemini CLI
//! (0.61) does with the same files, with three differences: a hook that exits with 2 blocks even if it is silent, a hook that
//! takes too long is killed with all processes that it started, and its output is kept only up to a limit.
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
pub(crate) use active_hooks::hook_name;
pub use aggregate::aggregate;
pub use effect::{AppliedEffect, effects};
pub use environment::VariableRedaction;
pub use fire::{HookError, HookResult, HookResults, MOST_OUTPUT, MOST_STDERR, fire};
pub use hook_context::{HookContext, plans_directory};
pub use result::{AnswerFormat, HookAnswer, answer};
pub use tools::{CallSide, MOST_FILES, WantedCall, once_each, tool_response};
