//! `fleet work` as a process: its signals, its metrics, its messages, and the commands that wait for it.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::Receiver;
use std::time::Duration;

use lapidary_fleet::worker::WorkerStop;
use lapidary_fleet::{StoreAddress, TicketId, TicketSpec, TicketState};
use lapidary_testkit::patience::wait_until;
use lapidary_testkit::postgres::{PostgresServer, PostgresStop};
use lapidary_testkit::tcp_proxy::{ProxyMode, TcpProxy};
use nix::sys::signal::Signal;
use serde_json::Value;

use super::bad_input::new_database;
use super::processes::{children_of, signal};
use super::work::{FleetWorld, verdict};
use crate::run::world::{Told, World};
use crate::support::{DEADLINE, ended, lines_from, lines_of, output};

/// The first attempt of the first ticket waits until it may go on.
const PATIENT: &str = "init; if [ ! -e $HOME/../started ]; then touch $HOME/../started; \
    while [ ! -e $HOME/../later ]; do sleep 0.02; done; fi; say x; success";

/// A worker process, and what it prints.
struct WorkingProcess {
    child: Child,
    messages: Receiver<String>,
}

impl WorkingProcess {
    fn start(fleet: &FleetWorld, args: &[&str]) -> Self {
        let command = fleet_command(fleet, "work", &["--lease", "3"]);
        Self::start_command(fleet, command, args)
    }

    fn start_command(fleet: &FleetWorld, mut command: Command, args: &[&str]) -> Self {
        if !args.contains(&"--min-free") {
            command.args(["--min-free", "0"]);
        }
        command.arg("--confine-write").arg(fleet.world.path(""));
        command
            .args(args)
            .stdin(Stdio::null())
            .stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let messages = lines_from(child.stderr.take().unwrap());
        Self { child, messages }
    }

    fn send(&self, order: Signal) {
        signal(self.child.id().cast_signed(), order);
    }

    /// The first message with this text.
    fn message(&self, text: &str) -> String {
        loop {
            let line = self.messages.recv_timeout(DEADLINE);
            let line = line.unwrap_or_else(|error| panic!("no message `{text}`: {error}"));
            if line.contains(text) {
                return line;
            }
        }
    }

    /// Waits for its end, which must be a success. Returns the messages that were not read.
    fn end(self) -> String {
        let ended = ended(self.child);
        let rest: String = self.messages.iter().map(|line| line + "\n").collect();
        assert!(ended.status.success(), "{rest}");
        rest
    }
}

fn fleet_command(fleet: &FleetWorld, name: &str, args: &[&str]) -> Command {
    let store = format!("sqlite:{}", fleet.world.path("fleet.db").display());
    let mut command = fleet.world.lapidary(&["fleet", name, "--store", &store]);
    command.args(args);
    command
}

/// Sends the signal, and waits until the store shows that the worker drains.
async fn drain(fleet: &FleetWorld, worker: &WorkingProcess) {
    worker.send(Signal::SIGTERM);
    while !fleet.store.overview().await.unwrap().workers[0].draining {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test]
async fn the_first_signal_lets_a_ticket_end_and_claims_no_other() {
    let fleet = FleetWorld::new(PATIENT).await;
    let first = fleet.submit(TicketSpec::new("go")).await;
    let worker = WorkingProcess::start(&fleet, &[]);
    fleet.world.wait_for("started");
    let second = fleet.submit(TicketSpec::new("go")).await;
    drain(&fleet, &worker).await;
    fs::write(fleet.world.path("later"), "").unwrap();
    let said = worker.end();
    assert!(said.contains("note: tickets claimed: 1\n"), "{said}");
    let first = fleet.ticket(&first).await;
    assert_eq!(verdict(&first), ("completed", "end_turn"));
    assert_eq!(fleet.ticket(&second).await.state, TicketState::Waiting);
}

#[tokio::test]
async fn the_second_signal_ends_the_agent_and_its_ticket_runs_again() {
    let fleet = FleetWorld::new(PATIENT).await;
    let id = fleet.submit(TicketSpec::new("go")).await;
    let worker = WorkingProcess::start(&fleet, &[]);
    fleet.world.wait_for("started");
    drain(&fleet, &worker).await;
    worker.send(Signal::SIGTERM);
    let said = worker.end();
    let lost = format!("note: ticket {id}, attempt 1: failed (lease_lost)");
    assert!(said.contains(&lost), "{said}");
    fleet.world.assert_nothing_is_left();
    let again = WorkingProcess::start(&fleet, &["--drain"]).end();
    let done = format!("note: ticket {id}, attempt 2: completed (end_turn)\n");
    assert!(again.contains(&done), "{again}");
    let ticket = fleet.ticket(&id).await;
    assert_eq!(verdict(&ticket), ("completed", "end_turn"));
}

/// The values of the metrics at this address.
fn metrics(address: &str) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    stream
        .write_all(b"GET /metrics HTTP/1.1\r\nhost: x\r\n\r\n")
        .unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    text
}

