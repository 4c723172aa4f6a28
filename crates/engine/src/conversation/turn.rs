//! A turn: the prompt goes out with the context that hooks add, the agent works until it answers, and hooks may want it to go on.
//! For a run, stop conditions may end it early.

use std::sync::Arc;

use lapidary_vocab::{Cause, Json};
use tokio::time::timeout;

use super::conversation_state::ConversationState;
use super::ending::{SessionError, stopped_error};
use super::halt_conditions::{HaltReason, TurnPhase};
use super::session_driver::SessionDriver;
use crate::acp::{PromptAnswer, RequestError};
use crate::agent_hooks::HookedTurn;

impl SessionDriver {
    /// Sends a prompt, and the prompts that hooks want after it. The answer is that of the last one.
    pub(super) async fn run_turn(
        &mut self,
        session: &str,
        prompt: Vec<Json>,
    ) -> Result<PromptAnswer, SessionError> {
        let state = Arc::clone(&self.state);
        let mut turn = HookedTurn::new(session, prompt);
        loop {
            let prepared = async { Ok(state.run_prompt_hooks(&mut turn).await) };
            let prepared = self.run_step(TurnPhase::Turn, prepared).await?;
            prepared.map_err(|why| stopped_error(Cause::PermissionDenied, why, None))?;
            let prompted = self.send_prompt(&turn).await?;
            let goes_on = async { Ok(state.goes_on(&mut turn, &prompted).await) };
            let goes_on = self.run_step(TurnPhase::Turn, goes_on).await?;
            let stop = state.lock_table().stop_of(session);
            if let Some(stop) = stop {
                return Err(SessionError::Stopped(stop));
            }
            if !goes_on {
                self.check_budget()?;
                return Ok(prompted);
            }
        }
    }

    /// Gives a prompt and waits until the agent has answered, or has to end.
    async fn send_prompt(&mut self, turn: &HookedTurn) -> Result<PromptAnswer, SessionError> {
        let (state, session) = (Arc::clone(&self.state), turn.session.as_str());
        let answered = state.give_prompt(turn)?;
        tokio::pin!(answered);
        let halt = tokio::select! {
            biased;
            answer = &mut answered => return Ok(answer?),
            halt = self.halts.next(TurnPhase::Turn) => halt,
            halt = state.wait_for_hook_stop(session) => halt,
        };
        self.note_stall();
        if !halt.is_urgent {
            if state.lock_table().stop_of(session).is_none() {
                state.cancel_turn(session); // a hook has done so already
            }
            self.halts.grace.start(); // a hook's reason to stop is one too
            let time = self.halts.grace.step_share();
            tokio::select! {
                late = timeout(time, answered) => self.is_deaf = late.is_err(),
                () = self.halts.at_once() => {}
            }
        }
        Err(halt.into())
    }

    /// An exceeded limit ends the run; a limit that could not be checked does as the caller wants.
    pub(super) fn check_budget(&self) -> Result<(), SessionError> {
        let unknown = self.state.request.run.budget_unknown;
        let remark = self.state.observer.spent.judge_use(unknown);
        if let Some(remark) = remark.map_err(SessionError::Stopped)? {
            self.state.say.inject_notice(None, remark);
        }
        Ok(())
    }
}

/// The steps of a turn. A caller repeats [`run_prompt_hooks`](Self::run_prompt_hooks), [`give_prompt`](Self::give_prompt) and
/// [`goes_on`](Self::goes_on) until there is nothing more to say; each can be cancelled.
impl ConversationState {
    /// Runs the hooks of a prompt: they may add to it, or block it for a reason.
    pub(super) async fn run_prompt_hooks(&self, turn: &mut HookedTurn) -> Result<(), String> {
        let Some(hooks) = &self.hooks else {
            return Ok(());
        };
        let _asked = self.being_asked();
        let heard = hooks.before_prompt(turn).await;
        heard.map_err(|reason| format!("a hook blocked the prompt: {reason}"))
    }

    /// Gives the prompt to the agent at once, and waits for its answer. Dropping the answer ends the turn for us, and cancels it for the agent.
    pub(super) fn give_prompt(
        self: &Arc<Self>,
        turn: &HookedTurn,
    ) -> Result<impl Future<Output = Result<PromptAnswer, RequestError>> + use<>, RequestError>
    {
        let session = &turn.session;
        if let Some(hooks) = &self.hooks {
            hooks.begin_turn(session);
        }
        self.begin_turn(session);
        let open = OpenTurn(Arc::clone(self), session.clone());
        self.observer.note_sign();
        let waiting = self.client.prompt(session, &turn.next)?;
        Ok(async move {
            let _open = open;
            let answer = waiting.answer(None).await?;
            Ok(PromptAnswer::from_token(&answer))
        })
    }

    /// Whether a hook rejects the answer. Then the turn has the prompt that the hook wants instead.
    pub(super) async fn goes_on(&self, turn: &mut HookedTurn, prompted: &PromptAnswer) -> bool {
        let Some(hooks) = &self.hooks else {
            return false;
        };
        let _asked = self.being_asked();
        let session = turn.session.clone();
        let is_stopped = || self.lock_table().stop_of(&session).is_some();
        let is_complete = || has_ended_well(prompted) && !is_stopped();
        hooks.after_prompt(turn, is_complete).await
    }

    /// Waits until a hook has stopped the turn. Can be cancelled.
    async fn wait_for_hook_stop(&self, session: &str) -> HaltReason {
        let turn = self.lock_table().turn_of(session);
        if let Some(turn) = turn {
            turn.cancelled().await;
        }
        let stopped = self.lock_table().stop_of(session);
        match stopped {
            Some(stopped) => HaltReason {
                stopped,
                is_urgent: false,
            },
            None => std::future::pending().await, // cancelled, but not by a hook
        }
    }
}

/// Whether the agent has nothing left to do: it was not refused or cancelled, and came to no limit.
pub(super) fn has_ended_well(prompted: &PromptAnswer) -> bool {
    let reason = prompted.whole.token().get("stopReason");
    reason.is_some_and(|reason| reason.is("end_turn"))
}

/// A turn that is over when this is dropped, however that came.
struct OpenTurn(Arc<ConversationState>, String);

impl Drop for OpenTurn {
    fn drop(&mut self) {
        self.0.end_turn(&self.1);
    }
}
