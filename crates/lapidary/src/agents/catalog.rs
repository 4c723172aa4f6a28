//! The agent definitions of a workspace, as tasks of a job and as agents that a task can call.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use lapidary_engine::config::PermissionMode;
use lapidary_engine::gemini_cli::PromptText;
use lapidary_engine::headless::{CommandSupervision, Job, JobAgent};
use lapidary_engine::hooks::plans_directory;
use lapidary_engine::policy::{PermissionEffect, Rule, Rules};
use lapidary_gemini::agents::{
    AgentDefinition, AgentInputs, AgentRegistry, InputConfig, LocalAgentDefinition,
};
use lapidary_gemini::hooks::nearest;
use lapidary_gemini::setup::Setup;
use lapidary_gemini::{GeminiHome, Vars};
use lapidary_native::a2a::{RemoteAgent, credential_variables};
use lapidary_native::executor::RemoteCall;
use lapidary_native::model::concrete_model;
use lapidary_native::schema;
use lapidary_sessions::SessionStore;
use serde_json::Value;

use super::command_environment::command_environment;
use super::remote::{RemoteAgents, call_by_agent};
use super::{
    AgentDirectory, AgentRequest, AgentTask, AgentTaskError, ModelClient, PromptUse, RemoteTask,
    ToolKit, ToolKitRequest, WorkspaceContext, agent_request, gemini_model, http_settings,
    prompt_input, workspace_context,
};

/// How many agents may be below each other: an agent that a person runs calls others, which call none, as in Gemini CLI.
const MAX_DEPTH: u32 = 2;

/// The variable that trusts a folder for one run.
const TRUST_VARIABLE: &str = "GEMINI_CLI_TRUST_WORKSPACE";

/// The agent definitions of a job's directory.
///
/// ```no_run
/// use std::sync::Arc;
///
/// use lapidary::agents::{AgentCatalog, TaskRequest};
/// use lapidary::prepare::{RunOptions, RunSurroundings};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let options = RunOptions::new(&lapidary::engine::fresh_run()).own_agent("codebase_investigator");
/// let mut job = options.job(&RunSurroundings::of_this_process()?, &mut |warning| eprintln!("{warning}"))?;
/// job.prompt = lapidary::engine::gemini_cli::PromptText::Text("Where is the login?".to_owned());
/// let catalog = Arc::new(AgentCatalog::read(&job)?);
/// let task = catalog.task(&job, &TaskRequest::new("codebase_investigator"))?;
/// job.agent = task.into_agent();
/// let run = job.start();
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct AgentCatalog {
    setup: Setup,
    registry: AgentRegistry,
    variables: BTreeMap<OsString, OsString>,
    main_model: String,
    today: String,
    directory: PathBuf,
    remote: RemoteAgents,
}

/// An agent definition with its arguments: the agent of a job, local or remote.
#[derive(Debug, Clone)]
pub enum DefinitionTask {
    /// It runs in this process.
    Local(Box<AgentTask>),
    /// It runs on another machine, and is called over A2A.
    Remote(RemoteTask),
}

impl DefinitionTask {
    /// The name of its definition.
    pub fn name(&self) -> &str {
        match self {
            Self::Local(task) => task.name(),
            Self::Remote(task) => task.name(),
        }
    }

    /// The longest that it takes.
    pub fn longest_run(&self) -> Duration {
        match self {
            Self::Local(task) => task.longest_run(),
            Self::Remote(task) => task.longest_run(),
        }
    }

    /// The prompt for the job, if the inputs of a remote agent make it.
    pub fn own_prompt(&self) -> Option<&str> {
        match self {
            Self::Local(_) => None,
            Self::Remote(task) => task.own_prompt(),
        }
    }

    /// The agent for a [`Job`].
    pub fn into_agent(self) -> JobAgent {
        match self {
            Self::Local(task) => task.into_agent(),
            Self::Remote(task) => task.into_agent(),
        }
    }
}

/// A task for a definition.
#[derive(Debug, Clone, Default)]
pub struct TaskRequest<'a> {
    /// The name of the definition.
    pub name: &'a str,
    /// The arguments as a person writes them: names with texts.
    pub inputs: &'a [(String, String)],
    /// The part of the job's prompt in it.
    pub prompt_use: PromptUse,
    /// The model, instead of the definition's.
    pub model: Option<&'a str>,
}

