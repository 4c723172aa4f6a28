//! A glance at what a tool changed or returned: a few lines, and how many more there are.

use std::io::{self, Write};

use super::pen::{Ink, Pen};
use crate::diff;
use crate::tool::{Part, State};
use crate::transcript::Tool;
use crate::words;

/// Lines shown of what went well.
const LINES: usize = 8;
/// Lines shown of what went wrong: there they matter more.
const LINES_OF_FAILURE: usize = 20;
const CHARACTERS: usize = 240;

/// What fits behind the check mark: the size of a change or of a file that was read.
pub(super) fn summary(tool: &Tool, parts: &[Part]) -> Option<String> {
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

/// Writes the glance.
pub(super) fn write(
    tool: &Tool,
    parts: &[Part],
    pen: &mut Pen,
    out: &mut dyn Write,
) -> io::Result<()> {
    let limit = if tool.state() == State::Done {
        LINES
    } else {
        LINES_OF_FAILURE
    };
    for part in parts {
        match part {
            Part::Diff { diff, .. } if tool.state() == State::Done => {
                write_some(&diff_lines(diff), limit, pen, out)?;
            }
            Part::Terminal {
                output: Some(text),
                note,
                ..
            } => {
                write_some(&text_lines(text), limit, pen, out)?;
                if let Some(note) = note {
                    pen.line(Ink::Faint, &format!("  │ ({note})"), out)?;
                }
            }
            Part::Output(text) => write_some(&text_lines(text), limit, pen, out)?,
            Part::Note(note) => pen.line(Ink::Faint, &format!("  │ ({note})"), out)?,
            // Arguments are in the headline as far as they fit; files are only counted.
            _ => {}
        }
    }
    Ok(())
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

fn write_some(
    lines: &[(Ink, &str)],
    limit: usize,
    pen: &mut Pen,
    out: &mut dyn Write,
) -> io::Result<()> {
    // A note about a single line would be as long as the line.
    let shown = if lines.len() <= limit + 1 {
        lines.len()
    } else {
        limit
    };
    for (ink, line) in &lines[..shown] {
        pen.line(*ink, &format!("  │ {}", shortened(line)), out)?;
    }
    match lines.len() - shown {
        0 => Ok(()),
        more => pen.line(
            Ink::Faint,
            &format!("  │ … {}", words::count(more as u64, "more line")),
            out,
        ),
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
