//! Recordings that are incomplete or damaged, and options that make no sense for a recording.

use std::fs;

use serde_json::json;

use super::{edit, events, ran, recording, translated};
use crate::run::world::World;

const WELL: &str = r#"answer "$prompt" '{"stopReason":"end_turn"}'"#;

#[track_caller]
fn refused(world: &World, args: &[&str], code: i32, said: &str) {
    let recording = recording(world);
    let ran = translated(&recording, args);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(code), ""), "{ran:?}");
    let place = recording.to_str().unwrap();
    assert_eq!(ran.stderr.replace(place, "REC"), said);
}

#[test]
fn a_recording_says_itself_what_it_holds() {
    let world = ran(WELL);
    let said = "error: --from applies to a file: a recording names its own format\n";
    for from in ["acp", "stream-json", "json", "session"] {
        refused(&world, &["--from", from], 2, said);
    }
}

#[test]
fn raw_is_what_the_agent_wrote() {
    let world = ran(&format!("printf 'caf\\303\\251\\r\\n'; {WELL}"));
    let raw = translated(&recording(&world), &["--format", "raw"]);
    let stdout = fs::read_to_string(recording(&world).join("stdout")).unwrap();
    assert_eq!((raw.code, raw.stdout), (Some(0), stdout));
}

#[test]
fn an_exit_code_that_is_given_counts() {
    let world = ran("kill -9 $$");
    let end = |args: &[&str]| events(&translated(&recording(&world), args)).pop().unwrap();
    assert_eq!(end(&[])["signal"], "SIGKILL");
    let given = end(&["--exit-code", "0"]);
    assert_eq!(
        (&given["signal"], &given["agentExitCode"]),
        (&json!(null), &json!(0))
    );
    assert_eq!(given["cause"], "no_result");
}

#[test]
fn an_unfinished_recording_is_judged_by_its_lines() {
    let world = ran(WELL);
    let rec = recording(&world);
    edit(&rec, |manifest| {
        manifest.as_object_mut().unwrap().remove("end");
    });
    fs::write(rec.join("inserted"), "").unwrap();
    // The recorder was killed while it wrote this line.
    let timing = fs::read_to_string(rec.join("timing")).unwrap();
    let cut = timing.find(" out ").unwrap() + 6;
    fs::write(rec.join("timing"), &timing[..cut]).unwrap();
    let past = translated(&rec, &[]);
    assert_eq!(
        past.stderr,
        "note: the recording does not say how the agent ended: only what was said is judged\n"
    );
    let past = events(&past);
    let end = past.last().unwrap();
    assert_eq!(
        (&end["cause"], &end["agentExitCode"]),
        (&json!("end_turn"), &json!(null))
    );
    let said: String = past
        .iter()
        .filter_map(|event| event["textDelta"].as_str())
        .collect();
    assert!(said.contains("Let me see."), "{past:#?}");
}

#[test]
fn a_torn_timing_is_named() {
    let world = ran(WELL);
    let rec = recording(&world);
    let hint = "hint: the output of the agent is in `REC/stdout`: translate that file\n";
    let timing = fs::read_to_string(rec.join("timing")).unwrap();
    fs::write(rec.join("timing"), format!("\u{1b}[2J\n{timing}")).unwrap();
    let said = r#"error: the recording in `REC` is corrupt: line 1 of `timing` makes no sense: "\u{1b}[2J""#;
    refused(&world, &[], 13, &format!("{said}\n{hint}"));
    fs::write(rec.join("timing"), "0.000 out 99999\n").unwrap();
    let held = fs::metadata(rec.join("stdout")).unwrap().len();
    let said = format!(
        "error: the recording in `REC` is corrupt: up to line 1 of `timing` 99999 bytes were written to `stdout`, which holds {held}\n{hint}"
    );
    refused(&world, &[], 13, &said);
    let alone = translated(&rec.join("stdout"), &[]);
    assert_eq!(alone.code, Some(0), "{alone:?}");
    fs::remove_file(rec.join("timing")).unwrap();
    let said = "error: cannot read `REC/timing`: No such file or directory (os error 2)\n";
    refused(&world, &[], 13, said);
}

#[test]
fn a_manifest_that_is_none_is_named_with_its_place() {
    let world = ran(WELL);
    let rec = recording(&world);
    fs::write(rec.join("run.json"), "{\n").unwrap();
    let said = "error: REC/run.json:2:0: EOF while parsing an object\n";
    refused(&world, &[], 13, said);
    fs::remove_file(rec.join("run.json")).unwrap();
    let said = "error: the recording `REC` has no `run.json`: the run ended before it began\nhint: what the agent wrote, if anything, is in `REC/stdout`\n";
    refused(&world, &[], 13, said);
}

#[test]
fn a_program_that_is_no_agent_says_nothing() {
    let world = World::with_agent("");
    let record = ["record", "--run-id", "r", "--", "echo", "hello"];
    assert!(
        crate::support::output(world.lapidary(&record), b"")
            .status
            .success()
    );
    let said = "error: `REC/stdout` has a format that Lapidary does not know\n\
        hint: it reads the output of `gemini -o stream-json`, `gemini -o json`, `claude -p --output-format stream-json` and `codex exec --json`, session files of Gemini CLI, Claude Code, Codex CLI, Qwen Code and opencode, transcripts of ACP, and events of `lapidary`; --from skips the check\n";
    refused(&world, &[], 13, said);
}

#[test]
fn an_endless_line_takes_no_memory_to_speak_of() {
    let world = ran(&format!(
        "head -c 3000000 /dev/zero | tr '\\0' x; echo; {WELL}"
    ));
    let past = events(&translated(&recording(&world), &["--max-line", "1000"]));
    let kinds: Vec<_> = past
        .iter()
        .filter_map(|event| event["kind"].as_str())
        .collect();
    assert!(kinds.contains(&"line_too_long"), "{kinds:?}");
    assert_eq!(past.last().unwrap()["cause"], "end_turn");
}
