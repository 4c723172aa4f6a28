//! Git commands in repositories that are not trusted: within a time limit, under supervision, and without running any code of the
//! repository.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, PipeReader, Read as _};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use tokio::sync::oneshot;
use tokio::time::{Instant, sleep_until, timeout};

use super::secrets::without_secrets;
use super::{
    CloneLimits, LAST_WORDS, LOOK, NULL, SETTINGS, allowed_protocols, bounded, is_beyond,
    last_words, set_variables,
};
use crate::detect::{self, SearchEnvironment};
use crate::fresh_run;
use crate::process::{Command, Exit, Running, StartError, Stdio, StdioHandle, Supervisor};

/// So much of an answer is read.
const MOST_TEXT: u64 = 16 * 1024 * 1024;

/// Further settings for repositories in which we work: no submodules, no conversions of line ends, nothing in the background, no
/// signing. Packs are mapped in small windows, because git's memory is bounded.
const WORK_SETTINGS: [&str; 9] = [
    "submodule.recurse=false",
    "fetch.recurseSubmodules=false",
    "core.autocrlf=false",
    "core.attributesFile=/dev/null",
    "gc.auto=0",
    "maintenance.auto=false",
    "commit.gpgSign=false",
    "core.packedGitWindowSize=16m",
    "core.packedGitLimit=256m",
];

/// How long a command of git may take.
const DEADLINE: Duration = Duration::from_mins(10);

/// Runs git in repositories that are not trusted.
#[derive(Debug, Clone)]
pub struct GitRunner {
    git: PathBuf,
    environment: SearchEnvironment,
    variables: Vec<(OsString, OsString)>,
    supervisor: Supervisor,
    watched: Option<(PathBuf, CloneLimits)>,
}

