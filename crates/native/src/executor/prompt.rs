//! The system instruction and the messages before an agent's first turn.

use lapidary_gemini::agents::{AgentInputs, DEFAULT_QUERY, fill_template};
use serde_json::Value;

use super::{AgentError, AgentRequest};
use crate::model::Content;

/// The rules of every agent. Our own words; the points are those of Gemini CLI 0.61.
const RULES: &str = "Rules that always apply:
* You work alone, without a person to ask. Decide yourself, and do not ask questions.
* Use absolute paths, or paths relative to the workspace directory, with every file tool.
* If a call is rejected, accept that, and do not try the same thing in another way.
* Only the arguments of your final `complete_task` call reach your caller. No other text does.";
const COMPLETE_WITH_SCHEMA: &str = "* When the task is done you MUST call `complete_task` with the result in the form of its schema. Without that call the task fails.";
const COMPLETE_WITH_TEXT: &str = "* When the task is done you MUST call `complete_task` with all of your findings as `result`. Without that call the task fails.";

/// The system instruction and the history before the first turn.
pub(super) struct Opening {
    pub(super) system_instruction: Option<String>,
    pub(super) history: Vec<Content>,
}

pub(super) fn opening(request: &AgentRequest) -> Result<Opening, AgentError> {
    let prompt = &request.definition.prompt_config;
    if prompt.system_prompt.is_none() && prompt.initial_messages.is_empty() {
        return Err(AgentError::NoPrompt);
    }
    let inputs = all_inputs(request);
    let history = prompt.initial_messages.iter();
    let history = history.map(|message| filled(message, &inputs));
    let history: Vec<_> = history.collect::<Result<_, _>>()?;
    let system = prompt.system_prompt.as_deref();
    let system = system.map(|text| system_instruction(text, &inputs, request));
    fill_template(prompt.query.as_deref().unwrap_or_default(), &inputs)?;
    Ok(Opening {
        system_instruction: system.transpose()?,
        history: history.iter().map(Content::from_value).collect(),
    })
}

/// The first user message.
pub(super) fn query(request: &AgentRequest) -> String {
    let query = request.definition.prompt_config.query.as_deref();
    let filled = query.map(|text| fill_template(text, &all_inputs(request)).unwrap_or_default());
    let filled = filled.filter(|text| !text.trim().is_empty());
    filled.unwrap_or_else(|| DEFAULT_QUERY.to_owned())
}

/// The inputs, with what every template may name. An optional input that was not given is empty.
fn all_inputs(request: &AgentRequest) -> AgentInputs {
    let mut inputs = request.inputs.clone();
    for name in request.definition.input_config.names() {
        inputs.entry(name).or_insert_with(|| "".into());
    }
    let version = env!("CARGO_PKG_VERSION");
    inputs.insert("cliVersion".to_owned(), version.into());
    inputs.insert("activeModel".to_owned(), request.model.clone().into());
    inputs.insert("today".to_owned(), request.today.clone().into());
    inputs
}

fn system_instruction(
    text: &str,
    inputs: &AgentInputs,
    request: &AgentRequest,
) -> Result<String, AgentError> {
    let mut instruction = fill_template(text, inputs)?;
    if let Some(environment) = &request.environment {
        instruction.push_str("\n\n# Environment Context\n");
        instruction.push_str(environment);
    }
    let ending = match request.definition.output_config {
        Some(_) => COMPLETE_WITH_SCHEMA,
        None => COMPLETE_WITH_TEXT,
    };
    Ok(format!("{instruction}\n\n{RULES}\n{ending}"))
}

/// A message whose texts are filled in.
fn filled(message: &Value, inputs: &AgentInputs) -> Result<Value, AgentError> {
    let mut message = message.clone();
    let parts = message.get_mut("parts").and_then(Value::as_array_mut);
    for part in parts.into_iter().flatten() {
        if let Some(Value::String(text)) = part.get_mut("text") {
            *text = fill_template(text, inputs)?;
        }
    }
    Ok(message)
}
