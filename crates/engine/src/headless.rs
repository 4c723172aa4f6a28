//! Turns a [`Job`] into a [`RunRequest`]: find the agent, lay out its arguments, hand the prompt over.

mod acp_job;
mod agent_setup;
mod job_agent;
mod job_confinement;
mod job_hooks;
mod job_sessions;
mod own_policy;
mod permissions;
mod problem;
mod screen_job;
mod settings_layer;
mod stream_job;
mod supervision;

use std::ffi::OsString;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use lapidary_gemini::trust::Trust;
use lapidary_gemini::{GeminiHome, Vars};
use lapidary_normalize::NormalizeOptions;
use lapidary_vocab::Json;
use lapidary_wire::lines::DEFAULT_LIMIT;

use crate::budget::Budget;
use crate::config::{Config, PermissionMode};
use crate::conversation::{self, Conversation, PromptAttendant};
use crate::detect::{self, FoundProgram, SearchEnvironment};
use crate::gemini_cli::{
    self, GeminiInvocation, GeminiLaunch, OutputTransport, PromptDelivery, PromptText, StdinContent,
};
use crate::output_schema::OutputSchema;
use crate::policy::Rules;
use crate::process::{Command, Supervisor, enter};
use crate::recording::{self, PromptDirectory, RecordError};
use crate::run::{
    GEMINI_DOCUMENT, GEMINI_STREAM, RecordingOptions, RefusedRun, Run, RunRequest, RunTimeouts,
    StreamDialect,
};
use crate::session_guard::ResumeTarget;
use crate::{RunHost, fresh_run};

use acp_job::{ChosenTransport, ModeFlexibility};
pub use job_agent::{InProcessAgent, JobAgent, RemoteAgent};
pub use permissions::state_directories;
pub use problem::JobError;
pub use screen_job::ScreenJob;
pub use settings_layer::settings_layer_obstacle;
pub use supervision::CommandSupervision;

/// A run as the user asks for it.
#[derive(Debug, Clone)]
pub struct Job {
    /// Which agent.
    pub agent: JobAgent,
    /// How it is to run.
    pub config: Config,
    /// The prompt.
    pub prompt: PromptText,
    /// The session to continue: `latest`, a number or an id.
    pub resume: Option<String>,
    /// The id that a new session gets.
    pub session_id: Option<String>,
    /// Arguments for the agent, passed on behind ours.
    pub extra_args: Vec<OsString>,
    /// The variables that the agent inherits, and where the caller is.
    pub environment: SearchEnvironment,
    /// The program that supervises it.
    pub supervisor: Supervisor,
    /// Where it is recorded.
    pub records: RecordingOptions,
    /// The options for translating its output, with the run's id.
    pub options: NormalizeOptions,
    /// Notices for the reader, sent before the agent's first event.
    pub notices: Vec<String>,
    /// Whether the agent's bytes are handed on too.
    pub with_bytes: bool,
    /// The longest line that is translated whole.
    pub max_line: usize,
    /// Options of a conversation over ACP.
    pub speaking: AcpOptions,
    /// Where sessions are kept safe while the agent runs. None to leave them to it.
    pub vault: Option<PathBuf>,
    /// The schema that the answer must fit.
    pub output_schema: Option<OutputSchema>,
}

/// Options of a conversation over ACP. Gemini CLI without ACP takes the MCP servers, too.
#[derive(Debug, Clone, Default)]
pub struct AcpOptions {
    /// Rules that come before the rules of the configuration.
    pub rules: Rules,
    /// Content blocks that belong to the prompt, as the protocol's schema has them.
    pub attachments: Vec<Json>,
    /// MCP servers that the agent is to use, as the protocol's schema has them.
    pub mcp_servers: Vec<Json>,
    /// Whether the hooks of Gemini's settings are fired around the agent.
    pub hooks: bool,
    /// The method by which to log in, should that be needed.
    pub auth_method: Option<String>,
    /// The person or client that answers where the policy asks.
    pub attendant: PromptAttendant,
}

