//! `claude -p --output-format stream-json` and `codex exec --json`: verdicts of every capture, and what holds for any input.

use lapidary_normalize::claude::stream::ClaudeStreamNormalizer;
use lapidary_normalize::codex::exec::{ExecNormalizer, logged_calls};
use lapidary_normalize::views::messages::MessageFold;
use lapidary_normalize::{DeltaMode, LineDirection, NormalizeOptions, Normalizer, ProcessEnd};
use lapidary_testkit::captures::{self, Capture, CaptureKind};
use lapidary_testkit::mutate;
use lapidary_vocab::event::{StreamDeltaKind, TextKind};
use lapidary_vocab::{Body, Event};
use lapidary_wire::lines::{LineBuffer, RawLine};
use serde_json::{Value, json};

use crate::support::exit;

fn normalizer(kind: CaptureKind, options: &NormalizeOptions) -> Box<dyn Normalizer> {
    match kind {
        CaptureKind::ClaudeStream => Box::new(ClaudeStreamNormalizer::new(options)),
        CaptureKind::CodexExec => Box::new(ExecNormalizer::new(options)),
        other => panic!("no stream of its own: {other:?}"),
    }
}

fn translated(
    kind: CaptureKind,
    bytes: &[u8],
    deltas: DeltaMode,
    ending: &ProcessEnd,
) -> Vec<Event> {
    let options = NormalizeOptions {
        deltas,
        ..NormalizeOptions::new("run")
    };
    let mut normalizer = normalizer(kind, &options);
    let mut buffer = LineBuffer::with_limit(64 * 1024);
    let mut events = Vec::new();
    let mut push = |line: RawLine<'_>, events: &mut Vec<Event>| {
        normalizer.push_line(LineDirection::FromAgent, line, None, events);
    };
    buffer.push(bytes);
    while let Some(line) = buffer.next_line() {
        push(line, &mut events);
    }
    if let Some(line) = buffer.last_line() {
        push(line, &mut events);
    }
    normalizer.finish(ending, &mut events);
    events
}

fn streams() -> Vec<Capture> {
    let is_own = |capture: &Capture| {
        matches!(
            capture.kind,
            CaptureKind::ClaudeStream | CaptureKind::CodexExec
        )
    };
    let found: Vec<_> = captures::all().into_iter().filter(is_own).collect();
    assert!(found.len() > 50, "the captures are missing");
    found
}

/// How the run of a capture ends: cause, our exit code.
fn verdict(name: &str) -> (String, i32) {
    let capture = captures::named(name);
    let meta = capture
        .path
        .with_file_name(format!("{}.meta.json", name.split_once('/').unwrap().1));
    let meta: Value = serde_json::from_slice(&std::fs::read(meta).unwrap()).unwrap();
    let ending = ProcessEnd {
        exit_code: capture.exit_code,
        signal: meta["exit_signal"].as_str().map(str::to_owned),
        stderr: meta["stderr"].as_str().unwrap_or_default().to_owned(),
        ..ProcessEnd::default()
    };
    let events = translated(capture.kind, &capture.bytes(), DeltaMode::Only, &ending);
    let last: Value = serde_json::from_str(&events.last().unwrap().to_json()).unwrap();
    let code = last["exitCode"].as_i64().unwrap();
    (
        last["cause"].as_str().unwrap().to_owned(),
        i32::try_from(code).unwrap(),
    )
}

#[test]
fn every_ending_of_claude_code_has_its_cause() {
    for (scene, cause, code) in [
        ("text", "end_turn", 0),
        ("tools", "end_turn", 0),
        ("partial", "end_turn", 0),
        ("subagent", "end_turn", 0),
        ("compact", "end_turn", 0),
        ("api-429-then-ok", "end_turn", 0),
        ("refusal", "end_turn", 0),
        ("denied-default", "permission_denied", 18),
        ("denied-plan", "end_turn", 0),
        ("refusal-twice", "refusal", 18),
        ("sigint", "cancelled_by_client", 130),
        ("sigint-model", "cancelled_by_client", 130),
        ("max-turns", "max_turns", 17),
        ("max-tokens", "max_tokens", 17),
        ("budget", "budget", 17),
        ("api-429", "quota_retryable", 16),
        ("api-credit", "quota_terminal", 16),
        ("schema-mismatch", "schema_mismatch", 19),
        ("sigterm", "agent_crashed", 15),
        ("sigkill", "agent_crashed", 15),
        ("empty", "empty_response", 15),
        ("resume-missing", "bad_input", 13),
        ("api-401", "auth_required", 11),
        ("no-auth", "auth_required", 11),
        ("api-400", "api_error", 1),
        ("api-404", "api_error", 1),
        ("api-500", "api_error", 1),
        ("prompt-too-long", "api_error", 1),
        ("error-after-tool", "api_error", 1),
    ] {
        let told = verdict(&format!("claude-2.1.312/{scene}"));
        assert_eq!(told, (cause.to_owned(), code), "{scene}");
    }
}

