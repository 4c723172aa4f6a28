//! Workers: claims, leases, and the fates of tickets whose attempts end.

use std::time::Duration;

use jiff::Timestamp;
use lapidary_fleet::{
    ClaimRequest, EventAppend, FleetStore, NewTicket, RetryAdvice, RetryPolicy, StoreError,
    TicketFate, TicketRelease, TicketState, WorkerId,
};

use crate::support::{
    LEASE, TestStore, append, claim, claim_and_vanish, claim_one, claim_request, complete, done,
    end, failed_for_now, heartbeat, in_lanes, record, submit, texts, ticket, worker,
};

/// Ends attempts whose lease is over, and returns the fates of their tickets.
async fn reclaim(store: &dyn FleetStore) -> Vec<TicketFate> {
    let fates = store.reclaim(LEASE, 100).await.unwrap();
    fates.into_iter().map(|(_, fate)| fate).collect()
}

pub(crate) async fn the_term_only_grows_and_a_ticket_runs_once(test: &TestStore) {
    let store = &*test.store;
    let (one, other) = (worker(store).await, worker(store).await);
    let id = submit(store, &ticket("x")).await;
    let mut terms = Vec::new();
    for _ in 0..3 {
        let claimed = claim_one(store, &one).await;
        assert_eq!(claimed.ticket, id);
        assert_eq!(claim(store, &other, 5).await.len(), 0);
        terms.push(claimed.term);
        store.finish(&failed_for_now(&claimed)).await.unwrap();
    }
    assert_eq!(terms, [1, 2, 3]);
    store.retry(&id).await.unwrap();
    assert_eq!(claim_one(store, &other).await.term, 4);
}

pub(crate) async fn a_claim_whose_answer_was_lost_gives_the_same_tickets(test: &TestStore) {
    let store = &*test.store;
    let worker = worker(store).await;
    for prompt in ["one", "two", "three"] {
        submit(store, &ticket(prompt)).await;
    }
    let request = claim_request(&worker, 2);
    let terms = async |request: &ClaimRequest| {
        let claims = store.claim(request).await.unwrap();
        let mut terms: Vec<_> = claims
            .iter()
            .map(lapidary_fleet::TicketClaim::claimed_term)
            .collect();
        terms.sort_by(|one, other| one.ticket.cmp(&other.ticket));
        terms
    };
    let first = terms(&request).await;
    assert_eq!(first.len(), 2);
    assert_eq!(terms(&request).await, first);
    assert_eq!(claim(store, &worker, 9).await.len(), 1);
}

pub(crate) async fn needs_must_be_among_the_labels(test: &TestStore) {
    let store = &*test.store;
    let worker = worker(store).await;
    let needy = NewTicket {
        needs: texts(&["gpu", "os:linux"]),
        ..ticket("x")
    };
    let id = submit(store, &needy).await;
    for (labels, expected) in [
        (vec![], 0),
        (texts(&["gpu"]), 0),
        (texts(&["os:linux", "agent:gemini", "gpu"]), 1),
    ] {
        let request = ClaimRequest {
            labels: labels.clone(),
            ..claim_request(&worker, 9)
        };
        let claims = store.claim(&request).await.unwrap();
        assert_eq!(claims.len(), expected, "{labels:?}");
    }
    assert_eq!(record(store, &id).await.state, TicketState::Running);
}

pub(crate) async fn a_ticket_waits_until_its_time(test: &TestStore) {
    let store = &*test.store;
    let worker = worker(store).await;
    let later = Timestamp::now() + Duration::from_hours(1);
    let new = NewTicket {
        not_before: Some(later),
        priority: 9,
        ..ticket("later")
    };
    submit(store, &new).await;
    let now = submit(store, &ticket("now")).await;
    let claims = claim(store, &worker, 9).await;
    let claimed: Vec<_> = claims.iter().map(|claim| &claim.ticket).collect();
    assert_eq!(claimed, [&now]);
}

