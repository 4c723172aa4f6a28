//! Conversations with an agent that runs in the test, on a clock that the test owns: no process is started, and no real time
//! passes.

use lapidary_normalize::NormalizeOptions;
use lapidary_vocab::event::Provider;
use lapidary_vocab::{Body, Cause, Event, Json, Outcome};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt, BufReader, DuplexStream};
use tokio::time::sleep;

use super::super::session_driver::BY_ITSELF;
use super::*;
use crate::acp::{AgentLoss, AgentLossKind, LocalAgent};
use crate::agents::ModeWords;
use crate::client::PromptAttendant;
use crate::conversation::request::{PromptJob, SessionChoice};
use crate::policy::{PermissionMode, Policy, Rules};
use crate::process::stop::{self, StopHandle};
use crate::recording::{RecordingOptions, STDIN};
use crate::replay::{
    PastAttempts, PastReading, RecordingReader, ReplayError, ReplayPace, ReplayRate, ReplaySource,
};
use crate::run::events::ProgressPort;
use crate::run::recorded_events::PastFormat;
use crate::run::{self, RunSource, RunTimeouts, Subscription, testing};

/// The reaction of the test agent to a prompt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Prompted {
    Answers,
    /// It writes a word every minute, and never ends its turn.
    Rambles,
    IsSilent,
    Panics,
    Leaves,
}

/// An agent that opens a session, and then does as told.
fn agent(prompted: Prompted) -> LocalAgent {
    LocalAgent::new(move |stream| serve(stream, prompted))
}

async fn serve(stream: DuplexStream, prompted: Prompted) {
    let (reads, mut writes) = tokio::io::split(stream);
    let mut lines = BufReader::new(reads).lines();
    while let Ok(Some(line)) = lines.next_line().await {
        let request: Value = serde_json::from_str(&line).unwrap();
        let result = match request["method"].as_str() {
            Some("initialize") => json!({"protocolVersion": 1, "agentCapabilities": {}}),
            Some("session/new") => json!({"sessionId": "s"}),
            Some("session/prompt") => match prompted {
                Prompted::Answers => {
                    say(&mut writes, "Fine.").await;
                    json!({"stopReason": "end_turn"})
                }
                Prompted::Rambles => loop {
                    say(&mut writes, "and ").await;
                    sleep(Duration::from_mins(1)).await;
                },
                Prompted::IsSilent => continue,
                Prompted::Panics => panic!("the agent of a test fell over"),
                Prompted::Leaves => return,
            },
            _ => continue,
        };
        let answer = json!({"jsonrpc": "2.0", "id": request["id"], "result": result});
        write(&mut writes, &answer).await;
    }
}

async fn say(writes: &mut (impl AsyncWriteExt + Unpin), text: &str) {
    let content = json!({"type": "text", "text": text});
    let update = json!({"sessionUpdate": "agent_message_chunk", "content": content});
    let params = json!({"sessionId": "s", "update": update});
    let line = json!({"jsonrpc": "2.0", "method": "session/update", "params": params});
    write(writes, &line).await;
}

async fn write(writes: &mut (impl AsyncWriteExt + Unpin), line: &Value) {
    // A client that is gone reads nothing: the next read tells.
    let _ = writes.write_all(format!("{line}\n").as_bytes()).await;
}

/// A run of one prompt with an agent, its events, and how long it took by the test's clock.
struct Played {
    events: Vec<Event>,
    took: Duration,
    home: TempDir,
}

impl Played {
    /// Runs an agent. `meanwhile` is called as soon as the agent has its prompt.
    async fn new(
        agent: LocalAgent,
        timeouts: RunTimeouts,
        meanwhile: impl FnOnce(StopHandle),
    ) -> Self {
        let home = tempfile::tempdir().unwrap();
        let request = request(agent, timeouts, &home);
        let errand = PromptJob {
            opening: SessionChoice::New,
            prompt: vec![Json::from_value(&json!({"type": "text", "text": "go"}))],
        };
        let (stopper, stops) = stop::channel();
        let (batches, mut read) = mpsc::channel::<EventBatch>(64);
        let began = Instant::now();
        let mut meanwhile = Some(meanwhile);
        let reading = async {
            let mut events = Vec::new();
            while let Some(batch) = read.recv().await {
                events.extend(batch.events);
                let is_prompted = events
                    .iter()
                    .any(|it: &Event| matches!(it.body, Body::UserInput(_)));
                if let Some(act) = is_prompted.then(|| meanwhile.take()).flatten() {
                    act(stopper.clone());
                }
            }
            events
        };
        let source = RunSource::new(&request.run, PastFormat::Acp, Provider::Acp);
        let port = ProgressPort::default();
        let progress = port.published.subscribe();
        let subscribed = |progress| Subscription::new(Arc::new(source.clone()), progress, 0);
        let beside = all_batches_of(subscribed(progress.clone()).unwrap());
        let ports = RunPorts {
            stops,
            batches,
            progress: port,
        };
        let ((), events, beside) = tokio::join!(
            run(request, ConversationWork::Errand(errand), ports),
            reading,
            beside
        );
        let lines = |events: &[Event]| events.iter().map(Event::to_json).collect::<Vec<_>>();
        let told = lines(&events);
        assert_eq!(lines(&beside), told, "subscribed from the start");
        let later = all_of(subscribed(progress).unwrap()).await;
        assert_eq!(lines(&later), told, "subscribed when it was over");
        assert_eq!(
            lines(&translated(&home.path().join("r"))),
            told,
            "translated"
        );
        Self {
            events,
            took: began.elapsed(),
            home,
        }
    }

