//! Makes a [`Job`] from a user's options: the agent, settings from files, rules, directories.
//!
//! Front ends fill in [`RunOptions`], each in its own way: `lapidary run` from its arguments, a program with [`crate::run()`].

mod agent_choice;
mod attachments;
mod error;
mod mcp_config;
mod narrowing;
mod output_schema;
mod own_server;
mod remote_agent;
mod run_bounds;

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use lapidary_engine::agents::{AgentUrl, KNOWN};
use lapidary_engine::config::{self, Config, ConfigError, LoadedConfig};
use lapidary_engine::detect::SearchEnvironment;
use lapidary_engine::gemini_cli::{self, PromptText};
use lapidary_engine::headless::{AcpOptions, Job, JobAgent};
use lapidary_engine::output_schema::OutputSchema;
use lapidary_engine::policy::{FlagError, PermissionEffect, Rule, Rules};
use lapidary_engine::process::Supervisor;
use lapidary_engine::recording::{self, KeepLimits, RecordingOptions};
use lapidary_engine::run::RefusedRun;
use lapidary_normalize::NormalizeOptions;
use lapidary_vocab::event::Provider;
use lapidary_wire::lines::DEFAULT_LIMIT;

pub use agent_choice::{AgentChoiceError, agent_family, agent_names, choose_agent};
pub use attachments::AttachError;
pub use error::{PrepareError, PrepareErrorKind};
pub use mcp_config::{McpConfigError, McpConfigProblem};
pub use narrowing::{NarrowedJob, RunWishes, WishError};
pub use output_schema::{OutputSchemaError, OutputSchemaSource};
pub use own_server::OWN_SERVER;
pub use run_bounds::{BOUNDS_VARIABLE, BoundRule, RunBounds};

use crate::agents::FAMILY;
use crate::demo::{self, DEMO, DemoAttendance};
use crate::directories::{self, StateError};
use crate::submission::submission_tool;

/// The warning for an agent that would start our server on its own machine.
const NOT_ELSEWHERE: &str =
    "--with-agents is not used: a remote agent starts MCP servers on its own machine";

/// A run as a user asks for it.
#[derive(Debug, Clone)]
pub struct RunOptions {
    /// Settings that were given directly. They come before those of files.
    pub config: Config,
    /// The files with further settings.
    pub config_files: ConfigFiles,
    /// Permission rules as flags have them, such as `edit:src/**`. They come before the rules of the settings; denying rules come
    /// first.
    pub rules: Vec<(PermissionEffect, String)>,
    /// Files that go with the prompt.
    pub attachments: Vec<PathBuf>,
    /// A file of MCP servers that the agent is to use.
    pub mcp_config: Option<PathBuf>,
    /// Whether the agent gets `lapidary mcp` as an MCP server: agents and past sessions.
    pub with_agents: bool,
    /// The method by which to log in, should that be needed.
    pub auth_method: Option<String>,
    /// Whether the hooks of Gemini's settings are fired around the agent.
    pub hooks: bool,
    /// Arguments for the agent, behind ours.
    pub extra_args: Vec<OsString>,
    /// A directory of the user's for the recording. Retention does not delete recordings there.
    pub record_dir: Option<PathBuf>,
    /// Whether sessions are kept safe from the agent.
    pub vault: VaultUse,
    /// The longest line that is translated whole.
    pub max_line: usize,
    /// How the agent's words are translated; the run's id is among it.
    pub events: NormalizeOptions,
    /// Whether a person or a client answers permission requests: the demo has other rules then.
    pub attendance: DemoAttendance,
    /// The name of an agent of our own, which the caller puts into the job. The settings choose no agent then.
    pub own_agent: Option<String>,
    /// The schema that the answer must fit.
    pub output_schema: Option<OutputSchemaSource>,
    /// How often the agent may repair an answer that does not fit; twice if absent.
    pub schema_repairs: Option<u32>,
    /// The bounds of the runs above this one, the nearest first. They narrow the rules and the settings.
    pub bounds: Vec<RunBounds>,
}

