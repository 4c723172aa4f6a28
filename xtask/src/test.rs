//! Every test there is, those with real peers included.

use std::io::{BufRead, BufReader};
use std::process::Stdio;
use std::time::Instant;

use anyhow::{Context, Result, ensure};

use crate::peers;
use crate::workspace::Workspace;

/// Installs the peers, runs all tests and says what came of them. A start of a peer costs seconds, so cases share them unless
/// everything is to be `full`.
pub(crate) fn test(workspace: &Workspace, full: bool) -> Result<()> {
    let started = Instant::now();
    let peers = peers::install(workspace)?;
    let mut cargo = workspace
        .cargo("test")
        .args(["--workspace", "--features", "peers", "--no-fail-fast"])
        .env("LAPIDARY_PEERS", peers)
        .envs(full.then_some(("LAPIDARY_FULL", "1")))
        .stdout(Stdio::piped())
        .spawn()
        .context("cannot start cargo")?;
    let mut tally = Tally::default();
    let output = cargo.stdout.take().context("stdout is piped")?;
    for line in BufReader::new(output).lines() {
        let line = line?;
        tally.count(&line);
        println!("{line}");
    }
    let status = cargo.wait()?;
    println!("{tally} in {:.0?}", started.elapsed());
    for name in &tally.left_out {
        println!("  left out: {name}");
    }
    ensure!(status.success(), "tests failed ({status})");
    ensure!(tally.passed > 0, "no test was run");
    Ok(())
}

/// What the lines of `cargo test` add up to.
#[derive(Debug, Default, PartialEq)]
struct Tally {
    passed: u64,
    failed: u64,
    left_out: Vec<String>,
}

impl Tally {
    fn count(&mut self, line: &str) {
        if let Some(counts) = line.strip_prefix("test result: ") {
            let number = |word: &str| {
                let before = counts.split(word).next()?;
                before.split(' ').next_back()?.parse::<u64>().ok()
            };
            self.passed += number(" passed").unwrap_or_default();
            self.failed += number(" failed").unwrap_or_default();
        } else if let Some(test) = line.strip_prefix("test ")
            && let Some((name, why)) = test.split_once(" ... ignored")
        {
            self.left_out.push(format!("{name}{why}"));
        }
    }
}

impl std::fmt::Display for Tally {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let left_out = self.left_out.len();
        let Self { passed, failed, .. } = self;
        write!(
            f,
            "tests: {passed} passed, {failed} failed, {left_out} left out"
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tally_adds_up_what_cargo_says() {
        let mut tally = Tally::default();
        for line in [
            "running 3 tests",
            "test a::b ... ok",
            "test a::c ... ignored, needs patience",
            "test result: ok. 12 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.29s",
            "test result: FAILED. 1 passed; 2 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.1s",
        ] {
            tally.count(line);
        }
        assert_eq!(tally.to_string(), "tests: 13 passed, 2 failed, 1 left out");
        assert_eq!(tally.left_out, ["a::c, needs patience"]);
    }
}