    fn end(&self) -> (&Outcome, &Cause) {
        let ends = self.events.iter().filter_map(|event| match &event.body {
            Body::RunEnd(end) => Some((&end.outcome, &end.cause)),
            _ => None,
        });
        let ends: Vec<_> = ends.collect();
        assert_eq!(ends.len(), 1, "every run ends once: {ends:?}");
        ends[0]
    }
}

impl Played {
    /// The events without the members that differ from run to run: times, and the directory.
    fn timeless(&self) -> Vec<Value> {
        let home = self.home.path().to_str().unwrap();
        let events = self.events.iter().map(|event| {
            let text = event.to_json().replace(home, "HOME");
            let mut event: Value = serde_json::from_str(&text).unwrap();
            let members = event.as_object_mut().unwrap();
            members.remove("timestamp");
            members.remove("durationMs");
            event
        });
        events.collect()
    }
}

async fn all_of(mut subscription: Subscription) -> Vec<Event> {
    let mut events = Vec::new();
    while let Some(event) = subscription.next().await {
        events.push(event.unwrap());
    }
    events
}

async fn all_batches_of(mut subscription: Subscription) -> Vec<Event> {
    let (mut events, mut batch) = (Vec::new(), Vec::new());
    while let Some(read) = subscription.next_batch(&mut batch).await {
        read.unwrap();
        assert!(!batch.is_empty());
        events.append(&mut batch);
    }
    events
}

/// The events of a recording.
fn translated(recording: &Path) -> Vec<Event> {
    let past = RecordingReader::open(recording).unwrap();
    let reading = PastReading {
        options: past.options(NormalizeOptions::new("r")),
        max_line: 1024,
        exit_code: None,
        attempts: PastAttempts::AllThatFollow,
    };
    let mut all = Vec::new();
    let read = past.each_event(PastFormat::Acp, &reading, &mut |events, _| {
        all.append(events);
        Ok::<(), ReplayError>(())
    });
    read.unwrap();
    all
}

fn request(agent: LocalAgent, timeouts: RunTimeouts, home: &TempDir) -> ConversationRequest {
    let run = run::RunRequest {
        grace: Duration::from_secs(4),
        timeouts,
        records: RecordingOptions::below(home.path()),
        ..testing::run_request()
    };
    ConversationRequest {
        run,
        local: Some(agent),
        provider: Provider::Acp,
        roots: vec![home.path().to_owned()],
        environment: Vec::new(),
        mcp_servers: Vec::new(),
        session_meta: None,
        policy: Policy::new(Rules::default(), PermissionMode::Default),
        attendant: PromptAttendant::Nobody,
        hooks: None,
        auth_method: None,
        modes: ModeWords::default(),
        model: None,
        system_prompt: None,
    }
}

const NO_LIMITS: RunTimeouts = RunTimeouts {
    start: None,
    idle: None,
    total: None,
};

#[tokio::test(start_paused = true)]
async fn the_answer_of_an_agent_in_this_process_is_translated_and_recorded() {
    let played = Played::new(agent(Prompted::Answers), NO_LIMITS, |_| {}).await;
    assert_eq!(played.end(), (&Outcome::Completed, &Cause::EndTurn));
    let told: Vec<String> = played.events.iter().map(Event::to_json).collect();
    assert!(told.iter().any(|event| event.contains("Fine.")), "{told:?}");
    let recording = played.home.path().join("r");
    let read = |name| std::fs::read_to_string(recording.join(name)).unwrap();
    assert!(read(STDIN).contains("session/prompt"));
    assert!(read(STDOUT).contains("Fine."));
    assert!(played.took < BY_ITSELF, "it ends when its pipe is closed");
}

