//! Cloning a repository that somebody else offers: within a time, within a size, and without a say in what runs here.

mod secrets;

use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io::{self, Read as _, Seek as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;

use crate::detect::{self, Environment};
use crate::process::{Command, Exit, Running, StartError, Stdio, Supervisor};

pub use secrets::shown;

/// How often the size of what came is looked at.
const LOOK: Duration = Duration::from_millis(250);
/// How many bytes may come: 512 MiB.
pub const MOST_BYTES: u64 = 512 * 1024 * 1024;
/// How much of what git says is kept.
const MOST_SAID: u64 = 4096;

/// What is to be cloned.
#[derive(Debug)]
pub struct CloneRequest<'a> {
    /// Where it is: `https://`, `http://`, `ssh://`, `file://`, or `git@host:path`.
    pub url: &'a str,
    /// An empty directory for it.
    pub into: &'a Path,
    /// What git gets of the surroundings.
    pub environment: &'a Environment,
    /// What it runs under, so that nothing outlives it.
    pub supervisor: &'a Supervisor,
    /// How long it may take.
    pub deadline: Duration,
    /// Ends it before that.
    pub cancel: &'a CancellationToken,
}

/// Why nothing was cloned. The directory may hold some of it. Addresses are as [`shown`]: without passwords.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CloneError {
    /// An address of no kind that is cloned.
    #[error("`{0}` is no address that can be cloned")]
    BadUrl(String),
    /// Git is not installed.
    #[error("git is not installed, or not on PATH")]
    NoGit,
    /// Git cannot be started.
    #[error("cannot start git")]
    Start(#[from] StartError),
    /// There is no place for what git says.
    #[error("cannot make a file for what git says")]
    Io(#[from] io::Error),
    /// What git keeps for itself cannot be removed.
    #[error("cannot remove what git keeps for itself of what was cloned")]
    Left(#[source] io::Error),
    /// It took too long.
    #[error("`{url}` was not cloned within {} seconds", after.as_secs_f64())]
    TimedOut {
        /// The address.
        url: String,
        /// How long it was given.
        after: Duration,
    },
    /// Too much came.
    #[error("`{0}` has more than 512 MiB")]
    TooMuch(String),
    /// Somebody did not want it any more.
    #[error("cloning `{0}` was cancelled")]
    Cancelled(String),
    /// Git could not.
    #[error("Failed to clone Git repository from {url}: {said}")]
    Failed {
        /// The address.
        url: String,
        /// What git said last.
        said: String,
    },
}

/// Whether a text is an address that is cloned, and not a path.
pub fn is_url(text: &str) -> bool {
    protocols(text).is_some()
}

/// The protocols that cloning an address may use, as git wants them listed. Redirects may go from one to the other of them.
fn protocols(url: &str) -> Option<&'static str> {
    match url.split_once("://") {
        Some(("https", _)) => Some("https"),
        Some(("http", _)) => Some("http:https"),
        Some(("ssh", _)) => Some("ssh"),
        Some(("file", _)) => Some("file"),
        _ if url.starts_with("git@") => Some("ssh"),
        _ => None,
    }
}

/// Clones the newest state of a repository, and nothing before it: what git keeps for itself is removed. It asks nobody for anything:
/// what needs a password fails. The directory should be closed to others, since an address may have a password.
pub async fn clone(request: &CloneRequest<'_>) -> Result<(), CloneError> {
    let url = shown(request.url);
    // One that begins with a dash would be an option to somebody.
    let protocols = protocols(request.url).ok_or_else(|| CloneError::BadUrl(url.clone()))?;
    let git = detect::on_path("git", request.environment).ok_or(CloneError::NoGit)?;
    let mut said = tempfile::tempfile()?;
    let null = || File::options().read(true).write(true).open(NULL);
    let stdio = Stdio::files(null()?, said.try_clone()?, said.try_clone()?);
    let end = Instant::now() + request.deadline;
    let supervisor = request.supervisor.clone().within(request.deadline);
    let mut running = supervisor
        .start(command(git, request, protocols), stdio)
        .await?;
    let exit = match overseen(&mut running, request, end).await {
        Ok(exit) => exit,
        Err(error) => {
            running.kill().await;
            running.wait().await;
            return Err(error);
        }
    };
    if exit == Some(Exit::Code(0)) {
        // Its configuration has the address, with whoever signs in.
        return fs::remove_dir_all(request.into.join(".git")).map_err(CloneError::Left);
    }
    let said = secrets::cleaned(&tail(&mut said)?, request.url);
    Err(CloneError::Failed { url, said })
}

/// How git ended, or why it has to.
async fn overseen(
    running: &mut Running,
    request: &CloneRequest<'_>,
    end: Instant,
) -> Result<Option<Exit>, CloneError> {
    let url = || shown(request.url);
    loop {
        let look = (Instant::now() + LOOK).min(end);
        // All can be cancelled and called again.
        tokio::select! {
            ended = running.wait() => return Ok(ended.exit),
            () = request.cancel.cancelled() => return Err(CloneError::Cancelled(url())),
            () = sleep_until(look) => {}
        }
        if Instant::now() >= end {
            let (url, after) = (url(), request.deadline);
            return Err(CloneError::TimedOut { url, after });
        }
        if size(request.into) > MOST_BYTES {
            return Err(CloneError::TooMuch(url()));
        }
    }
}

fn command(git: PathBuf, request: &CloneRequest<'_>, protocols: &str) -> Command {
    let mut command = Command::new(git, request.into);
    // Whatever the user's configuration says: nothing of the repository's is executed, and no other way is taken.
    let settings = [
        "core.hooksPath=/dev/null",
        "core.fsmonitor=false",
        "protocol.ext.allow=never",
    ];
    command.args(settings.iter().flat_map(|setting| ["-c", setting]));
    command.args([
        "clone",
        "--quiet",
        "--depth=1",
        "--single-branch",
        "--no-tags",
    ]);
    command.args(["--no-recurse-submodules", "--template=", "--"]);
    command.args([OsString::from(request.url), ".".into()]);
    command.envs(
        request
            .environment
            .vars
            .iter()
            .filter(|(name, _)| !is_gits_own(name)),
    );
    // Nobody is asked for anything. Which ssh is used is for the user to say, in the configuration or by a variable, so it gets no option
    // from us: it has no terminal to ask on, since its session has none, and no program to ask with.
    command.envs([
        ("GIT_TERMINAL_PROMPT", "0"),
        ("GIT_ASKPASS", ""),
        ("SSH_ASKPASS", ""),
        ("SSH_ASKPASS_REQUIRE", "never"),
        ("GIT_ALLOW_PROTOCOL", protocols),
        // What git says is read by people, but also by tests.
        ("LC_ALL", "C"),
    ]);
    command
}

/// Variables by which git would work elsewhere than it is told to.
fn is_gits_own(name: &OsStr) -> bool {
    const OWN: [&str; 8] = [
        "GIT_DIR",
        "GIT_WORK_TREE",
        "GIT_INDEX_FILE",
        "GIT_OBJECT_DIRECTORY",
        "GIT_ALTERNATE_OBJECT_DIRECTORIES",
        "GIT_COMMON_DIR",
        "GIT_NAMESPACE",
        "GIT_TEMPLATE_DIR",
    ];
    OWN.iter().any(|own| name == *own)
}

/// The bytes of all files below a directory. Links are not followed.
fn size(directory: &Path) -> u64 {
    let mut total = 0;
    let mut waiting: Vec<PathBuf> = vec![directory.to_owned()];
    while let Some(path) = waiting.pop() {
        for entry in fs::read_dir(path).into_iter().flatten().flatten() {
            match entry.metadata() {
                Ok(about) if about.is_dir() => waiting.push(entry.path()),
                Ok(about) => total += about.len(),
                Err(_) => {}
            }
        }
    }
    total
}

/// The last that git said.
fn tail(said: &mut File) -> io::Result<String> {
    let length = said.metadata()?.len();
    said.seek(io::SeekFrom::Start(length.saturating_sub(MOST_SAID)))?;
    let mut bytes = Vec::new();
    said.take(MOST_SAID).read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).trim().to_owned())
}

#[cfg(windows)]
const NULL: &str = "NUL";
#[cfg(not(windows))]
const NULL: &str = "/dev/null";
