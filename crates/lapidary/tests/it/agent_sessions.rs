//! Session files of the sub-agents of our own agents.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use lapidary::agents::{AgentDirectory, AgentRequest, AgentTask, ScriptedModel, directory_context};
use lapidary::engine::RunHost;
use lapidary::engine::config::Config;
use lapidary::engine::gemini_cli::PromptText;
use lapidary::engine::headless::Job;
use lapidary::engine::process::Supervisor;
use lapidary::engine::recording::RecordingOptions;
use lapidary::gemini::GeminiHome;
use lapidary::gemini::agents::{LocalAgentDefinition, PromptConfig};
use lapidary::normalize::NormalizeOptions;
use lapidary::normalize::gemini::{SubagentLogs as _, session_events};
use lapidary::sessions::{SessionStore, SubagentFiles};
use lapidary::standin::api::{Script, Turn};
use lapidary::wire::gemini::session::ReplayedLog;
use serde_json::{Value, json};
use tempfile::TempDir;

fn definition(name: &str) -> LocalAgentDefinition {
    LocalAgentDefinition {
        name: name.to_owned(),
        prompt_config: PromptConfig {
            system_prompt: Some("Find it.".to_owned()),
            query: Some("${query}".to_owned()),
            ..PromptConfig::default()
        },
        ..LocalAgentDefinition::default()
    }
}

/// Knows two agents: `helper` and `deputy`.
#[derive(Debug)]
struct TwoHelpers;

impl AgentDirectory for TwoHelpers {
    fn request(&self, name: &str, prompt: &str, model: &str) -> Option<AgentRequest> {
        let mut inputs = serde_json::Map::new();
        inputs.insert("query".to_owned(), prompt.into());
        ["helper", "deputy"].contains(&name).then(|| AgentRequest {
            definition: Arc::new(definition(name)),
            inputs,
            model: model.to_owned(),
            agent_id: format!("{name}-1"),
            today: String::new(),
            environment: None,
        })
    }
}

/// Runs an agent that calls `helper`. Returns the id of its session.
fn play(home: &Path, project: &Path, store: Option<SessionStore>) -> String {
    let script = Script::new()
        .stream(Turn::call(
            "invoke_agent",
            json!({"agent_name": "helper", "prompt": "Help."}),
        ))
        .stream(
            Turn::thought("**Plan** Look first.")
                .and_text("Helping.")
                .and_call("look", json!({"at": 1})),
        )
        .stream(Turn::call(
            "complete_task",
            json!({"result": "h".repeat(300)}),
        ))
        .stream(Turn::call("complete_task", json!({"result": "Here."})));
    play_script(home, project, store, script)
}

/// Runs an agent on a script. Returns the id of its session.
fn play_script(home: &Path, project: &Path, store: Option<SessionStore>, script: Script) -> String {
    let records = RecordingOptions::below(home.join("runs"));
    let mut host = RunHost::new([], project, Supervisor::at("/bin/false"), records);
    host.vault = None;
    let model = Arc::new(ScriptedModel::new(script));
    let mut task =
        AgentTask::new(definition("scout"), model, "mock").agents(Arc::new(TwoHelpers), 3);
    if let Some(store) = store {
        task = task.session_files(store);
    }
    let job = Job::gemini(
        &host,
        Config::default(),
        PromptText::Text("Where?".to_owned()),
        "r",
    );
    let mut run = Job {
        agent: task.into_agent(),
        ..job
    }
    .start();
    let mut session = None;
    while let Some(event) = run.blocking_next() {
        let event: Value = serde_json::from_str(&event.to_json()).unwrap();
        session = session.or(event["sessionId"].as_str().map(str::to_owned));
    }
    session.unwrap()
}

fn project_in(home: &Path) -> PathBuf {
    let project = home.join("shop");
    fs::create_dir(&project).unwrap();
    project
}