/// Why git did not do what it was told. Addresses are as [`shown`](super::shown): without passwords.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum GitError {
    /// Git is not installed.
    #[error("git is not installed, or not on PATH")]
    NoGit,
    /// An address of no kind that is fetched.
    #[error("`{0}` is not an address that git can fetch")]
    BadUrl(String),
    /// Git cannot be started.
    #[error("cannot start git")]
    Start(#[from] StartError),
    /// No file for git's output.
    #[error("cannot keep the output of git")]
    Io(#[from] io::Error),
    /// It took too long.
    #[error("`git {command}` did not end within {} seconds", after.as_secs_f64())]
    TimedOut {
        /// The command of git.
        command: String,
        /// How long it was given.
        after: Duration,
    },
    /// Too much came.
    #[error("`git {command}` wrote more than {} MiB, or more than {} files", limits.bytes / 1024 / 1024, limits.entries)]
    TooMuch {
        /// The command of git.
        command: String,
        /// The limits.
        limits: CloneLimits,
    },
    /// Git failed.
    #[error("`git {command}` failed: {said}")]
    Failed {
        /// The command of git.
        command: String,
        /// The end of its output.
        said: String,
    },
}

impl GitRunner {
    /// Git as this environment has it.
    pub fn find(
        environment: &SearchEnvironment,
        supervisor: &Supervisor,
    ) -> Result<Self, GitError> {
        Ok(Self {
            git: detect::on_path("git", environment).ok_or(GitError::NoGit)?,
            environment: environment.clone(),
            variables: Vec::new(),
            supervisor: supervisor.clone(),
            watched: None,
        })
    }

    /// Sets a variable of git, such as `GIT_DIR`.
    #[must_use]
    pub fn with_variable(mut self, name: &str, value: impl Into<OsString>) -> Self {
        self.variables.push((name.into(), value.into()));
        self
    }

    /// Ends a command that makes a directory grow beyond the limits.
    #[must_use]
    pub fn limited(mut self, directory: &Path, limits: CloneLimits) -> Self {
        self.watched = Some((directory.to_owned(), limits));
        self
    }

    /// Runs a command that talks to an address.
    pub async fn run_with_url<S: AsRef<OsStr>>(
        &self,
        directory: &Path,
        url: &str,
        args: &[S],
    ) -> Result<(), GitError> {
        self.run_with_url_into(directory, url, args, Path::new(NULL))
            .await
    }

    /// Runs a command that talks to an address, and whose output goes to a file.
    pub async fn run_with_url_into<S: AsRef<OsStr>>(
        &self,
        directory: &Path,
        url: &str,
        args: &[S],
        output: &Path,
    ) -> Result<(), GitError> {
        let shown = super::shown(url);
        let protocols = allowed_protocols(url).ok_or(GitError::BadUrl(shown))?;
        let output = File::create(output)?;
        self.call(directory, args, protocols, output)
            .await
            .map_err(|error| error.without_secrets(url))
    }

    /// Runs a command in a directory.
    pub async fn run<S: AsRef<OsStr>>(&self, directory: &Path, args: &[S]) -> Result<(), GitError> {
        self.call(directory, args, "file", File::create(NULL)?)
            .await
    }

    /// Runs a command whose output goes to a file.
    pub async fn run_into<S: AsRef<OsStr>>(
        &self,
        directory: &Path,
        args: &[S],
        output: &Path,
    ) -> Result<(), GitError> {
        self.call(directory, args, "file", File::create(output)?)
            .await
    }

    /// The output of a command, without white space at its end.
    pub async fn text<S: AsRef<OsStr>>(
        &self,
        directory: &Path,
        args: &[S],
    ) -> Result<String, GitError> {
        let bytes = self.bytes(directory, args).await?;
        Ok(String::from_utf8_lossy(&bytes).trim_end().to_owned())
    }

    /// The output of a command, of at most 16 MiB.
    pub async fn bytes<S: AsRef<OsStr>>(
        &self,
        directory: &Path,
        args: &[S],
    ) -> Result<Vec<u8>, GitError> {
        let (hear, told) = io::pipe()?;
        let answer = first_bytes(hear);
        self.call(directory, args, "file", told).await?;
        let answer = timeout(LAST_WORDS, answer).await.ok();
        let answer = answer.and_then(Result::ok).ok_or(io::ErrorKind::TimedOut);
        Ok(answer.map_err(io::Error::from)?)
    }

    async fn call<S: AsRef<OsStr>>(
        &self,
        directory: &Path,
        args: &[S],
        protocols: &str,
        output: impl Into<StdioHandle>,
    ) -> Result<(), GitError> {
        let name = args.first().map(|arg| arg.as_ref().to_string_lossy());
        let name = name.unwrap_or_default().into_owned();
        let (hear, said) = io::pipe()?;
        let stdio = Stdio {
            stdin: File::open(NULL)?.into(),
            stdout: output.into(),
            stderr: said.into(),
        };
        let end = Instant::now() + DEADLINE;
        let supervisor = self.supervisor.clone().within(DEADLINE);
        let command = self.command(directory, args, protocols);
        let mut running = supervisor.start(command, stdio).await?;
        let said = last_words(hear);
        match self.oversee(&mut running, &name, end).await {
            Ok(Some(Exit::Code(0))) => return Ok(()),
            Ok(_) => {}
            Err(error) => {
                running.kill().await;
                running.wait().await;
                return Err(error);
            }
        }
        let said = timeout(LAST_WORDS, said).await.ok().and_then(Result::ok);
        Err(GitError::Failed {
            command: name,
            said: said.unwrap_or_default(),
        })
    }

    /// How git ended, or why it has to.
    async fn oversee(
        &self,
        running: &mut Running,
        name: &str,
        end: Instant,
    ) -> Result<Option<Exit>, GitError> {
        loop {
            let look = (Instant::now() + LOOK).min(end);
            // Both can be cancelled and called again.
            let ended = tokio::select! {
                ended = running.wait() => Some(ended.exit),
                () = sleep_until(look) => None,
            };
            let command = name.to_owned();
            // Also after its end: a fast git is done before the first look.
            if let Some((directory, limits)) = &self.watched
                && is_beyond(*limits, directory)
            {
                let limits = *limits;
                return Err(GitError::TooMuch { command, limits });
            }
            if let Some(exit) = ended {
                return Ok(exit);
            }
            if Instant::now() >= end {
                return Err(GitError::TimedOut {
                    command,
                    after: DEADLINE,
                });
            }
        }
    }

    fn command<S: AsRef<OsStr>>(&self, directory: &Path, args: &[S], protocols: &str) -> Command {
        let mut command = bounded(self.git.clone(), directory);
        let settings = SETTINGS.iter().chain(&WORK_SETTINGS);
        command.args(settings.flat_map(|setting| ["-c", setting]));
        command.args(args.iter().map(AsRef::as_ref));
        set_variables(&mut command, &self.environment, protocols);
        command.envs(self.variables.iter().cloned());
        command.mark("LAPIDARY_MARK", fresh_run());
        command
    }
}

impl GitError {
    fn without_secrets(self, url: &str) -> Self {
        match self {
            Self::Failed { command, said } => Self::Failed {
                command,
                said: without_secrets(&said, url),
            },
            other => other,
        }
    }
}

/// Reads all output of git, and keeps the beginning. A thread of its own, as for its complaints.
fn first_bytes(mut from: PipeReader) -> oneshot::Receiver<Vec<u8>> {
    let (tell, told) = oneshot::channel();
    thread::spawn(move || {
        let mut bytes = Vec::new();
        let _ = from.by_ref().take(MOST_TEXT).read_to_end(&mut bytes);
        let _ = io::copy(&mut from, &mut io::sink());
        tell.send(bytes)
    });
    told
}
