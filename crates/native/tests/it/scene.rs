//! A scene: an agent on a scripted model, with toy tools, and all that it did.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use lapidary_gemini::agents::{
    AgentTool, LocalAgentDefinition, OutputConfig, PromptConfig, RunConfig, ToolConfig,
};
use lapidary_native::executor::{
    AgentActivity, AgentDirectory, AgentExecutor, AgentOutcome, AgentRequest,
};
use lapidary_native::model::ScriptedModel;
use lapidary_native::tool::{
    BoxFuture, CallKind, CallPreview, GateAnswer, PermissionGate, PreparedCall, Tool,
    ToolDeclaration, ToolError, ToolOutput,
};
use lapidary_standin::api::{ApiRequest, Script};
use serde_json::{Map, Value, json};
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

pub(crate) struct Scene {
    pub(crate) outcome: AgentOutcome,
    pub(crate) activities: Vec<AgentActivity>,
    pub(crate) requests: Vec<ApiRequest>,
}

/// The means of a scene, which a test changes before it plays.
pub(crate) struct Stage {
    pub(crate) definition: LocalAgentDefinition,
    pub(crate) executor: AgentExecutor,
    pub(crate) model: ScriptedModel,
    pub(crate) cancelled: CancellationToken,
}

impl Stage {
    pub(crate) fn new(script: Script) -> Self {
        let model = ScriptedModel::new(script);
        let names = ["look", "write_file", "slow", "deaf", "big"];
        let tools = names.map(|name| Arc::new(ToyTool::new(name)) as Arc<dyn Tool>);
        Self {
            definition: definition("scout"),
            executor: AgentExecutor {
                tools: tools.to_vec(),
                directory: Some(Arc::new(ToyDirectory)),
                ..AgentExecutor::new(
                    Arc::new(model.clone()),
                    Arc::new(ToyGate::Answers(GateAnswer::Allowed)),
                )
            },
            model,
            cancelled: CancellationToken::new(),
        }
    }

    pub(crate) fn add_tool(&mut self, name: &str) {
        self.executor.tools.push(Arc::new(ToyTool::new(name)));
    }

    pub(crate) async fn play(self) -> Scene {
        let activities = Mutex::new(Vec::new());
        let listener = |activity| activities.lock().unwrap().push(activity);
        let request = request(self.definition);
        let outcome = self
            .executor
            .run(&request, &listener, &self.cancelled)
            .await;
        Scene {
            outcome: outcome.unwrap(),
            activities: activities.into_inner().unwrap(),
            requests: self.model.requests(),
        }
    }
}

impl Scene {
    /// The activity events, each as its type and the member of its data that tells it.
    pub(crate) fn events(&self) -> Vec<String> {
        let events = self.activities.iter().filter_map(AgentActivity::to_event);
        events
            .map(|event| {
                let data = &event["data"];
                let told = ["error", "text", "output", "name"];
                let told = told.iter().find_map(|key| data[key].as_str());
                format!(
                    "{} {}",
                    event["type"].as_str().unwrap(),
                    told.unwrap_or_default()
                )
            })
            .collect()
    }

    /// The parts of the last content of a request.
    pub(crate) fn told(&self, request: usize) -> Vec<Value> {
        let content = self.requests[request].last_content().unwrap();
        assert_eq!(content["role"], "user");
        content["parts"].as_array().unwrap().clone()
    }

    /// The function responses in the last content of a request: `name: output` or `name! error`.
    pub(crate) fn responses(&self, request: usize) -> Vec<String> {
        let parts = self.told(request).into_iter();
        let responses = parts.filter_map(|part| part.get("functionResponse").cloned());
        responses
            .map(|it| {
                let name = it["name"].as_str().unwrap();
                match it["response"]["error"].as_str() {
                    Some(error) => format!("{name}! {error}"),
                    None => format!("{name}: {}", it["response"]["output"].as_str().unwrap()),
                }
            })
            .collect()
    }

    /// Each functionCall of a history has its response in the next content.
    pub(crate) fn check_pairs(&self) {
        for request in &self.requests {
            let contents = request.body["contents"].as_array().unwrap();
            for pair in contents.windows(2) {
                assert_ne!(
                    pair[0]["role"], pair[1]["role"],
                    "roles alternate: {contents:#?}"
                );
                let ids = |content: &Value, kind: &str| -> Vec<String> {
                    let parts = content["parts"].as_array().unwrap().iter();
                    parts
                        .filter_map(|part| part.get(kind)?["name"].as_str().map(str::to_owned))
                        .collect()
                };
                assert_eq!(
                    ids(&pair[0], "functionCall"),
                    ids(&pair[1], "functionResponse")
                );
            }
        }
    }
}

pub(crate) fn definition(name: &str) -> LocalAgentDefinition {
    LocalAgentDefinition {
        name: name.to_owned(),
        description: "Looks around.".to_owned(),
        prompt_config: PromptConfig {
            system_prompt: Some("You are a scout.".to_owned()),
            query: Some("${query}".to_owned()),
            ..PromptConfig::default()
        },
        run_config: RunConfig {
            max_time_minutes: Some(1.0),
            max_turns: Some(5),
        },
        ..LocalAgentDefinition::default()
    }
}

