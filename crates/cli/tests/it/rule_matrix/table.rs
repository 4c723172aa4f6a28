//! The table in `docs/permissions.md`. `LAPIDARY_BLESS=1` writes the rows anew that were played.

use std::fs;
use std::path::Path;

use lapidary_testkit::acp::Peer;

use super::situation::Situation;

const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/permissions.md");

/// What became of an attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Cell {
    /// It was allowed.
    Allowed,
    /// The agent asked, and was denied.
    Denied,
    /// It ran, and the run was stopped.
    Stopped,
    /// The agent has no such tool.
    NoTool,
    /// The agent did not do it, for a reason of its own.
    Nothing,
}

impl Cell {
    fn word(self) -> &'static str {
        match self {
            Self::Allowed => "allowed",
            Self::Denied => "denied",
            Self::Stopped => "stopped",
            Self::NoTool => "no tool",
            Self::Nothing => "not done",
        }
    }
}

/// A line of the table.
pub(super) struct Row {
    /// How the line begins: the agent and the situation.
    start: String,
    line: String,
}

impl Row {
    pub(super) fn new(peer: Peer, situation: Situation, cells: Vec<Cell>) -> Self {
        let start = format!("| {} | {} |", peer.title(), situation.described());
        let cells = cells.into_iter().map(|cell| format!(" {} |", cell.word()));
        let line = format!("{start}{}", cells.collect::<String>());
        Self { start, line }
    }
}

/// Compares the rows with those of the page.
pub(super) fn check(rows: &[Row]) {
    let page = fs::read_to_string(Path::new(PAGE)).unwrap();
    let lines = page.lines().map(|line| {
        let row = rows.iter().find(|row| line.starts_with(&row.start));
        row.map_or(line, |row| &row.line)
    });
    let mut expected = lines.collect::<Vec<_>>().join("\n");
    expected.push('\n');
    if std::env::var_os("LAPIDARY_BLESS").is_some() {
        fs::write(PAGE, &expected).unwrap();
    } else {
        assert_eq!(page, expected, "LAPIDARY_BLESS=1 writes the table anew");
    }
    for row in rows {
        assert!(expected.contains(&row.line), "no line for {}", row.start);
    }
}
