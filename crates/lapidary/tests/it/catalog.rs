//! The built-in agents, run by a person and called by another agent.

use std::sync::Arc;

use lapidary::agents::{AgentCatalog, AgentTaskError, ScriptedModel, TaskRequest};
use lapidary::engine::RunHost;
use lapidary::engine::config::{Config, PermissionMode};
use lapidary::engine::gemini_cli::PromptText;
use lapidary::engine::headless::Job;
use lapidary::engine::process::Supervisor;
use lapidary::engine::recording::RecordingOptions;
use lapidary::normalize::views::activity::ActivityFold;
use lapidary::normalize::views::result::ResultFold;
use lapidary::standin::api::{Script, Turn};
use lapidary::vocab::schema::Published;
use serde_json::{Value, json};
use tempfile::TempDir;

struct Played {
    home: TempDir,
    events: Vec<Value>,
    activity: Vec<Value>,
    result: Value,
    requests: Vec<Value>,
}

/// A job in a project with one file. The directory is to be kept.
fn job(prompt: &str) -> (TempDir, Job) {
    let home = TempDir::new().unwrap();
    let directory = home.path().join("project");
    std::fs::create_dir(&directory).unwrap();
    std::fs::write(directory.join("login.rs"), "fn login() {}\n").unwrap();
    std::fs::create_dir(home.path().join(".gemini")).unwrap();
    std::fs::write(
        home.path().join(".gemini/GEMINI.md"),
        "Logins are secret.\n",
    )
    .unwrap();
    let records = RecordingOptions::below(home.path().join("runs"));
    let vars = [("GEMINI_CLI_HOME".into(), home.path().into())];
    let mut host = RunHost::new(vars, &directory, Supervisor::at("/bin/false"), records);
    host.vault = None;
    let prompt = PromptText::Text(prompt.to_owned());
    let job = Job::gemini(&host, Config::default(), prompt, "r");
    (home, job)
}

fn play(agent: &str, prompt: &str, script: Script) -> Played {
    play_job(job(prompt), agent, script)
}

fn play_job((home, mut job): (TempDir, Job), agent: &str, script: Script) -> Played {
    let catalog = Arc::new(AgentCatalog::read(&job).unwrap());
    let model = ScriptedModel::new(script);
    let task = catalog.task_with_model(&job, &TaskRequest::new(agent), Arc::new(model.clone()));
    job.agent = task.unwrap().into_agent();
    catalog.permit_plans(&mut job);
    let mut run = job.start();
    let (mut fold, mut activities) = (ResultFold::default(), ActivityFold::default());
    let (mut events, mut activity) = (Vec::new(), Vec::new());
    while let Some(event) = run.blocking_next() {
        fold.push(&event);
        let told = activities.push(&event);
        activity.extend(told.map(|told| serde_json::to_value(told).unwrap()));
        events.push(serde_json::from_str(&event.to_json()).unwrap());
    }
    Played {
        home,
        events,
        activity,
        result: serde_json::to_value(fold.finish(false)).unwrap(),
        requests: model.requests().into_iter().map(|it| it.body).collect(),
    }
}

fn tools(request: &Value) -> Vec<&str> {
    let declared = request["tools"][0]["functionDeclarations"].as_array();
    let declared = declared.into_iter().flatten();
    declared.filter_map(|it| it["name"].as_str()).collect()
}

fn report() -> Value {
    let place =
        json!({"FilePath": "login.rs", "Reasoning": "It is there.", "KeySymbols": ["login"]});
    json!({"report": {"SummaryOfFindings": "In login.rs.", "ExplorationTrace": ["ls"], "RelevantLocations": [place]}})
}

