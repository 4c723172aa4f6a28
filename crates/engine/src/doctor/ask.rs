//! Runs a program for its output: supervised, with a deadline, and with a limit on the output.

use std::fs::{File, OpenOptions};
use std::io::{self, Read as _};
use std::path::Path;
use std::time::Duration;

use tokio::time::{Instant, interval, timeout};

use crate::fresh_run;
use crate::process::{Command, Exit, Running, StartError, Stdio, Supervisor};

/// How much of an answer is read.
const LONGEST: u64 = 64 * 1024;

/// A program that writes more than this is not answering.
const FLOOD: u64 = 8 * 1024 * 1024;

/// How often it is looked whether it floods.
const LOOK: Duration = Duration::from_millis(50);

/// How long the supervisor may take to end a program that does not answer.
const PATIENCE: Duration = Duration::from_secs(10);

/// The output of a program.
pub(super) struct ProgramAnswer {
    pub(super) exit: Option<Exit>,
    pub(super) stdout: Vec<u8>,
    pub(super) stderr: Vec<u8>,
    pub(super) took: Duration,
}

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub(super) enum AskError {
    #[error("{}", with_source(.0))]
    Start(#[from] StartError),
    #[error("cannot store its output: {0}")]
    Files(#[from] io::Error),
    #[error("it did not answer within {} s", .0.as_secs())]
    Hung(Duration),
    #[error("it printed more than 8 MiB instead of an answer")]
    Flooded,
}

fn with_source(error: &StartError) -> String {
    match std::error::Error::source(error) {
        Some(source) => format!("{error}: {source}"),
        None => error.to_string(),
    }
}

/// Runs a program and reads its output.
pub(super) async fn ask_program(
    supervisor: &Supervisor,
    mut command: Command,
    scratch: &Path,
    patience: Duration,
) -> Result<ProgramAnswer, AskError> {
    let started = Instant::now();
    command.mark("LAPIDARY_RUN", fresh_run());
    let stdout = scratch_file(scratch, "stdout")?;
    let stderr = scratch_file(scratch, "stderr")?;
    let nothing = File::open("/dev/null")?;
    let streams = Stdio::files(nothing, stdout.try_clone()?, stderr.try_clone()?);
    let starting = timeout(patience, supervisor.start(command, streams)).await;
    let mut running = starting.map_err(|_| AskError::Hung(patience))??;
    let written = [stdout, stderr];
    // Waiting can be given up and taken up again.
    let ended = tokio::select! {
        ended = running.wait() => Ok(ended),
        () = wait_for_flood(&written) => Err(AskError::Flooded),
        () = tokio::time::sleep(patience) => Err(AskError::Hung(patience)),
    };
    match ended {
        Ok(ended) => Ok(ProgramAnswer {
            exit: ended.exit,
            stdout: output_beginning(scratch, "stdout")?,
            stderr: output_beginning(scratch, "stderr")?,
            took: started.elapsed(),
        }),
        Err(error) => {
            end_program(&mut running).await;
            Err(error)
        }
    }
}

async fn end_program(running: &mut Running) {
    running.kill().await;
    // The supervisor goes on if it takes longer.
    let _ = timeout(PATIENCE, running.wait()).await;
}

async fn wait_for_flood(files: &[File]) {
    let mut looks = interval(LOOK);
    loop {
        looks.tick().await;
        let is_flood = |file: &File| file.metadata().is_ok_and(|about| about.len() > FLOOD);
        if files.iter().any(is_flood) {
            return;
        }
    }
}

fn scratch_file(scratch: &Path, name: &str) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true);
    options.open(scratch.join(name))
}

fn output_beginning(scratch: &Path, name: &str) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let file = File::open(scratch.join(name))?;
    file.take(LONGEST).read_to_end(&mut bytes)?;
    Ok(bytes)
}