pub(crate) async fn a_newer_spec_is_left_to_newer_workers(test: &TestStore) {
    let store = &*test.store;
    let mut new = ticket("x");
    new.spec.version = 2;
    submit(store, &new).await;
    let worker = worker(store).await;
    assert_eq!(claim(store, &worker, 9).await.len(), 0);
    assert!(!store.find_work(&[]).await.unwrap());
}

pub(crate) async fn lanes_limit_exactly_with_several_of_them(test: &TestStore) {
    let store = &*test.store;
    let worker = worker(store).await;
    for _ in 0..3 {
        submit(store, &in_lanes("both", &[("repo", 2), ("agent", 3)])).await;
        submit(store, &in_lanes("agent", &[("agent", 3)])).await;
    }
    let claims = claim(store, &worker, 9).await;
    assert_eq!(claims.len(), 3, "`agent` has room for three");
    let prompts: Vec<bool> = claims
        .iter()
        .map(|claim| String::from_utf8_lossy(&claim.spec).contains("both"))
        .collect();
    assert!(prompts.iter().filter(|both| **both).count() <= 2);
    assert_eq!(claim(store, &worker, 9).await.len(), 0);
    complete(store, &claims[0]).await;
    assert_eq!(claim(store, &worker, 9).await.len(), 1);
    let lanes = store.overview().await.unwrap().lanes;
    let agent = lanes.iter().find(|lane| lane.name == "agent").unwrap();
    assert_eq!((agent.running, agent.limit, agent.waiting), (3, Some(3), 2));
}

pub(crate) async fn kinds_take_turns_and_priority_comes_first(test: &TestStore) {
    let store = &*test.store;
    let worker = worker(store).await;
    for _ in 0..3 {
        submit(store, &in_lanes("a", &[("a", 9)])).await;
    }
    for _ in 0..3 {
        submit(store, &in_lanes("b", &[("b", 9)])).await;
    }
    let urgent = NewTicket {
        priority: 1,
        ..in_lanes("b urgent", &[("b", 9)])
    };
    submit(store, &urgent).await;
    let mut order = Vec::new();
    for _ in 0..7 {
        let claim = claim_one(store, &worker).await;
        order.push(record(store, &claim.ticket).await.title);
        // Turns are distinguished by the store's clock, in milliseconds.
        tokio::time::sleep(Duration::from_millis(3)).await;
    }
    assert_eq!(order[0], "b urgent");
    let turns = order[1..].concat();
    assert!(turns == "ababab" || turns == "bababa", "{turns}");
}

pub(crate) async fn a_worker_that_the_store_does_not_know_is_refused(test: &TestStore) {
    let store = &*test.store;
    let unknown = WorkerId::fresh();
    let claim = store.claim(&claim_request(&unknown, 1)).await.unwrap_err();
    let beat = store
        .heartbeat(&heartbeat(&unknown, &[]))
        .await
        .unwrap_err();
    for error in [claim, beat] {
        assert!(matches!(error, StoreError::UnknownWorker { .. }), "{error}");
        assert!(error.to_string().contains("restored from a backup"));
    }
}

pub(crate) async fn a_heartbeat_keeps_what_is_held_and_names_what_is_lost(test: &TestStore) {
    let store = &*test.store;
    let worker = worker(store).await;
    submit(store, &ticket("kept")).await;
    submit(store, &ticket("lost")).await;
    let claims = claim(store, &worker, 2).await;
    complete(store, &claims[1]).await;
    let reply = store
        .heartbeat(&heartbeat(&worker, &[&claims[0], &claims[1]]))
        .await
        .unwrap();
    let kept: Vec<_> = reply.kept.iter().map(|kept| &kept.claimed).collect();
    assert_eq!(kept, [&claims[0].claimed_term()]);
    assert_eq!(reply.lost, [claims[1].claimed_term()]);
}

