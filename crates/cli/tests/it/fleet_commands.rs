//! `fleet`: tickets from their submission to their archive, and every mistake with its words.

use std::fs;
use std::process::Command;
use std::sync::Arc;

use lapidary_fleet::{
    ArtifactPart, ArtifactSeal, AttemptEnd, AttemptUsage, ClaimRequest, EventAppend, FleetStore,
    LeaseUse, NewPrompt, PATCH_ARTIFACT, RetryAdvice, StoreAddress, TicketClaim, TicketId,
    WorkerId, WorkerStart, fresh_nonce,
};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use tempfile::TempDir;
use tokio::runtime::{Builder, Runtime};

use crate::support::{Ran, lapidary, on_a_terminal, output};
use crate::usage::{assert_harmless, without_colours};

const EVENTS: &[u8] = b"{\"event\":\"session_init\",\"model\":\"m\",\"id\":\"r-0\",\"seq\":0,\"provider\":\"gemini\"}\n\
{\"event\":\"text\",\"text\":\"a\\u0000\\ud800\",\"kind\":\"text\",\"id\":\"r-1\",\"seq\":1,\"provider\":\"gemini\"}\n";

/// A state directory with the default store, and the store itself for the part of a worker.
struct Desk {
    home: TempDir,
    runtime: Runtime,
    store: Arc<dyn FleetStore>,
}

impl Desk {
    fn new() -> Self {
        let home = tempfile::tempdir().unwrap();
        fs::create_dir(home.path().join("state")).unwrap();
        let runtime = Builder::new_current_thread().enable_all().build().unwrap();
        let address = StoreAddress::Sqlite(home.path().join("state/fleet.db"));
        let store = runtime.block_on(address.open()).unwrap();
        Self {
            home,
            runtime,
            store,
        }
    }

    fn fleet(&self, args: &[&str]) -> Ran {
        self.fleet_with(args, b"")
    }

    fn fleet_with(&self, args: &[&str], stdin: &[u8]) -> Ran {
        let ran = output(self.command(args), stdin);
        Ran {
            code: ran.status.code(),
            stdout: String::from_utf8(ran.stdout).unwrap(),
            stderr: String::from_utf8(ran.stderr).unwrap(),
        }
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = lapidary(["fleet"].iter().chain(args));
        command.env_clear();
        command.env("USER", "ann").env("HOME", self.home.path());
        command.env("LAPIDARY_STATE_DIR", self.home.path().join("state"));
        command
    }

    fn submit(&self, args: &[&str]) -> TicketId {
        let ran = self.fleet(&[&["submit"], args].concat());
        assert_eq!(ran.code, Some(0), "{ran:?}");
        let line: Value = serde_json::from_str(&ran.stdout).unwrap();
        line["ticket"].as_str().unwrap().parse().unwrap()
    }

    /// Claims the ticket that waits.
    fn claim(&self) -> TicketClaim {
        let worker = WorkerStart {
            id: WorkerId::fresh(),
            name: "worker".to_owned(),
            host: "here".to_owned(),
            version: "0".to_owned(),
            labels: Vec::new(),
            slots: 1,
        };
        let request = ClaimRequest {
            worker: worker.id.clone(),
            labels: Vec::new(),
            limit: 1,
            lease: std::time::Duration::from_mins(15),
            nonce: fresh_nonce(),
        };
        self.runtime.block_on(async {
            self.store.register(&worker).await.unwrap();
            self.store.claim(&request).await.unwrap().remove(0)
        })
    }

    fn append(&self, claim: &TicketClaim) {
        self.append_lines(claim, EVENTS);
    }

    fn append_lines(&self, claim: &TicketClaim, lines: &[u8]) {
        let append = EventAppend {
            claimed: claim.claimed_term(),
            first: 0,
            count: 2,
            body: lines.to_vec(),
            touched: false,
            lease: LeaseUse::Held,
        };
        self.runtime.block_on(self.store.append(&append)).unwrap();
    }

