//! The cost that each program adds to that of the agent, as a Markdown table.

use std::fmt;
use std::time::Duration;

use super::super::table::in_megabytes;
use super::NODE;

/// One line of the table: the cost that a program adds to that of the agent.
#[derive(Debug)]
pub(super) struct RunRow {
    pub(super) case: &'static str,
    pub(super) what: &'static str,
    pub(super) deltas: u32,
    pub(super) cpu: Duration,
    pub(super) wall: Duration,
    /// In bytes: of ours the sum of both processes, of others the largest process.
    pub(super) peak: u64,
}

pub(super) struct RunTable<'a>(pub(super) &'a [RunRow]);

impl fmt::Display for RunTable<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "| agent writes | run by, without the agent's own cost | CPU ms | wall ms | lines per CPU s | × Node | peak MB |"
        )?;
        writeln!(f, "|---|---|---:|---:|---:|---:|---:|")?;
        for row in self.0 {
            let node = self.0.iter();
            let node = node
                .filter(|other| other.what == NODE)
                .find(|other| other.case == row.case);
            let seconds = row.cpu.as_secs_f64().max(1e-6);
            let ratio = node.map_or(0.0, |node| node.cpu.as_secs_f64() / seconds);
            writeln!(
                f,
                "| {} | {} | {:.1} | {:.1} | {} | {ratio:.2} | {:.1} |",
                row.case,
                row.what,
                seconds * 1e3,
                row.wall.as_secs_f64() * 1e3,
                speed_cell(row.deltas, seconds),
                in_megabytes(row.peak)
            )?;
        }
        Ok(())
    }
}

/// For a handful of lines it is the start that counts, not the speed.
fn speed_cell(lines: u32, seconds: f64) -> String {
    if lines < 1_000 {
        return "–".to_owned();
    }
    let thousands = format!("{:.0}", f64::from(lines) / seconds / 1e3);
    match thousands.split_at_checked(thousands.len().saturating_sub(3)) {
        Some((millions, thousands)) if !millions.is_empty() => {
            format!("{millions},{thousands},000")
        }
        _ => format!("{thousands},000"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_says_how_many_lines_a_cpu_second_carries_and_compares_with_node() {
        let row = |what, ms| RunRow {
            case: "many",
            what,
            deltas: 100_000,
            cpu: Duration::from_millis(ms),
            wall: Duration::from_millis(70),
            peak: 8_000_000,
        };
        let table = RunTable(&[row("ours", 250), row(NODE, 500)]).to_string();
        let ours = table.lines().nth(2).unwrap();
        assert_eq!(
            ours,
            "| many | ours | 250.0 | 70.0 | 400,000 | 2.00 | 8.0 |"
        );
        assert_eq!(speed_cell(3, 0.1), "–");
        assert_eq!(speed_cell(100_000, 0.08), "1,250,000");
    }
}
