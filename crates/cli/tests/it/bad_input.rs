//! Wrong usage, bad input, and the messages about them. Stdout stays empty then.

use std::fs;

use crate::support::{Ran, lapidary, output, run, run_with};

const SESSION: &str = "fixtures/gemini-0.61.0/sessions/api-error-400.jsonl";

const UNKNOWN_HINT: &str = "hint: it reads the output of `gemini -o stream-json`, `gemini -o json`, `claude -p --output-format stream-json` and `codex exec --json`, session files of Gemini CLI, Claude Code, Codex CLI, Qwen Code and opencode, transcripts of ACP, and events of `lapidary`; --from skips the check\n";

fn check(args: &[&str], stdin: &[u8], code: i32, stderr: &str) {
    let expected = Ran {
        code: Some(code),
        stdout: String::new(),
        stderr: stderr.to_owned(),
    };
    assert_eq!(run_with(args, stdin), expected, "{args:?}");
}

#[test]
fn a_file_that_cannot_be_read_is_named_with_the_reason() {
    check(
        &["translate", "no/such/file.jsonl"],
        b"",
        13,
        "error: cannot read `no/such/file.jsonl`: No such file or directory (os error 2)\n",
    );
    check(
        &["translate", "fixtures"],
        b"",
        13,
        "error: `fixtures` is a directory\nhint: name a file in it\n",
    );
    // Root may read everything, so this stands in for a file without permission.
    check(
        &["translate", "Cargo.toml/run.jsonl"],
        b"",
        13,
        "error: cannot read `Cargo.toml/run.jsonl`: Not a directory (os error 20)\n",
    );
}

#[cfg(target_os = "linux")]
#[test]
fn a_file_that_opens_and_cannot_be_read_is_named_too() {
    for format in ["events", "messages", "raw"] {
        check(
            &["translate", "--format", format, "/proc/self/mem"],
            b"",
            13,
            "error: cannot read `/proc/self/mem`: Input/output error (os error 5)\n",
        );
    }
}

#[test]
fn empty_input_is_a_stream_only_with_an_option() {
    let hint = "hint: if that is all the agent printed, --from stream-json translates it: a run without a result\n";
    for nothing in ["", "\n \t\r\n", "\u{feff}"] {
        check(
            &["translate"],
            nothing.as_bytes(),
            13,
            &format!("error: `stdin` is empty\n{hint}"),
        );
    }
    let ran = run(&["translate", "--from", "stream-json"]);
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""));
    assert!(ran.stdout.contains(r#""cause":"no_result""#), "{ran:?}");
}

#[test]
fn translate_refuses_input_of_an_unknown_format() {
    let inputs: [&[u8]; 9] = [
        b"Dear diary,\nnothing happened.\n",
        b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x01",
        b"{}",
        b"[]",
        b"42",
        b"null\n",
        b"{\"type\":\"invented\"}\n",
        b"{\n  \"name\": \"package.json\",\n  \"version\": 1\n}\n",
        b"\xff\xfe{\0}\0",
    ];
    for input in inputs {
        let expected =
            format!("error: `stdin` has a format that Lapidary does not know\n{UNKNOWN_HINT}");
        for format in ["events", "text", "raw"] {
            check(&["translate", "--format", format], input, 13, &expected);
        }
    }
    check(
        &["translate", "--from", "session"],
        b"Dear diary\n",
        13,
        "error: `stdin` holds no record of a session\n",
    );
}

#[test]
fn a_session_has_no_outcome() {
    for format in ["result", "runtime"] {
        check(
            &["translate", "--format", format, SESSION],
            b"",
            13,
            "error: a session file has no outcome: `runtime` and `result` are views of a run\n\
             hint: translate what `gemini -o stream-json` printed, or choose another format\n",
        );
    }
}

#[test]
fn a_name_that_does_not_exist_is_wrong_usage() {
    check(
        &["schema", "evnets"],
        b"",
        2,
        "error: unknown schema `evnets`\nhint: there are events, messages, runtime, result, activity, commands, recording, runs, runs-removal, fleet-tickets, fleet-ticket, fleet-submission, fleet-change, fleet-overview, capabilities, doctor, policy, compiled-policy, sessions, search, session, removal, stats, vault, recover, skills, skills-check, skills-change, hooks, hooks-check, hooks-change, hooks-test, agents, agent, agents-check, agents-change, config, config-check\n",
    );
    check(
        &["man", "transalte"],
        b"",
        2,
        "error: there is no command `transalte`\nhint: there are run, connect, acp, runs, translate, sessions, skills, hooks, agents, mcp, record, replay, policy, config, capabilities, doctor, schema, serve, fleet, completions, man, help\n",
    );
    check(
        &["transalte"],
        b"",
        2,
        "error: unknown command `transalte`\nhint: did you mean `translate`?\n",
    );
    check(
        &["translate", "--formta", "text"],
        b"",
        2,
        "error: unknown option `--formta`\nhint: did you mean `--format`?\n",
    );
    check(
        &["translate", "--format", "yaml"],
        b"",
        2,
        "error: invalid value 'yaml' for '--format <FORMAT>'\n  \
         [possible values: events, messages, runtime, activity, result, text, markdown, html, raw]\n\n\
         For more information, try '--help'.\n",
    );
    check(
        &["translate", "one.jsonl", "two.jsonl"],
        b"",
        2,
        "error: unexpected argument `two.jsonl`\n\
         hint: usage is `lapidary translate [OPTIONS] [FILE]`; `lapidary translate --help` lists the options\n",
    );
    check(
        &["translate", "--max-line", "many"],
        b"",
        2,
        "error: invalid value 'many' for '--max-line <BYTES>': invalid digit found in string\n\n\
         For more information, try '--help'.\n",
    );
}

#[test]
fn the_name_of_a_file_cannot_command_the_terminal() {
    check(
        &["translate", "a\u{1b}[2J\nerror: b\u{7}\u{202e}.jsonl"],
        b"",
        13,
        "error: cannot read `a\\u{1b}[2J\\nerror: b\\u{7}\\u{202e}.jsonl`: No such file or directory (os error 2)\n",
    );
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x\u{1b}]0;title\u{7}y");
    fs::write(&path, "Dear diary").unwrap();
    let told = output(lapidary(["translate".as_ref(), path.as_os_str()]), b"");
    let told = String::from_utf8(told.stderr).unwrap();
    assert!(
        told.contains(r"x\u{1b}]0;title\u{7}y` has a format that"),
        "{told:?}"
    );
    assert!(!told.contains(['\u{1b}', '\u{7}']), "{told:?}");
}

#[test]
fn endless_noise_is_not_collected_for_ever() {
    let noise = "nothing of interest\n".repeat(1_000_000);
    let stderr = format!("error: `stdin` has a format that Lapidary does not know\n{UNKNOWN_HINT}");
    check(&["translate"], noise.as_bytes(), 13, &stderr);
}

#[test]
fn options_that_would_do_nothing_are_refused() {
    for (args, said) in [
        (
            ["translate", "--format=raw", "--strict"],
            "--strict cannot judge what --format raw only copies",
        ),
        (
            ["translate", "--format=events", "--extract-data"],
            "--extract-data goes with --format result",
        ),
        (
            ["translate", "--max-line", "0"],
            "--max-line must be at least 1",
        ),
    ] {
        check(&args, b"", 2, &format!("error: {said}\n"));
    }
    let ran = run(&["translate", "--exit-code=0", SESSION]);
    assert_eq!(ran.code, Some(0));
    assert_eq!(
        ran.stderr,
        "note: a session file has no outcome: --exit-code judges nothing here\n"
    );
}
