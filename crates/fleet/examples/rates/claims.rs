//! The latency of a claim, while other tickets wait.

use std::time::Instant;

use lapidary_fleet::{NewTicket, StoreAddress};

use crate::Failed;
use crate::clients::{completed, register, request, ticket};

/// Claims that are measured.
const CLAIMS: usize = 500;

/// Claims before them: statements are prepared, and pages are read.
const WARM_UP: usize = 50;

/// The median of the latencies in milliseconds, and the latency of all but one in a hundred.
pub(crate) async fn latency(address: &StoreAddress) -> Result<(f64, f64), Failed> {
    let store = address.open().await?;
    let worker = register(&*store).await?;
    let tickets: Vec<NewTicket> = (0..CLAIMS + WARM_UP).map(|_| ticket()).collect();
    store.submit(&tickets).await?;
    let mut times = Vec::with_capacity(CLAIMS);
    for number in 0..tickets.len() {
        let request = request(&worker);
        let begun = Instant::now();
        let claims = store.claim(&request).await?;
        if number >= WARM_UP {
            times.push(begun.elapsed());
        }
        for claim in &claims {
            store.finish(&completed(claim)).await?;
        }
    }
    times.sort_unstable();
    let at = |percent: usize| times[times.len() * percent / 100].as_secs_f64() * 1000.0;
    Ok((at(50), at(99)))
}
