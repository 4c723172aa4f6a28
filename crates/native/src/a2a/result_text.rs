//! The text of an answer: live, as its pieces come, and whole, as Gemini CLI puts it together.

use lapidary_wire::a2a::update::{A2aMessage, A2aUpdate, ArtifactFields, TaskState};

/// The sentence for a task that waits for its user's login, in Gemini CLI's words.
const AUTH_REQUIRED: &str = "[Authorization Required] The agent has indicated it requires authorization to proceed. Please follow the agent's instructions.";

/// How many artifacts an answer may have: each one that comes is looked for among them.
pub(super) const MOST_ARTIFACTS: usize = 10_000;

/// The text of an answer. The whole text has all messages before all artifacts; the live text has them as they come.
#[derive(Debug, Default)]
pub(super) struct ResultText {
    messages: Vec<String>,
    artifacts: Vec<ArtifactText>,
    /// How many bytes of text both have.
    kept_bytes: usize,
    /// The place of the last live piece; none before the first.
    last: Option<TextPlace>,
}

#[derive(Debug)]
struct ArtifactText {
    id: String,
    name: Option<String>,
    text: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum TextPlace {
    Message,
    Artifact(String),
}

impl ResultText {
    /// Takes up an update. `say` gets the new text at once.
    pub(super) fn take_update(&mut self, update: A2aUpdate<'_>, say: &mut dyn FnMut(&str)) {
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

    /// How many bytes of text are kept.
    pub(super) fn kept_bytes(&self) -> usize {
        self.kept_bytes
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
        let (id, text) = (artifact.id().into_owned(), artifact.text());
        let known = self.artifacts.iter_mut().find(|known| known.id == id);
        self.kept_bytes += text.len();
        let new = match known {
            Some(known) if is_appended => {
                known.text += &text;
                text
            }
            // A server that is polled sends the whole artifact each time: only the new end of it is said.
            Some(known) => {
                let rest = text.strip_prefix(known.text.as_str()).map(str::to_owned);
                let is_other = rest.is_none();
                self.kept_bytes -= known.text.len();
                known.text.clone_from(&text);
                known.name = artifact.name().map(String::from);
                if is_other {
                    self.last = self.last.take().filter(|it| *it == TextPlace::Message);
                }
                rest.unwrap_or(text)
            }
            None => {
                self.artifacts.push(ArtifactText {
                    id: id.clone(),
                    name: artifact.name().map(String::from),
                    text: text.clone(),
                });
                text
            }
        };
        self.say_artifact(id, &new, say);
    }

    fn say_artifact(&mut self, id: String, text: &str, say: &mut dyn FnMut(&str)) {
        let place = TextPlace::Artifact(id);
        if self.last.as_ref() == Some(&place) {
            if !text.is_empty() {
                say(text);
            }
            return;
        }
        let TextPlace::Artifact(id) = &place else {
            return;
        };
        let known = self.artifacts.iter().find(|known| known.id == *id);
        let is_said = known.is_some_and(|known| known.text.len() > text.len());
        if is_said && text.is_empty() {
            return;
        }
        if self.messages.is_empty() && self.artifacts.len() == 1 {
            say(&known.map(ArtifactText::header_line).unwrap_or_default());
        } else {
            say(&format!(
                "\n\n{}",
                known.map(ArtifactText::header_line).unwrap_or_default()
            ));
        }
        say(text);
        self.last = Some(place);
    }
}

impl ArtifactText {
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