pub(crate) async fn an_old_term_changes_nothing(test: &TestStore) {
    let store = &*test.store;
    let (old, new) = (worker(store).await, worker(store).await);
    let id = submit(store, &ticket("x")).await;
    let lost = claim_and_vanish(test, &old).await;
    reclaim(store).await;
    let claimed = claim_one(store, &new).await;
    let late = end(lost.claimed_term(), "completed", "end_turn");
    let release = TicketRelease {
        claimed: lost.claimed_term(),
        reason: "draining".to_owned(),
        delay: Duration::ZERO,
    };
    let refusals = [
        store.finish(&late).await.unwrap_err(),
        store.release(&release).await.unwrap_err(),
        store.append(&append(&lost, 0, &["{}"])).await.unwrap_err(),
    ];
    for error in refusals {
        assert!(matches!(error, StoreError::LeaseLost(_)), "{error}");
    }
    let beat = store.heartbeat(&heartbeat(&old, &[&lost])).await.unwrap();
    assert_eq!(beat.lost, [lost.claimed_term()]);
    let record = record(store, &id).await;
    assert_eq!(
        (record.state, record.term),
        (TicketState::Running, claimed.term)
    );
    assert_eq!(
        complete(store, &claimed).await,
        done("completed", "end_turn")
    );
    // The answer was lost, and the worker asks again.
    assert_eq!(
        complete(store, &claimed).await,
        done("completed", "end_turn")
    );
}

pub(crate) async fn a_vanished_worker_loses_its_ticket_to_another(test: &TestStore) {
    let store = &*test.store;
    let (old, new) = (worker(store).await, worker(store).await);
    let id = submit(store, &in_lanes("x", &[("a", 1)])).await;
    let held = claim_one(store, &old).await;
    assert_eq!(reclaim(store).await, []);
    store.finish(&failed_for_now(&held)).await.unwrap();
    claim_and_vanish(test, &old).await;
    assert_eq!(claim(store, &new, 1).await.len(), 0);
    assert_eq!(reclaim(store).await, [TicketFate::Waiting]);
    let claimed = claim_one(store, &new).await;
    assert_eq!((claimed.term, claimed.attempt, claimed.lost), (3, 3, 1));
    let causes: Vec<_> = record(store, &id)
        .await
        .attempt_records
        .into_iter()
        .map(|it| it.cause)
        .collect();
    let lost = Some("lease_lost".to_owned());
    assert_eq!(causes, [Some("quota_retryable".to_owned()), lost, None]);
}

pub(crate) async fn what_was_touched_is_not_repeated(test: &TestStore) {
    let store = &*test.store;
    let worker = worker(store).await;
    for (policy, touched, expected) in [
        (RetryPolicy::Untouched, false, TicketFate::Waiting),
        (RetryPolicy::Untouched, true, done("failed", "lease_lost")),
        (RetryPolicy::Always, true, TicketFate::Waiting),
        (RetryPolicy::Never, false, done("failed", "lease_lost")),
    ] {
        let mut new = ticket("x");
        new.spec.retry = policy;
        let id = submit(store, &new).await;
        let lost = claim_and_vanish(test, &worker).await;
        let touching = EventAppend {
            touched,
            ..append(&lost, 0, &["{}"])
        };
        store.append(&touching).await.unwrap();
        store.append(&append(&lost, 1, &["{}"])).await.unwrap();
        assert_eq!(reclaim(store).await, [expected], "{policy:?} {touched}");
        let cancel = lapidary_fleet::CancelRequest {
            by: "a test".to_owned(),
            why: None,
            now: false,
        };
        store.cancel(&id, &cancel).await.unwrap();
    }
}

pub(crate) async fn a_silent_fleet_gets_its_leases_extended_once(test: &TestStore) {
    let store = &*test.store;
    let worker = worker(store).await;
    let id = submit(store, &ticket("x")).await;
    // No heartbeat ever came: the database may have been away.
    claim_one(store, &worker).await;
    test.expire_leases().await;
    assert_eq!(store.reclaim(LEASE, 9).await.unwrap(), []);
    let extended = record(store, &id).await;
    assert_eq!(extended.state, TicketState::Running);
    assert!(extended.lease_until > Some(Timestamp::now()));
    // The fleet is not silent any more.
    test.expire_leases().await;
    assert_eq!(store.reclaim(LEASE, 9).await.unwrap().len(), 1);
}

