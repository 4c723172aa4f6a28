//! The course of a conversation: start the agent, do what there is to do, end it, and say how it went.

use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use lapidary_normalize::acp::AcpNormalizer;
use lapidary_normalize::{Ending, Events, Stall, StderrOrder};
use lapidary_vocab::event::{DiagnosticKind, Provider};
use lapidary_vocab::{Cause, Json};
use tokio::sync::{mpsc, oneshot, watch};
use tokio::time::{Instant, sleep, timeout};

use super::Order;
use super::completion::Completion;
use super::conversation_state::{ConversationState, PendingAnswers};
use super::ending::{Broken, stopped};
use super::halts::{Halts, Phase};
use super::hooks::{FinishedCall, HookCalls, HookRunner};
use super::line_observer::LineObserver;
use super::orders::refuse_rest;
use super::permission::{self, answer_requests};
use super::prompt::PromptTarget;
use super::request::{Errand, Request};
use super::session_table::SessionTable;
use super::translation::{Say, Translation};
use crate::acp::{
    Agent, AgentSource, Client, ConnectionError, Launch, Limits, Methods, Offered, Process,
    RequestError,
};
use crate::process::stop::Urgency;
use crate::process::{Ended, Exit};
use crate::recording::{self, Manifest, Recorder, STDOUT};
use crate::run::attempt::{Tried, begin, manifest};
use crate::run::course::{RunPorts, lead};
use crate::run::effort::Effort;
use crate::run::ending::{cannot_record, ending, recorded_end};
use crate::run::events::RunEvents;
use crate::run::rest::RestLimit;
use crate::run::stall::StallPoint;
use crate::run::tally::RunTally;
use crate::run::{Batch, stderr_tail};
use crate::signals;
use crate::workspace::{self, Workspace};

/// How long an agent has to answer anything but a prompt.
const PATIENCE: Duration = Duration::from_mins(1);

/// How long an agent has to end by itself once nobody speaks to it any more. Some never do.
const BY_ITSELF: Duration = Duration::from_secs(2);

/// The same for one that has not even said hello when the run was cancelled or took too long: it may not speak ACP at all.
const NEVER_READY: Duration = Duration::from_millis(500);

/// So long an agent that has ended its turn is given to show that it died of it, before the hang-up makes any exit code possible.
const LAST_BREATH: Duration = Duration::from_millis(50);

/// What there is to do.
pub(super) enum Script {
    /// One prompt.
    Errand(Errand),
    /// What somebody orders.
    Orders(mpsc::UnboundedReceiver<Order>),
}

/// Runs an errand.
pub(super) async fn run(request: Request, errand: Errand, ports: RunPorts) {
    Box::pin(talk(request, Script::Errand(errand), ports)).await;
}

/// Keeps an agent for whoever gives orders.
pub(super) async fn keep(
    request: Request,
    orders: mpsc::UnboundedReceiver<Order>,
    ports: RunPorts,
) {
    Box::pin(talk(request, Script::Orders(orders), ports)).await;
}

async fn talk(request: Request, script: Script, ports: RunPorts) {
    let normalizer = AcpNormalizer::new(&request.run.options, request.provider.clone());
    let mut effort = Talking {
        request: &request,
        script,
        events: RunEvents::new(normalizer, ports.progress),
        stops: &ports.stops,
        batches: &ports.batches,
        began: Instant::now(),
    };
    lead(&request.run, &mut effort, &ports.stops, &ports.batches).await;
}

/// An agent that is spoken to.
struct Talking<'a> {
    request: &'a Request,
    script: Script,
    events: RunEvents<AcpNormalizer>,
    stops: &'a watch::Receiver<Urgency>,
    batches: &'a mpsc::Sender<Batch>,
    began: Instant,
}

impl Effort for Talking<'_> {
    type Lines = AcpNormalizer;

    async fn make(&mut self, number: u32, must_end: Option<Instant>) -> Tried {
        let (ending, recording, has_spoken, has_output) = match begin(&self.request.run, number) {
            Ok(recorder) => self.record(recorder, number, must_end).await,
            Err(error) => (cannot_record(&error), None, false, false),
        };
        Tried {
            end: self.events.judge(&ending),
            ending,
            recording,
            has_output,
            is_under_way: has_spoken,
        }
    }

    fn events(&mut self) -> &mut RunEvents<AcpNormalizer> {
        &mut self.events
    }

    fn close(&mut self, events: &mut Events) {
        if let Script::Orders(orders) = &mut self.script {
            refuse_rest(orders, &mut self.events, events);
        }
    }
}

