//! An attempt at a conversation: starts the agent, wires the tasks that talk to it, and records how it went.

use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use lapidary_normalize::acp::AcpNormalizer;
use lapidary_normalize::{EventBuffer, ProcessEnd};
use tokio::sync::{Notify, mpsc, oneshot, watch};
use tokio::time::Instant;

use super::completion::AcpCompletion;
use super::conversation_state::ConversationState;
use super::halt_conditions::HaltConditions;
use super::line_observer::LineObserver;
use super::permission::{self, answer_requests};
use super::request::ConversationRequest;
use super::session_driver::{ConversationWork, SessionDriver, never_started};
use super::session_table::SessionTable;
use super::submission_desk::SubmissionDesk;
use super::translation::EventPump;
use crate::acp::{
    AcpClient, AgentLaunch, AgentSource, ConnectionLimits, HandledMethods, RunningAgent,
    TrafficObserver,
};
use crate::agent_hooks::HookRunner;
use crate::client::{PromptTarget, refuse_rest};
use crate::process::stop::StopLevel;
use crate::recording::{Manifest, Recorder, STDOUT};
use crate::run::RunRequest;
use crate::run::attempt::{
    AttemptResult, attempt_manifest, begin_recording, keep_attempt, report_violations,
};
use crate::run::attempt_runner::AttemptRunner;
use crate::run::ending::{cannot_record, judge_lease, recorded_end};
use crate::run::events::RunEvents;
use crate::run::injected_events::{EventInjector, InjectedEvents};
use crate::run::run_driver::{RunPorts, lead_run};
use crate::run::run_tally::RunTally;
use crate::run::skipped_lines::RestLimit;
use crate::run::{EventBatch, stderr_tail};
use crate::workspace::{self, ClientServices};

/// How long an agent has to answer any request but a prompt.
const PATIENCE: Duration = Duration::from_mins(1);

/// Leads a conversation from its first attempt to its `run_end`.
pub(super) async fn run(request: ConversationRequest, script: ConversationWork, ports: RunPorts) {
    let request = Arc::new(request);
    let normalizer = AcpNormalizer::new(&request.run.options, request.provider.clone());
    let mut effort = AcpAttempt {
        request: &request,
        script,
        events: RunEvents::new(Box::new(normalizer), ports.progress),
        stops: &ports.stops,
        batches: &ports.batches,
        began: Instant::now(),
    };
    let led = lead_run(&request.run, &mut effort, &ports.stops, &ports.batches);
    Box::pin(led).await;
}

/// An attempt with an agent over ACP.
struct AcpAttempt<'a> {
    request: &'a Arc<ConversationRequest>,
    script: ConversationWork,
    events: RunEvents,
    stops: &'a watch::Receiver<StopLevel>,
    batches: &'a mpsc::Sender<EventBatch>,
    began: Instant,
}

impl AttemptRunner for AcpAttempt<'_> {
    async fn make(&mut self, number: u32, must_end: Option<Instant>) -> AttemptResult {
        match begin_recording(&self.request.run, number) {
            Ok(recorder) => self.record_attempt(recorder, number, must_end).await,
            Err(error) => AttemptResult::from_unrecorded(cannot_record(&error), &self.events),
        }
    }

    fn events(&mut self) -> &mut RunEvents {
        &mut self.events
    }

    fn follow_up(&mut self, _request: RunRequest) {} // a conversation repairs its answers itself

    fn close(&mut self, events: &mut EventBuffer) {
        if let ConversationWork::Orders(orders) = &mut self.script {
            refuse_rest(orders, &mut self.events, events);
        }
    }
}

