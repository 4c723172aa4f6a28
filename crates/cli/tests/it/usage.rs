//! On a terminal: Python's `pty` module provides one.

use crate::support::{output, program, root, run};

const RUN: &str = "fixtures/gemini-0.61.0/sess-a.stdout.jsonl";
const HOSTILE: &str = "fuzz/seeds/translate/escape-sequences";

/// Runs a command whose stdin, stdout and stderr are one terminal, and passes on the terminal's output and the exit code.
const ON_A_TERMINAL: &str =
    "import os, pty, sys; sys.exit(os.waitstatus_to_exitcode(pty.spawn(sys.argv[1:])))";

/// The output on the terminal, and the exit code.
pub(crate) fn on_a_terminal(
    args: &[&str],
    env: &[(&str, &str)],
    typed: &[u8],
) -> (String, Option<i32>) {
    let mut python = program("python3");
    python
        .args(["-c", ON_A_TERMINAL, env!("CARGO_BIN_EXE_lapidary")])
        .args(args)
        .current_dir(root())
        .env_remove("NO_COLOR")
        .env("TERM", "xterm-256color")
        .envs(env.iter().copied());
    let ran = output(python, typed);
    assert_eq!(String::from_utf8_lossy(&ran.stderr), "", "python3 is there");
    (String::from_utf8(ran.stdout).unwrap(), ran.status.code())
}

/// The text without the colours that we add ourselves: `ESC [ digits and semicolons m`.
pub(crate) fn without_colours(shown: &str) -> String {
    let mut pieces = shown.split("\u{1b}[");
    let mut plain = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        let rest = piece.trim_start_matches(|c: char| c.is_ascii_digit() || c == ';');
        match rest.strip_prefix('m') {
            Some(rest) => plain += rest,
            None => plain.extend(["\u{1b}[", piece]),
        }
    }
    plain
}

pub(crate) fn assert_harmless(shown: &str) {
    let obeyed = |c: char| c.is_control() && !matches!(c, '\r' | '\n' | '\t');
    assert!(!shown.contains(obeyed), "the terminal obeys: {shown:?}");
}

#[test]
fn a_terminal_gets_text_and_a_pipe_gets_events() {
    let (shown, code) = on_a_terminal(&["translate", RUN], &[], b"");
    let text = without_colours(&shown).replace("\r\n", "\n");
    assert_eq!(code, Some(0));
    assert_eq!(text, run(&["translate", "--format", "text", RUN]).stdout);
    let piped = run(&["translate", RUN]).stdout;
    assert_eq!(piped, run(&["translate", "--format", "events", RUN]).stdout);
    let (asked, _) = on_a_terminal(&["translate", "--format", "events", RUN], &[], b"");
    assert_eq!(asked.replace("\r\n", "\n"), piped);
}

#[test]
fn colours_are_for_terminals_whose_owner_wants_them() {
    let coloured = |env: &[(&str, &str)]| {
        let (shown, _) = on_a_terminal(&["translate", RUN], env, b"");
        shown.contains("\u{1b}[")
    };
    assert!(coloured(&[]));
    assert!(!coloured(&[("NO_COLOR", "1")]));
    assert!(coloured(&[("NO_COLOR", "")]), "empty means unset");
    let piped = run(&["translate", "--format", "text", RUN]).stdout;
    assert!(!piped.contains('\u{1b}'));
}

#[test]
fn agent_output_cannot_send_escapes_to_the_terminal() {
    let (shown, code) = on_a_terminal(&["translate", HOSTILE], &[], b"");
    assert_eq!(code, Some(0));
    assert_harmless(&without_colours(&shown));
    assert!(!shown.contains("title"), "{shown:?}");
    let (plain, _) = on_a_terminal(&["translate", HOSTILE], &[("NO_COLOR", "1")], b"");
    assert_harmless(&plain);
    for format in [
        "events", "messages", "runtime", "result", "markdown", "html", "raw",
    ] {
        let (shown, _) = on_a_terminal(&["translate", "--format", format, HOSTILE], &[], b"");
        let at_once = |c: char| c == '\u{1b}' || c == '\u{7}';
        assert!(!shown.contains(at_once), "{format}: {shown:?}");
    }
}

