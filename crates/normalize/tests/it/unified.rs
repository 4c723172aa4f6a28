//! U: one record of a session as a Claude-shaped message (`specs/0`).

use lapidary_normalize::ProcessEnd;
use lapidary_normalize::extract;
use lapidary_normalize::gemini::session_messages;
use lapidary_normalize::views::messages::MessageFold;
use lapidary_vocab::{Event, Json};
use lapidary_wire::gemini::session::ReplayedLog;
use serde_json::{Value, json};

use crate::support::{
    INIT, SUCCESS, body, message, options, stream, stream_messages, translate, translate_chunks,
};

/// A record of the model's with these members.
fn gemini(members: &str) -> Value {
    message(&record(members))
}

fn record(members: &str) -> String {
    format!(r#"{{"id":"m-1","timestamp":"2026-11-15T18:15:22.327Z","type":"gemini",{members}}}"#)
}

/// The content of a record with one call.
fn call(call: &str) -> Value {
    gemini(&format!(r#""content":"","toolCalls":[{call}]"#))["content"].clone()
}

/// A call becomes this name and these arguments.
#[track_caller]
fn check_use(name: &str, args: &str, claude_name: &str, input: &Value) {
    let content = call(&format!(r#"{{"id":"c-1","name":"{name}","args":{args}}}"#));
    let expected = json!([{"type": "tool_use", "id": "c-1", "name": claude_name, "input": input}]);
    assert_eq!(content, expected, "{name} {args}");
}

/// A call with this status and response becomes this content and error flag.
#[track_caller]
fn check_result(status: &str, response: &str, content: &Value, is_error: bool) {
    let blocks = call(&format!(
        r#"{{"id":"c-1","name":"x","args":{{}},"status":"{status}","result":[{{"functionResponse":{{"id":"c-1","name":"x","response":{response}}}}}]}}"#
    ));
    let expected = json!({
        "type": "tool_result", "tool_use_id": "c-1", "content": content, "is_error": is_error
    });
    assert_eq!(blocks[1], expected, "{status} {response}");
}

#[test]
fn u01_read_file_is_read_with_the_absolute_path() {
    let args = r#"{"absolute_path":"/p/main.py","offset":5}"#;
    check_use(
        "read_file",
        args,
        "Read",
        &json!({"file_path": "/p/main.py"}),
    );
}

#[test]
fn u02_read_file_with_a_file_path_only_is_the_same() {
    let args = r#"{"file_path":"main.py"}"#;
    check_use("read_file", args, "Read", &json!({"file_path": "main.py"}));
}

#[test]
fn u03_of_both_paths_the_absolute_one_wins_unless_it_is_empty() {
    let args = r#"{"file_path":"rel","absolute_path":"/abs"}"#;
    check_use("read_file", args, "Read", &json!({"file_path": "/abs"}));
    let args = r#"{"file_path":"rel","absolute_path":""}"#;
    check_use("read_file", args, "Read", &json!({"file_path": "rel"}));
    check_use("read_file", "{}", "Read", &json!({}));
}

#[test]
fn u04_a_result_names_its_call_and_holds_the_output() {
    let content = call(
        r#"{"id":"c-9","name":"read_file","args":{"absolute_path":"/a"},"status":"success","result":[{"functionResponse":{"id":"c-9","name":"read_file","response":{"output":"def main()"}}}]}"#,
    );
    assert_eq!(
        content,
        json!([
            {"type": "tool_use", "id": "c-9", "name": "Read", "input": {"file_path": "/a"}},
            {"type": "tool_result", "tool_use_id": "c-9", "content": "def main()", "is_error": false},
        ])
    );
}

#[test]
fn u05_write_file_is_write_with_path_and_content() {
    check_use(
        "write_file",
        r#"{"content":"x\n","file_path":"a.txt","more":1}"#,
        "Write",
        &json!({"file_path": "a.txt", "content": "x\n"}),
    );
    // The real CLI has been seen to send `path`.
    let args = r#"{"path":"a.txt","content":""}"#;
    let input = json!({"file_path": "a.txt", "content": ""});
    check_use("write_file", args, "Write", &input);
}

#[test]
fn u06_replace_is_edit_without_its_instruction() {
    check_use(
        "replace",
        r#"{"instruction":"do","file_path":"a","old_string":"o","new_string":"","expected_replacements":2}"#,
        "Edit",
        &json!({"file_path": "a", "old_string": "o", "new_string": ""}),
    );
}

#[test]
fn u07_run_shell_command_is_bash_and_has_a_description_only_if_there_is_one() {
    let args = r#"{"command":"ls","description":"list","directory":"x"}"#;
    let input = json!({"command": "ls", "description": "list"});
    check_use("run_shell_command", args, "Bash", &input);
    let input = json!({"command": "ls"});
    check_use("run_shell_command", r#"{"command":"ls"}"#, "Bash", &input);
}

#[test]
fn u08_google_web_search_is_web_search_with_its_arguments_untouched() {
    let args = r#"{"query":"q","n":9007199254740993}"#;
    let input = json!({"query": "q", "n": 9_007_199_254_740_993_u64});
    check_use("google_web_search", args, "WebSearch", &input);
}

#[test]
fn u09_list_directory_is_glob_of_everything_in_a_path() {
    let input = json!({"pattern": "*", "path": "src"});
    check_use("list_directory", r#"{"path":"src"}"#, "Glob", &input);
    check_use("list_directory", r#"{"dir_path":"src"}"#, "Glob", &input);
    let both = r#"{"dir_path":"no","path":"src"}"#;
    check_use("list_directory", both, "Glob", &input);
    check_use("list_directory", "{}", "Glob", &json!({"pattern": "*"}));
}

#[test]
fn u10_an_unknown_tool_keeps_its_name_and_arguments() {
    let input = json!({"a": [1, {"b": null}]});
    for name in [
        "made_up",
        "glob",
        "web_fetch",
        "mcp_server_tool",
        "Read_file",
    ] {
        check_use(name, r#"{"a":[1,{"b":null}]}"#, name, &input);
    }
}

#[test]
fn u10_arguments_that_are_no_object_pass_through() {
    check_use("read_file", "null", "Read", &json!({}));
    check_use("read_file", r#""text""#, "Read", &json!("text"));
    check_use("made_up", "[1]", "made_up", &json!([1]));
}

#[test]
fn u11_status_error_is_an_error() {
    check_result("error", r#"{"error":"boom"}"#, &json!("boom"), true);
}

#[test]
fn u12_a_cancelled_call_is_an_error_with_the_errors_text() {
    let response = r#"{"error":"[Operation Cancelled] Reason: User denied"}"#;
    let content = json!("[Operation Cancelled] Reason: User denied");
    check_result("cancelled", response, &content, true);
}

#[test]
fn u13_success_with_output_is_no_error() {
    check_result("success", r#"{"output":"fine"}"#, &json!("fine"), false);
}

#[test]
fn u13_a_success_whose_response_names_an_error_is_one() {
    let response = r#"{"output":"some","error":"but"}"#;
    check_result("success", response, &json!("some"), true);
    let response = r#"{"output":"some","error":""}"#;
    check_result("success", response, &json!("some"), false);
}

#[test]
fn u14_status_error_with_only_an_output_is_an_error_with_that_content() {
    check_result("error", r#"{"output":"partial"}"#, &json!("partial"), true);
}

#[test]
fn u14_a_response_without_words_is_an_empty_content() {
    check_result("success", r#"{"output":""}"#, &json!(""), false);
    check_result("success", "{}", &json!(""), false);
    check_result("error", r#"{"output":"","error":""}"#, &json!(""), true);
}

#[test]
fn u15_without_a_result_there_is_the_use_only() {
    for result in ["", r#","result":[]"#, r#","result":null"#] {
        let content = call(&format!(
            r#"{{"id":"c-1","name":"x","args":{{}},"status":"success"{result}}}"#
        ));
        let expected = json!([{"type": "tool_use", "id": "c-1", "name": "x", "input": {}}]);
        assert_eq!(content, expected, "{result}");
    }
}

#[test]
fn u16_each_thought_is_a_thinking_block_in_order_and_first() {
    let message = gemini(
        r#""content":"text","thoughts":[{"subject":"A","description":"first","timestamp":"t"},{"subject":"B","description":"second"}]"#,
    );
    assert_eq!(
        message["content"],
        json!([
            {"type": "thinking", "thinking": "A: first"},
            {"type": "thinking", "thinking": "B: second"},
            {"type": "text", "text": "text"},
        ])
    );
}

/// The types of a message's blocks.
fn outline(message: &Value) -> Vec<String> {
    let describe = |block: &Value| {
        let id = block.get("id").or_else(|| block.get("tool_use_id"));
        let id = id.and_then(Value::as_str).unwrap_or_default();
        format!("{}{id}", block["type"].as_str().unwrap())
    };
    let blocks = message["content"].as_array().unwrap();
    blocks.iter().map(describe).collect()
}

const TWO_CALLS: &str = r#""content":"text","toolCalls":[{"id":"-1","name":"a","args":{},"status":"success","result":[{"functionResponse":{"response":{"output":"1"}}}]},{"id":"-2","name":"b","args":{},"status":"success","result":[{"functionResponse":{"response":{"output":"2"}}}]}]"#;

#[test]
fn u17_the_order_is_thinking_then_use_and_result_then_text() {
    let members = format!(r#"{TWO_CALLS},"thoughts":[{{"subject":"A","description":"b"}}]"#);
    assert_eq!(
        outline(&gemini(&members)),
        [
            "thinking",
            "tool_use-1",
            "tool_result-1",
            "tool_use-2",
            "tool_result-2",
            "text"
        ]
    );
}

#[test]
fn u18_two_calls_are_use_result_use_result() {
    assert_eq!(
        outline(&gemini(TWO_CALLS)),
        [
            "tool_use-1",
            "tool_result-1",
            "tool_use-2",
            "tool_result-2",
            "text"
        ]
    );
}

#[test]
fn u19_text_is_kept_verbatim_and_white_space_alone_is_no_block() {
    assert_eq!(
        gemini(r#""content":" a\n\n""#)["content"],
        json!([{"type": "text", "text": " a\n\n"}])
    );
    let message = gemini(r#""content":" \n\t","thoughts":[{"subject":"A","description":"b"}]"#);
    assert_eq!(outline(&message), ["thinking"]);
}

#[test]
fn u20_nothing_at_all_is_the_original_string() {
    assert_eq!(gemini(r#""content":"""#)["content"], "");
    assert_eq!(gemini(r#""content":" \n""#)["content"], " \n");
}

#[test]
fn u21_a_user_is_the_user_and_everything_else_the_assistant() {
    for (name, role) in [
        ("user", "user"),
        ("gemini", "assistant"),
        ("info", "assistant"),
        ("error", "assistant"),
        ("warning", "assistant"),
        ("invented", "assistant"),
    ] {
        let message = message(&format!(r#"{{"id":"a","type":"{name}","content":"c"}}"#));
        assert_eq!(message["role"], role, "{name}");
        assert_eq!(message["tool"], "gemini");
    }
}

#[test]
fn u22_tokens_are_usage_and_without_tokens_there_is_none() {
    let members = r#""content":"c","tokens":{"input":7,"output":5,"cached":2,"thoughts":1,"tool":0,"total":13}"#;
    assert_eq!(
        gemini(members)["usage"],
        json!({"input_tokens": 7, "output_tokens": 5, "total_tokens": 13, "cache_read_input_tokens": 2})
    );
    for members in [r#""content":"c""#, r#""content":"c","tokens":null"#] {
        assert!(gemini(members).get("usage").is_none(), "{members}");
    }
}

#[test]
fn u23_zero_tokens_are_a_usage_of_zeros() {
    assert_eq!(
        gemini(r#""content":"c","tokens":{"input":0,"output":0,"total":0}"#)["usage"],
        json!({"input_tokens": 0, "output_tokens": 0, "total_tokens": 0})
    );
}

#[test]
fn u24_the_model_is_copied_and_an_absent_one_stays_absent() {
    let message = gemini(r#""content":"c","model":"gemini-2.5-pro""#);
    assert_eq!(message["model"], "gemini-2.5-pro");
    assert!(gemini(r#""content":"c""#).get("model").is_none());
}

#[test]
fn u25_the_timestamp_is_in_milliseconds_since_1970() {
    assert_eq!(
        gemini(r#""content":"c""#)["timestamp"],
        1_794_766_522_327_u64
    );
    for record in [
        r#"{"id":"a","timestamp":"yesterday"}"#,
        r#"{"id":"a","timestamp":5}"#,
        r#"{"id":"a"}"#,
    ] {
        assert!(message(record).get("timestamp").is_none(), "{record}");
    }
}

#[test]
fn u26_the_original_is_the_record_to_the_last_byte() {
    let record = record(
        r#""content":"caf\u00e9 \ud83d \/","n":9007199254740993,"x":1.10e2,"x":-0,"deep":{ "a" : [ ] }"#,
    );
    let log = ReplayedLog::read(record.as_bytes());
    let message = session_messages::messages(&log).next().unwrap();
    assert_eq!(message.original.as_str(), record);
    let written = serde_json::to_string(&message).unwrap();
    assert!(
        written.contains(&format!(r#""_original":{record}"#)),
        "{written}"
    );
    assert!(
        written.contains(r#""text":"caf\u00e9 \ud83d \/""#),
        "{written}"
    );
}

#[test]
fn u26_of_a_pretty_original_only_the_white_space_between_tokens_goes() {
    let pretty = "{\n  \"id\": \"a\",\n  \"content\": \"x  \\n y\",\n  \"n\": 1.10\n}";
    let log = ReplayedLog::read(pretty.as_bytes());
    let message = session_messages::messages(&log).next().unwrap();
    assert_eq!(
        message.original.as_str(),
        r#"{"id":"a","content":"x  \n y","n":1.10}"#
    );
}

#[test]
fn u27_a_session_of_n_records_is_n_messages_in_order() {
    let records: Vec<_> = (0..5)
        .map(|n| format!(r#"{{"id":"m{n}","timestamp":"2026-11-15T18:00:0{}.000Z","type":"user","content":"{n}"}}"#, 9 - n))
        .collect();
    let text = format!(
        r#"{{"sessionId":"s","projectHash":"h","messages":[{}]}}"#,
        records.join(",")
    );
    let log = ReplayedLog::read(text.as_bytes());
    let ids: Vec<_> = session_messages::messages(&log)
        .map(|message| message.id.to_string())
        .collect();
    assert_eq!(ids, ["m0", "m1", "m2", "m3", "m4"]);
}

/// JSON found in a text, on one line.
#[track_caller]
fn check_extracted(text: &str, expected: Option<&str>) {
    let found = extract::json(text);
    assert_eq!(found.as_ref().map(Json::as_str), expected, "{text:?}");
}

#[test]
fn u36_json_is_found_bare_fenced_or_in_prose() {
    let found = Some(r#"{"a":1}"#);
    check_extracted(r#"{"a":1}"#, found);
    check_extracted(" \n{\"a\":1}\r\n", found);
    check_extracted("{\n  \"a\": 1\n}", found);
    check_extracted("```json\n{\"a\":1}\n```", found);
    check_extracted("```\n{\"a\":1}\n```\n", found);
    check_extracted("Sure:\r\n```json\r\n{\"a\":1}\r\n```\r\nDone.", found);
    check_extracted("```sh\nls {}\n```\nthen\n```json\n{\"a\":1}\n```", found);
    check_extracted("```json\n{\"a\":1}", found);
    check_extracted("```json {\"a\":1}```", found);
    check_extracted("It is {\"a\":1}, as asked.", found);
    check_extracted("{not this} but {\"a\":1}", found);
}

#[test]
fn u36_arrays_and_falsy_values_count_and_digits_stay() {
    check_extracted("[1, 2]", Some("[1, 2]"));
    check_extracted("Here: [1,{\"a\":[]}].", Some("[1,{\"a\":[]}]"));
    for text in ["0", "false", "null", "\"\"", "9007199254740993", "1.10"] {
        check_extracted(text, Some(text));
    }
    check_extracted("{\"s\":\"} \\\" {\"} tail }", Some("{\"s\":\"} \\\" {\"}"));
}

#[test]
fn u36_without_json_there_is_none() {
    for text in [
        "",
        "  ",
        "no JSON here",
        "{",
        "}{",
        "{a: 1}",
        "```json\n{\n```",
        "```",
    ] {
        check_extracted(text, None);
    }
}

#[test]
fn u36_a_text_of_nothing_but_brackets_costs_little() {
    check_extracted(&"{".repeat(50_000), None);
}

#[test]
fn u37_a_line_split_over_chunks_is_one_event_and_the_last_needs_no_newline() {
    let text = format!("{INIT}\n{SUCCESS}");
    let expected: Vec<_> = translate(text.as_bytes(), &options(), &ProcessEnd::default())
        .iter()
        .map(body)
        .collect();
    assert_eq!(expected.len(), 3);
    for cut in 0..=text.len() {
        let (before, after) = text.as_bytes().split_at(cut);
        let events = translate_chunks(&[before, after], &options(), &ProcessEnd::default(), 1000);
        let found: Vec<_> = events.iter().map(body).collect();
        assert_eq!(found, expected, "cut at {cut}");
    }
}

// The messages of a live stream, in the same shape.

const PROMPT: &str =
    r#"{"type":"message","timestamp":"2026-11-15T18:00:01.000Z","role":"user","content":"do"}"#;

fn delta(text: &str) -> String {
    format!(
        r#"{{"type":"message","timestamp":"2026-11-15T18:00:02.000Z","role":"assistant","content":"{text}","delta":true}}"#
    )
}

fn tool_use(id: &str, name: &str, parameters: &str) -> String {
    format!(
        r#"{{"type":"tool_use","timestamp":"2026-11-15T18:00:03.000Z","tool_name":"{name}","tool_id":"{id}","parameters":{parameters}}}"#
    )
}

fn tool_result(id: &str, rest: &str) -> String {
    format!(
        r#"{{"type":"tool_result","timestamp":"2026-11-15T18:00:04.000Z","tool_id":"{id}",{rest}}}"#
    )
}

#[test]
fn a_stream_is_one_message_for_the_prompt_and_one_for_each_response() {
    let (a, b, c) = (delta("Rea"), delta("ding"), delta("Done."));
    let call = tool_use("c-1", "read_file", r#"{"file_path":"a"}"#);
    let answer = tool_result("c-1", r#""status":"success","output":"text""#);
    let messages = stream_messages(&[INIT, PROMPT, &a, &b, &call, &answer, &c, SUCCESS]);
    let lines = |lines: &[&str]| -> Vec<Value> {
        lines
            .iter()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect()
    };
    assert_eq!(
        messages,
        [
            json!({
                "id": "run-m0", "role": "user", "tool": "gemini", "timestamp": 1_794_765_601_000_u64,
                "content": [{"type": "text", "text": "do"}],
                "_original": lines(&[PROMPT]),
            }),
            json!({
                "id": "run-m1", "role": "assistant", "tool": "gemini", "model": "auto",
                "timestamp": 1_794_765_602_000_u64,
                "content": [
                    {"type": "tool_use", "id": "c-1", "name": "Read", "input": {"file_path": "a"}},
                    {"type": "tool_result", "tool_use_id": "c-1", "content": "text", "is_error": false},
                    {"type": "text", "text": "Reading"},
                ],
                "_original": lines(&[&a, &b, &call, &answer]),
            }),
            json!({
                "id": "run-m2", "role": "assistant", "tool": "gemini", "model": "auto",
                "timestamp": 1_794_765_602_000_u64,
                "content": [{"type": "text", "text": "Done."}],
                "_original": lines(&[&c]),
            }),
        ]
    );
}

#[test]
fn a_call_after_a_tool_result_begins_a_new_message_and_parallel_calls_share_one() {
    let messages = stream_messages(&[
        &tool_use("c-1", "glob", "{}"),
        &tool_use("c-2", "glob", "{}"),
        &tool_result(
            "c-2",
            r#""status":"error","error":{"type":"t","message":"m"}"#,
        ),
        &tool_result("c-1", r#""status":"success""#),
        &tool_use("c-3", "glob", "{}"),
        &tool_result("unheard-of", r#""status":"success""#),
    ]);
    let outlines: Vec<_> = messages.iter().map(outline).collect();
    assert_eq!(
        outlines,
        [
            &[
                "tool_usec-1",
                "tool_resultc-1",
                "tool_usec-2",
                "tool_resultc-2"
            ][..],
            &["tool_usec-3"]
        ]
    );
    assert_eq!(messages[0]["content"][1]["content"], "");
    assert_eq!(messages[0]["content"][3]["content"], "m");
    assert_eq!(messages[0]["content"][3]["is_error"], true);
}

#[test]
fn a_result_that_comes_late_goes_to_its_own_message() {
    let messages = stream_messages(&[
        &tool_use("c-1", "glob", "{}"),
        &tool_use("c-2", "glob", "{}"),
        &tool_result("c-2", r#""status":"success""#),
        &delta("meanwhile"),
        &tool_result("c-1", r#""status":"success","output":"late""#),
    ]);
    assert_eq!(messages.len(), 2);
    assert_eq!(messages[0]["content"][1]["content"], "late");
    assert_eq!(
        messages[1]["content"],
        json!([{"type": "text", "text": "meanwhile"}])
    );
}

#[test]
fn an_answer_of_white_space_is_a_plain_message() {
    let messages = stream_messages(&[&delta(r"\n"), &delta(" ")]);
    assert_eq!(messages[0]["content"], "\n ");
}

#[test]
fn thoughts_come_first_whether_they_came_whole_or_in_chunks() {
    let event = |seq: u64, body: &str| {
        let base = format!(r#""id":"r-{seq}","seq":{seq},"provider":"gemini""#);
        Event::from_json(&format!("{{{body},{base}}}")).unwrap()
    };
    let mut fold = MessageFold::new("run");
    for (seq, body) in (0..).zip([
        r#""event":"text","kind":"text","text":"said""#,
        r#""event":"text","kind":"thinking","text":"whole""#,
        r#""event":"stream_delta","kind":"thinking","textDelta":"chunk""#,
        r#""event":"stream_delta","kind":"blockStop""#,
        r#""event":"text","kind":"plan","text":" planned""#,
        r#""event":"usage_update","stepUsage":{}"#,
        r#""event":"session_status","status":"error""#,
        r#""event":"tool_completion","callId":"ghost","status":"completed""#,
        r#""event":"diagnostic","kind":"noise","message":"m""#,
    ]) {
        assert_eq!(fold.push(&event(seq, body)), []);
    }
    assert_eq!(fold.skipped(), 3);
    let messages = serde_json::to_value(fold.finish()).unwrap();
    assert_eq!(
        messages[0]["content"],
        json!([
            {"type": "thinking", "thinking": "whole"},
            {"type": "thinking", "thinking": "chunk"},
            {"type": "text", "text": "said planned"},
        ])
    );
}

#[test]
fn an_unanswered_call_does_not_hold_back_later_messages_for_ever() {
    let mut lines = vec![
        r#"{"type":"tool_use","tool_name":"glob","tool_id":"lost","parameters":{}}"#.to_owned(),
    ];
    for n in 0..80 {
        lines.push(format!(
            r#"{{"type":"message","role":"user","content":"{n}"}}"#
        ));
    }
    let mut fold = MessageFold::new("run");
    let lines: Vec<_> = lines.iter().map(String::as_str).collect();
    let early: Vec<_> = stream(&lines)
        .iter()
        .flat_map(|event| fold.push(event))
        .collect();
    assert!(
        early.len() > 10,
        "only {} messages came before the end",
        early.len()
    );
    assert_eq!(early.len() + fold.finish().len(), 81);
}
