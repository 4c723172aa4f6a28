//! Tool calls: a row each while they run, and what became of them.

use std::time::Duration;

use lapidary_vocab::event::{PermissionDecision, ToolCompletion, ToolInvocation, ToolKind};
use lapidary_vocab::{Event, Text};

use super::page::TerminalPage;
use super::row::ScreenRow;
use crate::ink::TextInk;
use crate::permission::PermissionAnswer;
use crate::preview::{self, PreviewLimits};
use crate::tool::{CallState, ToolPart, tool_parts};
use crate::transcript::ToolCallItem;
use crate::words;

/// How many calls may wait for their results: of more, the oldest is shown without its call's name.
const MOST_OPEN: usize = 256;
/// How many files that were written are remembered by name.
const MOST_FILES: usize = 1000;
/// A subject is not cut shorter than this to make room for the facts.
const SHORTEST_SUBJECT: usize = 12;

/// A line that needs more rows than this is cut.
const MOST_ROWS_OF_A_LINE: usize = 4;
/// The margin of a tool's output.
const BAR: (TextInk, &str) = (TextInk::Faint, "│ ");

/// The space between the parts of a row.
const GAP: &str = "  ";

/// While a run goes on.
const LIVE: PreviewLimits = PreviewLimits {
    change: 12,
    output: 4,
    failure: 6,
};

/// When a run is over and read again.
pub(super) const READING: PreviewLimits = PreviewLimits {
    change: 12,
    output: 8,
    failure: 20,
};

/// The calls of a run.
#[derive(Debug)]
pub(super) struct CallTable {
    /// How much of a call is shown.
    pub(super) limits: PreviewLimits,
    open: Vec<LiveCall>,
    /// Files that were written, in order.
    pub(super) files: Vec<String>,
}

#[derive(Debug)]
struct LiveCall {
    id: Text,
    tool: ToolCallItem,
    since: Duration,
}

impl Default for CallTable {
    fn default() -> Self {
        Self {
            limits: LIVE,
            open: Vec::new(),
            files: Vec::new(),
        }
    }
}

impl CallTable {
    pub(super) fn begin_call(&mut self, call: &ToolInvocation, event: &Event, now: Duration) {
        // Over ACP an agent sends a call again whenever it knows more about it.
        if let Some(known) = self.open.iter_mut().find(|open| open.id == call.call_id) {
            let answer = known.tool.answer.take();
            known.tool = ToolCallItem::from_invocation(call, event);
            known.tool.answer = answer;
            return;
        }
        self.open.push(LiveCall {
            id: call.call_id.clone(),
            tool: ToolCallItem::from_invocation(call, event),
            since: now,
        });
        if self.open.len() > MOST_OPEN {
            self.open.remove(0);
        }
    }

    /// Attaches an answer to its call: a denied call may never get a result. False if there is no such call.
    pub(super) fn attach_decision(&mut self, decision: &PermissionDecision) -> bool {
        let id = decision.tool_use_id.as_ref();
        let call = self.open.iter_mut().find(|call| Some(&call.id) == id);
        call.map(|call| call.tool.answer = Some(decision.into()))
            .is_some()
    }

    /// What became of a call, for good.
    pub(super) fn end_call(
        &mut self,
        done: &ToolCompletion,
        event: &Event,
        page: &TerminalPage,
    ) -> Vec<ScreenRow> {
        let place = self.open.iter().rposition(|call| call.id == done.call_id);
        let mut tool = place
            .map(|place| self.open.remove(place).tool)
            .unwrap_or_default();
        tool.add_completion(done, event);
        self.note_file(&tool);
        finished_call_rows(&tool, self.limits, page)
    }

    /// Calls that will not be answered any more.
    pub(super) fn give_up(&mut self, page: &TerminalPage) -> Vec<ScreenRow> {
        let open = std::mem::take(&mut self.open);
        open.iter()
            .flat_map(|call| finished_call_rows(&call.tool, self.limits, page))
            .collect()
    }

    fn note_file(&mut self, tool: &ToolCallItem) {
        let is_edit = tool
            .call
            .as_ref()
            .is_some_and(|call| call.kind == ToolKind::Edit);
        let path = tool
            .file_path()
            .filter(|_| is_edit && tool.current_state() == CallState::Done);
        let path = path.filter(|path| !self.files.contains(path) && self.files.len() < MOST_FILES);
        self.files.extend(path);
    }

    /// A row for each running call, the newest left out if there are too many.
    pub(super) fn running_rows(
        &self,
        spinner: &str,
        now: Duration,
        page: &TerminalPage,
    ) -> Vec<ScreenRow> {
        let shown = if self.open.len() > page.most_calls {
            page.most_calls - 1
        } else {
            self.open.len()
        };
        let row = |call: &LiveCall| {
            let waited = words::running_clock(now.saturating_sub(call.since));
            call_headline((TextInk::Tool, spinner), &call.tool, &waited, page)
        };
        let mut rows: Vec<_> = self.open[..shown].iter().map(row).collect();
        match self.open.len() - shown {
            0 => {}
            more => rows.push(page.cut_row(&[(TextInk::Faint, &format!("+{more} more"))])),
        }
        rows
    }

