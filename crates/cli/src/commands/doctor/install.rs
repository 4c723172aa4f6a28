//! `doctor --install`: the adapter of an agent, from npm.

use std::io::Write as _;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context as _, anyhow};
use lapidary::engine::agents::{AcpAdapter, AgentSpec, KNOWN};
use lapidary::engine::detect::SearchEnvironment;
use lapidary::engine::npm::{AdapterInstallError, InstallRequest, install_adapter};
use lapidary::engine::process::Supervisor;
use tokio_util::sync::CancellationToken;

use super::{Args, wait_for_signal};
use crate::exit::CommandExit;
use crate::failure::Failure;
use crate::invocation::Invocation;
use crate::printer::Printer;
use lapidary::directories;

/// How long npm may take. The adapter has a few hundred megabytes.
const DEADLINE: Duration = Duration::from_mins(10);

/// Installs the adapter of the agent that is named, unless it is there already.
pub(super) fn run(
    args: &Args,
    program: &Path,
    environment: &SearchEnvironment,
    out: &mut Printer,
) -> Result<(), Failure> {
    let name = args.agent.as_deref().unwrap_or_default();
    let adapter = adapter_of(name)?;
    let root = directories::safe_state(environment)?.join("adapters");
    let place = adapter.directory(&root);
    if place.exists() {
        return Ok(out.print_note(&format!("`{}` is there already", place.display()))?);
    }
    if !args.yes && !confirm_install(adapter, &place, &out.invocation)? {
        let failure = Failure::bad_input(anyhow!("nothing was installed"));
        return Err(Failure {
            exit: CommandExit::Cancelled,
            ..failure
        });
    }
    out.print_message(&format!("Installing `{}` …", adapter_name(adapter)));
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    let runtime = runtime.context("cannot start").map_err(Failure::internal)?;
    let supervisor = Supervisor::at(program.to_owned());
    let cancel = CancellationToken::new();
    let request = InstallRequest {
        adapter,
        root: &root,
        environment,
        supervisor: &supervisor,
        deadline: DEADLINE,
        cancel: &cancel,
    };
    let installed = runtime.block_on(async {
        let mut installing = std::pin::pin!(install_adapter(&request));
        tokio::select! {
            installed = &mut installing => installed,
            () = wait_for_signal(&out.invocation) => {
                cancel.cancel();
                installing.await // npm ends first, and its files are removed
            }
        }
    });
    let at = installed.map_err(install_failure)?;
    Ok(out.print_note(&format!("installed `{}`", at.display()))?)
}

fn adapter_of(name: &str) -> Result<&'static AcpAdapter, Failure> {
    let known = AgentSpec::named(name);
    if let Some(adapter) = known.and_then(|known| known.adapter) {
        return Ok(adapter);
    }
    let with_adapter = KNOWN.iter().filter(|known| known.adapter.is_some());
    let names: Vec<_> = with_adapter
        .map(|known| format!("`{}`", known.name))
        .collect();
    let error = anyhow!("`--install` has no adapter for `{name}`");
    let hint = match known {
        Some(known) => format!("install it with: {}", known.install),
        None => format!("there is one for {}", names.join(", ")),
    };
    Err(Failure::usage(error).with_hint(hint))
}

fn adapter_name(adapter: &AcpAdapter) -> String {
    format!("{}@{}", adapter.package, adapter.version)
}

/// Asks. Without a terminal there is no answer.
fn confirm_install(
    adapter: &AcpAdapter,
    place: &Path,
    invocation: &Invocation,
) -> Result<bool, Failure> {
    if !invocation.can_ask() {
        let failure = Failure::usage(anyhow!(
            "`--install` asks before it installs, and this is not a terminal"
        ));
        return Err(failure.with_hint("`--yes` installs without asking"));
    }
    invocation.print_message(&format!(
        "npm will install `{}` and what it depends on into `{}`.",
        adapter_name(adapter),
        place.display()
    ));
    let mut err = invocation.stderr_writer();
    write!(err, "Install it? [y]es / [n]o: ")?;
    err.flush()?;
    let answer = invocation.read_line()?;
    Ok(matches!(answer.trim().to_lowercase().as_str(), "y" | "yes"))
}

fn install_failure(error: AdapterInstallError) -> Failure {
    let exit = match &error {
        AdapterInstallError::Cancelled => CommandExit::Cancelled,
        AdapterInstallError::TimedOut { .. } => CommandExit::Timeout,
        AdapterInstallError::Io { .. } => CommandExit::Internal,
        _ => CommandExit::AgentMissing,
    };
    let hint = error.hint();
    let failure = Failure {
        exit,
        ..Failure::bad_input(error)
    };
    hint.into_iter().fold(failure, Failure::with_hint)
}
