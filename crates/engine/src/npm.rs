//! Installing an adapter from npm: whole or not at all, and nothing of it outlives a cancel.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use crate::agents::AcpAdapter;
use crate::detect::{self, SearchEnvironment};
use crate::git::{NULL, last_words};
use crate::process::{Command, Exit, Running, StartError, Stdio, Supervisor};

/// How the names of unfinished installations begin.
const UNFINISHED: &str = ".unfinished-";

/// How long the end of npm's output may take to arrive after npm has exited.
const LAST_WORDS: Duration = Duration::from_secs(1);

/// How many characters of npm's output a message repeats.
const LONGEST_SAID: usize = 300;
const MOST_LINES: usize = 2;

/// The request to install an adapter.
#[derive(Debug)]
pub struct InstallRequest<'a> {
    /// The adapter.
    pub adapter: &'a AcpAdapter,
    /// The directory of all adapters. It is made if it is not there.
    pub root: &'a Path,
    /// The environment of npm.
    pub environment: &'a SearchEnvironment,
    /// Runs npm, so that no process outlives the installation.
    pub supervisor: &'a Supervisor,
    /// How long it may take.
    pub deadline: Duration,
    /// Ends it before that.
    pub cancel: &'a CancellationToken,
}

/// Why an adapter was not installed. Nothing of it is left.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AdapterInstallError {
    /// There is no npm.
    #[error("cannot find `npm` on PATH")]
    NoNpm,
    /// npm cannot be started.
    #[error("cannot start `npm`")]
    Start(#[from] StartError),
    /// A directory cannot be made or moved.
    #[error("cannot write `{}`", path.display())]
    Io {
        /// The directory.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// It took too long.
    #[error("npm did not install `{package}` within {} s", after.as_secs())]
    TimedOut {
        /// The package.
        package: &'static str,
        /// How long it was given.
        after: Duration,
    },
    /// The caller cancelled it.
    #[error("the installation was cancelled")]
    Cancelled,
    /// npm failed.
    #[error("npm could not install `{package}`: {said}")]
    Failed {
        /// The package.
        package: &'static str,
        /// The end of npm's output.
        said: String,
    },
    /// npm reports success, but the program is missing.
    #[error("npm installed `{package}`, but it has no program `{program}`")]
    NoProgram {
        /// The package.
        package: &'static str,
        /// The program that it should have.
        program: &'static str,
    },
}

impl AdapterInstallError {
    /// A step that the user can take, if we know one.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::NoNpm => Some("install Node.js, which has npm: https://nodejs.org"),
            Self::TimedOut { .. } | Self::Failed { .. } => {
                Some("check the network and `npm config get registry`, then run the command again")
            }
            _ => None,
        }
    }
}

/// Installs an adapter and returns its program. npm works in a directory beside its place, which is moved there once the program is
/// in it: half an installation is never found.
pub async fn install_adapter(request: &InstallRequest<'_>) -> Result<PathBuf, AdapterInstallError> {
    let (adapter, root) = (request.adapter, request.root);
    let npm = detect::on_path("npm", request.environment).ok_or(AdapterInstallError::NoNpm)?;
    let failed = |path: &Path| {
        let path = path.to_owned();
        move |source| AdapterInstallError::Io { path, source }
    };
    fs::create_dir_all(root).map_err(failed(root))?;
    let desk = tempfile::Builder::new().prefix(UNFINISHED).tempdir_in(root);
    let desk = desk.map_err(failed(root))?; // removed when this returns, unless it was moved
    run_npm(npm, desk.path(), request).await?;
    let program = Path::new("node_modules/.bin").join(adapter.program);
    if !desk.path().join(&program).exists() {
        return Err(AdapterInstallError::NoProgram {
            package: adapter.package,
            program: adapter.program,
        });
    }
    let place = adapter.directory(root);
    if place.exists() {
        fs::remove_dir_all(&place).map_err(failed(&place))?;
    }
    let desk = desk.keep();
    if let Err(source) = fs::rename(&desk, &place) {
        let _ = fs::remove_dir_all(&desk); // the first error says more
        return Err(failed(&place)(source));
    }
    remove_unfinished(root);
    Ok(place.join(program))
}

