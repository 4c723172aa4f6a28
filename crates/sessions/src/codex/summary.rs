//! The facts of a rollout that a list needs, read line by line.

use std::borrow::Cow;
use std::io;
use std::ops::ControlFlow;
use std::path::Path;

use lapidary_json::Token;
use lapidary_vocab::session::HiddenReason;
use lapidary_wire::codex::rollout::RolloutRecord;
use lapidary_wire::lines::RawLine;

use crate::line_source::SessionLines;
use crate::provider::{ProjectReach, ProviderScope};

/// The longest line that is read for a list. Longer ones have pictures or whole histories in them.
const LONGEST_LINE: usize = 8 << 20;

/// Beginnings of the texts before and behind a picture.
const PICTURE_MARKS: [&str; 2] = ["<image ", "</image>"];

/// The facts of a rollout that a list needs.
#[derive(Debug, Default)]
pub(super) struct RolloutSummary {
    pub(super) id: Option<String>,
    pub(super) directory: Option<String>,
    pub(super) started: Option<String>,
    pub(super) updated: Option<String>,
    /// Prompts and texts of the model.
    pub(super) messages: u64,
    pub(super) prompts: u64,
    pub(super) first_prompt: Option<String>,
    has_bytes: bool,
    /// The session is of a project that does not count: the rest of the file is not read.
    is_elsewhere: bool,
}

impl RolloutSummary {
    /// Reads a file.
    pub(super) fn read_file(
        path: &Path,
        scope: &ProviderScope<'_>,
    ) -> Result<Self, (HiddenReason, String)> {
        let unreadable = |error: io::Error| {
            (
                HiddenReason::Unreadable,
                format!("it cannot be read: {error}"),
            )
        };
        let mut summary = Self::default();
        let mut lines = SessionLines::open(path).map_err(unreadable)?;
        let read = lines.each_line(LONGEST_LINE, &mut |line| {
            summary.add_line(line, scope);
            if summary.is_elsewhere {
                ControlFlow::Break(())
            } else {
                ControlFlow::Continue(())
            }
        });
        read.map_err(unreadable)?;
        Ok(summary)
    }

    /// The summary, if it is one of a conversation; none if it is of another project; else the reason why not.
    pub(super) fn check(self) -> Result<Option<Self>, (HiddenReason, String)> {
        let (reason, why) = match self {
            _ if self.is_elsewhere => return Ok(None),
            _ if !self.has_bytes => (HiddenReason::Empty, "it is empty"),
            _ if self.id.is_none() || self.directory.is_none() => {
                (HiddenReason::NotASession, "it names no session")
            }
            _ if self.messages == 0 => (HiddenReason::NoContent, "it has no messages"),
            summary => return Ok(Some(summary)),
        };
        Err((reason, why.to_owned()))
    }

    fn add_line(&mut self, line: RawLine<'_>, scope: &ProviderScope<'_>) {
        self.has_bytes = true;
        let Some(object) = line.object() else {
            return;
        };
        let record = RolloutRecord::from_token(object);
        let kind = record.kind.and_then(Token::string);
        let text = |token: Option<Token<'_>>| Some(token?.string()?.into_owned());
        if let Some(time) = text(record.timestamp) {
            self.started.get_or_insert_with(|| time.clone());
            self.updated = Some(time);
        }
        match kind.as_deref() {
            Some("session_meta") if self.id.is_none() => {
                self.id = text(record.string("id"));
                self.directory = text(record.string("cwd"));
                self.is_elsewhere = !self.is_in(scope);
            }
            Some("response_item") => self.add_item(&record),
            _ => {}
        }
    }

    fn is_in(&self, scope: &ProviderScope<'_>) -> bool {
        let directory = self.directory.as_deref().map(Path::new);
        let mut roots = scope.projects.iter().filter_map(|it| it.root.as_deref());
        scope.reach == ProjectReach::Everywhere || roots.any(|root| Some(root) == directory)
    }

    fn add_item(&mut self, record: &RolloutRecord<'_>) {
        let is = |key, word| record.string(key).is_some_and(|it| it.is(word));
        if !is("type", "message") {
            return;
        }
        if is("role", "assistant") {
            self.messages += 1;
        } else if !record.is_context() {
            self.messages += 1;
            self.prompts += 1;
            let is_said =
                |text: &Cow<'_, str>| !PICTURE_MARKS.iter().any(|it| text.starts_with(it));
            let texts = record.texts().filter_map(Token::string);
            let said = || texts.filter(is_said).collect::<String>();
            self.first_prompt.get_or_insert_with(said);
        }
    }
}
