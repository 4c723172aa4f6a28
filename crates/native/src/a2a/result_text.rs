//! The text of an answer: live, as its pieces come, and whole, as Gemini CLI puts it together.

use std::collections::HashMap;

use lapidary_wire::a2a::update::{A2aMessage, A2aUpdate, ArtifactFields, TaskState};

/// The sentence for a task that waits for its user's login, in Gemini CLI's words.
const AUTH_REQUIRED: &str = "[Authorization Required] The agent has indicated it requires authorization to proceed. Please follow the agent's instructions.";

/// How many artifacts an answer may have.
pub(super) const MOST_ARTIFACTS: usize = 10_000;

/// The text of an answer. The whole text has all messages before all artifacts; the live text has them as they come.
#[derive(Debug, Default)]
pub(super) struct ResultText {
    messages: Vec<String>,
    artifacts: Vec<ArtifactText>,
    /// The places of the artifacts, by their ids.
    places: HashMap<String, usize>,
    /// How many bytes both have, with names and ids.
    kept_bytes: usize,
    /// How many bytes the live text has. A server that is asked again and again can replace what is kept, and say new text each time.
    said_bytes: usize,
    /// The place of the last live piece; none before the first.
    last: Option<TextPlace>,
}

#[derive(Debug)]
struct ArtifactText {
    name: Option<String>,
    text: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TextPlace {
    Message,
    /// The artifact at this place.
    Artifact(usize),
}

impl ResultText {
    /// Takes up an update. `say` gets the new text at once.
    pub(super) fn take_update(&mut self, update: A2aUpdate<'_>, say: &mut dyn FnMut(&str)) {
        let mut said_bytes = 0;
        self.add_update(update, &mut |piece| {
            said_bytes += piece.len();
            say(piece);
        });
        self.said_bytes += said_bytes;
    }

    fn add_update(&mut self, update: A2aUpdate<'_>, say: &mut dyn FnMut(&str)) {
        if update.state() == Some(TaskState::AuthRequired)
            && !self.messages.iter().any(|it| it == AUTH_REQUIRED)
        {
            self.add_message(AUTH_REQUIRED.to_owned(), say);
        }
        match update {
            A2aUpdate::Status(status) => self.add_agent_message(status.message(), say),
            A2aUpdate::Message(message) => self.add_agent_message(Some(message), say),
            A2aUpdate::Artifact(update) => {
                if let Some(artifact) = update.artifact() {
                    self.add_artifact(artifact, update.is_appended(), say);
                }
            }
            A2aUpdate::Task(task) => {
                self.add_agent_message(task.message(), say);
                for artifact in task.artifacts().take(MOST_ARTIFACTS + 1) {
                    self.add_artifact(artifact, false, say);
                }
                // Some agents leave their answer in the history only.
                let is_over = update.state().is_some_and(|state| state.is_terminal());
                if is_over && self.is_empty() {
                    self.add_agent_message(task.last_agent_message(), say);
                }
            }
            A2aUpdate::Unknown(_) => {}
        }
    }

    /// Whether the agent has said nothing.
    pub(super) fn is_empty(&self) -> bool {
        self.messages.is_empty() && self.artifacts.is_empty()
    }

    /// How many bytes it has: those that are kept, or those that were said, whichever are more.
    pub(super) fn bytes(&self) -> usize {
        self.kept_bytes.max(self.said_bytes)
    }

    /// How many artifacts there are.
    pub(super) fn artifact_count(&self) -> usize {
        self.artifacts.len()
    }

    /// The whole text.
    pub(super) fn whole_text(&self) -> String {
        let messages = self.messages.concat();
        let artifacts: Vec<_> = self
            .artifacts
            .iter()
            .map(ArtifactText::text_with_header)
            .collect();
        let artifacts = artifacts.join("\n\n");
        match (messages.is_empty(), artifacts.is_empty()) {
            (false, false) => format!("{messages}\n\n{artifacts}"),
            _ => messages + &artifacts,
        }
    }

    fn add_agent_message(&mut self, message: Option<A2aMessage<'_>>, say: &mut dyn FnMut(&str)) {
        let message = message.filter(|message| !message.is_of_user());
        let text = message.map(A2aMessage::text).unwrap_or_default();
        if !text.is_empty() && self.messages.last() != Some(&text) {
            self.add_message(text, say);
        }
    }

    fn add_message(&mut self, text: String, say: &mut dyn FnMut(&str)) {
        if let Some(TextPlace::Artifact(_)) = self.last {
            say("\n\n");
        }
        say(&text);
        self.last = Some(TextPlace::Message);
        self.kept_bytes += text.len();
        self.messages.push(text);
    }

    fn add_artifact(
        &mut self,
        artifact: ArtifactFields<'_>,
        is_appended: bool,
        say: &mut dyn FnMut(&str),
    ) {
        let id = artifact.id().into_owned();
        let new = ArtifactText {
            name: artifact.name().map(String::from),
            text: artifact.text(),
        };
        let (place, news) = match self.places.get(&id).copied() {
            Some(place) if is_appended => {
                self.kept_bytes += new.text.len();
                self.artifacts[place].text += &new.text;
                (place, new.text)
            }
            Some(place) => (place, self.replace_artifact(place, new)),
            None => {
                let (place, text) = (self.artifacts.len(), new.text.clone());
                self.kept_bytes += id.len() + new.size();
                self.places.insert(id, place);
                self.artifacts.push(new);
                (place, text)
            }
        };
        self.say_artifact(place, &news, say);
    }

    /// Replaces an artifact. A server that is polled sends the whole artifact each time: the text that is new is the end of it.
    fn replace_artifact(&mut self, place: usize, new: ArtifactText) -> String {
        let known = &mut self.artifacts[place];
        let rest = new.text.strip_prefix(known.text.as_str());
        let rest = rest.map(str::to_owned);
        if rest.is_none() {
            self.last = self.last.filter(|it| *it == TextPlace::Message);
        }
        self.kept_bytes -= known.size();
        self.kept_bytes += new.size();
        let news = rest.unwrap_or_else(|| new.text.clone());
        *known = new;
        news
    }

    fn say_artifact(&mut self, place: usize, text: &str, say: &mut dyn FnMut(&str)) {
        if self.last == Some(TextPlace::Artifact(place)) {
            if !text.is_empty() {
                say(text);
            }
            return;
        }
        let known = &self.artifacts[place];
        if known.text.len() > text.len() && text.is_empty() {
            return; // it is said already
        }
        if self.messages.is_empty() && self.artifacts.len() == 1 {
            say(&known.header_line());
        } else {
            say(&format!("\n\n{}", known.header_line()));
        }
        say(text);
        self.last = Some(TextPlace::Artifact(place));
    }
}

impl ArtifactText {
    fn size(&self) -> usize {
        self.name.as_ref().map_or(0, String::len) + self.text.len()
    }

    fn header_line(&self) -> String {
        match &self.name {
            Some(name) => format!("Artifact ({name}):\n"),
            None => "Artifact:\n".to_owned(),
        }
    }

    fn text_with_header(&self) -> String {
        format!("{}{}", self.header_line(), self.text)
    }
}
