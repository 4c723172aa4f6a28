//! The fleet over HTTP: what the store has, and answers that reach its workers.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use lapidary_fleet::{
    AttemptEnd, AttemptUsage, ClaimRequest, EventAppend, FleetStore, LaneLimit, LeaseUse,
    NewPrompt, NewTicket, RetryAdvice, StoreAddress, TicketClaim, TicketSpec, WorkerHeartbeat,
    WorkerId, WorkerStart, fresh_nonce,
};
use serde_json::{Value, json};
use tokio::runtime::{Builder, Runtime};

use super::http::{TestServer, command_in};
use crate::support::output;

const REQUEST: &str = r#"{"event":"permission_request","requestId":"perm/1","toolName":"run_shell_command","toolKind":"execute","toolInput":{"command":"rm -rf <b>build"},"title":"Clean","command":"rm -rf <b>build","id":"r-1","seq":1,"provider":"gemini"}"#;

/// A store with the part of a worker.
struct StoreDesk {
    runtime: Runtime,
    store: Arc<dyn FleetStore>,
    worker: WorkerId,
}

impl StoreDesk {
    fn open(file: &Path) -> Self {
        let runtime = Builder::new_current_thread().enable_all().build().unwrap();
        let address = StoreAddress::Sqlite(file.to_owned());
        let store = runtime.block_on(address.open()).unwrap();
        let start = WorkerStart {
            id: WorkerId::fresh(),
            name: "builder".to_owned(),
            host: "rack-7".to_owned(),
            version: "0".to_owned(),
            labels: vec!["gpu".to_owned()],
            slots: 4,
        };
        runtime.block_on(store.register(&start)).unwrap();
        Self {
            runtime,
            store,
            worker: start.id,
        }
    }

    fn submit(&self, prompt: &str) -> String {
        let mut ticket = NewTicket::new(TicketSpec::new(prompt), "ann");
        ticket.lanes = vec![LaneLimit {
            name: "repo:app".to_owned(),
            limit: Some(1),
        }];
        let id = ticket.id.to_string();
        self.runtime.block_on(self.store.submit(&[ticket])).unwrap();
        id
    }

    fn claim(&self) -> TicketClaim {
        let request = ClaimRequest {
            worker: self.worker.clone(),
            labels: Vec::new(),
            limit: 1,
            lease: Duration::from_mins(15),
            nonce: fresh_nonce(),
        };
        let claims = self.runtime.block_on(self.store.claim(&request));
        claims.unwrap().remove(0)
    }

    /// The agent of the ticket asks for permission.
    fn ask(&self, claim: &TicketClaim) {
        let init = r#"{"event":"session_init","model":"m","id":"r-0","seq":0,"provider":"gemini"}"#;
        let append = EventAppend {
            claimed: claim.claimed_term(),
            first: 0,
            count: 2,
            body: format!("{init}\n{REQUEST}\n").into_bytes(),
            touched: false,
            lease: LeaseUse::Held,
        };
        let prompt = NewPrompt {
            claimed: claim.claimed_term(),
            request: "perm/1".to_owned(),
            seq: 1,
            body: REQUEST.as_bytes().to_vec(),
        };
        self.runtime.block_on(async {
            self.store.append(&append).await.unwrap();
            self.store.record_prompt(&prompt).await.unwrap();
        });
    }

    /// The answers that reach the worker.
    fn answers(&self, claim: &TicketClaim) -> Vec<(String, Value)> {
        let heartbeat = WorkerHeartbeat {
            worker: self.worker.clone(),
            held: vec![claim.claimed_term()],
            lease: Duration::from_mins(15),
            draining: false,
        };
        let reply = self.runtime.block_on(self.store.heartbeat(&heartbeat));
        let answers = reply.unwrap().answers.into_iter();
        let read = answers.map(|it| (it.request, serde_json::from_slice(&it.answer).unwrap()));
        read.collect()
    }

