//! Makes a job from the options that all commands have in common.

use std::path::PathBuf;

use anyhow::{Context as _, anyhow};
use lapidary::demo::DemoAttendance;
use lapidary::directories;
use lapidary::engine::config::{Config, ConfigError, ConfigValue};
use lapidary::engine::detect::SearchEnvironment;
use lapidary::engine::headless::Job;
use lapidary::engine::policy::PermissionEffect;
use lapidary::engine::run::RefusedRun;
use lapidary::normalize::NormalizeOptions;
use lapidary::prepare::{ConfigFiles, OutputSchemaSource, RunOptions, RunSurroundings, VaultUse};
use lapidary::vocab::event::Provider;

use super::common::CommonOptions;
use crate::failure::Failure;
use crate::invocation::Invocation;

/// A job as the options that every command has ask for it.
pub(in crate::commands) struct JobRequest<'a> {
    invocation: &'a Invocation,
    common: &'a CommonOptions,
    options: NormalizeOptions,
    attachments: &'a [PathBuf],
    own_agent: Option<&'a str>,
    attendance: DemoAttendance,
}

impl<'a> JobRequest<'a> {
    pub(in crate::commands) fn new(
        common: &'a CommonOptions,
        options: NormalizeOptions,
        invocation: &'a Invocation,
    ) -> Self {
        Self {
            invocation,
            common,
            options,
            attachments: &[],
            own_agent: None,
            attendance: DemoAttendance::Unattended,
        }
    }

    /// Adds files that go with the prompt.
    pub(in crate::commands) fn with_attachments(mut self, files: &'a [PathBuf]) -> Self {
        self.attachments = files;
        self
    }

    /// Leaves the agent to the command, which puts a definition of this name into the job.
    pub(in crate::commands) fn own_agent(mut self, name: Option<&'a str>) -> Self {
        self.own_agent = name;
        self
    }

    /// Says whether a person or a client answers permission requests.
    pub(in crate::commands) fn with_attendance(mut self, attendance: DemoAttendance) -> Self {
        self.attendance = attendance;
        self
    }

    /// The job. The command fills in its own fields.
    pub(in crate::commands) fn make_job(&self) -> Result<Job, Failure> {
        let surroundings = self.run_surroundings()?;
        let job = self.wanted_options()?.job(&surroundings, &mut |warning| {
            self.invocation
                .print_message(&format!("warning: {warning}"));
        });
        Ok(job?)
    }

    /// The options and the surroundings, for a command that makes several jobs of them.
    pub(in crate::commands) fn into_parts(self) -> Result<(RunOptions, RunSurroundings), Failure> {
        Ok((self.wanted_options()?, self.run_surroundings()?))
    }

    fn run_surroundings(&self) -> Result<RunSurroundings, Failure> {
        let here = current_directory(self.common, self.invocation)?;
        let program = self.invocation.program_path();
        let program = program.context("cannot tell where this program is");
        Ok(RunSurroundings {
            environment: directories::surroundings(self.invocation.all_variables(), here),
            program: program.map_err(Failure::internal)?,
        })
    }

    /// The family of the agent that was asked for, for a run that could not be made. It may have been the configuration that was wrong.
    pub(in crate::commands) fn agent_family(&self) -> Provider {
        match self.unmade_options() {
            Some((wanted, environment)) => wanted.family(&environment),
            None => Provider::Gemini,
        }
    }

    /// The record of a run that could not be made, if its place is known and it is to be recorded.
    pub(in crate::commands) fn refused_run(&self, prompt: Option<&str>) -> Option<RefusedRun> {
        let (wanted, environment) = self.unmade_options()?;
        wanted.refused(&environment, prompt)
    }

    /// The options as far as they can be read: a flag itself may be wrong.
    fn unmade_options(&self) -> Option<(RunOptions, SearchEnvironment)> {
        let wanted = self.wanted_options().ok()?;
        let here = current_directory(self.common, self.invocation).ok()?;
        let environment = SearchEnvironment::from_vars(self.invocation.all_variables(), here);
        Some((wanted, environment))
    }

    fn wanted_options(&self) -> Result<RunOptions, Failure> {
        let mut wanted = run_options(self.common, self.options.clone())?;
        wanted.attachments = self.attachments.to_vec();
        wanted.own_agent = self.own_agent.map(str::to_owned);
        wanted.attendance = self.attendance;
        Ok(wanted)
    }
}

