//! `invoke_agent`: an agent definition as a run like any other.

use std::ffi::OsString;
use std::sync::Arc;

use lapidary_engine::fresh_run;
use lapidary_engine::gemini_cli::PromptText;
use lapidary_engine::headless::Job;
use lapidary_native::mcp_server::{CallAnswer, ServerCall};
use lapidary_normalize::NormalizeOptions;
use serde_json::{Map, Value};

use super::run_watch::watch_run;
use super::{DEPTH_VARIABLE, MAX_DEPTH, McpContext};
use crate::agents::{AgentCatalog, TaskRequest};
use crate::prepare::RunOptions;

pub(super) async fn answer_invocation(context: &McpContext, call: ServerCall) -> CallAnswer {
    match job_of_call(context, &call) {
        Ok(job) => watch_run(Job::start(&job), &call).await,
        Err(message) => CallAnswer::from_error(message),
    }
}

impl McpContext {
    /// The environment of programs that this server starts, unless too many servers are above it already.
    pub(super) fn child_depth_variable(&self) -> Result<(OsString, OsString), String> {
        let depth = self.server_depth();
        if depth >= MAX_DEPTH {
            return Err(format!(
                "agents are {depth} levels deep already: do the task yourself"
            ));
        }
        Ok((DEPTH_VARIABLE.into(), (depth + 1).to_string().into()))
    }
}

fn job_of_call(context: &McpContext, call: &ServerCall) -> Result<Job, String> {
    let name = call.text("agent_name").unwrap_or_default();
    let inputs = call.arguments.get("inputs").and_then(Value::as_object);
    let inputs = inputs.map(input_texts).unwrap_or_default();
    let depth = context.child_depth_variable()?;
    let mut surroundings = context.options.surroundings.clone();
    surroundings.environment.vars.extend([depth]);
    let options = RunOptions {
        events: NormalizeOptions::new(&fresh_run()),
        own_agent: Some(name.to_owned()),
        with_agents: false,
        ..context.options.run.clone()
    };
    let job = options.job(&surroundings, &mut |_| {});
    let mut job = job.map_err(|error| with_hint(error.to_string(), error.hint()))?;
    job.prompt = PromptText::Text(call.text("prompt").unwrap_or_default().to_owned());
    choose_definition(&mut job, name, &inputs)?;
    Ok(job)
}

/// Puts the definition into the job, as `lapidary agents run` does.
fn choose_definition(job: &mut Job, name: &str, inputs: &[(String, String)]) -> Result<(), String> {
    let catalog = AgentCatalog::read(job).map(Arc::new);
    let model = job.config.model.take();
    let request = TaskRequest {
        inputs,
        model: model.as_deref(),
        ..TaskRequest::new(name)
    };
    let task = catalog.and_then(|catalog| catalog.task(job, &request));
    let task = task.map_err(|error| with_hint(error.to_string(), error.hint()))?;
    job.config.timeout = job.config.timeout.or(Some(task.longest_run()));
    job.agent = task.into_agent();
    Ok(())
}

/// Inputs as a person would write them: texts as they are, lists with commas.
fn input_texts(inputs: &Map<String, Value>) -> Vec<(String, String)> {
    let text = |value: &Value| match value {
        Value::String(text) => text.clone(),
        Value::Array(items) => {
            let items: Vec<_> = items.iter().map(plain_text).collect();
            items.join(",")
        }
        other => other.to_string(),
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

pub(super) fn with_hint(message: String, hint: Option<String>) -> String {
    match hint {
        Some(hint) => format!("{message}\nhint: {hint}"),
        None => message,
    }
}