impl Talking<'_> {
    async fn record(
        &mut self,
        recorder: Recorder,
        number: u32,
        must_end: Option<Instant>,
    ) -> (Ending, Option<PathBuf>, bool, bool) {
        let records = &self.request.run.records;
        let directory = recorder.directory().to_owned();
        let mut manifest = manifest(
            &self.request.run,
            ("acp", self.request.provider.clone()),
            &recorder,
            number,
        );
        self.events.begin_attempt(&directory);
        let _ = recorder.describe(&manifest);
        let started = Instant::now();
        let tally = RunTally::new(&self.request.run);
        let (mut ending, has_spoken) = self.speak(recorder, &manifest, must_end, &tally).await;
        ending.duration = Some(self.began.elapsed());
        ending.stderr = stderr_tail(&directory);
        ending.setup = self.request.run.setup.clone();
        let judged = self.events.judge(&ending);
        let mut end = recorded_end(started.elapsed(), &ending, Some(&judged));
        tally.complete(&mut end);
        manifest.end = Some(end);
        let stdout = std::fs::metadata(directory.join(STDOUT));
        let has_output = stdout.is_ok_and(|stdout| stdout.len() > 0);
        if !records.keep {
            let _ = std::fs::remove_dir_all(&directory);
            return (ending, None, has_spoken, has_output);
        }
        // A recording that cannot be completed is still all that was said.
        let _ = recording::describe(&directory, &manifest);
        (ending, Some(directory), has_spoken, has_output)
    }

    /// Starts the agent, and talks to it until it is gone.
    async fn speak(
        &mut self,
        recorder: Recorder,
        manifest: &Manifest,
        must_end: Option<Instant>,
        tally: &RunTally,
    ) -> (Ending, bool) {
        let request = self.request;
        let directory = recorder.directory().to_owned();
        let (say, said) = Say::channel();
        let table = session_table(request);
        let prompts = PromptTarget::new(&request.attendant);
        let (calls, finished) = request.hooks.as_ref().map(|_| HookCalls::channel()).unzip();
        let observer = Arc::new(LineObserver::new(
            request,
            Arc::clone(&table),
            prompts.inbox().cloned(),
            say.clone(),
            calls,
        ));
        let agent = match Agent::start(self.launch(recorder, &observer, must_end)).await {
            Ok(agent) => agent,
            Err(error) => {
                let ending = ended_as(Err(error.into()), None, Departure::Ordered);
                return (ending, false);
            }
        };
        let _ = agent.describe(manifest);
        let state = Arc::new(ConversationState {
            client: Client::new(agent.connection, PATIENCE),
            workspace: workspace(request),
            observer: Arc::clone(&observer),
            prompts,
            hooks: request.hooks.clone().map(|hooks| {
                let stdout = directory.join(STDOUT);
                HookRunner::new(hooks, say.clone(), Arc::clone(&table), stdout)
            }),
            table,
            say,
            safekeeping: request.run.safekeeping.clone(),
            confined: request.run.confined.clone(),
            pending: PendingAnswers::default(),
        });
        let course = Course {
            request,
            state: Arc::clone(&state),
            halts: Halts::new(
                self.stops.clone(),
                request.run.timeouts,
                must_end,
                request.run.grace,
            ),
            is_deaf: false,
            is_ready: false,
            process: agent.process.clone(),
            directory: directory.clone(),
            stall: None,
        };
        let bytes_of = request.run.with_bytes.then_some(directory.as_path());
        let logs = request.run.session_logs.clone();
        let completion = logs.map(|place| Completion::new(place, &directory));
        let rest = RestLimit::default();
        let translation = Translation::new(agent.observer, said, bytes_of, &rest);
        let translation = translation.completing(completion).counted_by(tally);
        let (over, is_over) = oneshot::channel();
        let talking = async {
            let ending = course.until_it_ends(&mut self.script, finished, &agent.process);
            let ending = Box::pin(ending).await;
            rest.set(&ending);
            let _ = over.send(());
            ending
        };
        let (mut ending, (), ()) = tokio::join!(
            talking,
            answer_requests(agent.requests, state),
            translation.follow(&mut self.events, self.batches, is_over),
        );
        let mut last = Batch::default();
        let changes = observer.protected_changes();
        observer.violations.note_all(changes, |message| {
            let kind = DiagnosticKind::PermissionViolation;
            self.events.note(kind, message, &mut last.events);
        });
        if !last.is_empty() {
            let _ = self.batches.send(last).await;
        }
        observer.violations.judge(&mut ending);
        (ending, observer.has_spoken())
    }

    fn launch(
        &self,
        recorder: Recorder,
        observer: &Arc<LineObserver>,
        must_end: Option<Instant>,
    ) -> Launch {
        let run = &self.request.run;
        let left = must_end.map(|end| end.saturating_duration_since(Instant::now()));
        let start = left.into_iter().chain(run.timeouts.start).min();
        let source = match &self.request.local {
            Some(agent) => AgentSource::Local(agent.clone()),
            None => AgentSource::Process {
                command: Box::new(run.command.clone()),
                supervisor: run
                    .supervisor
                    .clone()
                    .within(start.unwrap_or(Duration::MAX)),
            },
        };
        Launch {
            source,
            recorder,
            max_output: run.records.max_output,
            methods: Methods::of(permission::methods()),
            limits: Limits {
                line: run.max_line,
                ..Limits::default()
            },
            tap: Some(observer.tap()),
        }
    }
}

