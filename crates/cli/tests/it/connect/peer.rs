//! A program that keeps an agent, and checks all that it is told.

use std::io::Write as _;
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::{LazyLock, mpsc};
use std::time::Instant;

use jsonschema::Validator;
use lapidary::vocab::schema::Published;
use lapidary_testkit::acp_schema::SchemaOracle;
use serde_json::{Value, json};

use crate::run::world::World;
use crate::support::{DEADLINE, lines_of};

const AGENT: &str = include_str!("../../../../../examples/agent.py");

/// What `--format events` may print.
pub(super) static EVENTS: LazyLock<Validator> = LazyLock::new(|| validator("events"));

pub(super) fn validator(name: &str) -> Validator {
    let schema = Published::named(name).unwrap().schema();
    jsonschema::validator_for(&schema).unwrap()
}

pub(super) struct Peer {
    pub(super) world: World,
    pub(super) child: Child,
    stdin: Option<ChildStdin>,
    lines: mpsc::Receiver<String>,
    pub(super) events: Vec<Value>,
    printed: Vec<String>,
    /// The ids of commands that have no result yet.
    open: Vec<Value>,
}

/// How it went.
#[derive(Debug)]
pub(super) struct Over {
    pub(super) code: Option<i32>,
    pub(super) events: Vec<Value>,
}

impl Peer {
    pub(super) fn new() -> Self {
        Self::with("", &[])
    }

    /// With flags for the agent, and with more arguments.
    pub(super) fn with(flags: &str, args: &[&str]) -> Self {
        Self::called("agent", flags, args)
    }

    /// With a program of this name, by which we may know the agent.
    pub(super) fn called(name: &str, flags: &str, args: &[&str]) -> Self {
        let world = World::with_agent("exit 1");
        world.program(name, AGENT);
        Self::by(world, name, flags, args)
    }

    pub(super) fn of(world: World, flags: &str, args: &[&str]) -> Self {
        Self::by(world, "agent", flags, args)
    }

    fn by(world: World, name: &str, flags: &str, args: &[&str]) -> Self {
        let agent = format!("{} {flags}", world.path(name).display());
        let mut all = vec!["connect", "--agent", &agent, "--run-id", "run"];
        all.extend(args);
        let mut command: Command = world.lapidary(&all);
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.stderr(Stdio::null()).spawn().unwrap();
        Self {
            stdin: child.stdin.take(),
            lines: lines_of(&mut child),
            child,
            world,
            events: Vec::new(),
            printed: Vec::new(),
            open: Vec::new(),
        }
    }

    /// Gives a command. Its id is the number of those before it.
    pub(super) fn give(&mut self, name: &str, fields: Value) -> Value {
        static COUNT: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(0);
        let id = json!(COUNT.fetch_add(1, std::sync::atomic::Ordering::Relaxed));
        let mut command = fields;
        command["command"] = name.into();
        command["id"] = id.clone();
        self.open.push(id.clone());
        self.say(format!("{command}\n").as_bytes());
        id
    }

    /// A command of this id is given in another way.
    pub(super) fn awaits(&mut self, id: Value) {
        self.open.push(id);
    }

    /// The printed lines, unparsed.
    pub(super) fn lines(&self) -> &[String] {
        &self.printed
    }

    pub(super) fn prompt(&mut self, text: &str) -> Value {
        self.give("send_message", json!({ "text": text }))
    }

    /// Writes any bytes to stdin of the process, which may have ended.
    pub(super) fn say(&mut self, bytes: &[u8]) {
        let stdin = self.stdin.as_mut().unwrap();
        let _ = stdin.write_all(bytes).and_then(|()| stdin.flush());
    }

    pub(super) fn close(&mut self) {
        self.stdin = None;
    }

    /// Reads until an event, which is then the last that was read.
    pub(super) fn until(&mut self, is_it: impl Fn(&Value) -> bool) -> Value {
        let last = Instant::now() + DEADLINE;
        loop {
            let event = self.next(last).expect("it comes before the end");
            if is_it(&event) {
                return event;
            }
        }
    }

