//! `policy compile`: the rules in the words of an agent's own configuration.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, anyhow};
use lapidary::engine::agents::own_policy::{
    AskAbility, OwnPolicy, PolicyInput, config_variable, own_policy, rule_keeping,
};
use lapidary::engine::agents::{AcpAgent, KNOWN};
use lapidary::engine::config::PermissionMode;
use lapidary::engine::detect::SearchEnvironment;
use lapidary::engine::headless::state_directories;
use lapidary::engine::policy::Policy;
use lapidary::vocab::capabilities::RuleKeeping;
use lapidary::vocab::line;
use lapidary::vocab::policy_report::{COMPILED_SCHEMA, CompiledPolicy};

use super::report::PolicyFormat;
use super::rules;
use crate::commands::configured_agents::read_config;
use crate::exit::CommandExit;
use crate::failure::Failure;
use crate::printer::Printer;
use lapidary::directories;

/// Show the configuration that a set of rules gives an agent
///
/// A run gives an agent the rules and the permission mode in the words of the agent's own configuration, for this run only: arguments,
/// variables, a file, or a parameter of the session. The agent is told to ask about every call that is not allowed outright. This
/// prints it and starts nothing.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  lapidary policy compile lapidary.toml --agent claude
  lapidary policy compile lapidary.toml --agent opencode --permission-mode acceptEdits
  lapidary policy compile lapidary.toml --agent gemini | jq -r .file

Exit codes:
  0   printed
  13  the rules cannot be read, or the agent is not known")]
pub(super) struct CompileArgs {
    /// The file with the rules, such as `lapidary.toml`
    rules: PathBuf,
    /// The agent, by its name: `gemini`, `claude`, `opencode`, `qwen`, …, or one of `lapidary.toml`
    #[arg(long, value_name = "NAME")]
    agent: String,
    /// Permission mode, which decides where no rule does: `default`, `acceptEdits`, `bypassPermissions` or `plan` [default: from the file]
    #[arg(long, value_name = "MODE", value_parser = ["default", "acceptEdits", "bypassPermissions", "plan"], hide_possible_values = true)]
    permission_mode: Option<String>,
    /// What to print [default: text on a terminal, json when piped]
    #[arg(long, value_enum)]
    format: Option<PolicyFormat>,
}

pub(super) fn run(args: &CompileArgs, out: &mut Printer) -> Result<CommandExit, Failure> {
    let here = out
        .invocation
        .current_dir()
        .context("cannot tell where this is");
    let here = here.map_err(Failure::bad_input)?;
    let environment = directories::surroundings(out.invocation.all_variables(), &here);
    let written = rules::read_rules(&args.rules, &here, out)?;
    let own = written.configured_agent(&args.agent).cloned();
    let own = own.or_else(|| {
        read_config(&environment, &here, out)
            .agents
            .remove(&args.agent)
    });
    let subject = match own {
        Some(own) => CompiledSubject::from_agent(&own),
        None => CompiledSubject::known(&args.agent)?,
    };
    let mode = args.permission_mode.as_deref();
    let mode = mode.and_then(PermissionMode::from_word);
    let policy = Policy::new(
        written.rules.for_agent(&[&subject.name, &subject.family]),
        mode.unwrap_or(written.mode),
    )
    .with_roots([&here]);
    let compiled = compile_policy(&subject, &policy, &environment);
    match PolicyFormat::or_usual(args.format, out) {
        PolicyFormat::Json => line::write(out, &compiled)?,
        PolicyFormat::Text => print_text(&compiled, out)?,
    }
    Ok(CommandExit::Success)
}

/// The agent that is told.
struct CompiledSubject {
    /// Its name, as `--agent` takes it.
    name: String,
    family: String,
    /// The address of a remote agent. It gets no rules: its configuration is on another machine.
    url: Option<String>,
}

impl CompiledSubject {
    /// An agent of `lapidary.toml`.
    fn from_agent(agent: &AcpAgent) -> Self {
        Self {
            name: agent.name.clone(),
            family: agent.provider.as_str().to_owned(),
            url: agent.endpoint.as_ref().map(|endpoint| endpoint.url.shown()),
        }
    }

