//! `lapidary mcp --delegate`: runs that a client of the server asks for, with scripted agents under the real supervisor.

mod nested;

use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;

use lapidary::directories::surroundings;
use lapidary::engine::budget::Budget;
use lapidary::engine::config::TransportChoice;
use lapidary::engine::policy::PermissionEffect;
use lapidary::mcp::{Delegation, McpOptions, server};
use lapidary::prepare::{RunOptions, RunSurroundings};
use lapidary_testkit::patience::wait_until;
use serde_json::{Value, json};
use tokio::io::{
    AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, DuplexStream, Lines, ReadHalf, WriteHalf,
};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::run::world::World;

/// An agent that works until a file appears, with a process in a session of its own.
const PATIENT: &str = r#"
init
setsid sleep 1000 &
touch "$LAPIDARY_STATE_DIR/../working"
while [ ! -e "$LAPIDARY_STATE_DIR/../go-on" ]; do sleep 0.02; done
say "Waited."
success
"#;

/// A client of a server whose `gemini` is a script.
struct DelegateScene {
    world: World,
    lines: Lines<BufReader<ReadHalf<DuplexStream>>>,
    writes: WriteHalf<DuplexStream>,
    serving: JoinHandle<()>,
    progress: Vec<String>,
    next_id: u64,
}

impl DelegateScene {
    fn new(script: &str) -> Self {
        Self::with_options(script, RunOptions::new(""))
    }

    fn with_options(script: &str, options: RunOptions) -> Self {
        let world = World::with_agent(script);
        let host = world.host();
        let place = RunSurroundings {
            environment: surroundings(host.environment.vars, world.path("project")),
            program: env!("CARGO_BIN_EXE_lapidary").into(),
        };
        let options = RunOptions {
            config: options.config.over(world.config()),
            ..options
        };
        let options = McpOptions {
            delegation: Delegation::On,
            ..McpOptions::new(place, options)
        };
        let (ours, theirs) = tokio::io::duplex(64 * 1024);
        let (reads, writes) = tokio::io::split(ours);
        let (server_reads, server_writes) = tokio::io::split(theirs);
        let serving = server(options).serve(server_reads, server_writes, CancellationToken::new());
        Self {
            world,
            lines: BufReader::new(reads).lines(),
            writes,
            serving: tokio::spawn(serving),
            progress: Vec::new(),
            next_id: 0,
        }
    }

    async fn send(&mut self, message: &Value) {
        let line = format!("{message}\n");
        self.writes.write_all(line.as_bytes()).await.unwrap();
    }

    /// Starts a call, and returns its id.
    async fn start(&mut self, tool: &str, arguments: Value) -> u64 {
        self.next_id += 1;
        let id = self.next_id;
        let params = json!({"name": tool, "arguments": arguments, "_meta": {"progressToken": id}});
        let call = json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params});
        self.send(&call).await;
        id
    }

    async fn answer(&mut self, id: u64) -> Value {
        loop {
            let line = self.lines.next_line().await.unwrap().unwrap();
            let heard: Value = serde_json::from_str(&line).unwrap();
            if heard["id"] == id {
                return heard;
            }
            let message = heard["params"]["message"].as_str().unwrap_or_default();
            self.progress.push(message.to_owned());
        }
    }

    /// The text of an answer, and whether it is an error.
    async fn call(&mut self, tool: &str, arguments: Value) -> (String, bool) {
        let id = self.start(tool, arguments).await;
        let answer = self.answer(id).await;
        let text = answer["result"]["content"][0]["text"].as_str();
        let text = text.unwrap_or_else(|| panic!("{answer:#}")).to_owned();
        (text, answer["result"]["isError"] == true)
    }

    async fn object(&mut self, tool: &str, arguments: Value) -> Value {
        let (text, is_error) = self.call(tool, arguments).await;
        assert!(!is_error, "{text}");
        serde_json::from_str(&text).unwrap()
    }

    async fn refusal(&mut self, arguments: Value) -> String {
        let (text, is_error) = self.call("delegate", arguments).await;
        assert!(is_error, "{text}");
        text
    }

    fn runs(&self) -> Vec<PathBuf> {
        let runs = fs::read_dir(self.world.path("state/runs"));
        let runs = runs.into_iter().flatten().flatten();
        runs.map(|run| run.path())
            .filter(|run| run.is_dir())
            .collect()
    }

    /// Ends the server as a client does that is gone, and checks that nothing is left.
    async fn leave(self) -> World {
        let Self {
            world,
            lines,
            writes,
            serving,
            ..
        } = self;
        drop((lines, writes));
        serving.await.unwrap();
        world.assert_nothing_is_left();
        world
    }
}

