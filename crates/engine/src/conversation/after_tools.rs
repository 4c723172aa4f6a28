//! Hooks after tool calls: they run beside the conversation, and a turn waits for the hooks of its own calls.

use std::convert::Infallible;
use std::pin::pin;
use std::sync::Arc;

use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::timeout;

use super::conversation_state::ConversationState;
use super::ending::SessionError;
use super::halt_conditions::TurnPhase;
use super::hooks::{FinishedCall, HookCalls, MOST_CALLS};
use super::session_driver::SessionDriver;

/// For how many calls hooks run at a time: the next call need not wait for one slow hook.
const AT_ONCE: usize = 8;

impl ConversationState {
    /// Runs the hooks of calls that have ended, for some calls at a time.
    pub(super) async fn after_tools(
        self: Arc<Self>,
        finished: &mut mpsc::UnboundedReceiver<FinishedCall>,
    ) -> Infallible {
        let mut rounds = JoinSet::new();
        loop {
            // Both branches are cancel-safe.
            tokio::select! {
                Some(done) = finished.recv(), if rounds.len() < AT_ONCE => {
                    let has_hooks = self.hooks.as_ref().is_some_and(|it| it.comes_after(&done));
                    if has_hooks {
                        self.observer.with_hook_calls(HookCalls::note_taken);
                    }
                    rounds.spawn(Arc::clone(&self).after_tool(done, has_hooks));
                }
                Some(_) = rounds.join_next() => {}
                else => std::future::pending().await,
            }
        }
    }

    async fn after_tool(self: Arc<Self>, done: FinishedCall, has_hooks: bool) {
        if has_hooks {
            let is_cut_off = done.ends.is_cancelled();
            self.observer
                .with_hook_calls(|calls| calls.note_begun(is_cut_off));
        }
        if let Some(hooks) = &self.hooks {
            // Dropping it ends the hooks.
            tokio::select! {
                biased;
                () = done.ends.cancelled() => {}
                stops = hooks.after_tool(&done) => if stops {
                    self.stop_for_hook(done.session_id());
                    self.cancel_turn(done.session_id());
                }
            }
        }
        if let Some(waiting) = self
            .observer
            .with_hook_calls(|calls| calls.waiting_sender())
        {
            waiting.send_modify(|waiting| waiting.remove_call(&done));
        }
    }

    /// Waits until the hooks after the tools of a session, or of all, are done.
    pub(super) async fn tools_are_done(&self, session: Option<&str>) {
        if let Some(waiting) = self
            .observer
            .with_hook_calls(|calls| calls.waiting_sender())
        {
            let mut waiting = waiting.subscribe();
            let _ = waiting.wait_for(|waiting| waiting.is_over(session)).await;
        }
    }

    pub(super) fn say_what_was_cut_off(&self, more: usize, why: &str) {
        let cut_off = self.observer.with_hook_calls(HookCalls::take_cut_off);
        if let Some(hooks) = &self.hooks {
            hooks.not_after(cut_off.unwrap_or_default() + more, why);
        }
    }

    pub(super) fn say_what_was_left_out(&self) {
        let left_out = self.observer.with_hook_calls(HookCalls::take_left_out);
        if let (Some(hooks), Some(left_out)) = (&self.hooks, left_out) {
            let why = format!(
                "more than {MOST_CALLS} calls were waiting for theirs, or too much of what they said"
            );
            hooks.not_after(left_out, &why);
        }
    }

    /// Ends the hooks of the run. Ends the running ones, and counts calls whose hooks have not begun.
    pub(super) async fn hooks_are_over(
        &self,
        waiting: Option<mpsc::UnboundedReceiver<FinishedCall>>,
    ) {
        let Some(hooks) = &self.hooks else { return };
        hooks.end_hooks().await;
        self.say_what_was_left_out();
        let mut rest = self
            .observer
            .with_hook_calls(HookCalls::take_taken)
            .unwrap_or_default();
        if let Some(mut waiting) = waiting {
            while let Ok(done) = waiting.try_recv() {
                rest += usize::from(hooks.comes_after(&done));
            }
        }
        self.say_what_was_cut_off(rest, "the run ended before that");
    }
}

impl SessionDriver<'_> {
    /// Waits until the hooks after tools are done. False if the conversation has to end before that.
    async fn tools_are_done(&mut self) -> bool {
        let state = Arc::clone(&self.state);
        tokio::select! {
            biased;
            _ = self.halts.next(TurnPhase::Waiting, &state) => false,
            () = state.tools_are_done(None) => true,
        }
    }

    /// Hooks hear that sessions end: as long as they like if all went well, and else no longer than the agent itself would have.
    pub(super) async fn end_sessions(&mut self, done: &Result<(), SessionError>) {
        let state = Arc::clone(&self.state);
        let Some(hooks) = &state.hooks else { return };
        let mut ends = pin!(async {
            for session in hooks.begun_sessions() {
                hooks.session_ends(&session).await;
            }
        });
        if done.is_ok() && self.tools_are_done().await {
            tokio::select! {
                biased;
                _ = self.halts.next(TurnPhase::Waiting, &state) => {}
                () = &mut ends => return,
            }
        }
        if done.as_ref().err().is_none_or(SessionError::is_impatient) {
            state.observer.with_hook_calls(|calls| calls.cut_off_all());
        }
        // Together: the hooks of tools might leave no time for the hooks of a session.
        let ends = async { tokio::join!(state.tools_are_done(None), ends) };
        let time = self.halts.grace.step_share();
        tokio::select! {
            biased;
            () = self.halts.at_once() => {}
            _ = timeout(time, ends) => {}
        }
    }
}
