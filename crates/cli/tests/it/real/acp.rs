//! Gemini CLI, spoken to over ACP. All that we say is checked against the protocol's own schema.

use std::fs::{self, File};
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use lapidary_standin::api::{Chunk, Script, Turn};
use lapidary_testkit::acp_schema::SchemaOracle;
use lapidary_testkit::gemini::GeminiVersion::V0_61_0;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::{Value, json};

use super::world::{Real, outline};
use crate::run::world::Told;
use crate::support::{DEADLINE, ended, lines_of};

/// A run over ACP.
fn spoken(real: &Real, args: &[&str]) -> Told {
    let told = real.run(&[&["--transport", "acp"], args].concat());
    check_recording(&told);
    told
}

/// Each line that we said is as the schema has it.
fn check_recording(told: &Told) {
    let end = told.events.last().unwrap();
    let recording = end["extensions"]["lapidary.recording"].as_str().unwrap();
    let checked = SchemaOracle::load().check_recording(recording.as_ref());
    assert!(checked.unwrap() >= 3, "{end}");
}

fn shell(command: &str) -> Turn {
    Turn::call("run_shell_command", json!({"command": command}))
}

/// One field of each event of a name.
fn fields<'a>(told: &'a Told, event: &str, field: &str) -> Vec<&'a str> {
    let named = told.events.iter().filter(|it| it["event"] == event);
    named.map(|it| it[field].as_str().unwrap_or("-")).collect()
}

fn text(told: &Told) -> String {
    let deltas = fields(told, "stream_delta", "textDelta");
    deltas.into_iter().filter(|delta| *delta != "-").collect()
}

/// Starts a run, and interrupts it once stdout contains the words.
fn interrupted_at(words: &str, real: &Real, mut command: Command) -> Told {
    let stdout = real.path("printed");
    command
        .stdin(Stdio::null())
        .stdout(File::create(&stdout).unwrap());
    let child = command.stderr(Stdio::piped()).spawn().unwrap();
    let last = Instant::now() + DEADLINE;
    while !fs::read_to_string(&stdout).unwrap().contains(words) {
        assert!(Instant::now() < last, "it never said `{words}`");
        thread::sleep(Duration::from_millis(20));
    }
    kill(Pid::from_raw(child.id().cast_signed()), Signal::SIGINT).unwrap();
    let mut output = ended(child);
    output.stdout = fs::read(&stdout).unwrap();
    Told::of(output, Duration::ZERO)
}

/// Gives every session of the CLI a file name of long ago.
pub(super) fn backdate(folder: &Path) {
    for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
        let name = entry.file_name().into_string().unwrap();
        if entry.path().is_dir() {
            backdate(&entry.path());
        } else if let Some(rest) = name.strip_prefix("session-20") {
            let old = format!("session-19{rest}");
            fs::rename(entry.path(), folder.join(old)).unwrap();
        }
    }
}

#[test]
#[cfg_attr(
    not(feature = "peers"),
    ignore = "needs real peers: run `cargo xtask test`"
)]
fn text_and_thoughts() {
    let turn = Turn::chunks([
        Chunk::thought("**Plan** think first"),
        Chunk::text("Hello "),
        Chunk::text("you."),
    ]);
    let real = Real::new(V0_61_0, Script::new().stream(turn));
    let told = spoken(&real, &["--budget", "tokens=1000000", "say hello"]);
    let lines = outline(&told);
    assert_eq!(told.verdict(), ("end_turn", Some(0)), "{lines:#?}");
    for line in ["user_input say hello", "turn_complete end_turn"] {
        assert!(lines.iter().any(|it| it == line), "{line}: {lines:#?}");
    }
    let text = text(&told);
    assert!(text.contains("think first"), "{text}");
    assert!(text.ends_with("Hello you."), "{text}");
    assert!(
        told.events
            .iter()
            .all(|event| event["provider"] == "gemini")
    );
}

