//! A home of sessions, and `lapidary` over it.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use lapidary_testkit::sessions::{CorpusSession, NEEDLE, SessionCorpus};

use super::FLOOR;
use super::contest::SessionsContestant;
use super::table::CommandLimits;

/// Where commands find the sessions, and where they may write.
pub(super) struct SessionsStage {
    lapidary: PathBuf,
    /// The folder with `.gemini` in it. It is kept, so no command may change it.
    pub(super) home: PathBuf,
    /// Removed with the bench: an index, a home of the user.
    folder: PathBuf,
    corpus: SessionCorpus,
}

impl SessionsStage {
    pub(super) fn set_up(
        lapidary: &Path,
        home: PathBuf,
        folder: PathBuf,
        corpus: SessionCorpus,
    ) -> Result<Self> {
        let stage = Self {
            lapidary: lapidary.to_owned(),
            home,
            folder,
            corpus,
        };
        for name in ["cache", "state", "user"] {
            fs::create_dir_all(stage.folder.join(name))?;
        }
        Ok(stage)
    }

    pub(super) fn list_contestant(
        &self,
        what: &str,
        limits: CommandLimits,
        options: &[&str],
    ) -> SessionsContestant {
        let words = ["list", "--all", "--format", "json"];
        SessionsContestant {
            expected: Some(self.session_ids(|_| true)),
            ..self.sessions_contestant(what, limits, &[&words, options].concat())
        }
    }

    /// The list as a terminal shows it.
    pub(super) fn list_text(&self, what: &str, limits: CommandLimits) -> SessionsContestant {
        SessionsContestant {
            expected: Some(self.session_ids(|_| true)),
            ..self.sessions_contestant(what, limits, &["list", "--all", "--format", "text"])
        }
    }

    pub(super) fn search_contestant(
        &self,
        what: &str,
        limits: CommandLimits,
        options: &[&str],
    ) -> SessionsContestant {
        let words = [
            "search", NEEDLE, "--all", "--format", "json", "--limit", "1000",
        ];
        SessionsContestant {
            expected: Some(self.session_ids(|session| session.has_needle)),
            ..self.sessions_contestant(what, limits, &[&words, options].concat())
        }
    }

    /// Looks for a word that no session has.
    pub(super) fn search_in_vain(&self, what: &str, limits: CommandLimits) -> SessionsContestant {
        let words = ["search", "nowhereatall", "--all", "--format", "json"];
        SessionsContestant {
            expected: Some(BTreeSet::new()),
            ..self.sessions_contestant(what, limits, &words)
        }
    }

    /// Makes the index, each time from nothing.
    pub(super) fn index_contestant(&self, what: &str, limits: CommandLimits) -> SessionsContestant {
        SessionsContestant {
            fresh: Some(self.folder.join("cache")),
            ..self.sessions_contestant(what, limits, &["index"])
        }
    }

    /// Shows the first session.
    pub(super) fn show_contestant(
        &self,
        what: &str,
        limits: CommandLimits,
    ) -> Result<SessionsContestant> {
        let session = self.corpus.list().next().context("an empty corpus")?;
        let mut contestant = self.sessions_contestant(what, limits, &["show"]);
        contestant.command.push(self.home.join(session.file).into());
        contestant
            .command
            .extend(["--format", "text"].map(OsString::from));
        Ok(contestant)
    }

    pub(super) fn floor_contestant(&self) -> Result<SessionsContestant> {
        let program = std::env::current_exe()?;
        Ok(SessionsContestant {
            what: FLOOR.to_owned(),
            command: vec![program.into(), "read-floor".into(), (&self.home).into()],
            ..SessionsContestant::default()
        })
    }

    fn sessions_contestant(
        &self,
        what: &str,
        limits: CommandLimits,
        words: &[&str],
    ) -> SessionsContestant {
        let mut command: Vec<OsString> = vec![self.lapidary.clone().into(), "sessions".into()];
        command.extend(words.iter().map(OsString::from));
        SessionsContestant {
            what: what.to_owned(),
            command,
            environment: self.command_environment(),
            limits,
            ..SessionsContestant::default()
        }
    }

    fn command_environment(&self) -> Vec<(&'static str, OsString)> {
        let place = |name: &str| self.folder.join(name).into();
        vec![
            ("HOME", place("user")),
            ("GEMINI_CLI_HOME", self.home.clone().into()),
            ("LAPIDARY_CACHE_DIR", place("cache")),
            ("LAPIDARY_STATE_DIR", place("state")),
        ]
    }

    fn session_ids(&self, wanted: impl Fn(&CorpusSession) -> bool) -> BTreeSet<String> {
        let sessions = self.corpus.list().filter(wanted);
        sessions.map(|session| session.id).collect()
    }
}