#[tokio::test(start_paused = true)]
async fn an_agent_in_this_process_that_panics_has_crashed_and_one_that_leaves_has_no_result() {
    let ends = [
        (Prompted::Panics, Cause::AgentCrashed),
        (Prompted::Leaves, Cause::NoResult),
    ];
    for (prompted, cause) in ends {
        let played = Played::new(agent(prompted), NO_LIMITS, |_| {}).await;
        assert_eq!(played.end(), (&Outcome::Failed, &cause), "{prompted:?}");
    }
}

/// A remote agent that is lost for this reason once it has its prompt.
fn lost(kind: AgentLossKind, prompted: Prompted) -> LocalAgent {
    LocalAgent::elsewhere(move |stream| async move {
        serve(stream, prompted).await;
        Err(AgentLoss::new(kind, "`wss://h` is gone").hint("look there"))
    })
}

#[tokio::test(start_paused = true)]
async fn an_agent_elsewhere_that_is_lost_ends_the_run_with_the_reason() {
    for (kind, cause) in [
        (AgentLossKind::Unreachable, Cause::SpawnFailed),
        (AgentLossKind::Late, Cause::TimeoutStart),
        (AgentLossKind::Misconfigured, Cause::BadConfig),
        (AgentLossKind::Unauthorized, Cause::AuthRequired),
        (AgentLossKind::RateLimited, Cause::QuotaRetryable),
        (AgentLossKind::Missing, Cause::AgentMissing),
        (AgentLossKind::Broken, Cause::AgentCrashed),
        (AgentLossKind::Violation, Cause::ProtocolError),
    ] {
        let played = Played::new(lost(kind, Prompted::Leaves), NO_LIMITS, |_| {}).await;
        assert_eq!(played.end(), (&Outcome::Failed, &cause), "{kind:?}");
        let end = played.events.last().unwrap().to_json();
        assert!(
            end.contains("`wss://h` is gone") && end.contains("look there"),
            "{end}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn an_agent_elsewhere_that_is_lost_after_its_answer_has_answered() {
    let agent = lost(AgentLossKind::Broken, Prompted::Answers);
    let played = Played::new(agent, NO_LIMITS, |_| {}).await;
    assert_eq!(played.end(), (&Outcome::Completed, &Cause::EndTurn));
    let end = played.events.last().unwrap().to_json();
    assert!(
        !end.contains("agentExitCode"),
        "it has no exit status: {end}"
    );
}

#[tokio::test(start_paused = true)]
async fn an_agent_that_never_ends_its_turn_is_ended_by_the_timeouts() {
    let day = Duration::from_hours(24);
    let total = RunTimeouts {
        total: Some(day),
        ..NO_LIMITS
    };
    let played = Played::new(agent(Prompted::Rambles), total, |_| {}).await;
    assert_eq!(played.end(), (&Outcome::Failed, &Cause::TimeoutTotal));
    assert!(played.took >= day && played.took <= day + Duration::from_secs(5));

    let idle = RunTimeouts {
        idle: Some(Duration::from_hours(1)),
        ..NO_LIMITS
    };
    let played = Played::new(agent(Prompted::IsSilent), idle, |_| {}).await;
    assert_eq!(played.end(), (&Outcome::Failed, &Cause::TimeoutIdle));
}

#[tokio::test(start_paused = true)]
async fn an_agent_that_ignores_a_cancel_has_only_the_grace_to_end() {
    let cancel = |stopper: StopHandle| stopper.cancel();
    let played = Played::new(agent(Prompted::IsSilent), NO_LIMITS, cancel).await;
    assert_eq!(
        played.end(),
        (&Outcome::Cancelled, &Cause::CancelledByClient)
    );
    let grace = Duration::from_secs(4);
    assert!(
        played.took <= grace + Duration::from_secs(1),
        "{:?}",
        played.took
    );
}

#[tokio::test(start_paused = true)]
async fn a_recorded_conversation_is_an_agent_whose_run_has_the_same_events() {
    for prompted in [Prompted::Answers, Prompted::Panics, Prompted::Leaves] {
        let recorded = Played::new(agent(prompted), NO_LIMITS, |_| {}).await;
        let rate = ReplayRate {
            pace: ReplayPace::Times(1.0),
            patience: Duration::from_secs(5),
        };
        let recording = recorded.home.path().join("r");
        let again = match ReplaySource::open(&recording, rate).unwrap() {
            ReplaySource::Spoken(agent) => agent,
            ReplaySource::Written(output) => panic!("{output:?} spoke ACP"),
        };
        let played = Played::new(again, NO_LIMITS, |_| {}).await;
        assert_eq!(played.timeless(), recorded.timeless(), "{prompted:?}");
    }
}
