//! `agents check`: mistakes in agent files.

use std::io::{self, Write as _};
use std::path::PathBuf;

use anstyle::{AnsiColor, Style};
use anyhow::{Context as _, anyhow};
use lapidary::agents::check_online;
use lapidary::gemini::Vars;
use lapidary::gemini::agents::{AgentCheck, AgentFinding, AgentSeverity, check_agents, check_path};
use lapidary::vocab::agents::{self, AgentCheckReport, AgentFindingSeverity, CHECK_SCHEMA};
use lapidary::vocab::line;

use super::common::{AgentsContext, Workspace};
use crate::commands::sessions::SessionsFormat;
use crate::commands::skills::row::on_a_line;
use crate::exit::CommandExit;
use crate::failure::Failure;
use crate::printer::Printer;

/// Check agent files, and report each mistake with its line
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  lapidary agents check
  lapidary agents check .gemini/agents/reviewer.md
  lapidary agents check --online
  lapidary agents check --format json | jq '.findings[] | select(.severity == \"error\")'

Reports all that Gemini CLI refuses, in its words, and what it says only when an agent runs: prompts \
with `${names}` that are not inputs, files without instructions. Also keys that are dropped, duplicate \
names, files that are passed over, and agents that are not acknowledged. Nothing is fetched, unless \
--online asks for the cards of remote agents: those of agents that count, with the credentials of their `auth`.

Exit codes:
  0   no error; there may be warnings
  3   an error; with --strict also a warning")]
pub(crate) struct Args {
    /// A file, or a directory of agent files [default: the files that count in the workspace]
    path: Option<PathBuf>,
    /// Fetch the cards of remote agents, too
    #[arg(long, conflicts_with = "path")]
    online: bool,
    /// Exit with 3 also if there is only a warning
    #[arg(long)]
    strict: bool,
    #[command(flatten)]
    workspace: Workspace,
    /// What to print [default: text on a terminal, json when piped]
    #[arg(long, value_enum)]
    format: Option<SessionsFormat>,
}

pub(crate) fn run(args: &Args, out: &mut Printer) -> Result<CommandExit, Failure> {
    let check = match &args.path {
        Some(path) if !path.exists() => {
            let failure = anyhow!("there is no `{}`", path.display());
            return Err(Failure::bad_input(failure));
        }
        Some(path) => check_path(path),
        None => {
            let here = AgentsContext::read_context(&args.workspace, &out.invocation)?;
            let mut check = check_agents(&here.setup, here.main_model());
            if args.online {
                check.findings.extend(online_findings(&here)?);
            }
            check
        }
    };
    match SessionsFormat::or_usual(args.format, out.is_terminal) {
        SessionsFormat::Json => line::write(out, &check_report(&check))?,
        SessionsFormat::Text => print_text(&check, out)?,
    }
    let is_wrong = check.count(AgentSeverity::Error) > 0
        || args.strict && check.count(AgentSeverity::Warning) > 0;
    Ok(if is_wrong {
        CommandExit::Strict
    } else {
        CommandExit::Success
    })
}

/// The findings that only the servers of remote agents can tell.
fn online_findings(here: &AgentsContext) -> Result<Vec<AgentFinding>, Failure> {
    let variables = here
        .setup
        .environment(Vars::new(&here.place.environment.vars));
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    let runtime = runtime.context("cannot start").map_err(Failure::internal)?;
    let registry = here.load_registry();
    let check = check_online(&registry, &variables, &here.setup.workspace);
    let checked = runtime.block_on(check);
    checked.map_err(|error| {
        Failure::bad_input(error).with_hint("check `HTTPS_PROXY` and `HTTP_PROXY`")
    })
}

fn check_report(check: &AgentCheck) -> AgentCheckReport {
    AgentCheckReport {
        schema: CHECK_SCHEMA.to_owned(),
        agents: check.agents as u64,
        errors: check.count(AgentSeverity::Error) as u64,
        warnings: check.count(AgentSeverity::Warning) as u64,
        findings: check.findings.iter().map(published_finding).collect(),
    }
}

fn published_finding(finding: &AgentFinding) -> agents::AgentFinding {
    agents::AgentFinding {
        severity: match finding.severity {
            AgentSeverity::Error => AgentFindingSeverity::Error,
            AgentSeverity::Warning => AgentFindingSeverity::Warning,
            AgentSeverity::Note => AgentFindingSeverity::Note,
        },
        path: finding.path.display().to_string(),
        line: finding.place.map(|place| place.line as u64),
        column: finding.place.map(|place| place.column as u64),
        agent: finding.agent.clone(),
        message: finding.sentence.clone(),
        hint: finding.hint.clone(),
    }
}

fn print_text(check: &AgentCheck, out: &mut Printer) -> io::Result<()> {
    for finding in &check.findings {
        let place = finding
            .place
            .map(|place| format!(":{place}"))
            .unwrap_or_default();
        let path = on_a_line(&finding.path.display().to_string(), "  ");
        let (word, colour) = match finding.severity {
            AgentSeverity::Error => ("error", AnsiColor::Red),
            AgentSeverity::Warning => ("warning", AnsiColor::Yellow),
            AgentSeverity::Note => ("note", AnsiColor::Cyan),
        };
        let style = if out.colour {
            colour.on_default()
        } else {
            Style::new()
        };
        let sentence = on_a_line(&finding.sentence, "  ");
        writeln!(out, "{path}{place}: {style}{word}{style:#}: {sentence}")?;
        if let Some(hint) = &finding.hint {
            writeln!(out, "  hint: {}", on_a_line(hint, "  "))?;
        }
    }
    let counted =
        |count: usize, word: &str| format!("{count} {word}{}", if count == 1 { "" } else { "s" });
    writeln!(
        out,
        "{}, {}, {}",
        counted(check.agents, "agent"),
        counted(check.count(AgentSeverity::Error), "error"),
        counted(check.count(AgentSeverity::Warning), "warning"),
    )
}
