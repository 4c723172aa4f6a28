//! Logs of attempts, their artifacts, and the news of both.

use std::time::Duration;

use lapidary_fleet::{
    AppendReply, ArtifactPart, ArtifactSeal, EventAppend, LARGEST_PART, LeaseUse, LogState,
    StoreError, WorkerId,
};
use lapidary_testkit::patience::HANG;
use tokio::time::timeout;

use crate::support::{
    LEASE, TestStore, append, claim_and_vanish, claim_one, heartbeat, record, stored, submit,
    ticket, worker,
};

pub(crate) async fn events_are_appended_exactly_once(test: &TestStore) {
    let store = &*test.store;
    submit(store, &ticket("x")).await;
    let worker = worker(store).await;
    let claimed = claim_one(store, &worker).await;
    let first = append(&claimed, 0, &["{\"seq\":0}", "{\"seq\":1}"]);
    assert_eq!(store.append(&first).await.unwrap(), stored(2));
    let next = AppendReply::OutOfOrder { next: 2 };
    assert_eq!(
        store.append(&first).await.unwrap(),
        next,
        "the answer was lost"
    );
    let gap = append(&claimed, 5, &["{\"seq\":5}"]);
    assert_eq!(store.append(&gap).await.unwrap(), next);
    let second = append(&claimed, 2, &["{\"seq\":2}"]);
    assert_eq!(store.append(&second).await.unwrap(), stored(3));
    let log = store.log_state(&claimed.run, &worker).await.unwrap();
    let going_on = LogState {
        next_seq: 3,
        has_ended: false,
    };
    assert_eq!(log, Some(going_on));
    let other = WorkerId::fresh();
    assert_eq!(store.log_state(&claimed.run, &other).await.unwrap(), None);
    let chunks = store.chunks(&claimed.run, 0, 1_000_000).await.unwrap();
    let log: Vec<u8> = chunks.into_iter().flat_map(|chunk| chunk.body).collect();
    assert_eq!(log, b"{\"seq\":0}\n{\"seq\":1}\n{\"seq\":2}\n");
}

pub(crate) async fn nul_and_lone_surrogates_are_kept(test: &TestStore) {
    let store = &*test.store;
    submit(store, &ticket("x")).await;
    let claimed = claim_one(store, &worker(store).await).await;
    let body = b"{\"text\":\"\\u0000 \\ud800\",\"a\":1,\"a\":2}\n\0\xff\xfe\n".to_vec();
    let odd = EventAppend {
        body: body.clone(),
        count: 2,
        ..append(&claimed, 0, &[])
    };
    store.append(&odd).await.unwrap();
    let chunks = store.chunks(&claimed.run, 0, 1000).await.unwrap();
    assert_eq!(chunks[0].body, body);
}

pub(crate) async fn history_may_come_late_and_changes_nothing_else(test: &TestStore) {
    let store = &*test.store;
    let (old, new) = (worker(store).await, worker(store).await);
    let id = submit(store, &ticket("x")).await;
    store.heartbeat(&heartbeat(&new, &[])).await.unwrap();
    let lost = claim_and_vanish(test, &old).await;
    store.append(&append(&lost, 0, &["{}"])).await.unwrap();
    store.reclaim(LEASE, 9).await.unwrap();
    let claimed = claim_one(store, &new).await;
    let held = append(&lost, 1, &["{}"]);
    let refused = store.append(&held).await.unwrap_err();
    assert!(matches!(refused, StoreError::LeaseLost(_)), "{refused}");
    let late = EventAppend {
        lease: LeaseUse::Late,
        ..held
    };
    assert_eq!(store.append(&late).await.unwrap(), stored(2));
    let record = record(store, &id).await;
    let lengths: Vec<u64> = record
        .attempt_records
        .iter()
        .map(|it| it.next_seq)
        .collect();
    assert_eq!((record.term, lengths), (claimed.term, vec![2, 0]));
    // A term that was never claimed has no log.
    let mut never = late;
    never.claimed.term = 99;
    let refused = store.append(&never).await.unwrap_err();
    assert!(matches!(refused, StoreError::LeaseLost(_)), "{refused}");
}