    fn leave_patch(&self, claim: &TicketClaim, patch: &[u8]) {
        let part = ArtifactPart {
            claimed: claim.claimed_term(),
            name: PATCH_ARTIFACT.to_owned(),
            part: 0,
            body: patch.to_vec(),
            lease: LeaseUse::Held,
        };
        let seal = ArtifactSeal {
            claimed: claim.claimed_term(),
            name: PATCH_ARTIFACT.to_owned(),
            media_type: "text/x-patch".to_owned(),
            parts: 1,
            sha256: Sha256::digest(patch).into(),
            lease: LeaseUse::Held,
        };
        self.runtime.block_on(async {
            self.store.put_part(&part).await.unwrap();
            self.store.seal_artifact(&seal).await.unwrap();
        });
    }

    fn finish(&self, claim: &TicketClaim) {
        self.finish_as(claim, "completed", "end_turn");
    }

    fn finish_as(&self, claim: &TicketClaim, outcome: &str, cause: &str) {
        let end = AttemptEnd {
            claimed: claim.claimed_term(),
            outcome: outcome.to_owned(),
            cause: cause.to_owned(),
            evidence: None,
            result: Some(br#"{"response":"Done."}"#.to_vec()),
            usage: AttemptUsage {
                tokens: Some(1200),
                cost_usd: Some(0.25),
            },
            retry: RetryAdvice::Final,
        };
        self.runtime.block_on(self.store.finish(&end)).unwrap();
    }

    /// A command that must fail: its exit code, and what it says.
    fn refusal(&self, args: &[&str]) -> (Option<i32>, String) {
        let ran = self.fleet(args);
        (ran.code, ran.stderr)
    }
}

fn json_of(ran: &Ran) -> Value {
    assert_eq!(ran.code, Some(0), "{ran:?}");
    serde_json::from_str(&ran.stdout).unwrap()
}

#[test]
fn a_ticket_is_submitted_listed_read_and_archived() {
    let desk = Desk::new();
    let id = desk.submit(&[
        "fix it",
        "--agent",
        "gemini",
        "--lane",
        "repo:a=2",
        "--priority",
        "3",
    ]);
    let list = json_of(&desk.fleet(&["list", "--format", "json"]));
    assert_eq!(list["tickets"][0]["ticket"], json!(id.as_str()));
    assert_eq!(list["tickets"][0]["state"], "waiting");
    assert_eq!(list["tickets"][0]["createdBy"], "ann");
    let claim = desk.claim();
    desk.append(&claim);
    let live = desk.fleet(&["events", id.as_str(), "--no-follow"]);
    assert_eq!((live.code, live.stdout.as_bytes()), (Some(0), EVENTS));
    let rest = desk.fleet(&["events", id.as_str(), "--no-follow", "--from", "1"]);
    assert!(rest.stdout.starts_with("{\"event\":\"text\""), "{rest:?}");
    desk.leave_patch(&claim, b"diff\0\xff");
    desk.finish(&claim);
    assert_eq!(
        desk.fleet(&["events", id.as_str()]).stdout.as_bytes(),
        EVENTS
    );
    let text = desk.fleet(&["events", id.as_str(), "--format", "text"]);
    assert_eq!(text.code, Some(0), "{text:?}");
    let shown = json_of(&desk.fleet(&["show", id.as_str(), "--format", "json"]));
    assert_eq!(shown["attemptList"][0]["events"], 2);
    assert_eq!(shown["result"]["response"], "Done.");
    let archive = desk.home.path().join("archive");
    let archive = archive.to_str().unwrap();
    let kept = json_of(&desk.fleet(&["archive", id.as_str(), "--to", archive, "--remove"]));
    assert_eq!(kept["change"], "removed");
    let folder = desk.home.path().join("archive").join(id.as_str());
    let run = folder.join(claim.run.as_str());
    assert_eq!(fs::read(run.join("events.jsonl")).unwrap(), EVENTS);
    assert_eq!(fs::read(run.join(PATCH_ARTIFACT)).unwrap(), b"diff\0\xff");
    assert!(folder.join("ticket.json").is_file());
    let (code, said) = desk.refusal(&["show", id.as_str()]);
    assert_eq!(code, Some(13), "{said}");
}

#[test]
fn a_patch_is_printed_byte_for_byte() {
    let desk = Desk::new();
    let id = desk.submit(&["fix it"]);
    let claim = desk.claim();
    desk.leave_patch(&claim, b"diff --git a b\n");
    desk.finish(&claim);
    assert_eq!(
        desk.fleet(&["patch", id.as_str()]).stdout,
        "diff --git a b\n"
    );
    let (code, said) = desk.refusal(&["patch", id.as_str(), "--file", "other"]);
    assert_eq!(code, Some(13));
    assert!(
        said.contains("no attempt") && said.contains("hint:"),
        "{said}"
    );
}

#[test]
fn show_says_why_an_attempt_failed_and_what_to_do() {
    let desk = Desk::new();
    let id = desk.submit(&["x"]);
    let claim = desk.claim();
    let end = AttemptEnd {
        claimed: claim.claimed_term(),
        outcome: "failed".to_owned(),
        cause: "bad_input".to_owned(),
        evidence: Some(br#"{"message":"no such repository","hint":"name another"}"#.to_vec()),
        result: None,
        usage: AttemptUsage::default(),
        retry: RetryAdvice::Final,
    };
    desk.runtime.block_on(desk.store.finish(&end)).unwrap();
    let shown = desk.fleet(&["show", id.as_str(), "--format", "text"]);
    let reason = "\n    no such repository\n    hint: name another\n";
    assert!(shown.stdout.contains(reason), "{}", shown.stdout);
}

#[test]
fn a_repository_of_this_machine_is_named_by_its_plain_path() {
    let desk = Desk::new();
    let roundabout = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/../src");
    desk.submit(&["x", "--repo", roundabout]);
    let spec: Value = serde_json::from_slice(&desk.claim().spec).unwrap();
    let repo = concat!(env!("CARGO_MANIFEST_DIR"), "/src");
    assert_eq!(spec["workspace"]["repo"], repo);
}

#[test]
fn a_worker_sends_no_escapes_to_a_terminal() {
    const HOSTILE: &[u8] = b"+\x1b]0;title\x07 \xc2\x9b2J\xe2\x80\xae\n+words\n";
    let desk = Desk::new();
    let id = desk.submit(&["fix it"]);
    let claim = desk.claim();
    desk.append_lines(&claim, HOSTILE);
    desk.leave_patch(&claim, HOSTILE);
    desk.finish_as(&claim, "failed", "odd\u{1b}[2J");
    for args in [
        &["patch", id.as_str()][..],
        &["events", id.as_str(), "--no-follow", "--format", "events"],
        &["events", id.as_str(), "--no-follow"],
        &["show", id.as_str()],
        &["list"],
        &["watch", "--once"],
    ] {
        let shown = on_a_terminal(&desk.command(args), 80).stdout;
        assert_harmless(&without_colours(&shown));
        assert!(!shown.contains('\u{202e}'), "{shown:?}");
    }
    let patch = on_a_terminal(&desk.command(&["patch", id.as_str()]), 80);
    assert!(patch.stdout.ends_with("+words\n"), "{patch:?}");
    let piped = output(desk.command(&["patch", id.as_str()]), b"");
    assert_eq!(piped.stdout, HOSTILE, "a pipe gets every byte");
}

#[test]
fn every_option_of_a_submission_is_in_the_ticket() {
    let desk = Desk::new();
    let file = |name: &str, text: &str| {
        let path = desk.home.path().join(name);
        fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let prompt = file("task.md", "fix it");
    let schema = file("schema.json", r#"{"type":"object"}"#);
    let first = desk.submit(&["first"]);
    let task = [
        "--agent=gemini",
        "--model=m",
        "--repo=https://example.org/a.git",
        "--ref=main",
        "--push=agent/a",
        "--permission-mode=plan",
        "--deny=execute",
        "--ask=edit",
        "--timeout=1m30s",
        "--budget=tokens=10",
        "--ask-timeout=2m",
        "--retry=never",
    ];
    let place = [
        "--needs=gpu",
        "--lane=a=2",
        "--lane=b",
        "--priority=-3",
        "--not-before=2126-01-01T00:00:00Z",
        "--retries=4",
        "--request-key=k",
    ];
    let files = ["--prompt-file", &prompt, "--output-schema", &schema];
    let behind = ["--after", first.as_str()];
    let id = desk.submit(&[&task[..], &place, &files, &behind].concat());
    let shown = json_of(&desk.fleet(&["show", id.as_str(), "--format", "json"]));
    let spec = json!({
        "version": 1,
        "prompt": "fix it",
        "agent": "gemini",
        "model": "m",
        "workspace": {"repo": "https://example.org/a.git", "ref": "main", "push": "agent/a"},
        "permissionMode": "plan",
        "deny": ["execute"],
        "ask": ["edit"],
        "timeout": 90.0,
        "budget": "tokens=10",
        "askTimeout": 120.0,
        "outputSchema": {"type": "object"},
        "retry": "never",
    });
    assert_eq!(shown["spec"], spec);
    let names = [
        "state",
        "needs",
        "lanes",
        "priority",
        "notBefore",
        "maxAttempts",
        "requestKey",
        "waitsFor",
    ];
    let place = names.map(|name| shown[name].clone());
    let expected = [
        json!("blocked"),
        json!(["gpu"]),
        json!(["a", "b"]),
        json!(-3),
        json!("2126-01-01T00:00:00.000Z"),
        json!(5),
        json!("k"),
        json!([first.as_str()]),
    ];
    assert_eq!(place, expected, "{shown}");
}

#[test]
fn a_batch_takes_no_options_of_a_single_ticket() {
    let desk = Desk::new();
    for option in ["--lane=a=1", "--model=m", "--timeout=5m", "--wait"] {
        let (code, said) = desk.refusal(&["submit", "--batch", "tickets.jsonl", option]);
        assert_eq!(code, Some(2), "{option}: {said}");
    }
}

#[test]
fn the_same_key_gives_the_same_ticket_and_another_content_a_conflict() {
    let desk = Desk::new();
    let first = desk.submit(&["fix it", "--request-key", "nightly"]);
    let again = json_of(&desk.fleet(&["submit", "fix it", "--request-key", "nightly"]));
    assert_eq!(again, json!({"ticket": first.as_str(), "existing": true}));
    let (code, said) = desk.refusal(&["submit", "break it", "--request-key", "nightly"]);
    assert_eq!(code, Some(13));
    assert!(
        said.contains(first.as_str()) && said.contains("hint:"),
        "{said}"
    );
}

#[test]
fn a_prompt_of_ten_megabytes_comes_on_stdin() {
    let desk = Desk::new();
    let prompt = "x".repeat(10_000_000);
    let ran = desk.fleet_with(&["submit"], prompt.as_bytes());
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let spec: Value = serde_json::from_slice(&desk.claim().spec).unwrap();
    assert_eq!(spec["prompt"].as_str().map(str::len), Some(10_000_000));
}

#[test]
fn a_batch_says_what_became_of_each_line() {
    let desk = Desk::new();
    let batch = concat!(
        "{\"prompt\":\"one\"}\n",
        "{\"prompt\":\"two\",\"version\":2}\n",
        "\n",
        "{\"prompt\":\"three\",\"command\":[\"rm\"]}\n",
        "{\"prompt\":\"four\",\"lanes\":{\"a\":0}}\n",
        "{\"prompt\":\"five\"}\n",
    );
    let ran = desk.fleet_with(
        &["submit", "--batch", "-", "--format", "json"],
        batch.as_bytes(),
    );
    assert_eq!(ran.code, Some(13), "{ran:?}");
    let lines: Vec<Value> = ran
        .stdout
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let numbers = |field: &str| {
        let with_field = lines.iter().filter(|line| line[field].is_string());
        let mut numbers: Vec<Option<u64>> = with_field.map(|line| line["line"].as_u64()).collect();
        numbers.sort_unstable();
        numbers
    };
    assert_eq!(numbers("error"), [Some(2), Some(4), Some(5)]);
    assert_eq!(numbers("ticket"), [Some(1), Some(6)]);
}

#[test]
fn mistakes_are_named_with_their_exit_code_and_the_next_step() {
    let desk = Desk::new();
    let done = desk.submit(&["x"]);
    desk.finish(&desk.claim());
    let waiting = desk.submit(&["y", "--needs", "gpu"]);
    let unknown = TicketId::fresh();
    let newer = desk.home.path().join("newer.db");
    let connection = rusqlite::Connection::open(&newer).unwrap();
    connection.pragma_update(None, "user_version", 99).unwrap();
    drop(connection);
    let newer = format!("sqlite:{}", newer.display());
    let (done, waiting, unknown) = (done.as_str(), waiting.as_str(), unknown.as_str());
    let cases: [(&[&str], i32, &str); 17] = [
        (&["cancel", done], 13, "has ended already (`completed`)"),
        (&["retry", waiting], 13, "has not ended: it is `waiting`"),
        (
            &["answer", waiting, "--allow"],
            13,
            "no open permission request",
        ),
        (
            &["answer", waiting, "--allow", "--request", "7"],
            13,
            "no open permission request `7`",
        ),
        (&["answer", waiting], 2, "--allow"),
        (&["show", unknown], 13, "there is no ticket"),
        (&["events", unknown], 13, "there is no ticket"),
        (&["events", done, "--attempt", "7"], 13, "no attempt 7"),
        (
            &["events", waiting, "--attempt", "1", "--no-follow"],
            13,
            "there were 0\nhint:",
        ),
        (
            &["archive", waiting, "--to", "x"],
            13,
            "it is `waiting`\nhint:",
        ),
        (&["cancel", "t1"], 2, "`t1` is not the id of a ticket"),
        (&["submit", "x", "--after", unknown], 13, "to run after"),
        (
            &["submit", "x", "--lane", "a=0"],
            2,
            "would let no ticket run",
        ),
        (&["submit", " "], 2, "`prompt` is empty"),
        (&["submit", "x", "--budget", "many"], 2, "many"),
        (&["list", "--store", &newer], 13, "schema version 99"),
        (
            &[
                "list",
                "--store",
                "postgres://ann:secret@db.example.org/f?sslmode=disable",
            ],
            2,
            "does not protect",
        ),
    ];
    for (args, code, words) in cases {
        let (found, said) = desk.refusal(args);
        assert_eq!(found, Some(code), "{args:?}: {said}");
        assert!(said.contains(words), "{args:?}: {said}");
        assert!(!said.contains("secret"), "{said}");
    }
}

#[test]
fn a_label_that_no_worker_has_is_noted_when_a_ticket_is_submitted() {
    let desk = Desk::new();
    let ran = desk.fleet(&["submit", "x", "--needs", "gpu"]);
    assert_eq!(ran.code, Some(0));
    assert!(
        ran.stderr
            .contains("no worker that is there now has the label `gpu`"),
        "{ran:?}"
    );
}

#[test]
fn a_waiting_ticket_is_cancelled_retried_and_watched() {
    let desk = Desk::new();
    let id = desk.submit(&["x"]);
    let cancelled = json_of(&desk.fleet(&["cancel", id.as_str(), "--why", "no need"]));
    assert_eq!(cancelled["change"], "cancelled");
    let shown = json_of(&desk.fleet(&["show", id.as_str(), "--format", "json"]));
    assert_eq!(shown["cancelReason"], "no need");
    let shown = desk.fleet(&["show", id.as_str(), "--format", "text"]);
    let by = "  cancelled by ann: no need\n";
    assert!(shown.stdout.contains(by), "{}", shown.stdout);
    assert!(
        shown.stdout.starts_with(&format!("{id}  cancelled\n")),
        "{}",
        shown.stdout
    );
    let overview = json_of(&desk.fleet(&["watch", "--once", "--format", "json"]));
    assert_eq!(
        (&overview["waiting"], &overview["done"]),
        (&json!(0), &json!(1))
    );
    assert_eq!(
        json_of(&desk.fleet(&["retry", id.as_str()]))["change"],
        "retried"
    );
    let claim = desk.claim();
    let ordered = json_of(&desk.fleet(&["cancel", id.as_str()]));
    assert_eq!(ordered["change"], "cancel_ordered");
    desk.finish(&claim);
}

#[test]
fn a_ticket_that_may_not_begin_yet_is_shown_with_its_time() {
    let desk = Desk::new();
    let id = desk.submit(&["x", "--not-before", "2126-11-19T08:00:00Z"]);
    let shown = desk.fleet(&["show", id.as_str(), "--format", "text"]);
    let time = "  not before 2126-11-19T08:00:00.000Z\n";
    assert!(shown.stdout.contains(time), "{}", shown.stdout);
}

#[test]
fn an_open_permission_request_is_answered_once() {
    let desk = Desk::new();
    let id = desk.submit(&["x"]);
    let claim = desk.claim();
    let prompt = NewPrompt {
        claimed: claim.claimed_term(),
        request: "perm-1".to_owned(),
        seq: 1,
        body: br#"{"event":"permission_request","requestId":"perm-1","toolName":"shell","command":"rm x"}"#
            .to_vec(),
    };
    desk.runtime
        .block_on(desk.store.record_prompt(&prompt))
        .unwrap();
    let shown = json_of(&desk.fleet(&["show", id.as_str(), "--format", "json"]));
    assert_eq!(shown["prompts"][0]["requestId"], "perm-1");
    let shown = desk.fleet(&["show", id.as_str(), "--format", "text"]);
    let asked = "  asks `perm-1`: shell rm x\n";
    assert!(shown.stdout.contains(asked), "{}", shown.stdout);
    let answered =
        json_of(&desk.fleet(&["answer", id.as_str(), "--deny", "--message", "not here"]));
    assert_eq!(answered["change"], "answered");
    let (code, said) = desk.refusal(&["answer", id.as_str(), "--allow", "--request", "perm-1"]);
    assert_eq!(code, Some(13), "{said}");
}

#[test]
fn the_store_comes_from_the_flag_the_variable_or_the_users_file() {
    let desk = Desk::new();
    let config = desk.home.path().join(".config/lapidary");
    fs::create_dir_all(&config).unwrap();
    let named = desk.home.path().join("named.db");
    let text = format!("[fleet]\nstore = \"sqlite:{}\"\n", named.display());
    fs::write(config.join("lapidary.toml"), text).unwrap();
    for reader in [&["list"][..], &["watch", "--once"]] {
        let (code, said) = desk.refusal(reader);
        assert_eq!(code, Some(13), "{said}");
        assert!(said.contains("named.db` yet\nhint: "), "{said}");
        assert!(!named.exists(), "a command that reads makes no store");
    }
    json_of(&desk.fleet(&["init", "--format", "json"]));
    let list = json_of(&desk.fleet(&["list", "--format", "json"]));
    assert_eq!(list["store"], json!(format!("sqlite:{}", named.display())));
    let flag = format!("sqlite:{}", desk.home.path().join("flag.db").display());
    json_of(&desk.fleet(&["init", "--format", "json", "--store", &flag]));
    let list = json_of(&desk.fleet(&["list", "--format", "json", "--store", &flag]));
    assert_eq!(list["store"], json!(flag));
    fs::write(config.join("lapidary.toml"), "[fleet]\nstore = 7\n").unwrap();
    let (code, said) = desk.refusal(&["list"]);
    assert_eq!(code, Some(13), "{said}");
}

#[test]
fn the_sql_of_both_stores_is_printed() {
    let desk = Desk::new();
    let sqlite = desk.fleet(&["init", "--print-sql"]);
    assert!(sqlite.stdout.contains("create table ticket"), "{sqlite:?}");
    let address = "postgres://ann@db.example.org/fleet";
    let postgres = desk.fleet(&["init", "--print-sql", "--store", address]);
    assert!(postgres.stdout.contains("create table lapidary.ticket"));
    let made = json_of(&desk.fleet(&["init", "--format", "json"]));
    assert_eq!(made["change"], "initialised");
}
