//! The terminals of a connection: each belongs to a session, and has an id until it is released.

use std::collections::HashMap;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use lapidary_vocab::Json;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};
use tokio::task::JoinSet;

use super::NOT_FOUND;
use super::launch::TerminalLaunch;
use super::params::TerminalId;
use super::terminal::Terminal;
use crate::acp::RpcError;
use crate::process::{StartError, Supervisor};

#[derive(Debug)]
pub(super) struct TerminalTable {
    supervisor: Supervisor,
    /// One for each terminal that there may be.
    slots: Arc<Semaphore>,
    count: u32,
    table: Mutex<TerminalEntries>,
}

#[derive(Debug, Default)]
struct TerminalEntries {
    entries: HashMap<String, TerminalEntry>,
    /// The keepers of the terminals. Dropping them with the table ends all terminals.
    keepers: JoinSet<()>,
    /// How many there have been.
    made: u64,
    closed: bool,
}

#[derive(Debug)]
struct TerminalEntry {
    terminal: Arc<Terminal>,
    _slot: Arc<OwnedSemaphorePermit>,
}

/// Removing a terminal from the table ends it.
impl Drop for TerminalEntry {
    fn drop(&mut self) {
        self.terminal.kill_process();
    }
}

impl TerminalTable {
    pub(super) fn new(supervisor: Supervisor, count: usize) -> Self {
        let count = u32::try_from(count.min(Semaphore::MAX_PERMITS)).unwrap_or(u32::MAX);
        Self {
            supervisor,
            slots: Arc::new(Semaphore::new(count as usize)),
            count,
            table: Mutex::default(),
        }
    }

    /// Starts a command and answers its terminal's id. If the future is dropped before that, there is no terminal.
    pub(super) async fn create_terminal(&self, launch: TerminalLaunch) -> Result<Json, RpcError> {
        let (unclaimed, started) = self.enter_terminal(launch)?;
        match started.await {
            Ok(Ok(())) => {
                let id = Json::from_value(&unclaimed.claim_id());
                Ok(Json::object([("terminalId", id)]))
            }
            Ok(Err(error)) => Err(not_started(&error)),
            Err(_) => Err(going_down()),
        }
    }

    /// Makes an entry and spawns a keeper that starts its process.
    fn enter_terminal(
        &self,
        launch: TerminalLaunch,
    ) -> Result<(UnclaimedTerminal<'_>, StartedTerminal), RpcError> {
        let slot = Arc::clone(&self.slots).try_acquire_owned();
        let slot = Arc::new(slot.map_err(|_| self.too_many())?);
        let pair = Terminal::new(launch, Arc::clone(&slot));
        let (terminal, keeper) = pair.map_err(|error| not_prepared(&error))?;
        let (starting, started) = oneshot::channel();
        let mut table = self.lock_table();
        if table.closed {
            return Err(going_down());
        }
        while table.keepers.try_join_next().is_some() {} // removes finished keepers
        table
            .keepers
            .spawn(keeper.keep_terminal(self.supervisor.clone(), starting));
        table.made += 1;
        let id = format!("terminal-{}", table.made);
        let terminal = Arc::new(terminal);
        let entry = TerminalEntry {
            terminal,
            _slot: slot,
        };
        table.entries.insert(id.clone(), entry);
        let unclaimed = UnclaimedTerminal {
            terminals: self,
            id: Some(id),
        };
        Ok((unclaimed, started))
    }

    pub(super) fn terminal_output(&self, which: &TerminalId) -> Result<Json, RpcError> {
        Ok(self.find_terminal(which)?.to_json())
    }

    pub(super) async fn wait_for_exit(&self, which: &TerminalId) -> Result<Json, RpcError> {
        let status = self.find_terminal(which)?.wait_for_end().await;
        Ok(status.ok_or_else(going_down)?.to_json())
    }

    /// Ends the process of a terminal. The terminal stays.
    pub(super) async fn kill_process(&self, which: &TerminalId) -> Result<Json, RpcError> {
        let terminal = self.find_terminal(which)?;
        terminal.kill_process();
        terminal.wait_for_end().await;
        Ok(Json::empty_object())
    }

    /// Ends the process of a terminal, and forgets the terminal.
    pub(super) async fn release_terminal(&self, which: &TerminalId) -> Result<Json, RpcError> {
        let terminal = self.find_terminal(which)?;
        self.forget_terminal(&which.terminal);
        terminal.wait_for_end().await;
        Ok(Json::empty_object())
    }

    pub(super) async fn close_session(&self, session: &str) {
        let gone: Vec<_> = {
            let entries = &mut self.lock_table().entries;
            let gone = entries.extract_if(|_, entry| entry.terminal.session == session);
            // Removing its entry ends each terminal.
            gone.map(|(_, entry)| Arc::clone(&entry.terminal)).collect()
        };
        for terminal in gone {
            terminal.wait_for_end().await;
        }
    }

    pub(super) async fn close_all(&self) {
        let entries = {
            let mut table = self.lock_table();
            table.closed = true;
            std::mem::take(&mut table.entries)
        };
        drop(entries);
        // Keepers hold a slot each until all processes of their terminal are gone.
        let _ = self.slots.acquire_many(self.count).await;
    }

    fn find_terminal(&self, which: &TerminalId) -> Result<Arc<Terminal>, RpcError> {
        let table = self.lock_table();
        let entry = table.entries.get(&which.terminal);
        let entry = entry.filter(|entry| entry.terminal.session == which.session);
        let terminal = entry.map(|entry| Arc::clone(&entry.terminal));
        terminal.ok_or_else(|| RpcError::new(NOT_FOUND, "this session has no such terminal"))
    }

    fn forget_terminal(&self, id: &str) {
        let entry = self.lock_table().entries.remove(id);
        drop(entry);
    }

    fn lock_table(&self) -> MutexGuard<'_, TerminalEntries> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn too_many(&self) -> RpcError {
        let words = format!("there are {} terminals already: release one", self.count);
        RpcError::new(RpcError::INTERNAL, words)
    }
}

type StartedTerminal = oneshot::Receiver<Result<(), StartError>>;

/// A terminal whose id the agent has not got yet. Dropping it removes the terminal.
struct UnclaimedTerminal<'a> {
    terminals: &'a TerminalTable,
    id: Option<String>,
}

impl UnclaimedTerminal<'_> {
    fn claim_id(mut self) -> String {
        self.id.take().unwrap_or_default()
    }
}

impl Drop for UnclaimedTerminal<'_> {
    fn drop(&mut self) {
        if let Some(id) = &self.id {
            self.terminals.forget_terminal(id);
        }
    }
}

fn not_started(error: &StartError) -> RpcError {
    let source = std::error::Error::source(error);
    let why = source.map(|source| format!(": {source}"));
    let words = format!("{error}{}", why.unwrap_or_default());
    RpcError::new(RpcError::INTERNAL, words)
}

fn not_prepared(error: &io::Error) -> RpcError {
    RpcError::new(
        RpcError::INTERNAL,
        format!("cannot make a terminal: {error}"),
    )
}

fn going_down() -> RpcError {
    RpcError::new(RpcError::INTERNAL, "the session is being closed")
}
