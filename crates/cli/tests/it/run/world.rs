//! A world for a run: a scripted agent, a state directory, and a mark by which all that it starts can be found again.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use lapidary::engine::RunHost;
use lapidary::engine::config::Config;
use lapidary::engine::process::Supervisor;
use lapidary::engine::run::RecordingOptions;
use lapidary_testkit::patience::wait_until;
use serde_json::Value;

use crate::support::{DEADLINE, lapidary, output, started};

/// Every process of a world carries this variable.
pub(crate) const MARK: &str = "LAPIDARY_TEST_WORLD";

/// What scripts have at hand: the lines of a stream.
pub(super) const LINES: &str = r#"
t='"timestamp":"2026-01-01T00:00:00.000Z"'
init() { echo "{\"type\":\"init\",$t,\"session_id\":\"s-1\",\"model\":\"m\"}"; }
user() { echo "{\"type\":\"message\",$t,\"role\":\"user\",\"content\":\"go\"}"; }
say() { echo "{\"type\":\"message\",$t,\"role\":\"assistant\",\"content\":\"$1\",\"delta\":true}"; }
call() { echo "{\"type\":\"tool_use\",$t,\"tool_name\":\"$2\",\"tool_id\":\"$1\",\"parameters\":{}}"; }
answer() { echo "{\"type\":\"tool_result\",$t,\"tool_id\":\"$1\",\"status\":\"success\",\"output\":\"$2\"}"; }
success() { echo "{\"type\":\"result\",$t,\"status\":\"success\",\"stats\":{\"total_tokens\":3,\"input_tokens\":1,\"output_tokens\":2}}"; }
failure() { echo "{\"type\":\"result\",$t,\"status\":\"error\",\"error\":{\"type\":\"$1\",\"message\":\"$2\"}}"; }
"#;

pub(crate) struct World {
    directory: tempfile::TempDir,
    mark: Mark,
}

/// A host with the variables of a command, for the library instead of the command.
pub(crate) fn run_host(
    command: &Command,
    directory: impl Into<PathBuf>,
    recordings: PathBuf,
) -> RunHost {
    let vars = command.get_envs();
    let vars = vars.filter_map(|(name, value)| Some((name.into(), value?.into())));
    let supervisor = Supervisor::at(env!("CARGO_BIN_EXE_lapidary"));
    let records = RecordingOptions::below(recordings);
    RunHost::new(vars.collect::<Vec<_>>(), directory, supervisor, records)
}

impl World {
    /// A world whose `gemini` is this shell script.
    pub(crate) fn with_agent(script: &str) -> Self {
        let world = Self {
            directory: tempfile::tempdir().unwrap(),
            mark: Mark::fresh(),
        };
        fs::create_dir(world.path("project")).unwrap();
        world.agent(script);
        world
    }

    /// Replaces the agent.
    pub(crate) fn agent(&self, script: &str) {
        self.program("gemini", &format!("#!/bin/sh\n{LINES}\n{script}"));
    }

    /// Makes a program. Another process writes it: the kernel executes no file that a process has open for writing, and each
    /// child of this process has a copy of its open files for a moment.
    pub(crate) fn program(&self, name: &str, text: &str) {
        let mut shell = Command::new("sh");
        shell
            .args([
                "-c",
                "cat > \"$1.new\" && chmod 755 \"$1.new\" && mv \"$1.new\" \"$1\"",
                "sh",
            ])
            .arg(self.path(name));
        let made = output(shell, text.as_bytes());
        assert!(made.status.success(), "{made:?}");
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// The command, in the project of this world. Agents may write beside the project too: so they tell the test how far they are.
    pub(crate) fn lapidary(&self, args: &[&str]) -> Command {
        let (name, rest) = match args {
            [name @ ("run" | "exec"), rest @ ..] => (vec![*name], rest),
            ["sessions", "resume", rest @ ..] => (vec!["sessions", "resume"], rest),
            _ => return self.confining(args),
        };
        let mut command = self.confining(&name);
        if !rest.contains(&"--confine") {
            command.arg("--confine-write").arg(self.directory.path());
        }
        command.args(rest);
        command
    }

    /// The same, with nothing but the project to write in.
    pub(crate) fn confining(&self, args: &[&str]) -> Command {
        let mut command = lapidary(args);
        command
            .current_dir(self.path("project"))
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap())
            .env("HOME", self.path("home"))
            .env("GEMINI_CLI_PATH", self.path("gemini"))
            .env("LAPIDARY_STATE_DIR", self.path("state"))
            .env("GEMINI_CLI_TRUST_WORKSPACE", "true")
            .env(MARK, self.mark.value());
        command
    }