fn task(more: &Value) -> Value {
    let mut task = json!({"prompt": "go", "agent": "gemini", "budget": {"turns": 5}});
    for (name, value) in more.as_object().unwrap() {
        task[name] = value.clone();
    }
    task
}

#[tokio::test]
async fn a_delegated_agent_answers_with_progress_and_its_run_is_recorded() {
    let mut scene = DelegateScene::new("init; call c1 read_file; answer c1 x; say Done.; success");
    let answer = scene.object("delegate", task(&json!({}))).await;
    assert_eq!(
        json!([
            answer["state"],
            answer["outcome"],
            answer["response"],
            answer["agent"]
        ]),
        json!(["ended", "completed", "Done.", "gemini"]),
        "{answer:#}"
    );
    let run = answer["run"].as_str().unwrap();
    assert_eq!(
        answer["more"],
        format!("`lapidary runs show {run}` shows the whole run")
    );
    assert!(
        answer["notice"]
            .as_str()
            .unwrap()
            .contains("not instructions")
    );
    assert!(!scene.progress.is_empty());
    let again = scene.object("delegate_result", json!({"run": run})).await;
    assert_eq!(again, answer);
    let status = scene.object("delegate_status", json!({})).await;
    assert_eq!(status["runs"][0]["state"], "ended", "{status:#}");
    assert!(scene.runs()[0].ends_with(run), "{:?}", scene.runs());
    scene.leave().await;
}

#[tokio::test]
async fn a_wait_that_ends_before_the_run_names_the_run_and_the_next_step() {
    let mut scene = DelegateScene::new(PATIENT);
    let waiting = scene.object("delegate", task(&json!({"wait_s": 0}))).await;
    assert_eq!(waiting["state"], "running");
    let next = waiting["next"].as_str().unwrap();
    assert!(next.contains("`delegate_result` with this `run`"), "{next}");
    scene.world.wait_for("working");
    let run = json!({"run": waiting["run"]});
    let status = scene.object("delegate_status", run.clone()).await;
    assert_eq!(status["runs"][0]["state"], "running", "{status:#}");
    fs::write(scene.world.path("go-on"), "").unwrap();
    let ended = scene.object("delegate_result", run).await;
    assert_eq!(
        json!([ended["state"], ended["response"]]),
        json!(["ended", "Waited."])
    );
    let (text, is_error) = scene.call("delegate_result", json!({"run": "r-0"})).await;
    assert!(
        is_error && text.contains("there is no delegated run `r-0`"),
        "{text}"
    );
    scene.leave().await;
}

#[tokio::test]
async fn a_cancelled_run_ends_with_every_process_that_it_started() {
    let mut scene = DelegateScene::new(PATIENT);
    let waiting = scene.object("delegate", task(&json!({"wait_s": 0}))).await;
    scene.world.wait_for("working");
    let ended = scene
        .object("delegate_cancel", json!({"run": waiting["run"]}))
        .await;
    assert_eq!(
        json!([ended["state"], ended["outcome"]]),
        json!(["ended", "cancelled"])
    );
    scene.world.assert_nothing_is_left();
    let again = scene
        .object("delegate_cancel", json!({"run": waiting["run"]}))
        .await;
    assert_eq!(
        again["outcome"], "cancelled",
        "a second cancel changes nothing"
    );
    scene.leave().await;
}