#[test]
fn every_ending_of_codex_has_its_cause() {
    for (scene, cause, code) in [
        ("text", "end_turn", 0),
        ("tools", "end_turn", 0),
        ("workspace-write", "end_turn", 0),
        // A call that the sandbox refuses has no line.
        ("denied-read-only", "end_turn", 0),
        ("api-429", "quota_retryable", 16),
        ("api-quota", "quota_terminal", 16),
        ("usage-limit", "quota_terminal", 16),
        ("sigint", "agent_crashed", 15),
        ("sigterm", "agent_crashed", 15),
        ("network-down", "agent_crashed", 15),
        ("empty", "empty_response", 15),
        ("api-401", "auth_required", 11),
        ("api-403", "auth_required", 11),
        ("api-400", "api_error", 1),
        ("api-404", "api_error", 1),
        ("api-500", "api_error", 1),
        ("context-length", "api_error", 1),
        ("error-after-tool", "api_error", 1),
    ] {
        let told = verdict(&format!("codex-0.166.0/{scene}"));
        assert_eq!(told, (cause.to_owned(), code), "{scene}");
    }
}

#[test]
fn success_needs_the_agents_own_word_and_a_clean_exit() {
    for name in ["claude-2.1.312/text", "codex-0.166.0/text"] {
        let capture = captures::named(name);
        let bytes = capture.bytes();
        let cut = bytes.trim_ascii_end().iter().rposition(|it| *it == b'\n');
        let without_result = &bytes[..=cut.unwrap()];
        let cause = |bytes: &[u8], ending: &ProcessEnd| {
            let events = translated(capture.kind, bytes, DeltaMode::Only, ending);
            let Body::RunEnd(end) = &events.last().unwrap().body else {
                panic!("no end");
            };
            end.cause.to_string()
        };
        assert_eq!(cause(without_result, &exit(0)), "no_result", "{name}");
        assert_eq!(cause(without_result, &exit(9)), "agent_crashed", "{name}");
        assert_eq!(cause(&bytes, &exit(9)), "agent_crashed", "{name}");
        assert_eq!(cause(&bytes, &exit(127)), "agent_crashed", "{name}");
        assert_eq!(cause(b"", &exit(127)), "agent_missing", "{name}");
        assert_eq!(cause(&bytes, &exit(0)), "end_turn", "{name}");
    }
}

/// The lines that events carry, in order.
fn carried(events: &[Event]) -> Vec<String> {
    let mut lines = Vec::new();
    for event in events {
        let Some(raw) = &event.base.raw else { continue };
        if event.base.raw_is_text {
            lines.push(raw.to_display().into_owned());
        } else if raw.as_str().starts_with('[') {
            let elements = raw.token().elements();
            lines.extend(elements.map(|line| line.as_str().to_owned()));
        } else {
            lines.push(raw.as_str().to_owned());
        }
    }
    lines
}

#[test]
fn each_line_of_a_stream_is_carried_by_exactly_one_event() {
    for capture in streams() {
        let bytes = capture.bytes();
        let text = std::str::from_utf8(&bytes).unwrap();
        let lines: Vec<_> = text.lines().collect();
        for deltas in [DeltaMode::Only, DeltaMode::Final, DeltaMode::Both] {
            let events = translated(capture.kind, &bytes, deltas, &ProcessEnd::default());
            assert_eq!(carried(&events), lines, "{} {deltas:?}", capture.name);
        }
    }
}

#[test]
fn a_capture_has_no_line_that_is_unknown_to_us() {
    for capture in streams() {
        let events = translated(capture.kind, &capture.bytes(), DeltaMode::Only, &exit(0));
        let odd = events.iter().filter_map(|event| match &event.body {
            Body::Diagnostic(it) if it.kind.as_str() != "protocol" => Some(it.message.clone()),
            _ => None,
        });
        let odd: Vec<_> = odd.collect();
        assert_eq!(odd, Vec::<String>::new(), "{}", capture.name);
    }
}