    /// The host that a program needs to run the agent of this world through the library.
    pub(crate) fn host(&self) -> RunHost {
        run_host(
            &self.lapidary(&[]),
            self.path("project"),
            self.path("state/runs"),
        )
    }

    /// A configuration with which the agent may write beside the project, too.
    pub(crate) fn config(&self) -> Config {
        let everything = self.directory.path().to_owned();
        Config {
            confine_write: Some(vec![everything]),
            ..Config::default()
        }
    }

    /// Runs the agent.
    pub(crate) fn run(&self, args: &[&str]) -> Told {
        let mut all = vec!["run"];
        all.extend(args);
        Told::by(self.lapidary(&all))
    }

    pub(crate) fn assert_nothing_is_left(&self) {
        self.mark.assert_nothing_is_left();
    }

    /// What runs in this world: pid and command line.
    pub(crate) fn processes(&self) -> Vec<(i32, String)> {
        self.mark.processes()
    }

    /// Waits until the agent has made a file.
    pub(crate) fn wait_for(&self, name: &str) {
        wait_until(name, || self.path(name).exists());
    }

    /// The recording of the only run so far.
    pub(crate) fn recording(&self) -> PathBuf {
        let runs = fs::read_dir(self.path("state/runs")).unwrap().flatten();
        let mut runs: Vec<_> = runs.filter(|run| run.path().is_dir()).collect();
        assert_eq!(runs.len(), 1, "there is one recording");
        runs.remove(0).path()
    }
}

/// A value that only the processes of one world carry in their environment.
pub(crate) struct Mark(String);

impl Mark {
    pub(crate) fn fresh() -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        Self(format!("{}-{count}", std::process::id()))
    }

    pub(crate) fn value(&self) -> &str {
        &self.0
    }

    /// Asserts that nothing that carries it runs any more. As long as a supervisor of ours is there it is at work, and a process
    /// that was killed may wait for its turn to die; what two looks in a row find besides is left over.
    pub(crate) fn assert_nothing_is_left(&self) {
        let (mut before, last) = (Vec::new(), Instant::now() + DEADLINE);
        loop {
            let all = self.processes();
            if all.is_empty() {
                return;
            }
            assert!(Instant::now() < last, "still there: {all:?}");
            let is_supervised = all.iter().any(|(_, line)| is_ours(line));
            let mut left = all;
            left.retain(|(pid, _)| !is_supervised && !is_killed(*pid));
            let is_left = left.iter().any(|it| before.contains(it));
            assert!(!is_left, "left over: {left:?}, {before:?}");
            before = left;
            thread::sleep(Duration::from_millis(5));
        }
    }

    /// What carries it: pid and command line.
    pub(crate) fn processes(&self) -> Vec<(i32, String)> {
        let mark = format!("{MARK}={}", self.0);
        let mut found = Vec::new();
        for entry in fs::read_dir("/proc").unwrap().flatten() {
            let Some(pid) = entry
                .file_name()
                .to_str()
                .and_then(|name| name.parse().ok())
            else {
                continue;
            };
            let environment = fs::read(entry.path().join("environ")).unwrap_or_default();
            let is_ours = environment
                .split(|byte| *byte == 0)
                .any(|pair| pair == mark.as_bytes());
            let line = fs::read(entry.path().join("cmdline")).unwrap_or_default();
            if is_ours && !line.is_empty() {
                found.push((pid, String::from_utf8_lossy(&line).replace('\0', " ")));
            }
        }
        found
    }
}

