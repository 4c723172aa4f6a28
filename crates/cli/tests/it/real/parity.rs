//! One conversation over both transports of the real CLI gives the same views.
//!
//! The comparison skips ids, times, chunks and extensions. The CLI itself reports two things differently, and the conversation
//! has neither: over ACP the CLI takes a new file for one that it overwrites, and a call that failed has other words and no type.

use std::fs;

use lapidary_standin::api::{AfterScript, ReportedUsage, Script, Turn};
use lapidary_testkit::gemini::GeminiVersion::V0_61_0;
use serde_json::{Value, json};

use super::world::Real;
use crate::support::{lapidary, started};

/// Each tool, with arguments that work in the world of [`made`].
fn calls() -> Vec<(&'static str, Value)> {
    let shell = |command: &str| json!({"command": command, "description": "look"});
    vec![
        ("list_directory", json!({"dir_path": "."})),
        ("read_file", json!({"file_path": "a.txt"})),
        ("glob", json!({"pattern": "*.txt"})),
        ("grep_search", json!({"pattern": "needle"})),
        (
            "replace",
            json!({"file_path": "a.txt", "old_string": "beta", "new_string": "BETA", "instruction": "loud"}),
        ),
        (
            "write_file",
            json!({"file_path": "b.txt", "content": "one\ntwo\n"}),
        ),
        ("run_shell_command", shell("echo out; echo err >&2; exit 3")),
        (
            "run_shell_command",
            shell("printf -- '--- a\\n+++ b\\n@@ -1 +1 @@\\n-x\\n+y\\n'"),
        ),
        // Fetched by the model's API, not by the CLI.
        (
            "web_fetch",
            json!({"prompt": "read https://93.184.216.34/x please"}),
        ),
        (
            "write_todos",
            json!({"todos": [{"description": "one", "status": "in_progress"}]}),
        ),
        ("activate_skill", json!({"name": "demo"})),
    ]
}

/// A world with a project and a skill.
fn made() -> Real {
    let turns = calls().into_iter().enumerate();
    let turns = turns
        .map(|(number, (name, args))| Turn::text(format!("Step {number}.")).and_call(name, args));
    let script = turns.fold(Script::new(), Script::stream).stream("Done.");
    // Over ACP the CLI does not count the tokens of its requests on the side.
    let nothing = ReportedUsage {
        prompt: 0,
        output: 0,
        ..ReportedUsage::default()
    };
    let script = script.generate(Turn::text("Fetched.").usage(nothing));
    let real = Real::new(V0_61_0, script);
    let project = real.world.project();
    for (name, text) in [
        ("a.txt", "alpha\nbeta\n"),
        ("b.txt", "old\n"),
        ("c", "needle\n"),
    ] {
        fs::write(project.join(name), text).unwrap();
    }
    let skill = real.world.home().join(".gemini/skills/demo");
    fs::create_dir_all(&skill).unwrap();
    let text = "---\nname: demo\ndescription: A skill for tests.\n---\n\nDo the demo.\n";
    fs::write(skill.join("SKILL.md"), text).unwrap();
    real
}

/// One run over a transport, in each vocabulary, and all of it from its recording.
struct Views {
    messages: Vec<Value>,
    runtime: Vec<Value>,
    result: Value,
}

fn views(transport: &str) -> Views {
    let real = made();
    let live = real.run(&[
        "--transport",
        transport,
        "--yolo",
        "--run-id",
        "parity",
        "go",
    ]);
    assert_eq!(live.verdict(), ("end_turn", Some(0)), "{:#?}", live.events);
    let recording = real.path("state/runs/parity");
    let root = real.world.root().to_str().unwrap().to_owned();
    let translated = |format: &str| -> Vec<Value> {
        let mut command = lapidary(["translate", "--run-id", "parity", "--format", format]);
        command.arg(&recording);
        let printed = String::from_utf8(started(command, b"").stdout).unwrap();
        let printed = printed.replace(&root, "/world");
        let lines = printed.lines();
        lines.map(|it| serde_json::from_str(it).unwrap()).collect()
    };
    same_as_live(&live.events, &translated("events"), &root);
    Views {
        messages: translated("messages").into_iter().map(plain).collect(),
        runtime: translated("runtime").into_iter().map(plain).collect(),
        result: plain(translated("result").remove(0)),
    }
}