    fn finish(&self, claim: &TicketClaim) {
        let end = AttemptEnd {
            claimed: claim.claimed_term(),
            outcome: "completed".to_owned(),
            cause: "end_turn".to_owned(),
            evidence: None,
            result: None,
            usage: AttemptUsage {
                tokens: Some(1200),
                cost_usd: Some(0.25),
            },
            retry: RetryAdvice::Final,
        };
        self.runtime.block_on(self.store.finish(&end)).unwrap();
    }
}

fn default_store(server: &TestServer) -> std::path::PathBuf {
    server.home().join(".local/state/lapidary/fleet.db")
}

#[test]
fn a_server_without_a_store_says_so_and_makes_none() {
    let server = TestServer::start(&[]);
    for path in [
        "/api/v1/fleet",
        "/api/v1/fleet/tickets",
        "/api/v1/fleet/tickets/1hc8k3x9e2r7m4qz6t0w",
    ] {
        let reply = server.get(path);
        assert_eq!(reply.status, 404, "{reply:?}");
        let hint = reply.json()["hint"].as_str().unwrap().to_owned();
        assert!(hint.contains("lapidary fleet submit"), "{hint}");
    }
    let inbox = server.get("/api/v1/fleet/permissions");
    assert_eq!(inbox.status, 200, "the inbox works without a fleet");
    assert_eq!(inbox.json()["permissions"], json!([]));
    assert!(inbox.json()["problem"].is_string());
    assert!(!default_store(&server).exists());
}

#[test]
fn queue_lanes_workers_and_cost_are_those_of_the_store() {
    let server = TestServer::start(&[]);
    let desk = StoreDesk::open(&default_store(&server));
    let ended = desk.submit("first");
    desk.finish(&desk.claim());
    let running = desk.submit("second");
    desk.claim();
    let waiting = desk.submit("third");

    let fleet = server.get("/api/v1/fleet").json();
    let counts = ["waiting", "running", "done", "blocked"].map(|name| fleet[name].clone());
    assert_eq!(counts, [1, 1, 1, 0].map(Value::from));
    let lane = json!({"name": "repo:app", "running": 1, "limit": 1, "waiting": 1});
    assert_eq!(fleet["lanes"], json!([lane]));
    let worker = &fleet["workers"][0];
    assert_eq!(
        (&worker["host"], &worker["running"]),
        (&json!("rack-7"), &json!(1))
    );
    let used = json!({"totalTokens": 1200, "costUsd": 0.25});
    assert_eq!(fleet["lastDay"], used);

    let ids = |path: &str| -> Vec<String> {
        let list = server.get(path).json();
        let tickets = list["tickets"].as_array().unwrap();
        let ids = tickets.iter().map(|it| it["ticket"].as_str().unwrap());
        ids.map(str::to_owned).collect()
    };
    let all = [waiting.clone(), running.clone(), ended.clone()];
    assert_eq!(ids("/api/v1/fleet/tickets"), all);
    assert_eq!(
        ids("/api/v1/fleet/tickets?state=running"),
        std::slice::from_ref(&running)
    );
    let page = format!("/api/v1/fleet/tickets?before={waiting}&limit=1");
    assert_eq!(ids(&page), [running]);
    let ticket = server.get(&format!("/api/v1/fleet/tickets/{ended}")).json();
    assert_eq!(ticket["costUsd"], 0.25);
    assert_eq!(ticket["attemptList"][0]["totalTokens"], 1200);
}

