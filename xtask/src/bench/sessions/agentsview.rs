//! `agentsview`, which keeps all sessions in a database and answers through a server of its own.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use lapidary_testkit::sessions::NEEDLE;
use serde_json::Value;

use super::super::measure::measure_with;
use super::contest::{SessionsContest, SessionsContestant};
use super::stage::SessionsStage;

const SYNC: &str = "`agentsview sync` 0.46.1, once";
const SEARCH: &str = "`agentsview session search` 0.46.1, without its server's share";
const ASK: [&str; 7] = [
    "session",
    "search",
    NEEDLE,
    "--limit",
    "500",
    "--include-one-shot",
    "--json",
];
/// How long its server may take to start.
const PATIENCE: Duration = Duration::from_mins(1);

/// The program and a home of its own, which has the sessions in it.
pub(super) struct Agentsview {
    program: PathBuf,
    home: PathBuf,
}

impl Agentsview {
    pub(super) fn new(program: &Path, stage: &SessionsStage, folder: &Path) -> Result<Self> {
        let home = folder.join("agentsview");
        fs::create_dir_all(&home)?;
        symlink(stage.home.join(".gemini"), home.join(".gemini"))?;
        let program = program.to_owned();
        Ok(Self { program, home })
    }

    /// With a home that has sessions in it already.
    pub(super) fn in_home(program: &Path, home: PathBuf) -> Self {
        let program = program.to_owned();
        Self { program, home }
    }

    /// The sessions in which it finds each of these words, by its server.
    pub(super) fn find_words(&self, words: &[&str]) -> Result<Vec<BTreeSet<String>>> {
        let _server = self.start_server()?;
        words.iter().map(|word| self.find_word(word)).collect()
    }

    fn find_word(&self, word: &str) -> Result<BTreeSet<String>> {
        let mut found = BTreeSet::new();
        let mut cursor = 0;
        loop {
            let page = Command::new(&self.program)
                .args(["session", "search", word, "--limit", "500", "--json"])
                .args(["--include-one-shot", "--include-automated"])
                .args((cursor > 0).then(|| format!("--cursor={cursor}")))
                .envs(self.command_environment())
                .stdin(Stdio::null())
                .output()?;
            let page: Value = serde_json::from_slice(&page.stdout)?;
            let matches = page["matches"].as_array().into_iter().flatten();
            // Ids of other agents than Claude Code have the agent before them.
            let ids = matches.filter_map(|it| it["session_id"].as_str()?.rsplit(':').next());
            found.extend(ids.map(str::to_owned));
            cursor = page["next_cursor"].as_u64().unwrap_or_default();
            if cursor == 0 {
                return Ok(found);
            }
        }
    }

    /// Reads all sessions into its database, in one process.
    pub(super) fn add_sync(&self, contest: &mut SessionsContest) {
        contest.add_contestant(SessionsContestant {
            most_rounds: Some(1),
            ..self.command_contestant(SYNC, &["sync"])
        });
    }

    /// Asks its server, which runs until all is measured.
    pub(super) fn add_search(&self, contest: &mut SessionsContest, rounds: u32) {
        match self.start_server() {
            Err(error) => contest.add_absent(SEARCH, format!("failed: {error:#}")),
            Ok(_server) => {
                contest.add_contestant(self.command_contestant(SEARCH, &ASK));
                contest.hold_rounds(rounds);
            }
        }
    }

    fn command_contestant(&self, what: &str, words: &[&str]) -> SessionsContestant {
        let mut command: Vec<OsString> = vec![self.program.clone().into()];
        command.extend(words.iter().map(OsString::from));
        SessionsContestant {
            what: what.to_owned(),
            command,
            environment: self.command_environment(),
            ..SessionsContestant::default()
        }
    }

    /// It starts no server of its own, which would outlive the bench, and sends no reports.
    fn command_environment(&self) -> Vec<(&'static str, OsString)> {
        vec![
            ("HOME", self.home.clone().into()),
            ("AGENTSVIEW_NO_DAEMON", "1".into()),
            ("AGENTSVIEW_TELEMETRY_ENABLED", "0".into()),
            ("DO_NOT_TRACK", "1".into()),
        ]
    }

    fn start_server(&self) -> Result<ServerGuard> {
        let server = Command::new(&self.program)
            .args(["serve", "--host", "127.0.0.1", "--port", "0"])
            .args(["--no-browser", "--no-update-check", "--no-sync"])
            .envs(self.command_environment())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()?;
        let server = ServerGuard(server);
        let started = Instant::now();
        let question = self.command_contestant(SEARCH, &ASK);
        while let Err(error) = measure_with(&question.command, &question.environment) {
            let is_late = started.elapsed() > PATIENCE;
            ensure!(!is_late, "its server does not answer: {error:#}");
            sleep(Duration::from_millis(200));
        }
        Ok(server)
    }
}

/// Ends with its owner.
struct ServerGuard(Child);

impl Drop for ServerGuard {
    fn drop(&mut self) {
        let _ = self.0.kill(); // it may have ended by itself
        let _ = self.0.wait();
    }
}
