//! Running the hooks of a plan.

use std::sync::Arc;
use std::time::Duration;

use lapidary_gemini::hooks::{Hook, HookPlan, HookSource, RunOrder};
use lapidary_wire::gemini::hooks::{HookEvent, HookInput, HookOutput};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::result::{HookAnswer, answer, read_flooded_answer};
use super::{AppliedEffect, HookContext, aggregate, effects, hook_name};
use crate::process::{CapturedOutput, CommandEnd, Exit, FinishedCommand, ShortCommand, StartError};
use crate::signals;

/// How many bytes of a hook's stdout are kept: a request to a model that it has edited fits.
pub const MOST_OUTPUT: usize = 16 << 20;

/// How many bytes of a hook's stderr are kept.
pub const MOST_STDERR: usize = 1 << 20;

/// How many `AfterTool` hooks run at once, of all runs. They have their own limit so that a hook that guards a call never waits
/// for them.
static AFTERWARDS: Semaphore = Semaphore::const_new(32);

/// The results of the hooks of a plan.
#[derive(Debug)]
pub struct HookResults {
    /// The event.
    pub event: HookEvent,
    /// The result of each hook, in the order of the plan.
    pub runs: Vec<HookResult>,
    /// Their merged output. None if no hook has an output.
    pub aggregate: Option<HookOutput>,
}

/// The result of one hook.
#[derive(Debug)]
pub struct HookResult {
    /// The hook.
    pub hook: Hook,
    /// The input of the hook.
    pub input: Arc<HookInput>,
    /// How it ended, if it was started at all.
    pub exit: Option<Exit>,
    /// How long it took.
    pub duration: Duration,
    /// Its stdout.
    pub stdout: CapturedOutput,
    /// Its stderr.
    pub stderr: CapturedOutput,
    /// The answer that output and exit code amount to.
    pub answer: HookAnswer,
    /// Why it has no answer that counts, if it has none.
    pub error: Option<HookError>,
}

/// Why a hook has no answer. None of these errors blocks by itself, as with Gemini CLI. Around an agent over ACP, a `BeforeTool`
/// hook that was not [heard](HookResult::unheard) holds the call back.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum HookError {
    /// It took too long, or left a process behind that kept its output open.
    #[error("it had not ended after {} ms", .after.as_millis())]
    TimedOut {
        /// How long it had.
        after: Duration,
        /// How many of its processes would not die.
        immortal: u32,
    },
    /// The run ended before it answered.
    #[error("it was ended before it had answered")]
    Cancelled,
    /// The run ended before it could be started.
    #[error("it was not started: the run had ended")]
    NotStarted,
    /// A signal killed it. Its output up to then counts all the same, as with Gemini CLI.
    #[error("it was killed by {}", signals::name(*.signal))]
    Killed {
        /// The signal's number.
        signal: i32,
    },
    /// It wrote more than is kept, so its answer is unknown.
    #[error("it wrote more than {most} bytes, of which the rest was not read")]
    TooMuch {
        /// How much is kept.
        most: usize,
    },
    /// It is a project's, and the project is not trusted.
    #[error("Security: Blocked execution of project hook in untrusted folder")]
    // the message of Gemini CLI
    Untrusted,
    /// It could not be started.
    #[error("it could not be started: {}", in_words(.0))]
    Start(#[from] StartError),
}

fn in_words(error: &StartError) -> String {
    match std::error::Error::source(error) {
        Some(source) => format!("{error}: {source}"),
        None => error.to_string(),
    }
}

impl HookResults {
    /// The effects of the merged output.
    pub fn effects(&self) -> Vec<AppliedEffect> {
        let output = self.aggregate.as_ref();
        output.map_or_else(Vec::new, |output| effects(self.event, output))
    }

    /// Whether every hook had an answer, or chose to have none.
    pub fn is_complete(&self) -> bool {
        self.runs.iter().all(|ran| ran.error.is_none())
    }
}

impl HookResult {
    /// Whether it ended well: only then does the next of a sequence get its output.
    pub fn is_success(&self) -> bool {
        self.error.is_none() && self.exit == Some(Exit::Code(0))
    }

    /// Why the hook's silence is no consent, and neither is its output before it died: it was not started, or did not end by
    /// itself. An agent can kill a hook, stop it, or starve it until its time is up. None if the hook is `failOpen`.
    pub fn unheard(&self) -> Option<String> {
        let name = hook_name(&self.hook);
        let why = match &self.error {
            _ if self.hook.fail_open => return None,
            Some(
                error @ (HookError::Start(_)
                | HookError::Killed { .. }
                | HookError::TimedOut { .. }
                | HookError::TooMuch { .. }),
            ) => error.to_string(),
            // The shell reports in its own exit code that a signal killed its command.
            None => {
                let signal = self.silent_signal()?;
                HookError::Killed { signal }.to_string()
            }
            Some(HookError::Cancelled | HookError::NotStarted | HookError::Untrusted) => {
                return None;
            }
        };
        Some(format!("the hook `{name}` was not heard: {why}"))
    }

    /// The signal in an exit code of a shell, if the hook said nothing.
    fn silent_signal(&self) -> Option<i32> {
        match self.exit {
            Some(Exit::Code(code @ 129..=192)) if self.answer.output.is_none() => Some(code - 128),
            _ => None,
        }
    }
}

/// Runs the hooks of a plan. Dropping this future kills the running hooks with all processes that they started.
pub async fn fire(
    plan: &HookPlan,
    input: HookInput,
    around: &HookContext,
    cancel: &CancellationToken,
) -> HookResults {
    let event = input.event();
    let runs = match (plan.order, plan.hooks.as_slice()) {
        (RunOrder::Parallel, [_, _, ..]) => at_once(&plan.hooks, input, around, cancel).await,
        _ => in_turn(&plan.hooks, input, around, cancel).await,
    };
    let outputs = runs.iter().filter_map(|ran| ran.answer.output.as_ref());
    HookResults {
        event,
        aggregate: aggregate(event, outputs),
        runs,
    }
}

