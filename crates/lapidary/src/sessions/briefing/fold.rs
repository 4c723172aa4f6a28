//! Events of a session, folded into a briefing.

use std::collections::HashMap;

use lapidary_json::Token;
use lapidary_render::diff;
use lapidary_vocab::content::{ContentBlock, DiffBlock};
use lapidary_vocab::event::{TextKind, ToolCompletion, ToolInvocation, ToolKind};
use lapidary_vocab::{Body, Event};

use super::todos::TodoList;
use super::{BriefedFile, SessionBriefing};

/// The most characters of the goal, of the last words, and of all diffs of one file.
const LONGEST_TEXT: usize = 4_000;

/// The most characters of an entry of a list.
const LONGEST_ENTRY: usize = 500;

/// How many entries of a list are kept, the newest.
const MOST_ENTRIES: usize = 10;

/// The limit on files: the files that the session changed last stay.
const MOST_FILES: usize = 30;

/// The longest texts of which a diff is made.
const LONGEST_DIFFED: usize = 1 << 20;

/// How many calls are remembered until their results come.
const MOST_OPEN_CALLS: usize = 1_000;

/// Reads the events of a session in order.
#[derive(Debug, Default)]
pub struct BriefingFold {
    briefing: SessionBriefing,
    todos: TodoList,
    /// Edits whose results have not come, by their ids.
    open: HashMap<String, BriefedFile>,
}

impl BriefingFold {
    /// A fold for the session of an agent.
    pub fn new(agent: &str, session_id: &str, project: Option<&str>) -> Self {
        Self {
            briefing: SessionBriefing {
                agent: agent.to_owned(),
                session_id: session_id.to_owned(),
                project: project.map(str::to_owned),
                ..SessionBriefing::default()
            },
            ..Self::default()
        }
    }

    /// Takes in an event. The work of sub-agents is in the words of the agent that called them.
    pub fn read_event(&mut self, event: &Event) {
        match &event.body {
            Body::UserInput(input) if !input.is_synthetic => self.take_prompt(&input.text.to_str()),
            Body::Text(said) if said.kind == TextKind::Text && said.parent_call_id.is_none() => {
                let text = said.text.to_str();
                if !text.trim().is_empty() {
                    self.briefing.last_words = Some(text.into_owned());
                }
            }
            Body::ToolInvocation(call) => self.take_call(call),
            Body::ToolCompletion(done) => self.take_completion(done),
            Body::ContextCompaction(compaction) => {
                if let Some(summary) = &compaction.summary {
                    let summary = summary.to_str();
                    self.note_decision(&summary, LONGEST_TEXT);
                }
            }
            _ => {}
        }
    }

    /// The briefing.
    pub fn finish(mut self) -> SessionBriefing {
        self.briefing.todos = self.todos.into_open();
        let (briefing, mut is_cut) = (&mut self.briefing, false);
        let texts = [&mut briefing.goal, &mut briefing.last_words];
        for text in texts.into_iter().flatten() {
            is_cut |= cut_text(text, LONGEST_TEXT);
        }
        for todo in &mut briefing.todos {
            is_cut |= cut_text(todo, LONGEST_ENTRY);
        }
        briefing.is_cut |= is_cut;
        self.briefing
    }

    /// A new prompt: the words before it are how the last turn ended.
    fn take_prompt(&mut self, text: &str) {
        if text.trim().is_empty() {
            return;
        }
        if let Some(ended) = self.briefing.last_words.take() {
            self.note_decision(&ended, LONGEST_ENTRY);
        }
        if self.briefing.goal.is_none() {
            self.briefing.goal = Some(text.to_owned());
        } else {
            let is_cut = push_entry(&mut self.briefing.requests, text, LONGEST_ENTRY);
            self.briefing.is_cut |= is_cut;
        }
    }

    fn note_decision(&mut self, text: &str, longest: usize) {
        let is_cut = push_entry(&mut self.briefing.decisions, text, longest);
        self.briefing.is_cut |= is_cut;
    }

    fn take_call(&mut self, call: &ToolInvocation) {
        let input = call.input.token();
        let name = call.tool_name.to_str();
        self.todos.take_call(&name, input);
        if let Some(plan) = input.get("plan").and_then(Token::string) {
            self.note_decision(&plan, LONGEST_TEXT);
        }
        if call.kind != ToolKind::Edit && name != "apply_patch" {
            return;
        }
        let patch = input.get("input").and_then(Token::string);
        let file = BriefedFile {
            path: call
                .locations
                .first()
                .map(|path| path.to_str().into_owned())
                .unwrap_or_default(),
            diff: patch.map(String::from).unwrap_or_default(),
        };
        if self.open.len() >= MOST_OPEN_CALLS {
            self.open.clear();
        }
        self.open.insert(call.call_id.to_str().into_owned(), file);
    }

    fn take_completion(&mut self, done: &ToolCompletion) {
        let edit = self.open.remove(&*done.call_id.to_str());
        if done.is_error {
            return;
        }
        let mut is_told = false;
        for block in &done.content {
            if let ContentBlock::Diff(change) = block {
                self.note_change(&changed_file(change));
                is_told = true;
            }
        }
        if let Some(file) = edit.filter(|file| !is_told && !file.path.is_empty()) {
            self.note_change(&file);
        }
    }

    fn note_change(&mut self, file: &BriefedFile) {
        let files = &mut self.briefing.files;
        let known = files.iter().position(|known| known.path == file.path);
        let new = || BriefedFile {
            path: file.path.clone(),
            diff: String::new(),
        };
        let mut all = known.map_or_else(new, |at| files.remove(at));
        if !all.diff.is_empty() && !file.diff.is_empty() {
            all.diff.push('\n');
        }
        all.diff.push_str(&file.diff);
        self.briefing.is_cut |= cut_text(&mut all.diff, LONGEST_TEXT);
        files.push(all);
        if files.len() > MOST_FILES {
            files.remove(0);
            self.briefing.is_cut = true;
        }
    }
}

fn changed_file(change: &DiffBlock) -> BriefedFile {
    let path = change.path.as_ref().map(|path| path.to_str().into_owned());
    let path = path.unwrap_or_default();
    let unified = change.unified.as_ref().map(|it| it.to_str().into_owned());
    let diff = unified.unwrap_or_else(|| {
        let old = change.old_text.as_ref().map(|text| text.to_str());
        let new = change.new_text.as_ref().map(|text| text.to_str());
        let new = new.unwrap_or_default();
        let length = old.as_ref().map_or(0, |old| old.len()).max(new.len());
        if length > LONGEST_DIFFED {
            return String::new();
        }
        diff::unified(&path, old.as_deref(), &new)
    });
    BriefedFile { path, diff }
}

/// Adds an entry, and drops the oldest beyond the bound. True if the text was cut or an entry was dropped.
fn push_entry(entries: &mut Vec<String>, text: &str, longest: usize) -> bool {
    let mut text = text.trim().to_owned();
    let mut is_cut = cut_text(&mut text, longest);
    entries.push(text);
    if entries.len() > MOST_ENTRIES {
        entries.remove(0);
        is_cut = true;
    }
    is_cut
}

/// Cuts a text. True if it was longer.
fn cut_text(text: &mut String, longest: usize) -> bool {
    let Some((end, _)) = text.char_indices().nth(longest) else {
        return false;
    };
    text.truncate(end);
    text.push('…');
    true
}
