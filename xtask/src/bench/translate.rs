//! How fast, how large and how prompt `lapidary translate` is.
//!
//! Beside the control there is a floor: numbers are void if a program beats the bare line split, which does strictly less.

use std::ffi::OsString;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};

use super::corpus::{self, StreamShape};
use super::latency;
use super::measure::{least_of_each, measure_command};
use super::table::{TranslateRow, TranslateTable};
use super::{NOISE, control_off, count_lines, print_doubts};

const MB: u64 = 1_000_000;
const LARGE: u64 = 1_000 * MB;
const LONG_LINE: u64 = 60 * MB;

const OURS: &str = "`lapidary translate --format events`";
const CONTROL: &str = "the same again (A/A control)";
const NODE: &str = "Node: `JSON.parse` per line, its start deducted";
const FLOOR: &str = "line split only (floor)";

/// The measured inputs and programs.
pub(super) struct TranslateBench {
    pub(super) folder: PathBuf,
    pub(super) node_script: PathBuf,
    pub(super) lapidary: PathBuf,
    pub(super) runs: u32,
}

impl TranslateBench {
    /// Measures, prints, and returns why the numbers cannot be trusted, if so.
    pub(super) fn report_translation(&self, size: u64, large: bool) -> Result<Vec<String>> {
        let mut rows = Vec::new();
        let mut doubts = Vec::new();
        for (name, shape, size) in [
            ("mixed", StreamShape::Mixed, size * MB),
            ("deltas", StreamShape::Deltas, size * MB / 4),
        ] {
            let file = self.write_corpus(name, shape, size)?;
            self.check_works(&file)?;
            let compared = self.compare_readers(name, &file)?;
            let off = control_off(
                cpu_seconds(&compared, OURS),
                cpu_seconds(&compared, CONTROL),
            );
            println!("A/A control on {name}: {:.1} % off.", off * 100.0);
            doubts.extend(doubts_about(name, &compared));
            rows.extend(compared);
            if shape == StreamShape::Deltas {
                rows.extend(measure_jq(name, &file, &rows)?);
            }
        }
        println!("\n{}", TranslateTable(&rows));
        print_doubts(&doubts);
        println!("{}", TranslateTable(&self.measure_memory(large)?));
        self.report_latency()?;
        Ok(doubts)
    }

    fn write_corpus(&self, name: &str, shape: StreamShape, size: u64) -> Result<PathBuf> {
        let path = self.folder.join(format!("{name}.jsonl"));
        eprintln!("bench: writing {name} ({} MB)", size / MB);
        corpus::write_stream(&path, shape, size)
            .with_context(|| format!("cannot write {}", path.display()))?;
        Ok(path)
    }

    fn translate_command(&self, format: &str, file: Option<&Path>) -> Vec<OsString> {
        let mut command: Vec<OsString> = vec![self.lapidary.clone().into()];
        command.extend(["translate", "--format", format].map(OsString::from));
        command.extend(file.map(OsString::from));
        command
    }

    /// A program that skips its work is fast: every line of the corpus must yield at least one event.
    fn check_works(&self, file: &Path) -> Result<()> {
        let command = self.translate_command("events", Some(file));
        let mut child = Command::new(&command[0])
            .args(&command[1..])
            .stdout(Stdio::piped())
            .spawn()
            .with_context(|| format!("cannot start {}", self.lapidary.display()))?;
        let output = child.stdout.take().context("stdout is piped")?;
        let (events, lines) = (count_lines(output)?, count_lines(File::open(file)?)?);
        let status = child.wait()?;
        ensure!(status.success(), "{OURS} failed ({status})");
        ensure!(
            events >= lines,
            "{OURS} made {events} events of {lines} lines"
        );
        Ok(())
    }

    /// Measures everything that reads one corpus, in turns.
    fn compare_readers(&self, corpus: &'static str, file: &Path) -> Result<Vec<TranslateRow>> {
        let ours = self.translate_command("events", Some(file));
        let node = |file: &Path| vec!["node".into(), (&self.node_script).into(), file.into()];
        let floor: [OsString; 3] = [std::env::current_exe()?.into(), "split".into(), file.into()];
        let commands = [
            ours.clone(),
            ours,
            node(file),
            floor.to_vec(),
            node(Path::new("/dev/null")),
        ];
        eprintln!("bench: {corpus}");
        let bytes = fs::metadata(file)?.len();
        let [ours, control, mut node, floor, start] = least_of_each(self.runs, &commands, &[])?;
        node.cpu = node.cpu.saturating_sub(start.cpu);
        let costs = [
            (OURS, ours),
            (CONTROL, control),
            (NODE, node),
            (FLOOR, floor),
        ];
        let rows = costs.map(|(what, cost)| TranslateRow {
            corpus,
            what: what.to_owned(),
            bytes,
            cost,
            node: Some(node.cpu),
        });
        Ok(rows.to_vec())
    }

