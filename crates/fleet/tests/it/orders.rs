//! Orders of submitters and viewers, and the records that they read.

use lapidary_fleet::{
    AnswerReply, AttemptEnd, AttemptUsage, CancelReply, CancelRequest, NewPrompt, PromptAnswer,
    RetryReply, RunId, TicketFate, TicketFilter, TicketId, TicketState,
};

use crate::support::{
    LEASE, TestStore, append, claim, claim_and_vanish, claim_one, complete, done, end,
    failed_for_now, heartbeat, in_lanes, record, submit, ticket, worker,
};

fn cancel_request() -> CancelRequest {
    CancelRequest {
        by: "ann".to_owned(),
        why: Some("not needed".to_owned()),
        now: false,
    }
}

pub(crate) async fn a_waiting_ticket_is_cancelled_at_once(test: &TestStore) {
    let store = &*test.store;
    let id = submit(store, &ticket("x")).await;
    assert_eq!(
        store.cancel(&id, &cancel_request()).await.unwrap(),
        CancelReply::Done
    );
    let cancelled = record(store, &id).await;
    assert_eq!(cancelled.state, TicketState::Done);
    assert_eq!(cancelled.outcome.as_deref(), Some("cancelled"));
    assert_eq!(cancelled.cancel, Some(cancel_request()));
    let worker = worker(store).await;
    assert!(crate::support::claim(store, &worker, 1).await.is_empty());
}

pub(crate) async fn a_running_ticket_is_told_by_the_heartbeat(test: &TestStore) {
    let store = &*test.store;
    let worker = worker(store).await;
    let id = submit(store, &ticket("x")).await;
    let claimed = claim_one(store, &worker).await;
    assert_eq!(
        store.cancel(&id, &cancel_request()).await.unwrap(),
        CancelReply::Ordered
    );
    let now = CancelRequest {
        now: true,
        ..cancel_request()
    };
    for (request, expected) in [(cancel_request(), false), (now, true)] {
        store.cancel(&id, &request).await.unwrap();
        let reply = store
            .heartbeat(&heartbeat(&worker, &[&claimed]))
            .await
            .unwrap();
        let order = reply.kept[0].cancel.clone().unwrap();
        assert_eq!((order.by.as_str(), order.now), ("ann", expected));
    }
    let fate = store.finish(&failed_for_now(&claimed)).await.unwrap();
    assert_eq!(fate, done("cancelled", "cancelled_by_client"));
}

pub(crate) async fn a_cancelled_ticket_whose_worker_vanished_never_runs_again(test: &TestStore) {
    let store = &*test.store;
    let worker = worker(store).await;
    let id = submit(store, &ticket("x")).await;
    store.heartbeat(&heartbeat(&worker, &[])).await.unwrap();
    claim_and_vanish(test, &worker).await;
    store.cancel(&id, &cancel_request()).await.unwrap();
    let fates = store.reclaim(LEASE, 9).await.unwrap();
    let fates: Vec<TicketFate> = fates.into_iter().map(|(_, fate)| fate).collect();
    assert_eq!(fates, [done("cancelled", "cancelled_by_client")]);
}

pub(crate) async fn a_finished_ticket_is_not_cancelled(test: &TestStore) {
    let store = &*test.store;
    let worker = worker(store).await;
    let id = submit(store, &ticket("x")).await;
    complete(store, &claim_one(store, &worker).await).await;
    let reply = store.cancel(&id, &cancel_request()).await.unwrap();
    let outcome = "completed".to_owned();
    assert_eq!(reply, CancelReply::AlreadyDone { outcome });
    assert_eq!(record(store, &id).await.cancel, None);
    let unknown = store
        .cancel(&TicketId::fresh(), &cancel_request())
        .await
        .unwrap();
    assert_eq!(unknown, CancelReply::Unknown);
}

