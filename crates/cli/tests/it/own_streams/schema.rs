//! `--output-schema` by an option of the agent's own.

use std::fs;

use serde_json::{Value, json};

use super::{run, told_file, world_of};

const SCHEMA: &str = r#"{"type":"object","properties":{"lines":{"type":"integer"}},"required":["lines"],"additionalProperties":false}"#;

fn result_of(agent: &str, script: &str, repairs: &str) -> (Value, String, String) {
    let world = world_of(agent, script);
    fs::write(world.path("schema"), SCHEMA).unwrap();
    let schema = world.path("schema");
    let args = [
        "--format",
        "result",
        "--schema-repairs",
        repairs,
        "--output-schema",
        schema.to_str().unwrap(),
        "How many lines?",
    ];
    let told = run(&world, agent, &args);
    let result = serde_json::from_str(&told.stdout).unwrap();
    (
        result,
        told_file(&world, "arguments"),
        told_file(&world, "stdin"),
    )
}

#[test]
fn data_that_the_agents_own_option_gives_is_checked_and_named() {
    for (agent, flag) in [
        ("claude", "--json-schema {"),
        ("codex", "--output-schema /"),
    ] {
        let (result, arguments, stdin) = result_of(agent, "capture schema", "0");
        assert_eq!(result["data"], json!({"lines": 3}), "{result}");
        assert_eq!(result["dataSource"], "flag", "{result}");
        assert_eq!(result["exitCode"], 0);
        assert!(arguments.contains(flag), "{arguments}");
        assert!(!stdin.contains("JSON Schema"), "{stdin}");
    }
}

/// Codex reads the schema from a file of ours, which is there while it runs and gone after.
#[test]
fn the_file_with_the_schema_is_there_while_codex_runs() {
    let script = "while [ \"$1\" != --output-schema ]; do shift; done; cp \"$2\" \"$root/seen\"; echo \"$2\" > \"$root/place\"; capture schema";
    let world = world_of("codex", script);
    fs::write(world.path("schema"), SCHEMA).unwrap();
    let schema = world.path("schema");
    let args = ["--output-schema", schema.to_str().unwrap(), "go"];
    let told = run(&world, "codex", &args);
    assert_eq!(told.verdict(), ("end_turn", Some(0)), "{told:?}");
    let seen: Value = serde_json::from_str(&told_file(&world, "seen")).unwrap();
    assert_eq!(seen, serde_json::from_str::<Value>(SCHEMA).unwrap());
    let place = told_file(&world, "place");
    assert!(!std::path::Path::new(place.trim()).exists(), "{place}");
}

#[test]
fn an_answer_that_does_not_fit_is_repaired_in_the_same_session_or_fails() {
    for agent in ["claude", "codex"] {
        let (result, ..) = result_of(agent, "capture schema-prose", "0");
        assert_eq!(result["cause"], "schema_mismatch", "{result}");
        assert_eq!(result["exitCode"], 19);
        let script = "if [ -e \"$root/again\" ]; then capture schema; else : > \"$root/again\"; capture schema-prose; fi";
        let (result, arguments, stdin) = result_of(agent, script, "1");
        assert_eq!(result["data"], json!({"lines": 3}), "{result}");
        assert_eq!(arguments.lines().count(), 2, "{arguments}");
        let again = arguments.lines().last().unwrap();
        let resumes = again.contains(" --resume ") || again.contains(" resume ");
        assert!(resumes, "{again}");
        assert!(stdin.contains("does not fit the JSON Schema"), "{stdin}");
    }
}

#[test]
fn claude_code_that_gives_up_on_the_schema_has_that_cause() {
    let (result, ..) = result_of("claude", "capture schema-mismatch; exit 1", "2");
    assert_eq!(result["cause"], "schema_mismatch", "{result}");
    assert_eq!(result["exitCode"], 19);
}
