//! Drives a conversation: does its work, ends the agent, and reports the outcome.

use std::path::PathBuf;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use lapidary_normalize::{AgentStall, ProcessEnd, StderrOrder};
use lapidary_vocab::event::Provider;
use lapidary_vocab::{Cause, StructuredAnswer};
use tokio::time::{sleep, timeout};

use super::conversation_state::ConversationState;
use super::ending::{SessionError, stopped_error};
use super::halt_conditions::{HaltConditions, TurnPhase};
use super::request::PromptJob;
use crate::acp::{AgentError, AgentProcess, ConnectionError, RequestError};
use crate::client::CommandReceiver;
use crate::process::{Exit, TreeExit};
use crate::run::ending::process_end;
use crate::run::stall_point::StallPoint;
use crate::signals;

/// How long an agent has to exit once its stdin is closed. Some agents never do.
pub(super) const BY_ITSELF: Duration = Duration::from_secs(2);

/// The same for an agent that has not even answered `initialize` when the run was cancelled or took too long: it may not speak
/// ACP at all.
const NEVER_READY: Duration = Duration::from_millis(500);

/// So long an agent that has ended its turn is given to show that it died of it, before the hang-up makes any exit code
/// possible.
const LAST_BREATH: Duration = Duration::from_millis(50);

/// The work of a conversation.
pub(super) enum ConversationWork {
    /// One prompt.
    Errand(PromptJob),
    /// The commands of a client.
    Orders(CommandReceiver),
}

/// One agent, from its first word to its end.
#[derive(Debug)]
pub(super) struct SessionDriver {
    pub(super) state: Arc<ConversationState>,
    pub(super) halts: HaltConditions,
    /// The agent did not heed a cancel: there is no point in waiting for it to end by itself.
    pub(super) is_deaf: bool,
    /// The agent has answered `initialize`.
    pub(super) is_ready: bool,
    pub(super) process: AgentProcess,
    /// The recording.
    directory: PathBuf,
    /// Where the agent was stuck, if it was late.
    stall: Option<StallPoint>,
    /// The answer, judged by the output schema.
    pub(super) answer: Option<StructuredAnswer>,
}

impl SessionDriver {
    pub(super) fn new(
        state: &Arc<ConversationState>,
        halts: HaltConditions,
        process: AgentProcess,
        directory: PathBuf,
    ) -> Self {
        Self {
            state: Arc::clone(state),
            halts,
            is_deaf: false,
            is_ready: false,
            process,
            directory,
            stall: None,
            answer: None,
        }
    }

    pub(super) async fn until_it_ends(mut self, script: &mut ConversationWork) -> ProcessEnd {
        let (state, process) = (Arc::clone(&self.state), self.process.clone());
        let stop = |session: &str, why| {
            state.stop_for_hook(session, why);
            state.cancel_turn(session);
        };
        let after_tools = async {
            match &state.hooks {
                Some(hooks) => Arc::clone(hooks).run_after_tools(stop).await,
                None => std::future::pending().await,
            }
        };
        let errand = async {
            let done = match script {
                ConversationWork::Errand(errand) => self.run_prompt_job(errand).await,
                ConversationWork::Orders(orders) => self.carry_out(orders).await,
            };
            self.end_sessions(&done).await;
            done
        };
        let done = tokio::select! {
            done = errand => done,
            never = after_tools => match never {},
        };
        if let Some(hooks) = &state.hooks {
            hooks.end_hooks().await;
        }
        if done.is_ok() {
            // An agent that dies as soon as it has answered is not yet known to be dead.
            let _ = timeout(LAST_BREATH, process.gone()).await;
        }
        let is_gone = process.exit().is_some();
        let (ended, departure) = self.end_agent().await;
        let is_faulty = departure == DepartureCause::ByItself && ended.is_some_and(died_of_a_fault);
        // A remote agent has no exit status: the conversation alone tells how it went.
        let ended = ended.filter(|_| self.process.has_exit_status());
        let mut ending = ended_as(done, ended, departure);
        if is_gone || is_faulty {
            ending.departure = lapidary_normalize::ExitInitiator::OwnAccord;
        }
        ending.answer = self.answer.take();
        ending.stall = self.stall.map(|stall| self.read_stall(stall));
        ending
    }

    /// Notes where the agent is stuck, before we end it.
    pub(super) fn note_stall(&mut self) {
        let observer = &self.state.observer;
        self.stall = Some(StallPoint {
            silence: observer.last_sign().elapsed(),
            stderr: self.process.complained_before(),
            has_progress: observer.has_progress(),
        });
    }

    /// Gemini CLI holds its stderr back until it ends, over ACP.
    fn read_stall(&self, stall: StallPoint) -> AgentStall {
        let order = if self.state.request.provider == Provider::Gemini {
            StderrOrder::Held
        } else {
            StderrOrder::Live
        };
        stall.read_stall(&self.directory, order)
    }

    async fn run_prompt_job(&mut self, errand: &PromptJob) -> Result<(), SessionError> {
        let agent = self.initialize_agent().await?;
        if let Some(lacking) = agent.offered.lacks_for_prompt(&errand.prompt) {
            let message = format!("the agent takes no {lacking} in prompts");
            return Err(stopped_error(Cause::BadInput, message, None));
        }
        let session = self.open_session(&errand.opening, &agent).await?;
        self.judged_turn(&session, &errand.prompt).await
    }

