//! Streams: what arrives when, and what arrives at all.

use std::io::Write as _;
use std::process::{Child, ChildStdin, Stdio};

use serde_json::Value;

use crate::support::{
    DEADLINE, captures, ended, lapidary, lines_of, output, read, root, run, run_with,
};

const RUN: &str = "fixtures/gemini-0.61.0/sess-a.stdout.jsonl";
const SESSION: &str = "fixtures/gemini-0.61.0/sessions/api-error-400.jsonl";
const RESULT: &str = r#"{"type":"result","status":"success"}"#;

fn start(args: &[&str]) -> (Child, ChildStdin) {
    let mut child = lapidary(args)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let stdin = child.stdin.take().unwrap();
    (child, stdin)
}

fn events(stdout: &str) -> Vec<Value> {
    let parsed = stdout.lines().map(serde_json::from_str);
    parsed.collect::<Result<_, _>>().unwrap()
}

fn names(events: &[Value]) -> Vec<&str> {
    let names = events.iter().map(|event| event["event"].as_str().unwrap());
    names.collect()
}

#[test]
fn each_line_is_answered_before_the_next_one_is_written() {
    let (mut child, mut stdin) = start(&["translate"]);
    let answers = lines_of(&mut child);
    let capture = String::from_utf8(read(RUN)).unwrap();
    for line in capture.lines() {
        writeln!(stdin, "{line}").unwrap();
        let event = answers.recv_timeout(DEADLINE).expect("an answer in time");
        assert!(event.ends_with(&format!("\"raw\":{line}}}")), "{event}");
    }
    drop(stdin);
    let end = answers.recv_timeout(DEADLINE).expect("the end in time");
    assert!(end.starts_with(r#"{"event":"run_end","outcome":"completed""#));
    assert!(ended(child).status.success());
}

#[test]
fn noise_is_held_only_until_the_stream_begins() {
    let (mut child, mut stdin) = start(&["translate", "--max-line", "200"]);
    let answers = lines_of(&mut child);
    let noise = "Loaded cached credentials.\n".repeat(4000);
    write!(stdin, "{noise}\r\n[WARN] not JSON\n{RESULT}\n").unwrap();
    let mut kinds = Vec::new();
    for _ in 0..4002 {
        let event = answers.recv_timeout(DEADLINE).expect("an answer in time");
        kinds.push(event.split('"').nth(3).unwrap().to_owned());
    }
    assert!(kinds[..4001].iter().all(|kind| kind == "diagnostic"));
    assert_eq!(kinds[4001], "turn_complete");
    drop(stdin);
    assert!(ended(child).status.success());
}

#[test]
fn a_reader_that_leaves_is_no_error() {
    for format in ["events", "text", "messages", "runtime", "raw"] {
        let (mut child, mut stdin) = start(&["translate", "--format", format]);
        drop(child.stdout.take());
        let capture = read(RUN);
        // `translate` stops reading once no process reads its stdout, so a write to its stdin fails before the loop is over.
        let unheard = (0..1000).any(|_| stdin.write_all(&capture).is_err());
        assert!(unheard, "{format}: it reads on though nobody listens");
        let output = ended(child);
        assert_eq!(output.status.code(), Some(0), "{format}");
        assert_eq!(String::from_utf8_lossy(&output.stderr), "", "{format}");
    }
}

#[test]
fn strict_objects_to_what_was_not_understood_and_prints_all_the_same() {
    let clean = String::from_utf8(read(RUN)).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("run.jsonl");
    let check = |input: &str, code| {
        std::fs::write(&file, input).unwrap();
        for format in ["events", "messages", "text", "result"] {
            let args = ["translate", "--format", format, file.to_str().unwrap()];
            let lenient = run(&args);
            let strict = run(&[&args[..], &["--strict"]].concat());
            assert_eq!(lenient.code, Some(0), "{input}");
            assert_eq!(strict.code, Some(code), "{format}: {input}");
            assert_eq!(
                (strict.stdout, strict.stderr),
                (lenient.stdout, lenient.stderr)
            );
        }
    };
    check(&clean, 0);
    check(&format!("{clean}{{\"type\":\"later\"}}\n"), 3);
    check(&format!("{clean}{{\"type\":\n{clean}"), 3);
    check(&format!("a word\n{clean}"), 3);
    check(&format!("{clean}{{\"type\":\"init\"}}"), 3);
}

#[test]
fn strict_judges_a_session_by_its_unreadable_records() {
    assert_eq!(run(&["translate", "--strict", SESSION]).code, Some(0));
    let torn = [&read(SESSION)[..], b"{\"id\":\"torn"].concat();
    let ran = run_with(&["translate", "--strict"], &torn);
    assert_eq!(ran.code, Some(3));
    let diagnostic = events(&ran.stdout).pop().unwrap();
    assert!(
        diagnostic["message"]
            .as_str()
            .unwrap()
            .contains("1 unreadable"),
        "{diagnostic}"
    );
}

#[test]
fn without_raw_only_diagnostics_carry_their_line() {
    let input = [b"a word\n", &read(RUN)[..]].concat();
    let ran = run_with(&["translate", "--no-raw"], &input);
    let events = events(&ran.stdout);
    assert!(events.len() > 10);
    for event in &events {
        let is_diagnostic = event["event"] == "diagnostic";
        assert_eq!(event.get("raw").is_some(), is_diagnostic, "{event}");
    }
    assert_eq!(events[0]["raw"], "a word");
}

#[test]
fn ids_are_made_from_the_runs_id() {
    for (args, run_id) in [
        (&[][..], "translated"),
        (&["--run-id", "night 7"], "night 7"),
    ] {
        let ran = run(&[&["translate", RUN], args].concat());
        for (seq, event) in events(&ran.stdout).iter().enumerate() {
            assert_eq!(event["id"], format!("{run_id}-{seq}"));
            assert_eq!(event["seq"], seq);
        }
    }
}

#[test]
fn a_file_is_translated_the_same_each_time() {
    for (file, formats) in [
        (
            RUN,
            &[
                "events", "messages", "runtime", "result", "text", "markdown", "html",
            ][..],
        ),
        (SESSION, &["events", "messages", "text", "markdown", "html"]),
    ] {
        for format in formats {
            let once = run(&["translate", "--format", format, file]);
            assert_eq!((once.code, once.stdout.is_empty()), (Some(0), false));
            assert_eq!(once, run(&["translate", "--format", format, file]));
        }
    }
}

#[test]
fn raw_is_what_came_in_byte_for_byte() {
    let check = |args: &[&str], stdin: &[u8], expected: &[u8]| {
        let args = [&["translate", "--format", "raw"], args].concat();
        let ran = output(lapidary(&args), stdin);
        assert_eq!(ran.status.code(), Some(0), "{args:?}");
        assert!(ran.stdout == expected, "{args:?} changes what came in");
    };
    for name in captures() {
        let bytes = read(&name);
        check(&["--from", "stream-json", &name], b"", &bytes);
        check(&["--from", "session"], &bytes, &bytes);
    }
    let odd = [
        b"\xff\xfe\0noise\r\n\r",
        RESULT.as_bytes(),
        b"\r\n\x80 no newline",
    ]
    .concat();
    check(&[], &odd, &odd);
    let binary: Vec<u8> = (0..200_000_u32)
        .map(|n| n.to_le_bytes()[n as usize % 3])
        .collect();
    check(&["--from", "json"], &binary, &binary);
}

#[test]
fn a_line_without_a_time_gets_the_time_it_came() {
    let live = events(&run_with(&["translate"], RESULT.as_bytes()).stdout);
    for event in &live {
        let time = event["timestamp"].as_str().unwrap();
        assert!(
            time.ends_with('Z') && time.len() == "2026-11-15T18:15:22.327Z".len(),
            "{time}"
        );
    }
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("run.jsonl");
    std::fs::write(&file, RESULT).unwrap();
    let recorded = events(&run(&["translate", file.to_str().unwrap()]).stdout);
    assert_eq!(names(&live), names(&recorded));
    for event in recorded {
        assert_eq!(event.get("timestamp"), None, "a file says nothing of now");
    }
}

#[test]
fn a_time_that_was_sent_stays() {
    let live = run_with(&["translate"], &read(RUN));
    let recorded = run(&["translate", RUN]);
    assert_eq!(live.stdout, recorded.stdout);
}

#[test]
fn a_session_may_come_through_a_pipe() {
    for file in [
        SESSION,
        "fixtures/gemini-0.24.0/sessions/session-2026-11-15T18-37-a1dee2e0.json",
    ] {
        for format in ["events", "messages", "text"] {
            let args = ["translate", "--format", format];
            let piped = run_with(&args, &read(file));
            assert_eq!(piped, run(&[&args[..], &[file]].concat()));
            let dash = run_with(&[&args[..], &["-"]].concat(), &read(file));
            assert_eq!(piped, dash);
            assert_eq!(piped.code, Some(0));
            assert!(!piped.stdout.is_empty());
        }
    }
}

#[test]
fn a_megabyte_in_one_line_passes_whole() {
    let long = "0123456789abcdef".repeat(64 * 1024);
    let line =
        format!(r#"{{"type":"message","role":"assistant","content":"{long}","delta":true}}"#);
    let ran = run_with(&["translate"], format!("{line}\n{RESULT}\n").as_bytes());
    let events = events(&ran.stdout);
    assert_eq!(names(&events), ["stream_delta", "turn_complete", "run_end"]);
    assert_eq!(events[0]["textDelta"], long);
}

#[test]
fn a_line_over_the_limit_is_shown_with_its_beginning() {
    let long = "x".repeat(5000);
    let input = format!(
        "{RESULT}\n{{\"type\":\"message\",\"role\":\"user\",\"content\":\"{long}\"}}\n{RESULT}\n"
    );
    let args = ["translate", "--max-line", "2000", "--strict"];
    let ran = run_with(&args, input.as_bytes());
    assert_eq!(ran.code, Some(3));
    let events = events(&ran.stdout);
    assert_eq!(
        names(&events),
        ["turn_complete", "diagnostic", "turn_complete", "run_end"]
    );
    assert_eq!(events[1]["kind"], "line_too_long");
    assert_eq!(
        events[1]["message"],
        "a line of 5045 bytes is over the limit; its first 1024 bytes were kept"
    );
    assert_eq!(events[1]["raw"].as_str().unwrap().len(), 1024);
}

#[test]
fn events_that_the_messages_view_leaves_out_are_counted() {
    let note =
        |input: &str| run_with(&["translate", "--format", "messages"], input.as_bytes()).stderr;
    assert_eq!(note(RESULT), "");
    assert_eq!(
        note(&format!("a word\n{RESULT}")),
        "note: 1 event has no place among messages (warnings, errors, diagnostics); --format events shows it\n"
    );
    assert_eq!(
        note(&format!("a word\nanother\n{RESULT}")),
        "note: 2 events have no place among messages (warnings, errors, diagnostics); --format events shows them\n"
    );
}

#[test]
fn the_agents_exit_code_is_reported_and_not_passed_on() {
    let args = ["translate", "--format", "result", "--exit-code"];
    for (code, outcome, ours) in [
        ("0", "completed", 0),
        ("41", "failed", 11),
        ("130", "cancelled", 130),
        ("-1", "failed", 15),
    ] {
        let ran = run(&[&args[..], &[code, RUN]].concat());
        assert_eq!(ran.code, Some(0));
        let result: Value = serde_json::from_str(&ran.stdout).unwrap();
        assert_eq!(result["outcome"], outcome, "{code}");
        assert_eq!(result["agentExitCode"].to_string(), code);
        assert_eq!(result["exitCode"], ours, "{code}");
    }
}

#[test]
fn a_full_disk_is_a_fault_of_ours() {
    let full = std::path::Path::new("/dev/full");
    if !full.exists() {
        return; // Linux has it.
    }
    let device = std::fs::OpenOptions::new().write(true).open(full).unwrap();
    let child = lapidary(["translate", RUN])
        .current_dir(root())
        .stdout(device)
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let ended = ended(child);
    assert_eq!(ended.status.code(), Some(1));
    assert_eq!(
        String::from_utf8(ended.stderr).unwrap(),
        "error: cannot write the output: No space left on device (os error 28)\n"
    );
}

#[test]
fn text_that_looks_like_a_document_does_not_delay_a_stream() {
    let (mut child, mut stdin) = start(&["translate"]);
    let answers = lines_of(&mut child);
    writeln!(
        stdin,
        "{{\n  status: 400\n}}\n{{\"error\":{{\"code\":1}}}}\n{RESULT}"
    )
    .unwrap();
    let mut kinds = Vec::new();
    for _ in 0..5 {
        let event = answers.recv_timeout(DEADLINE).expect("an answer in time");
        kinds.push(event.split('"').nth(3).unwrap().to_owned());
    }
    assert_eq!(kinds[4], "turn_complete");
    assert!(
        kinds[..4].iter().all(|kind| kind == "diagnostic"),
        "{kinds:?}"
    );
    drop(stdin);
    assert!(ended(child).status.success());
}

#[test]
fn a_file_as_stdin_is_translated_as_the_file_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.jsonl");
    std::fs::write(&path, RESULT).unwrap();
    let mut command = lapidary(["translate"]);
    command.stdin(std::fs::File::open(&path).unwrap());
    let output = command.output().unwrap();
    for event in events(&String::from_utf8(output.stdout).unwrap()) {
        assert_eq!(event.get("timestamp"), None, "it did not arrive now");
    }
}
