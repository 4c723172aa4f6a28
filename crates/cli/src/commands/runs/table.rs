//! Runs as rows and columns. On a narrow terminal the columns that tell least are left out.

use std::io::{self, Write as _};
use std::path::Path;
use std::time::SystemTime;

use lapidary::engine::recording::ListedRun;
use lapidary::render::plain::sanitize;
use lapidary::sessions::age;
use lapidary::vocab::outcome::Cause;
use lapidary::vocab::recording::CostBasis;
use lapidary::vocab::runs::{RunInfo, RunState};
use unicode_width::UnicodeWidthStr as _;

use super::super::sessions::list::shorten_to_width;
use crate::printer::Printer;

/// Between two columns.
const GAP: usize = 2;

/// The width where there is no terminal.
const USUAL_WIDTH: usize = 160;

/// The last column is not narrower: it would tell nothing.
const NARROWEST_PROMPT: usize = 20;

/// An outcome that is the last column is cut to this at most.
const NARROWEST_OUTCOME: usize = 12;

/// Columns from left to right: heading, and its rank. Those of the highest rank are left out first; rank 0 always stays.
const COLUMNS: [(&str, u8); 9] = [
    ("RUN", 0),
    ("STARTED", 3),
    ("AGENT", 4),
    ("OUTCOME", 1),
    ("TIME", 5),
    ("COST", 7),
    ("SESSION", 8),
    ("PROJECT", 6),
    ("PROMPT", 2),
];

const OUTCOME: usize = 3;
const PROMPT: usize = COLUMNS.len() - 1;

/// Rows to be printed.
pub(super) struct RunsTable {
    rows: Vec<[String; COLUMNS.len()]>,
}

impl RunsTable {
    pub(super) fn new(runs: &[ListedRun], home: Option<&Path>, now: SystemTime) -> Self {
        let rows = runs.iter().map(|run| run_row(run, home, now));
        Self {
            rows: rows.collect(),
        }
    }

    pub(super) fn write_table(&self, out: &mut Printer) -> io::Result<()> {
        let width = out.terminal_width().unwrap_or(USUAL_WIDTH);
        let widths = self.column_widths();
        let shown = fitting_columns(&widths, width);
        let headings = COLUMNS.map(|(heading, _)| heading.to_owned());
        for row in [&headings].into_iter().chain(&self.rows) {
            writeln!(out, "{}", table_line(row, &widths, &shown, width))?;
        }
        Ok(())
    }

    fn column_widths(&self) -> [usize; COLUMNS.len()] {
        let mut widths = COLUMNS.map(|(heading, _)| heading.len());
        for row in &self.rows {
            for (width, cell) in widths.iter_mut().zip(row) {
                *width = (*width).max(cell.width());
            }
        }
        widths
    }
}

/// The columns that fit, by their place. The last one is cut to the rest of the width.
fn fitting_columns(widths: &[usize; COLUMNS.len()], width: usize) -> Vec<usize> {
    let mut shown: Vec<usize> = (0..COLUMNS.len()).collect();
    loop {
        let last = shown.last().copied();
        let room = |at: &usize| match *at {
            PROMPT => NARROWEST_PROMPT,
            OUTCOME if last == Some(OUTCOME) => widths[OUTCOME].min(NARROWEST_OUTCOME),
            at => widths[at],
        };
        let total: usize = shown.iter().map(|at| room(at) + GAP).sum();
        let removable = shown.iter().copied().max_by_key(|at| COLUMNS[*at].1);
        match removable {
            Some(column) if total > width + GAP && COLUMNS[column].1 > 0 => {
                shown.retain(|at| *at != column);
            }
            _ => return shown,
        }
    }
}

fn table_line(
    row: &[String; COLUMNS.len()],
    widths: &[usize; COLUMNS.len()],
    shown: &[usize],
    width: usize,
) -> String {
    let mut line = String::new();
    for (place, at) in shown.iter().enumerate() {
        let cell = &row[*at];
        if place + 1 == shown.len() {
            let left = width.saturating_sub(line.width());
            // Ids stay whole: they are there to be copied.
            line.push_str(&if *at == 0 {
                cell.clone()
            } else {
                shorten_to_width(cell, left)
            });
        } else {
            let padding = widths[*at] - cell.width() + GAP;
            line.push_str(cell);
            line.extend(std::iter::repeat_n(' ', padding));
        }
    }
    line.trim_end().to_owned()
}

fn run_row(run: &ListedRun, home: Option<&Path>, now: SystemTime) -> [String; COLUMNS.len()] {
    let info = &run.info;
    let dash = || "-".to_owned();
    let cells = [
        info.id.clone(),
        age(Some(run.began_ms), now),
        info.agent.clone().unwrap_or_else(dash),
        outcome_text(info),
        info.duration_ms.map_or_else(dash, duration_text),
        cost_text(info).unwrap_or_else(dash),
        session_text(info).unwrap_or_else(dash),
        info.project
            .as_deref()
            .map_or_else(dash, |project| directory_text(project, home)),
        info.prompt.clone().unwrap_or_default(),
    ];
    // All of it may be an agent's words.
    cells.map(|cell| sanitize(&cell).replace(['\n', '\r', '\t'], " "))
}

fn outcome_text(info: &RunInfo) -> String {
    match (&info.state, &info.outcome, &info.cause) {
        (RunState::Ended, Some(outcome), Some(Cause::EndTurn) | None) => outcome.to_string(),
        (RunState::Ended, Some(outcome), Some(cause)) => format!("{outcome} ({cause})"),
        (RunState::Ended, None, _) => program_end_text(info),
        (state, ..) => state.to_string(),
    }
}