#[tokio::test]
async fn a_delegate_call_that_is_cancelled_twice_is_answered_once_and_leaves_nothing_running() {
    let mut scene = DelegateScene::new(PATIENT);
    let id = scene.start("delegate", task(&json!({}))).await;
    let working = scene.world.path("working");
    tokio::task::spawn_blocking(move || wait_until("working", || working.exists()))
        .await
        .unwrap();
    let cancel =
        json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id}});
    scene.send(&cancel).await;
    scene.send(&cancel).await;
    assert_eq!(scene.answer(id).await["error"]["code"], -32800);
    scene.world.assert_nothing_is_left();
    let status = scene.object("delegate_status", json!({})).await;
    assert_eq!(status["runs"][0]["outcome"], "cancelled", "{status:#}");
    scene.leave().await;
}

#[tokio::test]
async fn runs_of_a_client_that_is_gone_end_with_their_processes() {
    let mut scene = DelegateScene::new(PATIENT);
    scene.object("delegate", task(&json!({"wait_s": 0}))).await;
    let id = scene.start("delegate", task(&json!({}))).await;
    assert!(id > 0);
    scene.world.wait_for("working");
    scene.leave().await;
}

#[tokio::test]
async fn a_fifth_run_at_a_time_is_refused() {
    let mut scene = DelegateScene::new(PATIENT);
    for _ in 0..4 {
        scene.object("delegate", task(&json!({"wait_s": 0}))).await;
    }
    let refused = scene.refusal(task(&json!({}))).await;
    assert!(
        refused.contains("4 delegated runs go on already"),
        "{refused}"
    );
    fs::write(scene.world.path("go-on"), "").unwrap();
    let status = scene.object("delegate_status", json!({})).await;
    for run in status["runs"].as_array().unwrap() {
        scene
            .object("delegate_result", json!({"run": run["run"]}))
            .await;
    }
    scene.object("delegate", task(&json!({}))).await;
    scene.leave().await;
}

#[tokio::test]
async fn calls_that_cannot_be_delegated_are_refused_with_a_reason_and_start_nothing() {
    let mut scene = DelegateScene::new("touch \"$LAPIDARY_STATE_DIR/../started\"");
    let outside = scene.world.path("outside");
    fs::create_dir(&outside).unwrap();
    symlink(&outside, scene.world.path("project/link")).unwrap();
    fs::write(scene.world.path("project/file"), "").unwrap();
    let command = format!("sh -c 'touch {}'", outside.join("x").display());
    for (more, expected) in [
        (
            json!({"budget": {}}),
            "the budget has no limit: give at least one of",
        ),
        (
            json!({"budget": {"tokens": 0}}),
            "`budget.tokens` must be a whole number from 1",
        ),
        (
            json!({"budget": {"euro": 5}}),
            "must NOT have additional properties",
        ),
        (json!({"budget": null}), "arguments/budget must be object"),
        (
            json!({"agent": "gemmini"}),
            "there is no agent `gemmini`: there are gemini, ",
        ),
        (json!({"agent": command}), "there is no agent `sh -c"),
        (
            json!({"agent": "https://example.com/acp"}),
            "there is no agent `https:",
        ),
        (json!({"cwd": ".."}), "is outside the workspace"),
        (json!({"cwd": outside}), "is outside the workspace"),
        (json!({"cwd": "link"}), "is outside the workspace"),
        (json!({"cwd": "file"}), "is not a directory"),
        (json!({"cwd": "nowhere"}), "cannot use `cwd` `nowhere`"),
        (
            json!({"agent": "demo", "cwd": "."}),
            "the demo works in a directory of its own",
        ),
        (
            json!({"schema": {"unevaluatedItems": 7}}),
            "`schema` cannot be used",
        ),
        (json!({"wait_s": 51}), "arguments/wait_s must be <= 50"),
    ] {
        let refused = scene.refusal(task(&more)).await;
        assert!(refused.contains(expected), "{more}: {refused}");
    }
    let refused = scene
        .refusal(json!({"prompt": "go", "agent": "gemini"}))
        .await;
    assert_eq!(refused, "arguments must have required property 'budget'");
    assert_eq!(scene.runs(), Vec::<PathBuf>::new());
    let world = scene.leave().await;
    assert!(!world.path("started").exists());
}

