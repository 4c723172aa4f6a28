//! The tickets that a worker holds, and the orders that reach them.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use lapidary::engine::process::{BootTime, Lease};
use lapidary::engine::run::StopHandle;
use tokio::sync::mpsc;

use crate::{CancelOrder, ClaimedTerm, PromptAnswer};

/// A ticket that this worker holds.
#[derive(Debug)]
pub(crate) struct HeldTicket {
    pub(crate) claimed: ClaimedTerm,
    /// The lease of its processes.
    pub(crate) lease: Lease,
    state: Mutex<HeldState>,
}

#[derive(Debug, Default)]
struct HeldState {
    stopper: Option<StopHandle>,
    answers: Option<mpsc::UnboundedSender<PromptAnswer>>,
    cancel: Option<CancelOrder>,
    is_lost: bool,
}

impl HeldTicket {
    /// A ticket whose processes must be gone by then, unless its lease is renewed.
    pub(crate) fn new(claimed: ClaimedTerm, until: BootTime) -> Self {
        Self {
            claimed,
            lease: Lease::new(until),
            state: Mutex::default(),
        }
    }

    /// The run of the ticket has begun. Orders that came before are passed on now.
    pub(crate) fn attach(
        &self,
        stopper: StopHandle,
        answers: Option<mpsc::UnboundedSender<PromptAnswer>>,
    ) {
        let mut state = self.lock();
        state.stopper = Some(stopper);
        state.answers = answers;
        state.pass_on();
    }

    /// Passes on the order to end the ticket.
    pub(crate) fn cancel(&self, order: CancelOrder) {
        let mut state = self.lock();
        state.cancel = Some(order);
        state.pass_on();
    }

    /// The ticket is not held any more: its processes are killed.
    pub(crate) fn lose(&self) {
        let mut state = self.lock();
        state.is_lost = true;
        state.pass_on();
    }

    /// True once the ticket is not held any more. Also if the store did not say so, but the lease has ended.
    pub(crate) fn is_lost(&self) -> bool {
        self.lock().is_lost
    }

    /// Renews the lease. A lease that has ended stays so, and the ticket is lost.
    pub(crate) fn renew(&self, until: BootTime) {
        if !self.lease.renew(until) && !self.lease.is_enforced() {
            self.lose();
        }
    }

    /// Loses the ticket if its lease has ended without an answer of the store. A lease that was enforced because the supervisor was
    /// stopped is no loss: the run ends by itself, and the store is told.
    pub(crate) fn check_lease(&self) {
        if self.lease.until().left().is_zero() {
            self.lose();
        }
    }

    /// An answer to a permission prompt.
    pub(crate) fn answer(&self, answer: PromptAnswer) {
        if let Some(answers) = &self.lock().answers {
            let _ = answers.send(answer); // the run may have ended
        }
    }

    fn lock(&self) -> MutexGuard<'_, HeldState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl HeldState {
    fn pass_on(&self) {
        let Some(stopper) = &self.stopper else { return };
        if self.is_lost {
            stopper.lose_lease();
        }
        match &self.cancel {
            Some(order) if order.now => stopper.kill(),
            Some(_) => stopper.cancel(),
            None => {}
        }
    }
}

/// All tickets that this worker holds.
#[derive(Debug, Default)]
pub(crate) struct HeldTable {
    tickets: Mutex<HashMap<ClaimedTerm, Arc<HeldTicket>>>,
}

impl HeldTable {
    pub(crate) fn insert(&self, held: HeldTicket) -> Arc<HeldTicket> {
        let held = Arc::new(held);
        self.lock().insert(held.claimed.clone(), Arc::clone(&held));
        held
    }

    pub(crate) fn remove(&self, claimed: &ClaimedTerm) {
        self.lock().remove(claimed);
    }

    pub(crate) fn get(&self, claimed: &ClaimedTerm) -> Option<Arc<HeldTicket>> {
        self.lock().get(claimed).cloned()
    }

    pub(crate) fn all(&self) -> Vec<Arc<HeldTicket>> {
        self.lock().values().cloned().collect()
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<ClaimedTerm, Arc<HeldTicket>>> {
        self.tickets.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::TicketId;

    fn held(left: Duration) -> HeldTicket {
        let claimed = ClaimedTerm {
            ticket: TicketId::fresh(),
            term: 1,
        };
        HeldTicket::new(claimed, BootTime::now().after(left))
    }

    #[test]
    fn a_ticket_is_lost_when_its_lease_ended_before_the_renewal_came() {
        let late = BootTime::now().after(Duration::from_hours(2));
        let in_time = held(Duration::from_hours(1));
        in_time.renew(late);
        in_time.check_lease();
        assert!(!in_time.is_lost());
        assert_eq!(in_time.lease.until(), late);

        let too_late = held(Duration::ZERO);
        too_late.renew(late);
        assert!(too_late.is_lost());
    }
}
