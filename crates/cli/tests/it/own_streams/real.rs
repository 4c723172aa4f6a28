//! The real programs on a scripted model. A start costs a second of CPU, so each run shows several things at once.

use std::fs;

use lapidary_standin::api::{FakeApi, Script, Turn};
use lapidary_testkit::acp::{AcpWorld, Peer};
use serde_json::json;

use super::named;
use crate::run::world::{MARK, Mark, Told};
use crate::support::lapidary;

/// A world with the agent's own program on PATH, and no adapter.
struct OwnWorld {
    world: AcpWorld,
    agent: &'static str,
}

impl OwnWorld {
    fn new(peer: Peer) -> Self {
        let world = AcpWorld::new(peer);
        let agent = peer.name();
        Self { world, agent }
    }

    fn run(&self, script: Script, args: &[&str]) -> Told {
        let api = FakeApi::start_in_thread(script).unwrap();
        let mark = Mark::fresh();
        let mut command = lapidary(["run", "--no-config", "--agent", self.agent]);
        command
            .args(args)
            .current_dir(self.world.project())
            .env_clear()
            .envs(self.world.own_stream_environment(&api.base_url()))
            .env("LAPIDARY_STATE_DIR", self.world.root().join("state"))
            .env(MARK, mark.value());
        let told = Told::started_by(command);
        mark.assert_nothing_is_left();
        told
    }
}

fn text(told: &Told) -> String {
    let events = told.events.iter();
    let words = events.filter_map(|it| match it["event"].as_str() {
        Some("stream_delta") if it["kind"] == "text" => it["textDelta"].as_str(),
        Some("text") if it["kind"] == "text" => it["text"].as_str(),
        _ => None,
    });
    words.collect()
}

/// A hook of the project would run without a question in an untrusted folder.
#[test]
#[cfg_attr(
    not(feature = "peers"),
    ignore = "needs real peers: run `cargo xtask test`"
)]
fn claude_code_runs_headless_and_writes_only_what_its_mode_allows() {
    let own = OwnWorld::new(Peer::Claude);
    let project = own.world.project();
    let hook = json!({"hooks": {"SessionStart": [{"hooks": [{"type": "command", "command": "touch by-hook"}]}]}});
    fs::create_dir(project.join(".claude")).unwrap();
    fs::write(project.join(".claude/settings.json"), hook.to_string()).unwrap();
    let made = project.join("made.txt");
    let script = || {
        let input = json!({"file_path": made, "content": "x\n"});
        let first = Turn::thought("A file is wanted.").and_text("I will make it.");
        let first = first.and_call("Write", input);
        Script::new().stream(first).stream("So be it.")
    };
    let told = own.run(script(), &["make a file"]);
    assert_eq!(told.verdict(), ("permission_denied", Some(18)), "{told:?}");
    assert!(!made.exists(), "{told:?}");
    assert!(
        !project.join("by-hook").exists(),
        "a hook of the project ran"
    );
    assert_eq!(text(&told), "I will make it.So be it.");
    assert_eq!(named(&told, "user_input")[0]["text"], "make a file");
    assert_eq!(named(&told, "session_init")[0]["permissionMode"], "default");
    let told = own.run(
        script(),
        &["--permission-mode", "acceptEdits", "make a file"],
    );
    assert_eq!(told.verdict(), ("end_turn", Some(0)), "{told:?}");
    assert!(made.exists(), "{told:?}");
    assert!(
        !project.join("by-hook").exists(),
        "a hook of the project ran"
    );
    let usage = named(&told, "usage_update");
    assert_eq!(usage.len(), 2, "{told:?}");
}

