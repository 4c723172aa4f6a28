//! The tools of one agent, chosen from its caller's.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::sync::Arc;

use lapidary_gemini::agents::{AgentTool, COMPLETE_TASK, OutputConfig, ToolConfig};
use serde_json::{Value, json};

use crate::schema;
use crate::tool::{Tool, ToolDeclaration};

/// The tool that calls another agent.
pub const INVOKE_AGENT: &str = "invoke_agent";
/// Tools that an agent never gets, even by `*`.
const NEVER: [&str; 3] = ["update_topic", INVOKE_AGENT, COMPLETE_TASK];

/// The tools of one agent.
#[derive(Debug)]
pub(super) struct ToolSet {
    tools: BTreeMap<String, Arc<dyn Tool>>,
    /// The declarations for the model: raw ones, then tools as the definition names them, `complete_task` last.
    pub(super) declarations: Vec<ToolDeclaration>,
    /// Names that the definition has and the caller does not.
    pub(super) skipped: Vec<String>,
}

impl ToolSet {
    /// The tools that a definition names; all of the caller's if it names none. Raw declarations are shown to the model and
    /// cannot be called. `agents` are the agents that it can call.
    pub(super) fn select_tools(
        callers: &[Arc<dyn Tool>],
        config: Option<&ToolConfig>,
        output: Option<&OutputConfig>,
        agents: Option<&[(String, String)]>,
    ) -> Self {
        let mut tools = BTreeMap::new();
        let mut declarations = Vec::new();
        let mut raw = Vec::new();
        let mut skipped = Vec::new();
        let all = [AgentTool::Name("*".to_owned())];
        let wanted = config.map_or(&all[..], |config| &config.tools);
        for tool in wanted {
            match tool {
                AgentTool::Declaration(declaration) => raw.extend(raw_declarations(declaration)),
                AgentTool::Name(pattern) => {
                    let matching: Vec<_> = matching_tools(callers, pattern).collect();
                    let is_own = [COMPLETE_TASK, INVOKE_AGENT].contains(&pattern.as_str());
                    if matching.is_empty() && !is_pattern(pattern) && !is_own {
                        skipped.push(pattern.clone());
                    }
                    for (name, tool) in matching {
                        if let Entry::Vacant(place) = tools.entry(name) {
                            declarations.push(tool.declaration().clone());
                            place.insert(tool);
                        }
                    }
                }
            }
        }
        declarations.splice(0..0, raw);
        declarations.extend(agents.map(invoke_agent));
        declarations.push(complete_task(output));
        Self {
            tools,
            declarations,
            skipped,
        }
    }

    /// Adds tools that only this agent has.
    pub(super) fn add_tools(&mut self, tools: &[Arc<dyn Tool>]) {
        let complete_task = self.declarations.pop();
        for tool in tools {
            let declaration = tool.declaration().clone();
            let name = declaration.name.clone();
            if self.tools.insert(name, Arc::clone(tool)).is_none() {
                self.declarations.push(declaration);
            }
        }
        self.declarations.extend(complete_task);
    }

    pub(super) fn get(&self, name: &str) -> Option<&Arc<dyn Tool>> {
        self.tools.get(name)
    }
}

fn is_pattern(name: &str) -> bool {
    name.ends_with('*')
}

/// The caller's tools that a name or a pattern (`*`, `mcp_*`, `mcp_<server>_*`) means.
fn matching_tools<'a>(
    callers: &'a [Arc<dyn Tool>],
    pattern: &'a str,
) -> impl Iterator<Item = (String, Arc<dyn Tool>)> + 'a {
    let is_meant = move |name: &str| match pattern.strip_suffix('*') {
        Some(beginning) => name.starts_with(beginning),
        None => name == pattern,
    };
    let names = callers.iter().map(|tool| (&tool.declaration().name, tool));
    let meant = names.filter(move |(name, _)| is_meant(name) && !NEVER.contains(&name.as_str()));
    meant.map(|(name, tool)| (name.clone(), Arc::clone(tool)))
}

/// The declarations of a function, or of a group of functions (`functionDeclarations`, the API's `Tool`). One without a name is none:
/// the API would refuse the whole request.
fn raw_declarations(declaration: &Value) -> Vec<ToolDeclaration> {
    let group = declaration.get("functionDeclarations");
    let group = group.and_then(Value::as_array);
    let all = group.map_or(std::slice::from_ref(declaration), Vec::as_slice);
    let all = all.iter().map(raw_declaration);
    all.filter(|function| !function.name.is_empty()).collect()
}

fn raw_declaration(declaration: &Value) -> ToolDeclaration {
    let text = |key| {
        declaration
            .get(key)
            .and_then(Value::as_str)
            .unwrap_or_default()
    };
    let schemas = ["parametersJsonSchema", "parameters"];
    let schema = schemas.iter().find_map(|key| declaration.get(key));
    ToolDeclaration {
        name: text("name").to_owned(),
        description: text("description").to_owned(),
        parameters: schema.cloned().unwrap_or_else(|| json!({"type": "object"})),
    }
}

/// `invoke_agent`, which names the agents with their descriptions.
fn invoke_agent(agents: &[(String, String)]) -> ToolDeclaration {
    let mut lines = vec!["Hands a task to another agent and returns its result.".to_owned()];
    lines.extend(
        agents
            .iter()
            .map(|(name, about)| format!("* `{name}`: {about}")),
    );
    ToolDeclaration {
        name: INVOKE_AGENT.to_owned(),
        description: lines.join("\n"),
        parameters: json!({
            "type": "object",
            "properties": {
                "agent_name": {"type": "string", "description": "The name of the agent."},
                "prompt": {"type": "string", "description": "The whole task: the agent knows nothing else."},
            },
            "required": ["agent_name", "prompt"],
        }),
    }
}

/// `complete_task`, whose arguments are the agent's result.
fn complete_task(output: Option<&OutputConfig>) -> ToolDeclaration {
    let (name, mut schema) = match output {
        Some(output) => {
            let name = output.output_name.as_str();
            let place = format!("/properties/{name}");
            (name, schema::rebased(&output.schema, &place))
        }
        None => ("result", json!({"type": "string"})),
    };
    let description = output.map_or("", |output| &output.description);
    let description = if description.is_empty() {
        "The final findings, complete: the caller sees nothing else."
    } else {
        description
    };
    if let Some(members) = schema.as_object_mut() {
        members
            .entry("description")
            .or_insert_with(|| description.into());
    }
    ToolDeclaration {
        name: COMPLETE_TASK.to_owned(),
        description:
            "Hands over the final result and ends the task. This is the ONLY way to finish."
                .to_owned(),
        parameters: json!({
            "type": "object",
            "properties": {
                name: schema,
                "wait_for_previous": {
                    "type": "boolean",
                    "description": "Whether this call waits for the calls before it. Default: false, calls run at once.",
                },
            },
            "required": [name],
        }),
    }
}
