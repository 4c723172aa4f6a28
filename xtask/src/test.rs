//! The tests: all of them, those with real peers included, or one part.

use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::str::FromStr;
use std::time::Instant;

use anyhow::{Context, Result, ensure};

use crate::peers;
use crate::workspace::{Workspace, run};

/// Tests at a time for each core: many of them wait for a process or a deadline most of the time.
const THREADS_PER_CORE: usize = 2;

#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Args {
    /// Run what takes long as well, and give each case that is compared with a real peer a start of its own
    #[arg(long)]
    full: bool,
    /// Test the release build
    #[arg(long)]
    release: bool,
    /// Test one part: a crate, such as `gemini`, or a module of its tests, such as `cli::talk::floods`
    #[arg(long, value_name = "PART")]
    only: Option<TestPart>,
}

/// A crate of this workspace, and a text in the names of its tests.
#[derive(Debug, Clone, PartialEq)]
struct TestPart {
    name: String,
    filter: Option<String>,
}

impl FromStr for TestPart {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (name, filter) = match text.split_once("::") {
            Some((name, filter)) => (name, Some(filter.to_owned())),
            None => (text, None),
        };
        let is_name = |letter: char| letter.is_ascii_alphanumeric() || letter == '-';
        if name.is_empty() || !name.chars().all(is_name) {
            return Err("a part begins with the name of a crate, such as `gemini`".to_owned());
        }
        let name = name.strip_prefix("lapidary-").unwrap_or(name).to_owned();
        Ok(Self { name, filter })
    }
}

impl TestPart {
    fn package_name(&self) -> String {
        match self.name.as_str() {
            "lapidary" | "xtask" => self.name.clone(),
            name => format!("lapidary-{name}"),
        }
    }

    /// Reads the crate's manifest.
    fn read_manifest(&self, workspace: &Workspace) -> Result<String> {
        let folder = match self.name.as_str() {
            "xtask" => workspace.root.join("xtask"),
            name => workspace.root.join("crates").join(name),
        };
        std::fs::read_to_string(folder.join("Cargo.toml"))
            .with_context(|| format!("there is no crate `{}`", self.name))
    }
}

/// Builds the tests while the peers are installed, runs them, and prints the results and the skipped tests.
pub(crate) fn run_tests(workspace: &Workspace, args: &Args) -> Result<()> {
    let started = Instant::now();
    let selection = TestSelection::new(workspace, args)?;
    let folders = selection.prepare_tests(workspace)?;
    let mut cargo = test_command(workspace, args, &selection);
    cargo.envs(folders.peers.map(|folder| ("LAPIDARY_PEERS", folder)));
    cargo.envs(folders.oracle.map(|folder| ("LAPIDARY_ORACLE", folder)));
    // Tests of the clients have this program pack them.
    cargo.env("LAPIDARY_XTASK", std::env::current_exe()?);
    let mut cargo = cargo
        .stdout(Stdio::piped())
        .spawn()
        .context("cannot start cargo")?;
    let mut tally = TestTally::default();
    let output = cargo.stdout.take().context("stdout is piped")?;
    for line in BufReader::new(output).lines() {
        let line = line?;
        tally.count_line(&line);
        println!("{line}");
    }
    let status = cargo.wait()?;
    println!("{tally} in {:.0?}", started.elapsed());
    for name in &tally.left_out {
        println!("  left out: {name}");
    }
    if let Some(part) = &args.only {
        println!("  left out: all but `{}`", part.name);
    }
    ensure!(status.success(), "tests failed ({status})");
    ensure!(tally.passed > 0, "no test was run");
    Ok(())
}

/// The packages and features that are tested.
struct TestSelection {
    package: Option<String>,
    features: Vec<&'static str>,
    is_release: bool,
}

impl TestSelection {
    fn new(workspace: &Workspace, args: &Args) -> Result<Self> {
        let mut features = vec!["peers"];
        features.extend(args.full.then_some("full"));
        if let Some(part) = &args.only {
            let manifest = part.read_manifest(workspace)?;
            features.retain(|feature| manifest.contains(&format!("\n{feature} = [")));
        }
        let package = args.only.as_ref().map(TestPart::package_name);
        Ok(Self {
            package,
            features,
            is_release: args.release,
        })
    }