    fn next(&mut self, last: Instant) -> Option<Value> {
        let left = last.saturating_duration_since(Instant::now());
        let line = match self.lines.recv_timeout(left) {
            Ok(line) => line,
            Err(mpsc::RecvTimeoutError::Disconnected) => return None,
            Err(mpsc::RecvTimeoutError::Timeout) => panic!("nothing comes: {:#?}", self.events),
        };
        let event: Value = serde_json::from_str(&line).unwrap();
        if let Err(error) = EVENTS.validate(&event) {
            panic!("{error}: {line}");
        }
        assert_eq!(event["seq"], self.events.len(), "without gaps: {line}");
        if event["event"] == "command_result"
            && let Some(id) = event.get("commandId")
        {
            let place = self.open.iter().position(|open| open == id);
            self.open
                .remove(place.unwrap_or_else(|| panic!("a second result: {line}")));
        }
        self.printed.push(line);
        self.events.push(event.clone());
        Some(event)
    }

    pub(super) fn event(&mut self, name: &str) -> Value {
        self.until(|event| event["event"] == name)
    }

    /// Waits for some words of the agent.
    pub(super) fn hears(&mut self, words: &str) -> Value {
        self.until(|event| {
            event["textDelta"]
                .as_str()
                .is_some_and(|text| text.contains(words))
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

    /// What became of a command that was carried out.
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

    /// A command, and what became of it.
    pub(super) fn does(&mut self, name: &str, fields: Value) -> Value {
        let id = self.give(name, fields);
        self.done(&id)
    }

    pub(super) fn cannot(&mut self, name: &str, fields: Value) -> String {
        let id = self.give(name, fields);
        self.failed(&id)
    }

    /// Closes stdin, so that no command follows, and reads to the end.
    pub(super) fn finish(mut self) -> Over {
        self.close();
        self.end()
    }

    /// Reads to the end: each command has its one result, there is one `run_end`, which is last, and nothing is left running.
    pub(super) fn end(mut self) -> Over {
        let last = Instant::now() + DEADLINE;
        while self.next(last).is_some() {}
        let code = self.child.wait().unwrap().code();
        let ends = self
            .events
            .iter()
            .filter(|event| event["event"] == "run_end");
        assert_eq!(ends.count(), 1, "{:#?}", self.events);
        assert_eq!(self.events.last().unwrap()["event"], "run_end");
        assert_eq!(
            self.open,
            Vec::<Value>::new(),
            "without a result: {:#?}",
            self.events
        );
        self.world.assert_nothing_is_left();
        self.check_what_we_said();
        Over {
            code,
            events: self.events,
        }
    }

    /// Each line that we said is as the protocol's own schema has it, where that is installed.
    fn check_what_we_said(&self) {
        let end = self.events.last().unwrap();
        let recording = end["extensions"]["lapidary.recording"].as_str();
        // An agent that was not started was told nothing.
        let recording = recording.filter(|it| Path::new(it).join("stdin").exists());
        if let (Some(oracle), Some(recording)) = (SchemaOracle::if_installed(), recording) {
            let checked = oracle.check_recording(recording.as_ref());
            assert!(checked.is_ok(), "{checked:?}");
        }
    }

    /// The messages that the agent got, from the recording.
    pub(super) fn told(&self) -> Vec<Value> {
        let stdin = std::fs::read_to_string(self.world.path("state/runs/run/stdin")).unwrap();
        stdin
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect()
    }

    pub(super) fn make(&self, name: &str) {
        std::fs::write(self.world.path("project").join(name), "").unwrap();
    }
}

impl Over {
    pub(super) fn cause(&self) -> (&str, Option<i32>) {
        let end = self.events.last().unwrap();
        (end["cause"].as_str().unwrap(), self.code)
    }

    /// All that the agent said.
    pub(super) fn words(&self) -> String {
        let deltas = self
            .events
            .iter()
            .filter_map(|event| event["textDelta"].as_str());
        deltas.collect()
    }
}
