//! `run`: an agent on a prompt, with an outcome that can be trusted.

mod args;
mod job;
mod last_message;
mod present;
pub(super) mod signals;
mod stdin;
mod terminal_prompter;

pub(super) use args::{Args, RunExtras};
pub(super) use present::explain_end;

use anyhow::anyhow;
use lapidary::demo::{DEMO, DemoAttendance};
use lapidary::engine::headless::{Job, JobError};
use lapidary::engine::run::Run;
use lapidary::normalize::{ProcessEnd, StopCause};
use lapidary::vocab::Cause;

use self::last_message::LastMessage;
use self::signals::SignalListener;
use super::job::JobRequest;
use super::sink::{self, OutputFormat};
use crate::exit::CommandExit;
use crate::failure::Failure;
use crate::invocation::Invocation;
use crate::printer::Printer;

/// A run that a command asks for, beside the options of `run`.
#[derive(Debug, Default)]
pub(super) struct RunRequest<'a> {
    /// The prompt.
    pub(super) prompt: PromptSource<'a>,
    /// The agent definition that runs; without it, the agent of `--agent`.
    pub(super) own_agent: Option<&'a str>,
    /// Whether a person at the terminal answers permission requests.
    attendance: DemoAttendance,
}

/// The origin of a prompt.
#[derive(Debug, Clone)]
pub(super) enum PromptSource<'a> {
    /// An argument, with data on stdin before it; without it `--prompt`, a file, or stdin.
    Argument(Option<&'a str>),
    /// This text alone.
    Text(String),
}

impl Default for PromptSource<'_> {
    fn default() -> Self {
        Self::Argument(None)
    }
}

impl<'a> RunRequest<'a> {
    /// A run of the agent of `--agent`.
    pub(super) fn new(prompt: Option<&'a str>) -> Self {
        Self {
            prompt: PromptSource::Argument(prompt),
            ..Self::default()
        }
    }

    /// A run of an agent definition.
    pub(super) fn of_definition(name: &'a str, prompt: PromptSource<'a>) -> Self {
        Self {
            prompt,
            own_agent: Some(name),
            ..Self::default()
        }
    }

    /// A run of the agent of `--agent` on this text alone.
    pub(super) fn with_text(prompt: String) -> Self {
        Self {
            prompt: PromptSource::Text(prompt),
            ..Self::default()
        }
    }

    /// The words of the prompt, as far as they are known before stdin is read.
    fn prompt_words(&self) -> Option<&str> {
        match &self.prompt {
            PromptSource::Argument(words) => *words,
            PromptSource::Text(text) => Some(text),
        }
    }
}

pub(crate) fn run(args: &Args, out: &mut Printer) -> Result<CommandExit, Failure> {
    let request = RunRequest::new(args.prompt.as_deref());
    carry_out(request, &args.with, out, |job| {
        job.resume.clone_from(&args.resume);
        job.session_id.clone_from(&args.session_id);
        Ok(())
    })
}

/// Runs an agent on a prompt. The session and an agent of our own are for `choose` to fill in.
pub(super) fn carry_out(
    mut request: RunRequest<'_>,
    args: &RunExtras,
    out: &mut Printer,
    choose: impl FnOnce(&mut Job) -> Result<(), Failure>,
) -> Result<CommandExit, Failure> {
    let listener = SignalListener::register_signals(&out.invocation);
    let format = args.output_format(out);
    let id = args
        .common
        .run_id
        .clone()
        .unwrap_or_else(lapidary::engine::fresh_run);
    let mut options = sink::normalize_options(&id, format, args.common.no_raw, args.common.deltas);
    options.show_files = args.common.show_files;
    let (attendant, asking) = terminal_prompter::terminal_attendance(&out.invocation).unzip();
    if asking.is_some() {
        request.attendance = DemoAttendance::Attended;
    }
    let (last, wanted) = match LastMessage::new(args) {
        Ok(last) => (
            last,
            job::run_job(&request, args, format, options.clone(), &out.invocation),
        ),
        Err(failure) => (None, Err(failure)),
    };
    let wanted = wanted.and_then(|mut job| choose(&mut job).map(|()| job));
    let mut is_demo = false;
    let run = match wanted {
        Ok(mut job) => {
            job.speaking.attendant = attendant.unwrap_or_default();
            is_demo = job.agent.name() == DEMO;
            Job::start(&job)
        }
        Err(failure) if failure.exit == CommandExit::Usage => return Err(failure),
        // A run that cannot start still has a `run_end`, for readers of the events.
        Err(failure) => {
            let wanted = JobRequest::new(&args.common, options.clone(), &out.invocation);
            let wanted = wanted.own_agent(request.own_agent);
            let refused = wanted.refused_run(request.prompt_words());
            Run::refused(
                &options,
                wanted.agent_family(),
                &refusal_end(&failure),
                refused.as_ref(),
            )
        }
    };
    let heard = listener.stop_run_with(run.stopper());
    // As in `connect`: a program that was killed reads no more, and an agent that is silent would never be stopped by a failed write.
    let stopper = run.stopper();
    out.invocation.on_unread_stdout(move || stopper.cancel());
    let showing = present::RunShowing {
        format,
        args,
        id: &id,
        asking,
        last,
        is_demo,
    };
    present::present_run(run, heard, showing, out)
}

/// The prompt that stdin is, to its end.
pub(super) fn prompt_on_stdin(invocation: &Invocation) -> Result<String, Failure> {
    stdin::read_prompt(invocation)
}

/// Why a job cannot be run, for commands that print no events.
pub(super) fn job_failure(error: &JobError) -> Failure {
    let ending = ProcessEnd::from(error);
    let cause = ending.stopped.as_ref().map(|stopped| &stopped.cause);
    let failure = Failure {
        exit: cause.map_or(CommandExit::Internal, CommandExit::from_outcome),
        ..Failure::internal(anyhow!("{error}"))
    };
    error.hint().into_iter().fold(failure, Failure::with_hint)
}

pub(super) fn refusal_end(failure: &Failure) -> ProcessEnd {
    let stopped = StopCause {
        cause: match failure.exit {
            CommandExit::BadInput if failure.is_config => Cause::BadConfig,
            CommandExit::BadInput => Cause::BadInput,
            CommandExit::AuthRequired => Cause::AuthRequired,
            _ => Cause::Internal,
        },
        message: format!("{:#}", failure.error),
        hint: failure.hint.clone(),
    };
    ProcessEnd {
        stopped: Some(stopped),
        ..ProcessEnd::default()
    }
}

impl RunExtras {
    pub(super) fn has_prompt(&self) -> bool {
        self.prompt_file.is_some() || self.prompt_option.is_some()
    }

    pub(super) fn has_attachments(&self) -> bool {
        !self.attach.is_empty()
    }

    pub(super) fn has_format(&self) -> bool {
        self.format.is_some()
    }

    /// Text for people, events for programs.
    fn output_format(&self, out: &Printer) -> OutputFormat {
        if self.quiet {
            return OutputFormat::Result; // the result has the last message
        }
        let usual = if out.is_terminal {
            OutputFormat::Text
        } else {
            OutputFormat::Events
        };
        self.format.unwrap_or(usual)
    }
}