    /// An agent that is built in.
    fn known(name: &str) -> Result<Self, Failure> {
        let mut names = KNOWN.iter().map(|known| known.name);
        if names.any(|known| known == name) {
            return Ok(Self {
                name: name.to_owned(),
                family: name.to_owned(),
                url: None,
            });
        }
        let names: Vec<_> = KNOWN.iter().map(|known| known.name).collect();
        let failure = Failure::bad_input(anyhow!("unknown agent `{}`", name.escape_debug()));
        Err(failure.with_hint(format!(
            "there are {}, and the agents of `lapidary.toml`",
            names.join(", ")
        )))
    }
}

/// Nothing: rules judge the calls that the agent asks about and reports.
fn remote_policy(name: &str, url: &str) -> CompiledPolicy {
    let notice = format!(
        "`{name}` is at `{url}`: its configuration is not on this machine, so it is told nothing; a call that it does not ask about is seen only once it runs, and stops the run"
    );
    CompiledPolicy {
        schema: COMPILED_SCHEMA.into(),
        agent: name.to_owned(),
        keeping: RuleKeeping::Watched,
        args: Vec::new(),
        env: BTreeMap::new(),
        file: None,
        session_meta: None,
        notices: vec![notice],
    }
}

fn compile_policy(
    subject: &CompiledSubject,
    policy: &Policy,
    environment: &SearchEnvironment,
) -> CompiledPolicy {
    if let Some(url) = &subject.url {
        return remote_policy(&subject.name, url);
    }
    let agent = subject.family.as_str();
    let variable = config_variable(agent).and_then(|name| environment.vars.get(OsStr::new(name)));
    let input = PolicyInput {
        policy,
        state: &state_directories(agent, environment),
        file: Path::new(file_name(agent)),
        asking: AskAbility::Possible,
        allowed_commands: &[],
        servers: &[],
        project_files: &[],
        agent_config: variable.and_then(|value| value.to_str()),
    };
    let own = own_policy(agent, &input).unwrap_or_default();
    let OwnPolicy {
        args,
        env,
        file,
        session_meta,
        mut notices,
        unkept,
        ..
    } = own;
    notices.extend(unkept.map(|why| {
        format!("`{agent}` cannot be told all of it ({why}): a run does not start without `--on-violation report`")
    }));
    let readable = |text: &OsStr| text.to_string_lossy().into_owned();
    CompiledPolicy {
        schema: COMPILED_SCHEMA.into(),
        agent: subject.name.clone(),
        keeping: rule_keeping(agent, None),
        args: args.iter().map(|word| readable(word)).collect(),
        env: env
            .iter()
            .map(|(name, value)| (readable(name), readable(value)))
            .collect(),
        file,
        session_meta,
        notices,
    }
}

/// The name of the file of a run. It lies beside the recordings.
fn file_name(agent: &str) -> &'static str {
    match agent {
        "gemini" => "rules.toml",
        _ => "settings.json",
    }
}

fn print_text(compiled: &CompiledPolicy, out: &mut Printer) -> io::Result<()> {
    let keeping = match compiled.keeping {
        RuleKeeping::Enforced => "is told what to deny",
        RuleKeeping::Asked => "is told to ask about each call that is not allowed",
        RuleKeeping::Partly => "is told what it can be told: its other calls are watched",
        _ => "is told nothing: its calls are watched",
    };
    writeln!(out, "{} {keeping}", compiled.agent)?;
    if !compiled.args.is_empty() {
        writeln!(out, "\narguments\n  {}", compiled.args.join(" "))?;
    }
    for (name, value) in &compiled.env {
        writeln!(out, "\nvariable {name}\n  {value}")?;
    }
    if let Some(meta) = &compiled.session_meta {
        writeln!(out, "\n_meta of the session\n  {}", meta.as_str())?;
    }
    if let Some(file) = &compiled.file {
        writeln!(out, "\nfile {}", file_name(&compiled.agent))?;
        for line in file.lines() {
            writeln!(out, "  {line}")?;
        }
    }
    for notice in &compiled.notices {
        writeln!(out, "\nnote: {notice}")?;
    }
    Ok(())
}
