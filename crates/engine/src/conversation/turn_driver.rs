//! Drives a turn: the prompt goes out with the context that hooks add, the agent works until it answers, and hooks may want it to
//! go on.

use std::sync::Arc;

use lapidary_vocab::Json;

use super::conversation_state::ConversationState;
use crate::acp::{PromptAnswer, RequestError};
use crate::agent_hooks::HookedTurn;

/// One turn of a session. A caller repeats [`run_prompt_hooks`](Self::run_prompt_hooks), [`give_prompt`](Self::give_prompt) and [`goes_on`](Self::goes_on) until there is
/// nothing more to say; each can be cancelled.
#[derive(Debug)]
pub(super) struct TurnDriver {
    state: Arc<ConversationState>,
    turn: HookedTurn,
}

impl TurnDriver {
    pub(super) fn new(state: &Arc<ConversationState>, session: &str, prompt: Vec<Json>) -> Self {
        Self {
            state: Arc::clone(state),
            turn: HookedTurn::new(session, prompt),
        }
    }

    /// Hooks hear the prompt: they may add to it, or block it for a reason.
    pub(super) async fn run_prompt_hooks(&mut self) -> Result<(), String> {
        let Some(hooks) = &self.state.hooks else {
            return Ok(());
        };
        let _asked = self.state.being_asked();
        let heard = hooks.before_prompt(&mut self.turn).await;
        heard.map_err(|reason| format!("a hook blocked the prompt: {reason}"))
    }

    /// Gives the prompt to the agent at once, and waits for its answer. Dropping the answer ends the turn for us; the agent hears so.
    pub(super) fn give_prompt(
        &self,
    ) -> Result<impl Future<Output = Result<PromptAnswer, RequestError>> + use<>, RequestError>
    {
        let (state, session) = (Arc::clone(&self.state), self.turn.session.clone());
        if let Some(hooks) = &state.hooks {
            hooks.begin_turn(&session);
        }
        state.lock_table().begin_turn(&session);
        let open = OpenTurn(state, session);
        open.0.observer.note_sign();
        let waiting = open.0.client.prompt(&open.1, &self.turn.next)?;
        Ok(async move {
            let _open = open;
            let answer = waiting.answer(None).await?;
            Ok(PromptAnswer::from_token(&answer))
        })
    }

    /// Whether a hook rejects the answer. Then [`run_prompt_hooks`](Self::run_prompt_hooks) for the prompt that the hook wants instead.
    pub(super) async fn goes_on(&mut self, prompted: &PromptAnswer) -> bool {
        let Some(hooks) = &self.state.hooks else {
            return false;
        };
        let _asked = self.state.being_asked();
        let session = self.turn.session.clone();
        let is_stopped = || self.state.lock_table().stop_of(&session).is_some();
        let is_complete = || has_ended_well(prompted) && !is_stopped();
        hooks.after_prompt(&mut self.turn, is_complete).await
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
        self.0.lock_table().end_turn(&self.1);
    }
}