impl<'a> TaskRequest<'a> {
    /// A task whose only argument is the prompt.
    pub fn new(name: &'a str) -> Self {
        Self {
            name,
            ..Self::default()
        }
    }
}

impl AgentCatalog {
    /// Reads the definitions of the directory that the job works in. Nothing is written.
    ///
    /// # Errors
    /// There is no home directory.
    pub fn read(job: &Job) -> Result<Self, AgentTaskError> {
        let directory = directory_of(job);
        let mut variables = job.environment.vars.clone();
        if job.config.trust_workspace == Some(true) {
            variables.insert(TRUST_VARIABLE.into(), "true".into());
        }
        let vars = Vars::new(&variables);
        let home = GeminiHome::from_vars(vars, job.environment.home.as_deref());
        let setup = Setup::read(&home.ok_or(AgentTaskError::NoHome)?, &directory, vars);
        let variables = setup.environment(vars);
        let main_model = main_model(&setup, &variables);
        Ok(Self {
            registry: AgentRegistry::load(&setup, &main_model),
            setup,
            variables,
            main_model,
            today: jiff::Zoned::now().date().to_string(),
            directory,
            remote: RemoteAgents::default(),
        })
    }

    /// The task for a job, on the model that the variables name.
    ///
    /// # Errors
    /// The definition does not exist or count, arguments do not fit, or there is no API key.
    pub fn task(
        self: &Arc<Self>,
        job: &Job,
        request: &TaskRequest<'_>,
    ) -> Result<DefinitionTask, AgentTaskError> {
        if let Some(remote) = self.remote_task(request)? {
            return Ok(DefinitionTask::Remote(remote));
        }
        let checked = self.definition_with_inputs(request)?;
        let model = gemini_model(&|name| self.variable_text(name))?;
        let task = self.task_on(job, request, checked, Arc::new(model))?;
        Ok(DefinitionTask::Local(Box::new(task)))
    }

    /// The same on another model client, such as a scripted one.
    ///
    /// # Errors
    /// As [`Self::task`], without those of the model.
    pub fn task_with_model(
        self: &Arc<Self>,
        job: &Job,
        request: &TaskRequest<'_>,
        model: Arc<dyn ModelClient>,
    ) -> Result<DefinitionTask, AgentTaskError> {
        if let Some(remote) = self.remote_task(request)? {
            return Ok(DefinitionTask::Remote(remote));
        }
        let checked = self.definition_with_inputs(request)?;
        let task = self.task_on(job, request, checked, model)?;
        Ok(DefinitionTask::Local(Box::new(task)))
    }

    /// The remote agent of a name that counts; none if there is no such agent or it is local. Nothing is fetched.
    ///
    /// # Errors
    /// A proxy cannot be used.
    pub fn remote_agent(&self, name: &str) -> Result<Option<Arc<RemoteAgent>>, AgentTaskError> {
        let Some(AgentDefinition::Remote(definition)) = self.registry.get_agent(name) else {
            return Ok(None);
        };
        let agent =
            self.remote
                .agent_of_definition(definition, &self.variables, &self.directory)?;
        Ok(Some(agent))
    }

    fn remote_task(&self, request: &TaskRequest<'_>) -> Result<Option<RemoteTask>, AgentTaskError> {
        let Some(agent) = self.remote_agent(request.name)? else {
            return Ok(None);
        };
        let Some(definition) = self.registry.get_agent(request.name) else {
            return Ok(None);
        };
        let inputs = parse_inputs(definition.name(), definition.input_config(), request)?;
        let prompt = match request.prompt_use {
            PromptUse::FillsInput => None,
            PromptUse::Describes => inputs.values().next().and_then(Value::as_str),
        };
        Ok(Some(RemoteTask::new(agent, prompt.map(str::to_owned))))
    }

