//! The runs of this server, and the request keys by which a client that repeats a request finds its run.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use sha2::{Digest as _, Sha256};

use crate::live_run::LiveRun;

/// How many runs may go on at a time.
const MOST_RUNS: usize = 64;

/// How many ended runs stay in the table. Older ones are read from their recordings.
const MOST_ENDED: usize = 256;

/// How many request keys are remembered.
const MOST_KEYS: usize = 4096;

#[derive(Debug, Default)]
pub(crate) struct RunTable {
    state: Mutex<TableState>,
}

#[derive(Debug, Default)]
struct TableState {
    /// By id: ids begin with the time, so the oldest is first.
    runs: BTreeMap<String, Arc<LiveRun>>,
    keys: BTreeMap<String, KeyedRun>,
    /// Ended runs that are no longer in the table, by outcome.
    forgotten: BTreeMap<String, u64>,
}

#[derive(Debug, Clone)]
struct KeyedRun {
    body: [u8; 32],
    run: String,
}

/// The meaning of a request key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum KeyUse {
    /// No request had it.
    Fresh,
    /// The same request has started this run.
    Started(String),
    /// Another request has it.
    Taken(String),
}

impl RunTable {
    pub(crate) fn get(&self, id: &str) -> Option<Arc<LiveRun>> {
        self.lock_state().runs.get(id).cloned()
    }

    /// All runs, the newest first.
    pub(crate) fn all(&self) -> Vec<Arc<LiveRun>> {
        self.lock_state().runs.values().rev().cloned().collect()
    }

    /// Whether one more run may start.
    pub(crate) fn has_room(&self) -> bool {
        let state = self.lock_state();
        let going_on = state.runs.values().filter(|run| !run.is_over()).count();
        going_on < MOST_RUNS
    }

    pub(crate) fn insert(&self, run: Arc<LiveRun>) {
        let mut state = self.lock_state();
        state.runs.insert(run.id.clone(), run);
        let mut ended = state.runs.iter().filter(|(_, run)| run.is_over());
        let excess = ended.clone().count().saturating_sub(MOST_ENDED);
        let oldest: Vec<_> = ended
            .by_ref()
            .take(excess)
            .map(|(id, _)| id.clone())
            .collect();
        for id in oldest {
            let outcome = state.runs.remove(&id).and_then(|run| run.outcome());
            *state
                .forgotten
                .entry(outcome.unwrap_or_default())
                .or_default() += 1;
        }
    }

    /// How many runs have ended, by outcome.
    pub(crate) fn ended_by_outcome(&self) -> BTreeMap<String, u64> {
        let state = self.lock_state();
        let mut counts = state.forgotten.clone();
        for outcome in state.runs.values().filter_map(|run| run.outcome()) {
            *counts.entry(outcome).or_default() += 1;
        }
        counts
    }

    pub(crate) fn key_use(&self, key: &str, body: &[u8]) -> KeyUse {
        let state = self.lock_state();
        let digest: [u8; 32] = Sha256::digest(body).into();
        match state.keys.get(key) {
            None => KeyUse::Fresh,
            Some(known) if known.body == digest => KeyUse::Started(known.run.clone()),
            Some(known) => KeyUse::Taken(known.run.clone()),
        }
    }

    pub(crate) fn remember_key(&self, key: &str, body: &[u8], run: &str) {
        let mut state = self.lock_state();
        if state.keys.len() >= MOST_KEYS {
            let oldest = state
                .keys
                .iter()
                .min_by(|one, other| one.1.run.cmp(&other.1.run));
            if let Some(oldest) = oldest.map(|(key, _)| key.clone()) {
                state.keys.remove(&oldest);
            }
        }
        let keyed = KeyedRun {
            body: Sha256::digest(body).into(),
            run: run.to_owned(),
        };
        state.keys.insert(key.to_owned(), keyed);
    }

    fn lock_state(&self) -> MutexGuard<'_, TableState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
