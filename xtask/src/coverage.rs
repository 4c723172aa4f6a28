//! Which lines the tests reach.
//!
//! The crates of this workspace are compiled with `-C instrument-coverage`, their tests run, and every process that they start
//! writes its counters to `target/coverage/`, also one that was started with an empty environment: the file's name is linked
//! into each program. Counters are merged by the programs themselves (`%4m`: four files for each program), since tests start
//! thousands of processes. A process that is killed counts for nothing.
//!
//! Neither `llvm-profdata` nor `llvm-cov` is needed: `report` reads the files. It is behind the feature `coverage`, so that no
//! other task waits for its dependencies.

#[cfg(feature = "coverage")]
mod lines;
#[cfg(feature = "coverage")]
mod report;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};

use crate::peers;
use crate::workspace::{Workspace, run};

/// Tests that cannot pass with counters: a confined agent may not write its counters' file, which the run reports as a warning.
const NOT_INSTRUMENTED: [&str; 1] = ["replay::a_run_of_a_replayed_agent_is_the_same_run"];

/// The task's options.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Run only the tests of this crate (`wire`, `gemini`, …); may be repeated. What other crates' tests reach of it is left
    /// out
    #[arg(long = "only", value_name = "CRATE")]
    only: Vec<String>,
    /// Leave out the tests with real peers. What only they reach counts as missing
    #[arg(long)]
    plain: bool,
    /// Add to the counts of the last run
    #[arg(long)]
    add: bool,
    /// Print the lines of this crate that no test reaches
    #[arg(long, value_name = "CRATE")]
    missing: Vec<String>,
    /// Run no tests: report the counts of the last run
    #[arg(long)]
    report: bool,
    /// Run only the tests whose names have one of these words
    #[arg(last = true, value_name = "WORD")]
    words: Vec<String>,
}

/// Runs the tests, and reports which lines they reach.
pub(crate) fn run_coverage(workspace: &Workspace, args: &Args) -> Result<()> {
    let folder = workspace.target.join("coverage");
    let mut is_green = true;
    if !args.report {
        prepare_folder(&folder, args)?;
        let peers = (!args.plain).then(|| peers::install_peers(workspace));
        let peers = peers.transpose()?;
        let tests = || cargo_test(workspace, &folder, args, peers.as_deref());
        let programs = fs::read_to_string(folder.join("programs")).unwrap_or_default();
        let programs = programs
            .lines()
            .map(str::to_owned)
            .chain(build_tests(tests())?);
        let programs: BTreeSet<_> = programs.collect();
        let programs: Vec<_> = programs.into_iter().collect();
        fs::write(folder.join("programs"), programs.join("\n"))?;
        let skipped = NOT_INSTRUMENTED.iter().flat_map(|name| ["--skip", name]);
        let mut tests = tests();
        tests.arg("--").args(&args.words).args(skipped);
        // Tests of the clients have this program pack them.
        tests.env("LAPIDARY_XTASK", std::env::current_exe()?);
        // Servers of tests end by themselves, which writes their counters.
        tests.env("LAPIDARY_COVERAGE", "1");
        is_green = tests.status()?.success();
    }
    let mut command = workspace.cargo_command("run");
    command.args(["--quiet", "--package", "xtask", "--features", "coverage"]);
    command.args(["--", "coverage-report"]).arg(&folder);
    command.args(args.missing.iter().map(|name| format!("--missing={name}")));
    run(&mut command)?;
    ensure!(
        is_green,
        "tests failed: the figures are those of the others"
    );
    Ok(())
}

/// Prints the report of a folder.
#[cfg(feature = "coverage")]
pub(crate) fn print_report(workspace: &Workspace, folder: &Path, missing: &[String]) -> Result<()> {
    report::print_coverage(&workspace.root, folder, missing)
}

#[cfg(not(feature = "coverage"))]
pub(crate) fn print_report(_: &Workspace, _: &Path, _: &[String]) -> Result<()> {
    anyhow::bail!("`cargo xtask coverage` builds what reports")
}

