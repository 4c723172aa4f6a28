//! The facts of a session file that no single record has, gathered line by line before the file is translated.

use std::collections::{HashMap, HashSet};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use lapidary_json::{SharedToken, Token, TokenKind};

use super::{ClaudeBlock, ClaudeRecord, ClaudeTitle, blocks};
use crate::lines::RawLine;
use crate::record_tree::{RecordFate, RecordLink, RecordTree};

/// The facts of a session file that no single record has. It holds a few bytes for each line.
#[derive(Debug, Default)]
pub struct ClaudeSurvey {
    /// The session's id, as its first record that has one says.
    pub session_id: Option<SharedToken>,
    /// The first record that says where the agent works.
    pub first: Option<FirstRecord>,
    custom_title: Option<SharedToken>,
    model_title: Option<SharedToken>,
    /// How many lines there are; blank ones are none.
    lines: usize,
    has_record: bool,
    tree: RecordTree,
    fates: Vec<RecordFate>,
    /// The last line that tells the usage of a response, by a fingerprint of the response's id.
    usage: HashMap<u64, usize>,
    /// The record of each response that tells its usage: every record of a response repeats it, and the last one counts.
    usage_lines: HashSet<usize>,
    /// The sub-agents by the calls that started them, as the results of these calls tell.
    agents: HashMap<String, SharedToken>,
}

/// The facts of the first record that says where the agent works.
#[derive(Debug)]
pub struct FirstRecord {
    /// The record.
    record: SharedToken,
}

impl FirstRecord {
    /// Its fields.
    pub fn fields(&self) -> ClaudeRecord<'_> {
        ClaudeRecord::from_token(self.record.token())
    }
}

impl ClaudeSurvey {
    /// A survey of a whole file.
    pub fn from_bytes(bytes: &[u8]) -> Self {
        let mut survey = Self::default();
        for line in crate::lines::without_mark(bytes).split(|byte| *byte == b'\n') {
            survey.add_line(RawLine::Whole(line));
        }
        survey.finish();
        survey
    }

    /// Takes in the next line. A blank one is none.
    pub fn add_line(&mut self, line: RawLine<'_>) {
        if line.bytes().trim_ascii().is_empty() {
            return;
        }
        let place = self.lines;
        self.lines += 1;
        let Some(record) = line.object() else {
            self.tree.add(&RecordLink::default(), "");
            return;
        };
        let read = ClaudeRecord::from_token(record);
        let is_new = self.tree.add(&read.link(), record.as_str());
        if is_new && let Some(id) = usage_id(&read) {
            self.usage.insert(fingerprint(id.as_str()), place);
        }
        self.has_record = self.has_record || ClaudeRecord::is_record(record);
        self.note(record, &read);
    }

    /// Decides what becomes of each record, once all lines are in.
    pub fn finish(&mut self) {
        self.fates = std::mem::take(&mut self.tree).fates();
        self.usage_lines = std::mem::take(&mut self.usage).into_values().collect();
    }

    /// True if there is no record of a session.
    pub fn is_empty(&self) -> bool {
        !self.has_record
    }

    /// Whether this is the last line.
    pub fn is_last(&self, line: usize) -> bool {
        line + 1 == self.lines
    }

    /// The fate of a record. One that was not there at the survey is kept.
    pub fn fate(&self, line: usize) -> RecordFate {
        self.fates.get(line).copied().unwrap_or(RecordFate::Kept)
    }

    /// The session's name: the last that the user gave, else the last of a model.
    pub fn title(&self) -> Option<Token<'_>> {
        let title = self.custom_title.as_ref().or(self.model_title.as_ref());
        title.map(SharedToken::token)
    }

    /// Whether the usage of a response counts at this line.
    pub fn has_usage(&self, line: usize) -> bool {
        self.usage_lines.contains(&line)
    }

    /// The id of the sub-agent that a call started, if its result tells.
    pub fn agent_of_call(&self, call_id: &str) -> Option<Token<'_>> {
        self.agents.get(call_id).map(SharedToken::token)
    }

    fn note(&mut self, record: Token<'_>, read: &ClaudeRecord<'_>) {
        if self.session_id.is_none() {
            self.session_id = read.session_id.map(SharedToken::from);
        }
        if self.first.is_none() && read.cwd.is_some() {
            let record = SharedToken::from(record);
            self.first = Some(FirstRecord { record });
        }
        match read.title {
            Some(ClaudeTitle::Custom(title)) => self.custom_title = Some(title.into()),
            Some(ClaudeTitle::Model(title)) => self.model_title = Some(title.into()),
            None => {}
        }
        self.note_agent(read);
    }

    fn note_agent(&mut self, record: &ClaudeRecord<'_>) {
        let result = record.tool_use_result.map(|result| result.get("agentId"));
        let agent = result
            .flatten()
            .and_then(|id| id.if_kind(TokenKind::String));
        let (Some(agent), Some(content)) = (agent, record.message_content()) else {
            return;
        };
        for block in blocks(content) {
            if let ClaudeBlock::ToolResult { tool_use_id, .. } = block
                && let Some(call) = tool_use_id.and_then(Token::string)
            {
                self.agents.insert(call.into_owned(), agent.into());
            }
        }
    }
}

/// The id of the response whose usage a record tells.
fn usage_id<'a>(record: &ClaudeRecord<'a>) -> Option<Token<'a>> {
    let message = record.message?;
    message.get("usage")?.if_kind(TokenKind::Object)?;
    message.get("id")?.if_kind(TokenKind::String)
}

fn fingerprint(id: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    id.hash(&mut hasher);
    hasher.finish()
}
