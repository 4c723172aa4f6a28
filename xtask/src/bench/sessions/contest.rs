//! Commands over the same files, in turns.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, ensure};

use super::super::control_off;
use super::super::measure::{ProcessCost, measure_with};
use super::table::{CommandLimits, SessionsRow};
use super::{CONTROL, FLOOR};

/// No contest has fewer rounds, unless it was asked for fewer.
const LEAST_ROUNDS: u32 = 3;

/// A contest ends before its last round if in so many rounds the least of no contestant fell by more than [`SETTLED`].
const QUIET_ROUNDS: u32 = 2;
const SETTLED: f64 = 0.01;

/// A program in the comparison.
#[derive(Debug, Clone, Default)]
pub(super) struct SessionsContestant {
    pub(super) what: String,
    pub(super) command: Vec<OsString>,
    pub(super) environment: Vec<(&'static str, OsString)>,
    pub(super) limits: CommandLimits,
    /// Removed before each run.
    pub(super) fresh: Option<PathBuf>,
    /// Measured in so many rounds at most: it takes long, or can be done once.
    pub(super) most_rounds: Option<u32>,
    /// Without the contestant before it, it would measure another case: the index is made there.
    pub(super) needs_previous: bool,
    /// The sessions that it must name, no more and no less.
    pub(super) expected: Option<BTreeSet<String>>,
}

/// The commands that read the same files, and the cost of each one so far.
pub(super) struct SessionsContest {
    over: String,
    entries: Vec<(SessionsContestant, Option<Result<ProcessCost, String>>)>,
    /// How many of them had their turns.
    measured: usize,
    /// A command, another command, and how many times as fast as that one it must be.
    comparisons: Vec<(&'static str, &'static str, f64)>,
}

impl SessionsContest {
    pub(super) fn new(over: String) -> Self {
        Self {
            over,
            entries: Vec::new(),
            measured: 0,
            comparisons: Vec::new(),
        }
    }

    pub(super) fn add_contestant(&mut self, contestant: SessionsContestant) {
        self.entries.push((contestant, None));
    }

    /// Adds a contestant that is not available.
    pub(super) fn add_absent(&mut self, what: &str, why: String) {
        let contestant = SessionsContestant {
            what: what.to_owned(),
            ..SessionsContestant::default()
        };
        self.entries.push((contestant, Some(Err(why))));
    }

    /// Measures the contestants that were added since the last time, in at most so many rounds: fewer once none of them gets cheaper.
    /// A contestant that fails once is out; the others go on.
    pub(super) fn hold_rounds(&mut self, rounds: u32) {
        let measured = std::mem::replace(&mut self.measured, self.entries.len());
        let mut quiet = 0;
        for round in 1..=rounds {
            eprintln!("bench: {}, round {round} of {rounds}", self.over);
            let is_quiet = self.take_turns(measured, round);
            quiet = if is_quiet { quiet + 1 } else { 0 };
            if round >= LEAST_ROUNDS && quiet >= QUIET_ROUNDS {
                break;
            }
        }
    }

    /// One round of the contestants from a place on. True if none of them got cheaper.
    fn take_turns(&mut self, from: usize, round: u32) -> bool {
        let mut is_quiet = true;
        let mut previous_failed = false;
        for (contestant, outcome) in &mut self.entries[from..] {
            if contestant.needs_previous && previous_failed {
                *outcome = Some(Err("failed: there is no index".to_owned()));
            }
            let before = outcome.clone();
            contestant.take_turn(round, outcome);
            is_quiet &= !is_cheaper(before.as_ref(), outcome.as_ref());
            previous_failed = matches!(outcome, Some(Err(_)));
        }
        is_quiet
    }

    /// Asks that one contestant is so many times as fast as another.
    pub(super) fn require_faster(&mut self, ours: &'static str, peer: &'static str, times: f64) {
        self.comparisons.push((ours, peer, times));
    }

    /// The comparisons that one of ours lost. A peer that is not there is no opponent.
    pub(super) fn missed_comparisons(&self) -> Vec<String> {
        let rows = self.table_rows();
        let cpu = |what: &str| {
            let row = rows.iter().find(|row| row.what == what)?;
            row_cpu_time(row).map(|it| it.as_secs_f64())
        };
        let mut missed = Vec::new();
        for (ours, peer, times) in &self.comparisons {
            let Some(factor) = cpu(peer).and_then(|peer| Some(peer / cpu(ours)?)) else {
                continue;
            };
            println!("{ours} is {factor:.1} times as fast as {peer}.");
            if factor < *times {
                missed.push(format!("{ours} over {}: {times}× {peer}", self.over));
            }
        }
        missed
    }