impl Job {
    /// A job for Gemini CLI, with nothing special about it.
    pub fn gemini(host: &RunHost, config: Config, prompt: PromptText, run: &str) -> Self {
        Self {
            agent: JobAgent::Gemini,
            config,
            prompt,
            resume: None,
            session_id: None,
            extra_args: Vec::new(),
            environment: host.environment.clone(),
            supervisor: host.supervisor.clone(),
            records: host.records.clone(),
            options: NormalizeOptions::new(run),
            notices: Vec::new(),
            with_bytes: false,
            max_line: DEFAULT_LIMIT,
            speaking: AcpOptions::default(),
            vault: host.vault.clone(),
            output_schema: None,
        }
    }

    /// Starts it. A job that cannot be run is a run too: it has ended already, with the reason.
    pub fn start(&self) -> Run {
        let started = match self.chosen_transport() {
            Ok(ChosenTransport::Spoken(reason)) => self
                .conversation_request(reason)
                .map(|(conversation, errand)| conversation::run(conversation, errand)),
            Ok(ChosenTransport::Headless(reason)) => self.headless_request(reason).map(Run::start),
            Err(error) => Err(error),
        };
        started.unwrap_or_else(|error| self.refused(&error))
    }

    /// A run that is over already. It is recorded as others are.
    pub fn refused(&self, error: &JobError) -> Run {
        let mut records = self.records.clone();
        records.keep = self.config.record.unwrap_or(records.keep);
        let refused = RefusedRun {
            records,
            agent: self.agent.name().to_owned(),
            directory: self.config.working_dir_in(&self.environment.dir),
            prompt: match &self.prompt {
                PromptText::Text(text) => Some(text.clone()),
                PromptText::File(_) => None,
            },
        };
        let provider = self.agent.provider();
        Run::refused(&self.options, provider, &error.into(), Some(&refused))
    }

    /// Starts the agent and keeps it: see [`conversation::connect`].
    pub fn connect(&self) -> Result<Conversation, JobError> {
        let mut request = self.talk_to(ModeFlexibility::Possible)?;
        // A connection has no time limit unless the user configures one.
        request.run.timeouts.total = self.config.timeout;
        request.attendant = PromptAttendant::Peer;
        self.confine_talk(&mut request)?;
        if let Some(safekeeping) = &mut request.run.safekeeping {
            safekeeping.resume = ResumeTarget::Any;
        }
        Ok(conversation::connect(request))
    }

    /// The request for a run without ACP.
    pub fn request(&self) -> Result<RunRequest, JobError> {
        self.headless_request(None)
    }

    fn headless_request(&self, reason: Option<String>) -> Result<RunRequest, JobError> {
        let directory = self.check()?;
        // The agent runs the hooks itself and knows which folders it trusts, but it goes on without hook files that it cannot
        // read.
        if self.speaking.hooks {
            self.hook_setup(&directory)?;
        }
        let mut request = match (&self.agent, self.stream_agent()) {
            (JobAgent::Gemini, _) => self.for_gemini()?,
            (_, Some(own)) => self.for_own_stream(own)?,
            (JobAgent::Acp(_) | JobAgent::InProcess(_) | JobAgent::Remote(_), None) => {
                return Err(JobError::OnlyAcp {
                    agent: self.agent.name().to_owned(),
                });
            }
        };
        request.notices.extend(reason);
        self.mark_request(&mut request);
        let attendant = &self.speaking.attendant;
        self.confine_run(&mut request, attendant)?;
        Ok(request)
    }

