//! The roles of `PostgreSQL`: the requests that each kind of user may make, and the ones that the database refuses.

use std::path::Path;
use std::sync::Arc;

use lapidary_fleet::{
    AnswerReply, CancelReply, CancelRequest, FleetStore, NewPrompt, NewTicket, PromptAnswer,
    RetryReply, StoreAddress, TicketFilter, fresh_nonce,
};
use tokio_postgres::NoTls;

use crate::support::{
    TestStore, append, claim_one, complete, done, execute, failed_for_now, heartbeat, in_lanes,
    submit, ticket, worker,
};

/// A login with one of the roles.
struct FleetUser {
    url: String,
    store: Arc<dyn FleetStore>,
}

impl FleetUser {
    async fn new(test: &TestStore, role: &str) -> Self {
        let administrator = test.address.to_string();
        let name = format!("{role}_{}", fresh_nonce());
        let sql = format!("create role {name} login; grant {role} to {name}");
        execute(&administrator, &sql).await;
        let (_, place) = administrator.split_once('@').unwrap();
        let url = format!("postgres://{name}@{place}");
        let address = StoreAddress::parse(&url, Path::new("/")).unwrap();
        let store = address.open().await.unwrap();
        Self { url, store }
    }

    /// Fails unless the database refuses each statement for want of a privilege.
    async fn check_refused(&self, statements: &[&str]) {
        let (client, connection) = tokio_postgres::connect(&self.url, NoTls).await.unwrap();
        tokio::spawn(connection);
        for statement in statements {
            let refused = client.batch_execute(statement).await;
            let error = refused.expect_err(statement);
            let code = error.code().map(|code| code.code().to_owned());
            assert_eq!(code.as_deref(), Some("42501"), "{statement}: {error}");
        }
    }
}

fn by_ann() -> CancelRequest {
    CancelRequest {
        by: "ann".to_owned(),
        why: None,
        now: false,
    }
}

#[tokio::test]
#[cfg_attr(
    not(feature = "peers"),
    ignore = "needs a real PostgreSQL: run `cargo xtask test`"
)]
async fn each_role_does_its_own_work_and_no_other() {
    let test = TestStore::postgres().await;
    let submitter = FleetUser::new(&test, "lapidary_submit").await;
    let working = FleetUser::new(&test, "lapidary_work").await;
    let viewer = FleetUser::new(&test, "lapidary_view").await;
    let (orders, work) = (&*submitter.store, &*working.store);

    let first = submit(orders, &in_lanes("first", &[("a", 1)])).await;
    let after = |prompt| NewTicket {
        after: vec![first.clone()],
        ..ticket(prompt)
    };
    let dropped = submit(orders, &after("dropped")).await;
    let last = submit(orders, &after("last")).await;
    let own = worker(work).await;
    let claim = claim_one(work, &own).await;
    work.heartbeat(&heartbeat(&own, &[&claim])).await.unwrap();
    work.append(&append(&claim, 0, &["{}"])).await.unwrap();
    let prompt = NewPrompt {
        claimed: claim.claimed_term(),
        request: "1".to_owned(),
        seq: 0,
        body: b"{}".to_vec(),
    };
    work.record_prompt(&prompt).await.unwrap();
    let answer = PromptAnswer {
        run: claim.run.clone(),
        request: "1".to_owned(),
        answer: b"{}".to_vec(),
        by: "ann".to_owned(),
    };
    let answered = orders.answer(&answer).await.unwrap();
    assert!(matches!(answered, AnswerReply::Stored), "{answered:?}");
    let cancelled = orders.cancel(&dropped, &by_ann()).await.unwrap();
    assert_eq!(cancelled, CancelReply::Done);
    work.finish(&failed_for_now(&claim)).await.unwrap();
    let claim = claim_one(work, &own).await;
    assert_eq!(complete(work, &claim).await, done("completed", "end_turn"));
    assert_eq!(claim_one(work, &own).await.ticket, last);
    let retried = orders.retry(&dropped).await.unwrap();
    assert!(matches!(retried, RetryReply::Waiting), "{retried:?}");
    let all = viewer.store.list(&TicketFilter::default()).await.unwrap();
    assert_eq!(all.len(), 3);

    let refused_to_submitters = [
        "update lapidary.ticket set term = 0",
        "update lapidary.ticket set lease_until = 'epoch'",
        "update lapidary.ticket set worker = 'x', nonce = 'x'",
        "update lapidary.ticket set created_by = 'x'",
        "update lapidary.prompt set body = ''",
        "update lapidary.lane set running = 0",
        "update lapidary.spec set body = ''",
        "update lapidary.attempt set outcome = 'completed'",
        "delete from lapidary.chunk",
    ];
    submitter.check_refused(&refused_to_submitters).await;
    let refused_to_workers = [
        "insert into lapidary.ticket select * from lapidary.ticket",
        "insert into lapidary.spec values ('x', '')",
        "update lapidary.spec set body = ''",
        "update lapidary.fleet set schema_version = 1",
        "delete from lapidary.fleet",
    ];
    working.check_refused(&refused_to_workers).await;
    let refused_to_viewers = [
        "update lapidary.ticket set state = 'done'",
        "insert into lapidary.spec values ('x', '')",
        "delete from lapidary.chunk",
    ];
    viewer.check_refused(&refused_to_viewers).await;
}