    /// One step of the session, unless a stop condition ends it.
    pub(super) async fn run_step<T>(
        &mut self,
        phase: TurnPhase,
        step: impl Future<Output = Result<T, RequestError>>,
    ) -> Result<T, SessionError> {
        let halt = tokio::select! {
            biased;
            halt = self.halts.next(phase) => halt,
            done = step => return Ok(done?),
        };
        self.note_stall();
        Err(halt.into())
    }

    /// Runs the hooks of the end of sessions: as long as they like if all went well, and else no longer than the agent itself would have.
    async fn end_sessions(&mut self, done: &Result<(), SessionError>) {
        let state = Arc::clone(&self.state);
        let Some(hooks) = &state.hooks else { return };
        let mut ends = pin!(hooks.end_sessions());
        if done.is_ok() {
            let all = async {
                hooks.wait_for_calls(None).await;
                ends.as_mut().await;
            };
            tokio::select! {
                biased;
                _ = self.halts.next(TurnPhase::Waiting) => {}
                () = all => return,
            }
        }
        if done.as_ref().err().is_none_or(SessionError::is_impatient) {
            hooks.cut_off(None);
        }
        // Together: the hooks of tools might leave no time for the hooks of a session.
        let ends = async { tokio::join!(hooks.wait_for_calls(None), ends) };
        let time = self.halts.grace.step_share();
        tokio::select! {
            biased;
            () = self.halts.at_once() => {}
            _ = timeout(time, ends) => {}
        }
    }

    /// Ends the agent, its terminals too.
    async fn end_agent(&mut self) -> (Option<TreeExit>, DepartureCause) {
        self.state.client.connection().hang_up();
        let ended = self.leave_in_steps().await;
        self.state.workspace.close().await;
        ended
    }

    /// In steps: it may end by itself, then it is asked to, then it is ended with everything that it started.
    async fn leave_in_steps(&mut self) -> (Option<TreeExit>, DepartureCause) {
        let process = self.process.clone();
        // An agent that has written too much would go on to: there is no grace for that.
        let last = self.state.client.connection().ended();
        if matches!(last, Some(ConnectionError::TooMuch { .. })) {
            return (process.kill().await, DepartureCause::Ordered);
        }
        let by_itself = self.time_by_itself();
        // All branches are cancel-safe.
        tokio::select! {
            biased;
            ended = process.gone() => return (ended, DepartureCause::ByItself),
            () = self.wait_for_hurry() => {}
            () = sleep(by_itself) => {}
        }
        let left = self.halts.grace.time_left();
        let ended = tokio::select! {
            ended = process.end(Duration::ZERO, left) => ended,
            () = self.halts.at_once() => process.kill().await,
        };
        (ended, DepartureCause::Ordered)
    }

    /// How long it has once its stdin is closed.
    fn time_by_itself(&self) -> Duration {
        let grace = &self.halts.grace;
        let is_violated = self.state.observer.violations.stop_cause().is_some();
        if self.is_deaf || is_violated {
            Duration::ZERO
        } else if grace.is_running() && !self.is_ready {
            NEVER_READY.min(grace.step_share())
        } else {
            let hooks = self.state.hooks.as_ref();
            let hooks = hooks.and_then(|hooks| hooks.own_ending());
            let share = match hooks {
                Some(_) if !grace.is_running() => Duration::MAX,
                _ => grace.step_share(),
            };
            (BY_ITSELF + hooks.unwrap_or_default()).min(share)
        }
    }

    /// Waits for a reason not to wait any longer: the first one to end, or one to end at once. Can be cancelled.
    async fn wait_for_hurry(&mut self) {
        if self.halts.grace.is_running() {
            return self.halts.at_once().await;
        }
        self.halts.next(TurnPhase::Waiting).await;
    }
}

/// Why an agent is gone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum DepartureCause {
    /// It exited without a signal from us, before or after its stdin was closed.
    ByItself,
    /// We ended it.
    Ordered,
}

/// Whether it died of a signal other than the usual requests to exit.
fn died_of_a_fault(ended: TreeExit) -> bool {
    const ASKING: [&str; 4] = ["SIGHUP", "SIGINT", "SIGPIPE", "SIGTERM"];
    match ended.exit {
        Some(Exit::Signal(number)) => !ASKING.contains(&signals::name(number).as_str()),
        Some(Exit::Code(_)) | None => false,
    }
}

/// The end of an agent that could not be started.
pub(super) fn never_started(error: AgentError) -> ProcessEnd {
    ended_as(Err(error.into()), None, DepartureCause::Ordered)
}

/// How it went, as far as we know.
fn ended_as(
    done: Result<(), SessionError>,
    ended: Option<TreeExit>,
    departure: DepartureCause,
) -> ProcessEnd {
    let stopped = match done {
        Ok(()) | Err(SessionError::Reported) => None,
        Err(SessionError::Silent(_)) if departure == DepartureCause::ByItself => None,
        Err(SessionError::Stopped(stopped) | SessionError::Silent(stopped)) => Some(stopped),
    };
    match ended {
        Some(ended) => process_end(ended, stopped),
        None => ProcessEnd {
            stopped,
            ..ProcessEnd::default()
        },
    }
}
