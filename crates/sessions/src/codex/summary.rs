//! The facts of a rollout that a list needs, read line by line.

use std::borrow::Cow;
use std::io;
use std::ops::ControlFlow;
use std::path::Path;

use lapidary_json::Token;
use lapidary_vocab::session::HiddenReason;
use lapidary_wire::codex::rollout::RolloutRecord;
use lapidary_wire::lines::RawLine;

use super::line_head::RolloutHead;
use crate::agent_summary::{AgentSummary, IdentifiedSummary, SkippedBecause};
use crate::line_source::SessionLines;
use crate::provider_scope::WantedDirectories;

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
        wanted: &WantedDirectories,
    ) -> Result<Self, SkippedBecause> {
        let unreadable = |error: io::Error| {
            (
                HiddenReason::Unreadable,
                format!("it cannot be read: {error}"),
            )
        };
        let mut summary = Self::default();
        let mut lines = SessionLines::open(path).map_err(unreadable)?;
        let read = lines.each_line(LONGEST_LINE, &mut |line| {
            summary.add_line(line, wanted);
            if summary.is_elsewhere {
                ControlFlow::Break(())
            } else {
                ControlFlow::Continue(())
            }
        });
        read.map_err(unreadable)?;
        Ok(summary)
    }

    /// The id, from no more of the file than it takes.
    pub(super) fn read_id(path: &Path) -> Option<String> {
        let mut summary = Self::default();
        let mut lines = SessionLines::open(path).ok()?;
        let read = lines.each_line(LONGEST_LINE, &mut |line| {
            summary.add_line(line, &WantedDirectories::Every);
            match summary.id {
                Some(_) => ControlFlow::Break(()),
                None => ControlFlow::Continue(()),
            }
        });
        read.ok().and(summary.id)
    }

    /// The facts, if it is a session; none if it is of another project; else the reason why not.
    pub(super) fn check(self) -> Result<Option<IdentifiedSummary>, SkippedBecause> {
        let (reason, why) = match self {
            _ if self.is_elsewhere => return Ok(None),
            _ if !self.has_bytes => (HiddenReason::Empty, "it is empty"),
            _ if self.id.is_none() || self.directory.is_none() => {
                (HiddenReason::NotASession, "it names no session")
            }
            summary => return Ok(summary.into_agent_summary()),
        };
        Err((reason, why.to_owned()))
    }

    /// The facts as every agent's list has them.
    fn into_agent_summary(self) -> Option<IdentifiedSummary> {
        let summary = AgentSummary {
            directory: self.directory,
            started: self.started,
            updated: self.updated,
            messages: self.messages,
            prompts: self.prompts,
            first_prompt: self.first_prompt,
            ..AgentSummary::default()
        };
        Some((self.id?, summary))
    }

    fn add_line(&mut self, line: RawLine<'_>, wanted: &WantedDirectories) {
        self.has_bytes = true;
        if let RawLine::Whole(bytes) = line
            && let Some(time) = RolloutHead::only_time(bytes)
        {
            return self.note_time(time);
        }
        let Some(record) = RolloutRecord::from_line(line) else {
            return;
        };
        let kind = record.kind.and_then(Token::string);
        let text = |token: Option<Token<'_>>| Some(token?.string()?.into_owned());
        if let Some(time) = record.timestamp.and_then(Token::string) {
            self.note_time(&time);
        }
        match kind.as_deref() {
            Some("session_meta") if self.id.is_none() => {
                self.id = text(record.string("id"));
                self.directory = text(record.string("cwd"));
                let directory = self.directory.as_deref();
                self.is_elsewhere = !directory.is_none_or(|it| wanted.contains(it));
            }
            Some("response_item") => self.add_item(&record),
            _ => {}
        }
    }

    fn note_time(&mut self, time: &str) {
        self.started.get_or_insert_with(|| time.to_owned());
        let updated = self.updated.get_or_insert_default();
        updated.clear();
        updated.push_str(time);
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
            let said = || texts.filter(is_said).collect::<Vec<_>>().join("\n");
            self.first_prompt.get_or_insert_with(said);
        }
    }
}