/// The files with settings that were not given directly.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum ConfigFiles {
    /// The user's file, and the project's.
    #[default]
    Found,
    /// The user's file, and this one.
    Named(PathBuf),
    /// From nowhere.
    None,
}

/// Whether sessions are kept safe from the agent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum VaultUse {
    /// They are.
    #[default]
    On,
    /// They are left to the agent.
    Off,
}

/// The environment and the program that ask for a run.
#[derive(Debug, Clone)]
pub struct RunSurroundings {
    /// The variables, and the current directory. [`directories::surroundings`] also finds the adapters that we installed.
    pub environment: SearchEnvironment,
    /// The program that supervises agents: this one.
    pub program: PathBuf,
}

impl RunSurroundings {
    /// The surroundings of this process.
    pub fn of_this_process() -> Result<Self, PrepareError> {
        let here = std::env::current_dir().map_err(PrepareError::CurrentDirectory)?;
        let program = std::env::current_exe().map_err(PrepareError::ThisProgram)?;
        let environment = directories::surroundings(std::env::vars_os(), here);
        Ok(Self {
            environment,
            program,
        })
    }
}

impl RunOptions {
    /// The default options: Gemini CLI, with the settings of files, recorded, sessions guarded. `run` is the id of the run.
    pub fn new(run: &str) -> Self {
        Self {
            config: Config::default(),
            config_files: ConfigFiles::default(),
            rules: Vec::new(),
            attachments: Vec::new(),
            mcp_config: None,
            with_agents: false,
            auth_method: None,
            hooks: false,
            extra_args: Vec::new(),
            record_dir: None,
            vault: VaultUse::default(),
            max_line: DEFAULT_LIMIT,
            events: NormalizeOptions::new(run),
            attendance: DemoAttendance::default(),
            own_agent: None,
            output_schema: None,
            schema_repairs: None,
            bounds: Vec::new(),
        }
    }

    /// Leaves the agent to the caller, who puts one of our own of this name into the job.
    #[must_use]
    pub fn own_agent(mut self, name: &str) -> Self {
        self.own_agent = Some(name.to_owned());
        self
    }

    /// The job, without its prompt. `warn` gets the oddities of settings and rules.
    pub fn job(
        &self,
        surroundings: &RunSurroundings,
        warn: &mut dyn FnMut(String),
    ) -> Result<Job, PrepareError> {
        let mut environment = surroundings.environment.clone();
        let loaded = self.load_config(&environment)?;
        for warning in &loaded.warnings {
            warn(warning.to_string());
        }
        let config = self.config.clone().over(loaded.config);
        let config = self.narrowed_config(config, &environment.dir)?;
        let program = &surroundings.program;
        let output_schema = self.schema_of_output(&environment.dir)?;
        let output_schema = output_schema.map(|schema| schema.with_tool(submission_tool(program)));
        let mut speaking = self.acp_options(&environment.dir)?;
        let agent = match &self.own_agent {
            Some(_) => JobAgent::Gemini, // until the caller replaces it
            None => choose_agent(&config, program, &environment)?,
        };
        match &agent {
            _ if !self.with_agents => {}
            JobAgent::Remote(remote) if !remote.url.is_loopback() => warn(NOT_ELSEWHERE.to_owned()),
            _ => {
                let server = own_server::own_server(self, program, &environment);
                speaking.mcp_servers.push(server);
            }
        }
        if let JobAgent::Remote(remote) = &agent {
            let secrets = remote.secret_variables.iter();
            secrets.for_each(|name| drop(environment.vars.remove(OsStr::new(name))));
        }
        let rules = speaking.rules.clone().before(config.rules.clone());
        let mut agents = agent_names(&config);
        agents.push(agent.name());
        agents.extend(self.own_agent.as_deref());
        for remark in rules.remarks(&agents) {
            warn(remark.to_string());
        }
        let mut job = Job {
            agent,
            prompt: PromptText::Text(String::new()),
            resume: None,
            session_id: None,
            extra_args: self.extra_args.clone(),
            records: self.recording_options(&config, &environment)?,
            supervisor: Supervisor::at(program),
            options: self.events.clone(),
            notices: Vec::new(),
            with_bytes: false,
            max_line: self.max_line,
            speaking,
            vault: match self.vault {
                VaultUse::On => Some(vault_in(&environment)?),
                VaultUse::Off => None,
            },
            output_schema,
            environment,
            config,
        };
        self.adapt_to_demo(&mut job)?;
        Ok(job)
    }

