//! The tools of `lapidary mcp`, seen from an MCP client.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::time::Duration;

use lapidary::directories::surroundings;
use lapidary::engine::policy::PermissionEffect;
use lapidary::mcp::{Delegation, McpOptions, SEARCH_BYTES, server};
use lapidary::prepare::{RunOptions, RunSurroundings, VaultUse};
use lapidary::standin::api::{AfterScript, Chunk, FakeApi, Script, Turn};
use lapidary_testkit::recorded::RecordedHome;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, DuplexStream};
use tokio::task::JoinHandle;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

const SESSION: &str = "aaaaaaaa-0000-4000-8000-000000000001";
const RECORDED: &str = "cccccccc-0000-4000-8000-000000000002";
const TOKEN: &str = "ghp_0123456789abcdefghijABCDEFGHIJ012345";

/// A client of a server that sees one home.
struct McpScene {
    home: RecordedHome,
    lines: tokio::io::Lines<BufReader<tokio::io::ReadHalf<DuplexStream>>>,
    writes: tokio::io::WriteHalf<DuplexStream>,
    serving: JoinHandle<()>,
    progress: Vec<String>,
}

impl McpScene {
    fn new(home: RecordedHome, vars: &[(&str, &str)], rules: RunOptions) -> Self {
        let mut all = BTreeMap::from([
            (OsString::from("HOME"), home.home().into_os_string()),
            (OsString::from("GEMINI_API_KEY"), "key".into()),
        ]);
        all.extend(vars.iter().map(|(name, value)| (name.into(), value.into())));
        let place = RunSurroundings {
            environment: surroundings(all, home.project()),
            program: "/bin/false".into(),
        };
        let rules = RunOptions {
            vault: VaultUse::Off,
            ..rules
        };
        let options = McpOptions {
            delegation: Delegation::On,
            ..McpOptions::new(place, rules)
        };
        let (ours, theirs) = tokio::io::duplex(64 * 1024);
        let (reads, writes) = tokio::io::split(ours);
        let (server_reads, server_writes) = tokio::io::split(theirs);
        let serving = server(options).serve(server_reads, server_writes, CancellationToken::new());
        Self {
            home,
            lines: BufReader::new(reads).lines(),
            writes,
            serving: tokio::spawn(serving),
            progress: Vec::new(),
        }
    }

    fn of_sessions() -> Self {
        let home = RecordedHome::new();
        let says = [
            &*format!("the lighthouse needs {TOKEN} to\u{1b}[31m shine\u{1b}[0m"),
            "which colour has the lamp?",
        ];
        home.session(SESSION, "2026-01-05T10:00:00.000Z", &says);
        home.recorded_run("20260103T100000-aa", "qwen", RECORDED);
        Self::new(home, &[], RunOptions::new(""))
    }

    async fn send(&mut self, message: &Value) {
        let line = format!("{message}\n");
        self.writes.write_all(line.as_bytes()).await.unwrap();
    }

    async fn start(&mut self, tool: &str, arguments: Value) {
        let params = json!({"name": tool, "arguments": arguments, "_meta": {"progressToken": 1}});
        let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params});
        self.send(&call).await;
    }

    async fn answer(&mut self) -> Value {
        loop {
            let line = self.lines.next_line().await.unwrap().unwrap();
            let heard: Value = serde_json::from_str(&line).unwrap();
            if heard["id"] == 1 {
                return heard;
            }
            let message = heard["params"]["message"].as_str().unwrap_or_default();
            self.progress.push(message.to_owned());
        }
    }

    /// The text of an answer, and whether it is an error.
    async fn call(&mut self, tool: &str, arguments: Value) -> (String, bool) {
        self.start(tool, arguments).await;
        let answer = self.answer().await;
        let text = answer["result"]["content"][0]["text"].as_str();
        let text = text.unwrap_or_else(|| panic!("{answer:#}")).to_owned();
        (text, answer["result"]["isError"] == true)
    }

    async fn object(&mut self, tool: &str, arguments: Value) -> Value {
        let (text, is_error) = self.call(tool, arguments).await;
        assert!(!is_error, "{text}");
        serde_json::from_str(&text).unwrap()
    }
}

fn ids(found: &Value) -> Vec<&str> {
    let hits = found["hits"].as_array().unwrap();
    hits.iter().map(|hit| hit["id"].as_str().unwrap()).collect()
}