    /// The running calls, in a few words.
    pub(super) fn running_summary(&self) -> Option<String> {
        match self.open.as_slice() {
            [] => None,
            [only] => Some(format!("running {}", only.tool.tool_name())),
            several => Some(format!("running {} tools", several.len())),
        }
    }
}

/// A call that is over.
fn finished_call_rows(
    tool: &ToolCallItem,
    limits: PreviewLimits,
    page: &TerminalPage,
) -> Vec<ScreenRow> {
    let parts = tool_parts(tool);
    let (mark, ink) = match tool.current_state() {
        CallState::Done => ("✔", TextInk::Good),
        CallState::Failed => ("✘", TextInk::Error),
        CallState::Cancelled => ("⊘", TextInk::Warning),
        CallState::Denied | CallState::Unanswered => ("✘", TextInk::Warning),
    };
    let mut glance = preview::preview_lines(tool, &parts, limits);
    glance.retain(|_| is_worth_a_glance(tool, &parts));
    let facts = call_facts(tool, &parts);
    let mut rows = Vec::new();
    let first = glance.first().map(|(_, line)| line.as_str());
    // The reason of a failure stands behind it, if it fits.
    match first
        .filter(|line| tool.current_state() != CallState::Done && fits_on_row(tool, line, page))
    {
        Some(reason) => {
            rows.push(failed_call_row((ink, mark), tool, reason, page));
            glance.remove(0);
        }
        None => rows.push(call_headline((ink, mark), tool, &facts, page)),
    }
    for (ink, line) in glance {
        rows.extend(page.hanging_rows([BAR; 2], ink, &line, MOST_ROWS_OF_A_LINE));
    }
    rows
}

/// A successful search or fetch returns text for the model; changes and the output of commands are for people too.
fn is_worth_a_glance(tool: &ToolCallItem, parts: &[ToolPart]) -> bool {
    let tells = |part: &ToolPart| matches!(part, ToolPart::Diff { .. } | ToolPart::Terminal { .. });
    tool.current_state() != CallState::Done || parts.iter().any(tells)
}

fn call_facts(tool: &ToolCallItem, parts: &[ToolPart]) -> String {
    let state = (tool.current_state() != CallState::Done)
        .then(|| tool.current_state().state_word().to_owned());
    let time = tool.duration_millis().map(words::spoken_duration);
    let answer = tool.answer.as_ref();
    let answer = answer.filter(|answer| answer.is_allowed() && answer.is_news());
    let answer = answer.map(PermissionAnswer::in_words);
    let facts = [state, preview::preview_summary(tool, parts), time, answer];
    facts.into_iter().flatten().collect::<Vec<_>>().join(" · ")
}

/// `✔ read_file  a.txt  0.8 s`; the facts only if they leave room for the subject of the call.
fn call_headline(
    (ink, mark): (TextInk, &str),
    tool: &ToolCallItem,
    facts: &str,
    page: &TerminalPage,
) -> ScreenRow {
    let name = call_name(tool);
    let subject = tool.call_subject().unwrap_or_default();
    let before = page.text_width(&format!("{mark} {name}{GAP}"));
    let facts = with_spaces(facts);
    let left = page
        .text_columns()
        .saturating_sub(before + page.text_width(&facts));
    let least = page.text_width(&subject).min(SHORTEST_SUBJECT);
    let (left, facts) = if left < least {
        (page.text_columns().saturating_sub(before).max(1), "")
    } else {
        (left, facts.as_str())
    };
    page.cut_row(&[
        (ink, mark),
        (TextInk::Tool, &format!(" {name}")),
        (TextInk::Plain, &with_spaces(&page.cut_text(&subject, left))),
        (TextInk::Faint, facts),
    ])
}

/// `✘ read_file  missing.txt  File not found`
fn failed_call_row(
    (ink, mark): (TextInk, &str),
    tool: &ToolCallItem,
    reason: &str,
    page: &TerminalPage,
) -> ScreenRow {
    page.cut_row(&[
        (ink, mark),
        (TextInk::Tool, &format!(" {}", call_name(tool))),
        (
            TextInk::Plain,
            &with_spaces(&tool.call_subject().unwrap_or_default()),
        ),
        (TextInk::Error, &with_spaces(reason)),
    ])
}

fn fits_on_row(tool: &ToolCallItem, reason: &str, page: &TerminalPage) -> bool {
    let subject = with_spaces(&tool.call_subject().unwrap_or_default());
    let line = format!("✘ {}{subject}{}", call_name(tool), with_spaces(reason));
    page.text_width(&line) <= page.text_columns()
}

fn call_name(tool: &ToolCallItem) -> String {
    let nested = if tool.is_nested() { "↳ " } else { "" };
    format!("{nested}{}", tool.tool_name())
}

fn with_spaces(text: &str) -> String {
    if text.is_empty() {
        String::new()
    } else {
        format!("{GAP}{text}")
    }
}