/// A recording has the calls as the run printed them, with their parts from the session log.
fn same_as_live(live: &[Value], translated: &[Value], root: &str) {
    let calls = |events: &[Value]| -> Vec<Value> {
        let is_call = |event: &&Value| {
            let name = event["event"].as_str().unwrap();
            name.starts_with("tool_") || name == "turn_complete"
        };
        let calls = events.iter().filter(is_call).map(|event| {
            let text = event.to_string().replace(root, "/world");
            let mut event: Value = serde_json::from_str(&text).unwrap();
            for name in ["id", "seq", "timestamp"] {
                event.as_object_mut().unwrap().remove(name);
            }
            event
        });
        calls.collect()
    };
    assert_eq!(calls(live), calls(translated));
}

/// The value without ids, times, and fields that only one transport's lines have. Lapidary ends an agent over ACP that is slow to
/// exit, and such an agent has no exit code.
fn plain(mut value: Value) -> Value {
    const LEFT_OUT: [&str; 15] = [
        "agentExitCode",
        "id",
        "tool_use_id",
        "callId",
        "threadId",
        "turnId",
        "sessionId",
        "timestamp",
        "seq",
        "durationMs",
        "raw",
        "_original",
        "error",
        "diagnostics",
        "schema",
    ];
    match &mut value {
        Value::Object(members) => {
            members.retain(|name, _| !LEFT_OUT.contains(&name.as_str()));
            for member in members.values_mut() {
                *member = plain(member.take());
            }
        }
        Value::Array(items) => {
            for item in items {
                *item = plain(item.take());
            }
        }
        _ => {}
    }
    value
}

#[test]
#[cfg_attr(
    not(feature = "peers"),
    ignore = "needs real peers: run `cargo xtask test`"
)]
fn both_transports_give_the_same_events() {
    let (stream, acp) = (views("auto"), views("acp"));
    for (number, (name, _)) in calls().into_iter().enumerate() {
        // The prompt is the first message.
        let message = &stream.messages[number + 1];
        assert_eq!(*message, acp.messages[number + 1], "{name}");
        assert_ne!(message["content"][1]["content"], "", "{name}");
    }
    assert_eq!(stream.messages, acp.messages);
    assert_eq!(stream.runtime, acp.runtime);
    assert_eq!(stream.result, acp.result);
    let diffs = stream.runtime.iter();
    let diffs = diffs.filter(|it| it["event"] == "turn_diff_updated");
    assert_eq!(diffs.count(), 3, "{:#?}", stream.runtime);
    assert_eq!(
        stream.result["files"],
        json!({"a.txt": null, "b.txt": null})
    );
}

/// The model's answers that follow a call are blocked, or there are only thoughts: `end_turn` over ACP, and no success.
#[test]
#[cfg_attr(
    not(feature = "peers"),
    ignore = "needs real peers: run `cargo xtask test`"
)]
fn a_turn_without_an_answer_fails_over_acp_as_it_does_headless() {
    let call = || Turn::call("list_directory", json!({"dir_path": "."}));
    let scripts = [
        Script::new()
            .stream(call())
            .stream(Turn::text("").finish("MALFORMED_FUNCTION_CALL")),
        Script::new().stream(Turn::thought("**Hm** hm")),
    ];
    for script in scripts {
        let real = Real::new(V0_61_0, script.after(AfterScript::Repeat));
        let told = real.run(&["--transport", "acp", "go"]);
        assert_eq!(
            told.verdict(),
            ("empty_response", Some(15)),
            "{:#?}",
            told.events
        );
    }
}

/// Over ACP a file that a prompt names is read, too.
#[test]
#[cfg_attr(
    not(feature = "peers"),
    ignore = "needs real peers: run `cargo xtask test`"
)]
fn a_file_in_a_prompt_is_read_over_both_transports() {
    for transport in ["auto", "acp"] {
        let real = Real::new(V0_61_0, Script::new().stream("Read."));
        fs::write(real.world.project().join("note.txt"), "the answer is 42\n").unwrap();
        fs::write(real.path("secret.txt"), "nobody knows\n").unwrap();
        let prompt = "sum up @note.txt and @../secret.txt";
        let told = real.run(&["--transport", transport, prompt]);
        assert_eq!(told.verdict(), ("end_turn", Some(0)), "{:#?}", told.events);
        let asked = format!("{:?}", real.api.requests());
        assert!(asked.contains("the answer is 42"), "{transport}: {asked}");
        assert!(!asked.contains("nobody knows"), "{transport}: {asked}");
    }
}