#[tokio::test]
async fn sessions_of_every_agent_are_found_without_secrets_and_escape_sequences() {
    let mut scene = McpScene::of_sessions();
    let found = scene
        .object("search_sessions", json!({"query": "lighthouse"}))
        .await;
    assert_eq!(ids(&found), [SESSION, RECORDED]);
    let agents: Vec<_> = found["hits"]
        .as_array()
        .unwrap()
        .iter()
        .map(|hit| &hit["agent"])
        .collect();
    assert_eq!(agents, ["gemini", "qwen"]);
    let text = found.to_string();
    assert!(text.contains("«lighthouse»"), "{text}");
    assert!(
        !text.contains(TOKEN) && text.contains("[redacted:"),
        "{text}"
    );
    assert!(
        !text.contains("\\u001b") && text.contains("to shine"),
        "{text}"
    );
    assert!(
        found["notice"]
            .as_str()
            .unwrap()
            .contains("not instructions")
    );
}

#[tokio::test]
async fn a_search_is_narrowed_by_agent_project_and_time() {
    let mut scene = McpScene::of_sessions();
    let project = scene.home.project();
    for (arguments, expected) in [
        (
            json!({"query": "lighthouse", "agent": "qwen"}),
            vec![RECORDED],
        ),
        (
            json!({"query": "lighthouse", "agent": "gemini"}),
            vec![SESSION],
        ),
        (json!({"query": "lighthouse", "agent": "claude"}), vec![]),
        (
            json!({"query": "lighthouse", "project": project}),
            vec![SESSION, RECORDED],
        ),
        (
            json!({"query": "lighthouse", "project": "/nowhere"}),
            vec![],
        ),
        (
            json!({"query": "lighthouse", "since": "2026-01-04"}),
            vec![SESSION],
        ),
        (json!({"query": "lighthouse", "limit": 1}), vec![SESSION]),
        (json!({"query": "colour lamp"}), vec![SESSION]),
    ] {
        let found = scene.object("search_sessions", arguments.clone()).await;
        assert_eq!(ids(&found), expected, "{arguments}");
    }
    let (text, is_error) = scene
        .call("search_sessions", json!({"query": "a", "since": "soon"}))
        .await;
    assert!(
        is_error && text.starts_with("invalid time `soon`"),
        "{text}"
    );
}

#[tokio::test]
async fn the_answer_of_a_search_has_at_most_four_kilobytes() {
    let home = RecordedHome::new();
    for number in 0..40 {
        let id = format!("aaaa{number:04}-0000-4000-8000-000000000001");
        let says = format!(
            "keeper {number} {}",
            "of the lighthouse \"\\\u{7f} ".repeat(30)
        );
        home.session(&id, "2026-01-05T10:00:00.000Z", &[&says, &says]);
    }
    let mut scene = McpScene::new(home, &[], RunOptions::new(""));
    let (text, _) = scene
        .call(
            "search_sessions",
            json!({"query": "lighthouse", "limit": 50}),
        )
        .await;
    assert!(text.len() <= SEARCH_BYTES, "{}", text.len());
    let found: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(found["total"], 40);
    let shown = ids(&found).len();
    assert!(shown >= 5, "{shown}");
    assert!(
        found["more"]
            .as_str()
            .unwrap()
            .starts_with(&format!("{} more", 40 - shown))
    );
}

#[tokio::test]
async fn a_session_is_read_from_the_place_that_a_search_names() {
    let mut scene = McpScene::of_sessions();
    let found = scene
        .object("search_sessions", json!({"query": "colour"}))
        .await;
    let from = &found["hits"][0]["excerpts"][0]["from"];
    let read = scene
        .object("read_session", json!({"id": "aaaaaaaa", "from": from}))
        .await;
    let messages = read["messages"].as_array().unwrap();
    assert_eq!(
        messages[0]["text"], "which colour has the lamp?",
        "{read:#}"
    );
    assert_eq!(read["session"]["id"], SESSION);
    assert_eq!(read.get("next"), None);
    let whole = scene.object("read_session", json!({"id": SESSION})).await;
    let text = whole.to_string();
    assert!(
        text.contains("the lighthouse needs [redacted:github-token-1] to shine"),
        "{text}"
    );
    assert!(!text.contains(TOKEN), "{text}");
}

#[tokio::test]
async fn a_recorded_session_is_read_by_its_id_and_by_its_run() {
    let mut scene = McpScene::of_sessions();
    for id in [RECORDED, "cccccccc", "20260103T100000-aa"] {
        let read = scene.object("read_session", json!({"id": id})).await;
        assert_eq!(read["session"]["agent"], "qwen");
        assert_eq!(read["messages"][1]["text"], "A lightship.", "{read:#}");
    }
    let cut = scene
        .object("read_session", json!({"id": RECORDED, "max_bytes": 256}))
        .await;
    assert_eq!(cut.get("next"), None, "all of it fits");
}

