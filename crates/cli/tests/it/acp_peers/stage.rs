//! A real agent, spoken to by a client that knows just enough of the protocol.

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use lapidary::engine::acp::{
    AgentLaunch, AgentSource, ConnectionLimits, HandledMethods, IncomingRequest, MessageContent,
    RunningAgent, TrafficLine,
};
use lapidary::engine::process::{Command, Supervisor};
use lapidary::engine::recording::Recorder;
use lapidary::vocab::Json;
use lapidary_standin::api::{Dialect, FakeApi, RequestKind, Script};
use lapidary_testkit::acp::{AcpWorld, Peer};
use lapidary_testkit::acp_schema::SchemaOracle;
use serde_json::{Value, json};
use tokio::time::{Instant, sleep_until, timeout};

use crate::run::world::{MARK, Mark};

/// No turn takes longer, on the slowest machine.
const PATIENCE: Duration = lapidary_testkit::patience::HANG;
/// Time for an agent to end by itself.
const GRACE: Duration = Duration::from_secs(3);

pub(super) struct Stage {
    world: AcpWorld,
    api: FakeApi,
    mark: Mark,
    agent: RunningAgent,
    session: Value,
}

/// The result of a prompt.
#[derive(Debug, Default)]
pub(super) struct Turn {
    pub(super) stop_reason: Value,
    /// The kinds of the updates, with the status of tools. Updates that agents send at any time are skipped.
    pub(super) updates: Vec<String>,
    /// The kinds of the options of each permission that was asked for.
    pub(super) permissions: Vec<String>,
    pub(super) text: String,
    pub(super) thoughts: String,
}

impl Stage {
    pub(super) async fn start(peer: Peer, script: Script) -> Self {
        let (world, mark) = (AcpWorld::new(peer), Mark::fresh());
        let api = FakeApi::start(script).await.unwrap();
        let words = peer.command_line();
        let mut command = Command::new(&words[0], world.project());
        command.args(&words[1..]);
        command.envs(world.environment(&api.base_url()));
        command.envs([(MARK, mark.value())]);
        let launch = AgentLaunch {
            source: AgentSource::Process {
                command: Box::new(command),
                supervisor: Supervisor::at(env!("CARGO_BIN_EXE_lapidary")),
            },
            recorder: Recorder::begin(&world.root().join("runs"), "run").unwrap(),
            max_output: 1 << 30,
            methods: HandledMethods::from_names(["session/request_permission"]),
            limits: ConnectionLimits::default(),
            tap: None,
        };
        let agent = RunningAgent::start(launch).await.unwrap();
        Self {
            world,
            api,
            mark,
            agent,
            session: Value::Null,
        }
    }

    pub(super) async fn open_session(&mut self) {
        let ours = json!({
            "protocolVersion": 1,
            "clientCapabilities": { "fs": { "readTextFile": false, "writeTextFile": false }, "terminal": false },
            "clientInfo": { "name": "lapidary-tests", "version": "0" },
        });
        let theirs = self.ask("initialize", &ours).await;
        assert_eq!(theirs["protocolVersion"], 1, "{theirs}");
        let place = json!({ "cwd": self.world.project(), "mcpServers": [] });
        self.session = self.ask("session/new", &place).await["sessionId"].take();
        assert!(self.session.is_string());
    }

    /// Sends a prompt, and allows each permission request once.
    pub(super) async fn prompt(&mut self, text: &str) -> Turn {
        self.play(text, None).await
    }

    /// Prompts, and cancels when the agent has said this.
    pub(super) async fn prompt_and_cancel(&mut self, text: &str, at: &str) -> Turn {
        self.play(text, Some(at)).await
    }

    async fn play(&mut self, text: &str, mut cancel_at: Option<&str>) -> Turn {
        let prompt = [json!({ "type": "text", "text": text })];
        let prompt = Json::from_value(&json!({ "sessionId": self.session, "prompt": prompt }));
        let connection = &self.agent.connection;
        let waiting = connection.ask("session/prompt", Some(&prompt)).unwrap();
        let mut turn = Turn::default();
        loop {
            match self.heard(&mut turn).await {
                MessageContent::Notification { method, params }
                    if method.to_str() == "session/update" =>
                {
                    turn.note(&value(&params.unwrap())["update"]);
                }
                MessageContent::Answer { id, .. } if id == *waiting.id() => break,
                _ => continue,
            }
            if cancel_at.is_some_and(|at| turn.text.contains(at)) {
                cancel_at = None;
                self.cancel();
            }
        }
        let answer = waiting.answer(Some(PATIENCE)).await;
        let answer = answer.unwrap_or_else(|error| panic!("{error}"));
        turn.stop_reason = value(&answer.result)["stopReason"].take();
        turn
    }

