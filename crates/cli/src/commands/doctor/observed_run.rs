//! A run of a proof, observed from outside: its events and their times.

use std::time::Duration;

use lapidary::engine::run::Run;
use lapidary::vocab::doctor::{Check, CheckName, CheckState};
use lapidary::vocab::event::RunEnd;
use lapidary::vocab::{Body, Cause, Event};
use lapidary_standin::api::FakeApi;
use tokio::time::{Instant, timeout};

/// The longest that a run may take, all its own deadlines missed.
const PATIENCE: Duration = Duration::from_secs(90);

/// When a run is to be cancelled.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum RunCancel {
    /// Not at all.
    Never,
    /// When the model gets its first request.
    OnceAsked,
}

/// A run, seen from outside.
pub(super) struct ObservedRun {
    pub(super) run: String,
    /// The events and their times.
    pub(super) events: Vec<(Duration, Event)>,
    pub(super) cancelled: Option<Duration>,
    pub(super) took: Duration,
}

impl ObservedRun {
    /// Follows a run to its end. One that misses all its own deadlines is ended by being dropped.
    pub(super) async fn follow_run(run: Run, id: String, api: &FakeApi, cancel: RunCancel) -> Self {
        let started = Instant::now();
        let mut seen = Self {
            run: id,
            events: Vec::new(),
            cancelled: None,
            took: Duration::ZERO,
        };
        let _ = timeout(PATIENCE, seen.watch_run(run, api, cancel, started)).await;
        seen.took = started.elapsed();
        seen
    }

    /// Every future in the loop is cancel-safe.
    async fn watch_run(
        &mut self,
        mut run: Run,
        api: &FakeApi,
        cancel: RunCancel,
        started: Instant,
    ) {
        loop {
            let is_due = cancel == RunCancel::OnceAsked && self.cancelled.is_none();
            tokio::select! {
                event = run.next() => match event {
                    Some(event) => self.events.push((started.elapsed(), event)),
                    None => return,
                },
                () = api.requested(1), if is_due => {
                    self.cancelled = Some(started.elapsed());
                    run.stopper().cancel();
                }
            }
        }
    }

    pub(super) fn first_event_time(&self, is_it: impl Fn(&Body) -> bool) -> Option<Duration> {
        let found = self.events.iter().find(|(_, event)| is_it(&event.body));
        found.map(|(at, _)| *at)
    }

    /// The beginning of a tool's output.
    pub(super) fn tool_said(&self) -> Option<String> {
        const LETTERS: usize = 200;
        let mut bodies = self.events.iter().map(|(_, event)| &event.body);
        bodies.find_map(|body| match body {
            Body::ToolCompletion(tool) => {
                let output = tool.output.as_ref()?.to_display();
                let start: String = output.chars().take(LETTERS).collect();
                Some(format!("the tool said: {start}"))
            }
            _ => None,
        })
    }

    fn run_end(&self) -> Option<&RunEnd> {
        match &self.events.last()?.1.body {
            Body::RunEnd(end) => Some(end),
            _ => None,
        }
    }

    pub(super) fn end_cause(&self) -> Option<&Cause> {
        self.run_end().map(|end| &end.cause)
    }

    /// A failed check, with the end of the run.
    pub(super) fn failed_check(&self, name: CheckName, what: &str) -> Check {
        let check = Check::new(name, CheckState::Problem, what).took(self.took);
        let Some(end) = self.run_end() else {
            return check.details(["the run did not end in time".to_owned()]);
        };
        let message = end
            .message
            .as_ref()
            .map(ToString::to_string)
            .unwrap_or_default();
        let check = check.details([format!("the run ended with {}: {message}", end.cause)]);
        match &end.hint {
            Some(hint) => check.remedy(hint),
            None => check,
        }
    }
}