fn run_options(common: &CommonOptions, options: NormalizeOptions) -> Result<RunOptions, Failure> {
    let rules = [
        (PermissionEffect::Deny, &common.deny),
        (PermissionEffect::Ask, &common.ask),
        (PermissionEffect::Allow, &common.allow),
    ];
    let rules = rules
        .into_iter()
        .flat_map(|(effect, specs)| specs.iter().map(move |spec| (effect, spec.clone())));
    Ok(RunOptions {
        config: config_from_flags(common).map_err(|error| Failure::usage(anyhow!(error)))?,
        config_files: match &common.config {
            _ if common.no_config => ConfigFiles::None,
            Some(file) => ConfigFiles::Named(file.clone()),
            None => ConfigFiles::Found,
        },
        rules: rules.collect(),
        mcp_config: common.mcp_config.clone(),
        with_agents: common.with_agents,
        auth_method: common.auth.clone(),
        hooks: common.hooks,
        extra_args: common.for_agent.clone(),
        record_dir: common.record_dir.clone(),
        vault: if common.no_vault {
            VaultUse::Off
        } else {
            VaultUse::On
        },
        max_line: common.max_line,
        output_schema: common.output_schema.clone().map(OutputSchemaSource::File),
        schema_repairs: common.schema_repairs,
        events: options,
        ..RunOptions::new("")
    })
}

/// The current directory. If it was deleted, an absolute `--working-dir` takes its place.
fn current_directory(args: &CommonOptions, invocation: &Invocation) -> Result<PathBuf, Failure> {
    match (invocation.current_dir(), &args.working_dir) {
        (Ok(here), _) => Ok(here),
        (Err(_), Some(wanted)) if wanted.is_absolute() => Ok(wanted.clone()),
        (Err(error), _) => {
            let error = anyhow!(error).context("cannot determine the current directory");
            Err(Failure::bad_input(error).with_hint("go elsewhere, or name a directory with -C"))
        }
    }
}

/// Flags go through the same table as files, so a mistake has the same words.
fn config_from_flags(args: &CommonOptions) -> Result<Config, ConfigError> {
    let mut builder = Config::builder();
    let mode = args.yolo.then_some("bypassPermissions");
    let texts = [
        ("agent", args.agent.as_deref()),
        ("transport", args.transport.as_deref()),
        ("model", args.model.as_deref()),
        ("permission_mode", args.permission_mode.as_deref().or(mode)),
        ("approval_mode", args.approval_mode.as_deref()),
        ("system_prompt", args.system_prompt.as_deref()),
        ("budget", args.budget.as_deref()),
        ("budget_unknown", args.budget_unknown.as_deref()),
        ("on_denied", args.on_denied.as_deref()),
        ("on_violation", args.on_violation.as_deref()),
        ("confine", args.confine.as_deref()),
    ];
    for (key, value) in texts {
        if let Some(value) = value {
            builder = builder.set(key, value);
        }
    }
    let times = [
        ("timeout", &args.timeout),
        ("start_timeout", &args.start_timeout),
        ("idle_timeout", &args.idle_timeout),
        ("grace", &args.grace),
    ];
    for (key, value) in times {
        if let Some(value) = value {
            builder = builder.set(key, time_value(value));
        }
    }
    if let Some(turns) = args.max_turns {
        builder = builder.set("max_turns", turns);
    }
    let switches = [
        ("sandbox", args.sandbox, true),
        ("trust_workspace", args.trust_workspace, true),
        ("record", args.no_record, false),
    ];
    for (key, is_given, value) in switches {
        if is_given {
            builder = builder.set(key, value);
        }
    }
    if let Some(bytes) = args.max_output {
        builder = builder.set("max_output", i64::try_from(bytes).unwrap_or(i64::MAX));
    }
    for dir in &args.include_directories {
        builder = builder.include_directory(dir);
    }
    for path in &args.confine_write {
        builder = builder.confine_write(path);
    }
    for tool in &args.allowed_tools {
        builder = builder.allowed_tool(tool);
    }
    if let Some(dir) = &args.working_dir {
        builder = builder.working_dir(dir);
    }
    builder.build()
}

/// A time as a flag has it: a number is seconds, as in a file; any other text has units.
fn time_value(text: &str) -> ConfigValue {
    match text.trim().parse::<f64>() {
        Ok(seconds) => ConfigValue::from(seconds),
        Err(_) => ConfigValue::from(text),
    }
}
