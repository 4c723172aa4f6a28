//! Bad input and surroundings in which a run cannot work: one clear message, the right cause, nothing lost.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::PermissionsExt as _;

use super::world::{Told, World};

use crate::support::{program, with_a_read_only, with_a_small_disk};

const FINE: &str = "cat > ../got; init; say a; success";

fn check(told: &Told, cause: &str, code: i32, words: &str) {
    assert_eq!(told.verdict(), (cause, Some(code)), "{told:?}");
    assert!(told.message().contains(words), "{}", told.message());
    assert!(told.stderr.contains(words), "{}", told.stderr);
}

#[test]
fn the_agent_is_missing() {
    let world = World::with_agent(FINE);
    let mut command = world.lapidary(&["run", "go"]);
    command
        .env("GEMINI_CLI_PATH", "")
        .env("PATH", world.path("nowhere"));
    let told = Told::by(command);
    check(
        &told,
        "agent_missing",
        10,
        "Gemini CLI not found. Install from: https://github.com/google-gemini/gemini-cli",
    );
    assert!(
        told.stderr
            .contains("hint: install it with `npm install -g @google/gemini-cli`")
    );
}

#[test]
fn a_program_that_is_named_and_cannot_be_used_is_an_error_and_no_other_one_is_run() {
    let world = World::with_agent(FINE);
    let other = world.path("bin/gemini");
    fs::create_dir(world.path("bin")).unwrap();
    fs::copy(world.path("gemini"), &other).unwrap();
    fs::set_permissions(world.path("gemini"), fs::Permissions::from_mode(0o644)).unwrap();
    for (name, why) in [("gemini", "not executable"), ("nowhere", "no such file")] {
        let mut command = world.lapidary(&["run", "go"]);
        let path = std::env::var("PATH").unwrap();
        command
            .env("GEMINI_CLI_PATH", world.path(name))
            .env("PATH", format!("{}:{path}", world.path("bin").display()));
        let told = Told::by(command);
        let path = world.path(name);
        let message = format!(
            "cannot use `{}`, which GEMINI_CLI_PATH names as Gemini CLI: {why}",
            path.display()
        );
        check(&told, "agent_missing", 10, &message);
        assert!(told.stderr.contains("hint: correct GEMINI_CLI_PATH"));
    }
}

#[test]
fn a_closed_stdin_is_bad_input_only_for_a_prompt_from_stdin() {
    let world = World::with_agent(FINE);
    let lapidary = env!("CARGO_BIN_EXE_lapidary");
    for (prompt, cause) in [("-", "bad_input"), ("go", "end_turn")] {
        let environment = world.lapidary(&[]);
        let environment = environment
            .get_envs()
            .filter_map(|(name, value)| Some((name, value?)));
        let mut command = program("sh");
        command
            .args(["-c", &format!("exec {lapidary} run {prompt} <&-")])
            .current_dir(world.path("project"))
            .envs(environment);
        assert_eq!(Told::by(command).verdict().0, cause);
    }
}

#[test]
fn the_agent_cannot_be_executed() {
    let world = World::with_agent(FINE);
    world.program("gemini", "#!/no/such/interpreter\n");
    let told = world.run(&["go"]);
    check(&told, "spawn_failed", 10, "cannot start `");
}

#[test]
fn the_agent_prints_its_help() {
    let told = World::with_agent("echo 'Usage: gemini [options]'; echo '  -h  help'").run(&["go"]);
    check(&told, "no_result", 15, "without a result");
    assert_eq!(
        told.events
            .iter()
            .filter(|event| event["kind"] == "noise")
            .count(),
        2
    );
}

#[test]
fn a_name_need_not_be_utf_8() {
    let world = World::with_agent("init; say a; success");
    let directory = world.path("project").join(OsStr::from_bytes(b"d\xff\n"));
    fs::create_dir(&directory).unwrap();
    let mut command = world.lapidary(&["run", "go"]);
    command.current_dir(&directory);
    assert_eq!(Told::by(command).verdict(), ("end_turn", Some(0)));
}

#[test]
fn there_is_no_such_directory() {
    let told = World::with_agent(FINE).run(&["-C", "nowhere", "go"]);
    check(&told, "bad_input", 13, "it is not a directory");
}

