//! `invoke_agent`: an agent definition as a run like any other.

use std::sync::Arc;

use lapidary_engine::gemini_cli::PromptText;
use lapidary_engine::headless::Job;
use lapidary_native::mcp_server::{CallAnswer, ServerCall};
use serde_json::{Map, Value};

use super::McpContext;
use super::run_watch::watch_run;
use super::server_job::with_hint;
use crate::agents::{AgentCatalog, TaskRequest};
use crate::prepare::RunOptions;

pub(super) async fn answer_invocation(context: &McpContext, call: ServerCall) -> CallAnswer {
    match job_of_call(context, &call) {
        Ok(job) => watch_run(Job::start(&job), &call).await,
        Err(message) => CallAnswer::from_error(message),
    }
}

fn job_of_call(context: &McpContext, call: &ServerCall) -> Result<Job, String> {
    let name = call.text("agent_name").unwrap_or_default();
    let inputs = call.arguments.get("inputs").and_then(Value::as_object);
    let inputs = inputs.map(input_texts).unwrap_or_default();
    let options = RunOptions {
        own_agent: Some(name.to_owned()),
        ..context.run_options()
    };
    let mut job = context.make_job(&options)?;
    context.pass_bounds(&mut job, &options)?;
    job.prompt = PromptText::Text(call.text("prompt").unwrap_or_default().to_owned());
    let request = TaskRequest {
        inputs: &inputs,
        model: options.config.model.as_deref(),
        ..TaskRequest::new(name)
    };
    let catalog = AgentCatalog::read(&job).map(Arc::new);
    let assigned = catalog.and_then(|catalog| catalog.assign_task(&mut job, &request));
    assigned.map_err(|error| with_hint(error.to_string(), error.hint()))?;
    Ok(job)
}

/// Inputs as a person would write them: texts as they are, lists with commas.
fn input_texts(inputs: &Map<String, Value>) -> Vec<(String, String)> {
    let text = |value: &Value| match value {
        Value::Array(items) => {
            let items: Vec<_> = items.iter().map(plain_text).collect();
            items.join(",")
        }
        other => plain_text(other),
    };
    let inputs = inputs.iter();
    inputs
        .map(|(name, value)| (name.clone(), text(value)))
        .collect()
}

fn plain_text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}
