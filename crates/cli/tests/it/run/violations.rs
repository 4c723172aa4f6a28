//! Tool calls of an agent that never asks: a call that the permission mode does not allow ends the run.

use serde_json::json;

use super::world::World;

/// A command that ran, and an agent that goes on.
const RAN: &str = r#"
    init; echo "{\"type\":\"tool_use\",$t,\"tool_name\":\"run_shell_command\",\"tool_id\":\"s\",\"parameters\":{\"command\":\"touch x\"}}"
    answer s ok; say 'done'; success"#;

const SAID: &str = "`touch x` ran before it could be denied: running a command needs permission";

#[test]
fn a_command_that_the_mode_does_not_allow_ends_the_run() {
    let world = World::with_agent(&format!("{RAN}; sleep 60"));
    let told = world.run(&["go"]);
    assert_eq!(told.verdict(), ("permission_denied", Some(18)), "{told:?}");
    assert_eq!(told.message(), format!("the run was stopped: {SAID}"));
    let end = told.end();
    assert_eq!(end["violations"][0]["command"], "touch x");
    assert!(end["evidence"].as_array().unwrap().contains(&json!(SAID)));
    let mut diagnostics = told.events.iter();
    assert!(diagnostics.any(|event| event["kind"] == "permission_violation"));
    let recorded = world.recording().join("run.json");
    let recorded = std::fs::read_to_string(recorded).unwrap();
    assert!(recorded.contains("\"violations\""), "{recorded}");
}

#[test]
fn a_violation_that_is_reported_is_a_warning_of_the_result() {
    let world = World::with_agent(RAN);
    let told = world.run(&["--on-violation", "report", "go"]);
    assert_eq!(told.verdict(), ("end_turn", Some(0)), "{told:?}");
    assert_eq!(told.end()["warnings"], json!([SAID]));
    assert!(told.stderr.contains(SAID), "{}", told.stderr);
    assert_eq!(told.end()["violations"].as_array().unwrap().len(), 1);
}

#[test]
fn calls_that_the_mode_allows_or_the_agent_denies_are_no_violations() {
    let world = World::with_agent(RAN);
    let told = world.run(&["--yolo", "go"]);
    assert_eq!(told.verdict(), ("end_turn", Some(0)), "{told:?}");
    let denied = r#"{\"type\":\"tool_result\",$t,\"tool_id\":\"s\",\"status\":\"error\",\"error\":{\"type\":\"tool_not_registered\",\"message\":\"no\"}}"#;
    world.agent(&RAN.replace("answer s ok", &format!("echo \"{denied}\"")));
    let told = world.run(&["go"]);
    assert_eq!(told.verdict(), ("permission_denied", Some(18)), "{told:?}");
    assert!(told.end()["violations"].is_null(), "{told:?}");
}

/// A Gemini CLI of this version, by its package.
fn of_version(world: &World, version: &str) {
    let package = json!({ "name": "@google/gemini-cli", "version": version });
    std::fs::write(world.path("package.json"), package.to_string()).unwrap();
}

/// A Gemini CLI that knows no policy file, and rules in `../own.toml`.
fn older() -> World {
    let world = World::with_agent("touch ../started; exit 7");
    of_version(&world, "0.60.0");
    let rule = "[[rule]]\nkind = \"execute\"\nthen = \"deny\"\n";
    std::fs::write(world.path("own.toml"), rule).unwrap();
    world
}

#[test]
fn an_agent_that_cannot_be_made_to_ask_is_not_started_with_rules_unless_violations_are_reported() {
    for args in [
        ["--transport", "acp", "--deny", "execute"],
        ["--transport", "acp", "--config", "../own.toml"],
        ["--transport", "auto", "--config", "../own.toml"],
        ["--transport", "stream-json", "--config", "../own.toml"],
        ["--transport", "json", "--config", "../own.toml"],
    ] {
        let world = older();
        let args = [&args[..], &["go"]].concat();
        let told = world.run(&args);
        assert_eq!(told.verdict(), ("bad_config", Some(13)), "{told:?}");
        let why = "not known to keep to an `--admin-policy`, and this is 0.60.0";
        assert!(told.message().contains(why), "{}", told.message());
        assert!(!world.path("started").exists(), "{args:?}");
        let told = world.run(&[&["--on-violation", "report"], &args[..]].concat());
        assert!(world.path("started").exists(), "{args:?}");
        let notices = told.events.iter().map(ToString::to_string);
        let said = notices.collect::<String>() + &told.stderr;
        assert!(said.contains(why), "{told:?}");
    }
}

#[test]
fn a_rule_by_a_flag_is_refused_where_an_older_agent_cannot_be_asked() {
    for transport in ["auto", "stream-json", "json"] {
        let world = older();
        let told = world.run(&["--transport", transport, "--deny", "execute", "go"]);
        assert_eq!(told.verdict(), ("bad_input", Some(13)), "{told:?}");
        assert!(told.message().contains("needs ACP"), "{}", told.message());
        assert!(!world.path("started").exists(), "{transport}");
    }
}

#[test]
fn a_policy_lies_beside_the_recording_until_the_run_is_over() {
    let script = r#"
        while [ $# -gt 0 ]; do
            if [ "$1" = --admin-policy ]; then cp "$2" ../policy; echo "$2" > ../place; fi
            shift
        done
        init; say ok; success"#;
    let world = World::with_agent(script);
    of_version(&world, "0.61.0");
    let told = world.run(&["go"]);
    assert_eq!(told.verdict(), ("end_turn", Some(0)), "{told:?}");
    let read = |name: &str| std::fs::read_to_string(world.path(name)).unwrap();
    let rule = "toolName = \"run_shell_command\"\ndecision = \"deny\"";
    assert!(read("policy").contains(rule), "{}", read("policy"));
    let place = std::path::PathBuf::from(read("place").trim());
    assert!(place.ends_with("rules.toml") && !place.exists());
    assert!(!place.parent().unwrap().exists(), "nor is its directory");
}
