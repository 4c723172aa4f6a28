//! Hooks of the user's settings at the moments between an agent of ours and its model.

use std::ffi::OsString;
use std::path::Path;
use std::sync::Arc;

use lapidary::agents::{AgentTask, ScriptedModel};
use lapidary::engine::RunHost;
use lapidary::engine::config::Config;
use lapidary::engine::gemini_cli::PromptText;
use lapidary::engine::headless::Job;
use lapidary::engine::process::Supervisor;
use lapidary::engine::recording::RecordingOptions;
use lapidary::gemini::agents::{LocalAgentDefinition, PromptConfig, RunConfig};
use lapidary::standin::api::{ApiRequest, Script, Turn};
use serde_json::{Value, json};
use tempfile::TempDir;

struct Played {
    events: Vec<Value>,
    requests: Vec<ApiRequest>,
}

impl Played {
    /// The hooks that ran, each as its event and decision.
    fn hooks(&self) -> Vec<String> {
        let runs = self.events.iter().filter(|it| it["event"] == "hook_run");
        let told = runs.map(|run| {
            let decision = run["decision"].as_str().unwrap_or("-");
            format!("{} {decision}", run["hookEvent"].as_str().unwrap())
        });
        told.collect()
    }

    fn end(&self) -> &Value {
        self.events.last().unwrap()
    }
}

fn play(script: Script, hooks: &Value) -> Played {
    let home = TempDir::new().unwrap();
    let directory = home.path().join("project");
    std::fs::create_dir_all(directory.join(".gemini")).unwrap();
    let settings = json!({ "hooks": hooks }).to_string();
    std::fs::write(directory.join(".gemini/settings.json"), settings).unwrap();
    let records = RecordingOptions::below(home.path().join("runs"));
    let variables = variables(home.path());
    let mut host = RunHost::new(variables, &directory, Supervisor::at("/bin/false"), records);
    host.vault = None;
    let config = Config {
        trust_workspace: Some(true),
        ..Config::default()
    };
    let model = ScriptedModel::new(script);
    let task = AgentTask::new(definition(), Arc::new(model.clone()), "mock");
    let mut job = Job::gemini(&host, config, PromptText::Text("Where?".to_owned()), "r");
    job.agent = task.into_agent();
    job.speaking.hooks = true;
    let mut run = job.start();
    let mut events = Vec::new();
    while let Some(event) = run.blocking_next() {
        events.push(serde_json::from_str(&event.to_json()).unwrap());
    }
    Played {
        events,
        requests: model.requests(),
    }
}

fn variables(home: &Path) -> Vec<(OsString, OsString)> {
    vec![
        ("HOME".into(), home.into()),
        ("PATH".into(), "/usr/bin:/bin".into()),
    ]
}

fn definition() -> LocalAgentDefinition {
    LocalAgentDefinition {
        name: "scout".to_owned(),
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

/// A hook that always gives this answer.
fn answers(output: &Value) -> Value {
    let command = format!("cat > /dev/null; printf '%s' '{output}'");
    json!([{"hooks": [{"type": "command", "name": "h", "command": command}]}])
}

fn done(result: &str) -> Turn {
    Turn::call("complete_task", json!({ "result": result }))
}

#[test]
fn hooks_of_the_settings_run_around_the_requests_to_the_model() {
    let request = json!({"messages": [{"role": "user", "content": "Here?"}]});
    let hooks = json!({
        "BeforeModel": answers(&json!({"hookSpecificOutput": {"llm_request": request}})),
        "BeforeToolSelection": answers(&json!({"hookSpecificOutput": {"toolConfig": {"mode": "ANY"}}})),
        "AfterModel": answers(&json!({"decision": "allow"})),
    });
    let played = play(Script::new().stream(done("Here.")), &hooks);
    let expected = ["BeforeModel -", "BeforeToolSelection -", "AfterModel allow"];
    assert_eq!(played.hooks(), expected);
    let body = &played.requests[0].body;
    assert_eq!(body["contents"][0]["parts"][0]["text"], "Here?");
    assert_eq!(body["toolConfig"]["functionCallingConfig"]["mode"], "ANY");
    assert_eq!(played.end()["exitCode"], 0, "{:#}", played.end());
    let said = played
        .events
        .iter()
        .map(Value::to_string)
        .collect::<String>();
    assert!(
        !said.contains("do not run"),
        "no hook is out of reach: {said}"
    );
}

#[test]
fn a_hook_that_stops_the_agent_before_its_model_ends_the_run_with_the_hooks_reason() {
    let stop = json!({"continue": false, "stopReason": "not today"});
    let hooks = json!({ "BeforeModel": answers(&stop) });
    let played = play(Script::new().stream(done("Here.")), &hooks);
    assert_eq!(played.requests.len(), 0);
    let end = played.end();
    assert_eq!(
        (&end["cause"], &end["exitCode"]),
        (&json!("permission_denied"), &json!(18))
    );
    assert!(end.to_string().contains("not today"), "{end:#}");
}

#[test]
fn a_hook_that_denies_the_models_answer_fails_the_run() {
    let hooks = json!({ "AfterModel": answers(&json!({"decision": "deny", "reason": "leaks"})) });
    let played = play(Script::new().stream(done("Here.")), &hooks);
    assert_eq!(played.hooks(), ["AfterModel deny"]);
    let end = played.end();
    assert_eq!(end["outcome"], "failed");
    assert!(
        end.to_string()
            .contains("a hook blocked the answer of the model: leaks"),
        "{end:#}"
    );
}
