//! Clones a repository that is not trusted: within a time limit and a size limit, and without running any code of it.

mod runner;
mod secrets;

use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io::{self, PipeReader, Read as _};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use tokio::sync::oneshot;
use tokio::time::{Instant, sleep_until, timeout};
use tokio_util::sync::CancellationToken;

use crate::detect::{self, SearchEnvironment};
use crate::process::{Command, Exit, Running, StartError, Stdio, Supervisor};

pub use runner::{GitError, GitRunner};
pub use secrets::shown;

/// How often the size of the clone is checked.
const LOOK: Duration = Duration::from_millis(250);
/// How many bytes of git's output are kept.
const MOST_SAID: usize = 4096;
/// How long the end of git's output may take to arrive after git has exited.
const LAST_WORDS: Duration = Duration::from_secs(1);

/// How much may come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CloneLimits {
    /// So many bytes.
    pub bytes: u64,
    /// So many files and directories: a few bytes of a repository can stand for millions.
    pub entries: u64,
}

impl Default for CloneLimits {
    /// 512 MiB in 100,000 files and directories.
    fn default() -> Self {
        Self {
            bytes: 512 * 1024 * 1024,
            entries: 100_000,
        }
    }
}

/// The request to clone a repository.
#[derive(Debug)]
pub struct CloneRequest<'a> {
    /// Where it is: `https://`, `http://`, `ssh://`, `file://`, or `git@host:path`.
    pub url: &'a str,
    /// An empty directory for it.
    pub into: &'a Path,
    /// The environment of git.
    pub environment: &'a SearchEnvironment,
    /// Runs git, so that no process outlives the clone.
    pub supervisor: &'a Supervisor,
    /// How long it may take.
    pub deadline: Duration,
    /// How much may come.
    pub limits: CloneLimits,
    /// Ends it before that.
    pub cancel: &'a CancellationToken,
}

/// Why nothing was cloned. The directory may hold some of it. Addresses are as [`shown`]: without passwords.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CloneError {
    /// An address of no kind that is cloned.
    #[error("`{0}` is not an address that git can clone")]
    BadUrl(String),
    /// Git is not installed.
    #[error("git is not installed, or not on PATH")]
    NoGit,
    /// Git cannot be started.
    #[error("cannot start git")]
    Start(#[from] StartError),
    /// No pipe for git's output.
    #[error("cannot make a pipe for the output of git")]
    Io(#[from] io::Error),
    /// The `.git` directory cannot be removed.
    #[error("cannot remove the `.git` directory of the clone")]
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
    #[error("`{url}` has more than {} MiB, or more than {} files", limits.bytes / 1024 / 1024, limits.entries)]
    TooMuch {
        /// The address.
        url: String,
        /// The limits.
        limits: CloneLimits,
    },
    /// The clone was cancelled.
    #[error("cloning `{0}` was cancelled")]
    Cancelled(String),
    /// Git could not.
    #[error("Failed to clone Git repository from {url}: {said}")]
    Failed {
        /// The address.
        url: String,
        /// The end of git's output.
        said: String,
    },
}

/// Whether a text is an address that is cloned, and not a path.
pub fn is_url(text: &str) -> bool {
    allowed_protocols(text).is_some()
}

/// The protocols that cloning an address may use, as git wants them listed. Redirects may go from one to the other of them.
fn allowed_protocols(url: &str) -> Option<&'static str> {
    match url.split_once("://") {
        Some(("https", _)) => Some("https"),
        Some(("http", _)) => Some("http:https"),
        Some(("ssh", _)) => Some("ssh"),
        Some(("file", _)) => Some("file"),
        _ if url.starts_with("git@") => Some("ssh"),
        _ => None,
    }
}

