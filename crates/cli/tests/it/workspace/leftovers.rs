//! No terminal outlives its workspace, however that ends.

use std::path::PathBuf;
use std::process::Stdio;
use std::sync::Arc;
use std::time::{Duration, Instant};

use lapidary::engine::workspace::ClientServices;
use lapidary::vocab::Json;
use serde_json::json;
use tokio::time::{sleep, timeout};

use super::bench::{Bench, LONG, setup};
use crate::run::world::{MARK, Mark};
use crate::support::{ended, program};

/// A process in a session of its own, a daemon, and a process that ignores the signals that it can ignore.
const FAMILY: &str = "setsid sleep 601 & (setsid sleep 602 &); sh -c 'trap \"\" TERM HUP INT; sleep 603; sleep 604' & echo ready; sleep 605";

#[tokio::test]
async fn closing_leaves_nothing_and_lets_nothing_in() {
    let bench = Bench::new();
    for _ in 0..3 {
        let id = bench.run(FAMILY).await;
        bench.until(&id, "ready").await;
    }
    tokio::join!(bench.workspace.close(), bench.workspace.close());
    assert_eq!(bench.processes(), [], "already when it returns");
    let refused = bench.create(json!({"command": "true"})).await.unwrap_err();
    assert_eq!(refused.message.to_str(), "the session is being closed");
    bench.workspace.close().await;
}

#[tokio::test]
async fn a_workspace_that_is_dropped_leaves_nothing() {
    let bench = Bench::new();
    let id = bench.run(FAMILY).await;
    bench.until(&id, "ready").await;
    drop(bench.workspace.clone());
    assert!(!bench.processes().is_empty(), "a clone is not the last");
    let mark = bench.let_go();
    until_nothing_is_left(&mark).await;
}

/// Waits without blocking the runtime.
async fn until_nothing_is_left(mark: &Mark) {
    let last = Instant::now() + LONG;
    while !mark.processes().is_empty() {
        assert!(Instant::now() < last, "still there: {:?}", mark.processes());
        sleep(Duration::from_millis(5)).await;
    }
}

#[tokio::test]
async fn a_terminal_whose_request_was_dropped_is_not_created() {
    let bench = Bench::with(|setup| setup.limits.terminals = 1);
    let params = Json::from_value(&json!({"sessionId": "s", "command": "sleep", "args": ["600"]}));
    // Given up at one moment or another.
    for micros in (0..10_000).step_by(400) {
        let create = bench.workspace.serve("terminal/create", &params);
        let made = timeout(Duration::from_micros(micros), create).await;
        let last = Instant::now() + LONG;
        if let Ok(Ok(_)) = made {
            bench.workspace.close_session("s").await;
        }
        // Its place is free again.
        while let Err(refused) = bench.create(json!({"command": "true"})).await {
            assert!(Instant::now() < last, "{refused}");
            sleep(Duration::from_millis(2)).await;
        }
        bench.workspace.close_session("s").await;
    }
    bench.assert_nothing_is_left();
}

#[tokio::test]
async fn closing_while_terminals_are_made_leaves_nothing() {
    let bench = Arc::new(Bench::new());
    let mut making = tokio::task::JoinSet::new();
    for _ in 0..8 {
        let bench = Arc::clone(&bench);
        making.spawn(async move {
            bench
                .create(json!({"command": "sleep 600 & sleep 601"}))
                .await
        });
    }
    sleep(Duration::from_millis(3)).await;
    timeout(LONG, bench.workspace.close())
        .await
        .expect("it hangs");
    assert_eq!(bench.processes(), []);
    while let Some(made) = making.join_next().await {
        // A task may have got the id of a terminal that has ended since.
        let _ = made.unwrap();
    }
    assert_eq!(bench.processes(), []);
}

/// The variable that makes this test the host of a workspace and names its directory.
const HOST: &str = "LAPIDARY_TEST_HOST";

/// This test is two: as itself it starts itself again, as the host of a workspace, and kills that.
#[test]
fn nothing_is_left_when_we_are_killed() {
    if let Some(root) = std::env::var_os(HOST) {
        return host(PathBuf::from(root));
    }
    let (directory, mark) = (tempfile::tempdir().unwrap(), Mark::fresh());
    let mut command = program(std::env::current_exe().unwrap());
    command
        .args([
            "--exact",
            "workspace::leftovers::nothing_is_left_when_we_are_killed",
        ])
        .env(HOST, directory.path())
        .env(MARK, mark.value())
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    let mut host = command.spawn().unwrap();
    for seconds in [601, 602, 603, 605] {
        until_it_runs(&mark, &format!("sleep {seconds}"));
    }
    host.kill().unwrap();
    ended(host);
    mark.assert_nothing_is_left();
}

fn until_it_runs(mark: &Mark, wanted: &str) {
    let last = Instant::now() + LONG;
    let is_it = |(_, line): &(i32, String)| line.trim_end() == wanted;
    while !mark.processes().iter().any(is_it) {
        assert!(Instant::now() < last, "`{wanted}` never ran");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Has a terminal, and waits to be killed.
fn host(root: PathBuf) {
    let mark = std::env::var(MARK).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        let workspace = ClientServices::new(setup(root, &mark));
        let params = Json::from_value(&json!({"command": "sh", "args": ["-c", FAMILY]}));
        workspace.serve("terminal/create", &params).await.unwrap();
        sleep(LONG).await;
    });
}
