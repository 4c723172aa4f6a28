//! The report of the counters, crate by crate.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use llvm_profparser::{CoverageMapping, CoverageResult, merge_profiles};

use super::counter_files;
use super::lines::{CodeRegion, line_counts, tests_begin};

/// So much of each crate has to be reached, in percent.
const LEAST: f64 = 90.0;

/// The lines of a crate.
#[derive(Debug, Default)]
struct CrateTally {
    lines: usize,
    reached: usize,
}

impl CrateTally {
    fn reached_percent(&self) -> f64 {
        #[expect(clippy::cast_precision_loss, reason = "no crate has 2^52 lines")]
        let share = self.reached as f64 / self.lines.max(1) as f64;
        100.0 * share
    }
}

pub(super) fn print_coverage(root: &Path, folder: &Path, missing: &[String]) -> Result<()> {
    let programs = fs::read_to_string(folder.join("programs"));
    let programs = programs.context("there is nothing to report: run `cargo xtask coverage`")?;
    let programs: Vec<_> = programs.lines().map(PathBuf::from).collect();
    let profile = merge_profiles(&counter_files(folder)?)?;
    let mapping = CoverageMapping::new(&programs, &profile, true)?;
    let crates = root.join("crates");
    // Paths are as the compiler was given them: from the root.
    let is_ours = |path: &PathBuf| crate_of(&crates, &root.join(path)).is_some();
    let report = mapping.generate_subreport(|paths| paths.iter().any(is_ours))?;
    let mut tallies = BTreeMap::new();
    for (path, result) in &report.files {
        let path = root.join(path);
        let Some(name) = crate_of(&crates, &path) else {
            continue;
        };
        let is_shown = missing.contains(&name);
        let tally: &mut CrateTally = tallies.entry(name).or_default();
        let lines = lines_of(&path, result)?;
        let unreached: Vec<_> = lines.iter().filter(|(_, count)| **count == 0).collect();
        tally.lines += lines.len();
        tally.reached += lines.len() - unreached.len();
        if is_shown && !unreached.is_empty() {
            let lines: Vec<_> = unreached.iter().map(|(line, _)| **line).collect();
            let path = path.strip_prefix(root).unwrap_or(&path);
            println!("{}: {}", path.display(), line_ranges(&lines));
        }
    }
    print_table(&tallies)
}

fn print_table(tallies: &BTreeMap<String, CrateTally>) -> Result<()> {
    ensure!(!tallies.is_empty(), "no counters were found");
    println!("| crate | lines | reached | |\n|---|--:|--:|--:|");
    let mut all = CrateTally::default();
    for (name, tally) in tallies {
        all.lines += tally.lines;
        all.reached += tally.reached;
        print_row(&format!("`{name}`"), tally);
    }
    print_row("all", &all);
    let low = tallies
        .iter()
        .filter(|(_, tally)| tally.reached_percent() < LEAST);
    let low: Vec<_> = low.map(|(name, _)| name.as_str()).collect();
    let low = low.join(", ");
    ensure!(low.is_empty(), "below {LEAST} %: {low}");
    Ok(())
}

fn print_row(name: &str, tally: &CrateTally) {
    let (lines, reached) = (tally.lines, tally.reached);
    println!(
        "| {name} | {lines} | {reached} | {:.1} % |",
        tally.reached_percent()
    );
}

/// The crate whose source a file is, without its tests.
fn crate_of(crates: &Path, path: &Path) -> Option<String> {
    let inside = path.strip_prefix(crates).ok()?;
    let mut parts = inside.iter().map(|part| part.to_string_lossy());
    let name = parts.next()?.into_owned();
    let is_source = parts.next()? == "src";
    let is_test = parts.any(|part| part == "tests" || part == "tests.rs");
    (is_source && !is_test).then_some(name)
}

fn lines_of(path: &Path, result: &CoverageResult) -> Result<BTreeMap<usize, usize>> {
    let source = fs::read_to_string(path).with_context(|| format!("{}", path.display()))?;
    let end = tests_begin(&source);
    let regions = result.hits.iter().map(|(place, count)| CodeRegion {
        start: (place.line_start, place.column_start),
        end: (place.line_end, place.column_end),
        count: *count,
    });
    let mut lines = line_counts(&regions.collect::<Vec<_>>());
    lines.retain(|line, _| *line < end);
    Ok(lines)
}

/// `3-5, 9`.
fn line_ranges(lines: &[usize]) -> String {
    let mut ranges: Vec<(usize, usize)> = Vec::new();
    for line in lines {
        match ranges.last_mut() {
            Some((_, last)) if *last + 1 == *line => *last = *line,
            _ => ranges.push((*line, *line)),
        }
    }
    let words = ranges.iter().map(|(first, last)| {
        if first == last {
            first.to_string()
        } else {
            format!("{first}-{last}")
        }
    });
    words.collect::<Vec<_>>().join(", ")
}