    /// A call of `cargo test` for these packages and features.
    fn cargo_command(&self, workspace: &Workspace) -> Command {
        let mut cargo = workspace.cargo_test();
        cargo.args(self.is_release.then_some("--release"));
        match &self.package {
            Some(package) => cargo.args(["--package", package]),
            None => cargo.arg("--workspace"),
        };
        if !self.features.is_empty() {
            cargo.args(["--features", &self.features.join(",")]);
        }
        cargo
    }

    /// Installs the peers where tests need them, and builds the tests meanwhile: npm waits for the network, cargo for the processor.
    fn prepare_tests(&self, workspace: &Workspace) -> Result<PeerFolders> {
        if self.features.is_empty() {
            return Ok(PeerFolders::default());
        }
        std::thread::scope(|scope| {
            let folders = scope.spawn(|| PeerFolders::install_peers(workspace, &self.features));
            run(self.cargo_command(workspace).arg("--no-run"))?;
            folders.join().expect("the installation does not panic")
        })
    }
}

/// Where the peers are that the selected tests need.
#[derive(Default)]
struct PeerFolders {
    peers: Option<PathBuf>,
    oracle: Option<PathBuf>,
}

impl PeerFolders {
    fn install_peers(workspace: &Workspace, features: &[&str]) -> Result<Self> {
        let mut oracle = None;
        if features.contains(&"full") {
            peers::install_codex(workspace)?;
            peers::install_a2a_python(workspace)?;
            peers::install_mcp_python(workspace)?;
            peers::install_json_schema(workspace)?;
            oracle = Some(peers::install_oracle(workspace)?);
        }
        peers::install_a2a(workspace)?;
        peers::install_mcp(workspace)?;
        peers::install_usage(workspace)?;
        peers::install_browser(workspace)?;
        peers::install_postgres(workspace)?;
        peers::install_openapi(workspace)?;
        peers::install_openapi_python(workspace)?;
        peers::install_clients(workspace)?;
        peers::install_clients_python(workspace)?;
        peers::install_old_node(workspace)?;
        let peers = Some(peers::install_peers(workspace)?);
        Ok(Self { peers, oracle })
    }
}

/// The call of `cargo test` that runs them. A start of a peer costs seconds, so cases share them unless everything is to be `full`.
fn test_command(workspace: &Workspace, args: &Args, selection: &TestSelection) -> Command {
    let mut cargo = selection.cargo_command(workspace);
    cargo.arg("--no-fail-fast");
    cargo.envs(args.full.then_some(("LAPIDARY_FULL", "1")));
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let threads = (cores * THREADS_PER_CORE).to_string();
    cargo.args(["--", "--test-threads", &threads]);
    cargo.args(args.only.iter().filter_map(|part| part.filter.as_ref()));
    cargo
}

/// The sums of the lines of `cargo test`.
#[derive(Debug, Default, PartialEq)]
struct TestTally {
    passed: u64,
    failed: u64,
    left_out: Vec<String>,
}

impl TestTally {
    fn count_line(&mut self, line: &str) {
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

impl std::fmt::Display for TestTally {
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
    fn a_part_is_a_crate_or_a_module_of_its_tests() {
        let parts = ["cli", "lapidary-gemini", "cli::talk::floods", "lapidary"];
        let parts = parts.map(|text| text.parse::<TestPart>().unwrap());
        let of = |part: &TestPart| (part.package_name(), part.filter.clone().unwrap_or_default());
        let named = |package: &str, filter: &str| (package.to_owned(), filter.to_owned());
        assert_eq!(
            parts.each_ref().map(of),
            [
                named("lapidary-cli", ""),
                named("lapidary-gemini", ""),
                named("lapidary-cli", "talk::floods"),
                named("lapidary", ""),
            ]
        );
        for wrong in ["", "::talk", "../cli"] {
            assert!(wrong.parse::<TestPart>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn the_tally_adds_up_what_cargo_says() {
        let mut tally = TestTally::default();
        for line in [
            "running 3 tests",
            "test a::b ... ok",
            "test a::c ... ignored, needs patience",
            "test result: ok. 12 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.29s",
            "test result: FAILED. 1 passed; 2 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.1s",
        ] {
            tally.count_line(line);
        }
        assert_eq!(tally.to_string(), "tests: 13 passed, 2 failed, 1 left out");
        assert_eq!(tally.left_out, ["a::c, needs patience"]);
    }
}
