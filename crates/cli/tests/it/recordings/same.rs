//! Runs of all sorts, live and translated afterwards.

use std::process::Stdio;
use std::time::Instant;

use jiff::Timestamp;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::{Value, json};

use super::{Told, World, edit, events, live, ran, recording, translated, world};
use crate::support::{Ran, ended, output};

/// Asserts that the recording of a run gives the events that the run had, byte for byte.
#[track_caller]
fn assert_same(live: &Told, past: &Ran) {
    assert_eq!(past.code, Some(0), "{past:?}");
    for (one, other) in live.stdout.lines().zip(past.stdout.lines()) {
        assert_eq!(one, other);
    }
    assert_eq!(live.stdout, past.stdout);
}

/// Takes the time of an event away. One that is told by a document has none.
fn time(event: &mut Value) -> Option<i64> {
    let time = event.as_object_mut().unwrap().remove("timestamp")?;
    let time: Timestamp = time.as_str().unwrap().parse().unwrap();
    Some(time.as_millisecond())
}

#[track_caller]
fn check(script: &str, args: &[&str], cause: &str) {
    let world = world(script);
    let told = live(&world, &[&["--agent", "../mona"], args].concat());
    assert_eq!(told.end()["cause"], cause, "{told:?}");
    let past = translated(&recording(&world), &["--max-line", "1000"]);
    assert_eq!(past.stderr, "");
    assert_same(&told, &past);
    world.assert_nothing_is_left();
}

/// Everything that may be on the wire.
const MUCH: &str = r#"
printf '\377\376 no text\n'
printf '{"long":"%02000d"}\r\n' 7
update '{"sessionUpdate":"tool_call","toolCallId":"c-1","title":"Write","kind":"edit","status":"pending","rawInput":{"path":"x"}}'
ask 7 session/request_permission '{"sessionId":"s-1","toolCall":{"toolCallId":"c-1"},"options":[{"optionId":"y","name":"Yes","kind":"allow_once"},{"optionId":"n","name":"No","kind":"reject_once"}]}'
update '{"sessionUpdate":"tool_call_update","toolCallId":"c-1","status":"failed"}'
ask '"two"' no/such/method '{}'
ask 7 fs/read_text_file '{"sessionId":"s-1","path":"/no/such/file"}'
chunk 'Done.'
"#;

const MAX_LINE: &[&str] = &["--max-line", "1000"];

