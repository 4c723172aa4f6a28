//! One run, asked for in one expression.

use std::path::PathBuf;
use std::time::Duration;

use lapidary_engine::config::Config;
use lapidary_engine::conversation::{PermissionPrompt, PromptAttendant};
use lapidary_engine::gemini_cli::PromptText;
use lapidary_engine::headless::Job;
use lapidary_engine::policy::{PermissionEffect, PermissionMode};
use lapidary_engine::run::Run;
use lapidary_engine::{budget::Budget, fresh_run};
use lapidary_gemini::json_schema::JsonSchema;
use lapidary_normalize::DeltaMode;
use tokio::sync::mpsc::UnboundedSender;

use crate::agents::AgentTask;
use crate::demo::DemoAttendance;
use crate::prepare::{ConfigFiles, OutputSchemaSource, PrepareError, RunOptions, RunSurroundings};

/// Asks for a run of an agent on a prompt: Gemini CLI, unless [`RunBuilder::agent`] says otherwise, with the settings of
/// `lapidary.toml` and of the builder.
///
/// ```no_run
/// use std::time::Duration;
///
/// use lapidary::PermissionMode;
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let run = lapidary::run("fix the test")
///     .agent("claude")
///     .permission_mode(PermissionMode::AcceptEdits)
///     .timeout(Duration::from_secs(300))
///     .start()?;
/// # Ok(())
/// # }
/// ```
pub fn run(prompt: impl Into<String>) -> RunBuilder {
    RunBuilder {
        prompt: PromptText::Text(prompt.into()),
        resume: None,
        prompts: None,
        options: RunOptions::new(&fresh_run()),
        surroundings: None,
        own_agent: None,
    }
}

/// A requested run. Nothing is looked up or started before [`Self::start`].
#[derive(Debug, Clone)]
#[must_use = "nothing runs before `start`"]
pub struct RunBuilder {
    prompt: PromptText,
    resume: Option<String>,
    prompts: Option<UnboundedSender<PermissionPrompt>>,
    options: RunOptions,
    surroundings: Option<RunSurroundings>,
    own_agent: Option<AgentTask>,
}

impl RunBuilder {
    /// The agent: a name such as `claude`, or the command line of any agent that speaks ACP.
    pub fn agent(self, agent: impl Into<String>) -> Self {
        self.with_config(|config| config.agent = Some(agent.into()))
    }

    /// An agent of our own instead: a definition with its model and tools, in this process.
    pub fn own_agent(mut self, task: AgentTask) -> Self {
        self.options = self.options.own_agent(task.name());
        self.own_agent = Some(task);
        self
    }

    /// The model.
    pub fn model(self, model: impl Into<String>) -> Self {
        self.with_config(|config| config.model = Some(model.into()))
    }

    /// Sets the permission mode: the answer where no rule matches.
    pub fn permission_mode(self, mode: PermissionMode) -> Self {
        self.with_config(|config| config.permission_mode = Some(mode))
    }

    /// Adds a rule that allows actions, such as `edit:src/**` or `execute:cargo test*`.
    pub fn allow(self, rule: impl Into<String>) -> Self {
        self.with_rule(PermissionEffect::Allow, rule.into())
    }

    /// Adds a rule that denies actions. Denying rules come before allowing ones.
    pub fn deny(self, rule: impl Into<String>) -> Self {
        self.with_rule(PermissionEffect::Deny, rule.into())
    }