fn workspace(request: &Request) -> Workspace {
    let supervisor = request.run.supervisor.clone();
    let mut setup = workspace::Setup::new(request.roots.clone(), supervisor);
    setup.environment.clone_from(&request.environment);
    Workspace::new(setup)
}

/// The table of a conversation that has no session yet.
fn session_table(request: &Request) -> Arc<Mutex<SessionTable>> {
    let (root, watch) = (&request.roots[0], request.run.watch.clone());
    let table = SessionTable::new(root, request.policy.clone(), watch);
    Arc::new(Mutex::new(table))
}

/// One agent, from its first word to its end.
#[derive(Debug)]
pub(super) struct Course<'a> {
    pub(super) request: &'a Request,
    pub(super) state: Arc<ConversationState>,
    pub(super) halts: Halts,
    /// The agent did not heed a cancel: there is no point in waiting for it to end by itself.
    pub(super) is_deaf: bool,
    /// The agent has said hello.
    pub(super) is_ready: bool,
    pub(super) process: Process,
    /// The recording.
    pub(super) directory: PathBuf,
    /// Where the agent was stuck, if it was late.
    pub(super) stall: Option<StallPoint>,
}

impl Course<'_> {
    async fn until_it_ends(
        mut self,
        script: &mut Script,
        mut finished: Option<mpsc::UnboundedReceiver<FinishedCall>>,
        process: &Process,
    ) -> Ending {
        let state = Arc::clone(&self.state);
        let after_tools = async {
            match &mut finished {
                Some(finished) => state.clone().after_tools(finished).await,
                None => std::future::pending().await,
            }
        };
        let errand = async {
            let done = match script {
                Script::Errand(errand) => self.errand(errand).await,
                Script::Orders(orders) => self.carry_out(orders, process).await,
            };
            self.end_sessions(&done).await;
            done
        };
        let done = tokio::select! {
            done = errand => done,
            never = after_tools => match never {},
        };
        state.hooks_are_over(finished).await;
        if done.is_ok() {
            // An agent that dies as soon as it has answered is not yet known to be dead.
            let _ = timeout(LAST_BREATH, process.gone()).await;
        }
        let is_gone = process.has_ended().is_some();
        let (ended, departure) = self.end(process).await;
        let is_faulty = departure == Departure::ByItself && ended.is_some_and(died_of_a_fault);
        let mut ending = ended_as(done, ended, departure);
        if is_gone || is_faulty {
            ending.departure = lapidary_normalize::Departure::OwnAccord;
        }
        ending.stall = self.stall.map(|stall| self.read_stall(stall));
        ending
    }

    /// Notes where the agent is stuck, before it is told to end.
    pub(super) fn note_stall(&mut self) {
        let observer = &self.state.observer;
        self.stall = Some(StallPoint {
            silence: observer.last_sign().elapsed(),
            stderr: self.process.complained_before(),
            has_progress: observer.has_progress(),
        });
    }

    /// Gemini CLI holds its stderr back until it ends, over ACP.
    fn read_stall(&self, stall: StallPoint) -> Stall {
        let order = if self.request.provider == Provider::Gemini {
            StderrOrder::Held
        } else {
            StderrOrder::Live
        };
        stall.read(&self.directory, order)
    }

    async fn errand(&mut self, errand: &Errand) -> Result<(), Broken> {
        let agent = self.initialize().await?;
        can_take(&errand.prompt, agent.offered)?;
        let session = self.open(&errand.opening, &agent).await?;
        self.prepare(&session.id).await?;
        self.begin_session(&session.id, &errand.opening).await?;
        self.turn(&session.id, &errand.prompt).await
    }

    /// One step on the way, unless something ends it.
    pub(super) async fn step<T>(
        &mut self,
        phase: Phase,
        step: impl Future<Output = Result<T, RequestError>>,
    ) -> Result<T, Broken> {
        let state = Arc::clone(&self.state);
        let halt = tokio::select! {
            biased;
            halt = self.halts.next(phase, &state) => halt,
            done = step => return Ok(done?),
        };
        self.note_stall();
        Err(halt.into())
    }

    /// Ends the agent, its terminals too.
    async fn end(&mut self, process: &Process) -> (Option<Ended>, Departure) {
        self.state.client.connection().hang_up();
        let ended = self.leave(process).await;
        self.state.workspace.close().await;
        ended
    }

    /// In steps: it may end by itself, then it is asked to, then it is ended with everything that it started.
    async fn leave(&mut self, process: &Process) -> (Option<Ended>, Departure) {
        // An agent that has written too much would go on to: there is no grace for that.
        let last = self.state.client.connection().ended();
        if matches!(last, Some(ConnectionError::TooMuch { .. })) {
            return (process.kill().await, Departure::Ordered);
        }
        let by_itself = self.time_by_itself();
        // All of these can be cancelled without losing anything.
        tokio::select! {
            biased;
            ended = process.gone() => return (ended, Departure::ByItself),
            () = self.is_hurried() => {}
            () = sleep(by_itself) => {}
        }
        let left = self.halts.grace.left();
        let ended = tokio::select! {
            ended = process.end(Duration::ZERO, left) => ended,
            () = self.halts.at_once() => process.kill().await,
        };
        (ended, Departure::Ordered)
    }

    /// How long it has once its stdin is closed.
    fn time_by_itself(&self) -> Duration {
        let grace = &self.halts.grace;
        let is_violated = self.state.observer.violations.stopped().is_some();
        if self.is_deaf || is_violated {
            Duration::ZERO
        } else if grace.is_running() && !self.is_ready {
            NEVER_READY.min(grace.share())
        } else {
            let hooks = self.state.hooks.as_ref();
            let hooks = hooks.and_then(HookRunner::own_ending);
            let share = match hooks {
                Some(_) if !grace.is_running() => Duration::MAX,
                _ => grace.share(),
            };
            (BY_ITSELF + hooks.unwrap_or_default()).min(share)
        }
    }

    /// Waits for a reason not to wait any longer: the first one to end, or one to end at once. Can be cancelled.
    async fn is_hurried(&mut self) {
        if self.halts.grace.is_running() {
            return self.halts.at_once().await;
        }
        let state = Arc::clone(&self.state);
        self.halts.next(Phase::Waiting, &state).await;
    }
}

