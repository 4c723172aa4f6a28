//! Retries of requests to a store that cannot be reached: an outage of the store is no failure of a ticket.

use std::sync::Arc;
use std::time::Duration;

use lapidary::engine::process::BootTime;
use tokio::time::{sleep, timeout};

use super::held::HeldTicket;
use crate::{FleetStore, StoreAddress, StoreError, StoreFuture};

/// The pause between two requests to a store that cannot be reached.
pub(crate) const PAUSE: Duration = Duration::from_millis(500);

/// A request that takes longer is given up and repeated: the connection may be half open.
const LONGEST_REQUEST: Duration = Duration::from_secs(20);

/// How many times a worker tries to reach the store at its start.
const FIRST_TRIES: u32 = 20;

/// Sends a request to the store. Without an answer within `longest` it fails as unavailable, and its effect is unknown.
pub(crate) async fn request<T>(
    operation: StoreFuture<'_, T>,
    longest: Duration,
) -> Result<T, StoreError> {
    match timeout(longest, operation).await {
        Ok(answer) => answer,
        Err(_) => Err(StoreError::Unavailable {
            store: "the store".to_owned(),
            reason: format!("no answer within {} s", longest.as_secs_f64()),
        }),
    }
}

/// Whether a store cannot work for now: then leases cannot be extended either, and end.
fn is_outage(error: &StoreError) -> bool {
    error.is_passing()
        || matches!(
            error,
            StoreError::ReadOnly { .. } | StoreError::DiskFull { .. } | StoreError::Denied { .. }
        )
}

/// Repeats a request until it is answered, or the ticket is lost.
pub(crate) async fn while_held<'a, T>(
    held: &HeldTicket,
    mut operation: impl FnMut() -> StoreFuture<'a, T>,
) -> Result<T, StoreError> {
    loop {
        match request(operation(), LONGEST_REQUEST).await {
            Err(error) if is_outage(&error) && !held.is_lost() => sleep(PAUSE).await,
            Err(_) if held.is_lost() => return Err(StoreError::LeaseLost(held.claimed.clone())),
            answer => return answer,
        }
    }
}

/// Repeats a request until it is answered, or a lease that began with it is half over, or it is not wanted any more.
pub(crate) async fn while_leased<'a, T>(
    sent: BootTime,
    lease: Duration,
    is_wanted: impl Fn() -> bool,
    mut operation: impl FnMut() -> StoreFuture<'a, T>,
) -> Result<T, StoreError> {
    let may_wait = || is_wanted() && !sent.after(lease / 2).left().is_zero();
    loop {
        match request(operation(), LONGEST_REQUEST.min(lease / 3)).await {
            Err(error) if error.is_passing() && may_wait() => sleep(PAUSE).await,
            answer => return answer,
        }
    }
}

/// Repeats the first request of a worker a few times.
pub(crate) async fn first_contact<'a, T>(
    mut operation: impl FnMut() -> StoreFuture<'a, T>,
) -> Result<T, StoreError> {
    for _ in 0..FIRST_TRIES {
        match request(operation(), LONGEST_REQUEST).await {
            Err(error) if error.is_passing() => sleep(PAUSE).await,
            answer => return answer,
        }
    }
    request(operation(), LONGEST_REQUEST).await
}

/// Opens a store that may not be reachable yet.
pub async fn connect_patiently(address: &StoreAddress) -> Result<Arc<dyn FleetStore>, StoreError> {
    first_contact(|| address.open()).await
}

/// Sends a request once.
pub(crate) async fn once<T>(operation: StoreFuture<'_, T>) -> Result<T, StoreError> {
    request(operation, LONGEST_REQUEST).await
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    #[tokio::test]
    async fn a_request_to_a_store_that_is_away_is_repeated_only_while_it_is_wanted() {
        let requests = Cell::new(0);
        let away = || -> StoreFuture<'static, ()> {
            requests.set(requests.get() + 1);
            let (store, reason) = (String::new(), String::new());
            Box::pin(std::future::ready(Err(StoreError::Unavailable {
                store,
                reason,
            })))
        };
        let is_wanted = || requests.get() < 2;
        let asked = while_leased(BootTime::now(), Duration::from_hours(1), is_wanted, away);
        assert!(asked.await.is_err());
        assert_eq!(requests.get(), 2);
    }
}