#[test]
#[cfg_attr(
    not(feature = "peers"),
    ignore = "needs real peers: run `cargo xtask test`"
)]
fn a_command_needs_permission_and_gets_it_by_a_rule() {
    let script = || {
        Script::new()
            .stream(shell("touch made"))
            .stream(shell("mkdir other"))
            .stream("So be it.")
    };
    // A start costs two seconds, so each has two commands. A run in which all is denied is in `denied`.
    let (allowed, denied) = ("allowed", "denied");
    for (args, decisions, deciders) in [
        (
            &["--allow", "execute:touch *", "go"][..],
            [allowed, denied],
            ["rule", "default"],
        ),
        (
            &["--deny", "execute:touch*", "--yolo", "go"],
            [denied, allowed],
            ["rule", "mode"],
        ),
        (
            &[
                "--permission-mode",
                "plan",
                "--allow",
                "execute:git *",
                "go",
            ],
            [denied, denied],
            ["mode", "mode"],
        ),
    ] {
        let real = Real::new(V0_61_0, script());
        let told = spoken(&real, args);
        let lines = outline(&told);
        assert_eq!(told.verdict(), ("end_turn", Some(0)), "{args:?} {lines:#?}");
        for (name, decision) in ["made", "other"].into_iter().zip(decisions) {
            let made = real.world.project().join(name).exists();
            assert_eq!(made, decision == allowed, "{name} {args:?} {lines:#?}");
        }
        // In its plan mode the CLI does not even ask.
        if args[0] != "--permission-mode" {
            assert_eq!(
                fields(&told, "permission_decision", "decision"),
                decisions,
                "{args:?} {lines:#?}"
            );
            assert_eq!(
                fields(&told, "permission_decision", "decidedBy"),
                deciders,
                "{args:?}"
            );
        }
    }
}

#[test]
#[cfg_attr(
    not(feature = "peers"),
    ignore = "needs real peers: run `cargo xtask test`"
)]
fn an_edit_goes_through_us() {
    let real = Real::new(V0_61_0, Script::new());
    let file = |name: &str| real.world.project().join(name);
    fs::write(file("a.txt"), "alpha\nbeta\n").unwrap();
    let script = Script::new()
        .stream(Turn::call("write_file", json!({"file_path": file("new.txt"), "content": "new\n"})))
        .stream(Turn::call("replace", json!({"file_path": file("a.txt"), "old_string": "beta", "new_string": "gamma", "instruction": "rename"})))
        .stream("Done.");
    let real = real.with_script(script);
    let told = spoken(
        &real,
        &["--allow", "tool=write_file", "--allow", "edit:a.txt", "go"],
    );
    let lines = outline(&told);
    assert_eq!(told.verdict(), ("end_turn", Some(0)), "{lines:#?}");
    let content = |name: &str| fs::read_to_string(real.world.project().join(name)).unwrap();
    assert_eq!(
        (content("new.txt").as_str(), content("a.txt").as_str()),
        ("new\n", "alpha\ngamma\n")
    );
    assert!(
        fields(&told, "permission_decision", "decision")
            .iter()
            .all(|it| *it == "allowed"),
        "{lines:#?}"
    );
    let written = fields(&told, "permission_decision", "toolName");
    assert!(written.contains(&"fs/write_text_file"), "{lines:#?}");
}

#[test]
#[cfg_attr(
    not(feature = "peers"),
    ignore = "needs real peers: run `cargo xtask test`"
)]
fn a_cancelled_turn_ends_as_cancelled() {
    let turn = Turn::chunks([Chunk::text("One "), Chunk::text("two")]).hang();
    let real = Real::new(V0_61_0, Script::new().stream(turn));
    let told = interrupted_at("One ", &real, real.lapidary(&["--transport", "acp", "go"]));
    real.assert_nothing_is_left();
    assert_eq!(
        told.verdict(),
        ("cancelled_by_client", Some(130)),
        "{:#?}",
        outline(&told)
    );
    assert_eq!(fields(&told, "turn_complete", "subtype"), ["cancelled"]);
    check_recording(&told);
}

#[test]
#[cfg_attr(
    not(feature = "peers"),
    ignore = "needs real peers: run `cargo xtask test`"
)]
fn folder_trust_is_checked_for_a_cli_that_does_not_check_it() {
    let settings = json!({"security": {"folderTrust": {"enabled": true}}});
    let real = Real::with_settings(V0_61_0, Script::new().stream("No."), &settings);
    let told = real.run(&["--transport", "acp", "go"]);
    assert_eq!(
        told.verdict(),
        ("untrusted_folder", Some(12)),
        "{:#?}",
        outline(&told)
    );
}

