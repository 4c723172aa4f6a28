//! The system instruction and the messages before an agent's first turn.

use lapidary_gemini::agents::{AgentInputs, DEFAULT_QUERY, fill_template};
use serde_json::Value;

use super::{AgentError, AgentRequest, WorkspaceContext};
use crate::model::Content;

/// The rules of every agent. Our own words; the points are those of Gemini CLI 0.61.
const RULES: &str = "Rules that always apply:
* You work alone, without a person to ask. Decide yourself, and do not ask questions.
* Use absolute paths, or paths relative to the workspace directory, with every file tool.
* If a call is rejected, accept that, and do not try the same thing in another way.
* Only the arguments of your final `complete_task` call reach your caller. No other text does.";
/// The beginning of the list of skills.
const SKILLS: &str = "# Available Agent Skills

Each skill has instructions for a kind of task. Call `activate_skill` with the name of a skill to read them.";
/// The beginning of the user's memory.
const MEMORY: &str = "# Contextual Instructions
The user wrote the following for every project. Follow it, unless the project or this task says otherwise.";
/// The beginning of the limits of plan mode.
const PLAN_MODE: &str = "# Execution Constraints
The user plans. You can change no file but plans, which are Markdown files in this directory:";
const COMPLETE_WITH_SCHEMA: &str = "* When the task is done you MUST call `complete_task` with the result in the form of its schema. Without that call the task fails.";
const COMPLETE_WITH_TEXT: &str = "* When the task is done you MUST call `complete_task` with all of your findings as `result`. Without that call the task fails.";

/// The system instruction and the history before the first turn.
pub(super) struct TaskOpening {
    pub(super) system_instruction: Option<String>,
    pub(super) history: Vec<Content>,
}

pub(super) fn chat_opening(
    request: &AgentRequest,
    context: &WorkspaceContext,
    skills: Option<&String>,
) -> Result<TaskOpening, AgentError> {
    let prompt = &request.definition.prompt_config;
    if prompt.system_prompt.is_none() && prompt.initial_messages.is_empty() {
        return Err(AgentError::NoPrompt);
    }
    let inputs = all_inputs(request);
    let history = prompt.initial_messages.iter();
    let history = history.map(|message| filled_message(message, &inputs));
    let history: Vec<_> = history.collect::<Result<_, _>>()?;
    let system = prompt.system_prompt.as_deref();
    let system = system.map(|text| {
        let instruction = fill_template(text, &inputs)?;
        Ok::<_, AgentError>(system_instruction(instruction, request, context, skills))
    });
    fill_template(prompt.query.as_deref().unwrap_or_default(), &inputs)?;
    Ok(TaskOpening {
        system_instruction: system.transpose()?,
        history: history.iter().map(Content::from_value).collect(),
    })
}

/// The note for the model that the person wants these agents. Gemini CLI 0.61 has one at the same place, in other words.
pub(super) fn mention_note(agents: &[String]) -> String {
    let agents: Vec<_> = agents.iter().map(|name| format!("`{name}`")).collect();
    let agents = agents.join(", ");
    format!(
        "\n<system_note>\nThe user has selected agents for this task: {agents}. Call `invoke_agent` with each of them.\n</system_note>\n"
    )
}

/// The query of a request, filled in.
pub(super) fn filled_query(request: &AgentRequest) -> String {
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

/// The parts and their order are those of Gemini CLI 0.61.
fn system_instruction(
    instruction: String,
    request: &AgentRequest,
    context: &WorkspaceContext,
    skills: Option<&String>,
) -> String {
    let environment = request.environment.as_ref();
    let environment = environment.or(context.environment.as_ref());
    let is_there = |text: &&String| !text.is_empty();
    let memory = Some(&context.global_memory).filter(is_there);
    let plans = context.plans_directory.as_ref();
    let parts = [
        Some(instruction),
        skills
            .filter(is_there)
            .map(|list| format!("{SKILLS}\n\n{list}")),
        memory.map(|text| format!("{MEMORY}\n\n<loaded_context>\n{text}\n</loaded_context>")),
        environment.map(|text| format!("# Environment Context\n{text}")),
        plans.map(|directory| format!("{PLAN_MODE} `{}`", directory.display())),
    ];
    let instruction = parts.into_iter().flatten().collect::<Vec<_>>();
    let instruction = instruction.join("\n\n");
    let ending = match request.definition.output_config {
        Some(_) => COMPLETE_WITH_SCHEMA,
        None => COMPLETE_WITH_TEXT,
    };
    format!("{instruction}\n\n{RULES}\n{ending}")
}

/// A message whose texts are filled in.
fn filled_message(message: &Value, inputs: &AgentInputs) -> Result<Value, AgentError> {
    let mut message = message.clone();
    let parts = message.get_mut("parts").and_then(Value::as_array_mut);
    for part in parts.into_iter().flatten() {
        if let Some(Value::String(text)) = part.get_mut("text") {
            *text = fill_template(text, inputs)?;
        }
    }
    Ok(message)
}