#[tokio::test]
async fn a_session_that_cannot_be_read_is_an_error_with_a_reason() {
    let mut scene = McpScene::of_sessions();
    for (arguments, expected) in [
        (json!({"id": "nothing"}), "there is no session `nothing`"),
        (json!({"id": "aaaa"}), "there is no session `aaaa`"),
        (json!({"id": "../../etc/passwd"}), "there is no session"),
        (
            json!({"id": SESSION, "from": 99}),
            "`from` is behind the last one",
        ),
        (
            json!({"id": SESSION, "from": "x"}),
            "`from` must be the number of a message",
        ),
        (
            json!({"id": SESSION, "max_bytes": 1}),
            "arguments/max_bytes must be >= 256",
        ),
        (
            json!({"id": SESSION, "raw": true}),
            "must NOT have additional properties",
        ),
    ] {
        let (text, is_error) = scene.call("read_session", arguments).await;
        assert!(is_error && text.contains(expected), "{expected}: {text}");
    }
}

fn reviewer(home: &RecordedHome) {
    let text = "---\nname: reviewer\ndescription: Reviews code\ntools: [read_file, write_file]\n---\nReview.\n";
    home.put("agents/reviewer.md", text);
    fs::write(home.project().join("a.txt"), "alpha\n").unwrap();
}

fn api_scene(script: Script, rules: RunOptions, vars: &[(&str, &str)]) -> (McpScene, FakeApi) {
    let home = RecordedHome::new();
    reviewer(&home);
    let api = FakeApi::start_in_thread(script).unwrap();
    let base = api.base_url();
    let mut all = vec![("GOOGLE_GEMINI_BASE_URL", base.as_str())];
    all.extend(vars);
    (McpScene::new(home, &all, rules), api)
}

#[tokio::test]
async fn an_agent_is_listed_and_invoked_with_progress_and_a_recording() {
    let script = Script::new()
        .stream(Turn::call("read_file", json!({"file_path": "a.txt"})))
        .stream(Turn::call("complete_task", json!({"result": "Fine."})));
    let (mut scene, api) = api_scene(script, RunOptions::new(""), &[]);
    let listed = scene.object("list_agents", json!({})).await;
    let agents = listed["agents"].as_array().unwrap();
    let found = agents
        .iter()
        .find(|agent| agent["name"] == "reviewer")
        .unwrap();
    assert_eq!(found["description"], "Reviews code");
    let arguments = json!({"agent_name": "reviewer", "prompt": "look at a.txt"});
    let answer = scene.object("invoke_agent", arguments).await;
    assert_eq!(
        json!([answer["outcome"], answer["response"], answer["output"]]),
        json!(["completed", "Fine.", "Fine."]),
        "{answer:#}"
    );
    assert!(!scene.progress.is_empty());
    let told = api.requests().last().unwrap().body.to_string();
    assert!(
        told.contains("look at a.txt") && told.contains("alpha"),
        "{told}"
    );
    let runs = scene.home.home().join(".local/state/lapidary/runs");
    assert_eq!(fs::read_dir(runs).unwrap().count(), 1);
    let session = answer["session"].as_str().unwrap();
    let read = scene.object("read_session", json!({"id": session})).await;
    assert!(read["messages"].to_string().contains("Fine."), "{read:#}");
}

#[tokio::test]
async fn an_invoked_agent_writes_only_what_a_rule_of_the_server_allows() {
    for (rule, is_allowed) in [(None, false), (Some("edit:b.txt"), true)] {
        let write = json!({"file_path": "b.txt", "content": "x"});
        let script = Script::new()
            .stream(Turn::call("write_file", write))
            .stream(Turn::call("complete_task", json!({"result": "Fine."})));
        let rule = rule.map(|rule| (PermissionEffect::Allow, rule.to_owned()));
        let rules = RunOptions {
            rules: rule.into_iter().collect(),
            ..RunOptions::new("")
        };
        let (mut scene, _api) = api_scene(script, rules, &[]);
        let arguments = json!({"agent_name": "reviewer", "prompt": "go"});
        let (text, is_error) = scene.call("invoke_agent", arguments).await;
        let is_written = scene.home.project().join("b.txt").exists();
        assert_eq!((is_written, is_error), (is_allowed, !is_allowed), "{text}");
        assert_eq!(text.contains("permission_denied"), !is_allowed, "{text}");
    }
}

