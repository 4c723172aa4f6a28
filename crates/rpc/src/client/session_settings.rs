//! The settings of a session as the agent lists them: its modes, and its options, one of which may stand for the mode.

use lapidary_json::{SharedToken, Token};
use lapidary_vocab::Json;

use super::{OpenedSession, SessionModes};

/// The modes and the options of a session.
#[derive(Debug, Clone, Default)]
pub struct SessionSettings {
    modes: Option<SessionModes>,
    options: Option<Json>,
}

/// A mode of a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionMode {
    /// Its id.
    pub id: String,
    /// The option by which it is chosen, if it is not a mode by itself.
    pub option: Option<String>,
}

/// Whether a session has a mode.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ModeSearch {
    /// It is in it.
    Already,
    /// It could be put into it.
    Other(SessionMode),
    /// It has no such mode.
    Nowhere,
}

impl SessionSettings {
    /// Takes the settings that a session was opened with; a session that is opened again need not list them again.
    pub fn take_opened(&mut self, opened: &OpenedSession) {
        self.modes = opened.modes.clone().or(self.modes.take());
        let options = opened.config_options.clone();
        self.options = options.or(self.options.take());
    }

    /// Takes the options of an answer that has all of them as they are now.
    pub fn take_options(&mut self, answer: &Json) {
        if let Some(options) = answer.token().get("configOptions") {
            self.options = Some(Json::from(SharedToken::from(options)));
        }
    }

    /// The session was put into a mode.
    pub fn note_mode(&mut self, mode: &str) {
        if let Some(modes) = &mut self.modes {
            mode.clone_into(&mut modes.current);
        }
    }

    /// The id of the option of a category, such as `model`.
    pub fn option_for(&self, category: &str) -> Option<String> {
        let (id, _) = self.option_and_value(category)?;
        Some(id)
    }

    fn option_and_value(&self, category: &str) -> Option<(String, String)> {
        let options = self.options.as_ref()?.token();
        let is_meant = |option: &Token<'_>| {
            let named = |name| option.get(name).is_some_and(|word| word.is(category));
            named("category") || named("id")
        };
        let option = options.elements().find(is_meant)?;
        let text = |name| Some(option.get(name)?.string()?.into_owned());
        Some((text("id")?, text("currentValue").unwrap_or_default()))
    }

    /// Finds a mode: among the modes, else among the values of the option that stands for them.
    pub fn find_mode(&self, word: &str) -> ModeSearch {
        let search = |is_current, option| {
            let id = word.to_owned();
            if is_current {
                ModeSearch::Already
            } else {
                ModeSearch::Other(SessionMode { id, option })
            }
        };
        if let Some(modes) = &self.modes
            && modes.available.iter().any(|mode| mode == word)
        {
            return search(modes.current == word, None);
        }
        match self.option_and_value("mode") {
            Some((id, current)) if self.has_value(&id, word) => search(current == word, Some(id)),
            _ => ModeSearch::Nowhere,
        }
    }

    /// Whether an option can have a value. Values may be listed in groups.
    fn has_value(&self, id: &str, word: &str) -> bool {
        let is = |token: Token<'_>, name, word| token.get(name).is_some_and(|it| it.is(word));
        let options = self.options.iter().flat_map(|it| it.token().elements());
        let mut meant = options.filter(|option| is(*option, "id", id));
        let values = meant.next().into_iter().flat_map(list_items);
        values.into_iter().any(|value| {
            is(value, "value", word) || list_items(value).any(|value| is(value, "value", word))
        })
    }
}

fn list_items(token: Token<'_>) -> impl Iterator<Item = Token<'_>> {
    token.get("options").into_iter().flat_map(Token::elements)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn settings(modes: Option<(&str, &[&str])>, options: Option<Value>) -> SessionSettings {
        let modes = modes.map(|(current, available)| SessionModes {
            current: current.to_owned(),
            available: available.iter().map(|&mode| mode.to_owned()).collect(),
        });
        let mut settings = SessionSettings {
            modes,
            options: None,
        };
        if let Some(options) = options {
            settings.take_options(&Json::from_value(&json!({"configOptions": options})));
        }
        settings
    }

    fn other(id: &str, option: Option<&str>) -> ModeSearch {
        ModeSearch::Other(SessionMode {
            id: id.to_owned(),
            option: option.map(str::to_owned),
        })
    }

    #[test]
    fn a_mode_is_found_among_the_modes_and_noted_once_it_is_set() {
        let mut settings = settings(Some(("code", &["code", "plan"])), None);
        assert_eq!(settings.find_mode("plan"), other("plan", None));
        assert_eq!(settings.find_mode("dance"), ModeSearch::Nowhere);
        settings.note_mode("plan");
        assert_eq!(settings.find_mode("plan"), ModeSearch::Already);
    }

    #[test]
    fn a_mode_is_found_among_the_values_of_the_option_that_stands_for_it_in_groups_too() {
        let group = json!({"name": "more", "options": [{"value": "plan", "name": "Plan"}]});
        let option = json!({"id": "m", "category": "mode", "currentValue": "build",
            "options": [{"value": "build", "name": "Build"}, group]});
        let settings = settings(Some(("code", &["code"])), Some(json!([option])));
        assert_eq!(settings.find_mode("build"), ModeSearch::Already);
        assert_eq!(settings.find_mode("plan"), other("plan", Some("m")));
        assert_eq!(settings.find_mode("dance"), ModeSearch::Nowhere);
        assert_eq!(settings.option_for("mode").as_deref(), Some("m"));
        assert_eq!(settings.option_for("model"), None);
    }
}