/// A capture cut anywhere, with broken lines: one `run_end`, last, and no line lost.
#[test]
fn a_damaged_stream_loses_no_line_and_ends_once() {
    for (place, capture) in streams().into_iter().enumerate() {
        let bytes = capture.bytes();
        for seed in 0..8 {
            let corpus = [bytes.clone()];
            let broken = mutate::case(seed * 1000 + place as u64, &corpus);
            let events = translated(capture.kind, &broken, DeltaMode::Only, &exit(1));
            let ends = events
                .iter()
                .filter(|it| matches!(it.body, Body::RunEnd(_)));
            assert_eq!(ends.count(), 1, "{} {seed}", capture.name);
            assert!(matches!(events.last().unwrap().body, Body::RunEnd(_)));
            let filled = broken.split(|byte| *byte == b'\n');
            let filled = filled.filter(|line| !line.trim_ascii().is_empty()).count();
            assert_eq!(carried(&events).len(), filled, "{} {seed}", capture.name);
        }
    }
}

fn words(events: &[Event]) -> Vec<(&'static str, String)> {
    let mut words = Vec::new();
    for event in events {
        match &event.body {
            Body::Text(text) if text.kind == TextKind::Text => {
                words.push(("whole", text.text.to_string()));
            }
            Body::StreamDelta(delta) if delta.kind == StreamDeltaKind::Text => {
                words.push(("chunk", delta.text_delta.clone().unwrap().to_string()));
            }
            _ => {}
        }
    }
    words
}

#[test]
fn chunks_and_whole_texts_of_claude_code_say_the_same_once() {
    let capture = captures::named("claude-2.1.312/partial");
    let told = |deltas| {
        let events = translated(capture.kind, &capture.bytes(), deltas, &exit(0));
        let words = words(&events);
        let of = |kind: &str| {
            let chosen = words.iter().filter(|(it, _)| *it == kind);
            chosen.map(|(_, text)| text.as_str()).collect::<String>()
        };
        (of("chunk"), of("whole"))
    };
    let all = "I will read the file.Now I change it.Both files are in place.".to_owned();
    let none = String::new();
    assert_eq!(told(DeltaMode::Only), (all.clone(), none.clone()));
    assert_eq!(told(DeltaMode::Final), (none, all.clone()));
    assert_eq!(told(DeltaMode::Both), (all.clone(), all));
}

#[test]
fn a_message_that_breaks_off_is_kept_as_far_as_it_came() {
    let capture = captures::named("claude-2.1.312/partial");
    let bytes = capture.bytes();
    let lines: Vec<_> = bytes.split_inclusive(|byte| *byte == b'\n').collect();
    let is_last_chunk = |line: &&[u8]| {
        let line = String::from_utf8_lossy(line);
        line.contains("text_delta") && line.contains("Both files")
    };
    let place = lines.iter().position(is_last_chunk).unwrap();
    let cut = lines[..=place].concat();
    let events = translated(capture.kind, &cut, DeltaMode::Final, &exit(1));
    let words = words(&events);
    let last = words.last().unwrap();
    assert_eq!(*last, ("whole", "Both files are in place.".to_owned()));
    assert_eq!(carried(&events).len(), place + 1);
}

#[test]
fn tokens_and_cost_are_those_of_the_turn_not_of_the_session() {
    let capture = captures::named("claude-2.1.312/resume");
    let events = translated(capture.kind, &capture.bytes(), DeltaMode::Only, &exit(0));
    let turn = events
        .iter()
        .find(|it| matches!(it.body, Body::TurnComplete(_)));
    let turn: Value = serde_json::from_str(&turn.unwrap().to_json()).unwrap();
    // The session's: 0.00212.
    assert_eq!(turn["costUsd"], json!(0.001_062));
    assert_eq!(
        turn["usage"],
        json!({"inputTokens": 132, "outputTokens": 30, "cacheReadTokens": 20, "cacheCreationTokens": 10, "totalTokens": 162})
    );
    assert_eq!(turn["modelUsage"]["claude-opus-5-5"]["inputTokens"], 132);
}

