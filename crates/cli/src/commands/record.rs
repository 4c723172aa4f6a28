//! `record`: records any program without changing its behaviour.

use std::ffi::OsString;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use anyhow::{Context as _, anyhow};
use lapidary::engine::config::Config;
use lapidary::engine::detect::SearchEnvironment;
use lapidary::engine::process::{Command, Exit as Ending, StartError, Stdio, Supervisor};
use lapidary::engine::record::{
    CaptureRequest, CaptureResult, CapturedPiece, RunningCapture, TakeError,
};
use lapidary::engine::recording::{KeepLimits, RecordError};
use lapidary::engine::session_guard::{
    ClaimOutcome, GuardedSessions, ResumeTarget, SessionClaims, SessionGuard,
};
use lapidary::gemini::Vars;
use lapidary::sessions::vault::RetentionSettings;
use lapidary::sessions::{SelectionMode, SessionListing, SessionProject, select};

use super::run::signals::SignalListener;
use super::sessions::SessionsContext;
use crate::exit::CommandExit;
use crate::failure::Failure;
use crate::invocation::Invocation;
use crate::printer::Printer;
use crate::terminal_filter::TerminalFilter;
use lapidary::prepare::{recorded_in, retention, vault_in};

/// Record any program: its input and output with their times, and its end
///
/// Stands between the program and its client, headless or in a dialogue: stdin is passed on to it, its stdout and stderr
/// are passed on as they come, and it is never held up by a slow reader. It runs under a supervisor: nothing that it starts
/// outlives it. On a terminal, where it could do harm, its output is filtered.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  lapidary record -- gemini -o stream-json -p 'fix the tests' > run.jsonl
  lapidary record --record-dir tests --run-id login -- gemini -o stream-json -p 'fix it'
  lapidary replay tests/login

An editor that starts `gemini --acp` is recorded by letting it start `lapidary record -- gemini --acp` instead. \
`lapidary replay` plays such a recording as an agent that any ACP client can talk to. \
Sessions of Gemini CLI are copied into the vault before, and what it has destroyed is put back after.

Ctrl-C asks the program to end; a second one ends it at once.

Exits as the program did, with 128 and the number of its signal if it ended by one; with 10 if it cannot be started.")]
pub(crate) struct Args {
    /// The name of the recording [default: timestamp plus random suffix]
    #[arg(long, value_name = "ID")]
    run_id: Option<String>,
    /// Where it is put, to stay [default: `$XDG_STATE_HOME/lapidary/runs`, where old ones go]
    #[arg(long, value_name = "DIR")]
    record_dir: Option<PathBuf>,
    /// Do not keep the project's sessions safe while Gemini CLI runs
    #[arg(long)]
    no_vault: bool,
    /// The program and its arguments
    #[arg(value_name = "CMD", required = true, trailing_var_arg = true)]
    command: Vec<OsString>,
}

pub(crate) fn run(args: &Args, out: &mut Printer) -> Result<CommandExit, Failure> {
    let listener = SignalListener::register_signals(&out.invocation);
    let request = capture_request(args, &out.invocation)?;
    let kept = kept_safe(args, &out.invocation)?;
    let stdin = out.invocation.stdin_file();
    let stdin = stdin.or_else(|_| Stdio::null().map(|null| null.stdin.into())); // a closed one is an empty one
    let stdin = stdin.context("cannot read stdin");
    let mut take = RunningCapture::start(request, stdin.map_err(Failure::internal)?);
    listener.stop_run_with(take.stopper());
    pass_on(&mut take, out);
    let taken = take.finish();
    // Restores the sessions that the program destroyed, however it ended.
    for sentence in kept.map(GuardedSessions::after).unwrap_or_default().notices {
        out.print_message(&format!("note: {sentence}"));
    }
    let taken = taken.map_err(capture_failure)?;
    say_where(&taken, &out.invocation);
    Ok(capture_exit(&taken, &out.invocation))
}

/// The sessions that the program may destroy, if it is Gemini CLI. Over ACP the client chooses the projects later, so all of them
/// are guarded.
fn kept_safe(
    args: &Args,
    invocation: &Arc<Invocation>,
) -> Result<Option<GuardedSessions>, Failure> {
    let says = |word: &str| {
        let words = args.command.iter().map(|arg| arg.to_string_lossy());
        words.into_iter().any(|arg| arg.contains(word))
    };
    if args.no_vault || !says("gemini") {
        return Ok(None);
    }
    let place = SessionsContext::seen_with(invocation, &assigned_variables(&args.command))?;
    let projects = if says("acp") {
        place.store.projects()
    } else {
        vec![place.store.project(&place.project_root(None)?)]
    };
    let safekeeping = SessionGuard {
        vault: vault_in(&place.environment)?,
        retention: agreed_retention(&projects, &place),
        resume: resumed_session(&args.command, &projects, SystemTime::now()),
        projects,
        claims: SessionClaims::default(),
        copies: None,
    };
    if let Ok(ClaimOutcome::Taken(why)) = safekeeping.claim() {
        let failure = Failure {
            exit: CommandExit::Timeout,
            ..Failure::internal(anyhow!(why))
        };
        let hint = "try again when it has ended, or go without protection: --no-vault";
        return Err(failure.with_hint(hint));
    }
    let kept = safekeeping.before();
    let kept = kept.map_err(|why| Failure::internal(anyhow!(why)))?;
    for sentence in &kept.notices {
        invocation.print_message(&format!("note: {sentence}"));
    }
    Ok(Some(kept))
}