    fn task_on(
        self: &Arc<Self>,
        job: &Job,
        request: &TaskRequest<'_>,
        (definition, inputs): (LocalAgentDefinition, AgentInputs),
        model: Arc<dyn ModelClient>,
    ) -> Result<AgentTask, AgentTaskError> {
        let supervision = CommandSupervision::new(job.supervisor.clone());
        let included = job.config.include_directories.iter().flatten();
        let included = included.map(|it| job.environment.dir.join(it));
        let plans = self.opened_plans(job)?;
        let kit = ToolKit::new(ToolKitRequest {
            supervision: supervision.clone(),
            environment: self.command_variables(),
            temporary: job.records.root.join(&*job.options.run).join("agent"),
            more_directories: included.chain(plans.clone()).collect(),
            http: http_settings(&|name| self.variable_text(name)),
        });
        let kit = kit.with_skills(&self.setup);
        let directory = directory_of(job);
        if let Err(source) = kit.tools(&directory) {
            return Err(AgentTaskError::Workspace { directory, source });
        }
        let definition = with_model(definition, request.model);
        let directory: Arc<dyn AgentDirectory> = Arc::clone(self) as _;
        let (catalog, mcp_kit) = (Arc::clone(self), kit.clone());
        Ok(AgentTask::new(definition, model, &self.main_model)
            .inputs(inputs)
            .prompt_use(request.prompt_use)
            .supervision(supervision)
            // The directory was there a moment ago; if it is gone now, no tool could do its work.
            .tools(move |directory| kit.tools(directory).unwrap_or_default())
            .agents(directory, MAX_DEPTH)
            .context(move |directory| WorkspaceContext {
                plans_directory: plans.clone(),
                ..workspace_context(&catalog.setup, directory)
            })
            .session_files(SessionStore::new(self.setup.home.clone()))
            .mcp_servers(move |directory| mcp_kit.mcp_settings(directory))
            .today(self.today.clone()))
    }

    /// Puts the task of a definition into a job: its agent, its rule for plans, its time limit.
    ///
    /// # Errors
    /// There is no such definition, or its inputs do not fit.
    pub fn assign_task(
        self: &Arc<Self>,
        job: &mut Job,
        request: &TaskRequest<'_>,
    ) -> Result<(), AgentTaskError> {
        let task = self.task(job, request)?;
        self.permit_plans(job);
        // The agent has a limit of its own, which a shorter one of the run would cut off before its recovery turn.
        job.config.timeout = job.config.timeout.or(Some(task.longest_run()));
        // The model is the task's: there is no session in which it could be set.
        job.config.model = None;
        if let Some(prompt) = task.own_prompt() {
            job.prompt = PromptText::Text(prompt.to_owned());
        }
        job.agent = task.into_agent();
        Ok(())
    }

    /// The variables of commands that agents run: without the credentials of remote agents, under any name.
    fn command_variables(&self) -> BTreeMap<OsString, OsString> {
        let mut variables = command_environment(&self.setup, &self.variables);
        for agent in self.registry.get_all_agents() {
            let remote = agent.as_remote();
            let auth = remote.and_then(|remote| remote.auth.as_ref());
            for name in auth.map(credential_variables).unwrap_or_default() {
                variables.remove(OsStr::new(name));
            }
        }
        variables
    }

    /// Lets the agent of a job that may only plan write plans: Markdown files in the directory of plans, which [`Self::task`]
    /// creates for local agents.
    pub fn permit_plans(&self, job: &mut Job) {
        let plans = self.job_plans_directory(job);
        let Some(plans) = plans.filter(|it| it.is_dir()) else {
            return;
        };
        let spec = format!("edit:{}/*.md", plans.display());
        let rule = Rule::parse_flag(PermissionEffect::Allow, &spec, &job.environment.dir);
        let rules = Rules::new(rule.ok());
        job.speaking.rules = job.speaking.rules.clone().before(rules);
        job.config.confine_write.get_or_insert_default().push(plans);
    }

    /// The directory of plans, if the job may only plan.
    fn job_plans_directory(&self, job: &Job) -> Option<PathBuf> {
        let is_plan = job.config.permission_mode == Some(PermissionMode::Plan);
        is_plan.then(|| plans_directory(&self.setup, None))
    }

    /// The same, made where it is missing: the tools can only reach a directory that is there.
    fn opened_plans(&self, job: &Job) -> Result<Option<PathBuf>, AgentTaskError> {
        let Some(directory) = self.job_plans_directory(job) else {
            return Ok(None);
        };
        match fs::create_dir_all(&directory) {
            Ok(()) => Ok(Some(directory)),
            Err(source) => Err(AgentTaskError::Workspace { directory, source }),
        }
    }

    /// The definition of a task and its arguments, both checked.
    fn definition_with_inputs(
        &self,
        request: &TaskRequest<'_>,
    ) -> Result<(LocalAgentDefinition, AgentInputs), AgentTaskError> {
        let definition = self.local_definition(request.name)?;
        let inputs = parse_inputs(&definition.name, &definition.input_config, request)?;
        Ok((definition, inputs))
    }