/// Clones the newest state of a repository, without history and without its `.git` directory. Git prompts for no input: a
/// repository that needs a password fails. The directory should be closed to others, since an address may have a password.
pub async fn clone(request: &CloneRequest<'_>) -> Result<(), CloneError> {
    let url = shown(request.url);
    // An address that begins with a dash would be read as an option.
    let protocols =
        allowed_protocols(request.url).ok_or_else(|| CloneError::BadUrl(url.clone()))?;
    let git = detect::on_path("git", request.environment).ok_or(CloneError::NoGit)?;
    let (hear, said) = io::pipe()?;
    let stdio = Stdio {
        stdin: File::open(NULL)?.into(),
        stdout: said.try_clone()?.into(),
        stderr: said.into(),
    };
    let end = Instant::now() + request.deadline;
    let supervisor = request.supervisor.clone().within(request.deadline);
    let mut running = supervisor
        .start(clone_command(git, request, protocols), stdio)
        .await?;
    let said = last_words(hear);
    let exit = match oversee_clone(&mut running, request, end).await {
        Ok(exit) => exit,
        Err(error) => {
            running.kill().await;
            running.wait().await;
            return Err(error);
        }
    };
    if exit == Some(Exit::Code(0)) {
        // Its configuration has the address, with the user name and password in it.
        return fs::remove_dir_all(request.into.join(".git")).map_err(CloneError::Left);
    }
    let said = timeout(LAST_WORDS, said).await.ok().and_then(Result::ok);
    let said = secrets::without_secrets(&said.unwrap_or_default(), request.url);
    Err(CloneError::Failed { url, said })
}

/// How git ended, or why it has to.
async fn oversee_clone(
    running: &mut Running,
    request: &CloneRequest<'_>,
    end: Instant,
) -> Result<Option<Exit>, CloneError> {
    let url = || shown(request.url);
    loop {
        let look = (Instant::now() + LOOK).min(end);
        // All can be cancelled and called again.
        let ended = tokio::select! {
            ended = running.wait() => Some(ended.exit),
            () = request.cancel.cancelled() => return Err(CloneError::Cancelled(url())),
            () = sleep_until(look) => None,
        };
        // Also after its end: a fast git is done before the first look.
        if is_beyond(request.limits, request.into) {
            let (url, limits) = (url(), request.limits);
            return Err(CloneError::TooMuch { url, limits });
        }
        if let Some(exit) = ended {
            return Ok(exit);
        }
        if Instant::now() >= end {
            let (url, after) = (url(), request.deadline);
            return Err(CloneError::TimedOut { url, after });
        }
    }
}

fn clone_command(git: PathBuf, request: &CloneRequest<'_>, protocols: &str) -> Command {
    let mut command = bounded(git, request.into);
    command.args(SETTINGS.iter().flat_map(|setting| ["-c", setting]));
    command.args([
        "clone",
        "--quiet",
        "--depth=1",
        "--single-branch",
        "--no-tags",
    ]);
    command.args(["--no-recurse-submodules", "--template=", "--"]);
    command.args([OsString::from(request.url), ".".into()]);
    set_variables(&mut command, request.environment, protocols);
    command
}

/// These settings override the user's configuration: no code of the repository is executed, and no other protocol is used. Git LFS
/// would ask the server that the repository's `.lfsconfig` names.
const SETTINGS: [&str; 7] = [
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "protocol.ext.allow=never",
    "filter.lfs.smudge=",
    "filter.lfs.clean=",
    "filter.lfs.process=",
    "filter.lfs.required=false",
];

/// The user's variables, without those that make git work elsewhere, and with those that keep it from prompting.
fn set_variables(command: &mut Command, environment: &SearchEnvironment, protocols: &str) {
    let vars = environment.vars.iter();
    command.envs(vars.filter(|(name, _)| !is_gits_own(name)));
    // No prompts for input. The user chooses the ssh program, in the configuration or by a variable, so we pass no option to it:
    // it cannot prompt, because its session has no terminal and it has no askpass program.
    command.envs([
        ("GIT_TERMINAL_PROMPT", "0"),
        ("GIT_ASKPASS", ""),
        ("SSH_ASKPASS", ""),
        ("SSH_ASKPASS_REQUIRE", "never"),
        ("GIT_ALLOW_PROTOCOL", protocols),
        // People read git's messages, but tests do, too.
        ("LC_ALL", "C"),
    ]);
}

/// Variables that would make git work in other directories than the given ones.
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

