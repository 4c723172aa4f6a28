//! Drives a turn: the prompt goes out with the context that hooks add, the agent works until it answers, and hooks may want it to
//! go on.

use std::sync::Arc;

use lapidary_vocab::Json;

use super::conversation_state::ConversationState;
use crate::acp::{PromptAnswer, RequestError};

/// How often hooks may want the agent to go on.
const MOST_ROUNDS: u32 = 100;

/// One turn of a session. A caller repeats [`run_prompt_hooks`](Self::run_prompt_hooks), [`give_prompt`](Self::give_prompt) and [`goes_on`](Self::goes_on) until there is
/// nothing more to say; each can be cancelled.
#[derive(Debug)]
pub(super) struct TurnDriver {
    state: Arc<ConversationState>,
    session: String,
    /// The prompt of the caller.
    prompt: Vec<Json>,
    /// The content blocks of the next prompt.
    next: Vec<Json>,
    /// The agent's answer so far.
    answer: String,
    rounds: u32,
}

impl TurnDriver {
    pub(super) fn new(state: &Arc<ConversationState>, session: &str, prompt: Vec<Json>) -> Self {
        Self {
            state: Arc::clone(state),
            session: session.to_owned(),
            next: prompt.clone(),
            prompt,
            answer: String::new(),
            rounds: 0,
        }
    }

    /// Hooks hear the prompt: they may add to it, or block it for a reason.
    pub(super) async fn run_prompt_hooks(&mut self) -> Result<(), String> {
        let Some(hooks) = &self.state.hooks else {
            return Ok(());
        };
        let _asked = self.state.being_asked();
        let observer = &self.state.observer;
        observer.with_hook_calls(|calls| calls.take_words(&self.session));
        let next = hooks.before_prompt(&self.session, &self.next).await;
        self.next = next.map_err(|reason| format!("a hook blocked the prompt: {reason}"))?;
        Ok(())
    }

    /// Gives the prompt to the agent at once, and waits for its answer. Dropping the answer ends the turn for us; the agent hears so.
    pub(super) fn give_prompt(
        &self,
    ) -> Result<impl Future<Output = Result<PromptAnswer, RequestError>> + use<>, RequestError>
    {
        let (state, session) = (Arc::clone(&self.state), self.session.clone());
        state
            .observer
            .with_hook_calls(|calls| calls.begin_turn(&session));
        state.lock_table().begin_turn(&session);
        let open = OpenTurn(state, session);
        open.0.observer.note_sign();
        let waiting = open.0.client.prompt(&open.1, &self.next)?;
        Ok(async move {
            let _open = open;
            let answer = waiting.answer(None).await?;
            Ok(PromptAnswer::from_token(&answer))
        })
    }

    /// Whether a hook rejects the answer. Then [`run_prompt_hooks`](Self::run_prompt_hooks) for the prompt that the hook wants instead.
    pub(super) async fn goes_on(&mut self, prompted: &PromptAnswer) -> bool {
        let state = Arc::clone(&self.state);
        let Some(hooks) = &state.hooks else {
            return false;
        };
        let session = &self.session;
        let _asked = state.being_asked();
        state.tools_are_done(Some(session)).await;
        state.say_what_was_left_out();
        state.say_what_was_cut_off(0, "the turn was cancelled before that");
        if !has_ended_well(prompted) || state.lock_table().stop_of(session).is_some() {
            return false;
        }
        if self.rounds >= MOST_ROUNDS {
            hooks.gives_up(session, self.rounds);
            return false;
        }
        let said = state
            .observer
            .with_hook_calls(|calls| calls.take_words(session));
        let said = said.unwrap_or_default();
        if !self.answer.is_empty() && !said.is_empty() {
            self.answer.push('\n');
        }
        self.answer.push_str(&said);
        let is_again = self.rounds > 0;
        self.rounds += 1;
        let answer = self.answer.clone();
        let more = hooks.after_prompt(session, &self.prompt, answer, is_again);
        match more.await {
            Some(more) => self.next = more,
            None => return false,
        }
        true
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