/// True for the command line of a process that runs our own program.
fn is_ours(line: &str) -> bool {
    line.starts_with(env!("CARGO_BIN_EXE_lapidary"))
}

/// True for a process that was killed and has not died yet.
fn is_killed(pid: i32) -> bool {
    const SIGKILL: u64 = 1 << (9 - 1);
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let pending = status.lines().filter_map(|line| {
        let line = line
            .strip_prefix("SigPnd:")
            .or(line.strip_prefix("ShdPnd:"))?;
        u64::from_str_radix(line.trim(), 16).ok()
    });
    status.is_empty() || pending.fold(0, |all, some| all | some) & SIGKILL != 0
}

/// The output, exit code and duration of a run.
#[derive(Debug)]
pub(crate) struct Told {
    pub(crate) code: Option<i32>,
    pub(crate) events: Vec<Value>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
    pub(crate) took: Duration,
}

impl Told {
    /// Runs a command that prints events.
    pub(crate) fn by(command: Command) -> Self {
        let started = Instant::now();
        let output = output(command, b"");
        Self::of(output, started.elapsed())
    }

    /// The same by a process of its own.
    pub(crate) fn started_by(command: Command) -> Self {
        let began = Instant::now();
        let output = started(command, b"");
        Self::of(output, began.elapsed())
    }

    pub(crate) fn of(output: Output, took: Duration) -> Self {
        let stdout = String::from_utf8(output.stdout).unwrap();
        Self {
            code: output.status.code(),
            events: events(&stdout),
            stderr: String::from_utf8(output.stderr).unwrap(),
            stdout,
            took,
        }
    }

    /// The one `run_end`, which is last.
    pub(crate) fn end(&self) -> &Value {
        let ends = self
            .events
            .iter()
            .filter(|event| event["event"] == "run_end");
        assert_eq!(ends.count(), 1, "one run_end: {self:?}");
        let last = self.events.last().unwrap();
        assert_eq!(last["event"], "run_end", "it is last: {self:?}");
        last
    }

    /// Cause and exit code.
    pub(crate) fn verdict(&self) -> (&str, Option<i32>) {
        (self.end()["cause"].as_str().unwrap(), self.code)
    }

    pub(crate) fn message(&self) -> &str {
        self.end()["message"].as_str().unwrap_or_default()
    }

    pub(crate) fn count(&self, name: &str) -> usize {
        self.events
            .iter()
            .filter(|event| event["event"] == name)
            .count()
    }
}

/// The events of an output that begins with one. Then there is nothing else in it: no line that is not JSON, before or behind the
/// `run_end`.
fn events(stdout: &str) -> Vec<Value> {
    let first = stdout
        .lines()
        .next()
        .and_then(|line| serde_json::from_str::<Value>(line).ok());
    if first.is_none_or(|first| first["event"].is_null()) {
        return Vec::new(); // text, a result, the agent's own lines
    }
    let event = |line: &str| {
        let event: Value =
            serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line:?}"));
        assert!(event["event"].is_string(), "no event: {line:?}");
        event
    };
    stdout.lines().map(event).collect()
}

#[test]
fn the_test_world_rejects_output_after_a_run_end() {
    let events_of = |stdout: &str| std::panic::catch_unwind(|| events(stdout).len()).ok();
    let end = r#"{"event":"run_end"}"#;
    assert_eq!(events_of(&format!("{end}\n")), Some(1));
    assert_eq!(events_of(&format!("{end}\ngarbage\n")), None);
    assert_eq!(events_of(&format!("{end}\n{{}}\n")), None);
    assert_eq!(events_of("plain text\n"), Some(0));
}

/// The files in a directory.
pub(crate) fn names(directory: &Path) -> Vec<String> {
    let entries = fs::read_dir(directory).unwrap().flatten();
    let mut names: Vec<_> = entries
        .map(|entry| entry.file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}