    /// The next message of the agent. Permission requests before it are allowed once.
    async fn heard(&mut self, turn: &mut Turn) -> MessageContent {
        let last = Instant::now() + PATIENCE;
        loop {
            // All of these can be cancelled.
            let observed = tokio::select! {
                Some(asked) = self.agent.requests.next() => {
                    turn.permissions.push(allow(asked));
                    continue;
                }
                observed = self.agent.observer.next() => observed,
                () = sleep_until(last) => panic!("it hangs: {turn:#?}\n{}", self.stderr()),
            };
            match observed.map(|observed| observed.traffic) {
                None => panic!("it is gone: {turn:#?}\n{}", self.stderr()),
                Some(TrafficLine::Received(received)) => return received.what,
                Some(TrafficLine::Sent(_) | TrafficLine::Skipped { .. }) => {}
            }
        }
    }

    fn cancel(&self) {
        let session = Json::from_value(&json!({ "sessionId": self.session }));
        let connection = &self.agent.connection;
        connection.notify("session/cancel", Some(&session)).unwrap();
    }

    /// Ends the agent, and asserts that nothing is left and that all we said was said as it should be.
    pub(super) async fn end(self) {
        timeout(PATIENCE, self.agent.end(GRACE)).await.unwrap();
        self.mark.assert_nothing_is_left();
        let recording = self.world.root().join("runs/run");
        let checked = SchemaOracle::load().check_recording(&recording).unwrap();
        assert!(checked >= 5, "only {checked} lines");
    }

    /// The content of the file that the tool wrote.
    pub(super) fn made(&self) -> String {
        fs::read_to_string(self.path("project/made")).unwrap()
    }

    /// The newest request of the conversation, which was made in this dialect.
    pub(super) fn told_to_the_model(&self, dialect: Dialect) -> String {
        let requests = self.api.requests();
        let mut conversation = requests
            .iter()
            .filter(|made| made.kind == RequestKind::Stream);
        let last = conversation.next_back().unwrap();
        assert_eq!(last.dialect, dialect);
        last.body.to_string()
    }

    async fn ask(&self, method: &str, params: &Value) -> Value {
        let params = Json::from_value(params);
        let answer = self
            .agent
            .connection
            .request(method, Some(&params), Some(PATIENCE));
        match answer.await {
            Ok(answer) => value(&answer.result),
            Err(error) => panic!("{method}: {error}\n{}", self.stderr()),
        }
    }

    fn stderr(&self) -> String {
        fs::read_to_string(self.path("runs/run/stderr")).unwrap()
    }

    fn path(&self, name: &str) -> PathBuf {
        self.world.root().join(name)
    }
}

impl Turn {
    fn note(&mut self, update: &Value) {
        let kind = update["sessionUpdate"].as_str().unwrap();
        let said = update["content"]["text"].as_str().unwrap_or_default();
        match kind {
            "agent_message_chunk" => self.text += said,
            "agent_thought_chunk" => self.thoughts += said,
            "tool_call" | "tool_call_update" => {}
            _ => return,
        }
        let status = update["status"].as_str();
        self.updates.push(match status {
            Some(status) => format!("{kind} {status}"),
            None => kind.to_owned(),
        });
    }
}

/// Selects the option `allow_once`. Returns the kinds of all options.
fn allow(asked: IncomingRequest) -> String {
    let params = value(&asked.params.unwrap());
    let options = params["options"].as_array().unwrap();
    let kinds: Vec<_> = options
        .iter()
        .map(|option| option["kind"].as_str().unwrap())
        .collect();
    let once = options
        .iter()
        .find(|option| option["kind"] == "allow_once")
        .unwrap();
    let outcome = json!({ "outcome": { "outcome": "selected", "optionId": once["optionId"] } });
    asked.respond.answer(&Json::from_value(&outcome));
    kinds.join(" ")
}

fn value(json: &Json) -> Value {
    serde_json::from_str(json.as_str()).unwrap()
}
