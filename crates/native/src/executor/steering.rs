//! Messages of the user to an agent that is at work.
//!
//! As in Gemini CLI 0.61, a message is put before the responses that the model gets next, and every agent that is at work then gets it.

use std::sync::{Mutex, MutexGuard, PoisonError};

use lapidary_gemini::js;
use serde_json::{Value, json};
use tokio::sync::oneshot;

use super::AgentRun;

/// More messages for one task are refused.
const MOST_HINTS: usize = 64;
/// A longer message is refused.
const LONGEST_HINT_BYTES: usize = 64 * 1024;

/// Our own words; Gemini CLI has others at the same place.
const INSTRUCTION: &str = "The user sent this while you were at work. It can add a task, change or cancel one, or only tell you more. Change your plan by as little as it asks for, and go on with the rest of the task.";

/// Messages of the user for the agents of one task.
#[derive(Debug, Default)]
pub struct SteeringInbox {
    hints: Mutex<Vec<UserHint>>,
}

#[derive(Debug)]
struct UserHint {
    text: String,
    /// Tells the sender that a model gets the message.
    told: Option<oneshot::Sender<()>>,
}

/// Why a message is not taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SteeringError {
    /// It has no text.
    #[error("the message is empty")]
    Empty,
    /// It is too long.
    #[error("the message has more than {LONGEST_HINT_BYTES} bytes")]
    TooLong,
    /// There were too many.
    #[error("the task has had {MOST_HINTS} messages already")]
    TooMany,
}

impl SteeringInbox {
    /// Adds a message. The receiver is told when a model gets it, and is closed if the task ends before.
    ///
    /// # Errors
    /// The message is empty or too long, or there were too many.
    pub fn add_hint(&self, text: &str) -> Result<oneshot::Receiver<()>, SteeringError> {
        let text = normalized_space(text);
        let mut hints = self.lock_hints();
        if text.is_empty() {
            return Err(SteeringError::Empty);
        } else if text.len() > LONGEST_HINT_BYTES {
            return Err(SteeringError::TooLong);
        } else if hints.len() >= MOST_HINTS {
            return Err(SteeringError::TooMany);
        }
        let (told, receiver) = oneshot::channel();
        let told = Some(told);
        hints.push(UserHint { text, told });
        Ok(receiver)
    }

    pub(super) fn hint_count(&self) -> usize {
        self.lock_hints().len()
    }

    /// The messages behind the first ones, which a model gets now.
    fn take_hints_behind(&self, count: usize) -> Vec<String> {
        let mut hints = self.lock_hints();
        let behind = hints.iter_mut().skip(count);
        behind
            .map(|hint| {
                if let Some(told) = hint.told.take() {
                    let _ = told.send(()); // the sender may be gone
                }
                hint.text.clone()
            })
            .collect()
    }

    fn lock_hints(&self) -> MutexGuard<'_, Vec<UserHint>> {
        self.hints.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl AgentRun<'_> {
    /// The part with the messages that came since the last one; none if none came.
    pub(super) fn take_hints_part(&mut self) -> Option<Value> {
        let inbox = self.executor.steering.as_ref()?;
        let hints = inbox.take_hints_behind(self.known_hints);
        self.known_hints += hints.len();
        (!hints.is_empty()).then(|| json!({ "text": hints_text(&hints) }))
    }
}

/// The text for the model.
fn hints_text(hints: &[String]) -> String {
    let list: Vec<_> = hints.iter().map(|hint| format!("- {hint}")).collect();
    let list = list.join("\n");
    format!("User hints:\n<user_input>\n{list}\n</user_input>\n\n{INSTRUCTION}")
}

fn normalized_space(text: &str) -> String {
    let words = text.split(js::is_space).filter(|word| !word.is_empty());
    words.collect::<Vec<_>>().join(" ")
}