#[tokio::test]
async fn metrics_have_the_queue_the_claims_the_outcomes_and_the_tokens() {
    let fleet = FleetWorld::new("init; say x; success").await;
    let id = fleet.submit(TicketSpec::new("go")).await;
    let worker = WorkingProcess::start(&fleet, &["--metrics", "127.0.0.1:0"]);
    let line = worker.message("metrics are on");
    let address = line.split('/').find(|part| part.starts_with("127."));
    let address = address.unwrap().to_owned();
    worker.message(&format!("ticket {id}, attempt 1: completed (end_turn)"));
    let text = metrics(&address);
    for line in [
        "lapidary_fleet_tickets{state=\"waiting\"} 0",
        "lapidary_fleet_tickets{state=\"done\"} 1",
        "lapidary_fleet_claim_wait_seconds_count 1",
        "lapidary_fleet_runs_total{outcome=\"completed\"} 1",
        "lapidary_fleet_tokens_total 3",
    ] {
        assert!(text.lines().any(|it| it == line), "{line}\n{text}");
    }
    worker.send(Signal::SIGTERM);
    worker.end();
}

#[tokio::test]
async fn a_worker_says_that_its_disk_has_too_little_space_and_claims_nothing() {
    let fleet = FleetWorld::new("init; say x; success").await;
    let id = fleet.submit(TicketSpec::new("go")).await;
    let most = u64::MAX.to_string();
    let worker = WorkingProcess::start(&fleet, &["--drain", "--min-free", &most]);
    let said = worker.message("no ticket is claimed");
    let directory = fleet.world.path("state/fleet");
    assert!(said.contains(directory.to_str().unwrap()), "{said}");
    assert!(worker.message("hint:").contains("--min-free"));
    assert_eq!(fleet.ticket(&id).await.state, TicketState::Waiting);
    worker.send(Signal::SIGTERM);
    worker.end();
    assert_eq!(fleet.ticket(&id).await.attempts, 0);
}

#[tokio::test]
async fn a_worker_says_that_its_store_is_away_and_that_it_is_back() {
    let fleet = FleetWorld::new("").await;
    let worker = WorkingProcess::start(&fleet, &[]);
    while fleet.store.overview().await.unwrap().workers.is_empty() {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let connection = rusqlite::Connection::open(fleet.world.path("fleet.db")).unwrap();
    connection.busy_timeout(DEADLINE).unwrap();
    connection.execute_batch("begin immediate").unwrap();
    worker.message("note: the heartbeat failed: ");
    connection.execute_batch("rollback").unwrap();
    worker.message("note: the store answers heartbeats again");
    worker.send(Signal::SIGTERM);
    worker.end();
}

#[tokio::test]
async fn a_worker_that_waits_for_its_store_ends_at_the_first_signal() {
    let fleet = FleetWorld::new("").await;
    // Nothing listens on this port any more.
    let free = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let store = format!("postgres://lapidary@{}/none", free.local_addr().unwrap());
    drop(free);
    let work = fleet.world.lapidary(&["fleet", "work", "--store", &store]);
    let worker = WorkingProcess::start_command(&fleet, work, &[]);
    worker.message("the worker tries again");
    worker.send(Signal::SIGTERM);
    worker.end();
}

#[tokio::test]
async fn a_worker_that_cannot_register_yet_ends_when_it_is_told_to() {
    let fleet = FleetWorld::new("").await;
    let other = rusqlite::Connection::open(fleet.world.path("fleet.db")).unwrap();
    other.execute_batch("begin immediate").unwrap();
    let (worker, stopper) = fleet.worker("");
    stopper.send(WorkerStop::Drain).unwrap();
    assert_eq!(worker.run().await.unwrap(), 0);
    other.execute_batch("rollback").unwrap();
}

/// Restarts the database. Meanwhile the one program that uses it must try several times to reach it.
fn restart_under_a_reader(server: &PostgresServer) {
    let port = server.url().rsplit_once(':').unwrap().1;
    let port: u16 = port.split('/').next().unwrap().parse().unwrap();
    server.stop(PostgresStop::Immediate);
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).unwrap();
    listener.set_nonblocking(true).unwrap();
    let mut refused = 0;
    wait_until("it tries again", || {
        refused += listener.incoming().map_while(Result::ok).count();
        refused >= 3
    });
    drop(listener);
    server.resume();
}