#[test]
fn a_run_over_acp_is_the_same_afterwards() {
    let script = |end: &str| format!("{MUCH}{end}");
    check(
        &script(r#"answer "$prompt" '{"stopReason":"end_turn"}'; hear"#),
        MAX_LINE,
        "permission_denied",
    );
    // A recording keeps the effect of a denial on the run (`--on-denied`).
    check(
        &script(r#"answer "$prompt" '{"stopReason":"end_turn"}'; hear"#),
        &["--max-line", "1000", "--on-denied", "warn"],
        "end_turn",
    );
    check(
        &script(r#"answer "$prompt" '{"stopReason":"refusal"}'; exit 3"#),
        MAX_LINE,
        "refusal",
    );
}

#[test]
fn refused_requests_are_translated_at_their_recorded_position() {
    let asked = r#"{"jsonrpc":"2.0","id":8,"method":"no/such/method"}"#;
    let all_at_once = format!(r"printf '%s\n' '{asked}' noise '{asked}' noise");
    let script =
        format!(r#"{all_at_once}; hear; hear; answer "$prompt" '{{"stopReason":"end_turn"}}'"#);
    for _ in 0..5 {
        check(&script, &[], "end_turn");
    }
}

#[test]
fn a_crashed_run_is_translated_as_it_ran() {
    check("exit 3", &[], "agent_crashed");
    check("kill -9 $$", &[], "agent_crashed");
    check(
        r#"printf '{"jsonrpc":"2.0","id":'; exit 0"#,
        &[],
        "no_result",
    );
    check(
        r#"say "{\"jsonrpc\":\"2.0\",\"id\":$prompt,\"error\":{\"code\":-32000,\"message\":\"Authentication required\"}}""#,
        &[],
        "auth_required",
    );
}

#[test]
fn a_run_ended_by_a_stop_condition_is_translated_as_it_ran() {
    let waits = "exec sleep 600";
    check(waits, &["--idle-timeout", "0.3"], "timeout_idle");
    check(waits, &["--timeout", "0.5"], "timeout_total");
    let calls = r#"update '{"sessionUpdate":"tool_call","toolCallId":"c-1","title":"Look","kind":"read","status":"pending"}'
        update '{"sessionUpdate":"tool_call","toolCallId":"c-2","title":"Look","kind":"read","status":"pending"}'
        while :; do hear; case $line in *session/cancel*) break;; esac; done
        answer "$prompt" '{"stopReason":"cancelled"}'"#;
    check(calls, &["--budget", "tool-calls=1"], "budget");
}

/// Runs an agent that does this, and interrupts the run as soon as it waits.
fn interrupted(script: &str) -> (World, Told) {
    let world = world(&format!("> ../waiting; {script}"));
    let mut command = world.lapidary(&[
        "run", "--format", "events", "--run-id", "r", "--grace", "1", "--agent", "../mona", "do it",
    ]);
    command.stdin(Stdio::null());
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let started = Instant::now();
    let child = command.spawn().unwrap();
    world.wait_for("waiting");
    kill(Pid::from_raw(child.id().cast_signed()), Signal::SIGINT).unwrap();
    let told = Told::of(ended(child), started.elapsed());
    (world, told)
}

#[test]
fn a_cancelled_run_is_translated_as_it_ran() {
    let heeds = r#"while :; do hear; case $line in *session/cancel*) break;; esac; done
        chunk 'Oh.'; answer "$prompt" '{"stopReason":"cancelled"}'; hear"#;
    for script in [heeds, "trap '' TERM; exec sleep 600"] {
        let (world, told) = interrupted(script);
        assert_eq!(told.end()["cause"], "cancelled_by_client", "{told:?}");
        let past = translated(&recording(&world), &[]);
        assert_same(&told, &past);
        world.assert_nothing_is_left();
    }
}

#[test]
fn a_headless_run_is_translated_as_it_ran() {
    let no_document = r#"echo '{"session_id":"s","error":{"type":"Error","message":"no","code":144}}' >&2; exit 144"#;
    for (script, transport, cause) in [
        (
            "init; user; say one; call c t; answer c x; success",
            "stream-json",
            "end_turn",
        ),
        (
            "init; echo noise; echo oops >&2; exit 41",
            "stream-json",
            "auth_required",
        ),
        (
            "init; say half; printf '{\"type\":'; kill -9 $$",
            "stream-json",
            "agent_crashed",
        ),
        (
            r#"echo '{"session_id":"s","response":"yes","stats":{}}'"#,
            "json",
            "end_turn",
        ),
        (no_document, "json", "api_error"),
    ] {
        let world = World::with_agent(script);
        let told = live(&world, &["--transport", transport]);
        let past = translated(&recording(&world), &[]);
        assert_eq!(told.end()["cause"], cause, "{told:?}");
        assert_same(&told, &past);
    }
}

#[test]
fn a_run_with_violations_is_translated_as_it_ran() {
    let command = r#"echo "{\"type\":\"tool_use\",$t,\"tool_name\":\"run_shell_command\",\"tool_id\":\"s\",\"parameters\":{\"command\":\"touch x\"}}"; answer s ok"#;
    let script = format!("init; {command}; say between; echo x > .envrc; success");
    for (on_violation, cause) in [("stop", "permission_denied"), ("report", "end_turn")] {
        let world = World::with_agent(&script);
        let told = live(&world, &["--on-violation", on_violation]);
        assert_eq!(told.end()["cause"], cause, "{told:?}");
        let is_told = |event: &&Value| event["kind"] == "permission_violation";
        assert_eq!(told.events.iter().filter(is_told).count(), 2, "{told:?}");
        let past = translated(&recording(&world), &[]);
        assert_same(&told, &past);
    }
    let call = r#"update '{"sessionUpdate":"tool_call","toolCallId":"c-1","title":"x","kind":"execute","status":"in_progress","rawInput":{"command":"touch x"}}'"#;
    let done =
        r#"update '{"sessionUpdate":"tool_call_update","toolCallId":"c-1","status":"completed"}'"#;
    let end = r#"chunk after; echo x > .envrc; answer "$prompt" '{"stopReason":"end_turn"}'"#;
    let args = ["--on-violation", "report", "--confine", "workspace"];
    check(&format!("{call}\n{done}\n{end}"), &args, "end_turn");
    check(&format!("{call}\n{end}"), &args, "end_turn");
}

#[test]
fn a_demo_run_is_translated_as_it_ran() {
    let world = World::with_agent("");
    let told = live(&world, &["--agent", "demo"]);
    assert_eq!(told.end()["outcome"], "completed");
    assert_same(&told, &translated(&recording(&world), &[]));
}

#[test]
fn an_agent_of_the_project_keeps_its_name() {
    let world = world(r#"answer "$prompt" '{"stopReason":"end_turn"}'"#);
    let config = "[agents.lisa]\ncommand = '../mona'\n";
    std::fs::write(world.path("user.toml"), config).unwrap();
    let told = live(&world, &["--agent", "lisa", "--config", "../user.toml"]);
    assert_eq!(told.events[0]["provider"], "lisa", "{told:?}");
    assert_same(&told, &translated(&recording(&world), &[]));
}

#[test]
fn a_recording_by_the_record_command_is_translated_by_its_content() {
    let world = World::with_agent("init; say hi; success; exit 5");
    let record = |name: &str, command: &[&str], stdin: &[u8]| {
        let mut record = world.lapidary(&["record", "--run-id", name, "--"]);
        record.args(command);
        output(record, stdin);
        events(&translated(&world.path("state/runs").join(name), &[]))
    };
    let past = record("headless", &["../gemini"], b"");
    let end = past.last().unwrap();
    assert_eq!(
        (&end["cause"], &end["agentExitCode"]),
        (&json!("agent_crashed"), &json!(5))
    );
    let hello = br#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":1}}"#;
    let agent =
        r#"read -r line; echo '{"jsonrpc":"2.0","id":0,"result":{"agentInfo":{"name":"x"}}}'"#;
    let hello = [&hello[..], b"\n"].concat();
    let past = record("acp", &["sh", "-c", agent], &hello);
    let raws: Vec<_> = past
        .iter()
        .filter_map(|event| event["raw"]["method"].as_str())
        .collect();
    assert_eq!(raws, ["initialize"], "{past:#?}");
}

#[test]
fn a_policy_is_tested_against_both_sides() {
    let world = ran(&format!(
        r#"{MUCH}answer "$prompt" '{{"stopReason":"end_turn"}}'"#
    ));
    std::fs::write(
        world.path("rules.toml"),
        "[[rule]]\nkind = 'edit'\nthen = 'allow'",
    )
    .unwrap();
    let recording = recording(&world);
    let args = [
        "policy",
        "test",
        "../rules.toml",
        "--format",
        "json",
        "--against",
    ];
    let mut command = world.lapidary(&args);
    command.arg(&recording);
    let tested = output(command, b"");
    let report: Value = serde_json::from_slice(&tested.stdout).unwrap();
    // Only the client's answer says that it was denied.
    assert_eq!(report["calls"][0]["happened"], "denied", "{report:#}");
    assert_eq!(report["calls"][0]["effect"], "allow", "{report:#}");
}

#[test]
fn times_are_those_of_the_recording() {
    let world = ran(r#"sleep 0.3; chunk late; answer "$prompt" '{"stopReason":"end_turn"}'"#);
    let recording = recording(&world);
    edit(&recording, |manifest| {
        manifest["startedAt"] = json!("2001-02-03T04:05:06.000Z");
    });
    let mut past = events(&translated(&recording, &[]));
    past.pop(); // the `run_end` is ours, and has its own time
    let times: Vec<_> = past.iter_mut().map(|event| time(event).unwrap()).collect();
    let started: Timestamp = "2001-02-03T04:05:06.000Z".parse().unwrap();
    let span = started.as_millisecond()..started.as_millisecond() + 30_000;
    assert!(times.iter().all(|time| span.contains(time)), "{times:?}");
    assert!(
        times.is_sorted() && times[times.len() - 1] - times[0] >= 300,
        "{times:?}"
    );
}

#[test]
fn a_recording_of_an_early_build_ends_the_same() {
    let world = world("exit 3");
    let told = live(&world, &["--agent", "../mona"]);
    assert_eq!(told.end()["exitCode"], 15);
    edit(&recording(&world), |manifest| {
        manifest.as_object_mut().unwrap().remove("writer");
        let end = manifest["end"].as_object_mut().unwrap();
        let code = end.remove("agentExitCode").unwrap();
        end.insert("exitCode".to_owned(), code);
    });
    std::fs::remove_file(recording(&world).join("inserted")).unwrap();
    let past = events(&translated(&recording(&world), &[]));
    let end = past.last().unwrap();
    for name in ["cause", "exitCode", "agentExitCode", "message", "evidence"] {
        assert_eq!(end[name], told.end()[name], "{name}");
    }
}

#[test]
fn a_retried_run_is_translated_as_it_ran() {
    let quota = "failure ApiError 'Quota exceeded. Please retry in 0.01s.'; exit 173";
    let fails = |how: &str| format!("if [ ! -e ../tried ]; then touch ../tried; {how}; fi");
    for (script, retries, cause) in [
        (
            format!("{}; init; say a; success", fails("exit 9")),
            "1",
            "end_turn",
        ),
        (
            format!("init; {}; say a; success", fails(quota)),
            "1",
            "end_turn",
        ),
        ("exit 9".to_owned(), "1", "agent_crashed"),
    ] {
        let world = World::with_agent(&script);
        let told = live(
            &world,
            &["--transport", "stream-json", "--retries", retries],
        );
        assert_eq!(told.end()["cause"], cause, "{told:?}");
        assert!(told.events.iter().any(|event| event["kind"] == "retry"));
        assert_same(&told, &translated(&recording(&world), &[]));
    }
    let script = r#"if [ ! -e ../tried ]; then touch ../tried; exit 9; fi
        answer "$prompt" '{"stopReason":"end_turn"}'"#;
    let world = World::with_agent("");
    let opening = super::OPENING.replace("chunk", "#");
    world.program("mona", &format!("{opening}{script}"));
    let told = live(&world, &["--agent", "../mona", "--retries", "1"]);
    assert_same(&told, &translated(&recording(&world), &[]));
}

#[test]
fn a_run_that_could_not_start_is_translated_as_it_ran() {
    let world = World::with_agent("");
    let told = live(&world, &["--agent", "../nothing-there"]);
    assert_eq!(told.end()["cause"], "agent_missing", "{told:?}");
    assert_same(&told, &translated(&recording(&world), &[]));
}

#[test]
fn a_run_with_notices_is_translated_as_it_ran() {
    let world = World::with_agent(r#"echo '{"session_id":"s","response":"yes","stats":{}}'"#);
    let told = live(&world, &["--transport", "json", "--idle-timeout", "60"]);
    let is_notice = |event: &&Value| event["kind"] == "notice";
    assert_eq!(told.events.iter().filter(is_notice).count(), 1, "{told:?}");
    assert_same(&told, &translated(&recording(&world), &[]));
}

#[test]
fn a_run_with_whole_texts_and_no_raw_is_translated_as_it_ran() {
    let script = format!(r#"{MUCH}answer "$prompt" '{{"stopReason":"end_turn"}}'"#);
    for deltas in ["final", "both"] {
        let args = ["--no-raw", "--deltas", deltas];
        let world = world(&script);
        let told = live(&world, &[&["--agent", "../mona"], &args[..]].concat());
        assert_same(&told, &translated(&recording(&world), &args));
        let world = World::with_agent(
            "init; user; say one; say two; call c t; answer c x; say three; success",
        );
        let told = live(
            &world,
            &[&["--transport", "stream-json"], &args[..]].concat(),
        );
        assert_same(&told, &translated(&recording(&world), &args));
    }
}

#[test]
fn a_recording_that_is_translated_keeps_the_id_of_its_run() {
    let world = World::with_agent("init; say a; success");
    let told = live(&world, &[]);
    let recording = recording(&world);
    let past = crate::support::run(&["translate", recording.to_str().unwrap()]);
    assert_same(&told, &past);
}
