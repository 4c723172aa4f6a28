//! The facts of a session file that a list needs, read line by line.

use std::io;
use std::ops::ControlFlow;
use std::path::Path;

use lapidary_json::Token;
use lapidary_vocab::session::HiddenReason;
use lapidary_wire::claude::session::{ClaudeRecord, ClaudeTitle};
use lapidary_wire::lines::RawLine;

use crate::agent_summary::AgentSummary;
use crate::line_source::SessionLines;
use crate::message_text::says_in_lines;

/// The longest line that is read for a list. Longer ones have pictures or results of tools in them.
const LONGEST_LINE: usize = 8 << 20;

/// Beginnings of texts that are no title: commands of the program, and its answers.
const NO_TITLES: [&str; 5] = [
    "<command-",
    "<local-command-",
    "<bash-",
    "<system-reminder>",
    "[Request interrupted",
];

/// The facts of a session file that a list needs.
#[derive(Debug, Default)]
pub(super) struct ClaudeSummary {
    directory: Option<String>,
    started: Option<String>,
    updated: Option<String>,
    /// Prompts, and responses of the model: the records of a response are one message.
    messages: u64,
    prompts: u64,
    pub(super) first_prompt: Option<String>,
    custom_title: Option<String>,
    model_title: Option<String>,
    is_record: bool,
    has_bytes: bool,
    last_response: Option<String>,
}

impl ClaudeSummary {
    /// Reads a file.
    pub(super) fn read_file(path: &Path) -> Result<Self, (HiddenReason, String)> {
        let unreadable = |error: io::Error| {
            (
                HiddenReason::Unreadable,
                format!("it cannot be read: {error}"),
            )
        };
        let mut summary = Self::default();
        let mut lines = SessionLines::open(path).map_err(unreadable)?;
        let read = lines.each_line(LONGEST_LINE, &mut |line| {
            summary.add_line(line);
            ControlFlow::Continue(())
        });
        read.map_err(unreadable)?;
        Ok(summary)
    }

    /// The summary, if it is one of a conversation; else the reason why not.
    pub(super) fn check(self) -> Result<Self, (HiddenReason, String)> {
        let (reason, why) = match self {
            _ if !self.has_bytes => (HiddenReason::Empty, "it is empty"),
            _ if !self.is_record => (HiddenReason::NotASession, "it has no record of a session"),
            _ if self.messages == 0 || self.directory.is_none() => {
                (HiddenReason::NoContent, "it has no messages")
            }
            summary => return Ok(summary),
        };
        Err((reason, why.to_owned()))
    }

    /// The facts as every agent's list has them.
    pub(super) fn into_agent_summary(self) -> AgentSummary {
        AgentSummary {
            directory: self.directory,
            directory_hash: None,
            started: self.started,
            updated: self.updated,
            messages: self.messages,
            prompts: self.prompts,
            first_prompt: self.first_prompt,
            title: self.custom_title.or(self.model_title),
        }
    }

    fn add_line(&mut self, line: RawLine<'_>) {
        self.has_bytes = true;
        if let Some(record) = ClaudeRecord::from_line(line) {
            self.add_record(&record);
        }
    }

    fn add_record(&mut self, record: &ClaudeRecord<'_>) {
        let text = |token: Option<Token<'_>>| Some(token?.string()?.into_owned());
        match record.title {
            Some(ClaudeTitle::Custom(title)) => self.custom_title = text(Some(title)),
            Some(ClaudeTitle::Model(title)) => self.model_title = text(Some(title)),
            None => {}
        }
        self.is_record |= record.kind.is_some();
        if record.uuid.is_none() {
            return;
        }
        self.directory = self.directory.take().or_else(|| text(record.cwd));
        if let Some(time) = text(record.timestamp) {
            // Attachments of a prompt have times before it. As text, these times are in order.
            let is_earlier = self.started.as_ref().is_none_or(|first| time < *first);
            self.started = Some(time.clone())
                .filter(|_| is_earlier)
                .or(self.started.take());
            let is_later = self.updated.as_ref().is_none_or(|last| time > *last);
            self.updated = Some(time).filter(|_| is_later).or(self.updated.take());
        }
        self.add_message(record);
    }

    fn add_message(&mut self, record: &ClaudeRecord<'_>) {
        if record.is_prompt() {
            let said = record
                .message_content()
                .map(says_in_lines)
                .unwrap_or_default();
            self.last_response = None;
            if is_titleless(&said) {
                return;
            }
            self.messages += 1;
            self.prompts += 1;
            self.first_prompt.get_or_insert_with(|| said.into_owned());
        } else if record.kind.is_some_and(|kind| kind.is("assistant")) && !record.is_sidechain {
            let id = record.message.and_then(|message| message.get("id"));
            let id = id.and_then(Token::string).map(std::borrow::Cow::into_owned);
            self.messages += u64::from(id.is_none() || id != self.last_response);
            self.last_response = id;
        }
    }
}

/// Whether a text of the user is a command of the program, or its answer to one.
pub(super) fn is_titleless(said: &str) -> bool {
    NO_TITLES.iter().any(|start| said.starts_with(start))
}