async fn run_npm(
    npm: PathBuf,
    desk: &Path,
    request: &InstallRequest<'_>,
) -> Result<(), AdapterInstallError> {
    let package = request.adapter.package;
    let at_desk = |source| AdapterInstallError::Io {
        path: desk.to_owned(),
        source,
    };
    let (hear, said) = io::pipe().map_err(at_desk)?;
    let stdio = Stdio {
        stdin: File::open(NULL).map_err(at_desk)?.into(),
        stdout: said.try_clone().map_err(at_desk)?.into(),
        stderr: said.into(),
    };
    let supervisor = request.supervisor.clone().within(request.deadline);
    let command = install_command(npm, desk, request);
    let mut running = supervisor.start(command, stdio).await?;
    let said = last_words(hear);
    match oversee_install(&mut running, request).await {
        Ok(Some(Exit::Code(0))) => Ok(()),
        Ok(_) => {
            let said = timeout(LAST_WORDS, said).await.ok().and_then(Result::ok);
            let said = in_short(&said.unwrap_or_default());
            Err(AdapterInstallError::Failed { package, said })
        }
        Err(error) => {
            running.kill().await;
            running.wait().await;
            Err(error)
        }
    }
}

async fn oversee_install(
    running: &mut Running,
    request: &InstallRequest<'_>,
) -> Result<Option<Exit>, AdapterInstallError> {
    // All branches are cancel-safe.
    tokio::select! {
        ended = running.wait() => Ok(ended.exit),
        () = request.cancel.cancelled() => Err(AdapterInstallError::Cancelled),
        () = tokio::time::sleep(request.deadline) => Err(AdapterInstallError::TimedOut {
            package: request.adapter.package,
            after: request.deadline,
        }),
    }
}

fn install_command(npm: PathBuf, desk: &Path, request: &InstallRequest<'_>) -> Command {
    let adapter = request.adapter;
    let mut command = Command::new(npm, desk);
    // Package scripts run any program at installation. The adapter needs none, so npm does not run them.
    command.args(["install", "--ignore-scripts", "--no-audit", "--no-fund"]);
    command.args([
        "--no-save",
        "--global=false",
        "--prefix=.",
        "--loglevel=error",
        "--",
    ]);
    command.args([format!("{}@{}", adapter.package, adapter.version)]);
    command.envs(request.environment.vars.iter());
    command
}

/// The first lines with the error itself, without the stack and the path of the log.
fn in_short(said: &str) -> String {
    let lines = said
        .lines()
        .map(|line| line.trim_start_matches("npm error").trim());
    let is_news = |line: &&str| {
        let noise = [
            "at ",
            "code: ",
            "errno",
            "syscall",
            "A complete log",
            "type: ",
        ];
        !line.is_empty() && !noise.iter().any(|start| line.starts_with(start))
    };
    let lines: Vec<_> = lines.filter(is_news).take(MOST_LINES).collect();
    let text = lines.join("; ");
    match text.char_indices().nth(LONGEST_SAID) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None if text.is_empty() => "it printed nothing".to_owned(),
        None => text,
    }
}

/// Removes the remains of killed installations. An installation that another process is running fails, and can be tried again.
fn remove_unfinished(root: &Path) {
    for entry in fs::read_dir(root).into_iter().flatten().flatten() {
        if entry.file_name().to_string_lossy().starts_with(UNFINISHED) {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::in_short;

    #[test]
    fn a_failure_of_npm_is_reported_in_one_line() {
        let said = "npm error code ECONNREFUSED\nnpm error syscall connect\nnpm error errno ECONNREFUSED\n\
            npm error FetchError: request to http://r/x failed, reason: connect ECONNREFUSED\n\
            npm error     at ClientRequest.<anonymous> (/usr/lib/index.js:130:14)\n\
            npm error A complete log of this run can be found in: /home/u/.npm/_logs/x.log\n";
        assert_eq!(
            in_short(said),
            "code ECONNREFUSED; FetchError: request to http://r/x failed, reason: connect ECONNREFUSED"
        );
        assert_eq!(in_short(""), "it printed nothing");
    }
}
