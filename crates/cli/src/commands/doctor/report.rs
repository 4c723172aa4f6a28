//! Prints checks as they finish.

use std::io::{self, Write as _};

use anstyle::{AnsiColor, Style};
use lapidary::render::plain::one_line;
use lapidary::vocab::doctor::{Card, Check, CheckState, Checkup};
use lapidary::vocab::line;

use crate::printer::Printer;

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum DoctorFormat {
    /// For reading on a terminal
    Text,
    /// One object, as `lapidary schema doctor` describes it
    Json,
}

/// Where the second column begins, and the third.
const COLUMNS: (usize, usize) = (9, 17);

pub(super) struct DoctorReport<'a> {
    format: DoctorFormat,
    /// Whether stderr is a terminal, so that progress can be shown.
    is_watched: bool,
    out: &'a mut Printer,
    checks: Vec<Check>,
    card: Option<Card>,
    /// The first line that could not be printed.
    failed: io::Result<()>,
}

impl<'a> DoctorReport<'a> {
    pub(super) fn new(format: DoctorFormat, is_watched: bool, out: &'a mut Printer) -> Self {
        Self {
            format,
            is_watched,
            out,
            checks: Vec::new(),
            card: None,
            failed: Ok(()),
        }
    }

    /// Takes a check. People see it at once.
    pub(super) fn add_check(&mut self, check: Check) {
        match self.format {
            DoctorFormat::Text if self.failed.is_ok() => self.failed = self.show_check(&check),
            DoctorFormat::Json if self.is_watched => {
                self.out.print_message(check_text(&check, false).trim_end());
            }
            DoctorFormat::Text | DoctorFormat::Json => {}
        }
        self.checks.push(check);
    }

    fn show_check(&mut self, check: &Check) -> io::Result<()> {
        let text = check_text(check, self.out.colour);
        self.out.write_all(text.as_bytes())?;
        self.out.flush()
    }

    /// Takes the card of an agent that speaks ACP, for programs: people have read it in the checks.
    pub(super) fn add_card(&mut self, card: Card) {
        self.card = Some(card);
    }

    /// Prints the next step on stderr, for a waiting person.
    pub(super) fn announce_step(&mut self, text: &str) {
        if self.format == DoctorFormat::Text || self.is_watched {
            self.out.print_message(text);
        }
    }

    /// Prints the rest, and returns whether no check found a problem.
    pub(super) fn finish(self, agent: &str) -> io::Result<bool> {
        self.failed?;
        let checkup = Checkup::new(agent, self.checks).with_card(self.card);
        match self.format {
            DoctorFormat::Json => line::write(self.out, &checkup)?,
            DoctorFormat::Text => writeln!(self.out, "{}", verdict_text(&checkup))?,
        }
        Ok(checkup.healthy)
    }
}

fn verdict_text(checkup: &Checkup) -> String {
    let count = |state: &CheckState| {
        checkup
            .checks
            .iter()
            .filter(|check| check.state == *state)
            .count()
    };
    let said = |count: usize, one: &str| match count {
        1 => format!("1 {one}"),
        many => format!("{many} {one}s"),
    };
    let (problems, warnings) = (count(&CheckState::Problem), count(&CheckState::Warning));
    match (problems, warnings) {
        (0, 0) => "all is well".to_owned(),
        (0, warnings) => format!("it works, with {}", said(warnings, "warning")),
        (problems, 0) => said(problems, "problem"),
        (problems, warnings) => format!(
            "{}, {}",
            said(problems, "problem"),
            said(warnings, "warning")
        ),
    }
}

/// A check as people read it. Paths and messages of programs may hold control characters.
fn check_text(check: &Check, colour: bool) -> String {
    let (first, second) = COLUMNS;
    let state = check.state.as_str();
    let style = if colour {
        state_style(&check.state)
    } else {
        Style::new()
    };
    let gap = " ".repeat(first.saturating_sub(state.len()));
    let name = check.name.as_str().replace('_', " ");
    let message = one_line(&check.message);
    let time = check.duration_ms.map(seconds_text).unwrap_or_default();
    let mut lines = vec![format!(
        "{style}{state}{style:#}{gap}{name:second$}{message}{time}\n"
    )];
    let indent = " ".repeat(first + second);
    let details = check.details.iter();
    lines.extend(details.map(|detail| format!("{indent}{}\n", one_line(detail))));
    let remedy = check.remedy.iter();
    lines.extend(remedy.map(|remedy| format!("{indent}hint: {}\n", one_line(remedy))));
    lines.concat()
}

fn state_style(state: &CheckState) -> Style {
    match state {
        CheckState::Ok => AnsiColor::Green.on_default(),
        CheckState::Warning => AnsiColor::Yellow.on_default(),
        CheckState::Problem => AnsiColor::Red.on_default(),
        _ => Style::new().dimmed(),
    }
}

fn seconds_text(ms: u64) -> String {
    format!(" ({}.{} s)", ms / 1000, ms % 1000 / 100)
}