/// Git, and all its processes, with 2 GiB of memory: a server can make git keep all data that it sends.
#[cfg(unix)]
fn bounded(git: PathBuf, directory: &Path) -> Command {
    let mut command = Command::new("/bin/sh", directory);
    // Not every system can; and a smaller limit stays.
    command.args(["-c", "ulimit -v 2097152 2>/dev/null; exec \"$@\"", "sh"]);
    command.args([git]);
    command
}

#[cfg(not(unix))]
fn bounded(git: PathBuf, directory: &Path) -> Command {
    Command::new(git, directory)
}

/// Whether there is more below a directory than may be. Links are not followed.
fn is_beyond(limits: CloneLimits, directory: &Path) -> bool {
    let (mut bytes, mut entries) = (0, 0);
    let mut waiting: Vec<PathBuf> = vec![directory.to_owned()];
    while let Some(path) = waiting.pop() {
        for entry in fs::read_dir(path).into_iter().flatten().flatten() {
            entries += 1;
            match entry.metadata() {
                Ok(about) if about.is_dir() => waiting.push(entry.path()),
                Ok(about) => bytes += about.len(),
                Err(_) => {}
            }
            if bytes > limits.bytes || entries > limits.entries {
                return true;
            }
        }
    }
    false
}

/// Reads all output of git, of any length, and keeps the end of it. A thread of its own, because a process that inherited the
/// pipe may keep it open.
pub(crate) fn last_words(from: PipeReader) -> oneshot::Receiver<String> {
    let (tell, told) = oneshot::channel();
    thread::spawn(move || tell.send(output_tail(from)));
    told
}

fn output_tail(mut from: PipeReader) -> String {
    let mut kept = Vec::new();
    let mut heard = [0; 16 * 1024];
    while let Ok(count @ 1..) = from.read(&mut heard) {
        kept.extend_from_slice(&heard[..count]);
        kept.drain(..kept.len().saturating_sub(MOST_SAID));
    }
    String::from_utf8_lossy(&kept).trim().to_owned()
}

#[cfg(windows)]
pub(crate) const NULL: &str = "NUL";
#[cfg(not(windows))]
pub(crate) const NULL: &str = "/dev/null";

#[cfg(all(test, unix))]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::process::ShortCommand;

    /// Runs a command to its end.
    async fn run(command: Command) {
        let command = ShortCommand {
            command,
            input: Arc::from([]),
            timeout: Duration::from_mins(1),
            most_output: 4096,
            most_stderr: 4096,
        };
        let finished = command
            .run(&CancellationToken::new())
            .await
            .expect("the command starts");
        assert_eq!(finished.exit, Some(Exit::Code(0)), "{finished:?}");
    }

    #[tokio::test]
    async fn a_clone_asks_no_server_of_large_files() {
        const REPOSITORY: &str = r#"
            git init -q from
            printf '* filter=lfs\n' > from/.gitattributes; echo pointer > from/large.bin
            git -C from add . ; git -C from -c user.name=a -c user.email=a@b.c commit -qm large
            printf '[filter "lfs"]\n\tsmudge = touch "%s/asked"; cat\n\trequired = true\n' "$PWD" > .gitconfig
        "#;
        let desk = tempfile::tempdir().unwrap();
        let place = desk.path();
        fs::create_dir(place.join("into")).unwrap();
        let vars: [(OsString, OsString); 3] = [
            ("HOME".into(), place.into()),
            ("PATH".into(), "/usr/local/bin:/usr/bin:/bin".into()),
            ("GIT_CONFIG_NOSYSTEM".into(), "1".into()),
        ];
        let mut repository = Command::new("/bin/sh", place);
        repository.args(["-ec", REPOSITORY]).envs(vars.clone());
        run(repository).await;

        let environment = SearchEnvironment::from_vars(vars, place);
        let request = CloneRequest {
            url: &format!("file://{}", place.join("from").display()),
            into: &place.join("into"),
            environment: &environment,
            supervisor: &Supervisor::at("/none"),
            deadline: Duration::from_mins(1),
            limits: CloneLimits::default(),
            cancel: &CancellationToken::new(),
        };
        // The command is the one that the supervisor runs.
        run(clone_command("git".into(), &request, "file")).await;
        let large = fs::read_to_string(place.join("into/large.bin"));
        assert_eq!(large.unwrap(), "pointer\n");
        assert!(!place.join("asked").exists());
    }
}
