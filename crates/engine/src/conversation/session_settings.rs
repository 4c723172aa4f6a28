//! Settings of a session of the agent: its mode (which the agent lists as such, or as an option), its model, its options.

use lapidary_json::{SharedToken, Token};
use lapidary_vocab::Json;

use super::conversation_state::ConversationState;
use super::session_table::SessionState;
use crate::acp::{RequestAnswer, RequestError, RpcError};
use crate::agents::ModeWords;
use crate::config::PermissionMode;

/// A mode into which the agent has to be put.
#[derive(Debug, PartialEq)]
pub(super) struct PendingMode {
    mode: String,
    /// The option by which it is chosen, if it is not a mode by itself.
    option: Option<String>,
}

impl PendingMode {
    /// The agent does not want to.
    pub(super) fn refusal_message(&self, why: &str) -> String {
        format!("the agent does not go into its mode `{}`: {why}", self.mode)
    }
}

impl ConversationState {
    /// The mode to switch the agent to, if it offers the mode and is in another one. If the agent has no plan mode, a notice says
    /// so: we deny its requests, but it can still act without asking.
    pub(super) fn other_mode(
        &self,
        session: &str,
        words: &ModeWords,
        mode: PermissionMode,
    ) -> Option<PendingMode> {
        let is_plan = mode == PermissionMode::Plan;
        let word = if is_plan { &words.plan } else { &words.default };
        let found = word.as_ref().map(|word| {
            let table = self.lock_table();
            let known = table.get(session);
            known.map_or(ModeSearch::Nowhere, |known| known.find_mode(word))
        });
        match found {
            Some(ModeSearch::Other(wanted)) => return Some(wanted),
            Some(ModeSearch::Nowhere) | None if is_plan => {
                let message = "the agent has no plan mode: Lapidary denies its requests, but cannot stop what the agent does without asking";
                self.say.inject_notice(None, message);
            }
            Some(ModeSearch::Nowhere | ModeSearch::Already) | None => {}
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
        let answer = self
            .client
            .set_config_option(session, option, value)
            .await?;
        let options = answer.result.token().get("configOptions");
        if let Some(options) = options
            && let Some(known) = self.lock_table().get_mut(session)
        {
            let options = SharedToken::from(options);
            known.config_options = Some(Json::from(options));
        }
        Ok(answer)
    }

    fn option_for(&self, session: &str, category: &str) -> Option<String> {
        let (id, _) = self.lock_table().get(session)?.option_for(category)?;
        Some(id)
    }

    /// Puts the agent into a mode.
    pub(super) async fn enter_mode(
        &self,
        session: &str,
        wanted: &PendingMode,
    ) -> Result<(), RequestError> {
        let mode = &wanted.mode;
        if let Some(option) = &wanted.option {
            let value = Json::from_value(mode);
            self.set_option(session, option, &value).await?;
        } else {
            self.client.set_mode(session, mode).await?;
            self.note_mode(session, mode);
        }
        Ok(())
    }

    /// The agent was put into a mode.
    pub(super) fn note_mode(&self, session: &str, mode: &str) {
        let mut table = self.lock_table();
        let modes = table.get_mut(session).map(|known| &mut known.modes);
        if let Some(Some(modes)) = modes {
            mode.clone_into(&mut modes.current);
        }
    }
}

impl SessionState {
    fn find_mode(&self, word: &str) -> ModeSearch {
        let wanted = |option| PendingMode {
            mode: word.to_owned(),
            option,
        };
        if let Some(modes) = &self.modes
            && modes.available.iter().any(|mode| mode == word)
        {
            return ModeSearch::unless_current(modes.current == word, wanted(None));
        }
        let option = self.option_for("mode").filter(|(id, _)| {
            let options = self.config_options.as_ref();
            options.is_some_and(|options| has_value(options, id, word))
        });
        match option {
            Some((id, current)) => ModeSearch::unless_current(current == word, wanted(Some(id))),
            None => ModeSearch::Nowhere,
        }
    }
}

/// Whether a session has a mode.
enum ModeSearch {
    /// It is in it.
    Already,
    /// It could be put into it.
    Other(PendingMode),
    Nowhere,
}

impl ModeSearch {
    fn unless_current(is_current: bool, wanted: PendingMode) -> Self {
        if is_current {
            Self::Already
        } else {
            Self::Other(wanted)
        }
    }
}

fn list_items(token: Token<'_>) -> impl Iterator<Item = Token<'_>> {
    token.get("options").into_iter().flat_map(Token::elements)
}

/// Whether an option can have a value. Values may be listed in groups.
fn has_value(options: &Json, id: &str, word: &str) -> bool {
    let is = |token: Token<'_>, name, word| token.get(name).is_some_and(|it| it.is(word));
    let mut options = options.token().elements();
    let Some(option) = options.find(|option| is(*option, "id", id)) else {
        return false;
    };
    list_items(option).any(|value| {
        is(value, "value", word) || list_items(value).any(|value| is(value, "value", word))
    })
}