#[test]
fn a_sub_agent_leaves_a_session_file_where_gemini_cli_keeps_those() {
    let home = TempDir::new().unwrap();
    let project = project_in(home.path());
    let store = SessionStore::new(GeminiHome::at(home.path()));
    let session = play(home.path(), &project, Some(store.clone()));
    let directory = home.path().join(".gemini/tmp/shop");
    let marker = fs::read_to_string(directory.join(".project_root")).unwrap();
    assert_eq!(marker, project.to_str().unwrap());
    assert_eq!(store.project(&project).directory, directory);
    let file = directory.join(format!("chats/{session}/helper-1.jsonl"));
    let bytes = fs::read(&file).unwrap();
    let header: Value =
        serde_json::from_slice(bytes.split(|it| *it == b'\n').next().unwrap()).unwrap();
    assert_eq!(header["kind"], "subagent");
    assert_eq!(header["directories"], json!([project]));
    let log = ReplayedLog::read(&bytes);
    let summary = log.get("summary").unwrap().string().unwrap();
    assert_eq!(*summary, format!("{}...", "h".repeat(197)));
    let mut told = Vec::new();
    let mut options = NormalizeOptions::new("r");
    options.keep_raw = false;
    session_events::events(&log, &options, |event| {
        let event: Value = serde_json::from_str(&event.to_json()).unwrap();
        let words = ["toolName", "text", "callId"]
            .iter()
            .find_map(|key| event[key].as_str());
        told.push(format!(
            "{} {}",
            event["event"].as_str().unwrap(),
            words.unwrap_or_default()
        ));
    });
    let expected = [
        "session_init ",
        "user_input Help.",
        "text Plan: Look first.",
        "tool_invocation look",
        "tool_completion helper-1#0-0",
        "text Helping.",
        "usage_update ",
        "user_input ",
        "tool_invocation complete_task",
        "tool_completion helper-1#1-0",
        "usage_update ",
        "diagnostic ",
    ];
    assert_eq!(told, expected);
    let beside = directory.join("chats/session-x.jsonl");
    assert!(
        SubagentFiles::beside(&beside, &session)
            .read("helper-1")
            .is_some()
    );
    assert!(
        SubagentFiles::beside(&beside, &session)
            .read("../x/helper-1")
            .is_none()
    );
}

#[test]
fn without_a_store_nothing_is_written() {
    let home = TempDir::new().unwrap();
    let project = project_in(home.path());
    play(home.path(), &project, None);
    assert!(!home.path().join(".gemini").exists());
}

#[test]
fn a_store_that_cannot_be_written_does_not_hold_up_the_agent() {
    let home = TempDir::new().unwrap();
    let project = project_in(home.path());
    fs::write(home.path().join(".gemini"), "a file, not a directory").unwrap();
    play(
        home.path(),
        &project,
        Some(SessionStore::new(GeminiHome::at(home.path()))),
    );
}

#[test]
fn the_prompt_shows_the_directories_of_a_workspace_as_a_tree() {
    let home = TempDir::new().unwrap();
    let project = project_in(home.path());
    fs::write(project.join("a.txt"), "").unwrap();
    let told = directory_context(&project);
    let begins = format!("- **Workspace Directories:**\n  - {}\n", project.display());
    assert!(
        told.starts_with(&begins) && told.ends_with("└───a.txt"),
        "{told}"
    );
}

#[test]
fn the_call_of_a_sub_agent_in_a_session_file_names_the_run_of_that_agent() {
    let home = TempDir::new().unwrap();
    let project = project_in(home.path());
    let store = SessionStore::new(GeminiHome::at(home.path()));
    let invoke = |name: &str| {
        let arguments = json!({"agent_name": name, "prompt": "Help."});
        Turn::call("invoke_agent", arguments)
    };
    let done = || Turn::call("complete_task", json!({"result": "Done."}));
    let script = Script::new()
        .stream(invoke("helper"))
        .stream(invoke("deputy"))
        .stream(done())
        .stream(done())
        .stream(done());
    let session = play_script(home.path(), &project, Some(store), script);
    let chats = home.path().join(".gemini/tmp/shop/chats").join(session);
    let log = fs::read_to_string(chats.join("helper-1.jsonl")).unwrap();
    let records = log
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap());
    let calls: Vec<_> = records
        .flat_map(|record| record["toolCalls"].as_array().cloned().unwrap_or_default())
        .filter(|call| call["status"] == "success")
        .map(|call| json!([call["name"], call["agentId"]]))
        .collect();
    let expected = [
        json!(["invoke_agent", "deputy-1"]),
        json!(["complete_task", null]),
    ];
    assert_eq!(calls, expected, "{log}");
}
