//! Gemini CLI on the user's terminal, in a session that is kept safe meanwhile.

use anyhow::{Context as _, anyhow};
use lapidary::engine::headless::{Job, ScreenJob};
use lapidary::engine::process::{Command, Exit as ProcessExit, TreeExit};
use lapidary::engine::session_guard::{ClaimOutcome, GuardedSessions, SessionGuard};
use lapidary::normalize::NormalizeOptions;
use tokio::runtime::Builder;

use super::super::super::job::JobRequest;
use super::super::super::run::{RunExtras, job_failure};
use super::other_agent::OtherAgentSession;
use crate::exit::CommandExit;
use crate::failure::Failure;
use crate::invocation::Invocation;
use crate::system;

/// Opens it, and waits for its end.
pub(super) fn open(
    with: &RunExtras,
    invocation: &Invocation,
    choose: impl FnOnce(&mut Job) -> Result<(), Failure>,
) -> Result<CommandExit, Failure> {
    let options = NormalizeOptions::new(&lapidary::engine::fresh_run());
    let mut job = JobRequest::new(&with.common, options, invocation).make_job()?;
    choose(&mut job)?;
    print_notices(&job.notices, invocation);
    let screen = job.screen().map_err(|error| job_failure(&error))?;
    let kept = screen.safekeeping.as_ref();
    let kept = kept.map(|guard| kept_safe(guard, invocation)).transpose()?;
    let ended = run_screen_job(&job, screen);
    if let Some(kept) = kept {
        print_notices(&kept.after().notices, invocation);
    }
    exit_of(&ended?)
}

/// Opens another agent by its own command, and waits for its end. That agent does not lose the session: its files are copied before
/// and after.
pub(super) fn open_other(
    other: &OtherAgentSession,
    with: &RunExtras,
    invocation: &Invocation,
) -> Result<CommandExit, Failure> {
    let options = NormalizeOptions::new(&lapidary::engine::fresh_run());
    let mut common = with.common.clone();
    // The job has the supervisor and the directory; the agent is started by its own command.
    common.agent = None;
    let job = JobRequest::new(&common, options, invocation).make_job()?;
    let (program, args) = other.program(&job.environment)?;
    let directory = job.config.working_dir_in(&job.environment.dir);
    let mut command = Command::new(program, directory);
    command.args(args);
    command.envs(job.environment.vars.clone());
    command.mark("LAPIDARY_MARK", lapidary::engine::fresh_run());
    let guard = other.session_guard(&job, command.directory());
    let kept = guard.as_ref().map(|guard| kept_safe(guard, invocation));
    let kept = kept.transpose()?;
    let screen = ScreenJob {
        command,
        safekeeping: None,
    };
    let ended = run_screen_job(&job, screen);
    if let Some(kept) = kept {
        print_notices(&kept.after().notices, invocation);
    }
    exit_of(&ended?)
}

/// Without that the agent does not start.
fn kept_safe(
    safekeeping: &SessionGuard,
    invocation: &Invocation,
) -> Result<GuardedSessions, Failure> {
    let unsafe_because = |why: String| {
        let error = anyhow!("the session cannot be kept safe while it is continued: {why}");
        Failure::internal(error).with_hint("`--no-vault` goes on without protection")
    };
    if let ClaimOutcome::Taken(sentence) = safekeeping.claim().map_err(unsafe_because)? {
        let failure = Failure {
            exit: CommandExit::Timeout,
            ..Failure::internal(anyhow!(sentence))
        };
        return Err(failure.with_hint("try again when it has ended"));
    }
    let kept = safekeeping.before().map_err(unsafe_because)?;
    print_notices(&kept.notices, invocation);
    Ok(kept)
}

fn run_screen_job(job: &Job, screen: ScreenJob) -> Result<TreeExit, Failure> {
    let runtime = Builder::new_current_thread().enable_all().build();
    let runtime = runtime.context("cannot set up a runtime");
    runtime.map_err(Failure::internal)?.block_on(async {
        let stop = system::leave_terminal_signals();
        let stop = stop.context("cannot listen for signals");
        let stop = stop.map_err(Failure::internal)?;
        let ended = job.run_screen(screen.command, stop).await;
        ended.map_err(|error| {
            let exit = CommandExit::AgentMissing;
            Failure {
                exit,
                ..Failure::internal(anyhow!(error))
            }
        })
    })
}

fn print_notices(notices: &[String], invocation: &Invocation) {
    for notice in notices {
        invocation.print_message(&format!("note: {notice}"));
    }
}

/// The exit code of the agent, as a shell reports it.
fn exit_of(ended: &TreeExit) -> Result<CommandExit, Failure> {
    let code = match ended.exit {
        Some(ProcessExit::Code(code)) => code,
        Some(ProcessExit::Signal(number)) => number + 128,
        None => {
            let error = anyhow!("the supervisor was lost: how the agent ended is not known");
            return Err(Failure::internal(error));
        }
    };
    Ok(CommandExit::Run(u8::try_from(code).unwrap_or(u8::MAX)))
}
