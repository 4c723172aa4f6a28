//! New tickets.

use lapidary_fleet::{
    NewTicket, StoreError, SubmissionAnswer, TicketId, TicketState, WorkspaceSpec,
};

use crate::support::{
    TestStore, claim, claim_one, complete, done, end, in_lanes, record, submit, texts, ticket,
    worker,
};

pub(crate) async fn a_submission_is_repeated_without_a_second_ticket(test: &TestStore) {
    let store = &*test.store;
    let first = NewTicket {
        request_key: Some("nightly".to_owned()),
        ..ticket("fix it")
    };
    let id = submit(store, &first).await;
    // The answer was lost, and the same request is sent again; then another program sends the same content.
    let repeated = store.submit(std::slice::from_ref(&first)).await.unwrap();
    let another = NewTicket {
        id: TicketId::fresh(),
        ..first
    };
    let again = store.submit(&[another]).await.unwrap();
    assert_eq!(repeated, [SubmissionAnswer::Existing(id.clone())]);
    assert_eq!(again, [SubmissionAnswer::Existing(id)]);
    assert_eq!(
        store
            .list(&lapidary_fleet::TicketFilter::default())
            .await
            .unwrap()
            .len(),
        1
    );
}

pub(crate) async fn a_key_with_another_content_is_a_conflict(test: &TestStore) {
    let store = &*test.store;
    let keyed = |prompt: &str| NewTicket {
        request_key: Some("nightly".to_owned()),
        ..ticket(prompt)
    };
    let id = submit(store, &keyed("fix it")).await;
    let other_needs = NewTicket {
        needs: texts(&["gpu"]),
        ..keyed("fix it")
    };
    let submitted = store
        .submit(&[keyed("break it"), ticket("beside it"), other_needs])
        .await
        .unwrap();
    let [first, SubmissionAnswer::Created(_), third] = submitted.as_slice() else {
        panic!("{submitted:?}");
    };
    let conflict = SubmissionAnswer::Conflict { ticket: id };
    assert_eq!((first, third), (&conflict, &conflict));
}

pub(crate) async fn a_prompt_of_ten_megabytes_and_every_character_come_back(test: &TestStore) {
    let store = &*test.store;
    let prompt = format!("{}\0\u{fffd}\u{10ffff}\u{7f}", "x".repeat(10_000_000));
    let new = ticket(&prompt);
    let id = submit(store, &new).await;
    let claim = claim_one(store, &worker(store).await).await;
    assert_eq!(claim.spec, new.spec.to_bytes());
    let record = record(store, &id).await;
    assert_eq!(record.spec, Some(claim.spec));
    assert!(record.title.starts_with("xxx") && record.title.len() < 200);
}

pub(crate) async fn tickets_that_no_worker_could_run_are_refused(test: &TestStore) {
    let mut both = ticket("x");
    both.spec.workspace = Some(WorkspaceSpec {
        repo: Some("a".to_owned()),
        reference: None,
        push: None,
        directory: Some("/b".into()),
    });
    let cases = [
        (ticket(" "), "`spec` is refused: `prompt` is empty"),
        (
            ticket(&"x".repeat(64 << 20)),
            "`spec` is refused: the spec has 67108909 bytes; 67108864 are accepted",
        ),
        (
            in_lanes("x", &[("a", 0)]),
            "`lane` `a` has the limit 0: no ticket would run",
        ),
        (
            both,
            "`spec` is refused: `workspace` has both `repo` and `directory`",
        ),
        (
            NewTicket {
                needs: texts(&["a\0b"]),
                ..ticket("x")
            },
            "`needs` must have 1 to 200 printable characters",
        ),
        (
            NewTicket {
                max_attempts: 0,
                ..ticket("x")
            },
            "`max attempts` must be between 1 and 1000",
        ),
    ];
    for (ticket, expected) in cases {
        let refused = test.store.submit(&[ticket]).await.unwrap_err();
        assert!(
            matches!(refused, StoreError::BadRequest { .. }),
            "{refused}"
        );
        assert_eq!(refused.to_string(), expected);
    }
}

pub(crate) async fn a_ticket_waits_for_its_predecessors(test: &TestStore) {
    let store = &*test.store;
    let worker = worker(store).await;
    let one = submit(store, &ticket("one")).await;
    let other = submit(store, &ticket("other")).await;
    let after = NewTicket {
        after: vec![one.clone(), other.clone()],
        ..ticket("last")
    };
    let last = submit(store, &after).await;
    let waiting = record(store, &last).await;
    assert_eq!(waiting.state, TicketState::Blocked);
    assert_eq!(waiting.waits_for.len(), 2);
    let claims = claim(store, &worker, 9).await;
    assert_eq!(claims.len(), 2);
    complete(store, &claims[0]).await;
    assert_eq!(claim(store, &worker, 9).await.len(), 0);
    complete(store, &claims[1]).await;
    assert_eq!(claim_one(store, &worker).await.ticket, last);
    // A predecessor that completed before is no hindrance.
    let late = NewTicket {
        after: vec![one],
        ..ticket("late")
    };
    assert_eq!(
        record(store, &submit(store, &late).await).await.state,
        TicketState::Waiting
    );
}

pub(crate) async fn a_ticket_whose_predecessor_failed_ends(test: &TestStore) {
    let store = &*test.store;
    let worker = worker(store).await;
    let first = submit(store, &ticket("first")).await;
    let behind = |id: &TicketId| NewTicket {
        after: vec![id.clone()],
        ..ticket("behind")
    };
    let second = submit(store, &behind(&first)).await;
    let third = submit(store, &behind(&second)).await;
    let claimed = claim_one(store, &worker).await;
    let failed = end(claimed.claimed_term(), "failed", "agent_crashed");
    assert_eq!(
        store.finish(&failed).await.unwrap(),
        done("failed", "agent_crashed")
    );
    for id in [&second, &third] {
        let record = record(store, id).await;
        assert_eq!(
            record.cause.as_deref(),
            Some("predecessor_failed"),
            "{record:?}"
        );
    }
    let late = submit(store, &behind(&first)).await;
    assert_eq!(
        record(store, &late).await.cause.as_deref(),
        Some("predecessor_failed")
    );
    assert_eq!(claim(store, &worker, 9).await.len(), 0);
}

pub(crate) async fn an_unknown_predecessor_is_refused(test: &TestStore) {
    let unknown = TicketId::fresh();
    let new = NewTicket {
        after: vec![unknown.clone()],
        ..ticket("x")
    };
    let submitted = test.store.submit(&[new]).await.unwrap();
    assert_eq!(
        submitted,
        [SubmissionAnswer::UnknownPredecessor { ticket: unknown }]
    );
    assert!(
        test.store
            .list(&lapidary_fleet::TicketFilter::default())
            .await
            .unwrap()
            .is_empty()
    );
}