/// Why an agent is gone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Departure {
    /// It ended, once nobody spoke to it any more or before.
    ByItself,
    /// It was told to.
    Ordered,
}

/// Whether a signal ended it that nobody sends to ask a process to end.
fn died_of_a_fault(ended: Ended) -> bool {
    const ASKING: [&str; 4] = ["SIGHUP", "SIGINT", "SIGPIPE", "SIGTERM"];
    match ended.exit {
        Some(Exit::Signal(number)) => !ASKING.contains(&signals::name(number).as_str()),
        Some(Exit::Code(_)) | None => false,
    }
}

/// What the agent does not take is an error, not a surprise.
fn can_take(prompt: &[Json], offered: Offered) -> Result<(), Broken> {
    let is = |kind: &str| {
        let mut kinds = prompt.iter().filter_map(|block| block.token().get("type"));
        kinds.any(|it| it.is(kind))
    };
    let refused = [
        (is("image") && !offered.image, "images"),
        (is("audio") && !offered.audio, "sound"),
        (is("resource") && !offered.embedded, "whole files"),
    ];
    match refused.into_iter().find(|(is_refused, _)| *is_refused) {
        Some((_, what)) => {
            let message = format!("the agent takes no {what} in prompts");
            Err(stopped(Cause::BadInput, message, None))
        }
        None => Ok(()),
    }
}

/// How it went, as far as we know.
fn ended_as(done: Result<(), Broken>, ended: Option<Ended>, departure: Departure) -> Ending {
    let stopped = match done {
        Ok(()) | Err(Broken::Told) => None,
        Err(Broken::Silent(_)) if departure == Departure::ByItself => None,
        Err(Broken::Stopped(stopped) | Broken::Silent(stopped)) => Some(stopped),
    };
    match ended {
        Some(ended) => ending(ended, stopped),
        None => Ending {
            stopped,
            ..Ending::default()
        },
    }
}

#[cfg(test)]
mod tests;
