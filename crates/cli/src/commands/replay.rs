//! `replay`: a recording as an agent.

use std::ffi::OsString;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, anyhow};
use lapidary::engine::process::{Exit as Ending, Stdio};
use lapidary::engine::replay::{Dialogue, DialogueStage, Replay, ReplayPace, ReplayRate};

use super::runs::common::{RunStore, run_or_path};
use crate::exit::CommandExit;
use crate::failure::Failure;
use crate::invocation::Invocation;
use crate::printer::Printer;
use crate::terminal_filter::TerminalFilter;

/// Play a recorded run back, as an agent would: same output, same timing, same end
///
/// Needs no model, no account and no network. The agent's stdout and stderr are written again, byte for byte and at the recorded times; then the replay ends as the agent did, with its exit code or by its signal. Stdin is not read.
///
/// A recording of an agent that speaks ACP is played as an agent that any ACP client can talk to: it waits for the client where the
/// original did, and answers under the client's own ids. Requests and answers are matched by method and id alone. A request that is not in the recording is refused with -32601; what else the client does differently is noted on stderr.
///
/// On a terminal, where it could do harm, the output is filtered.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  lapidary replay 20261115T12
  lapidary replay --fast 20261115T120000-1a2b3c4d > run.jsonl
  lapidary replay ~/.local/state/lapidary/runs/20261115T120000-1a2b3c4d/run.json --speed 10

A recording stands in for Gemini CLI in your own tests. Write a program that plays it and ignores its arguments:
  printf '#!/bin/sh\\nexec lapidary replay --fast tests/login \"$@\"\\n' > fake-gemini
  chmod +x fake-gemini
  GEMINI_CLI_PATH=./fake-gemini lapidary run --format result 'fix the login'

Any client of an ACP agent can be tested with a recording or a transcript of one. Record it once, then let the client start the replay:
  lapidary record --record-dir tests --run-id login -- gemini --acp
  lapidary replay --fast tests/login

Exits as the recorded agent did; with 1 if its end was not recorded; with 13 if the recording is corrupt, which is \
found out before anything is played.")]
pub(crate) struct Args {
    /// A recording's directory or `run.json`, the id of a run or its beginning, an ACP transcript, or a file with an agent's stdout
    recording: PathBuf,
    /// Play without waiting
    #[arg(long, conflicts_with = "speed")]
    fast: bool,
    /// Play so many times as fast
    #[arg(
        long,
        value_name = "TIMES",
        default_value_t = 1.0,
        allow_negative_numbers = true
    )]
    speed: f64,
    /// How long to wait for missing client messages before failing a request
    #[arg(
        long,
        value_name = "TIME",
        default_value = "5s",
        value_parser = crate::durations::time_or_zero,
        allow_negative_numbers = true
    )]
    patience: Duration,
    /// Where runs are recorded [default: `$XDG_STATE_HOME/lapidary/runs`]
    #[arg(long, value_name = "DIR")]
    record_dir: Option<PathBuf>,
    /// Arguments for an agent, which a recording ignores
    #[arg(
        value_name = "ARGS",
        trailing_var_arg = true,
        allow_hyphen_values = true
    )]
    _ignored: Vec<OsString>,
}

pub(crate) fn run(args: &Args, out: &mut Printer) -> Result<CommandExit, Failure> {
    let pace = replay_pace(args)?;
    let patience = args.patience;
    let part = open(args, &out.invocation)?;
    let exit = part.recorded_exit();
    let invocation = out.invocation.clone();
    let mut err = TerminalFilter::new(invocation.stderr_writer(), invocation.is_stderr_terminal());
    let mut out = out.foreign_bytes();
    match part {
        ReplayPart::Run(replay) => replay.play(pace, &mut out, &mut err)?,
        ReplayPart::Dialogue(dialogue) => {
            let stage = DialogueStage {
                out: &mut out,
                err: &mut err,
                note: &mut |note| invocation.print_message(&format!("note: {note}")),
                rate: ReplayRate { pace, patience },
            };
            dialogue.play(client_input(&invocation)?, stage)?;
        }
    }
    out.finish()?;
    // A closed stderr does not change how the replay ends.
    let _ = err.finish();
    Ok(end_as(exit, &invocation))
}

/// A headless run or an ACP conversation to replay.
enum ReplayPart {
    Run(Replay),
    Dialogue(Dialogue),
}

impl ReplayPart {
    fn recorded_exit(&self) -> Option<Ending> {
        match self {
            Self::Run(replay) => replay.exit(),
            Self::Dialogue(dialogue) => dialogue.exit(),
        }
    }
}

/// The client's input. A closed stdin counts as an empty one.
fn client_input(invocation: &Invocation) -> Result<File, Failure> {
    let stdin = invocation.stdin_file();
    let stdin = stdin.or_else(|_| Stdio::null().map(|null| null.stdin.into()));
    stdin
        .context("cannot read stdin")
        .map_err(Failure::internal)
}

fn replay_pace(args: &Args) -> Result<ReplayPace, Failure> {
    if args.fast {
        return Ok(ReplayPace::AtOnce);
    }
    if args.speed.is_finite() && args.speed > 0.0 {
        return Ok(ReplayPace::Times(args.speed));
    }
    let failure = Failure::usage(anyhow!("--speed must be more than 0"));
    Err(failure.with_hint("--fast plays without waiting"))
}

fn open(args: &Args, invocation: &Invocation) -> Result<ReplayPart, Failure> {
    let name = args.recording.as_path();
    let path = find_recording(name, args.record_dir.as_deref(), invocation)?;
    let opened = match Dialogue::open(&path) {
        Ok(Some(dialogue)) => Ok(ReplayPart::Dialogue(dialogue)),
        Ok(None) => Replay::open(&path).map(ReplayPart::Run),
        Err(error) => Err(error),
    };
    opened.map_err(Failure::bad_input)
}

/// Resolves an existing path to itself, and any other name to the run whose id it is or begins.
fn find_recording(
    name: &Path,
    directory: Option<&Path>,
    invocation: &Invocation,
) -> Result<PathBuf, Failure> {
    if let Some(found) = run_or_path(name, directory, invocation)? {
        return Ok(found);
    }
    let (name, root) = (name.display(), RunStore::open(directory, invocation)?.root);
    let failure = Failure::bad_input(anyhow!("there is no recording `{name}`"));
    Err(failure.with_hint(format!(
        "`lapidary runs list` shows those in `{}`; `lapidary run --agent demo hello` makes one",
        root.display()
    )))
}

/// Ends as that process ended.
fn end_as(exit: Option<Ending>, invocation: &Invocation) -> CommandExit {
    match exit {
        Some(Ending::Code(code)) => CommandExit::Run(u8::try_from(code).unwrap_or(u8::MAX)),
        Some(Ending::Signal(number)) => die_of(number, invocation),
        None => {
            invocation.print_message(
                "error: the recording has no end: the process that recorded it was killed",
            );
            CommandExit::Internal
        }
    }
}

/// Ends the process by a signal. One that does not end it becomes the exit code that a shell would show.
fn die_of(number: i32, invocation: &Invocation) -> CommandExit {
    invocation.die_of(number);
    CommandExit::Run(u8::try_from(number + 128).unwrap_or(u8::MAX))
}