pub(crate) async fn a_retried_ticket_keeps_its_history(test: &TestStore) {
    let store = &*test.store;
    let worker = worker(store).await;
    let id = submit(store, &ticket("x")).await;
    let not_done = RetryReply::NotDone(TicketState::Waiting);
    assert_eq!(store.retry(&id).await.unwrap(), not_done);
    for _ in 0..3 {
        let claimed = claim_one(store, &worker).await;
        store.append(&append(&claimed, 0, &["{}"])).await.unwrap();
        store.finish(&failed_for_now(&claimed)).await.unwrap();
    }
    assert_eq!(store.retry(&id).await.unwrap(), RetryReply::Waiting);
    let fates = async || {
        let claimed = claim_one(store, &worker).await;
        store.finish(&failed_for_now(&claimed)).await.unwrap()
    };
    let waiting = TicketFate::Waiting;
    let fates = [fates().await, fates().await, fates().await];
    assert_eq!(fates, [waiting.clone(), waiting, done("failed", "gave_up")]);
    let record = record(store, &id).await;
    assert_eq!((record.attempts, record.attempt_records.len()), (6, 6));
    assert_eq!(record.attempt_records[0].next_seq, 1);
    assert_eq!(
        store.retry(&TicketId::fresh()).await.unwrap(),
        RetryReply::Unknown
    );
}

fn prompt(claimed: &lapidary_fleet::TicketClaim, request: &str) -> NewPrompt {
    NewPrompt {
        claimed: claimed.claimed_term(),
        request: request.to_owned(),
        seq: 3,
        body: br#"{"event":"permission_request"}"#.to_vec(),
    }
}

fn answer(run: &RunId, request: &str, by: &str) -> PromptAnswer {
    PromptAnswer {
        run: run.clone(),
        request: request.to_owned(),
        answer: br#"{"decision":"allow"}"#.to_vec(),
        by: by.to_owned(),
    }
}

pub(crate) async fn the_first_answer_counts(test: &TestStore) {
    let store = &*test.store;
    let worker = worker(store).await;
    let id = submit(store, &ticket("x")).await;
    let claimed = claim_one(store, &worker).await;
    // An id is the agent's own text.
    let request = "1\0\u{fffd}";
    for _ in 0..2 {
        store
            .record_prompt(&prompt(&claimed, request))
            .await
            .unwrap();
    }
    let open = store.open_prompts(Some(&id)).await.unwrap();
    assert_eq!(
        (open.len(), open[0].request.as_str(), &open[0].run),
        (1, request, &claimed.run)
    );
    assert_eq!(record(store, &id).await.open_prompts, 1);
    let first = store
        .answer(&answer(&claimed.run, request, "ann"))
        .await
        .unwrap();
    let second = store
        .answer(&answer(&claimed.run, request, "bob"))
        .await
        .unwrap();
    assert_eq!(first, AnswerReply::Stored);
    assert_eq!(
        second,
        AnswerReply::AlreadyAnswered {
            by: "ann".to_owned()
        }
    );
    assert!(store.open_prompts(None).await.unwrap().is_empty());
    for _ in 0..2 {
        let reply = store
            .heartbeat(&heartbeat(&worker, &[&claimed]))
            .await
            .unwrap();
        assert_eq!(reply.answers, [answer(&claimed.run, request, "ann")]);
    }
    store
        .settle_prompt(&claimed.run, request, "answered")
        .await
        .unwrap();
    let reply = store
        .heartbeat(&heartbeat(&worker, &[&claimed]))
        .await
        .unwrap();
    assert!(reply.answers.is_empty());
}

pub(crate) async fn an_answer_that_nobody_asked_for_is_refused(test: &TestStore) {
    let store = &*test.store;
    let worker = worker(store).await;
    submit(store, &ticket("x")).await;
    let claimed = claim_one(store, &worker).await;
    let unasked = store
        .answer(&answer(&claimed.run, "7", "ann"))
        .await
        .unwrap();
    assert_eq!(unasked, AnswerReply::Unknown);
    store.record_prompt(&prompt(&claimed, "8")).await.unwrap();
    complete(store, &claimed).await;
    assert!(store.open_prompts(None).await.unwrap().is_empty());
    let late = store
        .answer(&answer(&claimed.run, "8", "ann"))
        .await
        .unwrap();
    assert_eq!(late, AnswerReply::Over);
}

pub(crate) async fn a_ticket_is_removed_with_everything(test: &TestStore) {
    let store = &*test.store;
    let worker = worker(store).await;
    let id = submit(store, &ticket("x")).await;
    assert!(!store.remove(&id).await.unwrap(), "it waits");
    let claimed = claim_one(store, &worker).await;
    store.append(&append(&claimed, 0, &["{}"])).await.unwrap();
    store.record_prompt(&prompt(&claimed, "1")).await.unwrap();
    assert!(!store.remove(&id).await.unwrap(), "it runs");
    complete(store, &claimed).await;
    assert!(store.remove(&id).await.unwrap());
    assert!(!store.remove(&id).await.unwrap());
    assert!(store.ticket(&id).await.unwrap().is_none());
    assert!(
        store
            .chunks(&claimed.run, 0, 1000)
            .await
            .unwrap()
            .is_empty()
    );
}