    /// The settings, no wider than those of the runs above this one.
    fn narrowed_config(&self, mut config: Config, here: &Path) -> Result<Config, PrepareError> {
        let directory = config.working_dir_in(here);
        for bounds in &self.bounds {
            bounds.narrow_config(&mut config, here);
            if !bounds.has_directory(&directory) {
                return Err(PrepareError::OutOfBounds {
                    directory,
                    bound: bounds.directory.clone(),
                });
            }
        }
        Ok(config)
    }

    /// The names of agents that a run can be asked for by name: the known agents, the agents of the settings, and the demo.
    pub fn named_agents(
        &self,
        environment: &SearchEnvironment,
    ) -> Result<Vec<String>, PrepareError> {
        let loaded = self.load_config(environment)?;
        let own = self.config.agents.keys().chain(loaded.config.agents.keys());
        let names = KNOWN.iter().map(|known| known.name.to_owned());
        Ok(names.chain(own.cloned()).chain([DEMO.to_owned()]).collect())
    }

    /// The demo works in a directory of its own, and has rules behind those of the user.
    fn adapt_to_demo(&self, job: &mut Job) -> Result<(), PrepareError> {
        let JobAgent::InProcess(agent) = &job.agent else {
            return Ok(());
        };
        if let (DEMO, Some(project)) = (agent.name.as_str(), agent.directory.clone()) {
            if job.output_schema.is_some() {
                return Err(PrepareError::ScriptedAnswer);
            }
            let rules = Rules::new(demo::demo_rules(self.attendance, &project)?);
            job.speaking.rules = job.speaking.rules.clone().before(rules);
            job.notices.push(demo::demo_notice(self.attendance));
            job.config.working_dir = Some(project);
        }
        Ok(())
    }

    /// The family of the requested agent, for a run that could not start. The mistake may be in the settings.
    pub fn family(&self, environment: &SearchEnvironment) -> Provider {
        if self.own_agent.is_some() {
            return Provider::from(FAMILY);
        }
        let loaded = self.load_config(environment).unwrap_or_default();
        agent_family(&self.config.clone().over(loaded.config))
    }

    /// The record of a run that could not start. None if recording is disabled or has no directory. Configuration files are not
    /// read: they may be the cause of the failure.
    pub fn refused(
        &self,
        environment: &SearchEnvironment,
        prompt: Option<&str>,
    ) -> Option<RefusedRun> {
        if self.config.record == Some(false) {
            return None;
        }
        let named = self.own_agent.as_deref().or(self.config.agent.as_deref());
        let agent = recorded_name(named.unwrap_or(gemini_cli::NAME));
        Some(RefusedRun {
            records: recorded_in(self.record_dir.as_deref(), environment).ok()?,
            agent,
            directory: self.config.working_dir_in(&environment.dir),
            prompt: prompt.map(str::to_owned),
        })
    }

    fn schema_of_output(&self, here: &Path) -> Result<Option<OutputSchema>, OutputSchemaError> {
        let Some(source) = &self.output_schema else {
            return Ok(None);
        };
        let schema = OutputSchema::new(source.read_schema(here)?);
        Ok(Some(match self.schema_repairs {
            Some(repairs) => schema.with_repairs(repairs),
            None => schema,
        }))
    }

    fn acp_options(&self, here: &Path) -> Result<AcpOptions, PrepareError> {
        let servers = self.mcp_config.as_ref();
        let servers = servers.map(|file| mcp_config::mcp_servers(&here.join(file)));
        let attached = self.attachments.iter();
        let attached = attached.map(|file| attachments::attachment_block(&here.join(file)));
        Ok(AcpOptions {
            rules: self.flag_rules(here)?,
            mcp_servers: servers.transpose()?.unwrap_or_default(),
            attachments: attached.collect::<Result<_, _>>()?,
            auth_method: self.auth_method.clone(),
            hooks: self.hooks,
            ..AcpOptions::default()
        })
    }

