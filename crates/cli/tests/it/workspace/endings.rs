//! How terminals end, and who hears of it.

use std::sync::Arc;
use std::time::Duration;

use lapidary::engine::acp::RpcError;
use lapidary::vocab::Json;
use serde_json::{Value, json};
use tokio::task::JoinSet;
use tokio::time::timeout;

use super::bench::Bench;

fn status(code: impl Into<Value>, signal: impl Into<Value>) -> Value {
    json!({"exitCode": code.into(), "signal": signal.into()})
}

#[tokio::test]
async fn the_end_is_a_code_or_a_signal() {
    let bench = Bench::new();
    let cases = [
        ("exit 0", status(0, Value::Null)),
        ("exit 42", status(42, Value::Null)),
        ("kill -TERM $$", status(Value::Null, "SIGTERM")),
        ("kill -KILL $$", status(Value::Null, "SIGKILL")),
    ];
    for (script, expected) in cases {
        let id = bench.run(&format!("echo hello; {script}")).await;
        assert_eq!(bench.wait(&id).await, expected, "{script}");
        assert_eq!(bench.wait(&id).await, expected, "{script}, again");
        let all = json!({"output": "hello\n", "truncated": false, "exitStatus": expected});
        assert_eq!(bench.about("output", &id).await.unwrap(), all, "{script}");
        assert_eq!(
            bench.about("output", &id).await.unwrap(),
            all,
            "{script}, again"
        );
    }
    bench.assert_nothing_is_left();
}

#[tokio::test]
async fn a_running_terminal_has_output_and_no_exit_status() {
    let bench = Bench::new();
    let id = bench.run(r"printf 'caf\303'; sleep 600").await;
    bench.until(&id, "caf").await;
    let answer = bench.about("output", &id).await.unwrap();
    assert_eq!(answer, json!({"output": "caf", "truncated": false}));
    bench.workspace.close().await;
    bench.assert_nothing_is_left();
}

#[tokio::test]
async fn killing_ends_the_whole_tree_and_keeps_the_terminal() {
    let bench = Bench::new();
    let tree = "trap '' TERM; (setsid sleep 601 &); sh -c 'trap \"\" TERM; sleep 602; sleep 603' & echo ready; sleep 604; sleep 605";
    let id = bench.run(tree).await;
    bench.until(&id, "ready").await;
    for _ in 0..2 {
        assert_eq!(bench.about("kill", &id).await.unwrap(), json!({}));
        bench.assert_nothing_is_left();
        let answer = bench.about("output", &id).await.unwrap();
        assert_eq!(answer["exitStatus"], status(Value::Null, "SIGKILL"));
        // A shell of the tree may have seen its child die first, and said so.
        let said = answer["output"].as_str().unwrap();
        assert!(said.starts_with("ready\n"), "{said}");
    }
    assert_eq!(bench.about("release", &id).await.unwrap(), json!({}));
    // One that had ended before keeps its own end.
    let id = bench.run("exit 7").await;
    bench.wait(&id).await;
    bench.about("kill", &id).await.unwrap();
    assert_eq!(bench.wait(&id).await, status(7, Value::Null));
}

#[tokio::test]
async fn a_released_terminal_is_gone() {
    let bench = Bench::new();
    let id = bench.run("sleep 600").await;
    assert_eq!(bench.about("release", &id).await.unwrap(), json!({}));
    bench.assert_nothing_is_left();
    for what in ["output", "wait_for_exit", "kill", "release"] {
        let refused = bench.about(what, &id).await.unwrap_err();
        assert_eq!(refused.code, -32002, "{what}");
    }
}

#[tokio::test]
async fn a_terminal_is_its_sessions_own() {
    let bench = Bench::new();
    let id = bench.run("sleep 600").await;
    for (session, terminal) in [
        (json!("other"), id.as_str()),
        (json!(null), &id),
        (json!("s"), "terminal-99"),
    ] {
        for what in ["output", "wait_for_exit", "kill", "release"] {
            let params = json!({"sessionId": session, "terminalId": terminal});
            let refused = bench
                .ask(&format!("terminal/{what}"), params)
                .await
                .unwrap_err();
            assert_eq!(refused.code, -32002, "{what} {session} {terminal}");
        }
    }
    bench.workspace.close_session("other").await;
    let answer = bench.about("output", &id).await.unwrap();
    assert_eq!(answer.get("exitStatus"), None, "it still runs");
    bench.workspace.close_session("s").await;
    bench.assert_nothing_is_left();
    bench.about("output", &id).await.unwrap_err();
}