pub(crate) async fn chunks_are_read_from_any_event(test: &TestStore) {
    let store = &*test.store;
    submit(store, &ticket("x")).await;
    let claimed = claim_one(store, &worker(store).await).await;
    for first in (0..30).step_by(3) {
        let lines = append(&claimed, first, &["{}", "{}", "{}"]);
        store.append(&lines).await.unwrap();
    }
    let read = async |from, bytes| {
        let chunks = store.chunks(&claimed.run, from, bytes).await.unwrap();
        chunks.iter().map(|chunk| chunk.first).collect::<Vec<_>>()
    };
    assert_eq!(read(0, 1).await, [0]);
    assert_eq!(read(0, 1_000_000).await.len(), 10);
    assert_eq!(read(4, 20).await, [3, 6, 9]);
    assert_eq!(read(29, 1_000).await, [27]);
    assert!(read(30, 1_000).await.is_empty());
}

pub(crate) async fn artifacts_are_sealed_only_if_they_are_whole(test: &TestStore) {
    use sha2::{Digest as _, Sha256};
    let store = &*test.store;
    submit(store, &ticket("x")).await;
    let claimed = claim_one(store, &worker(store).await).await;
    let part = |number: u32, body: &[u8]| ArtifactPart {
        claimed: claimed.claimed_term(),
        name: "changes.patch".to_owned(),
        part: number,
        body: body.to_vec(),
        lease: LeaseUse::Held,
    };
    let seal = ArtifactSeal {
        claimed: claimed.claimed_term(),
        name: "changes.patch".to_owned(),
        media_type: "text/x-patch".to_owned(),
        parts: 2,
        sha256: Sha256::digest(b"one\0two").into(),
        lease: LeaseUse::Held,
    };
    store.put_part(&part(0, b"wrong")).await.unwrap();
    store.put_part(&part(1, b"two")).await.unwrap();
    store.put_part(&part(2, b"too much")).await.unwrap();
    let refused = store.seal_artifact(&seal).await.unwrap_err();
    assert!(
        matches!(refused, StoreError::ArtifactMismatch { .. }),
        "{refused}"
    );
    assert!(store.artifacts(&claimed.run).await.unwrap().is_empty());
    store.put_part(&part(0, b"one\0")).await.unwrap();
    let sealed = store.seal_artifact(&seal).await.unwrap();
    assert_eq!((sealed.bytes, sealed.parts), (7, 2));
    assert_eq!(
        store.seal_artifact(&seal).await.unwrap(),
        sealed,
        "the answer was lost"
    );
    assert_eq!(store.artifacts(&claimed.run).await.unwrap(), [sealed]);
    store.put_part(&part(0, b"later")).await.unwrap();
    let first = store
        .artifact_part(&claimed.run, "changes.patch", 0)
        .await
        .unwrap();
    assert_eq!(
        first.as_deref(),
        Some(&b"one\0"[..]),
        "a sealed artifact does not change"
    );
    let beyond = store
        .artifact_part(&claimed.run, "changes.patch", 2)
        .await
        .unwrap();
    assert_eq!(beyond, None);
    let large = store.put_part(&part(0, &vec![0; LARGEST_PART + 1])).await;
    assert!(matches!(large, Err(StoreError::BadRequest { .. })));
}

pub(crate) async fn a_listener_hears_of_changes(test: &TestStore) {
    let store = &*test.store;
    let elsewhere = test.another().await;
    let mut listener = elsewhere.listen().await.unwrap();
    assert!(listener.is_live());
    let waiting = tokio::spawn(async move {
        loop {
            let changes = listener.next().await;
            if changes.queue
                && !elsewhere
                    .list(&lapidary_fleet::TicketFilter::default())
                    .await
                    .unwrap()
                    .is_empty()
            {
                return;
            }
        }
    });
    tokio::time::sleep(Duration::from_millis(1)).await;
    submit(store, &ticket("x")).await;
    store.flush().await.unwrap();
    timeout(HANG, waiting).await.unwrap().unwrap();
}
