//! An agent of our own on a scripted model: no account, nothing installed.
//!
//! `cargo run -p lapidary --example agent`

use std::io::Write as _;
use std::process::ExitCode;
use std::sync::Arc;

use lapidary::Body;
use lapidary::agents::{AgentTask, ScriptedModel};
use lapidary::gemini::agents::{LocalAgentDefinition, PromptConfig};
use lapidary::standin::api::{Script, Turn};
use serde_json::json;

fn main() -> Result<ExitCode, Box<dyn std::error::Error>> {
    if let Some(exit) = lapidary::supervise_if_asked() {
        return Ok(exit);
    }
    let definition = LocalAgentDefinition {
        name: "greeter".to_owned(),
        description: "Greets.".to_owned(),
        prompt_config: PromptConfig {
            system_prompt: Some("Greet the user.".to_owned()),
            query: Some("${query}".to_owned()),
            ..PromptConfig::default()
        },
        ..LocalAgentDefinition::default()
    };
    // With `lapidary::agents::gemini_model` in its place, a real model answers.
    let answer = Turn::thought("**Greeting** the user")
        .and_call("complete_task", json!({"result": "Good morning."}));
    let script = Script::new().stream(answer);
    let model = Arc::new(ScriptedModel::new(script));
    let mut run = lapidary::run("hello")
        .own_agent(AgentTask::new(definition, model, "mock"))
        .no_record()
        .start()?;
    let mut out = std::io::stdout();
    while let Some(event) = run.blocking_next() {
        writeln!(out, "{}", event.to_json())?;
        if let Body::RunEnd(end) = event.body {
            return Ok(ExitCode::from(end.exit_code));
        }
    }
    Ok(ExitCode::FAILURE)
}
