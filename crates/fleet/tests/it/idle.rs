//! Idle workers of a `SQLite` file: they do not wake each other, and write nothing but heartbeats.

use std::sync::Arc;

use lapidary_fleet::{CancelRequest, FleetStore, StoreAddress, StoreChanges};

use crate::support::{LEASE, TestStore, claim, heartbeat, submit, ticket, worker};

/// A number that each commit of another connection changes.
fn data_version(connection: &rusqlite::Connection) -> i64 {
    let version = connection.pragma_query_value(None, "data_version", |row| row.get(0));
    version.unwrap()
}

#[tokio::test]
async fn claims_and_sweeps_that_find_nothing_write_nothing() {
    let test = TestStore::sqlite().await;
    let StoreAddress::Sqlite(path) = &test.address else {
        unreachable!("it is SQLite");
    };
    let worker = worker(&*test.store).await;
    let beat = heartbeat(&worker, &[]);
    test.store.heartbeat(&beat).await.unwrap();
    let connection = rusqlite::Connection::open(path).unwrap();
    let before = data_version(&connection);
    assert!(claim(&*test.store, &worker, 1).await.is_empty());
    assert!(test.store.reclaim(LEASE, 10).await.unwrap().is_empty());
    assert_eq!(data_version(&connection), before);
    submit(&*test.store, &ticket("x")).await;
    assert_ne!(data_version(&connection), before);
}

#[tokio::test]
async fn heartbeats_of_others_do_not_put_off_a_look_at_the_queue() {
    let test = TestStore::sqlite().await;
    let worker = worker(&*test.store).await;
    let mut listener = test.another().await.listen().await.unwrap();
    for _ in 0..200 {
        let beat = heartbeat(&worker, &[]);
        test.store.heartbeat(&beat).await.unwrap();
        if listener.next().await.queue {
            return;
        }
    }
    panic!("tickets whose time has come would wait for ever");
}

/// Opens a listener, makes the change, and returns the first report that satisfies `is_enough`.
async fn heard(
    store: Arc<dyn FleetStore>,
    change: impl Future<Output = ()>,
    is_enough: fn(&StoreChanges) -> bool,
) -> StoreChanges {
    let mut listener = store.listen().await.unwrap();
    change.await;
    loop {
        let changes = listener.next().await;
        if is_enough(&changes) {
            return changes;
        }
    }
}

#[tokio::test]
async fn a_heartbeat_is_no_news_for_other_workers_and_an_order_is() {
    let test = TestStore::sqlite().await;
    let worker = worker(&*test.store).await;
    let beat = async {
        let beat = heartbeat(&worker, &[]);
        test.store.heartbeat(&beat).await.unwrap();
    };
    let changes = heard(test.another().await, beat, |changes| changes.all_runs).await;
    let known = (changes.queue, changes.orders, changes.states);
    assert_eq!(known, (false, false, false), "{changes:?}");

    let order = async {
        let id = submit(&*test.store, &ticket("x")).await;
        let request = CancelRequest {
            by: "ann".to_owned(),
            why: None,
            now: false,
        };
        test.store.cancel(&id, &request).await.unwrap();
    };
    let changes = heard(test.another().await, order, |changes| changes.orders).await;
    assert!(changes.queue && changes.states, "{changes:?}");
}
