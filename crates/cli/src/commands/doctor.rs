//! `doctor`: what is installed, what works, and why not.

mod prove;
mod report;
mod seen;
mod world;

use std::io::IsTerminal as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, anyhow};
use lapidary::drive::agents::gemini;
use lapidary::drive::config;
use lapidary::drive::detect::Environment;
use lapidary::drive::doctor::{Patient, examine};
use lapidary::drive::process::Supervisor;

use super::directories;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::printer::{Printer, complain};
use crate::system::Interruptions;
use report::{Format, Report};

/// Say what is installed, what works, and what to do about the rest
///
/// Without --prove no model is called and no agent is run: `node` and the agent are asked for their versions, and files are looked at.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  lapidary doctor
  lapidary doctor --prove
  lapidary doctor --format json | jq '.checks[] | select(.state == \"problem\")'

With --prove the installed agent is run for real, four times at two or three seconds each, in a
throw-away home and project and against a model that is played on this machine: no account is
needed, and nothing leaves it. Shown are its start, that text arrives while the model still speaks,
a tool call, that a run which hangs can be cancelled, and that nothing of a run outlives it.

Exit codes:
  0    nothing is a problem; there may be warnings
  1    something is
  130  interrupted")]
pub(crate) struct Args {
    /// The agent
    #[arg(long, value_enum, default_value_t = Agent::Gemini)]
    agent: Agent,
    /// Run the agent against a model that is played, and see for yourself
    #[arg(long)]
    prove: bool,
    /// Where an agent would work [default: here]
    #[arg(short = 'C', long = "working-dir", value_name = "DIR")]
    working_dir: Option<PathBuf>,
    /// How long the agent may take to say its version; it takes about two seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..))]
    timeout: u32,
    /// What to print [default: text on a terminal, json when piped]
    #[arg(long, value_enum)]
    format: Option<Format>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Agent {
    /// Gemini CLI
    Gemini,
}

pub(crate) fn run(args: &Args, out: &mut Printer) -> Result<Exit, Failure> {
    let here = std::env::current_dir().context("cannot tell where this is");
    let here = here.map_err(Failure::bad_input)?;
    let environment = Environment::from_vars(std::env::vars_os(), &here);
    let directory = match &args.working_dir {
        Some(dir) => here.join(dir),
        None => here,
    };
    if !directory.is_dir() {
        let error = anyhow!("`{}` is no directory", directory.display());
        return Err(Failure::bad_input(error));
    }
    let usual = if out.is_terminal {
        Format::Text
    } else {
        Format::Json
    };
    let mut report = Report::new(
        args.format.unwrap_or(usual),
        std::io::stderr().is_terminal(),
        out,
    );
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    let runtime = runtime
        .context("cannot set up a runtime")
        .map_err(Failure::internal)?;
    let scratch = tempfile::Builder::new()
        .prefix("lapidary-doctor-")
        .tempdir();
    let scratch = scratch
        .context("cannot make a temporary directory")
        .map_err(Failure::internal)?;
    let finished = runtime.block_on(async {
        tokio::select! {
            // What it started is supervised: it ends with us.
            looked = look(args, &environment, &directory, scratch.path(), &mut report) => looked.map(|()| true),
            () = interrupted() => Ok(false),
        }
    })?;
    if !finished {
        complain("error: interrupted");
        return Ok(Exit::Cancelled);
    }
    let is_healthy = report.finish(gemini::NAME)?;
    Ok(if is_healthy {
        Exit::Success
    } else {
        Exit::Internal
    })
}

async fn look(
    args: &Args,
    environment: &Environment,
    directory: &Path,
    scratch: &Path,
    report: &mut Report<'_>,
) -> Result<(), Failure> {
    let program = std::env::current_exe().context("cannot tell where this program is");
    let supervisor = Supervisor::at(program.map_err(Failure::internal)?);
    let user = directories::config(environment);
    let user = user.map(|directory| directory.join(config::FILE_NAME));
    let project = config::find_project_file(directory, environment.home.as_deref());
    let files = [&user, &project].into_iter().flatten();
    let patient = Patient {
        environment,
        directory,
        supervisor: &supervisor,
        state_directory: &directories::state(environment).join("runs"),
        config: &config::load(user.as_deref(), project.as_deref()),
        config_files: &files
            .filter(|path| path.exists())
            .cloned()
            .collect::<Vec<_>>(),
        patience: Duration::from_secs(args.timeout.into()),
        scratch,
    };
    examine(&patient, |check| report.tell(check)).await;
    if args.prove {
        report.announce("proving: the agent is run four times against a model that is played, about ten seconds");
        prove::prove(environment, &supervisor, scratch, report).await?;
    }
    Ok(())
}

/// Waits for Ctrl-C and its like.
async fn interrupted() {
    match Interruptions::listen() {
        Ok(mut interruptions) => interruptions.next().await,
        Err(_) => std::future::pending().await,
    }
}
