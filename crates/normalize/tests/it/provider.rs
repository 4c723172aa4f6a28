//! P: the response and the files of a run (`specs/1`).

use lapidary_normalize::ProcessEnd;
use serde_json::{Value, json};

use crate::support::{INIT, SUCCESS, exit, result, result_of};

fn assistant(text: &str) -> String {
    format!(r#"{{"type":"message","role":"assistant","content":"{text}","delta":true}}"#)
}

fn call(id: &str, name: &str, parameters: &str) -> String {
    format!(
        r#"{{"type":"tool_use","tool_name":"{name}","tool_id":"{id}","parameters":{parameters}}}"#
    )
}

fn write(id: &str, path: &str) -> String {
    let parameters = format!(r#"{{"file_path":"{path}","content":"x"}}"#);
    call(id, "write_file", &parameters)
}

fn answer(id: &str, status: &str) -> String {
    format!(r#"{{"type":"tool_result","tool_id":"{id}","status":"{status}"}}"#)
}

/// The lines, between a beginning and a good end, give this response and these files in order.
#[track_caller]
fn check(lines: &[&str], response: &str, files: &[&str]) {
    let all: Vec<_> = [INIT]
        .iter()
        .chain(lines)
        .chain(&[SUCCESS])
        .copied()
        .collect();
    let result = result(&all);
    assert_eq!(result["response"], response, "{lines:?}");
    let found = result["files"].as_object().unwrap();
    assert_eq!(found.keys().collect::<Vec<_>>(), files, "{lines:?}");
    assert!(found.values().all(Value::is_null));
    assert_eq!(result["success"], true, "{lines:?}");
}

#[test]
fn p18_assistant_text_is_the_response() {
    check(&[&assistant("hello")], "hello", &[]);
    let whole = r#"{"type":"message","role":"assistant","content":"whole"}"#;
    check(&[whole], "whole", &[]);
}

#[test]
fn p19_two_messages_are_joined_without_a_separator() {
    check(&[&assistant("a "), &assistant("b")], "a b", &[]);
}

#[test]
fn p20_a_user_message_is_no_response() {
    check(
        &[r#"{"type":"message","role":"user","content":"prompt"}"#],
        "",
        &[],
    );
}

#[test]
fn p21_a_successful_write_is_a_file_whose_value_is_null() {
    check(
        &[&write("1", "/p/a.txt"), &answer("1", "success")],
        "",
        &["/p/a.txt"],
    );
}

#[test]
fn p22_a_successful_replace_is_a_file() {
    let replace = call(
        "1",
        "replace",
        r#"{"file_path":"b.txt","old_string":"o","new_string":"n"}"#,
    );
    check(&[&replace, &answer("1", "success")], "", &["b.txt"]);
}

#[test]
fn p23_several_writes_are_all_listed_in_order_of_success() {
    check(
        &[
            &write("1", "a"),
            &write("2", "b"),
            &write("3", "c"),
            &answer("3", "success"),
            &answer("1", "success"),
            &answer("2", "success"),
        ],
        "",
        &["c", "a", "b"],
    );
}

#[test]
fn p24_a_write_that_failed_is_not_listed() {
    check(&[&write("1", "a"), &answer("1", "error")], "", &[]);
}

#[test]
fn p25_a_malformed_line_is_skipped_and_the_rest_is_kept() {
    check(
        &[
            &assistant("a"),
            r#"{"type":"message","#,
            "noise",
            &assistant("b"),
        ],
        "ab",
        &[],
    );
}

#[test]
fn p26_a_truncated_last_line_is_skipped() {
    let text = format!("{INIT}\n{}\n{SUCCESS}\n{{\"type\":\"mess", assistant("a"));
    let result = result_of(text.as_bytes(), &exit(0));
    assert_eq!(result["response"], "a");
    assert_eq!(result["success"], true);
    assert_eq!(result["diagnostics"], json!({"malformed_line": 1}));
}

#[test]
fn p27_an_empty_output_is_an_empty_response_and_no_files() {
    let result = result_of(b"", &ProcessEnd::default());
    assert_eq!(
        result,
        json!({
            "schema": "lapidary.result/1",
            "success": false,
            "outcome": "failed",
            "cause": "no_result",
            "exitCode": 15,
            "response": "",
            "texts": [],
            "permissionDenials": [],
            "files": {},
            "error": {
                "message": "the stream ended without a result",
                "hint": "it was interrupted, or its output was cut: nothing it reported is certain to be complete",
            },
            "warnings": [],
            "diagnostics": {},
        })
    );
}

#[test]
fn p28_blank_lines_are_nothing() {
    check(
        &["", &assistant("a"), "   ", "\t", &assistant("b")],
        "ab",
        &[],
    );
}

#[test]
fn p29_mixed_events_give_text_and_files() {
    let lines = [
        INIT,
        r#"{"type":"message","role":"user","content":"prompt"}"#,
        &assistant("I write. "),
        &write("1", "a"),
        r#"{"type":"error","severity":"warning","message":"careful"}"#,
        &answer("1", "success"),
        &assistant("Done: {\\\"n\\\":1}"),
        r#"{"type":"result","status":"success","stats":{"total_tokens":30,"input_tokens":20,"output_tokens":10,"cached":5,"duration_ms":12}}"#,
    ];
    assert_eq!(
        result(&lines),
        json!({
            "schema": "lapidary.result/1",
            "success": true,
            "outcome": "completed",
            "cause": "end_turn",
            "exitCode": 0,
            "agentExitCode": 0,
            "sessionId": "s-1",
            "durationMs": 12,
            "response": "Done: {\"n\":1}",
            "texts": ["I write. ", "Done: {\"n\":1}"],
            "permissionDenials": [],
            "data": {"n": 1},
            "files": {"a": null},
            "usage": {"inputTokens": 20, "outputTokens": 10, "cacheReadTokens": 5, "totalTokens": 30},
            "warnings": ["careful"],
            "diagnostics": {},
        })
    );
}

#[test]
fn p30_a_file_that_was_read_is_not_listed() {
    let read = call("1", "read_file", r#"{"file_path":"a"}"#);
    check(&[&read, &answer("1", "success")], "", &[]);
}

#[test]
fn p53_json_that_is_no_object_is_skipped() {
    check(&["[1]", "7", "null", "\"text\"", &assistant("a")], "a", &[]);
}

#[test]
fn p54_a_write_without_parameters_is_not_tracked() {
    for parameters in ["null", "{}", "\"a\"", "[\"a\"]", "7", r#"{"file_path":7}"#] {
        let write = call("1", "write_file", parameters);
        check(
            &[&write, &answer("1", "success"), &assistant("ok")],
            "ok",
            &[],
        );
    }
    let missing = r#"{"type":"tool_use","tool_name":"write_file","tool_id":"1"}"#;
    check(&[missing, &answer("1", "success")], "", &[]);
}

#[test]
fn p55_invalid_utf_8_is_skipped_and_the_rest_is_kept() {
    let mut bytes = format!("{}\n", assistant("a")).into_bytes();
    bytes.extend_from_slice(b"{\"type\":\"message\",\"content\":\"\xff\"}\n\xff\n");
    bytes.extend_from_slice(format!("{}\n{SUCCESS}\n", assistant("b")).as_bytes());
    let result = result_of(&bytes, &exit(0));
    assert_eq!(result["response"], "ab");
    assert_eq!(
        result["diagnostics"],
        json!({"malformed_line": 1, "noise": 1})
    );
}

#[test]
fn p56_a_line_separator_inside_a_string_is_text() {
    check(
        &[
            &write("1", "a\u{2028}b\u{85}"),
            &answer("1", "success"),
            &assistant("x\u{2029}y"),
        ],
        "x\u{2029}y",
        &["a\u{2028}b\u{85}"],
    );
}

#[test]
fn p57_a_write_without_a_result_is_not_listed() {
    check(&[&write("1", "a"), &answer("2", "success")], "", &[]);
}

#[test]
fn p58_the_same_file_written_twice_is_listed_once() {
    check(
        &[
            &write("1", "a"),
            &answer("1", "success"),
            &write("2", "b"),
            &answer("2", "success"),
            &write("3", "a"),
            &answer("3", "success"),
        ],
        "",
        &["a", "b"],
    );
}

#[test]
fn p59_a_write_that_failed_and_was_tried_again_is_listed() {
    check(
        &[
            &write("1", "a"),
            &answer("1", "error"),
            &write("2", "a"),
            &answer("2", "success"),
        ],
        "",
        &["a"],
    );
}

#[test]
fn p60_lines_may_end_in_crlf() {
    let text = [
        INIT,
        &write("1", "a"),
        &answer("1", "success"),
        &assistant("ok"),
        SUCCESS,
        "",
    ]
    .join("\r\n");
    let result = result_of(text.as_bytes(), &exit(0));
    assert_eq!(result["response"], "ok");
    assert_eq!(result["files"], json!({"a": null}));
    assert_eq!(result["success"], true);
    assert_eq!(result["diagnostics"], json!({}));
}

#[test]
fn p61_a_tool_with_a_similar_name_is_not_tracked() {
    for name in [
        "write_files",
        "Write_file",
        "mcp_x_write_file",
        " write_file",
        "replace_all",
    ] {
        let write = call("1", name, r#"{"file_path":"a"}"#);
        check(&[&write, &answer("1", "success")], "", &[]);
    }
}

#[test]
fn p61_the_real_clis_other_spelling_of_the_path_counts() {
    let write = call("1", "write_file", r#"{"path":"a","content":""}"#);
    check(&[&write, &answer("1", "success")], "", &["a"]);
}

#[test]
fn p62_an_error_result_is_surfaced_even_with_exit_0() {
    let error =
        r#"{"type":"result","status":"error","error":{"type":"Error","message":"it broke"}}"#;
    let result = result(&[INIT, &assistant("half"), error]);
    assert_eq!(result["success"], false);
    assert_eq!(result["outcome"], "failed");
    assert_eq!(result["cause"], "api_error");
    assert_eq!(
        (&result["exitCode"], &result["agentExitCode"]),
        (&json!(1), &json!(0))
    );
    assert_eq!(result["response"], "half");
    assert_eq!(result["error"], json!({"message": "it broke"}));
}