/// An empty folder with the name of the counters' files as an object to be linked, and a compiler that does so.
fn prepare_folder(folder: &Path, args: &Args) -> Result<()> {
    if folder.exists() && !args.add {
        fs::remove_dir_all(folder)?;
    }
    fs::create_dir_all(folder)?;
    let files = folder.join("%4m.profraw");
    let files = files.to_str().context("the path of the target is text")?;
    let source = folder.join("name.c");
    fs::write(
        &source,
        format!("const char coverage_file[] = {files:?};\n"),
    )?;
    let object = folder.join("name.o");
    run(Command::new("cc")
        .arg("-c")
        .arg(&source)
        .arg("-o")
        .arg(&object))?;
    let object = object.display();
    let compiler = folder.join("rustc");
    let defined = "-Wl,--defsym=__llvm_profile_filename=coverage_file";
    fs::write(
        &compiler,
        format!(
            "#!/bin/sh\nexec \"$@\" -C instrument-coverage -C 'link-arg={object}' -C 'link-arg={defined}'\n"
        ),
    )?;
    fs::set_permissions(&compiler, fs::Permissions::from_mode(0o755))?;
    Ok(())
}

/// The tests of some crates, or of all that the figures are about. Examples in documentation are left out: `rustdoc` compiles
/// them apart.
fn cargo_test(workspace: &Workspace, folder: &Path, args: &Args, peers: Option<&Path>) -> Command {
    let mut command = workspace.cargo_test();
    command.args(["--lib", "--bins", "--tests", "--no-fail-fast"]);
    if args.only.is_empty() {
        command.args(["--workspace", "--exclude", "xtask"]);
    }
    if let Some(peers) = peers {
        command.env("LAPIDARY_PEERS", peers);
        command.args(["--features", "peers"]);
    }
    for name in &args.only {
        let package = match name.as_str() {
            "lapidary" => name.clone(),
            name => format!("lapidary-{name}"),
        };
        command.args(["--package", &package]);
    }
    // Only for crates of the workspace: their dependencies stay as they are.
    command.env("RUSTC_WORKSPACE_WRAPPER", folder.join("rustc"));
    command
}

/// Builds the tests. Returns the programs that hold the map of their counters.
fn build_tests(mut command: Command) -> Result<Vec<String>> {
    command.args(["--no-run", "--message-format=json-render-diagnostics"]);
    let output = command.stderr(Stdio::inherit()).output()?;
    ensure!(output.status.success(), "the tests cannot be built");
    let messages = String::from_utf8(output.stdout)?;
    let programs = messages.lines().filter_map(|line| {
        let message: serde_json::Value = serde_json::from_str(line).ok()?;
        Some(message.get("executable")?.as_str()?.to_owned())
    });
    Ok(programs.collect())
}

/// The counters' files in a folder. A process that reached a limit on file sizes leaves a file that is shorter than the other
/// files of its program: such a file is skipped.
#[cfg_attr(
    not(feature = "coverage"),
    expect(dead_code, reason = "only the report reads them")
)]
fn counter_files(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut programs: BTreeMap<String, Vec<(u64, PathBuf)>> = BTreeMap::new();
    for entry in fs::read_dir(folder)? {
        let (path, length) = entry.and_then(|entry| Ok((entry.path(), entry.metadata()?.len())))?;
        let name = path.file_name().and_then(|name| name.to_str());
        if let Some((program, _)) =
            name.and_then(|name| name.strip_suffix(".profraw")?.split_once('_'))
        {
            programs
                .entry(program.to_owned())
                .or_default()
                .push((length, path));
        }
    }
    let complete = programs.into_values().flat_map(|files| {
        let longest = files.iter().map(|(length, _)| *length).max();
        files
            .into_iter()
            .filter(move |(length, _)| Some(*length) == longest)
    });
    Ok(complete.map(|(_, path)| path).collect())
}
