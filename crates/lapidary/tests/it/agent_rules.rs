//! Rules hold for every call of an agent of ours, also for one that needs no permission otherwise.

use std::sync::Arc;

use lapidary::agents::{AgentTask, ScriptedModel};
use lapidary::engine::RunHost;
use lapidary::engine::config::Config;
use lapidary::engine::gemini_cli::PromptText;
use lapidary::engine::headless::Job;
use lapidary::engine::policy::{PermissionEffect, Rule, Rules};
use lapidary::engine::process::Supervisor;
use lapidary::engine::recording::RecordingOptions;
use lapidary::gemini::agents::{LocalAgentDefinition, PromptConfig};
use lapidary::native::tools::file_tools;
use lapidary::native::workspace::Workspace;
use lapidary::standin::api::{Script, Turn};
use serde_json::{Value, json};
use tempfile::TempDir;

/// Has an agent read a secret and another file. Returns the responses that its model was told, and the exit code.
fn play(rule: Option<&str>) -> (Vec<Value>, Value) {
    let home = TempDir::new().unwrap();
    let directory = home.path().canonicalize().unwrap().join("project");
    std::fs::create_dir(&directory).unwrap();
    std::fs::write(directory.join("secret.txt"), "s3cret").unwrap();
    std::fs::write(directory.join("open.txt"), "open").unwrap();
    let read = |file: &str| Turn::call("read_file", json!({ "file_path": file }));
    let script = Script::new()
        .stream(read("secret.txt").and_call("read_file", json!({"file_path": "open.txt"})))
        .stream(Turn::call("complete_task", json!({"result": "Done."})));
    let records = RecordingOptions::below(home.path().join("runs"));
    let mut host = RunHost::new([], &directory, Supervisor::at("/bin/false"), records);
    host.vault = None;
    let model = ScriptedModel::new(script);
    let definition = LocalAgentDefinition {
        name: "scout".to_owned(),
        prompt_config: PromptConfig {
            system_prompt: Some("Read.".to_owned()),
            ..PromptConfig::default()
        },
        ..LocalAgentDefinition::default()
    };
    let temporary = home.path().join("temporary");
    let task = AgentTask::new(definition, Arc::new(model.clone()), "mock");
    let task = task.tools(move |at| file_tools(&Workspace::open(at, &temporary).unwrap()));
    let prompt = PromptText::Text("Read both.".to_owned());
    let mut job = Job::gemini(&host, Config::default(), prompt, "r");
    job.agent = task.into_agent();
    let rule = rule.map(|rule| Rule::parse_flag(PermissionEffect::Deny, rule, &directory).unwrap());
    job.speaking.rules = Rules::new(rule);
    let mut run = job.start();
    let mut end = Value::Null;
    while let Some(event) = run.blocking_next() {
        end = serde_json::from_str(&event.to_json()).unwrap();
    }
    let requests = model.requests();
    let told = requests[1].last_content().unwrap()["parts"]
        .as_array()
        .unwrap();
    let responses = told
        .iter()
        .map(|part| part["functionResponse"]["response"].clone());
    (responses.collect(), end["exitCode"].clone())
}

#[test]
fn a_file_that_a_rule_denies_is_not_read_and_the_agent_goes_on() {
    let (responses, exit) = play(Some("read:secret.txt"));
    let error = responses[0]["error"].as_str().unwrap();
    assert!(
        error.starts_with("User rejected this operation."),
        "{error}"
    );
    assert_eq!(responses[1]["output"], "open");
    assert_eq!(exit, 0);
}

#[test]
fn without_rules_reading_in_the_workspace_needs_no_permission() {
    let (responses, exit) = play(None);
    assert_eq!(responses[0]["output"], "s3cret");
    assert_eq!(exit, 0);
}