/// The session that `-r` or `--resume` names, if the command line has one of them.
fn resumed_session(
    command: &[OsString],
    projects: &[SessionProject],
    now: SystemTime,
) -> ResumeTarget {
    let words: Vec<_> = command.iter().map(|word| word.to_string_lossy()).collect();
    let named = words.iter().enumerate().find_map(|(at, word)| {
        let next = || words.get(at + 1).map(ToString::to_string);
        let next = || next().filter(|it| !it.starts_with('-'));
        match word.as_ref() {
            "-r" | "--resume" => Some(next().unwrap_or_else(|| "latest".to_owned())),
            word => word.strip_prefix("--resume=").map(String::from),
        }
    });
    let Some(named) = named else {
        return ResumeTarget::Nothing;
    };
    let listing = SessionListing::read(projects, now);
    match select(&listing, &named, SelectionMode::Strict) {
        Ok(found) => ResumeTarget::One(found.id().to_owned()),
        Err(_) => ResumeTarget::Nothing,
    }
}

/// The variables that the program gets from `env` or the like: it may have another home than we have.
fn assigned_variables(command: &[OsString]) -> Vec<(OsString, OsString)> {
    let words = command.iter().filter_map(|word| word.to_str());
    let words = words.take_while(|word| !is_gemini(word));
    let pairs = words.filter_map(|word| word.split_once('='));
    pairs
        .filter(|(name, _)| ["GEMINI_CLI_HOME", "HOME", "USERPROFILE"].contains(name))
        .map(|(name, value)| (name.into(), value.into()))
        .collect()
}

/// True for a word that names the program itself.
fn is_gemini(word: &str) -> bool {
    !word.contains('=') && word.contains("gemini")
}

/// The retention settings of Gemini CLI, if all projects have the same. If they differ, no session counts as deleted on purpose.
fn agreed_retention(
    projects: &[SessionProject],
    place: &SessionsContext,
) -> Option<RetentionSettings> {
    let vars = Vars::new(&place.environment.vars);
    let mut said = projects.iter().map(|project| {
        let root = project.root.as_deref()?;
        RetentionSettings::of_project(&place.store.home, root, vars)
    });
    let first = said.next()?;
    said.all(|other| other == first).then_some(first)?
}

fn capture_request(args: &Args, invocation: &Invocation) -> Result<CaptureRequest, Failure> {
    let [program, rest @ ..] = args.command.as_slice() else {
        return Err(Failure::usage(anyhow!("no program was named")));
    };
    let here = invocation
        .current_dir()
        .context("cannot tell where this is");
    let here = here.map_err(Failure::bad_input)?;
    let environment = SearchEnvironment::from_vars(invocation.all_variables(), &here);
    let own = invocation
        .program_path()
        .context("cannot tell where this program is");
    let mut records = recorded_in(args.record_dir.as_deref(), &environment)?;
    if args.record_dir.is_none() {
        // A configuration that cannot be read may say that everything is kept.
        records.limits = retention(&environment).unwrap_or(KeepLimits::NONE);
    }
    let mut command = Command::new(program, here);
    command.args(rest.to_vec()).envs(environment.vars);
    let name = Path::new(program).file_name().unwrap_or(program);
    Ok(CaptureRequest {
        run: args
            .run_id
            .clone()
            .unwrap_or_else(lapidary::engine::fresh_run),
        agent: name.to_string_lossy().into_owned(),
        command,
        supervisor: Supervisor::at(own.map_err(Failure::internal)?),
        records,
        grace: Config::default().grace_or_default(),
    })
}

/// Passes on the program's output. If stdout cannot be written to any more, asks the program to end, as a closed pipe would.
fn pass_on(take: &mut RunningCapture, out: &mut Printer) {
    let is_terminal = out.invocation.is_stderr_terminal();
    let mut err = TerminalFilter::new(out.invocation.stderr_writer(), is_terminal);
    let mut out = out.foreign_bytes();
    while let Some(piece) = take.blocking_next() {
        let passed = match piece {
            CapturedPiece::Out(bytes) => out.write_all(&bytes).and_then(|()| out.flush()),
            CapturedPiece::Err(bytes) => {
                // A closed stderr is no reason to stop.
                let _ = err.write_all(&bytes);
                Ok(())
            }
        };
        if passed.is_err() {
            take.stopper().cancel();
        }
    }
    let _ = out.finish();
    let _ = err.finish();
}

fn say_where(taken: &CaptureResult, invocation: &Invocation) {
    if let Some(problem) = &taken.ended_because {
        invocation.print_message(&format!("error: the program was ended: {problem}"));
    }
    let directory = taken.directory.display();
    invocation.print_message(&format!("note: recorded in `{directory}`"));
}

fn capture_exit(taken: &CaptureResult, invocation: &Invocation) -> CommandExit {
    match taken.exit {
        _ if taken.ended_because.is_some() => CommandExit::Internal,
        Some(Ending::Code(code)) => CommandExit::Run(u8::try_from(code).unwrap_or(u8::MAX)),
        Some(Ending::Signal(number)) => {
            CommandExit::Run(u8::try_from(number + 128).unwrap_or(u8::MAX))
        }
        None => {
            invocation.print_message(
                "error: the supervisor was lost: how the program ended is not known",
            );
            CommandExit::Internal
        }
    }
}

fn capture_failure(error: TakeError) -> Failure {
    let exit = match &error {
        TakeError::Start(StartError::Missing { .. } | StartError::Spawn { .. }) => {
            CommandExit::AgentMissing
        }
        TakeError::Record(RecordError::Name { .. } | RecordError::Exists { .. }) => {
            CommandExit::BadInput
        }
        _ => CommandExit::Internal,
    };
    Failure {
        exit,
        ..Failure::internal(error)
    }
}
