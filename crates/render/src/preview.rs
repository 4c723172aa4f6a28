//! A glance at what a tool changed or returned: a few lines, and how many more there are.

use crate::diff;
use crate::ink::Ink;
use crate::tool::{Part, State};
use crate::transcript::Tool;
use crate::words;

const CHARACTERS: usize = 240;

/// How many lines are shown.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limits {
    /// Of a change that was made.
    pub(crate) change: usize,
    /// Of what came back.
    pub(crate) output: usize,
    /// Of what went wrong: there they matter more.
    pub(crate) failure: usize,
}

/// What fits behind the check mark: the size of a change or of a file that was read.
pub(crate) fn summary(tool: &Tool, parts: &[Part]) -> Option<String> {
    parts.iter().find_map(|part| match part {
        Part::Diff { diff, .. } if tool.state() == State::Done => {
            let (added, removed) = diff::sizes(diff);
            Some(format!("+{added} −{removed}"))
        }
        Part::File { text, .. } if tool.returned_a_file() => {
            Some(words::count(text.lines().count() as u64, "line"))
        }
        _ => None,
    })
}

/// The glance, line by line. Hostile as the parts are.
pub(crate) fn lines(tool: &Tool, parts: &[Part], limits: Limits) -> Vec<(Ink, String)> {
    let is_done = tool.state() == State::Done;
    let limit = if is_done {
        limits.output
    } else {
        limits.failure
    };
    let mut lines = Vec::new();
    for part in parts {
        match part {
            Part::Diff { diff, .. } if is_done => some(diff_lines(diff), limits.change, &mut lines),
            Part::Terminal {
                output: Some(text),
                note,
                ..
            } => {
                some(text_lines(text), limit, &mut lines);
                lines.extend(note.iter().map(aside));
            }
            Part::Output(text) => some(text_lines(text), limit, &mut lines),
            Part::Note(note) => lines.push(aside(note)),
            // Arguments are in the headline as far as they fit; files are only counted.
            _ => {}
        }
    }
    lines
}

fn aside(note: &String) -> (Ink, String) {
    (Ink::Faint, format!("({note})"))
}

fn diff_lines(diff: &str) -> Vec<(Ink, &str)> {
    let ink = |kind| match kind {
        diff::Line::Added => Some(Ink::Added),
        diff::Line::Removed => Some(Ink::Removed),
        diff::Line::Context => Some(Ink::Faint),
        diff::Line::Head | diff::Line::Hunk => None,
    };
    diff::lines(diff)
        .filter_map(|(kind, line)| Some((ink(kind)?, line)))
        .collect()
}

fn text_lines(text: &str) -> Vec<(Ink, &str)> {
    text.trim_end()
        .lines()
        .map(|line| (Ink::Faint, line))
        .collect()
}

/// Adds the first of these lines, and how many there are besides.
fn some(mut of: Vec<(Ink, &str)>, limit: usize, lines: &mut Vec<(Ink, String)>) {
    // A note about a single line would be as long as the line.
    let shown = if of.len() <= limit + 1 {
        of.len()
    } else {
        limit
    };
    let more = of.split_off(shown).len();
    lines.extend(of.into_iter().map(|(ink, line)| (ink, shortened(line))));
    if more > 0 {
        let more = words::count(more as u64, "more line");
        lines.push((Ink::Faint, format!("… {more}")));
    }
}

fn shortened(line: &str) -> String {
    let more = line.chars().count().saturating_sub(CHARACTERS);
    match more {
        0 => line.to_owned(),
        more => {
            let start: String = line.chars().take(CHARACTERS).collect();
            format!("{start}… ({})", words::count(more as u64, "more character"))
        }
    }
}
