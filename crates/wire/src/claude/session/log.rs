//! A session file, read: its lines in order, and the facts that no single record has.

use std::collections::{HashMap, HashSet};

use lapidary_json::{Token, TokenKind};

use super::{ClaudeBlock, ClaudeRecord, ClaudeTitle, RecordFate, SessionTree, blocks};
use crate::lines::without_mark;

/// A session file.
#[derive(Debug, Default)]
pub struct ClaudeLog<'a> {
    /// Its lines; blank ones are none.
    pub lines: Vec<ClaudeLine<'a>>,
    /// The session's id, as its first record that has one says.
    pub session_id: Option<Token<'a>>,
    /// The first record that says where the agent works.
    pub first: Option<ClaudeRecord<'a>>,
    custom_title: Option<Token<'a>>,
    model_title: Option<Token<'a>>,
    /// The record of each response that tells its usage: every record of a response repeats it, and the last one counts.
    usage_lines: HashSet<usize>,
    /// The sub-agents by the calls that started them, as the results of these calls tell.
    agents: HashMap<String, Token<'a>>,
}

/// A line of a session file.
#[derive(Debug, Clone, Copy)]
pub enum ClaudeLine<'a> {
    /// A JSON object, with its place in the conversation.
    Record(Token<'a>, RecordFate),
    /// A line that is not a JSON object: damaged, or cut off at the end of the file.
    Unreadable(&'a [u8]),
}

impl<'a> ClaudeLog<'a> {
    /// Reads a file. Cannot fail: unreadable lines are kept as they are.
    pub fn read(bytes: &'a [u8]) -> Self {
        let mut log = Self::default();
        let mut tree = SessionTree::default();
        let mut usage: HashMap<&'a str, usize> = HashMap::new();
        for line in without_mark(bytes).split(|byte| *byte == b'\n') {
            if line.trim_ascii().is_empty() {
                continue;
            }
            let Some(record) = object(line) else {
                log.lines.push(ClaudeLine::Unreadable(line));
                tree.add(&ClaudeRecord::default(), "");
                continue;
            };
            let read = ClaudeRecord::from_token(record);
            tree.add(&read, record.as_str());
            if let Some(id) = usage_id(&read) {
                usage.insert(id.as_str(), log.lines.len());
            }
            log.note(&read);
            log.lines.push(ClaudeLine::Record(record, RecordFate::Kept));
        }
        log.usage_lines = usage.into_values().collect();
        log.decide(tree.fates());
        log
    }

    /// True if it has no record of a session.
    pub fn is_empty(&self) -> bool {
        let mut lines = self.lines.iter();
        !lines.any(|line| matches!(line, ClaudeLine::Record(record, _) if ClaudeRecord::is_record(*record)))
    }

    /// The session's name: the last that the user gave, else the last of a model.
    pub fn title(&self) -> Option<Token<'a>> {
        self.custom_title.or(self.model_title)
    }

    /// Whether the usage of a response counts at this line.
    pub fn has_usage(&self, line: usize) -> bool {
        self.usage_lines.contains(&line)
    }

    /// The id of the sub-agent that a call started, if its result tells.
    pub fn agent_of_call(&self, call_id: &str) -> Option<Token<'a>> {
        self.agents.get(call_id).copied()
    }

    fn note(&mut self, record: &ClaudeRecord<'a>) {
        self.session_id = self.session_id.or(record.session_id);
        if self.first.is_none() && record.cwd.is_some() {
            self.first = Some(*record);
        }
        match record.title {
            Some(ClaudeTitle::Custom(title)) => self.custom_title = Some(title),
            Some(ClaudeTitle::Model(title)) => self.model_title = Some(title),
            None => {}
        }
        self.note_agent(record);
    }

    fn note_agent(&mut self, record: &ClaudeRecord<'a>) {
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
                self.agents.insert(call.into_owned(), agent);
            }
        }
    }

    fn decide(&mut self, fates: Vec<RecordFate>) {
        for (line, fate) in self.lines.iter_mut().zip(fates) {
            if let ClaudeLine::Record(_, place) = line {
                *place = fate;
            }
        }
    }
}

/// The line's value, if it is an object.
fn object(line: &[u8]) -> Option<Token<'_>> {
    let text = std::str::from_utf8(line).ok()?;
    Token::parse(text).ok()?.if_kind(TokenKind::Object)
}

/// The id of the response whose usage a record tells.
fn usage_id<'a>(record: &ClaudeRecord<'a>) -> Option<Token<'a>> {
    let message = record.message?;
    message.get("usage")?.if_kind(TokenKind::Object)?;
    message.get("id")?.if_kind(TokenKind::String)
}
