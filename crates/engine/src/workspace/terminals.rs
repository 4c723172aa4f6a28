//! The terminals of a connection: each belongs to a session, and has an id until it is released.

use std::collections::HashMap;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use lapidary_vocab::Json;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};
use tokio::task::JoinSet;

use super::NOT_FOUND;
use super::launch::Launch;
use super::params::Which;
use super::terminal::Terminal;
use crate::acp::Refusal;
use crate::process::{StartError, Supervisor};

#[derive(Debug)]
pub(super) struct Terminals {
    supervisor: Supervisor,
    /// One for each terminal that there may be.
    slots: Arc<Semaphore>,
    count: u32,
    table: Mutex<Table>,
}

#[derive(Debug, Default)]
struct Table {
    entries: HashMap<String, Entry>,
    /// What keeps the terminals. Dropped with the table, and then all of them end.
    keepers: JoinSet<()>,
    /// How many there have been.
    made: u64,
    closed: bool,
}

#[derive(Debug)]
struct Entry {
    terminal: Arc<Terminal>,
    _slot: Arc<OwnedSemaphorePermit>,
}

/// Whoever takes a terminal out of the table ends it.
impl Drop for Entry {
    fn drop(&mut self) {
        self.terminal.kill();
    }
}

impl Terminals {
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
    pub(super) async fn create(&self, launch: Launch) -> Result<Json, Refusal> {
        let (unclaimed, started) = self.enter(launch)?;
        match started.await {
            Ok(Ok(())) => {
                let id = Json::from_value(&unclaimed.claim());
                Ok(Json::object([("terminalId", id)]))
            }
            Ok(Err(error)) => Err(not_started(&error)),
            Err(_) => Err(going_down()),
        }
    }

    /// Makes an entry and sets a keeper to start what it is for.
    fn enter(&self, launch: Launch) -> Result<(Unclaimed<'_>, Started), Refusal> {
        let slot = Arc::clone(&self.slots).try_acquire_owned();
        let slot = Arc::new(slot.map_err(|_| self.too_many())?);
        let pair = Terminal::new(launch, Arc::clone(&slot));
        let (terminal, keeper) = pair.map_err(|error| not_prepared(&error))?;
        let (starting, started) = oneshot::channel();
        let mut table = self.table();
        if table.closed {
            return Err(going_down());
        }
        while table.keepers.try_join_next().is_some() {} // those that are done with
        table
            .keepers
            .spawn(keeper.keep(self.supervisor.clone(), starting));
        table.made += 1;
        let id = format!("terminal-{}", table.made);
        let terminal = Arc::new(terminal);
        let entry = Entry {
            terminal,
            _slot: slot,
        };
        table.entries.insert(id.clone(), entry);
        let unclaimed = Unclaimed {
            terminals: self,
            id: Some(id),
        };
        Ok((unclaimed, started))
    }

    pub(super) fn output(&self, which: &Which) -> Result<Json, Refusal> {
        Ok(self.find(which)?.to_json())
    }

    pub(super) async fn wait(&self, which: &Which) -> Result<Json, Refusal> {
        let status = self.find(which)?.ended().await;
        Ok(status.ok_or_else(going_down)?.to_json())
    }

    /// Ends what runs there. The terminal stays.
    pub(super) async fn kill(&self, which: &Which) -> Result<Json, Refusal> {
        let terminal = self.find(which)?;
        terminal.kill();
        terminal.ended().await;
        Ok(Json::empty_object())
    }

    /// Ends what runs there, and forgets the terminal.
    pub(super) async fn release(&self, which: &Which) -> Result<Json, Refusal> {
        let terminal = self.find(which)?;
        self.forget(&which.terminal);
        terminal.ended().await;
        Ok(Json::empty_object())
    }

    pub(super) async fn close_session(&self, session: &str) {
        let gone: Vec<_> = {
            let entries = &mut self.table().entries;
            let gone = entries.extract_if(|_, entry| entry.terminal.session == session);
            // With its entry each is told to end.
            gone.map(|(_, entry)| Arc::clone(&entry.terminal)).collect()
        };
        for terminal in gone {
            terminal.ended().await;
        }
    }

    pub(super) async fn close(&self) {
        let entries = {
            let mut table = self.table();
            table.closed = true;
            std::mem::take(&mut table.entries)
        };
        drop(entries);
        // Keepers hold a slot each until nothing is left of their terminal.
        let _ = self.slots.acquire_many(self.count).await;
    }

    fn find(&self, which: &Which) -> Result<Arc<Terminal>, Refusal> {
        let table = self.table();
        let entry = table.entries.get(&which.terminal);
        let entry = entry.filter(|entry| entry.terminal.session == which.session);
        let terminal = entry.map(|entry| Arc::clone(&entry.terminal));
        terminal.ok_or_else(|| Refusal::new(NOT_FOUND, "this session has no such terminal"))
    }

    fn forget(&self, id: &str) {
        let entry = self.table().entries.remove(id);
        drop(entry);
    }

    fn table(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn too_many(&self) -> Refusal {
        let words = format!("there are {} terminals already: release one", self.count);
        Refusal::new(Refusal::INTERNAL, words)
    }
}

type Started = oneshot::Receiver<Result<(), StartError>>;

/// A terminal whose id nobody has heard yet. Dropped, it is no more.
struct Unclaimed<'a> {
    terminals: &'a Terminals,
    id: Option<String>,
}

impl Unclaimed<'_> {
    fn claim(mut self) -> String {
        self.id.take().unwrap_or_default()
    }
}

impl Drop for Unclaimed<'_> {
    fn drop(&mut self) {
        if let Some(id) = &self.id {
            self.terminals.forget(id);
        }
    }
}

fn not_started(error: &StartError) -> Refusal {
    let source = std::error::Error::source(error);
    let why = source.map(|source| format!(": {source}"));
    let words = format!("{error}{}", why.unwrap_or_default());
    Refusal::new(Refusal::INTERNAL, words)
}

fn not_prepared(error: &io::Error) -> Refusal {
    Refusal::new(
        Refusal::INTERNAL,
        format!("cannot make a terminal: {error}"),
    )
}

fn going_down() -> Refusal {
    Refusal::new(Refusal::INTERNAL, "the session is being closed")
}
