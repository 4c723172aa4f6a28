//! Several claimers at once: no ticket twice, no lane above its limit.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use lapidary_fleet::{FleetStore, NewTicket, StoreAddress, TicketId};
use lapidary_testkit::postgres::PostgresServer;
use tokio::task::JoinSet;

use crate::support::{
    TestStore, claim_request, complete, in_lanes, new_database, submit, ticket, worker,
};

/// Lanes, their limits, and how many tickets run in each as the claimers see it.
struct LaneWatch {
    name: &'static str,
    limit: i64,
    running: AtomicI64,
}

const CLAIMERS: usize = 6;
const TICKETS: usize = if cfg!(feature = "full") { 2000 } else { 120 };

async fn many_claimers_share_the_tickets(test: &TestStore) {
    let watches: Arc<[LaneWatch]> = [("repo:a", 2), ("repo:b", 3), ("agent:x", 4)]
        .map(|(name, limit)| LaneWatch {
            name,
            limit,
            running: AtomicI64::new(0),
        })
        .into();
    let tickets: Vec<NewTicket> = (0..TICKETS).map(in_some_lanes).collect();
    test.store.submit(&tickets).await.unwrap();
    let mut claimers = JoinSet::new();
    for _ in 0..CLAIMERS {
        let (store, watches) = (test.another().await, Arc::clone(&watches));
        claimers.spawn(async move { claim_all(&*store, &watches).await });
    }
    let claimed: Vec<TicketId> = claimers.join_all().await.concat();
    let distinct: HashSet<&TicketId> = claimed.iter().collect();
    assert_eq!((claimed.len(), distinct.len()), (TICKETS, TICKETS));
    let lanes = test.store.overview().await.unwrap().lanes;
    assert!(lanes.is_empty(), "all lanes are free again: {lanes:?}");
}

fn in_some_lanes(number: usize) -> NewTicket {
    match number % 5 {
        0 => in_lanes("x", &[("repo:a", 2), ("agent:x", 4)]),
        1 => in_lanes("x", &[("agent:x", 4), ("repo:b", 3)]),
        2 => in_lanes("x", &[("repo:b", 3), ("repo:a", 2)]),
        3 => in_lanes("x", &[("agent:x", 4)]),
        _ => ticket("x"),
    }
}

async fn claim_all(store: &dyn FleetStore, watches: &[LaneWatch]) -> Vec<TicketId> {
    let worker = worker(store).await;
    let mut claimed = Vec::new();
    loop {
        let claims = store.claim(&claim_request(&worker, 3)).await.unwrap();
        if claims.is_empty() && !store.find_work(&[]).await.unwrap() {
            return claimed;
        }
        for claim in &claims {
            let lanes = store.ticket(&claim.ticket).await.unwrap().unwrap().lanes;
            let mine = || {
                watches
                    .iter()
                    .filter(|watch| lanes.iter().any(|lane| lane == watch.name))
            };
            for watch in mine() {
                let running = watch.running.fetch_add(1, Ordering::SeqCst) + 1;
                assert!(
                    running <= watch.limit,
                    "{} has {running} tickets",
                    watch.name
                );
            }
            tokio::task::yield_now().await;
            // Lower the count before the store frees the lane: else another claimer could be counted first.
            for watch in mine() {
                watch.running.fetch_sub(1, Ordering::SeqCst);
            }
            complete(store, claim).await;
            claimed.push(claim.ticket.clone());
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn many_claimers_of_sqlite_share_the_tickets() {
    many_claimers_share_the_tickets(&TestStore::sqlite().await).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
#[cfg_attr(
    not(feature = "peers"),
    ignore = "needs a real PostgreSQL: run `cargo xtask test`"
)]
async fn many_claimers_of_postgres_share_the_tickets() {
    many_claimers_share_the_tickets(&TestStore::postgres().await).await;
}

/// Two predecessors that end at the same time: one of them lets the ticket go.
async fn predecessors_that_end_at_once_do_not_forget_the_ticket(test: &TestStore) {
    let store = &*test.store;
    let first_worker = worker(store).await;
    for _ in 0..10 {
        let one = submit(store, &ticket("one")).await;
        let other = submit(store, &ticket("other")).await;
        let after = NewTicket {
            after: vec![one, other],
            ..ticket("last")
        };
        let last = submit(store, &after).await;
        let claims = store.claim(&claim_request(&first_worker, 2)).await.unwrap();
        let elsewhere = test.another().await;
        tokio::join!(
            complete(store, &claims[0]),
            complete(&*elsewhere, &claims[1])
        );
        let claims = store.claim(&claim_request(&first_worker, 1)).await.unwrap();
        assert_eq!(claims.first().map(|claim| &claim.ticket), Some(&last));
        complete(store, &claims[0]).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn predecessors_in_sqlite_that_end_at_once_do_not_forget_the_ticket() {
    predecessors_that_end_at_once_do_not_forget_the_ticket(&TestStore::sqlite().await).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[cfg_attr(
    not(feature = "peers"),
    ignore = "needs a real PostgreSQL: run `cargo xtask test`"
)]
async fn predecessors_in_postgres_that_end_at_once_do_not_forget_the_ticket() {
    predecessors_that_end_at_once_do_not_forget_the_ticket(&TestStore::postgres().await).await;
}

/// Programs that initialise a store at once: one of them applies the versions.
async fn programs_that_initialise_at_once_apply_each_version_once(address: &StoreAddress) {
    let mut programs = JoinSet::new();
    for _ in 0..CLAIMERS {
        let address = address.clone();
        programs.spawn(async move { address.initialise().await.unwrap() });
    }
    let mut applied = programs.join_all().await.concat();
    applied.sort_unstable();
    assert_eq!(applied, [1, 2, 3]);
    submit(&*address.open().await.unwrap(), &ticket("x")).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn programs_that_initialise_sqlite_at_once_apply_each_version_once() {
    let directory = tempfile::tempdir().unwrap();
    let address = StoreAddress::Sqlite(directory.path().join("fleet.db"));
    programs_that_initialise_at_once_apply_each_version_once(&address).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
#[cfg_attr(
    not(feature = "peers"),
    ignore = "needs a real PostgreSQL: run `cargo xtask test`"
)]
async fn programs_that_initialise_postgres_at_once_apply_each_version_once() {
    let server = tokio::task::spawn_blocking(PostgresServer::shared);
    let server = server.await.unwrap();
    let address = new_database(server.url()).await;
    programs_that_initialise_at_once_apply_each_version_once(&address).await;
}