    /// Peak memory on one very long line, and on a very long stream if asked for.
    fn measure_memory(&self, large: bool) -> Result<Vec<TranslateRow>> {
        let mut cases = vec![("one line of 60 MB", StreamShape::OneLine, LONG_LINE)];
        cases.extend(large.then_some(("deltas, 1 GB", StreamShape::Deltas, LARGE)));
        let mut rows = Vec::new();
        for (corpus, shape, size) in cases {
            let file = self.write_corpus("memory", shape, size)?;
            let measured = self.measure_formats(corpus, &file);
            fs::remove_file(&file)?;
            rows.extend(measured?);
        }
        Ok(rows)
    }

    fn measure_formats(&self, corpus: &'static str, file: &Path) -> Result<Vec<TranslateRow>> {
        let bytes = fs::metadata(file)?.len();
        let mut rows = Vec::new();
        for format in ["events", "runtime", "raw"] {
            eprintln!("bench: {corpus}, {format}");
            rows.push(TranslateRow {
                corpus,
                what: format!("`--format {format}`"),
                bytes,
                cost: measure_command(&self.translate_command(format, Some(file)))?,
                node: None,
            });
        }
        Ok(rows)
    }

    fn report_latency(&self) -> Result<()> {
        let latency =
            latency::measure_latency(&self.translate_command("events", None)).context("latency")?;
        let ms = |time: std::time::Duration| time.as_secs_f64() * 1e3;
        println!("| latency over a pipe, median | ms |\n|---|---:|");
        println!(
            "| from starting the process to its first event | {:.2} |",
            ms(latency.first)
        );
        println!(
            "| from writing a delta to its event | {:.3} |",
            ms(latency.delta)
        );
        Ok(())
    }
}

/// `jq` where it is installed: once is enough, as it is slower by an order of magnitude.
fn measure_jq(
    corpus: &'static str,
    file: &Path,
    rows: &[TranslateRow],
) -> Result<Option<TranslateRow>> {
    let installed = Command::new("jq").arg("--version").output();
    let Ok(version) = installed else {
        return Ok(None);
    };
    eprintln!("bench: {corpus}, jq once");
    let version = String::from_utf8_lossy(&version.stdout).trim().to_owned();
    Ok(Some(TranslateRow {
        corpus,
        what: format!("`jq -c .` ({version}, one run)"),
        bytes: fs::metadata(file)?.len(),
        cost: measure_command(&["jq".into(), "-c".into(), ".".into(), file.into()])?,
        node: rows.last().and_then(|row| row.node),
    }))
}

/// CPU seconds of one command of a comparison.
fn cpu_seconds(rows: &[TranslateRow], what: &str) -> f64 {
    let row = rows.iter().find(|row| row.what == what);
    row.map_or(0.0, |row| row.cost.cpu.as_secs_f64())
}

/// Why a comparison cannot be trusted.
fn doubts_about(corpus: &str, rows: &[TranslateRow]) -> Vec<String> {
    let mut doubts = Vec::new();
    let off = control_off(cpu_seconds(rows, OURS), cpu_seconds(rows, CONTROL));
    if off.is_nan() || off > NOISE {
        let percent = off * 100.0;
        doubts.push(format!("on {corpus} the A/A control is {percent:.1} % off"));
    }
    let floor = cpu_seconds(rows, FLOOR);
    for row in rows {
        if row.cost.cpu.as_secs_f64() < floor {
            doubts.push(format!(
                "on {corpus} {} beats the bare line split",
                row.what
            ));
        }
    }
    doubts
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::super::measure::ProcessCost;
    use super::*;

    fn check(ours: u64, control: u64, floor: u64, expected: &[&str]) {
        let row = |(what, ms): (&str, u64)| TranslateRow {
            corpus: "mixed",
            what: what.to_owned(),
            bytes: MB,
            cost: ProcessCost {
                cpu: Duration::from_millis(ms),
                ..ProcessCost::default()
            },
            node: None,
        };
        let rows = [(OURS, ours), (CONTROL, control), (FLOOR, floor)].map(row);
        assert_eq!(doubts_about("mixed", &rows), expected);
    }

    #[test]
    fn a_run_is_void_when_the_control_is_off_or_the_floor_is_beaten() {
        check(1_000, 1_049, 10, &[]);
        check(1_049, 1_000, 10, &[]);
        check(1_000, 1_060, 10, &["on mixed the A/A control is 6.0 % off"]);
        check(1_060, 1_000, 10, &["on mixed the A/A control is 6.0 % off"]);
        check(0, 0, 0, &["on mixed the A/A control is NaN % off"]);
        check(
            100,
            100,
            101,
            &[
                "on mixed `lapidary translate --format events` beats the bare line split",
                "on mixed the same again (A/A control) beats the bare line split",
            ],
        );
    }
}
