//! The agent's own modes: those that it lists as such, or an option that stands for them.

use lapidary_json::Token;
use lapidary_vocab::Json;
use lapidary_vocab::event::DiagnosticKind;

use super::stage::Stage;
use crate::acp::RequestError;
use crate::agents::ModeWords;
use crate::config::PermissionMode;

/// A mode into which the agent has to be put.
#[derive(Debug, PartialEq)]
pub(super) struct Wanted {
    mode: String,
    /// The option by which it is chosen, if it is not a mode by itself.
    option: Option<String>,
}

impl Wanted {
    /// The agent does not want to.
    pub(super) fn refused(&self, why: &str) -> String {
        format!("the agent does not go into its mode `{}`: {why}", self.mode)
    }
}

impl Stage {
    /// The mode into which the agent has to be put, if it is not in it and has it. That it cannot be told to only plan is said: it is
    /// denied what it asks for, but may do what it does not ask for.
    pub(super) fn other_mode(
        &self,
        session: &str,
        words: &ModeWords,
        mode: PermissionMode,
    ) -> Option<Wanted> {
        let is_plan = mode == PermissionMode::Plan;
        let word = if is_plan { &words.plan } else { &words.default };
        let found = word.as_ref().map(|word| self.find_mode(session, word));
        match found {
            Some(Found::Other(wanted)) => return Some(wanted),
            Some(Found::Nowhere) | None if is_plan => {
                let message = "the agent has no plan mode: Lapidary denies its requests, but cannot stop what the agent does without asking";
                let kind = DiagnosticKind::Notice;
                self.say.note(None, kind, message.to_owned());
            }
            Some(Found::Nowhere | Found::Already) | None => {}
        }
        None
    }

    fn find_mode(&self, session: &str, word: &str) -> Found {
        let wanted = |option| Wanted {
            mode: word.to_owned(),
            option,
        };
        if let Some(modes) = self.modes_of(session)
            && modes.available.iter().any(|mode| mode == word)
        {
            let is_current = modes.current == word;
            return Found::unless(is_current, wanted(None));
        }
        let sessions = self.sessions();
        let known = sessions.get(session);
        let option = known.and_then(|known| {
            let (id, current) = known.option_for("mode")?;
            has_value(known.config_options.as_ref()?, &id, word).then_some((id, current))
        });
        match option {
            Some((id, current)) => Found::unless(current == word, wanted(Some(id))),
            None => Found::Nowhere,
        }
    }

    /// Puts the agent into a mode.
    pub(super) async fn enter(&self, session: &str, wanted: &Wanted) -> Result<(), RequestError> {
        let mode = &wanted.mode;
        if let Some(option) = &wanted.option {
            let value = Json::from_value(mode);
            self.set_option(session, option, &value).await?;
        } else {
            self.client.set_mode(session, mode).await?;
            self.is_in_mode(session, mode);
        }
        Ok(())
    }

    /// The agent was put into a mode.
    pub(super) fn is_in_mode(&self, session: &str, mode: &str) {
        let mut sessions = self.sessions();
        let modes = sessions.get_mut(session).map(|known| &mut known.modes);
        if let Some(Some(modes)) = modes {
            mode.clone_into(&mut modes.current);
        }
    }
}

/// Whether a session has a mode.
enum Found {
    /// It is in it.
    Already,
    /// It could be put into it.
    Other(Wanted),
    Nowhere,
}

impl Found {
    fn unless(is_current: bool, wanted: Wanted) -> Self {
        if is_current {
            Self::Already
        } else {
            Self::Other(wanted)
        }
    }
}

fn list(token: Token<'_>) -> impl Iterator<Item = Token<'_>> {
    token.get("options").into_iter().flat_map(Token::elements)
}

/// Whether an option can have a value. Values may be listed in groups.
fn has_value(options: &Json, id: &str, word: &str) -> bool {
    let is = |token: Token<'_>, name, word| token.get(name).is_some_and(|it| it.is(word));
    let mut options = options.token().elements();
    let Some(option) = options.find(|option| is(*option, "id", id)) else {
        return false;
    };
    list(option)
        .any(|value| is(value, "value", word) || list(value).any(|value| is(value, "value", word)))
}
