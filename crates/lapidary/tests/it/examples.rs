//! The programs in `examples` work as their comments say.

use std::path::PathBuf;
use std::process::Command;

/// An example of this crate, which `cargo test` builds beside the tests.
fn example(name: &str) -> PathBuf {
    let own = std::env::current_exe().unwrap();
    let program = own.ancestors().nth(2).unwrap().join("examples").join(name);
    assert!(
        program.is_file(),
        "no example at {}: run all of `cargo test -p lapidary`",
        program.display()
    );
    program
}

#[test]
#[expect(
    clippy::disallowed_methods,
    reason = "a test starts the example as a user does"
)]
fn a_rust_program_runs_an_agent_and_exits_as_the_run_ended() {
    let folder = tempfile::tempdir().unwrap();
    let ran = Command::new(example("run"))
        .args(["what can you do?", "demo"])
        .env("HOME", folder.path())
        .env("LAPIDARY_STATE_DIR", folder.path().join("state"))
        .current_dir(&folder)
        .output()
        .unwrap();
    let shown = String::from_utf8(ran.stdout).unwrap();
    assert_eq!(ran.status.code(), Some(0), "{shown}");
    assert!(shown.ends_with("\ncompleted: end_turn\n"), "{shown}");
}
