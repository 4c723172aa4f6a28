//! Agents of our own, run as any agent is: events, endings and results.

use std::sync::Arc;

use lapidary::Body;
use lapidary::agents::{AgentDirectory, AgentRequest, AgentTask, ScriptedModel};
use lapidary::engine::config::Config;
use lapidary::engine::gemini_cli::PromptText;
use lapidary::engine::headless::Job;
use lapidary::engine::process::Supervisor;
use lapidary::engine::recording::RecordingOptions;
use lapidary::engine::{RunHost, budget::Budget};
use lapidary::gemini::agents::{LocalAgentDefinition, PromptConfig, RunConfig};
use lapidary::normalize::views::result::ResultFold;
use lapidary::standin::api::{AfterScript, ApiError, ReportedUsage, Script, Turn};
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
        run_config: RunConfig {
            max_time_minutes: Some(1.0),
            max_turns: Some(3),
        },
        ..LocalAgentDefinition::default()
    }
}

/// Knows one agent: `helper`.
#[derive(Debug)]
struct OneHelper;

impl AgentDirectory for OneHelper {
    fn request(&self, name: &str, prompt: &str, model: &str) -> Option<AgentRequest> {
        let mut inputs = serde_json::Map::new();
        inputs.insert("query".to_owned(), prompt.into());
        (name == "helper").then(|| AgentRequest {
            definition: Arc::new(definition("helper")),
            inputs,
            model: model.to_owned(),
            agent_id: "helper-1".to_owned(),
            today: String::new(),
            environment: None,
        })
    }
}

struct Played {
    events: Vec<Value>,
    result: Value,
}

impl Played {
    fn all(&self, name: &str) -> Vec<&Value> {
        let events = self.events.iter();
        events.filter(|event| event["event"] == name).collect()
    }
}

fn play(script: Script, budget: Budget) -> Played {
    let home = TempDir::new().unwrap();
    let directory = home.path().join("project");
    std::fs::create_dir(&directory).unwrap();
    let records = RecordingOptions::below(home.path().join("runs"));
    let mut host = RunHost::new([], &directory, Supervisor::at("/bin/false"), records);
    host.vault = None;
    let config = Config {
        budget: Some(budget),
        ..Config::default()
    };
    let task = AgentTask::new(
        definition("scout"),
        Arc::new(ScriptedModel::new(script)),
        "mock",
    );
    let agent = task.agents(Arc::new(OneHelper), 2).into_agent();
    let job = Job::gemini(&host, config, PromptText::Text("Where?".to_owned()), "r");
    let mut run = Job { agent, ..job }.start();
    let (mut events, mut fold) = (Vec::new(), ResultFold::default());
    while let Some(event) = run.blocking_next() {
        fold.push(&event);
        let is_end = matches!(event.body, Body::RunEnd(_));
        events.push(serde_json::from_str(&event.to_json()).unwrap());
        assert!(!is_end || run.blocking_next().is_none(), "nothing follows");
    }
    let result = serde_json::to_value(fold.finish(false)).unwrap();
    Played { events, result }
}

fn done(result: &str) -> Turn {
    Turn::call("complete_task", json!({ "result": result }))
}

#[test]
fn a_task_of_an_agent_of_ours_is_a_run_like_any_other() {
    let played = play(Script::new().stream(done("Here.")), Budget::default());
    let result = &played.result;
    assert_eq!(
        (
            &result["success"],
            &result["response"],
            &result["terminateReason"],
            &result["output"]
        ),
        (
            &json!(true),
            &json!("Here."),
            &json!("GOAL"),
            &json!("Here.")
        )
    );
    assert_eq!(result.get("recoveredFrom"), None);
    assert_eq!(played.events.last().unwrap()["exitCode"], 0);
    assert_eq!(played.events[0]["provider"], "lapidary");
    assert_eq!(result["usage"]["totalTokens"], 110);
}

