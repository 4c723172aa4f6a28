//! What both clients do where something goes wrong. Each language brings its own program; the expectations are the same.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use super::server::DemoServer;
use super::{wait_until_gone, write_program};
use crate::support::{Ran, lines_of, root};

/// In place of the binary: much on stderr, a long line with a separator of Unicode in it, and an end without a newline.
const LONG_LINES: &str = r#"#!/usr/bin/env python3
import json, sys
if sys.argv[1] == "--version":
    print("lapidary 0.1.0")
else:
    sys.stderr.write("noise\n" * 200_000)
    text = {"event": "text", "id": "r-0", "seq": 0, "provider": "acp", "kind": "text", "text": "ab\u2028" * 1_000_000}
    print(json.dumps(text, ensure_ascii=False))
    end = {"event": "run_end", "id": "r-1", "seq": 1, "provider": "acp", "outcome": "completed", "cause": "end_turn", "exitCode": 0}
    print(json.dumps(end), end="")
"#;

/// Checks the error that a program shows: its code on the first line, words of its message, and a hint.
pub(super) fn check_error(ran: &Ran, code: &str, words: &[&str]) {
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""), "{ran:?}");
    assert_eq!(ran.stdout.lines().next(), Some(code), "{ran:?}");
    for word in words {
        assert!(ran.stdout.contains(word), "{word}: {}", ran.stdout);
    }
    assert!(ran.stdout.contains("\nhint: "), "{}", ran.stdout);
}

/// `LAPIDARY_BIN` names a binary of another version, then none. `run` starts a run with it.
pub(super) fn check_named_binaries(install: &str, run: impl Fn(&Path) -> Ran) {
    let folder = tempfile::tempdir().unwrap();
    let other = folder.path().join("other");
    write_program(&other, "#!/bin/sh\necho 'lapidary 9.4.2'\n");
    let words = ["Lapidary 9.4.2", "needs 0.1.x", install];
    check_error(&run(&other), "version_mismatch", &words);
    let words = ["`LAPIDARY_BIN` names `/nonexistent/lapidary`"];
    let nowhere = run(Path::new("/nonexistent/lapidary"));
    check_error(&nowhere, "binary_missing", &words);
}

/// A directory that does not exist, and an agent that is unknown. The system names the program instead of the directory.
pub(super) fn check_wrong_options(in_a_missing_directory: &Ran, with_an_unknown_agent: &Ran) {
    let words = ["`cwd` is `/nonexistent`, which is not a directory"];
    check_error(in_a_missing_directory, "directory_missing", &words);
    let words = ["the run has ended: unknown agent `nosuch`"];
    check_error(with_an_unknown_agent, "command_failed", &words);
}

/// The server is killed in the middle of a run.
pub(super) fn check_lost_server(run: impl FnOnce(&DemoServer) -> Ran) {
    let server = DemoServer::start();
    let words = [
        "cannot reach the server at `http://127.0.0.1:",
        "the last event of run",
    ];
    check_error(&run(&server), "server_gone", &words);
}

/// Lines are longer than `option` allows. `run` starts the binary of this path.
pub(super) fn check_long_lines(option: &str, run: impl FnOnce(&Path) -> Ran) {
    let folder = tempfile::tempdir().unwrap();
    let binary = folder.path().join("lapidary");
    write_program(&binary, LONG_LINES);
    let words = ["more than 1000 bytes", option];
    check_error(&run(&binary), "line_too_long", &words);
}

/// No process of the agent is left by a program that leaves its runs (`leave`), nor by those that are killed in a turn, once they have
/// written `hi`: one that has a run, one that has a connection (`hang`). The agent is silent from then on.
pub(super) fn check_left_runs(
    told: &str,
    leave: impl FnOnce(&Path) -> Ran,
    hang: impl FnOnce(&Path, &Path) -> [Command; 2],
) {
    // A copy: its path is in the command lines of this test's agents only.
    let folder = tempfile::tempdir().unwrap();
    let agent = folder.path().join("agent.py");
    fs::copy(root().join("examples/agent.py"), &agent).unwrap();
    let left = leave(&agent);
    assert_eq!(
        (left.code, left.stdout.as_str()),
        (Some(0), told),
        "{left:?}"
    );
    wait_until_gone(agent.to_str().unwrap());
    let state = tempfile::tempdir().unwrap();
    for mut hanging in hang(&agent, state.path()) {
        hanging.stdin(Stdio::null()).stdout(Stdio::piped());
        let mut child = hanging.spawn().unwrap();
        assert_eq!(lines_of(&mut child).recv().unwrap(), "hi");
        child.kill().unwrap();
        child.wait().unwrap();
        wait_until_gone(agent.to_str().unwrap());
    }
}

/// Invalid addresses are refused before a token is sent anywhere.
pub(super) fn check_addresses(run: impl Fn(&str) -> Ran) {
    for address in ["localhost:7717", "127.0.0.1"] {
        let invalid = format!("invalid server address `{address}`");
        let words = [invalid.as_str(), "`https://…`"];
        check_error(&run(address), "server_address", &words);
    }
    // Nothing listens there.
    let words = ["cannot reach the server at `https://127.0.0.1:9`"];
    check_error(&run("https://127.0.0.1:9"), "server_gone", &words);
}