#[tokio::test]
async fn the_budget_of_a_call_cannot_raise_a_limit_of_the_server() {
    let script = "init; say One.; call c1 read_file; answer c1 x; say Two.; success";
    for (own, of_call, cause) in [
        (None, json!({"turns": 1}), "budget"),
        (Some("turns=1"), json!({"turns": 9}), "budget"),
        (Some("turns=9"), json!({"tokens": 2}), "budget"),
        (Some("turns=9"), json!({"turns": 8}), "end_turn"),
    ] {
        let mut options = RunOptions::new("");
        options.config.budget = own.map(|own| Budget::parse(own).unwrap());
        let mut scene = DelegateScene::with_options(script, options);
        let arguments = task(&json!({"budget": of_call}));
        let (text, _) = scene.call("delegate", arguments).await;
        let answer: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(answer["cause"], cause, "{own:?} {of_call}: {answer:#}");
        scene.leave().await;
    }
}

#[tokio::test]
async fn an_answer_that_fits_its_schema_is_data_and_another_one_is_an_error() {
    let schema = json!({"type": "object", "required": ["size"]});
    for (said, outcome) in [
        ("{\\\\\\\"size\\\\\\\": 7}", "completed"),
        ("seven", "failed"),
    ] {
        let mut options = RunOptions::new("");
        options.config.transport = Some(TransportChoice::StreamJson);
        let script = format!("init; say \"{said}\"; success");
        let mut scene = DelegateScene::with_options(&script, options);
        let (text, is_error) = scene
            .call("delegate", task(&json!({"schema": schema})))
            .await;
        let answer: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(answer["outcome"], outcome, "{answer:#}");
        assert_eq!(is_error, outcome == "failed");
        if is_error {
            assert_eq!(answer["cause"], "schema_mismatch");
        } else {
            assert_eq!(answer["data"], json!({"size": 7}), "{answer:#}");
        }
        scene.leave().await;
    }
}

#[tokio::test]
async fn a_long_answer_with_escape_sequences_is_cut_and_cleaned() {
    let script = r#"
init
say "\\u001b[31mred\\u001b[0m $(head -c 100000 /dev/zero | tr '\0' x)"
success
"#;
    let mut scene = DelegateScene::new(script);
    let (text, _) = scene.call("delegate", task(&json!({}))).await;
    let answer: Value = serde_json::from_str(&text).unwrap();
    let response = answer["response"].as_str().unwrap();
    assert!(response.starts_with("red xxx"), "{}", &response[..40]);
    assert!(
        !text.contains("\\u001b") && text.len() < 70_000,
        "{}",
        text.len()
    );
    assert!(answer["truncated"].is_string());
    scene.leave().await;
}

#[tokio::test]
async fn a_delegated_agent_gets_the_mode_and_the_directory_of_the_server() {
    let script = r#"init; say "in $(basename "$PWD") with $*"; success"#;
    let mut scene = DelegateScene::new(script);
    fs::create_dir(scene.world.path("project/inner")).unwrap();
    // A file in the directory of the run cannot replace the settings of the server.
    fs::write(
        scene.world.path("project/inner/lapidary.toml"),
        "model = 'other'\n",
    )
    .unwrap();
    let answer = scene
        .object("delegate", task(&json!({"cwd": "inner"})))
        .await;
    let response = answer["response"].as_str().unwrap();
    assert!(response.starts_with("in inner with"), "{response}");
    assert!(
        !response.contains("yolo") && !response.contains("other"),
        "{response}"
    );
    scene.leave().await;
}

#[tokio::test]
async fn a_rule_of_the_server_denies_a_delegated_agent() {
    let rules = vec![(PermissionEffect::Deny, "edit".to_owned())];
    let options = RunOptions {
        rules,
        ..RunOptions::new("")
    };
    let mut scene = DelegateScene::with_options("exit 1", options);
    let arguments = json!({"prompt": "go", "agent": "demo", "budget": {"seconds": 60}});
    let (text, _) = scene.call("delegate", arguments).await;
    let answer: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(answer["files"], Value::Null, "{answer:#}");
    assert!(answer["denied_calls"].as_u64() >= Some(1), "{answer:#}");
    scene.leave().await;
}