#[test]
fn the_codebase_investigator_reads_a_project_and_hands_over_its_report() {
    let script = Script::new()
        .stream(Turn::call("list_directory", json!({"dir_path": "."})))
        .stream(Turn::call("complete_task", report()));
    let played = play("codebase-investigator", "Where is the login?", script);
    let result = &played.result;
    assert_eq!(result["success"], true, "{result:#}");
    assert_eq!(result["output"], report()["report"]);
    let first = played.requests[0].to_string();
    assert!(first.contains("Where is the login?"), "{first}");
    assert!(played.requests[1].to_string().contains("login.rs"));
    assert_eq!(
        tools(&played.requests[0]),
        [
            "list_directory",
            "read_file",
            "glob",
            "grep_search",
            "complete_task"
        ],
        "an agent with some tools cannot reach the others through another agent"
    );
}

#[test]
fn the_help_agent_answers_from_the_documentation_with_its_sources() {
    let answer = json!({"report": {"answer": "Use --deny.", "sources": ["permissions.md", "permissions.md"]}});
    let script = Script::new()
        .stream(Turn::call(
            "get_internal_docs",
            json!({"path": "permissions.md"}),
        ))
        .stream(Turn::call("complete_task", answer));
    let played = play("cli_help", "How do I deny a command?", script);
    let response = played.result["response"].as_str().unwrap();
    assert_eq!(response, "Use --deny.\n\n**Sources:**\n- permissions.md");
    assert!(played.requests[1].to_string().contains("--deny"));
}

#[test]
fn the_generalist_has_all_tools_and_calls_the_investigator() {
    let script = Script::new()
        .stream(Turn::call(
            "invoke_agent",
            json!({"agent_name": "codebase_investigator", "prompt": "Find the login."}),
        ))
        .stream(
            Turn::thought("**Looking** around")
                .and_call("list_directory", json!({"dir_path": "."})),
        )
        .stream(Turn::call("complete_task", report()))
        .stream(Turn::call(
            "complete_task",
            json!({"result": {"response": "Found."}}),
        ));
    let played = play("generalist", "Ask for the login.", script);
    assert_eq!(
        played.result["output"],
        json!({"response": "Found."}),
        "{:#}",
        played.result
    );
    assert_eq!(
        played.result["usage"]["totalTokens"], 440,
        "four requests of both agents"
    );
    let own = tools(&played.requests[0]);
    for tool in ["invoke_agent", "replace", "run_shell_command", "write_file"] {
        assert!(own.contains(&tool), "{tool}: {own:?}");
    }
    assert!(!tools(&played.requests[1]).contains(&"invoke_agent"));
    let told = played.requests[0].to_string();
    assert!(
        told.contains("* `codebase_investigator`: "),
        "the model knows whom it can call"
    );
    let of = |name: &str| {
        played
            .events
            .iter()
            .find(|event| event["event"] == name)
            .unwrap()
    };
    let call = &of("subagent_spawn")["callId"];
    assert_eq!(of("subagent_complete")["status"], "GOAL");
    let inner = played
        .events
        .iter()
        .filter(|event| &event["parentCallId"] == call);
    let inner: Vec<_> = inner.filter_map(|event| event["event"].as_str()).collect();
    for name in [
        "stream_delta",
        "tool_invocation",
        "tool_completion",
        "usage_update",
    ] {
        assert!(inner.contains(&name), "{name}: {inner:?}");
    }
    check_activity(&played.activity);
    assert!(told.contains("Logins are secret."), "the memory is told");
    assert_eq!(
        subagent_files(&played.home),
        1,
        "the investigator's session"
    );
}

/// The session files of sub-agents: each is below the directory of its parent's session.
fn subagent_files(home: &TempDir) -> usize {
    let projects = home.path().join(".gemini/tmp").read_dir().unwrap();
    let chats = projects.filter_map(|project| project.ok()?.path().join("chats").read_dir().ok());
    let sessions = chats
        .flatten()
        .filter_map(|it| it.ok()?.path().read_dir().ok());
    sessions.flatten().count()
}

