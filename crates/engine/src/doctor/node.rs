//! Node, without which Gemini CLI is only text.

use std::fs::File;
use std::io::Read as _;
use std::path::Path;
use std::time::Duration;

use lapidary_vocab::doctor::{Check, CheckName, CheckState};

use super::DoctorTarget;
use super::ask::ask_program;
use crate::detect::AgentVersion;
use crate::detect::{self, FoundProgram};
use crate::process::Command;

/// The oldest Node that Gemini CLI asks for.
const OLDEST: u64 = 20;

const PATIENCE: Duration = Duration::from_secs(10);

const REMEDY: &str = "install Node 20 or newer from https://nodejs.org";

/// Whether it is there and new enough.
pub(super) async fn check(patient: &DoctorTarget<'_>, found: &FoundProgram) -> Check {
    let needs = needs_node(&found.path);
    // A launcher may bring its own.
    let state = if needs {
        CheckState::Problem
    } else {
        CheckState::Warning
    };
    let check = |state, message: String| Check::new(CheckName::Node, state, message);
    let Some(node) = detect::on_path("node", patient.environment) else {
        let message = "`node` is not on PATH, and Gemini CLI runs on it";
        return check(state, message.to_owned()).remedy(REMEDY);
    };
    let mut command = Command::new(&node, patient.directory);
    command
        .args(["--version"])
        .envs(patient.environment.vars.clone());
    let path = node.display();
    let answer = match ask_program(patient.supervisor, command, patient.scratch, PATIENCE).await {
        Ok(answer) => answer,
        Err(error) => return check(state, format!("`{path} --version`: {error}")).remedy(REMEDY),
    };
    match AgentVersion::parse(String::from_utf8_lossy(&answer.stdout).trim()) {
        None => {
            let message = format!("`{path} --version` prints no version");
            check(CheckState::Warning, message).took(answer.took)
        }
        Some(version) if version.major < OLDEST => {
            let message = format!("{version} at `{path}` is older than Gemini CLI asks for");
            check(state, message).remedy(REMEDY).took(answer.took)
        }
        Some(version) => check(CheckState::Ok, format!("{version} at `{path}`")).took(answer.took),
    }
}

/// Whether the program is a script for it. Launchers in other languages may find a Node of their own.
fn needs_node(program: &Path) -> bool {
    const FIRST_LINE: u64 = 256;
    let mut start = Vec::new();
    let read = File::open(program).and_then(|file| file.take(FIRST_LINE).read_to_end(&mut start));
    let start = String::from_utf8_lossy(&start);
    let line = start.lines().next().unwrap_or_default();
    read.is_ok() && line.starts_with("#!") && line.contains("node")
}