#[test]
#[cfg_attr(
    not(feature = "full"),
    ignore = "Codex is large: run `cargo xtask test --full`"
)]
fn codex_runs_headless_and_writes_only_what_its_mode_allows() {
    let own = OwnWorld::new(Peer::Codex);
    let made = own.world.project().join("made");
    let script = || {
        let call =
            Turn::text("I will make it.").and_call("exec_command", json!({"cmd": "touch made"}));
        Script::new().stream(call).stream("So be it.")
    };
    let told = own.run(script(), &["make a file"]);
    assert_eq!(told.verdict(), ("permission_denied", Some(18)), "{told:?}");
    assert!(!made.exists(), "{told:?}");
    assert_eq!(text(&told), "I will make it.So be it.");
    let told = own.run(
        script(),
        &["--permission-mode", "acceptEdits", "make a file"],
    );
    assert_eq!(told.verdict(), ("end_turn", Some(0)), "{told:?}");
    assert!(made.exists(), "{told:?}");
}

/// The stream has no line for a call that Codex refuses. Its rollout does.
#[test]
#[cfg_attr(
    not(feature = "full"),
    ignore = "Codex is large: run `cargo xtask test --full`"
)]
fn calls_that_codex_refuses_are_denials_from_its_rollout() {
    let own = OwnWorld::new(Peer::Codex);
    let patch = "*** Begin Patch\n*** Add File: new.txt\n+one\n*** End Patch\n";
    let wider = json!({"cmd": "touch made", "sandbox_permissions": "require_escalated", "justification": "please"});
    let script = Script::new()
        .stream(Turn::text("I write.").and_call("apply_patch", json!(patch)))
        .stream(Turn::call("exec_command", wider))
        .stream("So be it.");
    let told = own.run(script, &["--run-id", "denied", "make a file"]);
    assert_eq!(told.verdict(), ("permission_denied", Some(18)), "{told:?}");
    let told_of: Vec<_> = told
        .events
        .iter()
        .filter_map(|it| match it["event"].as_str()? {
            "user_input" | "text" => it["text"].as_str(),
            "tool_invocation" => it["toolName"].as_str(),
            _ => None,
        })
        .collect();
    let expected = [
        "make a file",
        "I write.",
        "apply_patch",
        "exec_command",
        "So be it.",
    ];
    assert_eq!(told_of, expected, "{told:?}");
    let denials = &named(&told, "turn_complete")[0]["permissionDenials"];
    let reasons: Vec<_> = denials
        .as_array()
        .unwrap()
        .iter()
        .map(|it| &it["reason"])
        .collect();
    assert!(
        reasons[0].as_str().unwrap().starts_with("patch rejected"),
        "{reasons:?}"
    );
    assert!(
        reasons[1]
            .as_str()
            .unwrap()
            .starts_with("approval policy is Never"),
        "{reasons:?}"
    );
    let recording = own.world.root().join("state/runs/denied");
    let again = Told::started_by(lapidary(["translate", recording.to_str().unwrap()]));
    assert_eq!(
        again.stdout, told.stdout,
        "the recording has the rollout's entries"
    );
}

#[test]
#[cfg_attr(
    not(feature = "full"),
    ignore = "takes long, and a script shows the same: run `cargo xtask test --full`"
)]
fn claude_code_answers_by_a_schema_and_continues_a_session() {
    let own = OwnWorld::new(Peer::Claude);
    let schema = own.world.root().join("schema.json");
    let document = json!({"type": "object", "properties": {"lines": {"type": "integer"}}, "required": ["lines"]});
    fs::write(&schema, document.to_string()).unwrap();
    let answer = Turn::call("StructuredOutput", json!({"lines": 3}));
    let script = Script::new().stream(answer).stream("Three.");
    let args = ["--output-schema", schema.to_str().unwrap(), "How many?"];
    let told = own.run(script, &args);
    assert_eq!(told.verdict(), ("end_turn", Some(0)), "{told:?}");
    assert_eq!(
        told.end()["answer"]["data"],
        json!({"lines": 3}),
        "{told:?}"
    );
    assert_eq!(told.end()["answer"]["dataSource"], "flag");
    let session = told.end()["sessionId"].as_str().unwrap().to_owned();
    let told = own.run(
        Script::new().stream("Again."),
        &["--resume", &session, "And?"],
    );
    assert_eq!(told.verdict(), ("end_turn", Some(0)), "{told:?}");
    assert_eq!(told.end()["sessionId"], session.as_str());
}
