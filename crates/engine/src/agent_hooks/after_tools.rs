//! Hooks after tool calls: they run beside the conversation, and a turn waits for the hooks of its own calls.

use std::convert::Infallible;
use std::sync::{Arc, MutexGuard};

use lapidary_vocab::Event;
use tokio::task::JoinSet;

use super::calls::{FinishedCall, HookCalls, MOST_CALLS};
use super::{HookRunner, lock_unpoisoned};
use crate::policy::ToolAction;

/// For how many calls hooks run at a time: the next call need not wait for one slow hook.
const AT_ONCE: usize = 8;

impl HookRunner {
    pub(super) fn lock_calls(&self) -> MutexGuard<'_, HookCalls> {
        lock_unpoisoned(&self.calls)
    }

    /// Notes an event of the agent, in the line of this number. No hook comes after a call that was held back.
    pub(crate) fn note_event(
        &self,
        number: u64,
        event: &Event,
        action: Option<&ToolAction>,
        is_held_back: bool,
    ) {
        let mut calls = self.lock_calls();
        if calls.note_event(number, event, action, is_held_back) {
            drop(calls);
            self.calls_changed.send_replace(());
        }
    }

    /// Notes text of the agent.
    pub(crate) fn add_text(&self, session: &str, text: &str) {
        self.lock_calls().add_text(session, text);
    }

    /// Hooks judge a file or a terminal for a session.
    pub(crate) fn note_service(&self, session: &str) {
        self.lock_calls().note_service(session);
    }

    /// Another turn of a session begins.
    pub(crate) fn begin_turn(&self, session: &str) {
        self.lock_calls().begin_turn(session);
    }

    /// Cuts off the hooks after the calls of a session, until it has another turn; of all sessions without one.
    pub(crate) fn cut_off(&self, session: Option<&str>) {
        self.lock_calls().cut_off(session);
    }

    /// Runs the hooks of calls that have ended, for some calls at a time. `stop` ends the turn of a session, for a hook's reason.
    pub(crate) async fn run_after_tools(
        self: Arc<Self>,
        stop: impl Fn(&str, String),
    ) -> Infallible {
        let mut changed = self.calls_changed.subscribe();
        let mut rounds = JoinSet::new();
        loop {
            while rounds.len() < AT_ONCE
                && let Some((done, has_hooks)) = self.next_finished()
            {
                rounds.spawn(Arc::clone(&self).after_call(done, has_hooks));
            }
            // Both branches are cancel-safe.
            tokio::select! {
                _ = changed.changed() => {}
                Some(ended) = rounds.join_next() => if let Ok((done, stopped)) = ended {
                    if let Some(why) = stopped {
                        stop(&done.session, why);
                    }
                    self.lock_calls().remove_waiting(&done);
                    self.calls_changed.send_replace(());
                }
            }
        }
    }

    fn next_finished(&self) -> Option<(FinishedCall, bool)> {
        let done = self.lock_calls().finished.pop_front()?;
        let has_hooks = self.comes_after(&done);
        self.lock_calls().taken += usize::from(has_hooks);
        Some((done, has_hooks))
    }

    async fn after_call(
        self: Arc<Self>,
        done: FinishedCall,
        has_hooks: bool,
    ) -> (FinishedCall, Option<String>) {
        if has_hooks {
            self.lock_calls().note_begun(done.ends.is_cancelled());
        }
        // Dropping it ends the hooks.
        let stopped = tokio::select! {
            biased;
            () = done.ends.cancelled() => None,
            stopped = self.after_tool(&done) => stopped,
        };
        (done, stopped)
    }

    /// Waits until the hooks after the calls of a session, or of all, are done.
    pub(crate) async fn wait_for_calls(&self, session: Option<&str>) {
        let mut changed = self.calls_changed.subscribe();
        let is_over = |(): &()| self.lock_calls().is_over(session);
        let _ = changed.wait_for(is_over).await;
    }

    /// Reports calls without hooks: calls beyond the limit, and calls whose hooks were cut off.
    pub(super) fn report_missed(&self, more: usize, why: &str) {
        let (left_out, cut_off) = self.lock_calls().take_missed();
        self.not_after(
            left_out,
            &format!(
                "more than {MOST_CALLS} calls were waiting for theirs, or too much of what they said"
            ),
        );
        self.not_after(cut_off + more, why);
    }

    /// Ends all running hooks, and waits until their results are reported. From now on no hook is started; calls whose hooks
    /// have not begun are counted.
    pub(crate) async fn end_hooks(&self) {
        self.running.end_all().await;
        let (taken, waiting) = self.lock_calls().close();
        let waiting = waiting.iter().filter(|done| self.comes_after(done));
        self.report_missed(taken + waiting.count(), "the run ended before that");
    }
}