#[test]
fn a_directory_that_cannot_be_entered_is_named() {
    let world = World::with_agent(FINE);
    let closed = world.path("project/closed");
    fs::create_dir(&closed).unwrap();
    fs::set_permissions(&closed, fs::Permissions::from_mode(0o000)).unwrap();
    for transport in ["stream-json", "acp"] {
        let wanted = world.lapidary(&[]);
        let mut command = program("unshare"); // root could enter it
        command
            .args(["--user", env!("CARGO_BIN_EXE_lapidary"), "run"])
            .args(["--transport", transport, "-C", "closed", "go"])
            .current_dir(world.path("project"));
        command.envs(
            wanted
                .get_envs()
                .filter_map(|(name, value)| Some((name, value?))),
        );
        let told = Told::by(command);
        let words = format!(
            "cannot work in `{}`: it cannot be entered",
            closed.display()
        );
        check(&told, "bad_input", 13, &words);
    }
    fs::set_permissions(&closed, fs::Permissions::from_mode(0o700)).unwrap();
}

#[test]
fn the_configuration_cannot_be_read() {
    let world = World::with_agent(FINE);
    fs::write(world.path("project/lapidary.toml"), "model = \n").unwrap();
    let told = world.run(&["go"]);
    check(&told, "bad_config", 13, "lapidary.toml:1:");
    assert!(!world.path("got").exists());
}

#[test]
fn the_configuration_is_wrong() {
    let world = World::with_agent(FINE);
    fs::write(world.path("project/lapidary.toml"), "timeout = \"long\"\n").unwrap();
    check(&world.run(&["go"]), "bad_config", 13, "timeout");
}

#[test]
fn the_prompt_is_empty() {
    for prompt in ["", "  \n"] {
        check(
            &World::with_agent(FINE).run(&[prompt]),
            "bad_input",
            13,
            "the prompt is empty",
        );
    }
    // Nothing on stdin is an empty prompt too.
    check(
        &World::with_agent(FINE).run(&["-"]),
        "bad_input",
        13,
        "the prompt is empty",
    );
    check(
        &World::with_agent(FINE).run(&[]),
        "bad_input",
        13,
        "the prompt is empty",
    );
}

#[test]
fn a_prompt_may_begin_with_a_hyphen() {
    for prompt in ["-x marks the spot", "--yolo"] {
        let world = World::with_agent(FINE);
        let told = world.run(&["--", prompt]);
        assert_eq!(told.code, Some(0), "{told:?}");
        assert_eq!(fs::read_to_string(world.path("got")).unwrap(), prompt);
    }
}

#[test]
fn two_options_for_the_permission_mode_are_wrong_usage() {
    let world = World::with_agent(FINE);
    for two in [
        ["--yolo", "--permission-mode", "plan"],
        ["--yolo", "--approval-mode", "plan"],
        ["--approval-mode=plan", "--permission-mode", "plan"],
    ] {
        let told = world.run(&[&two[..], &["go"]].concat());
        assert_eq!(told.code, Some(2), "{told:?}");
        assert!(
            told.stderr.contains("cannot be used with"),
            "{}",
            told.stderr
        );
    }
}

#[test]
fn nothing_can_be_recorded() {
    let world = World::with_agent(FINE);
    fs::write(world.path("state"), "a file").unwrap();
    let told = world.run(&["go"]);
    check(&told, "bad_input", 13, "cannot record in");
    assert!(
        told.stderr
            .contains("hint: record elsewhere (--record-dir), or keep no recording (--no-record)")
    );
    fs::create_dir(world.path("tmp")).unwrap();
    let mut command = world.lapidary(&["run", "--no-record", "go"]);
    command.env("TMPDIR", world.path("tmp"));
    assert_eq!(Told::by(command).code, Some(0));
    let told = world.run(&["--record-dir", "/proc/x", "go"]);
    check(&told, "bad_input", 13, "cannot record in `/proc/x/");
}

#[test]
fn an_id_cannot_leave_its_directory() {
    for id in ["../escape", ".hidden", "a/b", ""] {
        let told = World::with_agent(FINE).run(&["--run-id", id, "go"]);
        check(&told, "bad_input", 13, "cannot name a recording");
    }
}

#[test]
fn two_runs_cannot_have_one_name() {
    let world = World::with_agent(FINE);
    assert_eq!(world.run(&["--run-id", "x", "go"]).code, Some(0));
    let told = world.run(&["--run-id", "x", "go"]);
    check(
        &told,
        "bad_input",
        13,
        "there is a recording of `x` already",
    );
    assert!(told.end()["extensions"].is_null(), "it is somebody else's");
}

#[test]
fn an_unknown_agent_is_named() {
    let world = World::with_agent(FINE);
    let told = world.run(&["--agent", "mona", "go"]);
    let message = "unknown agent `mona`: not a built-in name and not on PATH";
    check(&told, "bad_input", 13, message);
    let hint = told.end()["hint"].as_str().unwrap();
    assert!(
        hint.starts_with("built in are `gemini`, `claude`, "),
        "{hint}"
    );
    let told = world.run(&["--agent", "node 'mona", "go"]);
    let message = "cannot read the command line `node 'mona`: a quote (') has no end";
    check(&told, "bad_input", 13, message);
    let told = world.run(&["--agent", "./mona --acp", "go"]);
    let message = "cannot find `./mona`, the program of the agent `mona`";
    check(&told, "agent_missing", 10, message);
    fs::write(world.path("own.toml"), "agent = \"mona\"\n").unwrap();
    let told = world.run(&["--config", "../own.toml", "go"]);
    check(
        &told,
        "bad_input",
        13,
        "unknown agent `mona`: not a built-in name and not on PATH",
    );
}

