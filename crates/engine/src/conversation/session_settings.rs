//! Settings of a session of the agent: its mode (which the agent lists as such, or as an option), its model, its options.

use lapidary_vocab::Json;

use super::conversation_state::ConversationState;
use crate::acp::{ModeSearch, RequestAnswer, RequestError, RpcError, SessionMode, SessionSettings};
use crate::config::PermissionMode;

impl ConversationState {
    /// Puts the agent into the mode in which it asks, or only plans, as our own has it. In the others we answer ourselves. The error
    /// has a message for people.
    pub(super) async fn enter_own_mode(
        &self,
        session: &str,
        mode: PermissionMode,
    ) -> Result<(), (String, RequestError)> {
        let Some(SessionMode { id, option }) = self.other_mode(session, mode) else {
            return Ok(());
        };
        let set = match option {
            Some(option) => {
                let value = Json::from_value(&id);
                self.set_option(session, &option, &value).await
            }
            None => self.set_mode(session, &id).await,
        };
        set.map(drop).map_err(|error| {
            let message = format!("the agent does not go into its mode `{id}`: {error}");
            (message, error)
        })
    }

    /// The mode to switch the agent to, if it offers the mode and is in another one. If the agent has no plan mode, a notice says
    /// so: we deny its requests, but it can still act without asking.
    fn other_mode(&self, session: &str, mode: PermissionMode) -> Option<SessionMode> {
        let words = &self.request.modes;
        let is_plan = mode == PermissionMode::Plan;
        let word = if is_plan { &words.plan } else { &words.default };
        let find_mode = |word: &String| self.with_settings(session, |it| it.find_mode(word));
        match word.as_ref().and_then(find_mode) {
            Some(ModeSearch::Other(wanted)) => return Some(wanted),
            Some(ModeSearch::Already) => {}
            Some(ModeSearch::Nowhere) | None => {
                if is_plan {
                    let message = "the agent has no plan mode: Lapidary denies its requests, but cannot stop what the agent does without asking";
                    self.say.inject_notice(None, message);
                }
            }
        }
        None
    }

    /// Chooses a model: by the option that stands for it, else as agents had it before there were options.
    pub(super) async fn set_model(
        &self,
        session: &str,
        model: &str,
    ) -> Result<RequestAnswer, RequestError> {
        match self.option_for(session, "model") {
            Some(option) => {
                let value = Json::from_value(&model);
                self.set_option(session, &option, &value).await
            }
            None => self.client.set_model(session, model).await,
        }
    }

    /// Sets the reasoning effort, if the agent has an option for it.
    pub(super) async fn set_effort(
        &self,
        session: &str,
        effort: &str,
    ) -> Result<RequestAnswer, RequestError> {
        let Some(option) = self.option_for(session, "thought_level") else {
            let message = "the agent has no option for how hard to think";
            let refusal = RpcError::new(RpcError::NO_METHOD, message);
            return Err(RequestError::Refused(refusal));
        };
        let value = Json::from_value(&effort);
        self.set_option(session, &option, &value).await
    }

    /// Sets an option. The answer has all of them as they are now.
    pub(super) async fn set_option(
        &self,
        session: &str,
        option: &str,
        value: &Json,
    ) -> Result<RequestAnswer, RequestError> {
        let answer = self.client.set_config_option(session, option, value);
        let answer = answer.await?;
        self.with_settings(session, |it| it.take_options(&answer.result));
        Ok(answer)
    }

    /// Puts the agent into a mode.
    pub(super) async fn set_mode(
        &self,
        session: &str,
        mode: &str,
    ) -> Result<RequestAnswer, RequestError> {
        let answer = self.client.set_mode(session, mode).await?;
        self.with_settings(session, |it| it.note_mode(mode));
        Ok(answer)
    }

    fn option_for(&self, session: &str, category: &str) -> Option<String> {
        self.with_settings(session, |it| it.option_for(category))
            .flatten()
    }

    fn with_settings<T>(
        &self,
        session: &str,
        with: impl FnOnce(&mut SessionSettings) -> T,
    ) -> Option<T> {
        let mut table = self.lock_table();
        table
            .get_mut(session)
            .map(|known| with(&mut known.settings))
    }
}