    /// The rules of flags: first the denying ones, then the asking ones, then the allowing ones.
    fn flag_rules(&self, here: &Path) -> Result<Rules, FlagError> {
        let in_order = [
            PermissionEffect::Deny,
            PermissionEffect::Ask,
            PermissionEffect::Allow,
        ];
        let given = self.bounded_rules(here);
        let rules = in_order.into_iter().flat_map(|effect| {
            let of_effect = given.iter().filter(move |rule| rule.effect == effect);
            of_effect.map(|rule| Rule::parse_flag(rule.effect, &rule.spec, &rule.from))
        });
        rules.collect::<Result<Vec<_>, _>>().map(Rules::new)
    }

    fn load_config(&self, environment: &SearchEnvironment) -> Result<LoadedConfig, PrepareError> {
        let here = &environment.dir;
        let user = directories::config(environment);
        let user = user.map(|directory| directory.join(config::FILE_NAME));
        let loaded = match self.bounded_files() {
            ConfigFiles::None => return Ok(LoadedConfig::default()),
            ConfigFiles::Named(file) if !here.join(file).exists() => {
                return Err(PrepareError::NoConfigFile { file: file.clone() });
            }
            ConfigFiles::Named(file) => config::load_named(user.as_deref(), &here.join(file)),
            ConfigFiles::Found => {
                // The directory of the agent may have been written to by an agent: its file counts only if no run is above.
                let outermost = self.bounds.last().map(|it| it.directory.clone());
                let from = outermost.unwrap_or_else(|| self.config.working_dir_in(here));
                let project = config::find_project_file(&from, environment.home.as_deref());
                config::load(user.as_deref(), project.as_deref())
            }
        };
        Ok(loaded?)
    }

    /// A run that is not to be recorded needs a place for its files all the same, but not for long.
    fn recording_options(
        &self,
        config: &Config,
        environment: &SearchEnvironment,
    ) -> Result<RecordingOptions, StateError> {
        let keep = config.record.unwrap_or(true);
        let named = self.record_dir.as_deref();
        let mut records = match named {
            None if !keep => RecordingOptions::below(directories::unrecorded(environment)?),
            _ => recorded_in(named, environment)?,
        };
        if named.is_none() {
            records.limits = config.run_limits_over(records.limits);
            // Removes the leftovers of killed runs, beside the recordings. A failure does not concern this run.
            let _ = recording::sweep(
                &records.root.with_file_name("unrecorded"),
                SystemTime::now(),
            );
        }
        Ok(RecordingOptions { keep, ..records })
    }
}

/// The name of an agent for a recording. A URL that was refused may contain credentials.
fn recorded_name(agent: &str) -> String {
    match AgentUrl::parse(agent) {
        Ok(url) => url.shown(),
        Err(_) if AgentUrl::is_url(agent) => "an agent's URL".to_owned(),
        Err(_) => agent.to_owned(),
    }
}

/// The directory of the vault.
pub fn vault_in(environment: &SearchEnvironment) -> Result<PathBuf, StateError> {
    Ok(directories::safe_state(environment)?.join("vault"))
}

/// The directory of recordings. Retention deletes none in a directory that the user names; in ours it applies the default limits.
pub fn recorded_in(
    named: Option<&Path>,
    environment: &SearchEnvironment,
) -> Result<RecordingOptions, StateError> {
    Ok(match named {
        Some(directory) => RecordingOptions {
            limits: KeepLimits::NONE,
            ..RecordingOptions::below(environment.dir.join(directory))
        },
        None => RecordingOptions::below(directories::safe_state(environment)?.join("runs")),
    })
}

/// How much of the recordings is kept, by the user's own file alone: which recordings go does not depend on where the user is.
pub fn retention(environment: &SearchEnvironment) -> Result<KeepLimits, ConfigError> {
    let user = directories::config(environment);
    let user = user.map(|directory| directory.join(config::FILE_NAME));
    let loaded = config::load(user.as_deref(), None)?;
    Ok(loaded.config.run_limits_over(KeepLimits::default()))
}
