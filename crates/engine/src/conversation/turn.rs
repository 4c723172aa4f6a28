//! One prompt in one session: the turn of a run, and the conditions that end it early.

use lapidary_vocab::{Cause, Json};
use tokio::time::timeout;

use super::conversation_state::ConversationState;
use super::ending::{SessionError, stopped_error};
use super::halt_conditions::{HaltReason, TurnPhase};
use super::session_driver::SessionDriver;
use super::turn_driver::TurnDriver;
use crate::acp::PromptAnswer;

impl SessionDriver<'_> {
    /// Sends a prompt, and the prompts that hooks want after it. The answer is that of the last one.
    pub(super) async fn run_turn(
        &mut self,
        session: &str,
        prompt: Vec<Json>,
    ) -> Result<PromptAnswer, SessionError> {
        let mut turn = TurnDriver::new(&self.state, session, prompt);
        loop {
            let prepared = async { Ok(turn.run_prompt_hooks().await) };
            let prepared = self.run_step(TurnPhase::Turn, prepared).await?;
            prepared.map_err(|why| stopped_error(Cause::PermissionDenied, why, None))?;
            let prompted = self.send_prompt(session, &turn).await?;
            let goes_on = async { Ok(turn.goes_on(&prompted).await) };
            let goes_on = self.run_step(TurnPhase::Turn, goes_on).await?;
            let stop = self.state.lock_table().stop_of(session);
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
    async fn send_prompt(
        &mut self,
        session: &str,
        turn: &TurnDriver,
    ) -> Result<PromptAnswer, SessionError> {
        let state = self.state.clone();
        let answered = turn.give_prompt()?;
        tokio::pin!(answered);
        let halt = tokio::select! {
            biased;
            answer = &mut answered => return Ok(answer?),
            halt = self.halts.next(TurnPhase::Turn, &state) => halt,
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
        let unknown = self.request.run.budget_unknown;
        let remark = self.state.observer.spent.judge_use(unknown);
        if let Some(remark) = remark.map_err(SessionError::Stopped)? {
            self.state.say.inject_notice(None, remark);
        }
        Ok(())
    }
}

impl ConversationState {
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