#[test]
#[cfg_attr(
    not(feature = "peers"),
    ignore = "needs real peers: run `cargo xtask test`"
)]
fn a_loaded_session_has_its_history_marked_as_replayed() {
    let real = Real::new(
        V0_61_0,
        Script::new()
            .stream("First answer.")
            .stream("Second answer."),
    );
    let first = spoken(&real, &["first question"]);
    let id = fields(&first, "session_init", "provider");
    assert_eq!(id, ["gemini"]);
    let session = first.events.last().unwrap()["sessionId"].as_str().unwrap();
    // In the minute in which it was made the CLI destroys a session that it loads.
    backdate(&real.world.home());
    let told = spoken(&real, &["--resume", session, "second question"]);
    let lines = outline(&told);
    assert_eq!(told.verdict(), ("end_turn", Some(0)), "{lines:#?}");
    let replayed = told
        .events
        .iter()
        .filter(|event| event["extensions"]["acp.replay"] == true);
    let replayed: Vec<_> = replayed.map(ToString::to_string).collect();
    assert!(
        replayed.iter().any(|event| event.contains("First answer.")),
        "{lines:#?}"
    );
    assert!(text(&told).ends_with("Second answer."), "{lines:#?}");
}

/// I11 as well: an interrupt is a `session/cancel`.
#[test]
#[cfg_attr(
    not(feature = "peers"),
    ignore = "needs real peers: run `cargo xtask test`"
)]
fn a_permission_that_nobody_has_given_is_cancelled_with_its_turn() {
    let real = Real::new(V0_61_0, Script::new().stream(shell("touch made")));
    let mut command = real.command("connect", &["--transport", "acp"]);
    command.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let lines = lines_of(&mut child);
    let mut events: Vec<Value> = Vec::new();
    let mut give = |command: Value| writeln!(stdin, "{command}").unwrap();
    give(json!({"command": "send_message", "text": "go"}));
    let mut until = |name: &str| {
        while events.last().is_none_or(|event| event["event"] != name) {
            let line = lines.recv_timeout(DEADLINE).unwrap();
            events.push(serde_json::from_str(&line).unwrap());
        }
    };
    until("permission_request");
    give(json!({"command": "interrupt"}));
    until("turn_complete");
    drop(stdin);
    until("run_end");
    child.wait().unwrap();
    real.assert_nothing_is_left();
    let told = |event: &str, field: &str| {
        let found = events.iter().find(|it| it["event"] == event);
        found.unwrap_or_else(|| panic!("{events:#?}"))[field].clone()
    };
    assert_eq!(told("permission_decision", "decision"), "cancelled");
    assert_eq!(told("turn_complete", "subtype"), "cancelled");
    assert!(!real.world.project().join("made").exists());
    let recording = &events.last().unwrap()["extensions"]["lapidary.recording"];
    let checked = SchemaOracle::load().check_recording(recording.as_str().unwrap().as_ref());
    assert!(checked.is_ok(), "{checked:?}");
}

#[test]
#[cfg_attr(
    not(feature = "peers"),
    ignore = "needs real peers: run `cargo xtask test`"
)]
fn a_hook_that_denies_is_bypassed_over_acp_unless_we_fire_it() {
    let deny = json!({"hooks": {"BeforeTool": [{
        "matcher": "write_file",
        "hooks": [{"type": "command", "command": "cat >> seen; echo 'not here' >&2; exit 2"}],
    }]}});
    let cases = [
        (&["--transport", "acp", "--yolo"][..], true),
        (&["--transport", "acp", "--yolo", "--hooks"], false),
        // ACP was not the user's choice.
        (&["--allow", "edit"], false),
    ];
    for (args, is_written) in cases {
        let call = Turn::call("write_file", json!({"file_path": "x.txt", "content": "x"}));
        let script = Script::new().stream(call).stream("So be it.");
        let real = Real::with_settings(V0_61_0, script, &deny);
        let told = real.run(&[args, &["go"]].concat());
        let file = real.world.project().join("x.txt");
        assert_eq!(file.exists(), is_written, "{args:?}");
        let by = fields(&told, "permission_decision", "decidedBy");
        assert_eq!(by.contains(&"hook"), !is_written, "{by:?}");
        if !is_written {
            let seen = fs::read_to_string(real.world.project().join("seen")).unwrap();
            let seen: Value = serde_json::from_str(&seen).unwrap();
            assert_eq!(seen["tool_name"], "write_file");
            let path = seen["tool_input"]["file_path"].as_str().unwrap();
            assert!(path.ends_with("x.txt"), "{seen}");
        }
    }
}
