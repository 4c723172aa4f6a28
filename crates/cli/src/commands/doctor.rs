//! `doctor`: checks of the installed agents, with a reason and a hint for each failure.

mod card;
mod denials;
mod install;
mod observed_run;
mod proof_sandbox;
mod prove;
mod report;
mod subject;

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, anyhow};
use lapidary::engine::detect::SearchEnvironment;
use lapidary::engine::doctor::{DoctorTarget, examine, examine_acp, examine_remote, known_agents};
use lapidary::engine::process::Supervisor;

use crate::exit::CommandExit;
use crate::failure::Failure;
use crate::invocation::Invocation;
use crate::printer::Printer;
use lapidary::directories;
use report::{DoctorFormat, DoctorReport};
use subject::{DoctorSubject, OwnConfig};

/// Check the installation, and name a remedy for each problem
///
/// Without --prove no model is called and no agent is run: `node` and Gemini CLI are asked for their versions, and files are looked at.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  lapidary doctor
  lapidary doctor --prove
  lapidary doctor --agent claude --install
  lapidary doctor --agent claude --prove
  lapidary doctor --agent wss://agents.example/acp --prove
  lapidary doctor --agent 'node my-agent.js' --prove --format json | jq .card
  lapidary doctor --format json | jq '.checks[] | select(.state == \"problem\")'

With --install, npm installs the adapter at the exact version that Lapidary is tested with; scripts of \
packages are not run. It goes to `adapters` in the state directory, where `--agent` finds it; PATH and \
global packages stay as they are. Delete that directory to remove it.

With --prove the installed agent is run for real, in a throw-away home and project and against a \
mock model on this machine: no account is needed, and nothing leaves the machine.

Gemini CLI is run seven times at two or three seconds each. Shown are its start, that text arrives \
while the model still speaks, a tool call over each transport, that a run which hangs can be cancelled, that nothing \
of a run outlives it, and over each transport that rules hold.

An agent that speaks ACP, Gemini CLI too, gets a card: what it answers to `initialize`, what it can \
do and offers, a turn if the address of its model can be configured, whether it asks before it runs a shell \
command, where it tells how many tokens were used, how fast a turn is cancelled, what it does about \
an unknown method, and how it can be ended.

A remote agent (a URL) is connected and asked for its abilities; no turn is taken, because its model is its own.

Rules are proven by attempts: the mock model reads, searches, edits, deletes, moves, fetches, runs a command and \
calls a tool of an MCP server while rules deny each. \
Shown is what held each attempt: the agent asked and was denied, it refused, or it did not offer the tool. \
An attempt whose effect is seen is a problem. With Codex each rule has a run of its own, because it cannot be told of \
all of them: a run with the others does not start, which is a warning. \
What cannot be shown here is `unproven`.

Exit codes:
  0    no problem; there may be warnings
  1    a problem
  10   --install: npm is missing, or could not install the adapter
  14   --install: npm took too long
  130  interrupted")]
pub(crate) struct Args {
    /// The agent: a name that is known, or a command line or URL of one that speaks ACP [default: gemini]
    #[arg(long, value_name = "NAME|COMMAND|URL")]
    agent: Option<String>,
    /// Run the agent with a mock model, and report what it really does
    #[arg(long)]
    prove: bool,
    /// Install the agent's ACP adapter from npm below the state directory, after asking
    #[arg(long, requires = "agent")]
    install: bool,
    /// Install without asking
    #[arg(long, requires = "install")]
    yes: bool,
    /// Where an agent would work [default: here]
    #[arg(short = 'C', long = "working-dir", value_name = "DIR")]
    working_dir: Option<PathBuf>,
    /// How long the agent may take to print its version, and over ACP to answer each step
    #[arg(long, value_name = "TIME", default_value = "20s", value_parser = crate::durations::parse_time)]
    timeout: Duration,
    /// What to print [default: text on a terminal, json when piped]
    #[arg(long, value_enum)]
    format: Option<DoctorFormat>,
}