    /// The local definition of a name that counts.
    fn local_definition(&self, name: &str) -> Result<LocalAgentDefinition, AgentTaskError> {
        match self.registry.get_agent(name) {
            Some(AgentDefinition::Local(agent)) => Ok(agent.clone()),
            Some(AgentDefinition::Remote(_)) | None => Err(self.missing_agent_error(name)),
        }
    }

    fn missing_agent_error(&self, name: &str) -> AgentTaskError {
        if let Some(found) = self.registry.get_discovered(name) {
            return AgentTaskError::Inactive {
                name: found.definition.name().to_owned(),
                state: found.state.clone(),
            };
        }
        let names = self.registry.discovered().iter();
        let meant = nearest(name, names.map(|agent| agent.definition.name()));
        AgentTaskError::Unknown {
            name: name.to_owned(),
            meant: meant.map(str::to_owned),
        }
    }

    /// The description for a calling model. That of a remote agent is completed from its card, once that was fetched.
    fn description_of(&self, agent: &AgentDefinition) -> String {
        let known = self.remote.known_agent(agent.name());
        let card = known.as_ref().and_then(|agent| agent.known_card());
        card.map_or_else(
            || agent.description().to_owned(),
            |card| card.described(agent.description()),
        )
    }

    fn variable_text(&self, name: &str) -> Option<String> {
        let value = self.variables.get(&OsString::from(name))?;
        value.to_str().map(str::to_owned)
    }
}

impl AgentDirectory for AgentCatalog {
    fn request(&self, name: &str, prompt: &str, model: &str) -> Option<AgentRequest> {
        let definition = with_model(self.local_definition(name).ok()?, None);
        let mut inputs = AgentInputs::new();
        let name = prompt_input(&definition.input_config).unwrap_or("prompt");
        inputs.insert(name.to_owned(), prompt.into());
        let own = definition.model_config.model.clone();
        let own = own.filter(|_| !definition.model_config.is_inherited());
        let model = own.unwrap_or_else(|| model.to_owned());
        Some(agent_request(
            Arc::new(definition),
            inputs,
            &model,
            &self.today,
        ))
    }

    fn remote(&self, name: &str, prompt: &str) -> Option<RemoteCall> {
        let agent = self.remote_agent(name).ok().flatten()?;
        Some(call_by_agent(&agent, prompt))
    }

    fn descriptions(&self) -> Vec<(String, String)> {
        let agents = self.registry.get_all_agents().into_iter();
        agents
            .map(|agent| (agent.name().to_owned(), self.description_of(agent)))
            .collect()
    }
}

/// The directory of a job without links: definitions are acknowledged for it by that path.
fn directory_of(job: &Job) -> PathBuf {
    let directory = job.config.working_dir_in(&job.environment.dir);
    directory.canonicalize().unwrap_or(directory)
}

/// The model that an agent without its own runs on: that of `GEMINI_MODEL`, else of the settings.
fn main_model(setup: &Setup, variables: &BTreeMap<OsString, OsString>) -> String {
    let variable = variables.get(&OsString::from("GEMINI_MODEL"));
    let variable = variable
        .and_then(|name| name.to_str())
        .filter(|it| !it.is_empty());
    let setting = setup.get(&["model", "name"]).and_then(Value::as_str);
    concrete_model(variable.or(setting).unwrap_or("auto")).to_owned()
}

/// The definition on another model, if one is given; a short name becomes the model that it stands for.
fn with_model(mut definition: LocalAgentDefinition, model: Option<&str>) -> LocalAgentDefinition {
    let own = definition.model_config.model.take();
    let model = model.map(str::to_owned).or(own);
    definition.model_config.model = model.map(|model| concrete_model(&model).to_owned());
    definition
}