/// The activity of both agents, each under its own name, as the schema has it.
fn check_activity(activity: &[Value]) {
    let schema = Published::named("activity").unwrap().schema();
    for event in activity {
        let violations = lapidary::native::schema::check(&schema, event);
        assert_eq!(violations, Ok(()), "{event}");
    }
    let told: Vec<_> = activity
        .iter()
        .map(|event| {
            let what = event["data"]["name"]
                .as_str()
                .or(event["data"]["text"].as_str());
            let word = |key: &str| event[key].as_str().unwrap();
            format!("{} {} {}", word("agentName"), word("type"), what.unwrap())
        })
        .collect();
    assert_eq!(
        told,
        [
            "generalist TOOL_CALL_START invoke_agent",
            "codebase_investigator THOUGHT_CHUNK Looking",
            "codebase_investigator TOOL_CALL_START list_directory",
            "codebase_investigator TOOL_CALL_END list_directory",
            "codebase_investigator TOOL_CALL_START complete_task",
            "codebase_investigator TOOL_CALL_END complete_task",
            "generalist TOOL_CALL_END invoke_agent",
            "generalist TOOL_CALL_START complete_task",
            "generalist TOOL_CALL_END complete_task",
        ]
    );
}

#[test]
fn a_failed_call_and_a_failed_run_are_errors_in_the_activity() {
    let script = Script::new()
        .stream(Turn::call(
            "write_file",
            json!({"file_path": "a", "content": "b"}),
        ))
        .stream("No.")
        .stream("No.");
    let played = play("codebase_investigator", "Write.", script);
    let errors = played
        .activity
        .iter()
        .filter(|event| event["type"] == "ERROR");
    let errors: Vec<_> = errors.map(|event| &event["data"]).collect();
    let [call, end] = errors[..] else {
        panic!("{errors:#?}")
    };
    assert_eq!(
        (&call["context"], &call["errorType"], &call["name"]),
        (
            &json!("tool_call_unauthorized"),
            &json!("GENERIC"),
            &json!("write_file")
        )
    );
    assert_eq!(end["context"], "protocol_violation");
}

#[test]
fn a_misspelt_agent_is_an_error_that_names_the_one_that_was_meant() {
    let (_home, job) = job("go");
    let catalog = Arc::new(AgentCatalog::read(&job).unwrap());
    let model = Arc::new(ScriptedModel::new(Script::new()));
    let request = TaskRequest::new("codebase_investigater");
    let error = catalog.task_with_model(&job, &request, model).unwrap_err();
    assert!(matches!(error, AgentTaskError::Unknown { .. }));
    assert_eq!(
        error.hint().as_deref(),
        Some("did you mean `codebase_investigator`?")
    );
}

#[test]
fn in_plan_mode_an_agent_writes_plans_and_nothing_else() {
    let (home, mut job) = job("Plan the login.");
    job.config.permission_mode = Some(PermissionMode::Plan);
    let projects = home.path().canonicalize().unwrap().join(".gemini/tmp");
    let plans = projects.join("project/plans");
    let write = |path: &std::path::Path| json!({"file_path": path, "content": "# Plan\n"});
    let (plan, script, code) = (
        plans.join("login.md"),
        plans.join("login.sh"),
        home.path().join("project/login.rs"),
    );
    let turns = Script::new()
        .stream(
            Turn::call("write_file", write(&plan))
                .and_call("write_file", write(&script))
                .and_call("write_file", write(&code)),
        )
        .stream(Turn::call(
            "complete_task",
            json!({"result": {"response": "Planned."}}),
        ));
    let played = play_job((home, job), "generalist", turns);
    assert_eq!(played.result["success"], true, "{:#}", played.result);
    let told = played.requests[0]["systemInstruction"].to_string();
    assert!(told.contains(plans.to_str().unwrap()), "{told}");
    assert_eq!(std::fs::read_to_string(&plan).unwrap(), "# Plan\n");
    assert!(!script.exists(), "no plan");
    assert_eq!(std::fs::read_to_string(&code).unwrap(), "fn login() {}\n");
}
