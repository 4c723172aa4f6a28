//! The objects that an agent answers with: tasks, messages, and updates of either.

use std::borrow::Cow;

use lapidary_json::{Token, TokenKind};

/// An object of an answer or of a stream.
#[derive(Debug, Clone, Copy)]
pub enum A2aUpdate<'a> {
    /// A task as it is now.
    Task(TaskFields<'a>),
    /// The state of a task changed.
    Status(StatusUpdate<'a>),
    /// A piece of an artifact.
    Artifact(ArtifactUpdate<'a>),
    /// A message, without a task.
    Message(A2aMessage<'a>),
    /// None of these.
    Unknown(Token<'a>),
}

/// A task.
#[derive(Debug, Clone, Copy)]
pub struct TaskFields<'a>(Token<'a>);

/// A changed state.
#[derive(Debug, Clone, Copy)]
pub struct StatusUpdate<'a>(Token<'a>);

/// A piece of an artifact, or a whole one.
#[derive(Debug, Clone, Copy)]
pub struct ArtifactUpdate<'a>(Token<'a>);

/// A message.
#[derive(Debug, Clone, Copy)]
pub struct A2aMessage<'a>(Token<'a>);

/// An artifact.
#[derive(Debug, Clone, Copy)]
pub struct ArtifactFields<'a>(Token<'a>);

/// The state of a task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TaskState {
    /// It waits for its turn.
    Submitted,
    /// It is being worked on.
    Working,
    /// It waits for another message.
    InputRequired,
    /// The task waits until the user has logged in outside of A2A.
    AuthRequired,
    /// It is done.
    Completed,
    /// It failed.
    Failed,
    /// It was cancelled.
    Canceled,
    /// The agent does not take it on.
    Rejected,
    /// A state of a later version.
    Other(String),
}

impl TaskState {
    /// The state that a word means: `input-required` (0.3) or `TASK_STATE_INPUT_REQUIRED` (1.0).
    pub fn parse(word: &str) -> Self {
        let plain = word.strip_prefix("TASK_STATE_").unwrap_or(word);
        match plain.to_ascii_lowercase().replace('_', "-").as_str() {
            "submitted" => Self::Submitted,
            "working" => Self::Working,
            "input-required" => Self::InputRequired,
            "auth-required" => Self::AuthRequired,
            "completed" => Self::Completed,
            "failed" => Self::Failed,
            "canceled" | "cancelled" => Self::Canceled,
            "rejected" => Self::Rejected,
            other => Self::Other(other.to_owned()),
        }
    }

    /// The word of 0.3 for it.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Submitted => "submitted",
            Self::Working => "working",
            Self::InputRequired => "input-required",
            Self::AuthRequired => "auth-required",
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Canceled => "canceled",
            Self::Rejected => "rejected",
            Self::Other(word) => word,
        }
    }

    /// Whether nothing happens in the task any more.
    pub fn is_terminal(&self) -> bool {
        matches!(
            self,
            Self::Completed | Self::Failed | Self::Canceled | Self::Rejected
        )
    }

    /// Whether the task waits for its user.
    pub fn is_waiting(&self) -> bool {
        matches!(self, Self::InputRequired | Self::AuthRequired)
    }
}

impl<'a> A2aUpdate<'a> {
    /// Reads an object of either version.
    pub fn from_token(token: Token<'a>) -> Self {
        if let Some(kind) = text(token, "kind") {
            return match kind.as_ref() {
                "task" => Self::Task(TaskFields(token)),
                "status-update" => Self::Status(StatusUpdate(token)),
                "artifact-update" => Self::Artifact(ArtifactUpdate(token)),
                "message" => Self::Message(A2aMessage(token)),
                _ => Self::Unknown(token),
            };
        }
        let member = |key| object(token, key);
        if let Some(task) = member("task") {
            return Self::Task(TaskFields(task));
        }
        if let Some(update) = member("statusUpdate") {
            return Self::Status(StatusUpdate(update));
        }
        if let Some(update) = member("artifactUpdate") {
            return Self::Artifact(ArtifactUpdate(update));
        }
        // `message` is a member of 1.0's answers; `msg` is the name of the HTTP+JSON binding of 0.3.
        if let Some(message) = member("message").or_else(|| member("msg")) {
            return Self::Message(A2aMessage(message));
        }
        // `GetTask` answers with the task itself.
        if text(token, "id").is_some() && member("status").is_some() {
            return Self::Task(TaskFields(token));
        }
        Self::Unknown(token)
    }

    /// The id of the task that it is about.
    pub fn task_id(self) -> Option<Cow<'a, str>> {
        match self {
            Self::Task(task) => text(task.0, "id"),
            Self::Status(StatusUpdate(it))
            | Self::Artifact(ArtifactUpdate(it))
            | Self::Message(A2aMessage(it)) => text(it, "taskId"),
            Self::Unknown(_) => None,
        }
        .filter(|id| !id.is_empty())
    }

    /// The id of the conversation that it belongs to.
    pub fn context_id(self) -> Option<Cow<'a, str>> {
        let token = match self {
            Self::Task(TaskFields(it))
            | Self::Status(StatusUpdate(it))
            | Self::Artifact(ArtifactUpdate(it))
            | Self::Message(A2aMessage(it)) => it,
            Self::Unknown(_) => return None,
        };
        text(token, "contextId").filter(|id| !id.is_empty())
    }

    /// The state of the task, if it tells one.
    pub fn state(self) -> Option<TaskState> {
        let word = text(self.status()?, "state")?;
        Some(TaskState::parse(&word))
    }

    /// A key that tells two moments of a task apart, if it tells the state: the state, its message and its time.
    pub fn status_key(self) -> Option<String> {
        let status = self.status()?;
        let message = status.get("message").and_then(|it| text(it, "messageId"));
        let parts = [text(status, "state"), message, text(status, "timestamp")];
        Some(parts.map(Option::unwrap_or_default).join("|"))
    }

    fn status(self) -> Option<Token<'a>> {
        match self {
            Self::Task(TaskFields(it)) | Self::Status(StatusUpdate(it)) => it.get("status"),
            Self::Artifact(_) | Self::Message(_) | Self::Unknown(_) => None,
        }
    }
}