    /// Why the numbers cannot be trusted, if so: a contestant and the control after it are too far apart.
    pub(super) fn measurement_doubts(&self, noise: f64) -> Vec<String> {
        let cpus: Vec<_> = self.table_rows().iter().map(row_cpu_time).collect();
        let mut doubts = Vec::new();
        for (at, (contestant, _)) in self.entries.iter().enumerate() {
            if contestant.what != CONTROL || at == 0 {
                continue;
            }
            let (Some(ours), Some(control)) = (cpus[at - 1], cpus[at]) else {
                continue;
            };
            let off = control_off(ours.as_secs_f64(), control.as_secs_f64());
            let percent = off * 100.0;
            println!("A/A control over {}: {percent:.1} % off.", self.over);
            // A few milliseconds cannot be measured that well.
            if ours > Duration::from_millis(100) && off > noise {
                doubts.push(format!(
                    "over {} the A/A control is {percent:.1} % off",
                    self.over
                ));
            }
        }
        doubts
    }

    pub(super) fn table_rows(&self) -> Vec<SessionsRow> {
        let floor = self.entries.iter().find(|(entry, _)| entry.what == FLOOR);
        let reading = floor.and_then(|(_, outcome)| outcome.clone()?.ok());
        let row = |(entry, outcome): &(SessionsContestant, Option<Result<ProcessCost, String>>)| {
            SessionsRow {
                over: self.over.clone(),
                what: entry.what.clone(),
                outcome: outcome.clone().unwrap_or(Err("not measured".to_owned())),
                reading: reading.map(|cost| cost.cpu),
                limits: entry.limits,
            }
        };
        self.entries.iter().map(row).collect()
    }
}

/// True if the least cost fell, or is the first one.
fn is_cheaper(
    before: Option<&Result<ProcessCost, String>>,
    now: Option<&Result<ProcessCost, String>>,
) -> bool {
    let Some(Ok(now)) = now else { return false };
    let Some(Ok(before)) = before else {
        return true;
    };
    now.cpu.as_secs_f64() < before.cpu.as_secs_f64() * (1.0 - SETTLED)
}

fn row_cpu_time(row: &SessionsRow) -> Option<Duration> {
    row.outcome.as_ref().ok().map(|cost| cost.cpu)
}

impl SessionsContestant {
    fn take_turn(&self, round: u32, outcome: &mut Option<Result<ProcessCost, String>>) {
        let is_done = self.most_rounds.is_some_and(|most| round > most);
        if matches!(outcome, Some(Err(_))) || (is_done && outcome.is_some()) {
            return;
        }
        let cost = self.run(round).map_err(|error| short_reason(&error));
        *outcome = Some(match outcome.take() {
            Some(Ok(before)) => cost.map(|cost| before.minimum_with(cost)),
            _ => cost,
        });
    }

    fn run(&self, round: u32) -> Result<ProcessCost> {
        self.clear_fresh_folder()?;
        if round == 1 && self.expected.is_some() {
            self.check()?;
            self.clear_fresh_folder()?;
        }
        measure_with(&self.command, &self.environment)
    }

    fn clear_fresh_folder(&self) -> Result<()> {
        if let Some(folder) = &self.fresh {
            let _ = fs::remove_dir_all(folder); // the first time it is not there
            fs::create_dir_all(folder)?;
        }
        Ok(())
    }

    /// The sessions that it names.
    pub(super) fn named_sessions(&self) -> Result<BTreeSet<String>> {
        let (program, args) = self.command.split_first().context("no command")?;
        let output = Command::new(program)
            .args(args)
            .envs(self.environment.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::null())
            .output()?;
        let complaint = String::from_utf8_lossy(&output.stderr);
        ensure!(output.status.success(), "{}", complaint.trim_end());
        Ok(ids_in(&String::from_utf8_lossy(&output.stdout)))
    }

