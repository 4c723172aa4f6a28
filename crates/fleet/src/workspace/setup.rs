//! The setup of a workspace: a command of the worker's own configuration, with a deadline.

use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::path::Path;
use std::time::Duration;

use lapidary::engine::detect::SearchEnvironment;
use lapidary::engine::process::{Command, Exit, StartError, Stdio, Supervisor};
use tokio::time::sleep;

/// The most bytes of the end of its output that go into the message.
const TAIL: u64 = 2048;

/// A command that runs in each workspace before the agent does. It is the worker's: no ticket and no repository names one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SetupCommand {
    /// The command, for the shell.
    pub command: String,
    /// How long it may take.
    pub timeout: Duration,
}

/// Why a setup failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SetupError {
    /// The shell cannot be started.
    #[error("cannot start the setup command")]
    Start(#[from] StartError),
    /// Its output cannot be kept.
    #[error("cannot keep the output of the setup command")]
    Io(#[from] io::Error),
    /// It took too long.
    #[error("the setup command did not end within {} seconds", after.as_secs_f64())]
    TimedOut {
        /// How long it was given.
        after: Duration,
    },
    /// It was ended, because its ticket was.
    #[error("the setup command was ended with its ticket")]
    Stopped,
    /// It failed.
    #[error("the setup command failed ({exit}): {said}")]
    Failed {
        /// How it ended.
        exit: String,
        /// The end of its output.
        said: String,
    },
}

/// Where and how a setup command runs.
#[derive(Debug, Clone, Copy)]
pub struct SetupPlace<'a> {
    /// The workspace.
    pub tree: &'a Path,
    /// A directory for its output, which the agent cannot write.
    pub beside: &'a Path,
    /// Its variables.
    pub environment: &'a SearchEnvironment,
    /// Its supervisor.
    pub supervisor: &'a Supervisor,
}

impl SetupCommand {
    /// Runs it in a workspace. It is ended when `stopped` is done.
    pub async fn run(
        &self,
        place: SetupPlace<'_>,
        stopped: impl Future<Output = ()>,
    ) -> Result<(), SetupError> {
        let mut command = Command::new("/bin/sh", place.tree);
        command.args(["-c", &self.command]);
        command.envs(place.environment.vars.clone());
        command.mark("LAPIDARY_MARK", lapidary::engine::fresh_run());
        let path = place.beside.join("setup.log");
        let output = File::create(&path)?;
        let input = File::open("/dev/null")?;
        let stdio = Stdio::files(input, output.try_clone()?, output);
        let mut running = place.supervisor.start(command, stdio).await?;
        // All of these can be cancelled.
        let ended = tokio::select! {
            ended = running.wait() => Ok(ended),
            () = sleep(self.timeout) => Err(SetupError::TimedOut { after: self.timeout }),
            () = stopped => Err(SetupError::Stopped),
        };
        let ended = match ended {
            Ok(ended) => ended,
            Err(error) => {
                running.kill().await;
                running.wait().await;
                return Err(error);
            }
        };
        let exit = match ended.exit {
            Some(Exit::Code(0)) => return Ok(()),
            Some(Exit::Code(code)) => format!("exit code {code}"),
            Some(Exit::Signal(number)) => format!("signal {number}"),
            None => "its supervisor was lost".to_owned(),
        };
        let said = tail(&path).unwrap_or_default();
        Err(SetupError::Failed { exit, said })
    }
}

fn tail(path: &Path) -> io::Result<String> {
    let mut file = File::open(path)?;
    let length = file.metadata()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(TAIL)))?;
    let mut bytes = Vec::new();
    file.take(TAIL).read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).trim().to_owned())
}