#[test]
fn mistyped_arguments_cannot_send_escapes_to_the_terminal() {
    for args in [
        &["translate", "one", "\u{1b}]0;title\u{7}two"][..],
        &["translate", "--format", "\u{1b}[2Jred"],
        &["\u{9b}31mred"],
        &["translate", "\u{1b}]0;title\u{7}two"],
        &["schema", "\u{1b}]0;title\u{7}two"],
    ] {
        let (shown, code) = on_a_terminal(args, &[], b"");
        assert!(matches!(code, Some(2 | 13)), "{shown:?}");
        assert_harmless(&without_colours(&shown));
        assert!(shown.contains("error:"), "{shown:?}");
    }
    let (shown, _) = on_a_terminal(&["translate", "--format", "yaml"], &[], b"");
    assert!(shown.contains("\u{1b}["), "ordinary mistakes have colours");
    let (shown, _) = on_a_terminal(
        &["translate", "--format", "yaml"],
        &[("NO_COLOR", "1")],
        b"",
    );
    assert_harmless(&shown);
}

#[test]
fn a_keyboard_is_not_waited_for_in_silence() {
    let (shown, code) = on_a_terminal(&["translate"], &[], b"\x04");
    assert!(
        shown.contains("note: reading from the terminal; end with Ctrl-D, or name a file"),
        "{shown:?}"
    );
    assert_eq!(code, Some(13));
}

#[test]
fn the_names_of_the_schemas_are_listed_for_people() {
    let (shown, _) = on_a_terminal(&["schema"], &[], b"");
    let names: Vec<_> = shown
        .lines()
        .map(|line| line.split(' ').next().unwrap())
        .collect();
    assert_eq!(
        names,
        [
            "events",
            "messages",
            "runtime",
            "result",
            "activity",
            "commands",
            "recording",
            "runs",
            "runs-removal",
            "fleet-tickets",
            "fleet-ticket",
            "fleet-submission",
            "fleet-change",
            "fleet-overview",
            "capabilities",
            "doctor",
            "policy",
            "compiled-policy",
            "sessions",
            "search",
            "session",
            "removal",
            "stats",
            "vault",
            "recover",
            "skills",
            "skills-check",
            "skills-change",
            "hooks",
            "hooks-check",
            "hooks-change",
            "hooks-test",
            "agents",
            "agent",
            "agents-check",
            "agents-change",
            "config",
            "config-check"
        ]
    );
    let piped = run(&["schema"]).stdout;
    let all: serde_json::Map<String, serde_json::Value> = serde_json::from_str(&piped).unwrap();
    assert!(all.keys().eq(names.iter()));
}

#[test]
fn a_terminal_gets_capabilities_to_read() {
    let nowhere = [("GEMINI_CLI_PATH", "/nowhere"), ("HOME", "/nowhere")];
    let (shown, code) = on_a_terminal(&["capabilities"], &nowhere, b"");
    assert_eq!(code, Some(0));
    assert!(
        shown.contains("tried /nowhere: no such file\r\n"),
        "{shown:?}"
    );
}

#[test]
fn a_terminal_gets_a_checkup_in_colours() {
    let nowhere = [
        ("HOME", "/nowhere"),
        ("GEMINI_CLI_PATH", "/nowhere"),
        ("GEMINI_CLI_SYSTEM_SETTINGS_PATH", "/nowhere"),
        ("GEMINI_CLI_TRUST_WORKSPACE", "false"),
    ];
    let (shown, code) = on_a_terminal(&["doctor"], &nowhere, b"");
    assert_eq!(code, Some(1));
    assert!(
        shown.contains("\u{1b}[31mproblem\u{1b}[0m  trust"),
        "{shown:?}"
    );
    assert_harmless(&without_colours(&shown));
}
