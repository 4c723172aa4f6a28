//! O: the protocol in events (chat mode), and in ticket mode (`specs/4`).

use lapidary_normalize::tools;
use lapidary_normalize::unified_diff::is_unified_diff;
use lapidary_normalize::views::runtime::RuntimeFold;
use lapidary_vocab::runtime::Category;
use serde_json::{Value, json};

use crate::support::{
    INIT, SUCCESS, bodies, body, exit, json_output, names, options, runtime, runtime_of, stream,
    translate, whole,
};

fn call(id: &str, name: &str, parameters: &str) -> String {
    format!(
        r#"{{"type":"tool_use","tool_name":"{name}","tool_id":"{id}","parameters":{parameters}}}"#
    )
}

fn answer(id: &str, rest: &str) -> String {
    format!(r#"{{"type":"tool_result","tool_id":"{id}",{rest}}}"#)
}

fn shell(id: &str) -> String {
    call(id, "run_shell_command", r#"{"command":"git diff"}"#)
}

fn delta(text: &str) -> String {
    format!(r#"{{"type":"message","role":"assistant","content":"{text}","delta":true}}"#)
}

#[test]
fn o01_a_tool_use_is_read_with_name_id_and_parameters() {
    let event = &bodies(&[&call("c-1", "made_up", r#"{"a":[1]}"#)])[0];
    assert_eq!(event["toolName"], "made_up");
    assert_eq!(event["callId"], "c-1");
    assert_eq!(event["input"], json!({"a": [1]}));
}

#[test]
fn o02_a_tool_result_is_read_with_status_and_output() {
    let events = bodies(&[
        &shell("c-1"),
        &answer("c-1", r#""status":"success","output":"ok\n""#),
    ]);
    assert_eq!(events[1]["status"], "completed");
    assert_eq!(events[1]["output"], "ok\n");
}

const RESULT: &str = r#"{"type":"result","status":"success","stats":{"total_tokens":160,"input_tokens":120,"output_tokens":35,"cached":20,"input":100,"duration_ms":900,"tool_calls":2,"models":{"flash":{"total_tokens":155,"input_tokens":120,"output_tokens":35,"cached":20,"input":100}}}}"#;

#[test]
fn o03_a_results_statistics_are_read_with_their_models() {
    let turn = &bodies(&[RESULT])[0];
    assert_eq!(turn["durationMs"], 900);
    assert_eq!(
        turn["usage"],
        json!({"inputTokens": 120, "outputTokens": 35, "cacheReadTokens": 20, "totalTokens": 160})
    );
    assert_eq!(
        turn["modelUsage"],
        json!({"flash": {"inputTokens": 120, "outputTokens": 35, "cacheReadTokens": 20, "totalTokens": 155}})
    );
    assert_eq!(turn["extensions"]["gemini.stats"]["tool_calls"], 2);
}

#[test]
fn o04_and_o05_bad_json_and_unknown_types_are_named_and_never_an_error() {
    let events = bodies(&[r#"{"type":"#, r#"{"type":"tool_update"}"#]);
    assert_eq!(events[0]["kind"], "malformed_line");
    assert_eq!(
        events[0]["message"],
        "not valid JSON: unexpected end at byte 8"
    );
    assert_eq!(events[1]["kind"], "unknown_type");
    assert_eq!(events[1]["message"], r#"unknown event type "tool_update""#);
}

#[test]
fn o06_tools_have_the_exact_categories_of_the_specification() {
    for (category, known) in [
        (Some(Category::Command), &["run_shell_command"][..]),
        (
            Some(Category::FileRead),
            &[
                "read_file",
                "read_many_files",
                "list_directory",
                "glob",
                "grep_search",
                "search_file_content",
            ],
        ),
        (Some(Category::FileWrite), &["replace", "write_file"]),
        (Some(Category::AskUser), &["ask_user"]),
        (
            Some(Category::SearchFetch),
            &["google_web_search", "web_fetch"],
        ),
        (
            Some(Category::Planning),
            &[
                "write_todos",
                "enter_plan_mode",
                "exit_plan_mode",
                "complete_task",
                "save_memory",
                "activate_skill",
                "get_internal_docs",
            ],
        ),
        (
            None,
            &[
                "made_up",
                "",
                "Bash",
                "run_shell_command ",
                "mcp_run_shell_command",
            ],
        ),
    ] {
        for name in known {
            assert_eq!(tools::category(name), category, "{name}");
        }
    }
}

#[test]
fn o06_and_o14_a_tool_use_is_an_invocation_with_kind_and_arguments() {
    for (name, kind) in [
        ("run_shell_command", "execute"),
        ("replace", "edit"),
        ("write_file", "edit"),
        ("read_file", "read"),
        ("ask_user", "ask"),
        ("google_web_search", "browse"),
        ("made_up", "other"),
    ] {
        let event = &bodies(&[&call("c", name, r#"{"x":1}"#)])[0];
        assert_eq!(event["kind"], kind, "{name}");
        assert_eq!(event["input"], json!({"x": 1}));
    }
}

#[test]
fn o07_only_a_command_tool_has_a_command() {
    let events = runtime(&[
        &call("c", "made_up", r#"{"command":"rm"}"#),
        &answer("c", r#""status":"success","output":"o""#),
    ]);
    assert!(events[1].get("command").is_none());
    let events = runtime(&[
        &call("c", "run_shell_command", r#"{"command":7}"#),
        &answer("c", r#""status":"success","output":"o""#),
    ]);
    assert!(events[1].get("command").is_none());
}

#[test]
fn o08_the_text_of_a_result_is_its_output_else_its_errors_message() {
    for (rest, output) in [
        (
            r#""status":"error","output":"o","error":{"type":"t","message":"m"}"#,
            json!("o"),
        ),
        (
            r#""status":"error","error":{"type":"t","message":"m"}"#,
            json!("m"),
        ),
        (
            r#""status":"error","output":null,"error":{"message":"m"}"#,
            json!("m"),
        ),
        (
            r#""status":"error","output":"","error":{"message":"m"}"#,
            json!("m"),
        ),
        (r#""status":"error","output":"""#, json!("")),
        (r#""status":"success","output":"""#, json!("")),
        (r#""status":"error","error":{"type":"t"}"#, Value::Null),
        (r#""status":"success""#, Value::Null),
    ] {
        let events = bodies(&[&shell("c"), &answer("c", rest)]);
        assert_eq!(
            events[1].get("output").unwrap_or(&Value::Null),
            &output,
            "{rest}"
        );
    }
}

#[test]
fn o09_init_gives_the_session_its_id_and_an_empty_id_gives_none() {
    let events = stream(&[INIT, SUCCESS]);
    assert!(
        events
            .iter()
            .all(|event| whole(event)["sessionId"] == "s-1")
    );
    let events = stream(&[r#"{"type":"init","session_id":"","model":"m"}"#, SUCCESS]);
    assert_eq!(
        body(&events[0]),
        json!({"event": "session_init", "model": "m"})
    );
    assert!(events.iter().all(|event| event.base.session_id.is_none()));
}

#[test]
fn o10_a_user_message_is_user_input_and_nothing_in_ticket_mode() {
    let line = r#"{"type":"message","role":"user","content":"do"}"#;
    assert_eq!(
        bodies(&[line]),
        [json!({"event": "user_input", "text": "do"})]
    );
    assert_eq!(names(&runtime(&[INIT, line, SUCCESS])), ["turn_completed"]);
}

#[test]
fn o11_a_delta_is_a_chunk_of_text() {
    let events = runtime(&[&delta("a"), &delta("b")]);
    for (event, text) in events.iter().zip(["a", "b"]) {
        assert_eq!(
            *event,
            json!({"event": "output_produced", "stream": "assistant", "text": text, "snapshot": false})
        );
    }
    let whole = r#"{"type":"message","role":"assistant","content":"all"}"#;
    assert_eq!(
        runtime(&[whole])[0],
        json!({"event": "output_produced", "stream": "assistant", "text": "all", "snapshot": true})
    );
}

#[test]
fn o12_json_in_an_answer_stays_text() {
    let text = r#"```json\n{\"type\":\"plan\"}\n```"#;
    let events = bodies(&[&delta(text)]);
    assert_eq!(names(&events), ["stream_delta"]);
    assert_eq!(events[0]["textDelta"], "```json\n{\"type\":\"plan\"}\n```");
}

#[test]
fn o14_a_tool_use_is_requested_with_category_and_arguments() {
    assert_eq!(
        runtime(&[&call("c", "web_fetch", r#"{"prompt":"p"}"#)])[0],
        json!({
            "event": "tool_call_requested", "callId": "c", "tool": "web_fetch",
            "category": "search_fetch", "arguments": {"prompt": "p"},
        })
    );
}

#[test]
fn o15_a_shell_result_is_command_output_with_the_command_of_its_use() {
    let events = runtime(&[
        &shell("c"),
        &answer("c", r#""status":"success","output":"out""#),
    ]);
    assert_eq!(
        events[1],
        json!({
            "event": "output_produced", "stream": "command", "text": "out", "snapshot": true,
            "command": "git diff", "callId": "c", "tool": "run_shell_command",
            "category": "command", "status": "completed",
        })
    );
}

#[test]
fn o16_another_tools_result_is_progress_with_tool_and_status() {
    let events = runtime(&[
        &call("c", "google_web_search", r#"{"query":"q"}"#),
        &answer("c", r#""status":"success","output":"found""#),
    ]);
    assert_eq!(
        events[1],
        json!({
            "event": "output_produced", "stream": "tool", "text": "found", "snapshot": true,
            "callId": "c", "tool": "google_web_search", "category": "search_fetch",
            "status": "completed",
        })
    );
}

#[test]
fn o16_a_file_mutation_without_output_is_summed_up_and_says_so() {
    for (name, status, word) in [
        ("write_file", "success", "completed"),
        ("replace", "error", "failed"),
    ] {
        let events = runtime(&[
            &call("c", name, r#"{"file_path":"a.txt"}"#),
            &answer("c", &format!(r#""status":"{status}""#)),
        ]);
        assert_eq!(
            events[1],
            json!({
                "event": "output_produced", "stream": "mutation", "derived": true, "snapshot": true,
                "text": format!("{name} a.txt: {word}"), "callId": "c", "tool": name,
                "category": "file_write", "status": word,
            })
        );
    }
    let events = runtime(&[
        &call("c", "replace", r#"{"file_path":"a.txt"}"#),
        &answer("c", r#""status":"success","output":"said so""#),
    ]);
    assert_eq!(events[1]["text"], "said so");
    assert!(events[1].get("derived").is_none());
}

#[test]
fn o17_a_results_error_object_is_kept() {
    let lines = [
        shell("c"),
        answer(
            "c",
            r#""status":"error","error":{"type":"file_not_found","message":"no","extra":1}"#,
        ),
    ];
    let lines = [lines[0].as_str(), &lines[1]];
    let error = json!({"type": "file_not_found", "message": "no", "extra": 1});
    assert_eq!(
        bodies(&lines)[1]["extensions"],
        json!({"gemini.error": error})
    );
    let event = &runtime(&lines)[1];
    assert_eq!(event["error"], error);
    assert_eq!(event["text"], "no");
    assert_eq!(event["status"], "failed");
}

#[test]
fn o18_a_result_without_its_use_is_a_completion_without_a_tool() {
    let line = answer("ghost", r#""status":"success","output":"o""#);
    let events = bodies(&[&line]);
    assert_eq!(
        events,
        [
            json!({"event": "tool_completion", "callId": "ghost", "status": "completed", "output": "o"}),
            json!({
                "event": "diagnostic", "kind": "protocol_violation",
                "message": "a result for `ghost`, which was never called",
            }),
        ]
    );
    assert_eq!(
        runtime(&[&line])[0],
        json!({
            "event": "output_produced", "stream": "tool", "text": "o", "snapshot": true,
            "callId": "ghost", "status": "completed",
        })
    );
}

#[test]
fn o19_a_warning_then_success_is_a_warning_then_the_end() {
    let warning = r#"{"type":"error","severity":"warning","message":"careful"}"#;
    let events = stream(&[warning, SUCCESS]);
    let found: Vec<_> = events.iter().map(body).collect();
    assert_eq!(
        names(&found),
        ["session_status", "turn_complete", "run_end"]
    );
    assert_eq!(found[2]["outcome"], "completed");
    let events = runtime(&[warning, SUCCESS]);
    assert_eq!(
        events,
        [
            json!({"event": "task_status", "statusType": "warning", "text": "careful"}),
            json!({"event": "turn_completed", "status": "completed"}),
        ]
    );
}

#[test]
fn o19_a_status_without_severity_has_its_own_word_and_a_line_we_could_not_read_is_no_status() {
    let events = runtime(&[r#"{"type":"error","message":"m"}"#, "noise", SUCCESS]);
    assert_eq!(
        events[0],
        json!({"event": "task_status", "statusType": "error", "text": "m"})
    );
    let others = events[1..].iter();
    assert_eq!(others.filter(|it| it["event"] == "task_status").count(), 0);
}

#[test]
fn o20_a_success_carries_its_usage_and_then_the_run_ends() {
    let events = stream(&[RESULT]);
    let found: Vec<_> = events.iter().map(body).collect();
    assert_eq!(names(&found), ["turn_complete", "run_end"]);
    assert!(found[0].get("usage").is_some());
    assert_eq!(
        runtime(&[RESULT]),
        [
            json!({
                "event": "token_usage_updated", "totalInputTokens": 120, "totalOutputTokens": 35,
                "totalCachedInputTokens": 20, "totalTokens": 160,
            }),
            json!({"event": "turn_completed", "status": "completed", "durationMs": 900}),
        ]
    );
}

#[test]
fn o21_an_error_result_fails_the_turn_with_its_message_else_its_type() {
    for (error, message) in [
        (r#"{"type":"t","message":"m"}"#, "m"),
        (r#"{"type":"t","message":""}"#, "t"),
        (r#"{"type":"t"}"#, "t"),
    ] {
        let events = runtime(&[&format!(
            r#"{{"type":"result","status":"error","error":{error}}}"#
        )]);
        assert_eq!(
            events,
            [json!({
                "event": "turn_failed", "status": "failed", "cause": "api_error",
                "error": {"message": message, "additionalDetails": "its result says `error`: t"},
            })],
            "{error}"
        );
    }
}

#[test]
fn o22_and_o23_no_result_or_a_bad_exit_fails_the_turn() {
    let events = translate(INIT.as_bytes(), &options(), &exit(0));
    assert_eq!(
        runtime_of(&events),
        [json!({
            "event": "turn_failed", "status": "failed", "cause": "no_result",
            "error": {
                "message": "the stream ended without a result",
                "additionalDetails": "the agent exited with code 0; it gave no result",
            },
        })]
    );
    // The exit code takes the agent's word back: no `turn_completed` came out before.
    let events = translate(SUCCESS.as_bytes(), &options(), &exit(1));
    let events = runtime_of(&events);
    assert_eq!(names(&events), ["turn_failed"]);
    assert_eq!(events[0]["cause"], "agent_crashed");
}

#[test]
fn a_second_result_begins_a_second_turn() {
    let error = r#"{"type":"result","status":"error","error":{"message":"m"}}"#;
    let mut fold = RuntimeFold::new("run");
    let events: Vec<_> = stream(&[
        INIT,
        SUCCESS,
        &delta("again"),
        error,
        &delta("more"),
        SUCCESS,
    ])
    .iter()
    .flat_map(|event| fold.push(event))
    .map(|event| serde_json::to_value(event).unwrap())
    .collect();
    let outline: Vec<_> = events
        .iter()
        .map(|event| {
            (
                event["event"].as_str().unwrap(),
                event["turnId"].as_str().unwrap(),
            )
        })
        .collect();
    assert_eq!(
        outline,
        [
            ("turn_completed", "run-turn-1"),
            ("output_produced", "run-turn-2"),
            ("turn_failed", "run-turn-2"),
            ("output_produced", "run-turn-3"),
            ("turn_completed", "run-turn-3"),
        ]
    );
    assert_eq!(events[2]["error"]["message"], "m");
    // Where it stands: the schema first, numbers without gaps, the session, the line.
    assert_eq!(events[0]["schema"], "lapidary.runtime/1");
    assert_eq!(events[1]["seq"], 1);
    assert_eq!(events[1]["threadId"], "s-1");
    assert_eq!(events[1]["raw"]["content"], "again");
    assert!(events[1].get("schema").is_none());
}

#[test]
fn o29_the_statistics_of_a_document_are_summed_over_its_models() {
    let document = br#"{"session_id":"s-9","response":"r","stats":{"models":{"flash":{"api":{"totalLatencyMs":10},"tokens":{"prompt":100,"candidates":30,"cached":5,"total":140}},"pro":{"api":{"totalLatencyMs":7},"tokens":{"prompt":20,"candidates":5,"cached":0,"total":25}}}}}"#;
    let events = json_output(document, &exit(0));
    let found: Vec<_> = events.iter().map(body).collect();
    assert_eq!(
        names(&found),
        ["session_init", "text", "turn_complete", "run_end"]
    );
    assert_eq!(
        found[1],
        json!({"event": "text", "kind": "text", "text": "r"})
    );
    assert_eq!(
        found[2]["usage"],
        json!({"inputTokens": 120, "outputTokens": 35, "cacheReadTokens": 5, "totalTokens": 165})
    );
    assert_eq!(found[2]["durationApiMs"], 17);
    assert_eq!(
        found[2]["modelUsage"],
        json!({
            "flash": {"inputTokens": 100, "outputTokens": 30, "cacheReadTokens": 5, "totalTokens": 140},
            "pro": {"inputTokens": 20, "outputTokens": 5, "cacheReadTokens": 0, "totalTokens": 25},
        })
    );
    assert!(
        events
            .iter()
            .all(|event| whole(event)["sessionId"] == "s-9")
    );
    assert_eq!(found[3]["cause"], "end_turn");
}

#[test]
fn o29_a_single_model_is_named() {
    let document = br#"{"response":"r","stats":{"models":{"flash":{"tokens":{"prompt":1}}}}}"#;
    let turn = body(&json_output(document, &exit(0))[2]);
    assert_eq!(turn["modelUsage"], json!({"flash": {"inputTokens": 1}}));
    assert_eq!(turn["usage"], json!({"inputTokens": 1}));
    let document = br#"{"response":"r","stats":{"models":{}}}"#;
    let turn = body(&json_output(document, &exit(0))[2]);
    assert!(turn.get("usage").is_none() && turn.get("modelUsage").is_none());
}

#[test]
fn o30_statistics_of_nothing_but_zeros_and_no_models_are_no_usage() {
    let zeros = r#""total_tokens":0,"input_tokens":0,"output_tokens":0,"cached":0,"duration_ms":0"#;
    for (stats, counted) in [
        (format!("{{{zeros}}}"), false),
        (format!(r#"{{{zeros},"models":{{}}}}"#), false),
        (format!(r#"{{{zeros},"models":{{"flash":{{}}}}}}"#), true),
        (r#"{"input_tokens":1}"#.to_owned(), true),
        ("{}".to_owned(), false),
    ] {
        let line = format!(r#"{{"type":"result","status":"success","stats":{stats}}}"#);
        assert_eq!(
            bodies(&[&line])[0].get("usage").is_some(),
            counted,
            "{stats}"
        );
        let updated = names(&runtime(&[&line])).contains(&"token_usage_updated");
        assert_eq!(updated, counted, "{stats}");
    }
}

#[test]
fn o31_a_missing_total_is_input_plus_output() {
    for (stats, total) in [
        (r#"{"input_tokens":120,"output_tokens":35}"#, json!(155)),
        (
            r#"{"input_tokens":120,"output_tokens":35,"total_tokens":200}"#,
            json!(200),
        ),
        (r#"{"input_tokens":120}"#, Value::Null),
    ] {
        let line = format!(r#"{{"type":"result","status":"success","stats":{stats}}}"#);
        let usage = &runtime(&[&line])[0];
        assert_eq!(
            usage.get("totalTokens").unwrap_or(&Value::Null),
            &total,
            "{stats}"
        );
    }
}

const DIFF: &str = "diff --git a/f b/f\n--- a/f\n+++ b/f\n@@ -1 +1 @@\n-a\n+b";

#[test]
fn o34_a_unified_diff_needs_its_header_and_a_hunk() {
    assert!(is_unified_diff(DIFF));
    assert!(is_unified_diff("--- a\n+++ b\n@@ -1 +1 @@\n")); // as `diff -u` prints it
    for text in [
        "",
        "diff --git a/f b/f\nno hunk",
        "--- a\n@@ -1 +1 @@\n",
        "@@ -1 +1 @@ diff --git ",
        "diff --git a/f b/f @@ -1 +1 @@",
    ] {
        assert!(!is_unified_diff(text), "{text:?}");
    }
}

#[test]
fn o34_a_diff_in_a_commands_or_an_edits_output_is_marked_as_derived() {
    let output = serde_json::to_string(&format!("\n{DIFF}\n")).unwrap();
    let result = answer("c", &format!(r#""status":"success","output":{output}"#));
    for (use_line, expected) in [
        (shell("c"), true),
        (call("c", "replace", r#"{"file_path":"f"}"#), true),
        (call("c", "read_file", r#"{"file_path":"f"}"#), false),
        (call("c", "made_up", "{}"), false),
    ] {
        let events = runtime(&[&use_line, &result]);
        assert_eq!(events[1]["event"], "output_produced");
        let diffs: Vec<_> = events
            .iter()
            .filter(|event| event["event"] == "turn_diff_updated")
            .collect();
        assert_eq!(diffs.len(), usize::from(expected), "{use_line}");
        if expected {
            assert_eq!(
                events[2],
                json!({"event": "turn_diff_updated", "diff": DIFF, "derived": true, "callId": "c"})
            );
        }
    }
    let no_hunk = answer("c", r#""status":"success","output":"diff --git a b""#);
    assert!(!names(&runtime(&[&shell("c"), &no_hunk])).contains(&"turn_diff_updated"));
}

#[test]
fn o35_a_chunk_that_is_only_a_newline_is_kept() {
    let events = bodies(&[&delta("a"), &delta(r"\n"), &delta("  "), &delta("b")]);
    let texts: Vec<_> = events
        .iter()
        .map(|event| event["textDelta"].as_str().unwrap())
        .collect();
    assert_eq!(texts, ["a", "\n", "  ", "b"]);
    assert_eq!(runtime(&[&delta(r"\n")])[0]["text"], "\n");
}

#[test]
fn o36_one_bad_line_does_not_end_the_turn() {
    let events = stream(&[INIT, &delta("a"), "{\"type\":", &delta("b"), SUCCESS]);
    let found: Vec<_> = events.iter().map(body).collect();
    assert_eq!(
        names(&found),
        [
            "session_init",
            "stream_delta",
            "diagnostic",
            "stream_delta",
            "turn_complete",
            "run_end"
        ]
    );
    assert_eq!(found[5]["outcome"], "completed");
}

#[test]
fn a_flood_of_calls_that_are_never_answered_forgets_the_oldest() {
    let mut lines: Vec<_> = (0..=1024).map(|n| shell(&format!("c{n}"))).collect();
    lines.push(answer("c0", r#""status":"success","output":"o""#));
    lines.push(answer("c1", r#""status":"success","output":"o""#));
    let lines: Vec<_> = lines.iter().map(String::as_str).collect();
    let events = runtime(&lines);
    let produced: Vec<_> = events
        .iter()
        .filter(|event| event["event"] == "output_produced")
        .map(|event| event.get("command").is_some())
        .collect();
    assert_eq!(produced, [false, true]);
}

#[test]
fn a_cancelled_call_that_says_success_is_reported_as_success() {
    let events = bodies(&[
        &shell("c"),
        &answer(
            "c",
            r#""status":"success","output":"[Operation Cancelled]""#,
        ),
    ]);
    assert_eq!(events[1]["status"], "completed");
    assert!(events[1].get("isError").is_none());
}

#[test]
fn a_line_that_could_not_be_read_is_counted_by_the_runtime_view() {
    let events = translate(b"caf\xe9", &options(), &exit(0));
    let mut fold = RuntimeFold::new("r");
    let told: Vec<_> = events.iter().flat_map(|event| fold.push(event)).collect();
    assert_eq!((told.len(), fold.skipped()), (1, 1));
}