    /// The checks before any file is written: whether the run can be recorded, and where the agent works. A recording that
    /// another run creates in between is found when ours begins.
    fn check(&self) -> Result<PathBuf, JobError> {
        let run = &self.options.run;
        if !recording::is_name(run) {
            let run = run.to_string();
            return Err(RecordError::Name { run }.into());
        }
        if self.records.root.join(&**run).symlink_metadata().is_ok() {
            return Err(self.run_exists_error().into());
        }
        let directory = self.config.working_dir_in(&self.environment.dir);
        match enter(&directory) {
            Ok(()) => Ok(directory),
            Err(source) => Err(JobError::Directory { directory, source }),
        }
    }

    fn mark_request(&self, request: &mut RunRequest) {
        request.command.envs([("LAPIDARY_RUN", &*self.options.run)]);
        // Two runs may have the same name, in different directories of recordings. The processes of a run are found by its
        // mark, so each run has a mark of its own.
        request.command.mark("LAPIDARY_MARK", fresh_run());
    }

    fn for_gemini(&self) -> Result<RunRequest, JobError> {
        let found = detect::gemini(&self.environment)?;
        self.check_trust(&found)?;
        let mut config = self.config.clone();
        let mut prompt = self.prompt_with_schema()?;
        let mut notices = Vec::new();
        let mut prompt_directory = None;
        let resume = self.resumed_session()?;
        let invocation = loop {
            let launch = GeminiLaunch {
                config: &config,
                dir: &self.environment.dir,
                prompt,
                resume: resume.as_deref(),
                session_id: self.session_id.as_deref(),
                extra_args: &self.extra_args,
                version: found.version.as_ref(),
            };
            let prepared = gemini_cli::prepare(&launch).inspect_err(|_| {
                // No agent will read the prompt file.
                prompt_directory.iter().for_each(PromptDirectory::discard);
            });
            match prepared? {
                PromptDelivery::Ready(invocation) => break invocation,
                PromptDelivery::NeedsFile { text, notice } => {
                    let written = self.write_prompt(&text)?;
                    let included = config.include_directories.get_or_insert_default();
                    included.push(written.path().to_owned());
                    prompt = PromptText::File(written.file());
                    prompt_directory = Some(written);
                    notices.push(notice);
                }
            }
        };
        let version = found.version.clone();
        let mut request = self.request_for_invocation(found.path, invocation, notices);
        request.prompt_directory = prompt_directory;
        self.deny_by_policy(&mut request, version.as_ref())?;
        self.add_settings_layer(&mut request)?;
        Ok(request)
    }

    /// The prompt, with the schema of its answer at the end.
    fn prompt_with_schema(&self) -> Result<PromptText, JobError> {
        let Some(schema) = &self.output_schema else {
            return Ok(self.prompt.clone());
        };
        let text = self.prompt_text()?;
        let text = format!("{text}\n\n{}", schema.clone().without_tool().instructions());
        Ok(PromptText::Text(text))
    }

    /// Asks before the agent does, because it takes two seconds to refuse. Where there is any doubt, it decides itself.
    fn check_trust(&self, found: &FoundProgram) -> Result<(), JobError> {
        let vouched = self.config.trust_workspace == Some(true);
        let asks = gemini_cli::version_has(found.version.as_ref(), gemini_cli::TRUST);
        if vouched || !asks || gemini_cli::skips_trust(&self.extra_args) {
            return Ok(());
        }
        let directory = self.config.working_dir_in(&self.environment.dir);
        let vars = Vars::new(&self.environment.vars);
        let Some(home) = GeminiHome::from_vars(vars, self.environment.home.as_deref()) else {
            return Ok(());
        };
        match Trust::for_folder(&directory, &home, vars) {
            Trust::Untrusted(reason) => Err(JobError::Untrusted { directory, reason }),
            Trust::Trusted(_) | Trust::Unknown(_) => Ok(()),
        }
    }

