//! The hooks that run right now, so that a timeout can name the hook that the run waits for.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use lapidary_gemini::hooks::{Hook, HookEvent};

/// A name is cut here: it may be a whole script.
const LONGEST_NAME: usize = 60;

/// The hooks that run right now. Clones share them.
#[derive(Debug, Clone, Default)]
pub struct ActiveHooks(Arc<Mutex<RunningState>>);

#[derive(Debug, Default)]
struct RunningState {
    next: u64,
    /// The oldest first.
    going: BTreeMap<u64, (HookEvent, String)>,
}

/// A hook that runs, for as long as this lives.
#[derive(Debug)]
pub(super) struct ActiveHook {
    running: ActiveHooks,
    number: u64,
}

/// A hook's name, for a sentence.
pub(crate) fn hook_name(hook: &Hook) -> String {
    hook.display_name().chars().take(LONGEST_NAME).collect()
}

impl ActiveHooks {
    pub(super) fn begin_hook(&self, hook: &Hook) -> ActiveHook {
        let name = hook_name(hook);
        let mut state = self.lock_state();
        let number = state.next;
        state.next += 1;
        state.going.insert(number, (hook.event, name));
        drop(state);
        ActiveHook {
            running: self.clone(),
            number,
        }
    }

    /// Describes the hook of these events that has run for longest.
    pub(crate) fn describe_oldest(&self, counts: impl Fn(HookEvent) -> bool) -> Option<String> {
        let state = self.lock_state();
        let mut going = state.going.values().filter(|(event, _)| counts(*event));
        let (event, name) = going.next()?;
        let more = match going.count() {
            0 => String::new(),
            more => format!(" and {more} more hooks"),
        };
        Some(format!("the `{event}` hook `{name}`{more}"))
    }

    fn lock_state(&self) -> MutexGuard<'_, RunningState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for ActiveHook {
    fn drop(&mut self) {
        self.running.lock_state().going.remove(&self.number);
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use lapidary_gemini::hooks::HookSource;

    use super::*;

    fn hook(command: &str) -> Hook {
        Hook {
            event: HookEvent::BeforeTool,
            name: None,
            description: None,
            command: command.to_owned(),
            timeout: None,
            env: BTreeMap::new(),
            fail_open: false,
            matcher: None,
            sequential: false,
            source: HookSource::Project,
            scope: None,
            origin: PathBuf::new(),
            place: Vec::new(),
        }
    }

    #[test]
    fn the_oldest_is_named_for_as_long_as_it_runs() {
        let running = ActiveHooks::default();
        let describe = || running.describe_oldest(|event| event == HookEvent::BeforeTool);
        assert_eq!(describe(), None);
        let first = running.begin_hook(&hook("first"));
        let second = running.begin_hook(&hook(&"x".repeat(100)));
        let both = "the `BeforeTool` hook `first` and 1 more hooks";
        assert_eq!(describe().as_deref(), Some(both));
        drop(first);
        let only = format!("the `BeforeTool` hook `{}`", "x".repeat(LONGEST_NAME));
        assert_eq!(describe(), Some(only));
        assert_eq!(
            running.describe_oldest(|event| event == HookEvent::AfterTool),
            None
        );
        drop(second);
        assert_eq!(describe(), None);
    }
}
