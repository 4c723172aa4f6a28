//! The behaviour of the CLI: the inputs of its hooks, and the messages to its model.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use lapidary::wire::gemini::hooks::HookInput;
use lapidary_standin::api::{FakeApi, Script, Turn};
use lapidary_testkit::gemini::{GeminiVersion, GeminiWorld};
use serde_json::Value;

use super::cases::{Case, mark};
use crate::support::started;

pub(super) struct Seen {
    pub(super) world: GeminiWorld,
    pub(super) base_url: String,
    told: Vec<Told>,
    /// The result of each call, as the model got it.
    answers: Vec<Value>,
}

/// One entry of a hook in the log.
pub(super) struct Told {
    pub(super) hook: String,
    pub(super) places: String,
    /// The input of the hook; `text` is its original text.
    pub(super) payload: Value,
    text: String,
}

impl Seen {
    pub(super) fn by_the_cli(case: &Case) -> Self {
        let world = GeminiWorld::with_settings(&case.settings);
        for number in 0..case.calls.len() {
            let file = world.project().join(mark(number));
            fs::create_dir(&file).unwrap();
            fs::write(
                file.with_extension("txt"),
                format!("needle{}\n", mark(number)),
            )
            .unwrap();
        }
        let turns = case.calls.iter();
        let turns = turns.map(|call| Turn::call(call.tool, call.input.clone()));
        let script = turns
            .fold(Script::new(), Script::stream)
            .stream("All done.");
        let api = FakeApi::start_in_thread(script).unwrap();
        let base_url = api.base_url();
        let log = world.root().join("theirs.log");
        let mut command = world.command(GeminiVersion::V0_61_0, &base_url);
        command
            .args([
                "-m",
                "gemini-2.5-flash",
                "--yolo",
                "-o",
                "stream-json",
                "-p",
                "go",
            ])
            .env("HOOK_LOG", &log)
            .stdin(Stdio::null());
        let ran = started(command, b"");
        let stderr = String::from_utf8_lossy(&ran.stderr).into_owned();
        assert!(ran.status.success(), "{stderr}");
        let requests = api.requests();
        let answers = requests.iter().filter_map(|request| {
            let last = request.last_content()?;
            last.pointer("/parts/0/functionResponse/response").cloned()
        });
        Self {
            answers: answers.collect(),
            told: read(&log),
            base_url,
            world,
        }
    }

    /// The inputs of the hooks of a call, independent of the order in which the hooks ran.
    pub(super) fn told_about(&self, number: usize) -> Vec<Value> {
        about(&self.told, number)
    }

    /// The response of the tool, as the hooks after it got it.
    pub(super) fn after(&self, number: usize) -> Option<&Value> {
        let mark = mark(number);
        let mut told = self.told.iter();
        let told = told.find(|told| {
            let payload = &told.payload;
            payload["hook_event_name"] == "AfterTool"
                && payload["tool_input"].to_string().contains(&mark)
        });
        told.map(|told| &told.payload["tool_response"])
    }

    pub(super) fn answer(&self, number: usize) -> Value {
        self.answers.get(number).cloned().unwrap_or_default()
    }

    /// The id of the session, and the path of its session file.
    pub(super) fn session(&self) -> (String, String) {
        let first = &self.told[0].payload;
        let last = &self.told[self.told.len() - 1].payload;
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        (text(&first["session_id"]), text(&last["transcript_path"]))
    }

    /// Hook inputs that are not the same, byte for byte, after they are parsed and written again.
    pub(super) fn round_trips(&self) -> Vec<String> {
        let wrong = self.told.iter().filter_map(|told| {
            let read = told.payload.as_object().and_then(HookInput::from_object);
            let written = read.map(|input| input.to_json());
            (written.as_deref() != Some(&told.text))
                .then(|| format!("{}\nis written as\n{written:?}", told.text))
        });
        wrong.collect()
    }
}

/// Reads the log of the hooks.
pub(super) fn read(log: &Path) -> Vec<Told> {
    let text = fs::read_to_string(log).unwrap_or_default();
    let lines = text.lines().map(|line| {
        let whole: Value =
            serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"));
        let (_, told) = line.split_once(r#","told":"#).unwrap();
        Told {
            hook: whole["hook"].as_str().unwrap().to_owned(),
            places: whole["places"].as_str().unwrap().to_owned(),
            payload: whole["told"].clone(),
            text: told.strip_suffix('}').unwrap().to_owned(),
        }
    });
    lines.collect()
}

/// The hooks of a call: name, directories and input of each, without the time, sorted so that the order does not depend on the
/// speed of a hook.
pub(super) fn about(told: &[Told], number: usize) -> Vec<Value> {
    let mark = mark(number);
    let told = told.iter().filter(|told| {
        let input = &told.payload["tool_input"];
        input.to_string().contains(&mark)
    });
    let mut told: Vec<_> = told
        .map(|told| {
            let mut payload = told.payload.clone();
            payload["timestamp"] = "then".into();
            serde_json::json!([told.hook, told.places, payload.to_string()])
        })
        .collect();
    told.sort_by_key(Value::to_string);
    told
}

pub(super) fn log_of_ours(world: &GeminiWorld, number: usize) -> PathBuf {
    world.root().join(format!("ours-{number}.log"))
}