/// Runs hooks one after the other. Each gets the input as the hooks before it changed it, unless the arguments are fixed. A
/// refusal does not keep the next hook from running.
async fn in_turn(
    hooks: &[Hook],
    input: HookInput,
    around: &HookContext,
    cancel: &CancellationToken,
) -> Vec<HookResult> {
    let is_fixed = around.arguments_are_fixed && input.event() == HookEvent::BeforeTool;
    let mut told = HookMessage::new(input);
    let mut runs = Vec::with_capacity(hooks.len());
    for hook in hooks {
        let ran = run(hook.clone(), told.clone(), around, cancel).await;
        let is_heard = ran.is_success() && !is_fixed;
        if let Some(output) = ran.answer.output.as_ref().filter(|_| is_heard) {
            let next = HookInput::clone(&told.input).after(output);
            if next != *told.input {
                told = HookMessage::new(next);
            }
        }
        runs.push(ran);
    }
    runs
}

async fn at_once(
    hooks: &[Hook],
    input: HookInput,
    around: &HookContext,
    cancel: &CancellationToken,
) -> Vec<HookResult> {
    let told = HookMessage::new(input);
    let around = Arc::new(around.clone());
    let mut running = JoinSet::new();
    for (place, hook) in hooks.iter().enumerate() {
        let (hook, told) = (hook.clone(), told.clone());
        let (around, cancel) = (Arc::clone(&around), cancel.clone());
        running.spawn(async move { (place, run(hook, told, &around, &cancel).await) });
    }
    let mut runs = running.join_all().await;
    runs.sort_by_key(|(place, _)| *place);
    runs.into_iter().map(|(_, ran)| ran).collect()
}

/// The input of hooks, and its JSON text.
#[derive(Debug, Clone)]
struct HookMessage {
    input: Arc<HookInput>,
    bytes: Arc<[u8]>,
}

impl HookMessage {
    fn new(input: HookInput) -> Self {
        Self {
            bytes: input.to_json().into_bytes().into(),
            input: Arc::new(input),
        }
    }
}

async fn run(
    hook: Hook,
    told: HookMessage,
    around: &HookContext,
    cancel: &CancellationToken,
) -> HookResult {
    let input = told.input;
    if hook.source == HookSource::Project && !around.is_trusted {
        return HookResult::from_error(hook, input, HookError::Untrusted);
    }
    let brief = ShortCommand {
        command: around.hook_command(&hook, &input.base),
        input: told.bytes,
        timeout: hook.deadline(),
        most_output: MOST_OUTPUT,
        most_stderr: MOST_STDERR,
    };
    let _going = around.running.begin_hook(&hook);
    let _place = match hook.event {
        HookEvent::AfterTool => cancel.run_until_cancelled(AFTERWARDS.acquire()).await,
        _ => None,
    };
    match brief.run(cancel).await {
        Ok(finished) => HookResult::from_finished(hook, input, finished),
        Err(error) => HookResult::from_error(hook, input, error.into()),
    }
}

impl HookResult {
    fn from_error(hook: Hook, input: Arc<HookInput>, error: HookError) -> Self {
        Self {
            hook,
            input,
            exit: None,
            duration: Duration::ZERO,
            stdout: CapturedOutput::default(),
            stderr: CapturedOutput::default(),
            answer: HookAnswer::default(),
            error: Some(error),
        }
    }

    fn from_finished(hook: Hook, input: Arc<HookInput>, finished: FinishedCommand) -> Self {
        let (answer, error) = judge_output(&finished, hook.deadline());
        Self {
            hook,
            input,
            exit: finished.exit,
            duration: finished.duration,
            stdout: finished.stdout,
            stderr: finished.stderr,
            answer,
            error,
        }
    }
}

fn judge_output(finished: &FinishedCommand, after: Duration) -> (HookAnswer, Option<HookError>) {
    let immortal = finished.immortal;
    let (stdout, stderr) = (&finished.stdout, &finished.stderr);
    match finished.end {
        CommandEnd::TimedOut => {
            // The hook itself may have exited, and only a process that it left behind still runs: then its refusal counts.
            let is_over = matches!(finished.exit, Some(Exit::Code(_)));
            let said = || answer(&stdout.text(), &stderr.text(), finished.exit);
            let said = is_over.then(said).filter(HookAnswer::is_refusal);
            let said = said.unwrap_or_default();
            (said, Some(HookError::TimedOut { after, immortal }))
        }
        CommandEnd::Cancelled => (HookAnswer::default(), Some(HookError::Cancelled)),
        CommandEnd::NotStarted => (HookAnswer::default(), Some(HookError::NotStarted)),
        CommandEnd::ByItself if stdout.left_out > 0 => {
            let error = HookError::TooMuch { most: MOST_OUTPUT };
            (
                read_flooded_answer(&stdout.text(), finished.exit),
                Some(error),
            )
        }
        // Stderr is the answer if stdout is empty.
        CommandEnd::ByItself if stderr.left_out > 0 && stdout.text().trim().is_empty() => {
            let most = MOST_STDERR;
            let error = HookError::TooMuch { most };
            (
                read_flooded_answer(&stderr.text(), finished.exit),
                Some(error),
            )
        }
        CommandEnd::ByItself => {
            let killed = match finished.exit {
                Some(Exit::Signal(signal)) => Some(HookError::Killed { signal }),
                Some(Exit::Code(_)) | None => None,
            };
            let said = answer(&stdout.text(), &stderr.text(), finished.exit);
            (said, killed)
        }
    }
}