#[test]
fn a_sub_agent_is_spawned_works_in_its_call_and_completes() {
    let script = Script::new()
        .stream(Turn::call(
            "invoke_agent",
            json!({"agent_name": "helper", "prompt": "Help."}),
        ))
        .stream(
            Turn::thought("hm")
                .and_text("Helping.")
                .and_call("complete_task", json!({"result": "helped"})),
        )
        .stream(done("Here."));
    let played = play(script, Budget::default());
    let [spawn] = played.all("subagent_spawn")[..] else {
        panic!("one: {:#?}", played.events)
    };
    let call = spawn["callId"].as_str().unwrap();
    assert_eq!(
        (&spawn["agentType"], &spawn["description"]),
        (&json!("helper"), &json!("Help."))
    );
    let [complete] = played.all("subagent_complete")[..] else {
        panic!("one")
    };
    assert_eq!(complete["callId"], call);
    assert_eq!(
        (&complete["status"], &complete["summary"]),
        (&json!("GOAL"), &json!("helped"))
    );
    let inner: Vec<_> = played
        .events
        .iter()
        .filter(|event| event["parentCallId"] == call)
        .collect();
    for (name, least) in [
        ("stream_delta", 4),
        ("tool_invocation", 1),
        ("tool_completion", 1),
        ("usage_update", 1),
    ] {
        let count = inner.iter().filter(|event| event["event"] == name).count();
        assert!(count >= least, "{count} of {name}: {inner:#?}");
    }
    assert!(inner.iter().any(|event| event["textDelta"] == "Helping."));
    assert_eq!(played.result["response"], "Here.", "not the helper's words");
    assert_eq!(played.result["texts"], json!(["Here."]));
    assert_eq!(
        played.result["usage"]["totalTokens"], 330,
        "the helper's tokens count"
    );
}

#[test]
fn tokens_of_a_sub_agent_count_in_the_budget() {
    let much = ReportedUsage {
        prompt: 5000,
        ..ReportedUsage::default()
    };
    let script = Script::new()
        .stream(Turn::call(
            "invoke_agent",
            json!({"agent_name": "helper", "prompt": "Help."}),
        ))
        .stream(Turn::call("look", json!({})).usage(much))
        .stream(Turn::text("late").hang());
    let budget = Budget {
        tokens: Some(4000),
        ..Budget::default()
    };
    let played = play(script, budget);
    assert_eq!(played.result["cause"], "budget");
    assert_eq!(played.result["exitCode"], 17);
}

#[test]
fn each_way_a_task_ends_has_its_cause_and_exit_code() {
    for (script, cause, exit, reason) in [
        (
            Script::new()
                .stream(Turn::call("look", json!({})))
                .after(AfterScript::Repeat),
            "max_turns",
            17,
            "MAX_TURNS",
        ),
        (
            Script::new().stream("Hm.").stream("Hm."),
            "no_result",
            15,
            "ERROR_NO_COMPLETE_TASK_CALL",
        ),
        (
            Script::new().stream(ApiError::invalid_key()),
            "auth_required",
            11,
            "ERROR",
        ),
        (
            Script::new().stream(ApiError::daily_quota_exhausted()),
            "quota_terminal",
            16,
            "ERROR",
        ),
        (
            Script::new().stream(ApiError::new(404)),
            "api_error",
            1,
            "ERROR",
        ),
    ] {
        let played = play(script, Budget::default());
        let result = &played.result;
        assert_eq!(
            (
                &result["cause"],
                &result["exitCode"],
                &result["terminateReason"]
            ),
            (&json!(cause), &json!(exit), &json!(reason)),
            "{:#?}",
            played.events.last()
        );
        assert_eq!(played.all("run_end").len(), 1);
    }
}

#[test]
fn a_recovered_task_is_a_success_that_says_so() {
    let script = Script::new().stream("Hm.").stream(done("Partly."));
    let result = play(script, Budget::default()).result;
    assert_eq!(
        (
            &result["success"],
            &result["terminateReason"],
            &result["recoveredFrom"]
        ),
        (
            &json!(true),
            &json!("GOAL"),
            &json!("ERROR_NO_COMPLETE_TASK_CALL")
        )
    );
}
