//! The cost of reading settings and skills, beside the CLI's own list of the same skills.
//!
//! These take milliseconds, so they are measured inside one process: by an example of the crate that does it (`load_cost`).

mod world;

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, ensure};

use super::measure::measure_with;
use super::{NOISE, control_off, hooks::HookBenchVerdict};
use crate::peers;
use crate::workspace::{Workspace, run as run_shown};

/// How many skills there are.
const SKILLS: u32 = 1_000;

/// Builds what reads them. To be called where building does not disturb.
pub(super) fn build(workspace: &Workspace) -> Result<()> {
    let mut build = workspace.cargo("build");
    build.args(["--release", "--package", "lapidary-gemini"]);
    build.args(["--example", "load_cost"]);
    run_shown(&mut build)
}

/// Measures and prints.
pub(super) fn report(
    workspace: &Workspace,
    folder: &Path,
    lapidary: &Path,
    rounds: u32,
) -> Result<HookBenchVerdict> {
    let folder = folder.join("loading");
    let _ = fs::remove_dir_all(&folder); // of an earlier bench
    let (home, project) = world::make(&folder, SKILLS)?;
    let mut command = Command::new(workspace.target.join("release/examples/load_cost"));
    command.args([&home, &project]);
    let numbers = numbers(command.arg((rounds * 4).to_string()))?;
    let [files, settings, again, skills, load, load_again] = numbers[..] else {
        anyhow::bail!("`load_cost` printed {numbers:?}");
    };
    ensure!(
        (skills - f64::from(SKILLS)).abs() < 0.5,
        "{skills} skills were read"
    );
    println!("## Settings and skills\n\n| what | CPU ms | limit | met |\n|---|---:|---:|---|");
    let mut verdict = HookBenchVerdict::default();
    let what = format!("read and merge {files} files of settings, with 5 extensions");
    verdict.row(&what, settings, 3.0);
    verdict.control(&what, settings, again);
    let what = format!("load {skills} skills");
    verdict.row(&what, load, 60.0);
    verdict.control(&what, load, load_again);
    for (what, command) in listings(workspace, lapidary) {
        let mut all: Vec<OsString> = vec!["env".into(), "--chdir".into(), (&project).into()];
        all.extend(command);
        let cost = measure_with(&all, &environment(&home))?;
        let spent = cost.cpu.as_secs_f64() * 1e3;
        println!("| `{what} skills list`, all of its process | {spent:.1} | – | – |");
    }
    println!();
    Ok(verdict)
}

/// Who lists skills.
fn listings(workspace: &Workspace, lapidary: &Path) -> Vec<(&'static str, Vec<OsString>)> {
    let list = ["skills".into(), "list".into()];
    let ours = [vec![lapidary.into()], list.to_vec()].concat();
    let mut all = vec![("lapidary", ours)];
    let installed = std::env::var_os("LAPIDARY_PEERS").map(PathBuf::from);
    if let Ok(peers) = installed.map_or_else(|| peers::install(workspace), Ok) {
        let gemini = peers.join("node_modules/gemini-0.61.0/bundle/gemini.js");
        let theirs = [vec!["node".into(), gemini.into()], list.to_vec()].concat();
        all.push(("gemini 0.61.0", theirs));
    }
    all
}

fn environment(home: &Path) -> Vec<(&'static str, OsString)> {
    vec![
        ("HOME", home.into()),
        ("GEMINI_CLI_HOME", home.into()),
        ("GEMINI_API_KEY", "not-a-key".into()),
        // A port without a server.
        ("GOOGLE_GEMINI_BASE_URL", "http://127.0.0.1:9".into()),
        ("GEMINI_CLI_NO_RELAUNCH", "true".into()),
        ("GEMINI_CLI_TRUST_WORKSPACE", "true".into()),
    ]
}

impl HookBenchVerdict {
    /// One that took so many microseconds and may take so many milliseconds.
    fn row(&mut self, what: &str, spent: f64, most: f64) {
        let spent = spent / 1e3;
        let met = if spent <= most { "yes" } else { "**no**" };
        println!("| {what} | {spent:.2} | {most} | {met} |");
        if spent > most {
            self.misses
                .push(format!("{what}: {spent:.2} ms, not {most}"));
        }
    }

    fn control(&mut self, what: &str, one: f64, other: f64) {
        let off = control_off(one, other);
        if off > NOISE {
            let percent = off * 100.0;
            self.doubts
                .push(format!("{what}: the A/A control is {percent:.1} % off"));
        }
    }
}

/// The output of a program, as numbers.
fn numbers(command: &mut Command) -> Result<Vec<f64>> {
    let output = command.output().context("cannot start `load_cost`")?;
    let complaint = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "{}", complaint.trim_end());
    let text = String::from_utf8(output.stdout)?;
    let numbers = text.split_whitespace().map(str::parse);
    Ok(numbers.collect::<Result<_, _>>()?)
}
