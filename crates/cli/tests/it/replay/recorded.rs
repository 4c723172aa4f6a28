//! Recordings of ACP agents, from any recorder, as agents.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use lapidary::engine::acp::{
    AgentLaunch, AgentSource, ConnectionLimits, HandledMethods, MessageContent, ReceivedMessage,
    RunningAgent, TrafficLine,
};
use lapidary::engine::process;
use lapidary::engine::process::{Exit, Supervisor};
use lapidary::engine::recording::{Manifest, RecordedEnd, Recorder};
use lapidary::vocab::Json;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::time::timeout;

use super::talk::{Client, records, talk, transcripts};
use crate::run::world::World;
use crate::support::{DEADLINE, lapidary, output, program, root};

fn fixture(name: &str) -> PathBuf {
    root().join(format!("fixtures/acp-agents/{name}.acp.jsonl"))
}

/// The command that records a program in `FOLDER/NAME`, while the program talks to a client.
fn record(folder: &Path, name: &str, command: &[&str]) -> Command {
    let folder = folder.to_str().unwrap();
    let mut record = lapidary(["record", "--record-dir", folder, "--run-id", name, "--"]);
    record.args(command);
    record
}

fn read(folder: &Path, name: &str) -> String {
    fs::read_to_string(folder.join(name)).unwrap()
}

#[test]
fn a_recording_of_a_replay_replays_the_same() {
    for path in transcripts() {
        let folder = tempfile::tempdir().unwrap();
        let records = records(&path);
        let mut played = path.to_str().unwrap().to_owned();
        for name in ["first", "second"] {
            let replay = [env!("CARGO_BIN_EXE_lapidary"), "replay", "--fast", &played];
            let mut client = Client::start(record(folder.path(), name, &replay));
            talk(&mut client, &records);
            client.ended_well();
            played = folder.path().join(name).to_str().unwrap().to_owned();
        }
        let [first, second] = ["first", "second"].map(|name| folder.path().join(name));
        for file in ["stdin", "stdout"] {
            assert_eq!(
                read(&first, file),
                read(&second, file),
                "{}",
                path.display()
            );
        }
        let manifest: Value = serde_json::from_str(&read(&first, "run.json")).unwrap();
        assert_eq!(manifest["transport"], "acp", "{}", path.display());
    }
}

/// A recording of an agent that is this shell script, and said `lines` lines to a client that said this.
fn recorded(script: &str, client: &[&str], lines: usize) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let agent = ["sh", "-c", script];
    let mut recorded = Client::start(record(folder.path(), "rec", &agent));
    for line in client {
        recorded.write(line);
    }
    for _ in 0..lines {
        recorded.line();
    }
    recorded.ended();
    folder
}

const HELLO: &str =
    r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":1}}"#;

