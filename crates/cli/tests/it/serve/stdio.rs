//! `lapidary acp`: an agent for a client that starts it, such as an editor.

use std::fs;
use std::path::PathBuf;

use serde_json::{Value, json};
use tempfile::TempDir;

use super::acp::{RealGemini, check_decision, check_told, end_of, text_of};
use super::http::command_in;
use crate::support::{lapidary, output};

/// A home whose agent `offered` is another one, offered by `lapidary acp`.
struct EditorHome {
    home: TempDir,
    project: PathBuf,
}

impl EditorHome {
    fn new(args: &[&str]) -> Self {
        let home = tempfile::tempdir().unwrap();
        let project = home.path().join("project");
        fs::create_dir(&project).unwrap();
        let config = home.path().join(".config/lapidary");
        fs::create_dir_all(&config).unwrap();
        let command = [&[env!("CARGO_BIN_EXE_lapidary"), "acp"], args].concat();
        let text = format!("[agents.offered]\ncommand = {}\n", json!(command));
        fs::write(config.join("lapidary.toml"), text).unwrap();
        Self { home, project }
    }

    fn command(&self, args: &[&str], input: &[u8]) -> (Option<i32>, String) {
        let ran = output(command_in(self.home.path(), &self.project, args), input);
        (ran.status.code(), String::from_utf8(ran.stdout).unwrap())
    }

    /// The events of our own client's run.
    fn run_offered(&self, args: &[&str]) -> Vec<Value> {
        // The demo works in a directory of its own, which is not the client's.
        let common = "run --agent offered --format events --on-violation report hello";
        let args: Vec<_> = common.split(' ').chain(args.iter().copied()).collect();
        let (_, events) = self.command(&args, b"");
        let events = events.lines().map(serde_json::from_str);
        events.map(Result::unwrap).collect()
    }

    /// The recorded runs of an agent.
    fn runs_of(&self, agent: &str) -> Vec<Value> {
        let (_, list) = self.command(&["runs", "list", "--format", "json", "--agent", agent], b"");
        let list: Value = serde_json::from_str(&list).unwrap();
        list["runs"].as_array().unwrap().clone()
    }

    fn events_of(&self, run: &Value) -> String {
        let id = run["id"].as_str().unwrap();
        self.command(&["runs", "show", id, "--format", "events"], b"")
            .1
    }
}

#[test]
fn our_own_client_talks_to_an_offered_agent_and_both_sides_record_it() {
    let home = EditorHome::new(&["--agent", "demo"]);
    let events = home.run_offered(&["--allow", "edit"]);
    assert_eq!(end_of(&events)["outcome"], "completed", "{events:#?}");
    assert!(text_of(&events).contains("This is a demo."));
    let [run] = &home.runs_of("demo")[..] else {
        panic!("one run of the offered agent");
    };
    assert_eq!(run["outcome"], "completed", "{run}");
    assert_eq!(run["prompt"], "hello", "{run}");
    check_decision(&home.events_of(run));
}

#[test]
fn the_rules_of_an_offered_agent_decide_before_its_client_is_asked() {
    let home = EditorHome::new(&["--agent", "demo", "--deny", "edit"]);
    let events = home.run_offered(&["--allow", "edit"]);
    let asked = |event: &&Value| event["event"] == "permission_request";
    assert_eq!(events.iter().filter(asked).count(), 0, "{events:#?}");
    let recorded = home.events_of(&home.runs_of("demo")[0]);
    assert!(recorded.contains("\"decision\":\"denied\""), "{recorded}");
}

#[test]
fn an_offered_agent_ends_with_the_pipe_of_its_client() {
    let home = EditorHome::new(&[]);
    let hello = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {"protocolVersion": 1}});
    let early = json!({"jsonrpc": "2.0", "id": 1, "method": "session/set_mode", "params": {"sessionId": "s", "modeId": "yolo"}});
    let input = format!("{early}\nnonsense\n{hello}\n");
    let (_, told) = home.command(&["acp", "--agent", "demo"], input.as_bytes());
    let answers: Vec<Value> = told
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(
        answers[0]["error"]["code"], -32600,
        "before `initialize`: {told}"
    );
    assert_eq!(answers[1]["error"]["code"], -32700, "{told}");
    assert_eq!(home.runs_of("demo").len(), 1);
    let refused = output(lapidary(["acp", "--agent", "demo", "--no-record"]), b"");
    assert_eq!(refused.status.code(), Some(2));
    let told = String::from_utf8(refused.stderr).unwrap();
    assert!(told.contains("`acp` has no use for --no-record"), "{told}");
}

#[test]
#[cfg_attr(
    not(feature = "peers"),
    ignore = "needs real peers: run `cargo xtask test`"
)]
fn the_official_client_talks_to_the_real_gemini_cli_that_is_offered_to_it() {
    let gemini = RealGemini::new();
    let command = json!([env!("CARGO_BIN_EXE_lapidary"), "acp", "--agent", "real"]);
    let mut client = gemini.client(&command.to_string());
    client.env_clear().envs(gemini.environment());
    let told = check_told(client);
    assert_eq!(told["exitCode"], 0, "{told}");
    let (home, project) = (gemini.world.home(), gemini.world.project());
    let run = |args: &[&str]| {
        let mut command = command_in(&home, &project, args);
        command.envs(gemini.environment());
        String::from_utf8(output(command, b"").stdout).unwrap()
    };
    let list: Value = serde_json::from_str(&run(&["runs", "list", "--format", "json"])).unwrap();
    let recorded = &list["runs"][0];
    assert_eq!(recorded["outcome"], "completed", "{list}");
    let id = recorded["id"].as_str().unwrap();
    check_decision(&run(&["runs", "show", id, "--format", "events"]));
}
