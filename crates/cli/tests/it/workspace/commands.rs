//! What runs in a terminal, where, and with what around it.

use std::fs;

use lapidary::engine::acp::RpcError;
use serde_json::json;

use super::bench::Bench;
use crate::support::output;

#[tokio::test]
async fn both_outputs_are_one_in_order_and_nothing_is_read() {
    let bench = Bench::new();
    let script =
        "echo one; echo two >&2; echo three; cat; read -r line || echo nothing to read >&2";
    let said = bench.says(script).await;
    assert_eq!(said, "one\ntwo\nthree\nnothing to read\n");
}

#[tokio::test]
async fn arguments_arrive_as_they_are() {
    let bench = Bench::new();
    let args = json!(["[%s]", "a b", "", "$HOME", "'", "caf\u{e9}", "-n"]);
    let id = bench
        .create(json!({"command": "printf", "args": args}))
        .await
        .unwrap();
    assert_eq!(bench.written(&id).await, "[a b][][$HOME]['][caf\u{e9}][-n]");
}

#[tokio::test]
async fn a_line_is_for_the_shell_unless_it_is_a_program() {
    let bench = Bench::new();
    for args in [json!([]), json!(null)] {
        let params = json!({"command": "echo one && echo $((1 + 1)) | cat", "args": args});
        let id = bench.create(params).await.unwrap();
        assert_eq!(bench.written(&id).await, "one\n2\n");
    }
    // Another process writes it: see `ProofSandbox::program`.
    let mut shell = std::process::Command::new("sh");
    shell
        .current_dir(bench.root())
        .args(["-c", "cat > 'a tool'; chmod 755 'a tool'"]);
    assert!(
        output(shell, b"#!/bin/sh\necho the tool itself\n")
            .status
            .success()
    );
    let id = bench.create(json!({"command": "./a tool"})).await.unwrap();
    assert_eq!(bench.written(&id).await, "the tool itself\n");
    // With arguments, `command` is the name of a program, even if it contains spaces.
    let refused = bench
        .create(json!({"command": "echo one", "args": ["two"]}))
        .await;
    let words = refused.unwrap_err().message.to_str().into_owned();
    assert_eq!(words, "cannot find `echo one`");
}

#[tokio::test]
async fn a_terminal_runs_in_the_first_root_or_the_requested_directory() {
    let bench = Bench::new();
    fs::create_dir(bench.root().join("below")).unwrap();
    let script = "pwd -P; echo $PWD";
    let root = bench.root().to_str().unwrap().to_owned();
    assert_eq!(bench.says(script).await, format!("{root}\n{root}\n"));
    let below = format!("{root}/below");
    let params = json!({"command": "sh", "args": ["-c", script], "cwd": below});
    let id = bench.create(params).await.unwrap();
    assert_eq!(bench.written(&id).await, format!("{below}\n{below}\n"));
    let outside = bench
        .create(json!({"command": "ls", "cwd": "/"}))
        .await
        .unwrap_err();
    assert_eq!(outside.code, RpcError::DENIED);
}

#[tokio::test]
async fn the_environment_of_a_terminal_is_what_was_set_and_what_the_agent_adds() {
    let bench = Bench::with(|setup| setup.environment.push(("GIVEN".into(), "ours".into())));
    let script =
        "echo $GIVEN $ADDED $TERM; env | cut -d= -f1 | grep -v ^__LLVM | sort | tr '\\n' ' '";
    let names = "LAPIDARY_TERMINAL LAPIDARY_TEST_WORLD PATH PWD TERM";
    let plain = bench.says(script).await;
    assert_eq!(plain.lines().next().unwrap(), "ours dumb");
    assert_eq!(
        plain.lines().nth(1).unwrap().trim_end(),
        format!("GIVEN {names}")
    );
    for env in [
        json!([{"name": "ADDED", "value": "a=b c"}, {"name": "TERM", "value": "vt100"}, {"name": "GIVEN", "value": "theirs"}]),
        json!({"ADDED": "a=b c", "TERM": "vt100", "GIVEN": "theirs"}),
    ] {
        let params = json!({"command": "sh", "args": ["-c", script], "env": env});
        let id = bench.create(params).await.unwrap();
        let said = bench.written(&id).await;
        assert_eq!(said.lines().next().unwrap(), "theirs a=b c vt100");
    }
}

#[tokio::test]
async fn a_terminal_that_cannot_start_is_refused_and_leaves_no_process() {
    let bench = Bench::with(|setup| setup.limits.terminals = 1);
    fs::write(bench.root().join("text"), "no program").unwrap();
    for (command, wanted) in [
        ("no-such-program", "cannot find `no-such-program`"),
        ("./text", "cannot start `./text`: Permission denied"),
        (".", "cannot start `.`: Permission denied"),
    ] {
        let refused = bench.create(json!({"command": command})).await.unwrap_err();
        assert_eq!(refused.code, RpcError::INTERNAL);
        let words = refused.message.to_str();
        assert!(words.starts_with(wanted), "{words}");
    }
    // A terminal that cannot start does not count towards the limit once its supervisor is gone.
    bench.assert_nothing_is_left();
    assert_eq!(bench.says("echo still here").await, "still here\n");
}
