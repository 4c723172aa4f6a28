//! `policy`: tests permission rules on past runs, and compiles them for an agent.

mod compile;
mod layers;
mod past;
mod report;
mod rules;

use std::path::PathBuf;

use anyhow::{Context as _, anyhow};
use lapidary::engine::config::PermissionMode;
use lapidary::engine::policy::Policy;

use super::runs::common::run_or_path;
use crate::exit::CommandExit;
use crate::failure::Failure;
use crate::printer::Printer;
use past::RecordedPermissions;
use report::{CountingRules, PolicyFormat, PolicyOutput};

/// See what permission rules do
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  lapidary policy test lapidary.toml --against ~/.local/state/lapidary/runs/*
  lapidary policy compile lapidary.toml --agent claude
  lapidary policy test --help")]
pub(crate) struct Args {
    #[command(subcommand)]
    command: PolicyCommand,
}

#[derive(Debug, clap::Subcommand)]
enum PolicyCommand {
    Test(TestArgs),
    Compile(compile::CompileArgs),
}

/// Apply a set of rules to past runs, and show the decisions
///
/// For each call of a tool in a recording: whether it would be allowed, denied or asked about, by which rule, and the outcome at the time. At the end: how often each rule matched, which ones never did, and which never got to decide because others came first.
/// Nothing is run and nothing is changed.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  lapidary policy test lapidary.toml --against ~/.local/state/lapidary/runs/*
  lapidary policy test strict.toml --against run.jsonl --permission-mode plan
  lapidary policy test strict.toml --against run.jsonl --agent claude
  lapidary policy test rules.toml --against run.jsonl | jq '.calls[] | select(.effect != \"allow\")'
  lapidary policy test rules.toml --against run.jsonl | jq '.rules[] | select(.matched == 0)'

A rule is a table of the file:
  [[rule]]
  kind = \"execute\"
  command = \"git diff *\"
  then = \"allow\"

Exit codes:
  0   tested, with any result
  13  the rules or a recording cannot be read")]
struct TestArgs {
    /// The file with the rules, such as `lapidary.toml`. It counts as your own, and may allow
    rules: PathBuf,
    /// Runs by their ids, recordings, captures of `gemini -o stream-json`, transcripts of ACP, or session files
    #[arg(long, value_name = "RECORDING", required = true, num_args = 1..)]
    against: Vec<PathBuf>,
    /// Permission mode, which decides where no rule does: `default`, `acceptEdits`, `bypassPermissions` or `plan` [default: from the file]
    #[arg(long, value_name = "MODE", value_parser = ["default", "acceptEdits", "bypassPermissions", "plan"], hide_possible_values = true)]
    permission_mode: Option<String>,
    /// Say for each call what would stop it with this agent: its own policy, our answer, the watch on its calls, the kernel
    #[arg(long, value_name = "NAME")]
    agent: Option<String>,
    /// Where the agent worked [default: from the recording, or else here]
    #[arg(short = 'C', long = "working-dir", value_name = "DIR")]
    working_dir: Option<PathBuf>,
    /// What to print [default: text on a terminal, json when piped]
    #[arg(long, value_enum)]
    format: Option<PolicyFormat>,
}

pub(crate) fn run(args: &Args, out: &mut Printer) -> Result<CommandExit, Failure> {
    match &args.command {
        PolicyCommand::Test(args) => run_test(args, out),
        PolicyCommand::Compile(args) => compile::run(args, out),
    }
}

fn run_test(args: &TestArgs, out: &mut Printer) -> Result<CommandExit, Failure> {
    let here = out
        .invocation
        .current_dir()
        .context("cannot tell where this is");
    let here = here.map_err(Failure::bad_input)?;
    let written = rules::read_rules(&args.rules, &here, out)?;
    let asked = args.permission_mode.as_deref();
    let mode = asked.and_then(PermissionMode::from_word);
    let asked = args.agent.as_deref();
    let names = asked.map(|agent| written.names_of(agent));
    let policy = Policy::new(written.rules, mode.unwrap_or(written.mode));
    let mut report = PolicyOutput::new(
        PolicyFormat::or_usual(args.format, out),
        args.agent.clone(),
        &policy,
    );
    let given = args.working_dir.as_ref().map(|dir| here.join(dir));
    let mut unreadable = 0;
    for recording in &args.against {
        let found = run_or_path(recording, None, &out.invocation)?;
        let recording = found.as_ref().unwrap_or(recording);
        match RecordedPermissions::read_recording(
            recording,
            given.as_deref(),
            &here,
            &out.invocation,
        ) {
            Ok(past) => {
                let names = names.as_ref().unwrap_or(&past.agents);
                let counting = CountingRules::new(&policy, names);
                report.take_run(past, &counting, out)?;
            }
            // Some of many recordings may be of agents that wrote nothing.
            Err(failure) if args.against.len() > 1 => {
                unreadable += 1;
                out.print_message(&format!("warning: skipped: {:#}", failure.error));
            }
            Err(failure) => return Err(failure),
        }
    }
    if unreadable == args.against.len() {
        return Err(Failure::bad_input(anyhow!(
            "none of the recordings can be read"
        )));
    }
    report.finish(out)?;
    Ok(CommandExit::Success)
}