impl AcpAttempt<'_> {
    async fn record_attempt(
        &mut self,
        recorder: Recorder,
        number: u32,
        must_end: Option<Instant>,
    ) -> AttemptResult {
        let request = self.request;
        let directory = recorder.directory().to_owned();
        let transport = ("acp", request.provider.clone());
        let manifest = attempt_manifest(&request.run, transport, &recorder, number);
        self.events.begin_attempt(&directory);
        let _ = recorder.describe(&manifest);
        // The recorder goes with the agent. Without its lock and without an end the run would look dead.
        let hold = recorder.hold();
        let started = Instant::now();
        let tally = RunTally::new(&request.run);
        let (mut ending, has_spoken) = self
            .converse_with_agent(recorder, &manifest, must_end, &tally)
            .await;
        judge_lease(&request.run.supervisor, &mut ending);
        ending.duration = Some(self.began.elapsed());
        ending.stderr = stderr_tail(&directory);
        ending.setup = request.run.setup.clone();
        let judged = self.events.judge_end(&ending);
        let end = recorded_end(started.elapsed(), &ending, Some(&judged));
        let kept = keep_attempt(&request.run, &directory, manifest, tally.complete_end(end));
        drop(hold);
        AttemptResult {
            end: judged,
            ending,
            recording: kept.recording,
            has_output: kept.has_output,
            is_under_way: has_spoken,
            repair: None,
        }
    }

    /// Starts the agent, and talks to it until it is gone.
    async fn converse_with_agent(
        &mut self,
        recorder: Recorder,
        manifest: &Manifest,
        must_end: Option<Instant>,
        tally: &RunTally,
    ) -> (ProcessEnd, bool) {
        let request = self.request;
        let directory = recorder.directory().to_owned();
        let (say, said) = EventInjector::new_channel();
        let table = session_table(request);
        let prompts = PromptTarget::new(&request.attendant);
        let hooks = request.hooks.clone().map(|hooks| {
            let (table, stdout) = (Arc::clone(&table), directory.join(STDOUT));
            Arc::new(HookRunner::new(hooks, say.clone(), table, stdout))
        });
        let observer = Arc::new(LineObserver::new(
            request,
            Arc::clone(&table),
            prompts.client_inbox().cloned(),
            say.clone(),
            hooks.clone(),
        ));
        let agent =
            match RunningAgent::start(self.agent_launch(recorder, &observer, must_end)).await {
                Ok(agent) => agent,
                Err(error) => return (never_started(error), false),
            };
        let _ = agent.describe(manifest);
        let state = Arc::new(ConversationState {
            request: Arc::clone(request),
            client: AcpClient::new(agent.connection, PATIENCE),
            workspace: client_services(request),
            observer: Arc::clone(&observer),
            prompts,
            hooks,
            table,
            submissions: SubmissionDesk::open(request, &say),
            say,
            asked: watch::Sender::default(),
            turn_changed: Notify::new(),
        });
        let halts = HaltConditions::new(&state, self.stops.clone(), must_end);
        let driver = SessionDriver::new(&state, halts, agent.process, directory.clone());
        let answering = answer_requests(agent.requests, state);
        let lines = (agent.observer, said);
        let ending = self.run_tasks(driver, answering, lines, (&directory, tally));
        let mut ending = ending.await;
        let changes = observer.protected_changes();
        let violations = &observer.violations;
        report_violations(changes, violations, &mut self.events, self.batches).await;
        observer.violations.judge_end(&mut ending);
        (ending, observer.has_spoken())
    }

    /// Drives the sessions, answers the agent's requests and translates its lines, all at the same time.
    async fn run_tasks(
        &mut self,
        driver: SessionDriver,
        answering: impl Future<Output = ()>,
        (lines, injected): (TrafficObserver, InjectedEvents),
        (directory, tally): (&Path, &RunTally),
    ) -> ProcessEnd {
        let run = &self.request.run;
        let bytes_of = run.with_bytes.then_some(directory);
        let logs = run.session_logs.clone();
        let completion = logs.map(|place| AcpCompletion::new(place, directory));
        let rest = RestLimit::default();
        let output = (&mut self.events, self.batches);
        let mut translation = EventPump::new(lines, injected, output, bytes_of, &rest);
        (translation.completion, translation.tally) = (completion, Some(tally));
        let (over, is_over) = oneshot::channel();
        let driving = async {
            let ending = Box::pin(driver.until_it_ends(&mut self.script)).await;
            rest.set_from_end(&ending);
            let _ = over.send(());
            ending
        };
        let translating = translation.follow_lines(is_over);
        tokio::join!(driving, answering, translating).0
    }

    fn agent_launch(
        &self,
        recorder: Recorder,
        observer: &Arc<LineObserver>,
        must_end: Option<Instant>,
    ) -> AgentLaunch {
        let run = &self.request.run;
        let source = match &self.request.local {
            Some(agent) => AgentSource::Local(agent.clone()),
            None => AgentSource::Process {
                command: Box::new(run.command.clone()),
                supervisor: run.supervisor.clone().within(run.start_patience(must_end)),
            },
        };
        AgentLaunch {
            source,
            recorder,
            max_output: run.records.max_output,
            methods: HandledMethods::from_names(permission::answered_methods(self.request)),
            limits: ConnectionLimits {
                line: run.max_line,
                ..ConnectionLimits::default()
            },
            tap: Some(observer.line_tap()),
        }
    }
}

fn client_services(request: &ConversationRequest) -> ClientServices {
    let supervisor = request.run.supervisor.clone();
    let mut setup = workspace::ServicesSetup::new(request.roots.clone(), supervisor);
    setup.environment.clone_from(&request.environment);
    ClientServices::new(setup)
}

/// The table of a conversation that has no session yet.
fn session_table(request: &ConversationRequest) -> Arc<Mutex<SessionTable>> {
    let (root, watch) = (&request.roots[0], request.run.watch.clone());
    let table = SessionTable::new(root, request.policy.clone(), watch);
    Arc::new(Mutex::new(table))
}

#[cfg(test)]
mod tests;
