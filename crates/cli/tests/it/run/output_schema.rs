//! `--output-schema`: data that fits, or a run that fails.

use std::fs;

use serde_json::{Value, json};

use super::world::{Told, World};

const SCHEMA: &str =
    r#"{"type": "object", "required": ["n"], "properties": {"n": {"type": "integer"}}}"#;

/// Writes down its arguments and its prompt, and answers its first prompt wrongly.
const LEARNS: &str = r#"
    count=$(ls .. | grep -c '^args')
    printf '%s\n' "$@" > ../args$count; cat > ../stdin$count
    init
    case $count in 0) say '{\"n\": \"one\"}';; *) say 'Now it is right: {\"n\": 1}';; esac
    success"#;

fn world(script: &str) -> World {
    let world = World::with_agent(script);
    fs::write(world.path("project/s.json"), SCHEMA).unwrap();
    world
}

fn written(world: &World, name: &str) -> String {
    fs::read_to_string(world.path(name)).unwrap()
}

fn judged(world: &World, args: &[&str]) -> Told {
    let all = ["--transport", "stream-json", "--output-schema", "s.json"];
    world.run(&[&all[..], args].concat())
}

#[test]
fn an_answer_over_stream_json_is_repaired_in_the_resumed_session() {
    let world = world(LEARNS);
    let told = judged(&world, &["--format", "result", "count"]);
    let result: Value = serde_json::from_str(&told.stdout).unwrap();
    assert_eq!(told.code, Some(0), "{}", told.stderr);
    assert_eq!(
        (&result["data"], &result["dataSource"], &result["success"]),
        (&json!({"n": 1}), &json!("text"), &json!(true))
    );
    assert_eq!(result["texts"].as_array().unwrap().len(), 2);
    assert!(!written(&world, "args0").contains("--resume"));
    let prompt = written(&world, "stdin0");
    assert!(
        prompt.starts_with("count\n\n") && prompt.contains(r#""required":["n"]"#),
        "{prompt}"
    );
    assert!(written(&world, "args1").ends_with("--resume\ns-1\n"));
    assert!(written(&world, "stdin1").contains("* `/n` must be integer"));
    assert!(!world.path("args2").exists());
}

#[test]
fn the_events_of_a_repaired_run_are_those_of_its_recording() {
    let world = world(LEARNS);
    let told = judged(&world, &["--run-id", "r", "count"]);
    assert_eq!(told.verdict(), ("end_turn", Some(0)));
    assert_eq!(told.end()["answer"]["data"], json!({"n": 1}));
    let again = Told::by(world.lapidary(&["translate", "--run-id", "r", "../state/runs/r"]));
    assert_eq!(again.stdout, told.stdout);
}

#[test]
fn an_answer_that_never_fits_fails_the_run_with_19_and_prints_no_data() {
    let world = world(r"init; say 'no JSON today'; success");
    let told = judged(&world, &["--format", "result", "count"]);
    let result: Value = serde_json::from_str(&told.stdout).unwrap();
    assert_eq!(
        (told.code, &result["cause"]),
        (Some(19), &json!("schema_mismatch"))
    );
    assert_eq!(
        (&result["outcome"], result.get("data")),
        (&json!("failed"), None)
    );
    let error = &result["error"];
    let message = error["message"].as_str().unwrap();
    assert!(
        message.contains("after 2 repairs") && message.contains("no JSON today"),
        "{message}"
    );
    assert_eq!(
        error["dataViolations"],
        json!([{"pointer": "", "message": "has no complete JSON value"}])
    );
    assert!(error["hint"].as_str().unwrap().contains("--schema-repairs"));

    let told = judged(&world, &["-q", "--schema-repairs", "0", "count"]);
    assert_eq!((told.code, told.stdout.as_str()), (Some(19), ""));
    assert!(
        told.stderr
            .contains("does not fit the output schema: the answer has no complete JSON value"),
        "{}",
        told.stderr
    );
}

#[test]
fn quiet_prints_the_data_alone() {
    let world = world(LEARNS);
    let told = judged(&world, &["-q", "count"]);
    assert_eq!((told.code, told.stdout.as_str()), (Some(0), "{\"n\": 1}\n"));
}

#[test]
fn a_schema_that_cannot_be_used_is_refused_before_the_agent_starts() {
    let world = world("touch ../started; init; success");
    let huge = format!(r#"{{"title": "{}"}}"#, "x".repeat(300 << 10));
    for (schema, message, hint) in [
        (
            None,
            "cannot read the output schema `t.json`",
            "counts from the current directory",
        ),
        (
            Some("{"),
            "the output schema `t.json` cannot be used: it is not JSON: EOF",
            "",
        ),
        (
            Some(r#"{"type": "thing"}"#),
            "`/type` is not a valid `type`",
            "",
        ),
        (
            Some(r#"{"items": {"x-a": 1}}"#),
            "`/items` has the keyword `x-a`, which is not supported",
            "would not be checked",
        ),
        (
            Some(r#"{"$ref": "http://127.0.0.1:9/s.json"}"#),
            "refers to `http://127.0.0.1:9/s.json`, outside the document",
            "nothing is fetched",
        ),
        (
            Some(r##"{"anyOf": [{"$ref": "#"}]}"##),
            "refers to itself without end",
            "properties",
        ),
        (Some(huge.as_str()), "it has more than 256 KiB", "leave out"),
    ] {
        let file = world.path("project/t.json");
        match schema {
            Some(text) => fs::write(&file, text).unwrap(),
            None => assert!(!file.exists()),
        }
        let told = world.run(&["--output-schema", "t.json", "go"]);
        assert_eq!(
            (told.code, told.verdict().0),
            (Some(13), "bad_input"),
            "{message}"
        );
        let count = told.message().matches(message).count();
        assert_eq!(count, 1, "said once: {}", told.message());
        assert!(told.stderr.contains(hint), "{}", told.stderr);
    }
    let told = world.run(&["--output-schema", ".", "go"]);
    assert!(
        told.message().contains("is not a regular file"),
        "{}",
        told.message()
    );
    assert!(!world.path("started").exists());
}