pub(crate) async fn a_ticket_is_given_up_with_its_attempts_counted(test: &TestStore) {
    let store = &*test.store;
    let worker = worker(store).await;
    let new = NewTicket {
        max_attempts: 2,
        ..ticket("x")
    };
    let id = submit(store, &new).await;
    let first = claim_one(store, &worker).await;
    assert_eq!(
        store.finish(&failed_for_now(&first)).await.unwrap(),
        TicketFate::Waiting
    );
    let second = claim_one(store, &worker).await;
    assert_eq!(
        store.finish(&failed_for_now(&second)).await.unwrap(),
        done("failed", "gave_up")
    );
    let given_up = record(store, &id).await;
    assert_eq!((given_up.attempts, given_up.attempt_records.len()), (2, 2));
    // With a single attempt, `gave_up` would hide the attempt's own cause.
    let new = NewTicket {
        max_attempts: 1,
        ..ticket("x")
    };
    submit(store, &new).await;
    let only = claim_one(store, &worker).await;
    let fate = store.finish(&failed_for_now(&only)).await.unwrap();
    assert_eq!(fate, done("failed", "quota_retryable"));
}

pub(crate) async fn a_ticket_that_loses_three_workers_is_given_up(test: &TestStore) {
    let store = &*test.store;
    let worker = worker(store).await;
    let new = NewTicket {
        max_attempts: 100,
        ..ticket("x")
    };
    let id = submit(store, &new).await;
    let mut fates = Vec::new();
    for _ in 0..3 {
        claim_and_vanish(test, &worker).await;
        fates.extend(reclaim(store).await);
    }
    let waiting = TicketFate::Waiting;
    assert_eq!(fates, [waiting.clone(), waiting, done("failed", "gave_up")]);
    let record = record(store, &id).await;
    assert_eq!((record.attempts, record.lost), (3, 3));
}

pub(crate) async fn a_ticket_that_was_given_back_keeps_its_attempts(test: &TestStore) {
    let store = &*test.store;
    let worker = worker(store).await;
    let new = NewTicket {
        max_attempts: 1,
        ..in_lanes("x", &[("a", 1)])
    };
    let id = submit(store, &new).await;
    for _ in 0..3 {
        let claimed = claim_one(store, &worker).await;
        let release = TicketRelease {
            claimed: claimed.claimed_term(),
            reason: "draining".to_owned(),
            delay: Duration::ZERO,
        };
        assert_eq!(store.release(&release).await.unwrap(), TicketFate::Waiting);
        assert_eq!(store.release(&release).await.unwrap(), TicketFate::Waiting);
    }
    let record = record(store, &id).await;
    assert_eq!((record.attempts, record.released), (3, 3));
    let claimed = claim_one(store, &worker).await;
    assert_eq!(
        complete(store, &claimed).await,
        done("completed", "end_turn")
    );
}

pub(crate) async fn a_worker_drains_until_nothing_is_left(test: &TestStore) {
    let store = &*test.store;
    let worker = worker(store).await;
    assert!(!store.find_work(&[]).await.unwrap());
    let needy = NewTicket {
        needs: texts(&["gpu"]),
        ..ticket("x")
    };
    submit(store, &needy).await;
    assert!(!store.find_work(&[]).await.unwrap());
    assert!(store.find_work(&texts(&["gpu"])).await.unwrap());
    submit(store, &ticket("x")).await;
    let claimed = claim_one(store, &worker).await;
    assert!(store.find_work(&[]).await.unwrap(), "it may come back");
    let end = lapidary_fleet::AttemptEnd {
        retry: RetryAdvice::After(Duration::from_hours(1)),
        ..end(claimed.claimed_term(), "failed", "quota_retryable")
    };
    store.finish(&end).await.unwrap();
    assert!(
        store.find_work(&[]).await.unwrap(),
        "it comes back in an hour"
    );
    store.leave(&worker).await.unwrap();
    let workers = store.overview().await.unwrap().workers;
    assert!(workers[0].left_at.is_some());
}