#[test]
fn the_first_answer_to_a_ticket_counts_and_reaches_its_worker() {
    let server = TestServer::start(&[]);
    let desk = StoreDesk::open(&default_store(&server));
    let id = desk.submit("clean up");
    let claim = desk.claim();
    desk.ask(&claim);
    let open = server.get("/api/v1/fleet/permissions").json();
    let open = &open["permissions"][0];
    assert_eq!(
        (&open["ticket"], &open["request"]["requestId"]),
        (&json!(id), &json!("perm/1"))
    );
    let html = open["html"].as_str().unwrap();
    assert!(html.contains("rm -rf &lt;b&gt;build"), "{html}");

    let path = format!("/api/v1/fleet/tickets/{id}/permissions/perm%2F1");
    let no = json!({"allowed": false, "message": "--allow"});
    let answered = server.post(&path, &no);
    assert_eq!(answered.status, 200, "{answered:?}");
    assert_eq!(answered.json()["change"], "answered");
    let late = server.post(&path, &json!({"allowed": true}));
    assert_eq!(late.status, 409, "{late:?}");
    let line = json!({"command": "permission_response", "requestId": "perm/1", "allowed": false, "message": "--allow"});
    assert_eq!(desk.answers(&claim), [("perm/1".to_owned(), line)]);
    assert_eq!(
        server.get("/api/v1/fleet/permissions").json(),
        json!({"permissions": []})
    );
    let events = server.get(&format!("/api/v1/fleet/tickets/{id}/events"));
    assert!(String::from_utf8_lossy(&events.body).ends_with(&format!("{REQUEST}\n")));
    let blocks = server.get(&format!("/api/v1/fleet/tickets/{id}/events?format=blocks"));
    let facts: Value = serde_json::from_slice(&blocks.body).unwrap();
    assert_eq!(
        facts["facts"]["model"], "m",
        "the agent has said nothing yet"
    );
}

#[test]
fn a_ticket_is_cancelled_once_and_wrong_requests_are_refused() {
    let server = TestServer::start(&[]);
    let desk = StoreDesk::open(&default_store(&server));
    let id = desk.submit("never");
    let path = format!("/api/v1/fleet/tickets/{id}/cancel");
    let token = format!("Bearer {}", server.token);
    for (headers, status) in [
        (vec![super::JSON], 401),
        (
            vec![
                super::JSON,
                ("authorization", token.as_str()),
                ("origin", "https://evil.example"),
            ],
            403,
        ),
        (vec![("authorization", token.as_str())], 415),
    ] {
        let reply = server.send("POST", &path, &headers, b"{}");
        assert_eq!(reply.status, status, "{headers:?}");
    }
    assert_eq!(server.post(&path, &json!({"force": true})).status, 400);
    assert_eq!(server.get("/api/v1/fleet/tickets?state=lost").status, 400);
    assert_eq!(server.get("/api/v1/fleet/tickets/--help").status, 404);
    let done = server.post(&path, &json!({"why": "not needed"}));
    assert_eq!(
        (done.status, &done.json()["change"]),
        (200, &json!("cancelled"))
    );
    assert_eq!(server.post(&path, &json!({})).status, 409);
    let ticket = server.get(&format!("/api/v1/fleet/tickets/{id}")).json();
    assert_eq!(ticket["outcome"], "cancelled");
}

#[test]
fn the_store_is_that_of_the_option_and_a_wrong_address_is_no_start() {
    let own = tempfile::tempdir().unwrap();
    let file = own.path().join("team.db");
    let store = format!("sqlite:{}", file.display());
    let server = TestServer::start(&["--store", &store]);
    assert_eq!(server.get("/api/v1/fleet").status, 404);
    let id = StoreDesk::open(&file).submit("here");
    let list = server.get("/api/v1/fleet/tickets").json();
    assert_eq!(
        (&list["store"], &list["tickets"][0]["ticket"]),
        (&json!(store), &json!(id))
    );
    assert!(!default_store(&server).exists());

    let wrong = ["serve", "--listen", "127.0.0.1:0", "--store", "mysql://x/y"];
    let refused = output(command_in(own.path(), own.path(), &wrong), b"");
    assert_eq!(refused.status.code(), Some(2));
    let said = String::from_utf8_lossy(&refused.stderr);
    assert!(said.contains("hint: use `postgres://"), "{said}");
}
