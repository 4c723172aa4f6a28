//! Prompts in `history.jsonl`, which Claude Code keeps when it deletes their sessions.
//!
//! A line is a prompt as it was typed, with its time, project and, in newer versions (2.1.312), the id of its session.

use std::collections::BTreeMap;
use std::io;

use lapidary_json::Token;

use super::ClaudeSessions;
use crate::provider_scope::WantedDirectories;
use crate::usage_lines::each_line;

/// The longest part of a prompt that is kept, in characters.
const LONGEST_PROMPT: usize = 2000;

/// A session of which only the prompts are left.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ForgottenSession {
    /// Its id.
    pub id: String,
    /// The directory in which it was.
    pub project: String,
    /// Its prompts, in order.
    pub prompts: Vec<ClaudePrompt>,
}

/// A prompt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClaudePrompt {
    /// The time in milliseconds since 1970.
    pub time: Option<i64>,
    /// Its text, cut where it is long.
    pub text: String,
}

impl ClaudeSessions {
    /// The sessions of which `history.jsonl` has prompts and no file is left, the oldest first.
    pub fn forgotten_sessions(
        &self,
        wanted: &WantedDirectories,
    ) -> io::Result<Vec<ForgottenSession>> {
        let mut sessions: BTreeMap<String, ForgottenSession> = BTreeMap::new();
        let read = each_line(&self.home.join("history.jsonl"), |line| {
            if let Some((id, project, prompt)) = history_entry(line)
                && wanted.contains(&project)
            {
                let forgotten = sessions.entry(id.clone());
                let forgotten = forgotten.or_insert_with(|| ForgottenSession {
                    id,
                    project,
                    prompts: Vec::new(),
                });
                forgotten.prompts.push(prompt);
            }
            true
        });
        match read {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let mut sessions: Vec<_> = sessions.into_values().collect();
        sessions.retain(|session| !self.may_have_file(&session.id));
        sessions.sort_by_key(|session| session.prompts.first().and_then(|it| it.time));
        Ok(sessions)
    }

    /// Whether a session has a file, or may have one in a directory that cannot be read.
    fn may_have_file(&self, id: &str) -> bool {
        let name = format!("{id}.jsonl");
        let projects = match std::fs::read_dir(&self.projects) {
            Ok(projects) => projects,
            Err(error) => return error.kind() != io::ErrorKind::NotFound,
        };
        let mut files = projects.flatten().map(|it| it.path().join(&name));
        files.any(|file| file.try_exists().unwrap_or(true))
    }
}

fn history_entry(line: &[u8]) -> Option<(String, String, ClaudePrompt)> {
    let text = std::str::from_utf8(line).ok()?;
    let entry = Token::parse(text).ok()?;
    let string = |name| Some(entry.get(name)?.string()?.into_owned());
    let id: String = string("sessionId")?;
    let is_plain = id
        .bytes()
        .all(|it| it.is_ascii_alphanumeric() || it == b'-');
    let prompt = ClaudePrompt {
        time: entry
            .get("timestamp")
            .and_then(|it| it.as_str().parse().ok()),
        text: string("display")?.chars().take(LONGEST_PROMPT).collect(),
    };
    (is_plain && !id.is_empty()).then_some((id, string("project").unwrap_or_default(), prompt))
}