#[tokio::test]
async fn every_waiting_request_gets_the_end_of_a_terminal() {
    let bench = Arc::new(Bench::new());
    let id = bench.run("sleep 600").await;
    // One that gives up waiting takes nothing from the others.
    let params = Json::from_value(&json!({"sessionId": "s", "terminalId": id}));
    let waiting = bench.workspace.serve("terminal/wait_for_exit", &params);
    timeout(Duration::from_millis(50), waiting)
        .await
        .unwrap_err();
    let mut waiting = JoinSet::new();
    for _ in 0..5 {
        let (bench, id) = (Arc::clone(&bench), id.clone());
        waiting.spawn(async move { bench.wait(&id).await });
    }
    tokio::task::yield_now().await;
    bench.about("release", &id).await.unwrap();
    while let Some(heard) = waiting.join_next().await {
        assert_eq!(heard.unwrap(), status(Value::Null, "SIGKILL"));
    }
}

#[tokio::test]
async fn a_process_that_holds_the_output_does_not_delay_the_terminals_end() {
    let bench = Bench::new();
    let heirs =
        "(trap '' TERM HUP; while :; do sleep 600; done) & setsid sleep 600 & echo bye; exit 3";
    let id = bench.run(heirs).await;
    assert_eq!(bench.wait(&id).await, status(3, Value::Null));
    assert_eq!(bench.written(&id).await, "bye\n");
    bench.assert_nothing_is_left();
}

/// Runs a script once its terminal is known.
async fn run_later(bench: &Bench, script: &str) -> String {
    let wait = "while [ ! -e go ]; do sleep 0.01; done";
    let id = bench.run(&format!("{wait}; {script}")).await;
    std::fs::write(bench.root().join("go"), "").unwrap();
    id
}

#[tokio::test]
async fn a_supervisor_that_was_stopped_is_given_up() {
    let bench = Bench::new();
    let id = run_later(&bench, "kill -STOP $PPID; echo ha; exec sleep 600").await;
    bench.until(&id, "ha").await;
    bench.about("kill", &id).await.unwrap();
    bench.assert_nothing_is_left();
}

#[tokio::test]
async fn a_terminal_that_lost_its_supervisor_ends_without_a_status() {
    let bench = Bench::new();
    let id = run_later(&bench, "echo hello; kill -KILL $PPID; sleep 600").await;
    assert_eq!(bench.wait(&id).await, status(Value::Null, Value::Null));
    assert_eq!(bench.written(&id).await, "hello\n");
    bench.assert_nothing_is_left();
    // If that comes before it is known to run, it never did.
    for _ in 0..10 {
        let params = json!({"command": "kill -KILL $PPID; sleep 600"});
        if let Ok(id) = bench.create(params).await {
            assert_eq!(bench.wait(&id).await, status(Value::Null, Value::Null));
        }
        bench.assert_nothing_is_left();
    }
}

#[tokio::test]
async fn terminals_beyond_the_limit_are_refused_until_one_is_released() {
    let bench = Bench::with(|setup| setup.limits.terminals = 3);
    let mut ids = Vec::new();
    for script in ["exit 0", "sleep 600", "sleep 600"] {
        ids.push(bench.run(script).await);
    }
    bench.wait(&ids[0]).await;
    let refused = bench.create(json!({"command": "true"})).await.unwrap_err();
    assert_eq!(refused.code, RpcError::INTERNAL);
    assert_eq!(
        refused.message.to_str(),
        "there are 3 terminals already: release one"
    );
    bench.about("release", &ids[1]).await.unwrap();
    let next = bench.run("echo next").await;
    assert!(!ids.contains(&next), "an id is used once");
    assert_eq!(bench.written(&next).await, "next\n");
    bench.workspace.close().await;
    bench.assert_nothing_is_left();
}
