//! `lapidary agents run`: a definition as a run, and the reasons for which one does not begin.

use std::fs;

use lapidary_standin::api::{FakeApi, Script, Turn};
use lapidary_testkit::gemini::GeminiWorld;
use serde_json::{Value, json};

use crate::support::{Ran, lapidary, output};

const REVIEWER: &str =
    "---\nname: reviewer\ndescription: Reviews\ntools: [read_file]\n---\nReview.\n";

struct Stage {
    world: GeminiWorld,
}

impl Stage {
    fn new() -> Self {
        let stage = Self {
            world: GeminiWorld::new(),
        };
        stage.write("home/.gemini/agents/reviewer.md", REVIEWER);
        stage.write("project/a.txt", "alpha\n");
        stage
    }

    fn write(&self, name: &str, text: &str) {
        let path = self.world.root().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn run(&self, api: &str, args: &[&str], without: Option<&str>) -> Ran {
        let mut command = lapidary(["agents", "run"].iter().chain(args));
        command
            .current_dir(self.world.project())
            .env_clear()
            .envs(self.world.environment(api))
            .env("LAPIDARY_STATE_DIR", self.world.root().join("state"));
        if let Some(name) = without {
            command.env_remove(name);
        }
        let output = output(command, b"");
        Ran {
            code: output.status.code(),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }
}

#[test]
fn an_agent_definition_hands_over_data_that_fits_the_output_schema() {
    let stage = Stage::new();
    let schema = json!({
        "type": "object", "required": ["lines"], "additionalProperties": false,
        "properties": {"lines": {"type": "array", "items": {"$ref": "#/$defs/line"}}},
        "$defs": {"line": {"type": "integer", "minimum": 1}},
    });
    stage.write("project/s.json", &schema.to_string());
    let script = Script::new()
        .stream(Turn::call("complete_task", json!({"result": "Fine."})))
        .stream(Turn::call(
            "complete_task",
            json!({"result": {"lines": [0]}}),
        ))
        .stream(Turn::call(
            "complete_task",
            json!({"result": {"lines": [1, 2]}}),
        ));
    let api = FakeApi::start_in_thread(script).unwrap();
    let args = [
        "reviewer",
        "--format",
        "result",
        "--output-schema",
        "s.json",
        "look",
    ];
    let ran = stage.run(&api.base_url(), &args, None);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let result: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(
        (&result["data"], &result["dataSource"]),
        (&json!({"lines": [1, 2]}), &json!("tool"))
    );
    let told = format!("{:?}", api.requests());
    assert!(told.contains("params/result must be object"), "{told}");
    assert!(
        told.contains("params/result/lines/0 must be >= 1"),
        "{told}"
    );
}

#[test]
fn an_agent_definition_that_never_hands_over_data_fails_with_19() {
    let stage = Stage::new();
    stage.write("project/s.json", r#"{"type": "object", "required": ["n"]}"#);
    let args = [
        "reviewer",
        "--format",
        "result",
        "--output-schema",
        "s.json",
        "look",
    ];
    let prose = Script::new().stream("It is fine.").stream("Really, it is.");
    let api = FakeApi::start_in_thread(prose).unwrap();
    let ran = stage.run(&api.base_url(), &args, None);
    let result: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(
        (ran.code, &result["cause"], result.get("data")),
        (Some(19), &json!("schema_mismatch"), None),
        "{result:#}"
    );
    let message = result["error"]["message"].as_str().unwrap();
    assert!(message.contains("the agent said: It is fine."), "{message}");
    assert_eq!(
        api.requests().len(),
        2,
        "no repair: it would be another task"
    );

    let text = Script::new().stream("Done.").stream(r#"Here: {"n": 1}"#);
    let api = FakeApi::start_in_thread(text).unwrap();
    let ran = stage.run(&api.base_url(), &args, None);
    let result: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(
        (ran.code, &result["data"], &result["dataSource"]),
        (Some(0), &json!({"n": 1}), &json!("text")),
        "{result:#}"
    );
}

#[test]
fn an_agent_definition_runs_on_the_api_that_the_variables_name() {
    let stage = Stage::new();
    let script = Script::new()
        .stream(Turn::call("read_file", json!({"file_path": "a.txt"})))
        .stream(Turn::call("complete_task", json!({"result": "Fine."})));
    let api = FakeApi::start_in_thread(script).unwrap();
    let args = ["reviewer", "--format", "result", "look at a.txt"];
    let ran = stage.run(&api.base_url(), &args, None);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let result: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(
        json!([
            result["response"],
            result["terminateReason"],
            result["output"]
        ]),
        json!(["Fine.", "GOAL", "Fine."]),
        "{result:#}"
    );
    let requests = api.requests();
    let told = requests.last().unwrap().body.to_string();
    assert!(told.contains("look at a.txt"), "the prompt: {told}");
    assert!(told.contains("alpha"), "the file: {told}");
    let runs = stage.world.root().join("state/runs");
    let [recorded] = &fs::read_dir(runs).unwrap().flatten().collect::<Vec<_>>()[..] else {
        panic!("one recording")
    };
    let mut translate = lapidary(["translate", "--format", "activity"]);
    translate.arg(recorded.path());
    let activity = String::from_utf8(output(translate, b"").stdout).unwrap();
    let told = activity.lines().map(|line| {
        let event: Value = serde_json::from_str(line).unwrap();
        json!([event["agentName"], event["type"], event["data"]["name"]])
    });
    let expected = [
        json!(["reviewer", "TOOL_CALL_START", "read_file"]),
        json!(["reviewer", "TOOL_CALL_END", "read_file"]),
        json!(["reviewer", "TOOL_CALL_START", "complete_task"]),
        json!(["reviewer", "TOOL_CALL_END", "complete_task"]),
    ];
    assert_eq!(told.collect::<Vec<_>>(), expected);
}

/// Arguments, a variable that is missing, then the exit code, the message and the hint.
type Refusal<'a> = (&'a [&'a str], Option<&'a str>, i32, &'a str, &'a str);

#[test]
fn an_agent_that_cannot_run_says_why_and_what_to_do() {
    let stage = Stage::new();
    stage.write(
        "project/.gemini/agents/local.md",
        "---\nname: local\ndescription: Local\n---\nBe.\n",
    );
    let cases: [Refusal; 6] = [
        (
            &["reviwer", "go"],
            None,
            13,
            "there is no agent `reviwer`",
            "did you mean `reviewer`?",
        ),
        (
            &["local", "go"],
            None,
            13,
            "agent `local` cannot run: it is not acknowledged as it is now",
            "`lapidary agents show local` prints it, `lapidary agents ack local` lets it run",
        ),
        (
            &["reviewer", "--input", "file=a.txt"],
            None,
            13,
            "agent `reviewer`: there is no input `file`; there are: query",
            "`lapidary agents show reviewer` lists its inputs",
        ),
        (
            &["reviewer", "--input", "query=a", "go"],
            None,
            13,
            "agent `reviewer`: the input `query` is given twice",
            "give each input once: the prompt counts as one",
        ),
        (
            &["reviewer", "go"],
            Some("GEMINI_API_KEY"),
            11,
            "no API key for the Gemini API",
            "set `GEMINI_API_KEY`, or `GOOGLE_API_KEY` with `GOOGLE_GENAI_USE_VERTEXAI=true`",
        ),
        (
            &["reviewer", "-C", "nowhere", "go"],
            None,
            13,
            "cannot open the workspace",
            "",
        ),
    ];
    for (args, without, code, message, hint) in cases {
        let ran = stage.run("http://127.0.0.1:9", args, without);
        assert_eq!(ran.code, Some(code), "{args:?}: {ran:?}");
        let mut lines = ran.stdout.lines();
        let end: Value = serde_json::from_str(lines.next_back().unwrap()).unwrap();
        let told = |key: &str| end[key].as_str().unwrap_or_default().to_owned();
        assert_eq!(end["event"], "run_end", "{args:?}");
        assert!(told("message").starts_with(message), "{args:?}: {end}");
        assert_eq!(
            (told("hint").as_str(), &end["provider"]),
            (hint, &json!("lapidary"))
        );
        let cause = if code == 11 {
            "auth_required"
        } else {
            "bad_input"
        };
        assert_eq!(end["cause"], cause);
    }
}

/// The outputs of commands that an agent runs, as its model is told. Every command is allowed.
fn outputs_of(stage: &Stage, commands: &[&str], args: &[&str]) -> Vec<String> {
    let run = |command: &&str| Turn::call("run_shell_command", json!({ "command": command }));
    let script = commands.iter().map(run).fold(Script::new(), Script::stream);
    let script = script.stream(Turn::call("complete_task", json!({"result": "Done."})));
    let api = FakeApi::start_in_thread(script).unwrap();
    let args = [&["worker", "--allow", "execute", "work"], args].concat();
    let ran = stage.run(&api.base_url(), &args, None);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let requests = api.requests();
    let told = requests.last().unwrap().body["contents"].clone();
    let parts = told.as_array().unwrap().iter();
    let parts = parts.flat_map(|content| content["parts"].as_array().unwrap());
    let responses =
        parts.filter_map(|part| part["functionResponse"]["response"]["output"].as_str());
    responses.map(str::to_owned).collect()
}

const WORKER: &str =
    "---\nname: worker\ndescription: Works\ntools: [run_shell_command]\n---\nWork.\n";

#[test]
fn commands_of_an_agent_see_no_credentials() {
    let stage = Stage::new();
    stage.write("home/.gemini/agents/worker.md", WORKER);
    // The supervisor is the parent of the command: its environment is searched, too.
    let commands = ["env; tr '\\0' '\\n' < /proc/$PPID/environ"];
    let [output] = &outputs_of(&stage, &commands, &[])[..] else {
        panic!("one output")
    };
    assert!(output.contains("LANG=C.UTF-8"), "{output}");
    for secret in ["not-a-key", "GEMINI_API_KEY"] {
        assert!(!output.contains(secret), "{secret}: {output}");
    }
}

#[test]
fn commands_of_an_agent_write_in_the_workspace_and_nowhere_else() {
    let stage = Stage::new();
    stage.write("home/.gemini/agents/worker.md", WORKER);
    stage.write("outside/kept.txt", "kept\n");
    let root = stage.world.root().display();
    let commands = [
        "echo in > inside.txt && cat inside.txt",
        &format!("echo out > {root}/outside/new.txt"),
        &format!("ln -s {root}/outside link && echo out > link/kept.txt"),
        "rm -f link/kept.txt; (cd link && echo out > by-cd.txt)",
        "echo out > ../by-dots.txt",
        "(setsid sh -c 'echo out > ../by-session.txt' &) ; sleep 0.2",
    ];
    let outputs = outputs_of(&stage, &commands, &[]);
    assert_eq!(outputs.len(), commands.len());
    assert!(outputs[0].contains("in\n"), "{}", outputs[0]);
    for output in &outputs[1..5] {
        assert!(output.contains("Permission denied"), "{output}");
    }
    let names = |directory: &str| {
        let entries = fs::read_dir(stage.world.root().join(directory)).unwrap();
        let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let mut names: Vec<_> = names.collect();
        names.sort();
        names
    };
    assert_eq!(names("outside"), ["kept.txt"]);
    let kept = stage.world.root().join("outside/kept.txt");
    assert_eq!(fs::read_to_string(kept).unwrap(), "kept\n");
    assert_eq!(names("project"), ["a.txt", "inside.txt", "link"]);
    let left: Vec<_> = names("")
        .into_iter()
        .filter(|it| it.starts_with("by-"))
        .collect();
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn the_text_of_a_run_tells_the_result_once_and_nothing_that_was_not_counted() {
    let stage = Stage::new();
    let script = Script::new()
        .stream(Turn::call("read_file", json!({"file_path": "a.txt"})))
        .stream(Turn::call("complete_task", json!({"result": "Fine."})));
    let api = FakeApi::start_in_thread(script).unwrap();
    let args = ["reviewer", "--format", "text", "look at a.txt"];
    let ran = stage.run(&api.base_url(), &args, None);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let lines: Vec<_> = ran.stdout.lines().collect();
    let (session, rest) = lines.split_first().unwrap();
    assert!(
        session.starts_with("session  gemini-2.5-pro  "),
        "{session}"
    );
    let (end, rest) = rest.split_last().unwrap();
    assert!(
        end.starts_with("— completed · 220 tokens (200 in, 20 out) · "),
        "{end}"
    );
    let read = rest[2].trim_end().ends_with("1 line");
    assert!(read, "the lines that were read: {}", rest[2]);
    // A call that took a millisecond or more says how long.
    let without_times = |line: &&str| match line.strip_suffix(" ms") {
        Some(_) if line.starts_with("  ✓ ") => "  ✓".to_owned(),
        _ => (*line).to_owned(),
    };
    let told = [&rest[..2], &rest[3..]].concat();
    assert_eq!(
        told.iter().map(without_times).collect::<Vec<_>>(),
        [
            "> look at a.txt",
            "● read_file a.txt",
            "● complete_task",
            "  ✓",
            "Fine."
        ],
        "{}",
        ran.stdout
    );
}
