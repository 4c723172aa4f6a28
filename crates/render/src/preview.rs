//! A preview of a tool's change or result: a few lines, and how many more there are.

use crate::diff;
use crate::ink::TextInk;
use crate::tool::{CallState, ToolPart};
use crate::transcript::ToolCallItem;
use crate::words;

const CHARACTERS: usize = 240;

/// How many lines are shown.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PreviewLimits {
    /// Lines of a change that was made.
    pub(crate) change: usize,
    /// Lines of a result.
    pub(crate) output: usize,
    /// Lines of an error: there they matter more.
    pub(crate) failure: usize,
}

/// What fits behind the check mark: the size of a change or of a file that was read.
pub(crate) fn preview_summary(tool: &ToolCallItem, parts: &[ToolPart]) -> Option<String> {
    parts.iter().find_map(|part| match part {
        ToolPart::Diff { diff, .. } if tool.current_state() == CallState::Done => {
            let (added, removed) = diff::diff_size(diff);
            Some(format!("+{added} −{removed}"))
        }
        ToolPart::File { text, .. } if tool.returned_a_file() => {
            Some(words::counted_noun(text.lines().count() as u64, "line"))
        }
        _ => None,
    })
}

/// The glance, line by line. Hostile as the parts are.
pub(crate) fn preview_lines(
    tool: &ToolCallItem,
    parts: &[ToolPart],
    limits: PreviewLimits,
) -> Vec<(TextInk, String)> {
    let is_done = tool.current_state() == CallState::Done;
    if is_done && tool.is_completion() {
        return Vec::new();
    }
    let limit = if is_done {
        limits.output
    } else {
        limits.failure
    };
    let mut lines = Vec::new();
    for part in parts {
        match part {
            ToolPart::Diff { diff, .. } if is_done => {
                add_first_lines(diff_lines(diff), limits.change, &mut lines);
            }
            ToolPart::Terminal {
                output: Some(text),
                note,
                ..
            } => {
                add_first_lines(text_lines(text), limit, &mut lines);
                lines.extend(note.iter().map(note_line));
            }
            ToolPart::Output(text) => add_first_lines(text_lines(text), limit, &mut lines),
            ToolPart::Note(note) => lines.push(note_line(note)),
            // Arguments are in the headline as far as they fit; files are only counted.
            _ => {}
        }
    }
    lines
}

fn note_line(note: &String) -> (TextInk, String) {
    (TextInk::Faint, format!("({note})"))
}

fn diff_lines(diff: &str) -> Vec<(TextInk, &str)> {
    let ink = |kind| match kind {
        diff::DiffLine::Added => Some(TextInk::Added),
        diff::DiffLine::Removed => Some(TextInk::Removed),
        diff::DiffLine::Context => Some(TextInk::Faint),
        diff::DiffLine::Head | diff::DiffLine::Hunk => None,
    };
    diff::diff_lines(diff)
        .filter_map(|(kind, line)| Some((ink(kind)?, line)))
        .collect()
}

fn text_lines(text: &str) -> Vec<(TextInk, &str)> {
    text.trim_end()
        .lines()
        .map(|line| (TextInk::Faint, line))
        .collect()
}

/// Adds the first of these lines, and how many there are besides.
fn add_first_lines(mut of: Vec<(TextInk, &str)>, limit: usize, lines: &mut Vec<(TextInk, String)>) {
    // A note about a single line would be as long as the line.
    let shown = if of.len() <= limit + 1 {
        of.len()
    } else {
        limit
    };
    let more = of.split_off(shown).len();
    lines.extend(
        of.into_iter()
            .map(|(ink, line)| (ink, shortened_line(line))),
    );
    if more > 0 {
        let more = words::counted_noun(more as u64, "more line");
        lines.push((TextInk::Faint, format!("… {more}")));
    }
}

fn shortened_line(line: &str) -> String {
    let more = line.chars().count().saturating_sub(CHARACTERS);
    match more {
        0 => line.to_owned(),
        more => {
            let start: String = line.chars().take(CHARACTERS).collect();
            format!(
                "{start}… ({})",
                words::counted_noun(more as u64, "more character")
            )
        }
    }
}