#[tokio::test]
#[cfg_attr(
    not(feature = "peers"),
    ignore = "needs a real PostgreSQL: run `cargo xtask test`"
)]
async fn commands_that_follow_outlive_a_restart_of_the_database() {
    let server = tokio::task::spawn_blocking(|| PostgresServer::start(&[]));
    let server = server.await.unwrap();
    let address = StoreAddress::parse(server.url(), Path::new("/")).unwrap();
    address.initialise().await.unwrap();
    let fleet = FleetWorld {
        world: World::with_agent("init; say x; success"),
        store: address.open().await.unwrap(),
    };
    let id = fleet.submit(TicketSpec::new("go")).await;
    let start = |args: &[&str]| {
        let mut command = fleet.world.lapidary(&["fleet"]);
        command.args(args).args(["--store", server.url()]);
        command.stdin(Stdio::null()).stdout(Stdio::piped());
        command.stderr(Stdio::piped()).spawn().unwrap()
    };
    let mut watching = start(&["watch"]);
    let overview = lines_of(&mut watching).recv_timeout(DEADLINE).unwrap();
    assert!(overview.contains("\"waiting\":1"), "{overview}");
    restart_under_a_reader(&server);
    watching.kill().unwrap();
    watching.wait().unwrap();

    let mut following = start(&["events", id.as_str()]);
    let notes = lines_from(following.stderr.take().unwrap());
    notes.recv_timeout(DEADLINE).unwrap();
    restart_under_a_reader(&server);
    let work = ["fleet", "work", "--store", server.url()];
    let work = fleet.world.lapidary(&work);
    WorkingProcess::start_command(&fleet, work, &["--once"]).end();
    let followed = ended(following);
    assert!(followed.status.success(), "{followed:?}");
    let store = address.open().await.unwrap();
    let fleet = FleetWorld { store, ..fleet };
    let run = &fleet.ticket(&id).await.attempt_records[0].run;
    assert_eq!(followed.stdout, fleet.log(run).await);
}

#[tokio::test]
#[cfg_attr(
    not(feature = "peers"),
    ignore = "needs a real PostgreSQL: run `cargo xtask test`"
)]
async fn an_outage_of_the_database_that_is_shorter_than_the_lease_loses_nothing() {
    let server = tokio::task::spawn_blocking(PostgresServer::shared);
    let server = server.await.unwrap();
    let (url, _client) = new_database(&server).await;
    let (host, database) = url.rsplit_once('/').unwrap();
    let (_, port) = host.rsplit_once(':').unwrap();
    let port = SocketAddr::from((Ipv4Addr::LOCALHOST, port.parse().unwrap()));
    let proxy = TcpProxy::start(port).unwrap();
    let address = StoreAddress::parse(&url, Path::new("/")).unwrap();
    address.initialise().await.unwrap();
    let fleet = FleetWorld {
        world: World::with_agent(PATIENT),
        store: address.open().await.unwrap(),
    };
    let id = fleet.submit(TicketSpec::new("go")).await;
    let store = format!("postgres://lapidary@{}/{database}", proxy.address());
    // A lease that the outage does not reach, with a heartbeat every two seconds.
    let work = ["fleet", "work", "--store", &store, "--lease", "12"];
    let work = fleet.world.lapidary(&work);
    let worker = WorkingProcess::start_command(&fleet, work, &["--once"]);
    fleet.world.wait_for("started");
    proxy.set_mode(ProxyMode::Cut);
    worker.message("note: the heartbeat failed: ");
    fs::write(fleet.world.path("later"), "").unwrap();
    wait_until("the agent has ended", || {
        children_of(&worker.child).is_empty()
    });
    assert_eq!(fleet.ticket(&id).await.state, TicketState::Running);
    proxy.set_mode(ProxyMode::Pass);
    worker.end();
    let ticket = fleet.ticket(&id).await;
    assert_eq!(verdict(&ticket), ("completed", "end_turn"));
    assert_eq!(ticket.attempts, 1);
    let events = fleet.events(&ticket.attempt_records[0].run).await;
    assert_eq!(events.last().unwrap()["event"], "run_end");
}