#[test]
fn an_agent_that_ended_by_itself_does_so_again() {
    let script = r#"read -r line; echo '{"id":0,"result":1}'; read -r line; echo 'oh no' >&2; "#;
    let prompt = r#"{"jsonrpc":"2.0","id":1,"method":"session/prompt"}"#;
    for (last, code) in [("exit 3", 3), ("exit 0", 0)] {
        let folder = tempfile::tempdir().unwrap();
        let script = format!("{script}{last}");
        let agent = ["sh", "-c", &script];
        let mut client = Client::start(record(folder.path(), "rec", &agent));
        client.write(HELLO);
        client.line();
        client.write(prompt);
        // It does not wait for the client to hang up.
        assert_eq!(client.outlived().status.code(), Some(code));

        let mut client = Client::replay(&folder.path().join("rec"));
        client.ask("\"a\"", "initialize");
        client.hears(r#"{"id":"a","result":1}"#);
        client.is_waited_for();
        client.ask("\"b\"", "session/prompt");
        let output = client.outlived();
        assert_eq!(output.status.code(), Some(code), "{output:?}");
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(said.ends_with("oh no\n"), "{said}");
    }
}

#[test]
fn last_words_come_when_the_client_has_hung_up() {
    let script = r#"read -r line; echo '{"id":0,"result":1}'; cat > /dev/null; echo bye; exit 7"#;
    let folder = tempfile::tempdir().unwrap();
    let mut client = Client::start(record(folder.path(), "rec", &["sh", "-c", script]));
    client.write(HELLO);
    client.line();
    client.hang_up();
    client.hears("bye");
    client.ended();

    let mut client = Client::replay(&folder.path().join("rec/run.json"));
    client.ask("5", "initialize");
    client.hears(r#"{"id":5,"result":1}"#);
    client.is_waited_for();
    client.hang_up();
    client.hears("bye");
    assert_eq!(client.ended().status.code(), Some(7));
}

#[test]
fn a_recording_whose_recorder_was_killed_is_still_a_dialogue() {
    let script = r#"read -r line; printf '{"id":0,'; sleep 0.1; printf '"result":1}\n{"half'; cat > /dev/null"#;
    let folder = recorded(script, &[HELLO], 1);
    let rec = folder.path().join("rec");
    let mut manifest: Value = serde_json::from_str(&read(&rec, "run.json")).unwrap();
    assert_eq!(manifest["transport"], "acp");
    manifest["transport"] = json!("unknown");
    manifest.as_object_mut().unwrap().remove("end");
    fs::write(rec.join("run.json"), manifest.to_string()).unwrap();
    let mut client = Client::replay(&rec);
    client.ask("5", "initialize");
    client.hears(r#"{"id":5,"result":1}"#);
    client.is_waited_for();
    let output = client.ended();
    assert_eq!(output.status.code(), Some(1));
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains("has no end"), "{said}");
}

#[test]
fn a_corrupt_recording_is_not_played() {
    let folder = recorded("read -r line; echo hi", &[HELLO], 1);
    let rec = folder.path().join("rec");
    fs::write(rec.join("stdin"), &HELLO[..20]).unwrap();
    fs::write(rec.join("run.json"), read(&rec, "run.json")).unwrap();
    let output = Client::replay(&rec).ended();
    assert_eq!(output.status.code(), Some(13));
    let said = String::from_utf8(output.stderr).unwrap();
    let size = HELLO.len() + 1;
    let expected =
        format!("up to line 1 of `timing` {size} bytes were written to `stdin`, which holds 20\n");
    assert!(said.ends_with(&expected), "{said}");
}

/// The replay reads the recording while it plays it: the memory does not grow with the recording.
#[test]
fn a_long_recording_takes_no_more_memory_than_a_short_one() {
    let folder = recorded("read -r line; echo hi", &[HELLO], 1);
    let rec = folder.path().join("rec");
    let said = format!(
        "{{\"method\":\"session/update\",\"params\":\"{}\"}}\n",
        "x".repeat(1000)
    );
    let said = said.repeat(100_000);
    let (asked, told) = (HELLO.len() + 1, said.len());
    fs::write(rec.join("stdout"), &said).unwrap();
    fs::write(
        rec.join("timing"),
        format!("1.000 in {asked}\n2.000 out {told}\n"),
    )
    .unwrap();
    let mut limited = program("sh");
    let limit = "ulimit -d 50000 && exec \"$@\""; // half of the recorded output
    limited.args([
        "-c",
        limit,
        "sh",
        env!("CARGO_BIN_EXE_lapidary"),
        "replay",
        "--fast",
    ]);
    limited.arg(&rec);
    let played = output(limited, format!("{HELLO}\n").as_bytes());
    assert_eq!(
        played.status.code(),
        Some(0),
        "{}",
        String::from_utf8_lossy(&played.stderr)
    );
    assert!(
        played.stdout == said.as_bytes(),
        "{} bytes",
        played.stdout.len()
    );
}

/// Our own client, and a recording that it makes.
async fn agent(folder: &Path, name: &str, recording: &Path) -> RunningAgent {
    let mut command = process::Command::new(env!("CARGO_BIN_EXE_lapidary"), folder);
    command.args(["replay", "--fast", recording.to_str().unwrap()]);
    let launch = AgentLaunch {
        source: AgentSource::Process {
            command: Box::new(command),
            supervisor: Supervisor::at(env!("CARGO_BIN_EXE_lapidary")),
        },
        recorder: Recorder::begin(folder, name).unwrap(),
        max_output: 1 << 30,
        methods: HandledMethods::from_names(["session/request_permission"]),
        limits: ConnectionLimits::default(),
        tap: None,
    };
    RunningAgent::start(launch).await.unwrap()
}

fn manifest(run: &str) -> Manifest {
    Manifest {
        schema: "lapidary.recording/1".to_owned(),
        writer: None,
        run: run.to_owned(),
        agent: "replay".to_owned(),
        provider: None,
        transport: "acp".to_owned(),
        argv: Vec::new(),
        environment: Vec::new(),
        directory: "/".to_owned(),
        on_denied: None,
        confinement: None,
        may_retry: false,
        started_at: String::new(),
        end: Some(RecordedEnd {
            duration_ms: 1,
            agent_exit_code: Some(0),
            ..RecordedEnd::default()
        }),
    }
}

fn is_update(traffic: &TrafficLine) -> bool {
    let TrafficLine::Received(ReceivedMessage { what, .. }) = traffic else {
        return false;
    };
    matches!(what, MessageContent::Notification { method, .. } if *method == *"session/update")
}

/// A turn with a permission. The answers, and how many updates there were.
async fn turn(agent: &mut RunningAgent) -> (Vec<String>, usize) {
    let (connection, mut answers) = (&agent.connection, Vec::new());
    for method in ["initialize", "session/new"] {
        let params = Json::from_value(&json!({"protocolVersion": 1, "cwd": "/elsewhere"}));
        let answer = connection
            .request(method, Some(&params), Some(DEADLINE))
            .await;
        answers.push(answer.unwrap().result.as_str().to_owned());
    }
    let prompt = connection.ask("session/prompt", None).unwrap();
    let asked = timeout(DEADLINE, agent.requests.next()).await.unwrap();
    let allowed = json!({"outcome": {"outcome": "selected", "optionId": "allow"}});
    asked.unwrap().respond.answer(&Json::from_value(&allowed));
    let done = prompt.answer(Some(DEADLINE)).await.unwrap();
    answers.push(done.result.as_str().to_owned());
    let ended = timeout(DEADLINE, agent.end(Duration::from_secs(20))).await;
    assert_eq!(ended.unwrap().unwrap().exit, Some(Exit::Code(0)));
    let mut updates = 0;
    while let Some(observed) = agent.observer.next().await {
        updates += usize::from(is_update(&observed.traffic));
    }
    (answers, updates)
}

#[tokio::test]
async fn our_own_client_can_be_tested_with_it_and_what_it_records_too() {
    for name in ["ts-sdk-example-1", "gemini-cli-turn", "opencode-turn"] {
        let folder = tempfile::tempdir().unwrap();
        let mut played = fixture(name);
        let mut turns = Vec::new();
        for run in ["first", "second"] {
            let mut agent = agent(folder.path(), run, &played).await;
            turns.push(turn(&mut agent).await);
            agent.describe(&manifest(run)).unwrap();
            played = folder.path().join(run);
        }
        assert_eq!(turns[0], turns[1], "{name}");
        let (answers, updates) = &turns[0];
        assert!(
            answers[2].contains(r#""stopReason":"end_turn""#),
            "{answers:?}"
        );
        let recorded = records(&fixture(name));
        let recorded = recorded
            .iter()
            .filter(|(who, line)| who == "agent" && line.contains("session/update"));
        assert_eq!(recorded.count(), *updates, "{name}");
    }
}

#[test]
fn a_run_of_a_replay_replays_as_the_same_run() {
    let world = World::with_agent("");
    let mut played = fixture("ts-sdk-example-1");
    for name in ["first", "second"] {
        let replay = [env!("CARGO_BIN_EXE_lapidary"), "replay", "--fast"].join(" ");
        let agent = format!("{replay} {}", played.display());
        let mut run = world.lapidary(&["run", "--record-dir", "../runs", "--run-id", name]);
        run.args(["--on-violation", "report", "--format", "result"]);
        run.args(["--agent", &agent, "do it"]);
        let ran = output(run, b"");
        assert_eq!(ran.status.code(), Some(0), "{ran:?}");
        let result: Value = serde_json::from_slice(&ran.stdout).unwrap();
        assert_eq!(result["outcome"], "completed", "{result}");
        played = world.path("runs").join(name);
    }
    let [first, second] = ["runs/first", "runs/second"].map(|name| world.path(name));
    assert_eq!(read(&first, "stdout"), read(&second, "stdout"));
    world.assert_nothing_is_left();
}