#[test]
fn a_run_that_was_not_made_is_of_the_family_of_its_agent() {
    let world = World::with_agent(FINE);
    fs::write(world.path("broken.toml"), "model = \n").unwrap();
    let own = "agent = \"mine\"\n[agents.mine]\ncommand = \"codex-acp --x\"\n";
    fs::write(world.path("own.toml"), own).unwrap();
    let named = "[agents.mine]\ncommand = \"./mona --acp\"\nfamily = \"mona\"\n";
    fs::write(world.path("named.toml"), named).unwrap();
    let cases: [(&[&str], &str); 8] = [
        // Refused once it is known which agent it is,
        (&["-C", "nowhere", "go"], "gemini"),
        (&["--agent", "claude", "-C", "nowhere", "go"], "claude"),
        (&["--agent", "./qwen --acp", "go"], "qwen"),
        // and before.
        (&["--agent", "mona", "go"], "acp"),
        (
            &["--agent", "claude", "--config", "../broken.toml", "go"],
            "claude",
        ),
        (&["--config", "../broken.toml", "go"], "gemini"),
        (
            &["--config", "../own.toml", "--attach", "none", "go"],
            "mine",
        ),
        (
            &[
                "--config",
                "../named.toml",
                "--agent",
                "mine",
                "--attach",
                "none",
                "go",
            ],
            "mona",
        ),
    ];
    for (args, family) in cases {
        let told = world.run(args);
        assert_eq!(told.end()["provider"], family, "{args:?}: {told:?}");
        assert_ne!(told.code, Some(0), "{args:?}");
    }
    let mut connect = world.lapidary(&["connect", "--agent", "claude"]);
    connect.args(["--config", "../broken.toml"]);
    assert_eq!(Told::by(connect).end()["provider"], "claude");
}

#[test]
fn a_full_disk_ends_the_run() {
    // A file system of our own takes a user namespace or root; where neither is to be had there is nothing to test with.
    let world = World::with_agent(
        "init; i=0; while [ $i -lt 40000 ]; do say aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa || exit 1; i=$((i+1)); done; success",
    );
    let small = world.path("small");
    let runs = small.join("runs");
    let args = [
        "run",
        "--record-dir",
        runs.to_str().unwrap(),
        "--no-raw",
        "go",
    ];
    let command = with_a_small_disk(&world.lapidary(&args), &small, "1m");
    let told = Told::by(command);
    check(&told, "internal", 1, "no space is left");
    world.assert_nothing_is_left();
    let mode = fs::metadata(&small).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o755, "the mount went with its namespace");
}

#[test]
fn a_state_directory_that_is_read_only_ends_a_run_unless_nothing_is_recorded() {
    let world = World::with_agent(FINE);
    fs::create_dir(world.path("state")).unwrap();
    let read_only = |args: &[&str]| {
        let usual = world.lapidary(&[&["run"], args].concat());
        Told::by(with_a_read_only(&usual, &world.path("state")))
    };
    check(
        &read_only(&["go"]),
        "bad_input",
        13,
        "Read-only file system",
    );
    let unrecorded = read_only(&["--no-record", "go"]);
    assert_eq!(unrecorded.code, Some(0), "{unrecorded:?}");
}

/// Gemini CLI reads its stdin to the end before it starts a sandbox: over ACP it would wait for ever.
#[test]
fn a_sandbox_over_acp_is_refused_at_once() {
    let world = World::with_agent(FINE);
    let args = ["--transport", "acp", "--sandbox", "go"];
    check(&world.run(&args), "sandbox", 13, "--sandbox asks for it");
    let mut command = world.lapidary(&["run", "--transport", "acp", "go"]);
    command.env("GEMINI_SANDBOX", "docker");
    check(
        &Told::by(command),
        "sandbox",
        13,
        "GEMINI_SANDBOX asks for it",
    );
    let settings = world.path("home/.gemini/settings.json");
    fs::create_dir_all(settings.parent().unwrap()).unwrap();
    fs::write(&settings, r#"{"tools": {"sandbox": "docker"}}"#).unwrap();
    let told = world.run(&["--transport", "acp", "go"]);
    check(&told, "sandbox", 13, "`tools.sandbox` in settings.json");
}
