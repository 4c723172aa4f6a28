//! What the CLI did: what its hooks were told, and what its model was told.

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
    /// What the model was told about each call.
    answers: Vec<Value>,
}

/// What a hook noted.
pub(super) struct Told {
    pub(super) hook: String,
    pub(super) places: String,
    /// What it was told, and the same as it stood there.
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

    /// What the hooks of a call were told, whichever came first.
    pub(super) fn told_about(&self, number: usize) -> Vec<Value> {
        about(&self.told, number)
    }

    /// What the hooks were told after a tool had run: its response.
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

    /// What the session is called, and where it is recorded.
    pub(super) fn session(&self) -> (String, String) {
        let first = &self.told[0].payload;
        let last = &self.told[self.told.len() - 1].payload;
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        (text(&first["session_id"]), text(&last["transcript_path"]))
    }

    /// Whatever a hook was told can be read and written again, byte for byte.
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

/// What the hooks noted.
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

/// What the hooks of a call were told: who, where and what, without the time and where the session is recorded, in some order that does
/// not depend on who was quicker.
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
