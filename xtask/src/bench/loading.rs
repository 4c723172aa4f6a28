//! The cost of reading settings and skills, beside the CLI's own list of the same skills.
//!
//! These take milliseconds, so they are measured inside one process: by an example of the crate that does it (`load_cost`).

mod world;

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Result, ensure};

use super::measure::{measure_with, printed_numbers};
use super::verdict::BenchVerdict;
use crate::peers;
use crate::workspace::Workspace;

/// How many skills there are.
const SKILLS: u32 = 1_000;

/// Measures and prints.
pub(super) fn report_loading(
    workspace: &Workspace,
    folder: &Path,
    lapidary: &Path,
    rounds: u32,
) -> Result<BenchVerdict> {
    let folder = folder.join("loading");
    let _ = fs::remove_dir_all(&folder); // of an earlier bench
    let (home, project) = world::make_home(&folder, SKILLS)?;
    let mut command = Command::new(workspace.target.join("release/examples/load_cost"));
    command.args([&home, &project]);
    let numbers = printed_numbers(command.arg((rounds * 4).to_string()))?;
    let [files, settings, again, skills, load, load_again] = numbers[..] else {
        anyhow::bail!("`load_cost` printed {numbers:?}");
    };
    ensure!(
        (skills - f64::from(SKILLS)).abs() < 0.5,
        "{skills} skills were read"
    );
    println!("## Settings and skills\n\n| what | CPU ms | limit | met |\n|---|---:|---:|---|");
    let mut verdict = BenchVerdict::default();
    for (what, spent, again, most) in [
        (
            format!("read and merge {files} files of settings, with 5 extensions"),
            settings,
            again,
            3.0,
        ),
        (format!("load {skills} skills"), load, load_again, 60.0),
    ] {
        verdict.compare_control(&what, spent, again);
        let spent = spent / 1e3; // of microseconds
        let met = verdict.judge_limit(&what, spent, most, "ms");
        println!("| {what} | {spent:.2} | {most} | {met} |");
    }
    for (what, command) in listing_commands(workspace, lapidary) {
        let mut all: Vec<OsString> = vec!["env".into(), "--chdir".into(), (&project).into()];
        all.extend(command);
        let cost = measure_with(&all, &home_environment(&home))?;
        let spent = cost.cpu.as_secs_f64() * 1e3;
        println!("| `{what} skills list`, all of its process | {spent:.1} | – | – |");
    }
    println!();
    Ok(verdict)
}

/// The commands that list skills.
fn listing_commands(workspace: &Workspace, lapidary: &Path) -> Vec<(&'static str, Vec<OsString>)> {
    let list = ["skills".into(), "list".into()];
    let ours = [vec![lapidary.into()], list.to_vec()].concat();
    let mut all = vec![("lapidary", ours)];
    let installed = std::env::var_os("LAPIDARY_PEERS").map(PathBuf::from);
    if let Ok(peers) = installed.map_or_else(|| peers::install_peers(workspace), Ok) {
        let gemini = peers.join("node_modules/gemini-0.61.0/bundle/gemini.js");
        let theirs = [vec!["node".into(), gemini.into()], list.to_vec()].concat();
        all.push(("gemini 0.61.0", theirs));
    }
    all
}

fn home_environment(home: &Path) -> Vec<(&'static str, OsString)> {
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