/// A recorded program that was no run of ours.
fn program_end_text(info: &RunInfo) -> String {
    match (info.agent_exit_code, &info.signal) {
        (Some(code), _) => format!("exit {code}"),
        (None, Some(signal)) => signal.clone(),
        (None, None) => "ended".to_owned(),
    }
}

fn session_text(info: &RunInfo) -> Option<String> {
    let id = info.session_id.as_deref()?;
    Some(id.chars().take(8).collect())
}

/// The cost, or the tokens where no price is known.
fn cost_text(info: &RunInfo) -> Option<String> {
    let Some(cost) = info.cost_usd else {
        return info.total_tokens.map(tokens_text);
    };
    let digits = if cost < 1.0 { 4 } else { 2 };
    let mark = match info.cost_basis {
        Some(CostBasis::Reported) => "",
        _ => "~",
    };
    Some(format!("{mark}${cost:.digits$}"))
}

fn tokens_text(count: u64) -> String {
    match count {
        0..10_000 => format!("{count} tok"),
        10_000..10_000_000 => format!("{}k tok", count / 1000),
        _ => format!("{}M tok", count / 1_000_000),
    }
}

fn duration_text(milliseconds: u64) -> String {
    let seconds = milliseconds / 1000;
    match seconds {
        0..=59 => format!("{seconds}.{} s", milliseconds % 1000 / 100),
        60..=3599 => format!("{} min {} s", seconds / 60, seconds % 60),
        _ => format!("{} h {} min", seconds / 3600, seconds / 60 % 60),
    }
}

/// The directory, from the home on if it is below that.
fn directory_text(project: &str, home: Option<&Path>) -> String {
    let inside = home.and_then(|home| Path::new(project).strip_prefix(home).ok());
    match inside {
        Some(inside) if inside.as_os_str().is_empty() => "~".to_owned(),
        Some(inside) => format!("~/{}", inside.display()),
        None => project.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn info(change: impl FnOnce(&mut RunInfo)) -> RunInfo {
        let json = r#"{"id":"r","state":"ended","agent":"gemini","outcome":"completed","cause":"end_turn"}"#;
        let mut info = serde_json::from_str(json).unwrap();
        change(&mut info);
        info
    }

    #[test]
    fn columns_are_left_out_by_rank_until_the_rest_fits() {
        let widths = [24, 14, 6, 20, 7, 7, 8, 20, 60];
        let names = |width| {
            let shown = fitting_columns(&widths, width);
            let names: Vec<_> = shown.iter().map(|at| COLUMNS[*at].0).collect();
            names.join(" ")
        };
        assert_eq!(
            names(200),
            "RUN STARTED AGENT OUTCOME TIME COST SESSION PROJECT PROMPT"
        );
        assert_eq!(names(100), "RUN STARTED AGENT OUTCOME PROMPT");
        assert_eq!(names(90), "RUN STARTED OUTCOME PROMPT");
        assert_eq!(names(80), "RUN OUTCOME PROMPT");
        assert_eq!(names(60), "RUN OUTCOME");
        assert_eq!(names(40), "RUN OUTCOME");
        assert_eq!(names(20), "RUN");
    }

    #[test]
    fn an_outcome_names_its_cause_unless_the_turn_just_ended() {
        assert_eq!(outcome_text(&info(|_| {})), "completed");
        let failed = info(|it| {
            it.outcome = Some("failed".into());
            it.cause = Some(Cause::AgentCrashed);
        });
        assert_eq!(outcome_text(&failed), "failed (agent_crashed)");
        assert_eq!(outcome_text(&info(|it| it.state = RunState::Died)), "died");
        let recorded = info(|it| {
            it.outcome = None;
            it.agent_exit_code = Some(3);
        });
        assert_eq!(outcome_text(&recorded), "exit 3");
    }

    #[test]
    fn times_costs_and_places_are_short() {
        for (ms, expected) in [
            (0, "0.0 s"),
            (1_290, "1.2 s"),
            (61_000, "1 min 1 s"),
            (3_660_000, "1 h 1 min"),
        ] {
            assert_eq!(duration_text(ms), expected);
        }
        let paid = |usd, basis| {
            cost_text(&info(|it| {
                (it.cost_usd, it.cost_basis) = (Some(usd), basis);
            }))
        };
        assert_eq!(paid(0.01234, Some(CostBasis::Prices)).unwrap(), "~$0.0123");
        assert_eq!(paid(12.0, Some(CostBasis::Reported)).unwrap(), "$12.00");
        let used = |tokens| cost_text(&info(|it| it.total_tokens = tokens));
        assert_eq!(used(Some(220)).unwrap(), "220 tok");
        assert_eq!(used(Some(12_345)).unwrap(), "12k tok");
        assert_eq!(used(None), None);
        let home = Some(Path::new("/home/me"));
        assert_eq!(directory_text("/home/me/code/x", home), "~/code/x");
        assert_eq!(directory_text("/home/me", home), "~");
        assert_eq!(directory_text("/home/mean", home), "/home/mean");
    }

    #[test]
    fn words_of_an_agent_cannot_command_the_terminal() {
        let run = ListedRun {
            info: info(|it| {
                it.prompt = Some("a\u{1b}[2Jb\nc\u{202e}".to_owned());
                it.agent = Some("\u{1b}]0;x\u{7}gem".to_owned());
            }),
            began_ms: 0,
        };
        let row = run_row(&run, None, SystemTime::UNIX_EPOCH);
        assert_eq!((row[2].as_str(), row[8].as_str()), ("gem", "ab c\\u{202e}"));
    }
}