    /// Sends each request for permission that no rule decides to a channel, whose reader answers it. Without a channel such a
    /// request is denied, and so is one that the reader drops.
    ///
    /// ```no_run
    /// use lapidary::{PermissionAnswer, PermissionPrompt};
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let (prompts, mut requests) = tokio::sync::mpsc::unbounded_channel::<PermissionPrompt>();
    /// std::thread::spawn(move || {
    ///     while let Some(prompt) = requests.blocking_recv() {
    ///         println!("{}: {:?}", prompt.request.tool_name, prompt.request.content);
    ///         let _ = prompt.reply.send(PermissionAnswer::deny("not today")); // fails if the agent has withdrawn it
    ///     }
    /// });
    /// let run = lapidary::run("fix the test").permission_prompts(prompts).start()?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn permission_prompts(mut self, prompts: UnboundedSender<PermissionPrompt>) -> Self {
        self.options.attendance = DemoAttendance::Attended;
        self.prompts = Some(prompts);
        self
    }

    /// The longest that the run may take. Ten minutes, unless settings say otherwise.
    pub fn timeout(self, time: Duration) -> Self {
        self.with_config(|config| config.timeout = Some(time))
    }

    /// The longest that the agent may be silent.
    pub fn idle_timeout(self, time: Duration) -> Self {
        self.with_config(|config| config.idle_timeout = Some(time))
    }

    /// Limits the tokens, cost, turns and time of the run.
    pub fn budget(self, budget: Budget) -> Self {
        self.with_config(|config| config.budget = Some(budget))
    }

    /// How many times a run may be tried again, where that is safe.
    pub fn retries(self, retries: u32) -> Self {
        self.with_config(|config| config.retries = Some(retries))
    }

    /// Sets the agent's working directory. The default is the settings' one, else the current directory.
    pub fn working_dir(self, directory: impl Into<PathBuf>) -> Self {
        self.with_config(|config| config.working_dir = Some(directory.into()))
    }

    /// Trusts the folder, for this run.
    pub fn trust_workspace(self) -> Self {
        self.with_config(|config| config.trust_workspace = Some(true))
    }

    /// Goes on with a session: `latest`, a number or an id.
    pub fn resume(mut self, session: impl Into<String>) -> Self {
        self.resume = Some(session.into());
        self
    }

    /// A file that goes with the prompt.
    pub fn attach(mut self, file: impl Into<PathBuf>) -> Self {
        self.options.attachments.push(file.into());
        self
    }

    /// The schema that the answer must fit: the result has the answer as `data`, or the run fails with `schema_mismatch`.
    ///
    /// ```no_run
    /// use lapidary::gemini::json_schema::JsonSchema;
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let schema = JsonSchema::parse(r#"{"type": "object", "required": ["title"]}"#)?;
    /// let run = lapidary::run("summarise the last commit").output_schema(schema).start()?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn output_schema(mut self, schema: JsonSchema) -> Self {
        self.options.output_schema = Some(OutputSchemaSource::Schema(schema));
        self
    }

    /// How often the agent may repair an answer that does not fit its schema. Twice, unless it is given.
    pub fn schema_repairs(mut self, repairs: u32) -> Self {
        self.options.schema_repairs = Some(repairs);
        self
    }

    /// Sets how text that arrives in chunks is reported.
    pub fn deltas(mut self, deltas: DeltaMode) -> Self {
        self.options.events.deltas = deltas;
        self
    }

    /// The id of the run, which names its recording. A new one, unless it is given.
    pub fn run_id(mut self, id: &str) -> Self {
        self.options.events.run = id.into();
        self
    }

    /// Records the run in a directory of the caller's.
    pub fn record_dir(mut self, directory: impl Into<PathBuf>) -> Self {
        self.options.record_dir = Some(directory.into());
        self
    }

    /// Keeps nothing of the run.
    pub fn no_record(self) -> Self {
        self.with_config(|config| config.record = Some(false))
    }

    /// Adds settings for which there is no method here. They override the files' settings, but not settings that were given
    /// before.
    pub fn config(mut self, config: Config) -> Self {
        self.options.config = self.options.config.over(config);
        self
    }

    /// Reads no file of settings.
    pub fn no_config_files(mut self) -> Self {
        self.options.config_files = ConfigFiles::None;
        self
    }

    /// Variables, directory and supervisor, where they are not those of this process.
    pub fn surroundings(mut self, surroundings: RunSurroundings) -> Self {
        self.surroundings = Some(surroundings);
        self
    }

    /// The job that this comes to, for callers that want to look at it first.
    pub fn job(self) -> Result<Job, PrepareError> {
        let surroundings = match self.surroundings {
            Some(surroundings) => surroundings,
            None => RunSurroundings::of_this_process()?,
        };
        let mut notices = Vec::new();
        let mut job = self
            .options
            .job(&surroundings, &mut |warning| notices.push(warning))?;
        job.prompt = self.prompt;
        job.resume = self.resume;
        if let Some(prompts) = self.prompts {
            job.speaking.attendant = PromptAttendant::Somebody(prompts);
        }
        job.notices = notices;
        if let Some(task) = self.own_agent {
            job.agent = task.into_agent();
        }
        Ok(job)
    }

    /// Starts the run. An agent that is not installed or cannot start is a run, too: its last event says so.
    pub fn start(self) -> Result<Run, PrepareError> {
        Ok(self.job()?.start())
    }

    fn with_config(mut self, set: impl FnOnce(&mut Config)) -> Self {
        set(&mut self.options.config);
        self
    }

    fn with_rule(mut self, effect: PermissionEffect, rule: String) -> Self {
        self.options.rules.push((effect, rule));
        self
    }
}