pub(crate) fn run(args: &Args, out: &mut Printer) -> Result<CommandExit, Failure> {
    let here = out
        .invocation
        .current_dir()
        .context("cannot tell where this is");
    let here = here.map_err(Failure::bad_input)?;
    let environment = directories::surroundings(out.invocation.all_variables(), &here);
    let directory = match &args.working_dir {
        Some(dir) => here.join(dir),
        None => here,
    };
    if !directory.is_dir() {
        let error = anyhow!("`{}` is not a directory", directory.display());
        return Err(Failure::bad_input(error));
    }
    let program = out
        .invocation
        .program_path()
        .context("cannot tell where this program is");
    let program = program.map_err(Failure::internal)?;
    let files = OwnConfig::new(&environment, &directory);
    if args.install {
        install::run(args, &program, &environment, out)?;
    }
    let subject = DoctorSubject::parse(args, &files.config, &program, &environment)?;
    let usual = if out.is_terminal {
        DoctorFormat::Text
    } else {
        DoctorFormat::Json
    };
    let invocation = out.invocation.clone();
    let is_watched = invocation.is_stderr_terminal();
    let mut report = DoctorReport::new(args.format.unwrap_or(usual), is_watched, out);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    let runtime = runtime
        .context("cannot set up a runtime")
        .map_err(Failure::internal)?;
    let scratch = tempfile::Builder::new()
        .prefix("lapidary-doctor-")
        .tempdir_in(invocation.temp_dir());
    let scratch = scratch
        .context("cannot make a temporary directory")
        .map_err(Failure::internal)?;
    let visit = DoctorVisit {
        args,
        environment: &environment,
        directory: &directory,
        supervisor: &Supervisor::at(program),
        files: &files,
        scratch: scratch.path(),
    };
    let finished = runtime.block_on(async {
        tokio::select! {
            // Every agent that it started has a supervisor, and ends with us.
            looked = visit.check_subject(&subject, &mut report) => looked.map(|()| true),
            () = wait_for_signal(&invocation) => Ok(false),
        }
    })?;
    if !finished {
        invocation.print_message("error: interrupted");
        return Ok(CommandExit::Cancelled);
    }
    let is_healthy = report.finish(subject.name())?;
    Ok(if is_healthy {
        CommandExit::Success
    } else {
        CommandExit::Internal
    })
}

struct DoctorVisit<'a> {
    args: &'a Args,
    environment: &'a SearchEnvironment,
    directory: &'a Path,
    supervisor: &'a Supervisor,
    files: &'a OwnConfig,
    scratch: &'a Path,
}

impl DoctorVisit<'_> {
    async fn check_subject(
        &self,
        subject: &DoctorSubject,
        report: &mut DoctorReport<'_>,
    ) -> Result<(), Failure> {
        self.examine_agent(subject, report).await;
        match subject {
            _ if !self.args.prove => Ok(()),
            DoctorSubject::Acp { agent, .. } => {
                let around = self.announce_proof(report);
                let called = card::prove_agent(agent, &around, report).await?;
                for check in denials::prove_over_acp(agent, called, &around).await? {
                    report.add_check(check);
                }
                Ok(())
            }
            DoctorSubject::Remote(agent) => {
                report.announce_step("testing the agent over ACP, without a turn");
                let around = self.proof_surroundings();
                card::prove_remote(agent, &around, report).await;
                Ok(())
            }
            DoctorSubject::Gemini => {
                report.announce_step("proving: Gemini CLI is run seven times against a mock model, about twenty seconds");
                let records = directories::state(self.environment).join("runs");
                let places = (self.scratch, records.as_path());
                prove::prove_all(self.environment, self.supervisor, places, report).await?;
                match subject::gemini_over_acp(self.environment) {
                    Some(agent) => {
                        let around = self.announce_proof(report);
                        card::prove_agent(&agent, &around, report).await.map(drop)
                    }
                    None => Ok(()),
                }
            }
        }
    }

    async fn examine_agent(&self, subject: &DoctorSubject, report: &mut DoctorReport<'_>) {
        let environment = self.environment;
        let patient = DoctorTarget {
            environment,
            directory: self.directory,
            supervisor: self.supervisor,
            state_directory: &directories::state(environment).join("runs"),
            config: &self.files.config,
            config_files: &self.files.paths,
            patience: self.proof_timeout(),
            scratch: self.scratch,
        };
        match subject {
            DoctorSubject::Gemini => examine(&patient, |check| report.add_check(check)).await,
            DoctorSubject::Acp { agent, .. } => {
                examine_acp(&patient, agent, |check| report.add_check(check));
            }
            DoctorSubject::Remote(agent) => {
                examine_remote(&patient, agent, |check| report.add_check(check));
            }
        }
        if self.args.agent.is_none() {
            report.add_check(known_agents(environment));
        }
    }

    /// Announces the test over ACP, and returns its surroundings.
    fn announce_proof(&self, report: &mut DoctorReport<'_>) -> card::ProofSurroundings<'_> {
        report.announce_step("testing the agent over ACP with a mock model, about ten seconds");
        self.proof_surroundings()
    }

    fn proof_surroundings(&self) -> card::ProofSurroundings<'_> {
        card::ProofSurroundings {
            environment: self.environment,
            supervisor: self.supervisor,
            scratch: self.scratch,
            patience: self.proof_timeout(),
        }
    }

    fn proof_timeout(&self) -> Duration {
        self.args.timeout
    }
}

/// Waits for Ctrl-C or a termination signal.
async fn wait_for_signal(invocation: &Invocation) {
    match invocation.listen_for_signals() {
        Some(mut interruptions) => interruptions.next().await,
        None => std::future::pending().await,
    }
}