pub(crate) fn tools(names: &[&str]) -> ToolConfig {
    let tools = names.iter().map(|name| AgentTool::Name((*name).to_owned()));
    ToolConfig {
        tools: tools.collect(),
    }
}

pub(crate) fn report_schema() -> OutputConfig {
    OutputConfig {
        output_name: "report".to_owned(),
        description: "The report.".to_owned(),
        schema: json!({
            "type": "object",
            "properties": {"summary": {"type": "string"}, "trace": {"type": "array", "items": {"type": "string"}}},
            "required": ["summary", "trace"],
        }),
    }
}

pub(crate) fn request(definition: LocalAgentDefinition) -> AgentRequest {
    let mut inputs = Map::new();
    inputs.insert("query".to_owned(), "Find it.".into());
    AgentRequest {
        agent_id: format!("{}-1", definition.name),
        definition: Arc::new(definition),
        inputs,
        model: "gemini-2.5-flash".to_owned(),
        today: "2026-11-17".to_owned(),
        environment: Some("/project".to_owned()),
    }
}

/// Knows one agent: `helper`.
#[derive(Debug)]
struct ToyDirectory;

impl AgentDirectory for ToyDirectory {
    fn request(&self, name: &str, prompt: &str, model: &str) -> Option<AgentRequest> {
        let mut request = request(definition("helper"));
        request.inputs.insert("query".to_owned(), prompt.into());
        model.clone_into(&mut request.model);
        (name == "helper").then_some(request)
    }

    fn descriptions(&self) -> Vec<(String, String)> {
        vec![("helper".to_owned(), "Helps.".to_owned())]
    }
}

#[derive(Debug)]
pub(crate) enum ToyGate {
    Answers(GateAnswer),
    AnswersAfter(Duration, GateAnswer),
}

impl PermissionGate for ToyGate {
    fn ask<'a>(&'a self, _: &'a str, _: &'a str, _: &'a CallPreview) -> BoxFuture<'a, GateAnswer> {
        Box::pin(async move {
            match self {
                Self::Answers(answer) => answer.clone(),
                Self::AnswersAfter(time, answer) => {
                    sleep(*time).await;
                    answer.clone()
                }
            }
        })
    }
}

/// `look` answers at once, `write_file` needs permission, `slow` takes `seconds` unless it is cancelled, `deaf` never ends,
/// `big` answers with that many `bytes`.
#[derive(Debug)]
struct ToyTool {
    declaration: ToolDeclaration,
}

impl ToyTool {
    fn new(name: &str) -> Self {
        Self {
            declaration: ToolDeclaration {
                name: name.to_owned(),
                description: String::new(),
                parameters: json!({"type": "object"}),
            },
        }
    }
}

impl Tool for ToyTool {
    fn declaration(&self) -> &ToolDeclaration {
        &self.declaration
    }

    fn instruction(&self) -> Option<String> {
        let is_skills = self.declaration.name == "activate_skill";
        is_skills.then(|| "<available_skills>x</available_skills>".to_owned())
    }

    fn prepare(&self, arguments: &Map<String, Value>) -> Result<Box<dyn PreparedCall>, ToolError> {
        if arguments.contains_key("bad") {
            return Err(ToolError::new(
                "invalid_tool_params",
                "params must NOT be bad",
            ));
        }
        let name = self.declaration.name.clone();
        Ok(Box::new(ToyCall {
            preview: CallPreview {
                title: name.clone(),
                kind: CallKind::Other,
                paths: Vec::new(),
                change: None,
                command: None,
                needs_permission: name == "write_file",
            },
            name,
            arguments: arguments.clone(),
        }))
    }
}

#[derive(Debug)]
struct ToyCall {
    preview: CallPreview,
    name: String,
    arguments: Map<String, Value>,
}

impl PreparedCall for ToyCall {
    fn preview(&self) -> &CallPreview {
        &self.preview
    }

    fn run(self: Box<Self>, cancelled: CancellationToken) -> BoxFuture<'static, ToolOutput> {
        Box::pin(async move {
            match self.name.as_str() {
                "slow" => {
                    let seconds = self.arguments["seconds"].as_u64().unwrap();
                    tokio::select! {
                        () = sleep(Duration::from_secs(seconds)) => ToolOutput::from_text("slept"),
                        () = cancelled.cancelled() => ToolOutput::from_text("woken"),
                    }
                }
                "deaf" => std::future::pending().await,
                "big" => {
                    let bytes = self.arguments["bytes"].as_u64().unwrap();
                    ToolOutput::from_text("x".repeat(usize::try_from(bytes).unwrap()))
                }
                name => ToolOutput::from_text(format!("{name} {}", Value::Object(self.arguments))),
            }
        })
    }
}