    fn request_for_invocation(
        &self,
        program: PathBuf,
        invocation: GeminiInvocation,
        mut notices: Vec<String>,
    ) -> RunRequest {
        let mut command = Command::new(program, invocation.dir);
        command
            .args(invocation.args)
            .envs(self.environment.vars.clone());
        command.envs(invocation.env);
        let input = match invocation.stdin {
            StdinContent::Empty => Vec::new(),
            StdinContent::Text(text) => text.into_bytes(),
        };
        let dialect = match invocation.transport {
            OutputTransport::StreamJson => &GEMINI_STREAM,
            OutputTransport::Json => &GEMINI_DOCUMENT,
        };
        notices.extend(invocation.notices);
        self.request_for_command(command, input, dialect, notices)
    }

    fn request_for_command(
        &self,
        command: Command,
        input: Vec<u8>,
        dialect: &'static StreamDialect,
        notices: Vec<String>,
    ) -> RunRequest {
        let config = &self.config;
        let usual = RunTimeouts::default();
        let mut options = self.normalize_options();
        options.directory = command.directory().to_str().map(Arc::from);
        let mut records = self.records.clone();
        records.keep = config.record.unwrap_or(records.keep);
        records.max_output = config.max_output.unwrap_or(records.max_output);
        RunRequest {
            run: self.options.run.to_string(),
            agent: self.agent.name().to_owned(),
            command,
            replay: None,
            input,
            dialect,
            supervisor: self.supervisor.clone(),
            timeouts: RunTimeouts {
                start: config.start_timeout.or(usual.start).filter(is_limit),
                idle: config.idle_timeout.or(usual.idle).filter(is_limit),
                total: Some(config.timeout_or_default()),
            },
            grace: config.grace_or_default(),
            retries: config.retries.unwrap_or(0),
            budget: Budget {
                max_turns: config.max_turns,
                ..config.budget.unwrap_or_default()
            },
            prices: config.prices.clone(),
            budget_unknown: config.budget_unknown.unwrap_or_default(),
            records,
            options,
            notices: self.notices.iter().cloned().chain(notices).collect(),
            warnings: Vec::new(),
            confined: None,
            with_bytes: self.with_bytes,
            max_line: self.max_line,
            prompt_directory: None,
            safekeeping: self.session_guard(),
            session_logs: self.session_logs(),
            codex_home: None,
            setup: self.agent_setup(),
            watch: self.permission_watch(),
            policy: None,
            policy_file: None,
            output_schema: self.output_schema.clone(),
            has_schema_option: false,
        }
    }

    /// The options for translating and judging the agent's output. A configured `on_denied` comes first.
    fn normalize_options(&self) -> NormalizeOptions {
        let config = &self.config;
        NormalizeOptions {
            on_denied: config.on_denied.unwrap_or(self.options.on_denied),
            is_planning: config.permission_mode == Some(PermissionMode::Plan),
            ..self.options.clone()
        }
    }

    /// The environment of the agent, whose home may differ from ours.
    fn environment_of_agent(&self) -> SearchEnvironment {
        let mut vars = self.environment.vars.clone();
        if let JobAgent::Acp(agent) = &self.agent {
            vars.extend(agent.environment.iter().cloned());
        }
        let seen = SearchEnvironment::from_vars(vars, &self.environment.dir);
        let home = seen.home.clone().or(self.environment.home.clone());
        SearchEnvironment { home, ..seen }
    }

    /// Where the agent may read it: it gets a directory for itself.
    fn write_prompt(&self, text: &str) -> Result<PromptDirectory, JobError> {
        let root = &self.records.root;
        let path = root.join(format!("{}{}", self.options.run, recording::PROMPT_ENDING));
        let written = recording::private_directories(root)
            .and_then(|()| PromptDirectory::create(&path, text));
        written.map_err(|source| match source.kind() {
            io::ErrorKind::AlreadyExists => self.run_exists_error().into(),
            _ => JobError::PromptFile { path, source },
        })
    }

    fn run_exists_error(&self) -> RecordError {
        let run = self.options.run.to_string();
        RecordError::Exists { run }
    }
}

/// Zero is how a configuration says that there is none.
fn is_limit(time: &Duration) -> bool {
    !time.is_zero()
}