impl<'a> TaskFields<'a> {
    /// The message of its state.
    pub fn message(self) -> Option<A2aMessage<'a>> {
        status_message(self.0)
    }

    /// Its artifacts.
    pub fn artifacts(self) -> impl Iterator<Item = ArtifactFields<'a>> {
        let artifacts = self.0.get("artifacts").into_iter();
        artifacts.flat_map(Token::elements).map(ArtifactFields)
    }

    /// The last message of the agent in its history.
    pub fn last_agent_message(self) -> Option<A2aMessage<'a>> {
        let history = self.0.get("history").into_iter();
        let messages = history.flat_map(Token::elements).map(A2aMessage);
        messages.filter(|message| message.is_of_agent()).last()
    }
}

impl<'a> StatusUpdate<'a> {
    /// The message of the state.
    pub fn message(self) -> Option<A2aMessage<'a>> {
        status_message(self.0)
    }

    /// Whether the server says that nothing follows (0.3).
    pub fn is_final(self) -> bool {
        self.0.get("final").and_then(Token::bool).unwrap_or(false)
    }
}

impl<'a> ArtifactUpdate<'a> {
    /// The artifact, or the piece of it.
    pub fn artifact(self) -> Option<ArtifactFields<'a>> {
        object(self.0, "artifact").map(ArtifactFields)
    }

    /// Whether it is appended to the parts before.
    pub fn is_appended(self) -> bool {
        self.0.get("append").and_then(Token::bool).unwrap_or(false)
    }
}

impl<'a> ArtifactFields<'a> {
    /// Its id.
    pub fn id(self) -> Cow<'a, str> {
        text(self.0, "artifactId").unwrap_or_default()
    }

    /// Its name, if it has one.
    pub fn name(self) -> Option<Cow<'a, str>> {
        text(self.0, "name").filter(|name| !name.is_empty())
    }

    /// Its content as text.
    pub fn text(self) -> String {
        parts_text(self.0)
    }
}

impl A2aMessage<'_> {
    /// Whether the agent says it, and does not repeat its user's words.
    pub fn is_of_agent(self) -> bool {
        let role = text(self.0, "role").unwrap_or_default();
        role.to_ascii_lowercase().contains("agent")
    }

    /// Whether it repeats its user's words.
    pub fn is_of_user(self) -> bool {
        let role = text(self.0, "role").unwrap_or_default();
        role.to_ascii_lowercase().contains("user")
    }

    /// Its content as text.
    pub fn text(self) -> String {
        parts_text(self.0)
    }
}

fn status_message(token: Token<'_>) -> Option<A2aMessage<'_>> {
    object(token.get("status")?, "message").map(A2aMessage)
}

/// The parts, joined without a separator, as Gemini CLI joins them.
fn parts_text(token: Token<'_>) -> String {
    let parts = token.get("parts").or_else(|| token.get("content"));
    let parts = parts.into_iter().flat_map(Token::elements);
    parts.map(part_text).collect()
}

/// A part as text: its words, `Data: …` with its JSON, `File: …` with its name or address.
fn part_text(part: Token<'_>) -> String {
    if let Some(words) = text(part, "text") {
        return words.into_owned();
    }
    if let Some(data) = part.get("data").and_then(Token::non_null) {
        // The HTTP+JSON binding of 0.3 wraps data once more.
        let inner = (part.get("kind").is_none() && data.members().count() == 1)
            .then(|| data.get("data"))
            .flatten();
        return format!("Data: {}", compact(inner.unwrap_or(data)));
    }
    let file = object(part, "file").unwrap_or(part);
    let names = ["name", "filename", "uri", "fileWithUri", "url"];
    let found = names.iter().filter_map(|key| text(file, key));
    let is_file = part.get("file").or_else(|| part.get("raw")).is_some();
    match found.into_iter().find(|name| !name.is_empty()) {
        Some(name) => format!("File: {name}"),
        None if is_file => "File: [binary/unnamed]".to_owned(),
        None => String::new(),
    }
}

/// JSON without the spaces between its tokens, as JavaScript writes it.
fn compact(token: Token<'_>) -> String {
    let value: Result<serde_json::Value, _> = serde_json::from_str(token.as_str());
    value.map_or_else(|_| token.as_str().to_owned(), |value| value.to_string())
}

fn object<'a>(token: Token<'a>, key: &str) -> Option<Token<'a>> {
    token.get(key)?.if_kind(TokenKind::Object)
}

fn text<'a>(token: Token<'a>, key: &str) -> Option<Cow<'a, str>> {
    token.get(key).and_then(Token::string)
}
