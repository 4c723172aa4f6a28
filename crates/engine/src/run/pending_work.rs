//! The tool or model that a run waits for, for the message about its end, and the use of its budget.

use std::sync::{Mutex, MutexGuard, PoisonError};

use lapidary_normalize::StopCause;
use lapidary_sessions::PriceTable;
use lapidary_vocab::{Body, Event, Text};
use tokio::sync::Notify;

use crate::budget::{Budget, BudgetMeter, BudgetUnknown, ExceededLimit, token_prices};

/// Calls beyond this are not named.
const MOST: usize = 64;

/// A name of the agent's choosing is cut here.
const LONGEST_NAME: usize = 60;

/// The work that the agent's events leave open.
#[derive(Debug, Default)]
pub(crate) struct PendingWork(Mutex<WaitingState>);

/// The use of a run's budget, and whether it is exceeded.
#[derive(Debug)]
pub(crate) struct BudgetWatch {
    meter: Mutex<BudgetMeter>,
    news: Notify,
    is_limited: bool,
}

impl BudgetWatch {
    pub(crate) fn new(budget: Budget, prices: Option<&PriceTable>) -> Self {
        let mut meter = BudgetMeter::new(budget);
        if budget.cost.is_some() {
            meter.set_prices(token_prices(prices));
        }
        Self {
            is_limited: budget != Budget::default(),
            meter: Mutex::new(meter),
            news: Notify::new(),
        }
    }

    pub(crate) fn note_events(&self, events: &[Event]) {
        if !self.is_limited {
            return; // without limits there is no need to count
        }
        let mut meter = self.lock_meter();
        for event in events {
            if meter.note(event).is_some() {
                self.news.notify_one();
            }
        }
    }

    /// Waits until it is too much. Can be cancelled.
    pub(crate) async fn wait_until_exceeded(&self) -> ExceededLimit {
        loop {
            if let Some(exceeded) = self.lock_meter().exceeded() {
                return exceeded;
            }
            self.news.notified().await;
        }
    }

    /// Judges the use of the budget when the run is over.
    pub(crate) fn judge_use(&self, unknown: BudgetUnknown) -> Result<Option<String>, StopCause> {
        self.lock_meter().judge(unknown)
    }

    fn lock_meter(&self) -> MutexGuard<'_, BudgetMeter> {
        self.meter.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[derive(Debug, Default)]
struct WaitingState {
    /// The agent has said how it went.
    is_done: bool,
    /// Calls without a result: id and tool.
    open: Vec<(Text, Text)>,
}

impl PendingWork {
    pub(crate) fn note_events(&self, events: &[Event]) {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        for event in events {
            match &event.body {
                Body::ToolInvocation(call) if state.open.len() < MOST => {
                    let names = (call.call_id.detached(), call.tool_name.detached());
                    state.open.push(names);
                }
                Body::TurnComplete(_) => state.is_done = true,
                Body::ToolCompletion(done) => state.open.retain(|(id, _)| *id != done.call_id),
                _ => {}
            }
        }
    }

    /// Whether it is the result of a tool.
    pub(crate) fn is_for_tool(&self) -> bool {
        let state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        !state.open.is_empty()
    }

    /// Describes it.
    pub(crate) fn describe_pending(&self) -> String {
        let state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match state.open.as_slice() {
            [] if state.is_done => "the agent's end, as it had said all".to_owned(),
            [] => "the model".to_owned(),
            [(_, tool)] => format!("the result of `{}`", shortened_name(tool)),
            [(_, tool), more @ ..] => {
                format!(
                    "the results of `{}` and {} more",
                    shortened_name(tool),
                    more.len()
                )
            }
        }
    }
}

fn shortened_name(name: &Text) -> String {
    name.to_str().chars().take(LONGEST_NAME).collect()
}