pub(crate) async fn lists_are_filtered_and_paged(test: &TestStore) {
    let store = &*test.store;
    let worker = worker(store).await;
    let mut ids = Vec::new();
    for prompt in ["one", "two", "three"] {
        ids.push(submit(store, &ticket(prompt)).await);
    }
    let claimed = claim_one(store, &worker).await;
    let failed = end(claimed.claimed_term(), "failed", "agent_crashed");
    store.finish(&failed).await.unwrap();
    let laned = submit(store, &in_lanes("four", &[("a", 1)])).await;
    let list = async |filter: TicketFilter| {
        let tickets = store.list(&filter).await.unwrap();
        tickets
            .into_iter()
            .map(|ticket| ticket.id)
            .collect::<Vec<_>>()
    };
    let all = list(TicketFilter::default()).await;
    assert_eq!(all[0], laned);
    assert_eq!(all.len(), 4);
    let page = TicketFilter {
        limit: 1,
        before: Some(all[1].clone()),
        ..TicketFilter::default()
    };
    assert_eq!(list(page).await, [all[2].clone()]);
    let waiting = TicketFilter {
        states: vec![TicketState::Waiting],
        ..TicketFilter::default()
    };
    assert_eq!(list(waiting).await.len(), 3);
    let cause = TicketFilter {
        cause: Some("agent_crashed".to_owned()),
        ..TicketFilter::default()
    };
    assert_eq!(list(cause).await, [claimed.ticket]);
    let lane = TicketFilter {
        lane: Some("a".to_owned()),
        ..TicketFilter::default()
    };
    assert_eq!(list(lane).await, [laned]);
}

pub(crate) async fn the_overview_counts(test: &TestStore) {
    let store = &*test.store;
    let worker = worker(store).await;
    for _ in 0..3 {
        submit(store, &ticket("x")).await;
    }
    claim_one(store, &worker).await;
    complete(store, &claim_one(store, &worker).await).await;
    let overview = store.overview().await.unwrap();
    let counts: Vec<u64> = overview.counts.iter().map(|(_, count)| *count).collect();
    assert_eq!(counts, [0, 1, 1, 1]);
    assert!(overview.oldest_waiting.is_some());
    assert_eq!(overview.workers.len(), 1);
    assert_eq!(overview.workers[0].running, 1);
}

pub(crate) async fn what_attempts_used_is_added_up(test: &TestStore) {
    let store = &*test.store;
    let worker = worker(store).await;
    let id = submit(store, &ticket("x")).await;
    let unused = submit(store, &ticket("y")).await;
    let used = |tokens, cost_usd| AttemptUsage { tokens, cost_usd };
    let first = claim_one(store, &worker).await;
    let ending = AttemptEnd {
        usage: used(Some(1000), None),
        ..failed_for_now(&first)
    };
    store.finish(&ending).await.unwrap();
    let mut claims = claim(store, &worker, 9).await;
    claims.retain(|claim| claim.ticket == id);
    let ending = AttemptEnd {
        usage: used(Some(234), Some(0.25)),
        ..end(claims[0].claimed_term(), "completed", "end_turn")
    };
    store.finish(&ending).await.unwrap();
    let ticket = record(store, &id).await;
    assert_eq!(ticket.usage, used(Some(1234), Some(0.25)));
    let each = ticket.attempt_records.iter().map(|it| it.usage);
    assert_eq!(
        each.collect::<Vec<_>>(),
        [used(Some(1000), None), used(Some(234), Some(0.25))]
    );
    assert_eq!(record(store, &unused).await.usage, AttemptUsage::default());
    let overview = store.overview().await.unwrap();
    assert_eq!(overview.last_day, used(Some(1234), Some(0.25)));
    let list = store.list(&TicketFilter::default()).await.unwrap();
    let listed = list.iter().find(|it| it.id == id).unwrap();
    assert_eq!(listed.usage, ticket.usage);
}
