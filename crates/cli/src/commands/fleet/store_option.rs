//! `--store`: the store of a fleet, and the failures of one.

use std::future::Future;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context as _, anyhow};
use lapidary::directories;
use lapidary::engine::config::FILE_NAME;
use lapidary::engine::detect::SearchEnvironment;
use lapidary::engine::recording::private_directories;
use lapidary_fleet::worker::FleetSettings;
use lapidary_fleet::{FleetStore, StoreAddress, StoreError, TicketId, TicketRecord};
use tokio::runtime::Builder;

use crate::failure::Failure;
use crate::invocation::Invocation;

/// The variable with the address of the store.
pub(in crate::commands) const STORE_VARIABLE: &str = "LAPIDARY_STORE";

/// The name of the default store in the state directory.
const DEFAULT_FILE: &str = "fleet.db";

/// The store that a command uses.
#[derive(Debug, Clone, clap::Args)]
pub(in crate::commands) struct StoreOption {
    /// The store: `postgres://USER@HOST/DATABASE` or `sqlite:PATH` [default: `LAPIDARY_STORE`, `store` of `[fleet]` in your lapidary.toml, or a SQLite file in the state directory]
    #[arg(long, value_name = "ADDRESS")]
    store: Option<String>,
}

impl StoreOption {
    /// The address that was given as an option.
    pub(in crate::commands) fn given(&self) -> Option<&str> {
        self.store.as_deref()
    }

    /// The address of the store. The directory of the default store is made.
    pub(in crate::commands) fn address(
        &self,
        invocation: &Invocation,
    ) -> Result<StoreAddress, Failure> {
        if let Some(address) = self.named_address(invocation)? {
            return Ok(address);
        }
        let state = state_directory(invocation)?;
        private_directories(&state)
            .with_context(|| format!("cannot use `{}`", state.display()))
            .map_err(Failure::internal)?;
        Ok(StoreAddress::Sqlite(state.join(DEFAULT_FILE)))
    }

    /// The address that an option, the variable or the configuration names.
    pub(in crate::commands) fn named_address(
        &self,
        invocation: &Invocation,
    ) -> Result<Option<StoreAddress>, Failure> {
        let environment = search_environment(invocation)?;
        let here = environment.dir.clone();
        if let Some(given) = &self.store {
            return parse_address(given, &here, Failure::usage).map(Some);
        }
        let variable = invocation.variable_value(STORE_VARIABLE);
        if let Some(value) = variable.filter(|value| !value.is_empty()) {
            let value = value
                .to_str()
                .ok_or_else(|| Failure::bad_config(anyhow!("`{STORE_VARIABLE}` is not Unicode")))?;
            return parse_address(value, &here, Failure::bad_config).map(Some);
        }
        if let Some(directory) = directories::config(&environment) {
            let settings = FleetSettings::read(&directory.join(FILE_NAME));
            let settings = settings.map_err(|error| Failure::bad_config(anyhow!(error)))?;
            if let Some(text) = settings.store {
                return parse_address(&text, &directory, Failure::bad_config).map(Some);
            }
        }
        Ok(None)
    }

    /// Opens the store for a command that makes no ticket: a file that is not there is not made.
    pub(in crate::commands) async fn open_existing(
        &self,
        invocation: &Invocation,
    ) -> Result<Arc<dyn FleetStore>, Failure> {
        let address = match self.named_address(invocation)? {
            Some(address) => address,
            None => StoreAddress::Sqlite(state_directory(invocation)?.join(DEFAULT_FILE)),
        };
        if let StoreAddress::Sqlite(file) = &address
            && !file.exists()
        {
            let error = anyhow!("there is no store `{address}` yet");
            return Err(Failure::bad_input(error).with_hint(
                "`lapidary fleet submit` makes it; name another one with `--store` or LAPIDARY_STORE",
            ));
        }
        address.open().await.map_err(store_failure)
    }

    /// Opens the store, and makes a file that is not there.
    pub(in crate::commands) async fn open(
        &self,
        invocation: &Invocation,
    ) -> Result<Arc<dyn FleetStore>, Failure> {
        let address = self.address(invocation)?;
        address.open().await.map_err(store_failure)
    }
}

fn search_environment(invocation: &Invocation) -> Result<SearchEnvironment, Failure> {
    let here = invocation.current_dir();
    let here = here.map_err(|error| Failure::bad_input(anyhow!(error)))?;
    let variables = invocation.all_variables();
    Ok(SearchEnvironment::from_vars(variables, &here))
}

/// The directory of the default store.
fn state_directory(invocation: &Invocation) -> Result<PathBuf, Failure> {
    Ok(directories::safe_state(&search_environment(invocation)?)?)
}

fn parse_address(
    text: &str,
    here: &Path,
    failure: fn(anyhow::Error) -> Failure,
) -> Result<StoreAddress, Failure> {
    StoreAddress::parse(text, here).map_err(|error| {
        let hint = error.hint();
        failure(anyhow!(error)).with_hint(hint)
    })
}

/// A failure of the store as a command reports it.
pub(super) fn store_failure(error: StoreError) -> Failure {
    let hint = error.hint();
    let failure = match &error {
        StoreError::DiskFull { .. }
        | StoreError::Internal { .. }
        | StoreError::ArtifactMismatch { .. } => Failure::internal(anyhow!(error)),
        _ => Failure::bad_input(anyhow!(error)),
    };
    hint.into_iter().fold(failure, Failure::with_hint)
}

/// Runs a command that waits for the store.
pub(super) fn block_on<T>(command: impl Future<Output = Result<T, Failure>>) -> Result<T, Failure> {
    let runtime = Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| Failure::internal(anyhow!(error)))?;
    let done = runtime.block_on(command);
    runtime.shutdown_background(); // a read of the disk that still runs changes nothing
    done
}

/// The ticket of this id.
pub(super) async fn find_ticket(
    store: &dyn FleetStore,
    id: &TicketId,
) -> Result<TicketRecord, Failure> {
    let found = store.ticket(id).await.map_err(store_failure)?;
    found.ok_or_else(|| unknown_ticket(store, id))
}

pub(super) fn unknown_ticket(store: &dyn FleetStore, id: &TicketId) -> Failure {
    let error = anyhow!("there is no ticket `{id}` in `{}`", store.address());
    Failure::bad_input(error).with_hint("`lapidary fleet list` shows the tickets")
}

/// The user's name, for the store to show.
pub(super) fn user_name(invocation: &Invocation) -> String {
    let variables = ["USER", "LOGNAME", "USERNAME"].iter();
    let mut names = variables.filter_map(|name| invocation.variable_value(name)?.to_str());
    let name = names.find(|name| !name.trim().is_empty());
    name.unwrap_or("unknown").to_owned()
}
