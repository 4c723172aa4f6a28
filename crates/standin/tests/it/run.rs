//! One run of the real CLI.

use std::fs::{self, File};
use std::process::{Child, ExitStatus};
use std::thread;
use std::time::{Duration, Instant};

use lapidary_standin::api::FakeApi;
use lapidary_testkit::gemini::{GeminiVersion, GeminiWorld};
use lapidary_testkit::patience::HANG;
use serde_json::Value;

/// A run of the CLI, which does not outlive its test.
pub(crate) struct Run<'a> {
    child: Child,
    world: &'a GeminiWorld,
    deadline: Instant,
}

impl<'a> Run<'a> {
    /// The output of the CLI goes to files: at its end, the CLI loses the bytes that a slow reader of a pipe has not read.
    pub(crate) fn start(version: GeminiVersion, world: &'a GeminiWorld, api: &FakeApi) -> Self {
        let file = |name: &str| File::create(world.root().join(name)).unwrap();
        let child = world
            .command(version, &api.base_url())
            .args(["-m", "gemini-2.5-flash", "-o", "stream-json"])
            .args(["--approval-mode", "yolo", "-p", "hi"])
            .stdout(file("stdout"))
            .stderr(file("stderr"))
            .spawn()
            .unwrap();
        Self {
            child,
            world,
            deadline: Instant::now() + HANG,
        }
    }

    /// Waits for its end.
    pub(crate) fn finish(&mut self) -> ExitStatus {
        loop {
            if let Some(status) = self.ended() {
                return status;
            }
            self.pause();
        }
    }

    pub(crate) fn ended(&mut self) -> Option<ExitStatus> {
        self.child.try_wait().unwrap()
    }

    pub(crate) fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Waits until this stands on its stdout.
    pub(crate) fn wait_for(&self, text: &str) {
        while !self.read("stdout").contains(text) {
            self.pause();
        }
    }

    fn pause(&self) {
        assert!(
            Instant::now() < self.deadline,
            "too slow: {}",
            self.stderr()
        );
        thread::sleep(Duration::from_millis(20));
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.world.root().join(name)).unwrap()
    }

    pub(crate) fn stderr(&self) -> String {
        self.read("stderr")
    }

    /// Its events, a line each.
    pub(crate) fn outline(&self) -> Vec<String> {
        let stdout = self.read("stdout");
        let lines = stdout.lines();
        lines
            .map(|line| outline(&serde_json::from_str(line).unwrap()))
            .collect()
    }
}

impl Drop for Run<'_> {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// What matters about an event, in a line.
fn outline(event: &Value) -> String {
    let field = |name: &str| event[name].as_str().unwrap_or_default();
    match field("type") {
        "init" => format!("init {}", field("model")),
        "message" => format!("{} {}", field("role"), field("content")),
        "tool_use" => format!("tool_use {}", field("tool_name")),
        "tool_result" => format!("tool_result {} {}", field("status"), field("output")),
        "result" => match event["error"]["message"].as_str() {
            Some(message) => format!(
                "result {}: {}",
                field("status"),
                message.lines().next().unwrap_or_default()
            ),
            None => format!("result {}", field("status")),
        },
        other => format!("{other}: {event}"),
    }
}
