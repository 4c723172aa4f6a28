//! A client program that drives an agent, and checks every event.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use lapidary_vocab::event::Provider;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::runtime::Runtime;
use tokio::time::timeout;

use super::agent::{Signals, agent};
use crate::acp::LocalAgent;
use crate::agents::ModeWords;
use crate::conversation::{
    self, ClientCommand, CommandSender, ConversationRequest, PromptAttendant,
};
use crate::policy::{PermissionMode, Policy, Rules};
use crate::recording::RecordingOptions;
use crate::run::{self, Run, testing};

/// How long an event may take.
const DEADLINE: Duration = Duration::from_mins(1);

pub(super) struct TestClient {
    runtime: Runtime,
    run: Run,
    orders: Option<CommandSender>,
    signals: Arc<Signals>,
    home: TempDir,
    pub(super) events: Vec<Value>,
    given: u64,
    /// The ids of commands that have no result yet.
    open: Vec<Value>,
}

/// How a conversation ended.
pub(super) struct EndedConversation {
    pub(super) events: Vec<Value>,
}

impl TestClient {
    pub(super) fn new() -> Self {
        Self::with("", |_| {})
    }

    /// A client of an agent with these flags, which has little time to end a turn.
    pub(super) fn impatient(flags: &'static str) -> Self {
        Self::with(flags, |request| {
            request.run.grace = Duration::from_millis(300);
        })
    }

    /// A client of an agent with these flags, and with a request that `change` has changed.
    pub(super) fn with(flags: &'static str, change: impl FnOnce(&mut ConversationRequest)) -> Self {
        let home = tempfile::tempdir().unwrap();
        let signals = Arc::new(Signals::new(BTreeSet::new()));
        let mut request = request_to(agent(flags, &signals), &home);
        change(&mut request);
        let conversation = conversation::connect(request);
        let mut runtime = tokio::runtime::Builder::new_current_thread();
        Self {
            runtime: runtime.enable_time().build().unwrap(),
            run: conversation.run,
            orders: Some(conversation.orders),
            signals,
            home,
            events: Vec::new(),
            given: 0,
            open: Vec::new(),
        }
    }

    pub(super) fn project(&self) -> PathBuf {
        self.home.path().join("project")
    }

    /// Sends a command. Its id is the number of commands before it.
    pub(super) fn give(&mut self, name: &str, fields: Value) -> Value {
        let id = json!(self.given);
        self.given += 1;
        let mut command = fields;
        command["command"] = name.into();
        command["id"] = id.clone();
        self.open.push(id.clone());
        let orders = self.orders.as_ref().unwrap();
        orders.give(ClientCommand::read(&command.to_string()));
        id
    }

    pub(super) fn prompt(&mut self, text: &str) -> Value {
        self.give("send_message", json!({ "text": text }))
    }

    /// Gives the agent a signal.
    pub(super) fn signal(&self, name: &str) {
        self.signals
            .send_modify(|given| given.extend([name.to_owned()]));
    }

    /// Gives no commands any more.
    pub(super) fn close(&mut self) {
        self.orders = None;
    }

    /// Reads until an event, which is then the last that was read.
    pub(super) fn until(&mut self, is_it: impl Fn(&Value) -> bool) -> Value {
        loop {
            let event = self.next().expect("it comes before the end");
            if is_it(&event) {
                return event;
            }
        }
    }

    fn next(&mut self) -> Option<Value> {
        let run = &mut self.run;
        let next = async { timeout(DEADLINE, run.next()).await };
        let Ok(event) = self.runtime.block_on(next) else {
            panic!("nothing comes: {:#?}", self.events);
        };
        let event: Value = serde_json::from_str(&event?.to_json()).unwrap();
        assert_eq!(event["seq"], self.events.len(), "without gaps: {event}");
        if event["event"] == "command_result"
            && let Some(id) = event.get("commandId")
        {
            let place = self.open.iter().position(|open| open == id);
            let place = place.unwrap_or_else(|| panic!("a second result: {event}"));
            self.open.remove(place);
        }
        self.events.push(event.clone());
        Some(event)
    }