/// The arguments of a task, each of its type. The prompt counts for the one that it will be.
fn parse_inputs(
    name: &str,
    config: &InputConfig,
    request: &TaskRequest<'_>,
) -> Result<AgentInputs, AgentTaskError> {
    let known = || config.names().into_iter().map(str::to_owned).collect();
    let input = |problem| AgentTaskError::Input {
        name: name.to_owned(),
        problem,
    };
    let mut inputs = AgentInputs::new();
    for (key, text) in request.inputs {
        let value = config.parse_input(key, text).map_err(input)?;
        if inputs.insert(key.clone(), value).is_some() {
            return Err(duplicate_input_error(name, key));
        }
    }
    let mut all = inputs.clone();
    if request.prompt_use == PromptUse::FillsInput {
        let Some(key) = prompt_input(config) else {
            return Err(AgentTaskError::NoPromptInput {
                name: name.to_owned(),
                known: known(),
            });
        };
        if all.insert(key.to_owned(), "…".into()).is_some() {
            return Err(duplicate_input_error(name, key));
        }
    }
    config.validate(&all).map_err(input)?;
    // The executor checks a prompt against the schema, once its text is known.
    if request.prompt_use == PromptUse::Describes {
        schema::check(&config.schema, &Value::Object(all)).map_err(|violations| {
            AgentTaskError::Schema {
                name: name.to_owned(),
                violation: schema::sentence("input", &violations),
            }
        })?;
    }
    Ok(inputs)
}

fn duplicate_input_error(name: &str, input: &str) -> AgentTaskError {
    AgentTaskError::Twice {
        name: name.to_owned(),
        input: input.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use lapidary_gemini::agents::{InputSpec, InputType};

    use super::*;

    fn porter() -> LocalAgentDefinition {
        let inputs = [
            ("from", InputType::String, true),
            ("lines", InputType::Integer, false),
            ("tags", InputType::StringList, false),
        ];
        let inputs = inputs.map(|(name, input_type, is_required)| {
            let spec = InputSpec {
                description: String::new(),
                input_type,
                is_required,
            };
            (name.to_owned(), spec)
        });
        LocalAgentDefinition {
            name: "porter".to_owned(),
            input_config: InputConfig::from_inputs(inputs),
            ..LocalAgentDefinition::default()
        }
    }

    fn parsed(inputs: &[(&str, &str)], prompt_use: PromptUse) -> Result<AgentInputs, String> {
        let inputs: Vec<_> = inputs
            .iter()
            .map(|(name, text)| ((*name).to_owned(), (*text).to_owned()))
            .collect();
        let request = TaskRequest {
            name: "porter",
            inputs: &inputs,
            prompt_use,
            model: None,
        };
        parse_inputs("porter", &porter().input_config, &request).map_err(|error| {
            let hint = error.hint().unwrap_or_default();
            format!("{error}; {hint}")
        })
    }

    #[test]
    fn inputs_have_the_types_of_the_definition() {
        let given = [("from", "a.py"), ("lines", "12"), ("tags", "x, y")];
        let inputs = parsed(&given, PromptUse::Describes).unwrap();
        let expected = serde_json::json!({"from": "a.py", "lines": 12, "tags": ["x", "y"]});
        assert_eq!(Value::Object(inputs), expected);
    }

    #[test]
    fn inputs_that_do_not_fit_are_named_with_the_next_step() {
        use PromptUse::{Describes, FillsInput};
        for (inputs, prompt_use, expected) in [
            (
                &[("lines", "1")][..],
                Describes,
                "agent `porter`: the input `from` is missing; give it with `--input from=…`",
            ),
            (
                &[("from", "a"), ("lines", "many")],
                Describes,
                "agent `porter`: the input `lines` must be a whole number, not this text; `lapidary agents show porter` lists its inputs",
            ),
            (
                &[("from", "a"), ("to", "b")],
                Describes,
                "agent `porter`: there is no input `to`; there are: from, lines, tags; `lapidary agents show porter` lists its inputs",
            ),
            (
                &[("from", "a"), ("from", "b")],
                Describes,
                "agent `porter`: the input `from` is given twice; give each input once: the prompt counts as one",
            ),
            (
                &[],
                FillsInput,
                "agent `porter` takes several inputs and no prompt: from, lines, tags; give them one by one: --input from=… --input lines=… --input tags=…",
            ),
        ] {
            assert_eq!(parsed(inputs, prompt_use).unwrap_err(), expected);
        }
    }

    #[test]
    fn a_short_name_of_a_model_becomes_the_model() {
        let mut definition = porter();
        definition.model_config.model = Some("flash".to_owned());
        let model = |given| with_model(definition.clone(), given).model_config.model;
        assert_eq!(model(None).as_deref(), Some("gemini-3.8-flash"));
        assert_eq!(model(Some("other")).as_deref(), Some("other"));
    }
}
