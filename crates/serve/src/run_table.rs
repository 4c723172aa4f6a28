//! The runs of this server: the active ones, and the latest ended ones.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::live_run::LiveRun;

/// How many runs may go on at a time.
const MOST_RUNS: usize = 64;

/// How many ended runs stay in the table. Older ones are read from their recordings.
const MOST_ENDED: usize = 256;

#[derive(Debug, Default)]
pub(crate) struct RunTable {
    state: Mutex<TableState>,
}

#[derive(Debug, Default)]
struct TableState {
    /// By id: ids begin with the time, so the oldest is first.
    runs: BTreeMap<String, Arc<LiveRun>>,
    /// Ended runs that are no longer in the table, by outcome.
    forgotten: BTreeMap<String, u64>,
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

    fn lock_state(&self) -> MutexGuard<'_, TableState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