    pub(super) fn event(&mut self, name: &str) -> Value {
        self.until(|event| event["event"] == name)
    }

    /// Waits for this text of the agent.
    pub(super) fn hears(&mut self, words: &str) -> Value {
        self.until(|event| {
            let text = event["textDelta"].as_str();
            text.is_some_and(|text| text.contains(words))
        })
    }

    /// The result of a command.
    pub(super) fn result(&mut self, id: &Value) -> Value {
        let known = self.events.iter().find(|event| event["commandId"] == *id);
        match known.cloned() {
            Some(known) => known,
            None => self.until(|event| event["commandId"] == *id),
        }
    }

    /// The result of a command that succeeds.
    pub(super) fn done(&mut self, id: &Value) -> Value {
        let result = self.result(id);
        assert_eq!(result["isError"], Value::Null, "{result}");
        result["result"].clone()
    }

    /// Why a command could not be carried out.
    pub(super) fn failed(&mut self, id: &Value) -> String {
        let result = self.result(id);
        assert_eq!(result["isError"], true, "{result}");
        result["message"].as_str().unwrap().to_owned()
    }

    /// Sends a command that succeeds, and returns its result.
    pub(super) fn does(&mut self, name: &str, fields: Value) -> Value {
        let id = self.give(name, fields);
        self.done(&id)
    }

    pub(super) fn cannot(&mut self, name: &str, fields: Value) -> String {
        let id = self.give(name, fields);
        self.failed(&id)
    }

    /// Gives no commands any more, and reads to the end.
    pub(super) fn finish(mut self) -> EndedConversation {
        self.close();
        self.end()
    }

    /// Reads to the end: each command has its one result, and there is one `run_end`, which is last.
    pub(super) fn end(mut self) -> EndedConversation {
        while self.next().is_some() {}
        let is_end = |event: &&Value| event["event"] == "run_end";
        assert_eq!(self.events.iter().filter(is_end).count(), 1);
        assert_eq!(self.events.last().unwrap()["event"], "run_end");
        assert_eq!(self.open, [Value::Null; 0], "without a result");
        EndedConversation {
            events: self.events,
        }
    }

    /// The lines that the agent got, as the recording has them.
    pub(super) fn told(&self) -> Vec<Value> {
        let stdin = self.home.path().join("runs/r/stdin");
        let stdin = std::fs::read_to_string(stdin).unwrap();
        let lines = stdin.lines().map(serde_json::from_str);
        lines.map(Result::unwrap).collect()
    }
}

impl EndedConversation {
    pub(super) fn cause(&self) -> (&str, Option<i64>) {
        let end = self.events.last().unwrap();
        (end["cause"].as_str().unwrap(), end["exitCode"].as_i64())
    }

    /// All that the agent said.
    pub(super) fn words(&self) -> String {
        let texts = self.events.iter();
        texts
            .filter_map(|event| event["textDelta"].as_str())
            .collect()
    }
}

/// The request for a conversation with an agent that is recorded in `home`.
pub(super) fn request_to(agent: LocalAgent, home: &TempDir) -> ConversationRequest {
    let project = home.path().join("project");
    std::fs::create_dir(&project).unwrap();
    let run = run::RunRequest {
        grace: Duration::from_secs(10),
        max_line: 1 << 20,
        records: RecordingOptions::below(home.path().join("runs")),
        ..testing::run_request()
    };
    ConversationRequest {
        run,
        local: Some(agent),
        provider: Provider::Acp,
        policy: Policy::new(Rules::default(), PermissionMode::Default).with_roots([&project]),
        roots: vec![project],
        environment: Vec::new(),
        mcp_servers: Vec::new(),
        session_meta: None,
        attendant: PromptAttendant::Peer,
        hooks: None,
        auth_method: None,
        modes: ModeWords::default(),
        model: None,
        system_prompt: None,
    }
}