#[test]
fn a_call_that_claude_code_denied_is_listed_with_its_reason() {
    let capture = captures::named("claude-2.1.312/denied-default");
    let events = translated(capture.kind, &capture.bytes(), DeltaMode::Only, &exit(0));
    let turn = events.iter().find_map(|event| match &event.body {
        Body::TurnComplete(turn) => Some(turn),
        _ => None,
    });
    let denials = &turn.unwrap().permission_denials;
    let told: Vec<_> = denials
        .iter()
        .map(|it| (it.tool_name.to_string(), it.unattended))
        .collect();
    assert_eq!(
        told,
        [("Write".to_owned(), true), ("Bash".to_owned(), true)]
    );
    assert!(denials[0].reason.to_str().contains("secret.txt"));
    assert!(
        denials[0]
            .tool_input
            .as_ref()
            .unwrap()
            .as_str()
            .contains("secret.txt")
    );
}

/// The same run, as Claude Code's stream and as the messages of its specification.
#[test]
fn a_stream_of_claude_code_gives_claude_shaped_messages() {
    let capture = captures::named("claude-2.1.312/tools");
    let mut fold = MessageFold::new("run");
    let mut messages = Vec::new();
    for event in translated(capture.kind, &capture.bytes(), DeltaMode::Only, &exit(0)) {
        messages.extend(fold.push(&event));
    }
    messages.extend(fold.finish());
    let shapes: Vec<_> = messages
        .iter()
        .map(|message| {
            let message: Value =
                serde_json::from_str(&serde_json::to_string(message).unwrap()).unwrap();
            let content = message["content"].as_array().cloned().unwrap_or_default();
            let kinds = content
                .iter()
                .map(|block| block["type"].as_str().unwrap().to_owned());
            kinds.collect::<Vec<_>>().join(" ")
        })
        .collect();
    assert_eq!(
        shapes,
        [
            "thinking tool_use tool_result text",
            "tool_use tool_result tool_use tool_result text",
            "tool_use tool_result tool_use tool_result",
            "tool_use tool_result tool_use tool_result",
            "text",
        ]
    );
}

/// `codex exec` has no line for a call that Codex refuses; its rollout does.
#[test]
fn a_call_that_codex_refused_comes_from_its_rollout_and_is_a_denial() {
    let captures = streams();
    let capture = captures.iter().find(|it| it.name.ends_with("/escalated"));
    let stream = capture.unwrap().bytes();
    let prompt = json!({"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Write a file"}]});
    let call = json!({"type": "function_call", "call_id": "call_1", "name": "exec_command", "arguments": "{\"cmd\":\"touch x\"}"});
    let refused = json!({"type": "function_call_output", "call_id": "call_1", "output": "approval policy is Never; reject command"});
    let [prompt, call, refused] = [prompt, call, refused].map(|it| it.to_string());
    let token = |text| lapidary_json::Token::parse(text).unwrap();
    let options = NormalizeOptions::new("run");
    let mut normalizer = ExecNormalizer::new(&options);
    normalizer.session_log(&logged_calls::prompt_entry(token(&prompt)));
    let place = logged_calls::StreamPlace::default();
    let context = logged_calls::CallContext::default();
    let entry = logged_calls::call_entry(place, context, token(&call), token(&refused));
    normalizer.session_log(&entry);
    let mut buffer = LineBuffer::with_limit(64 * 1024);
    let mut events = Vec::new();
    buffer.push(&stream);
    while let Some(line) = buffer.next_line() {
        normalizer.push_line(LineDirection::FromAgent, line, None, &mut events);
    }
    normalizer.finish(&exit(0), &mut events);

    let value = |event: &Event| serde_json::to_value(event).unwrap();
    let names: Vec<_> = events.iter().map(|it| value(it)["event"].clone()).collect();
    let expected = [
        "session_init",
        "diagnostic",
        "user_input",
        "tool_invocation",
        "tool_completion",
        "text",
        "turn_complete",
        "run_end",
    ];
    assert_eq!(names, expected);
    for event in &events[2..5] {
        assert!(event.base.extensions.contains_key("codex.fromRollout"));
    }
    assert_eq!(value(&events[4])["isError"], true);
    let denials = &value(&events[6])["permissionDenials"];
    assert_eq!(denials[0]["toolName"], "exec_command", "{denials}");
    assert_eq!(denials[0]["unattended"], true, "{denials}");
    let end = value(&events[7]);
    assert_eq!(
        (&end["cause"], &end["exitCode"]),
        (&json!("permission_denied"), &json!(18))
    );
    let hint = end["hint"].as_str().unwrap();
    assert!(hint.contains("--allow 'execute:touch x'"), "{hint}");
}
