//! The conditions that end a conversation early, and the grace period for its end.

use std::sync::Arc;

use lapidary_normalize::StopCause;
use tokio::sync::watch;
use tokio::time::Instant;

use super::conversation_state::ConversationState;
use super::grace::GraceClock;
use crate::process::stop::StopLevel;
use crate::run::ending::stop_cause_of;
use crate::run::stop_conditions::{AgentPhase, StopConditions, StopReason};

/// The state of the conversation, which decides the timeouts that apply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TurnPhase {
    /// The agent has to get ready.
    Starting,
    /// The agent works on a prompt.
    Turn,
    /// A client gives commands: the agent works while one of its sessions has a turn.
    Commands,
    /// Neither side has work to do.
    Waiting,
}

/// Why it is to end.
#[derive(Debug, Clone)]
pub(super) struct HaltReason {
    pub(super) stopped: StopCause,
    /// Whether at once.
    pub(super) is_urgent: bool,
}

/// Listens for reasons to end.
#[derive(Debug)]
pub(super) struct HaltConditions {
    conditions: StopConditions,
    /// Runs from the first reason on.
    pub(super) grace: GraceClock,
    state: Arc<ConversationState>,
}

impl HaltConditions {
    pub(super) fn new(
        state: &Arc<ConversationState>,
        stops: watch::Receiver<StopLevel>,
        must_end: Option<Instant>,
    ) -> Self {
        let run = &state.request.run;
        Self {
            conditions: StopConditions::new(stops, run.timeouts, must_end),
            grace: GraceClock::new(run.grace),
            state: Arc::clone(state),
        }
    }

    /// The next reason. From then on the grace runs. Can be cancelled.
    pub(super) async fn next(&mut self, phase: TurnPhase) -> HaltReason {
        let halt = self.wait_for_halt(phase).await;
        self.grace.start();
        halt
    }

    async fn wait_for_halt(&mut self, phase: TurnPhase) -> HaltReason {
        loop {
            let (activity, is_in_turn) = (self.agent_phase(phase), self.is_in_turn(phase));
            let observer = &self.state.observer;
            let exceeded = async {
                if !is_in_turn {
                    return std::future::pending().await;
                }
                observer.spent.wait_until_exceeded().await
            };
            // Both branches are cancel-safe.
            let reason = tokio::select! {
                biased;
                reason = self.conditions.next(activity, exceeded, &observer.violations) => reason,
                () = self.state.wait_for_change() => continue, // other conditions hold from now on
            };
            if let Some(halt) = self.halt_reason(reason, phase) {
                return halt;
            }
        }
    }

    /// None if the agent is not late any more: it may have written a line just now.
    fn halt_reason(&self, reason: StopReason, phase: TurnPhase) -> Option<HaltReason> {
        let (stopped, is_urgent) = match reason {
            StopReason::Cancelled(urgency) => (stop_cause_of(urgency), urgency >= StopLevel::Kill),
            StopReason::Budget(stopped) => (stopped, false),
            StopReason::Violation(stopped) => (stopped, true),
            StopReason::Overdue => {
                let late = self.conditions.passed_deadline(self.agent_phase(phase))?;
                let waited_for = self.state.waited_for();
                (late.into_stop_cause("was not ready", &waited_for), false)
            }
        };
        Some(HaltReason { stopped, is_urgent })
    }

    /// While a person is asked, it is not the agent that is silent.
    fn agent_phase(&self, phase: TurnPhase) -> AgentPhase {
        match phase {
            TurnPhase::Starting => AgentPhase::Starts,
            _ if self.is_in_turn(phase) && !self.state.is_asking() => AgentPhase::Works {
                last_sign: self.state.observer.last_sign(),
            },
            _ => AgentPhase::Waits,
        }
    }

    /// Whether the agent works on a prompt.
    fn is_in_turn(&self, phase: TurnPhase) -> bool {
        match phase {
            TurnPhase::Turn => true,
            TurnPhase::Commands => self.state.lock_table().is_any_busy(),
            TurnPhase::Starting | TurnPhase::Waiting => false,
        }
    }

    /// Waits until the caller wants it to end at once. Can be cancelled.
    pub(super) async fn at_once(&mut self) {
        self.conditions.at_once().await;
    }
}