/// Submits a ticket, runs it with a worker, and returns its id, the exit code of the waiting `submit`, and the worker's messages.
fn run_and_wait(fleet: &FleetWorld, args: &[&str]) -> (TicketId, Option<i32>, String) {
    let mut command = fleet_command(fleet, "submit", &["--wait"]);
    command.args(args).stdin(Stdio::null());
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut waiting = command.spawn().unwrap();
    let printed = lines_of(&mut waiting).recv_timeout(DEADLINE).unwrap();
    let line: Value = serde_json::from_str(&printed).unwrap();
    let id: TicketId = line["ticket"].as_str().unwrap().parse().unwrap();
    let said = WorkingProcess::start(fleet, &["--once"]).end();
    let ended = ended(waiting);
    let noted = String::from_utf8(ended.stderr).unwrap();
    assert!(noted.starts_with("note: no worker is there now"), "{noted}");
    assert!(noted.contains(&format!("ticket {id} ended: ")), "{noted}");
    (id, ended.status.code(), said)
}

#[tokio::test]
async fn a_submission_that_waits_exits_as_run_does_and_the_worker_says_why() {
    for (script, verdict) in [
        ("init; say x; success", "completed (end_turn)"),
        ("init; failure Quota 'no quota left'; exit 1", "failed ("),
        ("init; say x; kill -9 $$", "failed (agent_crashed): "),
    ] {
        let fleet = FleetWorld::new(script).await;
        let run = Told::by(fleet.world.lapidary(&["run", "go"]));
        let (id, code, said) = run_and_wait(&fleet, &["go", "--retries", "0"]);
        assert_eq!(code, run.code, "{script}: {said}");
        let note = format!("note: ticket {id}, attempt 1: {verdict}");
        assert!(said.contains(&note), "{script}: {said}");
    }
}

#[tokio::test]
async fn a_ticket_that_waits_is_followed_from_its_first_event_to_its_end() {
    let fleet = FleetWorld::new("init; say x; success").await;
    let id = fleet.submit(TicketSpec::new("go")).await;
    let mut command = fleet_command(&fleet, "events", &[id.as_str()]);
    command.stdin(Stdio::null());
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut following = command.spawn().unwrap();
    let messages = lines_from(following.stderr.take().unwrap());
    let note = messages.recv_timeout(DEADLINE).unwrap();
    assert!(
        note.starts_with("note: the ticket waits for a worker"),
        "{note}"
    );
    WorkingProcess::start(&fleet, &["--once"]).end();
    let followed = ended(following);
    assert!(followed.status.success());
    let run = &fleet.ticket(&id).await.attempt_records[0].run;
    assert_eq!(followed.stdout, fleet.log(run).await);
}

#[tokio::test]
async fn workspaces_are_collected_after_a_dry_run() {
    let fleet = FleetWorld::new("init; say x; success").await;
    let (id, code, _) = run_and_wait(&fleet, &["go"]);
    assert_eq!(code, Some(0));
    let own = fleet.world.path(&format!("state/fleet/workspaces/{id}-1"));
    let collect = |args: &[&str]| {
        let args = [&["fleet", "gc"], args].concat();
        let ran = output(fleet.world.lapidary(&args), b"");
        assert!(ran.status.success(), "{ran:?}");
        String::from_utf8(ran.stdout).unwrap()
    };
    let has_line = |printed: &str, verdict: &str| {
        let mut lines = printed.lines();
        let path = own.to_str().unwrap();
        lines.any(|line| line.starts_with(verdict) && line.ends_with(path))
    };
    let usual = collect(&[]);
    assert!(has_line(&usual, "recent\t"), "{usual}");
    let dry = collect(&["--dry-run", "--completed", "0s"]);
    assert!(has_line(&dry, "removed\t"), "{dry}");
    assert!(own.exists(), "nothing is removed");
    collect(&["--completed", "0s"]);
    assert!(!own.exists());
}
