//! The costs of all commands, and the limits of ours, as a Markdown table.

use std::fmt;
use std::time::Duration;

use super::super::measure::ProcessCost;
use super::super::table::in_megabytes;

/// The highest cost of a command.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct CommandLimits {
    pub(super) cpu: Option<Duration>,
    /// How many times the CPU time of merely reading the same files.
    pub(super) times_reading: Option<f64>,
    /// In bytes.
    pub(super) peak: Option<u64>,
}

/// One line of the table.
#[derive(Debug, Clone)]
pub(super) struct SessionsRow {
    pub(super) over: String,
    pub(super) what: String,
    /// Its cost, or why that is not known.
    pub(super) outcome: Result<ProcessCost, String>,
    /// The CPU time of merely reading the same files.
    pub(super) reading: Option<Duration>,
    pub(super) limits: CommandLimits,
}

impl SessionsRow {
    fn times_reading(&self) -> Option<f64> {
        let cpu = self.outcome.as_ref().ok()?.cpu.as_secs_f64();
        Some(cpu / self.reading?.as_secs_f64().max(1e-6))
    }

    /// Each limit in words, and whether it is kept.
    fn limit_verdicts(&self) -> Vec<(String, bool)> {
        let CommandLimits {
            cpu,
            times_reading,
            peak,
        } = self.limits;
        let cost = self.outcome.as_ref().ok();
        let mut verdicts = Vec::new();
        if let Some(limit) = cpu {
            let kept = cost.is_some_and(|cost| cost.cpu <= limit);
            verdicts.push((format!("{} s CPU", limit.as_secs_f64()), kept));
        }
        if let Some(limit) = times_reading {
            let kept = self.times_reading().is_some_and(|times| times <= limit);
            verdicts.push((format!("{limit}× reading"), kept));
        }
        if let Some(limit) = peak {
            let kept = cost.is_some_and(|cost| cost.peak_kib * 1024 <= limit);
            verdicts.push((format!("{:.0} MB", in_megabytes(limit)), kept));
        }
        verdicts
    }

    /// The missed goals, for a reader who skips the tables.
    pub(super) fn missed_goals(&self) -> Vec<String> {
        let missed = self.limit_verdicts().into_iter().filter(|(_, kept)| !kept);
        let sentence = |(limit, _)| format!("{} over {}: {limit}", self.what, self.over);
        missed.map(sentence).collect()
    }
}

pub(super) struct SessionsTable<'a>(pub(super) &'a [SessionsRow]);

impl fmt::Display for SessionsTable<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "| over | what | CPU s | wall s | × reading | peak MB | limit | met |"
        )?;
        writeln!(f, "|---|---|---:|---:|---:|---:|---|---|")?;
        for row in self.0 {
            let verdicts = row.limit_verdicts();
            let limits: Vec<_> = verdicts.iter().map(|(limit, _)| &**limit).collect();
            let limits = or_dash(limits.join(", "));
            let met = match verdicts.iter().all(|(_, kept)| *kept) {
                _ if verdicts.is_empty() => "–",
                true => "yes",
                false => "**no**",
            };
            let (over, what, numbers) = (&row.over, &row.what, number_columns(row));
            writeln!(f, "| {over} | {what} | {numbers} | {limits} | {met} |")?;
        }
        Ok(())
    }
}

/// Four columns of numbers, or why there are none.
fn number_columns(row: &SessionsRow) -> String {
    match &row.outcome {
        Err(why) => format!("{} | – | – | –", why.replace('|', "/")),
        Ok(cost) => {
            let times = row.times_reading().map(|times| format!("{times:.2}"));
            format!(
                "{:.3} | {:.3} | {} | {:.1}",
                cost.cpu.as_secs_f64(),
                cost.wall.as_secs_f64(),
                or_dash(times.unwrap_or_default()),
                in_megabytes(cost.peak_kib * 1024)
            )
        }
    }
}

fn or_dash(text: String) -> String {
    if text.is_empty() {
        "–".to_owned()
    } else {
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(
        outcome: Result<ProcessCost, String>,
        limits: CommandLimits,
        expected: &str,
        misses: &[&str],
    ) {
        let row = SessionsRow {
            over: "files".to_owned(),
            what: "list".to_owned(),
            outcome,
            reading: Some(Duration::from_millis(50)),
            limits,
        };
        assert_eq!(row.missed_goals(), misses);
        let table = SessionsTable(&[row]).to_string();
        assert_eq!(table.lines().nth(2), Some(expected));
    }

    fn cost(cpu_ms: u64, peak_kib: u64) -> ProcessCost {
        ProcessCost {
            cpu: Duration::from_millis(cpu_ms),
            wall: Duration::from_millis(90),
            peak_kib,
        }
    }

    const LIMITS: CommandLimits = CommandLimits {
        cpu: Some(Duration::from_millis(150)),
        times_reading: Some(3.0),
        peak: Some(40_000_000),
    };

    #[test]
    fn a_row_has_the_limits_and_whether_the_cost_is_within_them() {
        check(
            Ok(cost(150, 2_000)),
            LIMITS,
            "| files | list | 0.150 | 0.090 | 3.00 | 2.0 | 0.15 s CPU, 3× reading, 40 MB | yes |",
            &[],
        );
        check(
            Ok(cost(160, 2_000)),
            LIMITS,
            "| files | list | 0.160 | 0.090 | 3.20 | 2.0 | 0.15 s CPU, 3× reading, 40 MB | **no** |",
            &["list over files: 0.15 s CPU", "list over files: 3× reading"],
        );
        check(
            Ok(cost(1, 40_000)),
            LIMITS,
            "| files | list | 0.001 | 0.090 | 0.02 | 41.0 | 0.15 s CPU, 3× reading, 40 MB | **no** |",
            &["list over files: 40 MB"],
        );
    }

    #[test]
    fn a_command_that_fails_keeps_no_limit_and_a_peer_has_none() {
        let limits = CommandLimits {
            cpu: LIMITS.cpu,
            ..CommandLimits::default()
        };
        check(
            Err("failed | badly".to_owned()),
            limits,
            "| files | list | failed / badly | – | – | – | 0.15 s CPU | **no** |",
            &["list over files: 0.15 s CPU"],
        );
        check(
            Err("not installed".to_owned()),
            CommandLimits::default(),
            "| files | list | not installed | – | – | – | – | – |",
            &[],
        );
    }
}
