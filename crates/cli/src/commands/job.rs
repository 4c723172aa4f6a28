//! From what every command can be told, files and surroundings to a job.

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use anyhow::{Context as _, anyhow};
use lapidary::drive::config::{self, Config, ConfigError, Loaded, Value};
use lapidary::drive::detect::Environment;
use lapidary::drive::gemini_cli::{self, Prompt};
use lapidary::drive::headless::Job;
use lapidary::drive::process::Supervisor;
use lapidary::drive::recording::{self, Limits};
use lapidary::drive::run::{Records, RefusedRun};
use lapidary::normalize::Options;
use lapidary::vocab::event::Provider;

use super::common::Common;
use super::{agents, directories, speaking};
use crate::failure::Failure;
use crate::printer::complain;

/// An agent, started with what every command can be told. What the command has of its own is for it to fill in.
pub(in crate::commands) fn of(common: &Common, options: Options) -> Result<Job, Failure> {
    let here = here(common)?;
    let environment = directories::surroundings(&here);
    let flags = flags(common).map_err(|error| Failure::usage(anyhow!(error)))?;
    let loaded = loaded(common, &here, &environment)?;
    for warning in &loaded.warnings {
        complain(&format!("warning: {warning}"));
    }
    let config = flags.over(loaded.config);
    let speaking = speaking::of(common, &environment)?;
    for remark in speaking
        .rules
        .clone()
        .before(config.rules.clone())
        .remarks()
    {
        complain(&format!("warning: {remark}"));
    }
    let program = std::env::current_exe().context("cannot tell where this program is");
    let program = program.map_err(Failure::internal)?;
    Ok(Job {
        agent: agents::of(&config, &program, &environment)?,
        prompt: Prompt::Text(String::new()),
        resume: None,
        session_id: None,
        extra_args: common.for_agent.clone(),
        records: records(common, &config, &environment)?,
        supervisor: Supervisor::at(program),
        options,
        notices: Vec::new(),
        with_bytes: false,
        max_line: common.max_line,
        speaking,
        vault: vault(common, &environment)?,
        environment,
        config,
    })
}

/// The family of the agent that was asked for, for a run that could not be made. It may have been the configuration that was wrong.
pub(in crate::commands) fn family(common: &Common) -> Provider {
    let flags = Config {
        agent: common.agent.clone(),
        ..Config::default()
    };
    let files = here(common).and_then(|here| {
        let environment = Environment::from_vars(std::env::vars_os(), &here);
        loaded(common, &here, &environment)
    });
    agents::family(&flags.over(files.unwrap_or_default().config))
}

/// What is recorded of a run that could not be made, where that is known and wanted. What the configuration says does not count: it may
/// be what is wrong.
pub(in crate::commands) fn refused(common: &Common, prompt: Option<&str>) -> Option<RefusedRun> {
    if common.no_record {
        return None;
    }
    let here = here(common).ok()?;
    let environment = Environment::from_vars(std::env::vars_os(), &here);
    Some(RefusedRun {
        records: recorded_in(common.record_dir.as_deref(), &environment).ok()?,
        agent: common
            .agent
            .clone()
            .unwrap_or_else(|| gemini_cli::NAME.to_owned()),
        directory: match &common.working_dir {
            Some(directory) => here.join(directory),
            None => here,
        },
        prompt: prompt.map(str::to_owned),
    })
}

/// Where sessions are kept safe from the agent, unless somebody wants them not to be.
pub(in crate::commands) fn vault_in(environment: &Environment) -> Result<PathBuf, Failure> {
    Ok(directories::safe_state(environment)?.join("vault"))
}

fn vault(common: &Common, environment: &Environment) -> Result<Option<PathBuf>, Failure> {
    (!common.no_vault)
        .then(|| vault_in(environment))
        .transpose()
}

/// Where we are. Somebody may have deleted it, which does not matter to who says where the agent is to work.
fn here(args: &Common) -> Result<PathBuf, Failure> {
    match (std::env::current_dir(), &args.working_dir) {
        (Ok(here), _) => Ok(here),
        (Err(_), Some(wanted)) if wanted.is_absolute() => Ok(wanted.clone()),
        (Err(error), _) => {
            let error = anyhow!(error).context("cannot determine the current directory");
            Err(Failure::bad_input(error).with_hint("go elsewhere, or name a directory with -C"))
        }
    }
}

/// Flags go through the same table as files, so a mistake has the same words.
fn flags(args: &Common) -> Result<Config, ConfigError> {
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
            builder = builder.set(key, time(value));
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

/// A time as a flag has it: a number is seconds, as in a file; anything else has units.
fn time(text: &str) -> Value {
    match text.trim().parse::<f64>() {
        Ok(seconds) => Value::from(seconds),
        Err(_) => Value::from(text),
    }
}

fn loaded(args: &Common, here: &Path, environment: &Environment) -> Result<Loaded, Failure> {
    if args.no_config {
        return Ok(Loaded::default());
    }
    let user = directories::config(environment);
    let user = user.map(|directory| directory.join(config::FILE_NAME));
    let from = args
        .working_dir
        .as_ref()
        .map_or_else(|| here.to_owned(), |dir| here.join(dir));
    let loaded = match &args.config {
        Some(file) if !here.join(file).exists() => {
            let error = anyhow!("there is no `{}`", file.display());
            return Err(Failure::bad_config(error));
        }
        Some(file) => config::load_named(user.as_deref(), &here.join(file)),
        None => {
            let project = config::find_project_file(&from, environment.home.as_deref());
            config::load(user.as_deref(), project.as_deref())
        }
    };
    loaded.map_err(bad_config)
}

/// A run that is not to be recorded needs a place for its files all the same, but not for long.
fn records(args: &Common, config: &Config, environment: &Environment) -> Result<Records, Failure> {
    let keep = config.record.unwrap_or(true);
    let named = args.record_dir.as_deref();
    let mut records = match named {
        None if !keep => Records::below(directories::unrecorded(environment)?),
        _ => recorded_in(named, environment)?,
    };
    if named.is_none() {
        records.limits = config.run_limits_over(records.limits);
        // What killed runs have left, beside the recordings, goes now. Whether that works is no concern of this one.
        let _ = recording::sweep(
            &records.root.with_file_name("unrecorded"),
            SystemTime::now(),
        );
    }
    Ok(Records { keep, ..records })
}

/// How much of the recordings is kept, by the user's own file alone: which recordings go does not depend on where the user is.
pub(in crate::commands) fn retention(environment: &Environment) -> Result<Limits, Failure> {
    let user = directories::config(environment);
    let user = user.map(|directory| directory.join(config::FILE_NAME));
    let loaded = config::load(user.as_deref(), None).map_err(bad_config)?;
    Ok(loaded.config.run_limits_over(Limits::default()))
}

fn bad_config(error: ConfigError) -> Failure {
    let hint = error.hint();
    let failure = Failure::bad_config(anyhow!(error));
    hint.into_iter().fold(failure, Failure::with_hint)
}

/// A directory that somebody names is theirs: what is put there stays. Ours is kept within bounds.
pub(in crate::commands) fn recorded_in(
    named: Option<&Path>,
    environment: &Environment,
) -> Result<Records, Failure> {
    Ok(match named {
        Some(directory) => Records {
            limits: Limits::NONE,
            ..Records::below(environment.dir.join(directory))
        },
        None => Records::below(directories::safe_state(environment)?.join("runs")),
    })
}