    /// Fails unless the command names exactly the expected sessions: a command that skips the work would be fast.
    fn check(&self) -> Result<()> {
        let Some(expected) = &self.expected else {
            return Ok(());
        };
        let named = self.named_sessions()?;
        let right = named.intersection(expected).count();
        ensure!(
            named == *expected,
            "names {} sessions, {right} of {} right",
            named.len(),
            expected.len()
        );
        Ok(())
    }
}

/// The ids of sessions in an output, JSON or text: every UUID between quotes or blanks, and every id of opencode's.
fn ids_in(output: &str) -> BTreeSet<String> {
    let words = output.split(['"', ' ', '\n']);
    let ids = words.filter(|word| is_uuid(word) || is_opencode_id(word));
    ids.map(str::to_owned).collect()
}

fn is_opencode_id(text: &str) -> bool {
    let number = text.strip_prefix("ses_");
    number.is_some_and(|it| it.len() == 22 && it.bytes().all(|byte| byte.is_ascii_hexdigit()))
}

fn is_uuid(text: &str) -> bool {
    let dashes = [8, 13, 18, 23];
    text.len() == 36
        && text.bytes().enumerate().all(|(at, byte)| {
            if dashes.contains(&at) {
                byte == b'-'
            } else {
                byte.is_ascii_hexdigit()
            }
        })
}

/// The line with the reason of a failure: the one with the error, or else the last.
fn short_reason(error: &anyhow::Error) -> String {
    let error = format!("{error:#}");
    let mut lines = error.lines().filter(|line| !line.trim().is_empty());
    let telling = lines.clone().find_map(|line| line.split("error: ").nth(1));
    let line = telling.or(lines.next_back()).unwrap_or("no reason given");
    format!("failed: {}", line.chars().take(120).collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(what: &str, command: &[&str]) -> SessionsContestant {
        SessionsContestant {
            what: what.to_owned(),
            command: command.iter().map(OsString::from).collect(),
            ..SessionsContestant::default()
        }
    }

    #[test]
    fn a_program_must_name_the_sessions_it_should_and_no_others() {
        let (one, two) = (
            "3ebcaa19-e717-4982-b68d-b3a7c0563555",
            "9adb5edc-1f6b-4692-aa4d-59721157387f",
        );
        let says = |text: &str| named("says", &["printf", "%s", text]);
        let check = |text: &str, expected: &[&str]| {
            let mut contestant = says(text);
            contestant.expected = Some(expected.iter().map(|&id| id.to_owned()).collect());
            contestant.check().map_err(|error| error.to_string())
        };
        let both = format!(r#"[{{"id":"{one}"}},{{"id":"{two}","x":"{two} "}}]"#);
        assert_eq!(check(&both, &[one, two]), Ok(()));
        let wrong =
            |named, right, of| Err(format!("names {named} sessions, {right} of {of} right"));
        assert_eq!(check(&both, &[one]), wrong(2, 1, 1));
        assert_eq!(check("[]", &[one]), wrong(0, 0, 1));
        let rows = format!("    1  now  6  {one}  title\n    2  now  6  {two}  title\n");
        assert_eq!(check(&rows, &[one, two]), Ok(()));
    }

    #[test]
    fn a_contestant_that_needs_an_index_is_out_when_none_was_made() {
        let mut contest = SessionsContest::new("files".to_owned());
        contest.add_absent("index", "failed".to_owned());
        contest.add_contestant(SessionsContestant {
            needs_previous: true,
            ..named("list", &["list"])
        });
        contest.hold_rounds(1);
        let failed = Err("failed: there is no index".to_owned());
        assert_eq!(contest.table_rows()[1].outcome, failed);
    }

    #[test]
    fn a_contestant_is_cheaper_only_if_its_least_fell_by_more_than_one_percent() {
        let cost = |ms| {
            Ok(ProcessCost {
                cpu: Duration::from_millis(ms),
                ..ProcessCost::default()
            })
        };
        let check = |before: Option<u64>, now: u64, expected: bool| {
            let before = before.map(cost);
            assert_eq!(is_cheaper(before.as_ref(), Some(&cost(now))), expected);
        };
        check(None, 1000, true);
        check(Some(1000), 995, false);
        check(Some(1000), 980, true);
        assert!(!is_cheaper(None, Some(&Err("failed".to_owned()))));
    }

    #[test]
    fn a_contest_ends_once_nothing_gets_cheaper() {
        let folder = tempfile::tempdir().unwrap();
        let mut contest = SessionsContest::new("files".to_owned());
        // It fails each time, which never makes it cheaper, and leaves no more to be measured.
        contest.add_contestant(named("none", &["/nonexistent/program"]));
        contest.add_contestant(SessionsContestant {
            fresh: Some(folder.path().join("fresh")),
            ..named("none either", &["/nonexistent/program"])
        });
        contest.hold_rounds(1000);
        assert!(contest.table_rows().iter().all(|row| row.outcome.is_err()));
    }

    #[test]
    fn contestants_are_compared_with_reading_and_absent_ones_are_in_the_table() {
        let mut contest = SessionsContest::new("files".to_owned());
        contest.add_contestant(named("list", &["list"]));
        contest.add_contestant(named(FLOOR, &["floor"]));
        contest.add_absent("peer", "not installed".to_owned());
        for ((_, outcome), ms) in contest.entries.iter_mut().zip([30, 10]) {
            *outcome = Some(Ok(ProcessCost {
                cpu: Duration::from_millis(ms),
                ..ProcessCost::default()
            }));
        }
        let rows = contest.table_rows();
        assert_eq!(rows[0].reading, Some(Duration::from_millis(10)));
        assert_eq!(rows[2].outcome, Err("not installed".to_owned()));
    }
}
