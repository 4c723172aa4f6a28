//! A lease on a run: the moment by which every process of the run must be gone, unless the lease is renewed before.
//!
//! The supervisor has the moment, too, and ends the agent by itself: this process may be stopped, or may not reach the place that
//! grants leases. This process watches the supervisor in turn: see `Running::wait`.

use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// A moment on the clock of this machine that also counts while the machine sleeps. Only processes of one machine can compare it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct BootTime {
    nanos: u64,
}

impl BootTime {
    /// This moment.
    pub fn now() -> Self {
        Self {
            nanos: super::system::boot_nanos(),
        }
    }

    /// So much later.
    #[must_use]
    pub fn after(self, time: Duration) -> Self {
        let time = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        Self {
            nanos: self.nanos.saturating_add(time),
        }
    }

    /// The time since an earlier moment; zero if that is later.
    pub fn since(self, earlier: Self) -> Duration {
        Duration::from_nanos(self.nanos.saturating_sub(earlier.nanos))
    }

    /// The time left until this moment.
    pub fn left(self) -> Duration {
        self.since(Self::now())
    }
}

/// A lease on a run. Clones are the same one.
///
/// A lease that has ended cannot be renewed: its supervisor ends the agent at that moment, and another worker may have the run.
#[derive(Clone)]
pub struct Lease(Arc<LeaseState>);

struct LeaseState {
    until: AtomicU64,
    /// Set when processes were ended because of the lease.
    is_enforced: AtomicBool,
    holders: Mutex<Vec<Weak<dyn LeaseHolder>>>,
}

/// The connection to a supervisor, which enforces a lease.
pub(super) trait LeaseHolder: Send + Sync {
    fn extend_lease(&self, until: BootTime);
}

impl Lease {
    /// A lease that ends at that moment.
    pub fn new(until: BootTime) -> Self {
        Self(Arc::new(LeaseState {
            until: AtomicU64::new(until.nanos),
            is_enforced: AtomicBool::new(false),
            holders: Mutex::default(),
        }))
    }

    /// Moves the end, and tells every supervisor. False if the lease has ended: it stays so.
    #[must_use]
    pub fn renew(&self, until: BootTime) -> bool {
        if self.is_over() {
            return false;
        }
        self.0.until.fetch_max(until.nanos, Ordering::AcqRel);
        let mut holders = self
            .0
            .holders
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        holders.retain(|holder| {
            let holder = holder.upgrade();
            holder.inspect(|it| it.extend_lease(until)).is_some()
        });
        true
    }

    /// Its end.
    pub fn until(&self) -> BootTime {
        BootTime {
            nanos: self.0.until.load(Ordering::Acquire),
        }
    }

    /// True once it has ended.
    pub fn is_over(&self) -> bool {
        self.is_enforced() || BootTime::now() >= self.until()
    }

    /// True if processes were ended because of it. A run that ended by itself in the last moment is none of these.
    pub fn is_enforced(&self) -> bool {
        self.0.is_enforced.load(Ordering::Acquire)
    }

    pub(super) fn set_enforced(&self) {
        self.0.is_enforced.store(true, Ordering::Release);
    }

    /// Adds a supervisor, and tells it the end: it may have moved since the supervisor was started.
    pub(super) fn add_holder(&self, holder: Weak<dyn LeaseHolder>) {
        let mut holders = self
            .0
            .holders
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        if let Some(holder) = holder.upgrade() {
            holder.extend_lease(self.until());
        }
        holders.push(holder);
    }
}

impl fmt::Debug for Lease {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Lease")
            .field("until", &self.until())
            .field("is_enforced", &self.is_enforced())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Told(Mutex<Vec<BootTime>>);

    impl LeaseHolder for Told {
        fn extend_lease(&self, until: BootTime) {
            self.0.lock().unwrap().push(until);
        }
    }

    #[test]
    fn every_supervisor_gets_the_new_end_and_an_ended_lease_stays_ended() {
        let hour = Duration::from_hours(1);
        let (first, second) = (
            BootTime::now().after(hour),
            BootTime::now().after(hour + hour),
        );
        let lease = Lease::new(first);
        let told = Arc::new(Told(Mutex::default()));
        let holder: Weak<dyn LeaseHolder> = Arc::<Told>::downgrade(&told);
        lease.add_holder(holder);
        assert!(lease.renew(second));
        assert_eq!(*told.0.lock().unwrap(), [first, second]);
        assert!(lease.renew(first), "an answer that comes late");
        assert_eq!(lease.until(), second, "does not shorten it");

        lease.set_enforced();
        assert!(!lease.renew(second.after(hour)));
        assert!(lease.is_over());
        let past = Lease::new(BootTime::now());
        assert!(!past.renew(second), "its supervisor may have acted already");
        assert!(past.is_over() && !past.is_enforced());
    }
}
