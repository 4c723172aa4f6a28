//! Other programs that list and search sessions.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use lapidary_testkit::sessions::{NEEDLE, SessionCorpus};

use super::agentsview::Agentsview;
use super::contest::{SessionsContest, SessionsContestant};
use super::stage::SessionsStage;
use crate::peers;
use crate::workspace::Workspace;

const CLI: &str = "`gemini --list-sessions` 0.61.0, once";
const RIPGREP: &str = "`rg --count`, ripgrep 15.0.0 of `@vscode/ripgrep` 1.18.0";
const AGENTSVIEW: &str = "`agentsview` 0.46.1";

/// The programs, or why they are not there.
pub(super) struct PeerPrograms {
    gemini: Result<PathBuf, String>,
    ripgrep: Result<PathBuf, String>,
    agentsview: Result<PathBuf, String>,
}

impl PeerPrograms {
    /// Installs missing programs. Without them the bench goes on.
    pub(super) fn find_programs(workspace: &Workspace) -> Self {
        let installed = std::env::var_os("LAPIDARY_PEERS").map(PathBuf::from);
        let tests = installed.map_or_else(|| peers::install_peers(workspace), Ok);
        Self {
            gemini: installed_program(tests, "node_modules/gemini-0.61.0/bundle/gemini.js"),
            ripgrep: installed_program(
                peers::install_for_bench(workspace),
                "node_modules/@vscode/ripgrep-linux-x64/bin/rg",
            ),
            agentsview: installed_program(
                peers::install_wheels_for_bench(workspace),
                "agentsview/bin/agentsview",
            ),
        }
    }

    /// The CLI lists its own project, in a home that it may change: it does.
    pub(super) fn add_cli(
        &self,
        contest: &mut SessionsContest,
        corpus: &SessionCorpus,
        folder: &Path,
    ) -> Result<()> {
        let gemini = match &self.gemini {
            Ok(gemini) => gemini,
            Err(why) => {
                contest.add_absent(CLI, why.clone());
                return Ok(());
            }
        };
        let (home, project) = (folder.join("cli-home"), folder.join("cli-project"));
        fs::create_dir_all(&project)?;
        corpus.write(&home)?;
        give_to(&home, &project)?;
        let mut command: Vec<OsString> = vec!["env".into(), "--chdir".into(), project.into()];
        command.extend(["node".into(), gemini.into(), "--list-sessions".into()]);
        contest.add_contestant(SessionsContestant {
            what: CLI.to_owned(),
            command,
            environment: vec![
                ("HOME", home.clone().into()),
                ("GEMINI_CLI_HOME", home.into()),
                ("GEMINI_API_KEY", "not-a-key".into()),
                // A port without a server: the CLI would have the newest session summed up.
                ("GOOGLE_GEMINI_BASE_URL", "http://127.0.0.1:9".into()),
                ("GEMINI_CLI_NO_RELAUNCH", "true".into()),
                ("GEMINI_CLI_TRUST_WORKSPACE", "true".into()),
            ],
            most_rounds: Some(1),
            ..SessionsContestant::default()
        });
        Ok(())
    }

    /// The program that keeps sessions in a database.
    pub(super) fn agentsview(&self) -> Result<&Path, &str> {
        self.agentsview.as_deref().map_err(String::as_str)
    }

    pub(super) fn add_ripgrep(&self, contest: &mut SessionsContest, stage: &SessionsStage) {
        self.add_ripgrep_in(contest, RIPGREP, NEEDLE, &stage.home);
    }

    /// Looks for a word in all files of a home.
    pub(super) fn add_ripgrep_in(
        &self,
        contest: &mut SessionsContest,
        what: &str,
        word: &str,
        home: &Path,
    ) {
        let options = ["--no-config", "--hidden", "--no-ignore", "--ignore-case"];
        match &self.ripgrep {
            Err(why) => contest.add_absent(what, why.clone()),
            Ok(ripgrep) => {
                let mut command: Vec<OsString> = vec![ripgrep.into()];
                command.extend(options.map(OsString::from));
                command.extend(["--count".into(), word.into(), home.into()]);
                contest.add_contestant(SessionsContestant {
                    what: what.to_owned(),
                    command,
                    ..SessionsContestant::default()
                });
            }
        }
    }

    /// Adds the run of `agentsview` that reads the sessions, and returns the program for further commands.
    pub(super) fn add_agentsview(
        &self,
        contest: &mut SessionsContest,
        stage: &SessionsStage,
        folder: &Path,
    ) -> Result<Option<Agentsview>> {
        match &self.agentsview {
            Err(why) => {
                contest.add_absent(AGENTSVIEW, why.clone());
                Ok(None)
            }
            Ok(program) => {
                let agentsview = Agentsview::new(program, stage, folder)?;
                agentsview.add_sync(contest);
                Ok(Some(agentsview))
            }
        }
    }
}

fn installed_program(installed: Result<PathBuf>, path: &str) -> Result<PathBuf, String> {
    let folder = installed.map_err(|error| format!("not installed: {error:#}"))?;
    let program = folder.join(path);
    if program.is_file() {
        return Ok(program);
    }
    Err("not installed: it has another name here".to_owned())
}

/// Makes the only project of a home that of a folder, and forbids the CLI to remove old sessions.
fn give_to(home: &Path, project: &Path) -> Result<()> {
    let path = project.to_str().context("a folder of another tongue")?;
    let gemini = home.join(".gemini");
    let registry = format!(r#"{{"projects":{{"{path}":"project-0"}}}}"#);
    fs::write(gemini.join("projects.json"), registry)?;
    for base in ["tmp", "history"] {
        fs::write(gemini.join(base).join("project-0/.project_root"), path)?;
    }
    let settings = r#"{"security":{"auth":{"selectedType":"gemini-api-key"},"folderTrust":{"enabled":false}},"general":{"enableAutoUpdate":false,"enableAutoUpdateNotification":false,"sessionRetention":{"enabled":false}},"privacy":{"usageStatisticsEnabled":false},"telemetry":{"enabled":false},"tools":{"useRipgrep":false}}"#;
    fs::write(gemini.join("settings.json"), settings)?;
    Ok(())
}