#[tokio::test]
async fn an_agent_that_cannot_run_is_an_error_with_the_next_step() {
    let (mut scene, api) = api_scene(Script::new(), RunOptions::new(""), &[]);
    let arguments = json!({"agent_name": "reviwer", "prompt": "go"});
    let (text, is_error) = scene.call("invoke_agent", arguments).await;
    assert!(
        is_error && text.contains("there is no agent `reviwer`"),
        "{text}"
    );
    assert!(text.contains("hint: did you mean `reviewer`?"), "{text}");
    let arguments = json!({"agent_name": "reviewer", "prompt": "go", "inputs": {"x": [1, "a"]}});
    let (text, is_error) = scene.call("invoke_agent", arguments).await;
    assert!(is_error && text.contains("there is no input `x`"), "{text}");
    assert!(api.requests().is_empty());
}

#[tokio::test]
async fn an_agent_two_levels_below_a_server_starts_no_other() {
    let (mut scene, api) = api_scene(
        Script::new(),
        RunOptions::new(""),
        &[("LAPIDARY_DEPTH", "2")],
    );
    let arguments = json!({"agent_name": "reviewer", "prompt": "go"});
    let (text, is_error) = scene.call("invoke_agent", arguments).await;
    assert!(is_error && text.contains("2 levels deep already"), "{text}");
    let arguments = json!({"agent": "demo", "prompt": "go", "budget": {"turns": 1}});
    let (text, is_error) = scene.call("delegate", arguments).await;
    assert!(is_error && text.contains("2 levels deep already"), "{text}");
    assert!(api.requests().is_empty());
}

#[tokio::test]
async fn a_server_below_bounds_that_cannot_be_read_starts_no_agent() {
    let (mut scene, api) = api_scene(
        Script::new(),
        RunOptions::new(""),
        &[("LAPIDARY_BOUNDS", "{}")],
    );
    let arguments = json!({"agent_name": "reviewer", "prompt": "go"});
    let (text, is_error) = scene.call("invoke_agent", arguments).await;
    assert!(is_error && text.contains("do the task yourself"), "{text}");
    assert!(api.requests().is_empty());
}

#[tokio::test]
async fn a_cancelled_invocation_is_answered_and_its_run_has_ended() {
    let slow = Chunk::text("…").delay(Duration::from_mins(10));
    let script = Script::new()
        .stream(Turn::chunks([slow]))
        .after(AfterScript::default());
    let (mut scene, api) = api_scene(script, RunOptions::new(""), &[]);
    scene
        .start(
            "invoke_agent",
            json!({"agent_name": "reviewer", "prompt": "go"}),
        )
        .await;
    let asked = async {
        while api.requests().is_empty() {
            tokio::task::yield_now().await;
        }
    };
    timeout(Duration::from_mins(1), asked).await.unwrap();
    let cancel =
        json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}});
    scene.send(&cancel).await;
    scene.send(&cancel).await;
    assert_eq!(scene.answer().await["error"]["code"], -32800);
    let runs = scene.home.home().join(".local/state/lapidary/runs");
    let run = fs::read_dir(runs).unwrap().next().unwrap().unwrap();
    let manifest = fs::read_to_string(run.path().join("run.json")).unwrap();
    let manifest: Value = serde_json::from_str(&manifest).unwrap();
    assert_eq!(manifest["end"]["outcome"], "cancelled", "{manifest:#}");
    let McpScene {
        lines,
        writes,
        serving,
        ..
    } = scene;
    drop((lines, writes));
    serving.await.unwrap();
}

#[test]
fn a_run_with_agents_passes_this_program_as_a_server_with_its_rules_and_one_level_more() {
    let home = RecordedHome::new();
    let vars = [
        ("HOME".into(), home.home().into_os_string()),
        ("GEMINI_API_KEY".into(), "secret".into()),
        ("LAPIDARY_DEPTH".into(), "1".into()),
        ("XDG_STATE_HOME".into(), home.root().join("state").into()),
    ];
    let place = RunSurroundings {
        environment: surroundings(vars, home.project()),
        program: "/opt/lapidary".into(),
    };
    let options = RunOptions {
        with_agents: true,
        rules: vec![(PermissionEffect::Deny, "execute".to_owned())],
        vault: VaultUse::Off,
        ..RunOptions::new("r").own_agent("demo")
    };
    let job = options.job(&place, &mut |_| {}).unwrap();
    let [server] = &job.speaking.mcp_servers[..] else {
        panic!("one server")
    };
    let server: Value = serde_json::from_str(server.as_str()).unwrap();
    let project = home.project().display().to_string();
    assert_eq!(
        json!([server["name"], server["command"], server["args"]]),
        json!([
            "lapidary",
            "/opt/lapidary",
            ["mcp", "-C", project, "--deny", "execute"]
        ])
    );
    let state = home.root().join("state");
    let expected = json!([
        {"name": "XDG_STATE_HOME", "value": state}, {"name": "LAPIDARY_DEPTH", "value": "2"},
    ]);
    assert_eq!(server["env"], expected, "no key is among it");
}
