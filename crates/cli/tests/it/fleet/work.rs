//! Workers with real agents' processes, on `SQLite`: from a submitted ticket to its stored end.

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use lapidary::directories::surroundings;
use lapidary::prepare::{RunOptions, RunSurroundings};
use lapidary_fleet::worker::{
    FleetSettings, Worker, WorkerBounds, WorkerEnd, WorkerMetrics, WorkerOptions, WorkerStop,
};
use lapidary_fleet::workspace::GcLimits;
use lapidary_fleet::{
    CancelRequest, FleetStore, NewTicket, RunId, SqliteStore, TicketId, TicketRecord, TicketSpec,
    WorkspaceSpec,
};
use lapidary_testkit::patience::wait_until;
use serde_json::Value;
use tokio::sync::watch;

use crate::run::world::World;

/// A fleet on one machine: a store, and a world with a scripted agent.
///
/// The agent of a ticket works in a directory of its attempt: it reaches the world's directory by `$HOME/..`.
pub(crate) struct FleetWorld {
    pub(crate) world: World,
    pub(crate) store: Arc<dyn FleetStore>,
}

impl FleetWorld {
    pub(crate) async fn new(script: &str) -> Self {
        let world = World::with_agent(script);
        let path = world.path("fleet.db");
        SqliteStore::initialise(&path).await.unwrap();
        let store = SqliteStore::open(&path).await.unwrap();
        Self {
            world,
            store: Arc::new(store),
        }
    }

    pub(crate) fn bounds(&self, settings: &str) -> WorkerBounds {
        let mut vars = self.world.lapidary(&[]);
        vars.env(
            "LAPIDARY_STORE",
            "postgres://worker:secret@db.example.org/fleet",
        );
        let vars = vars.get_envs();
        let vars = vars.filter_map(|(name, value)| Some((name.into(), value?.into())));
        let mut options = RunOptions::new("");
        options.config = self.world.config();
        options.config.on_violation = Some(lapidary::engine::OnViolation::Report);
        WorkerBounds {
            options,
            surroundings: RunSurroundings {
                environment: surroundings(vars.collect::<Vec<_>>(), self.world.path("project")),
                program: PathBuf::from(env!("CARGO_BIN_EXE_lapidary")),
            },
            settings: FleetSettings::parse(settings, "lapidary.toml".as_ref()).unwrap(),
        }
    }

    pub(crate) fn options(&self) -> WorkerOptions {
        WorkerOptions {
            name: "w".to_owned(),
            host: "h".to_owned(),
            labels: Vec::new(),
            slots: 2,
            lease: Duration::from_mins(1),
            until: WorkerEnd::Drained,
            directory: self.world.path("state/fleet"),
            min_free: 0,
            gc: GcLimits::default(),
        }
    }

    /// A worker with these settings, and the handle that ends it.
    pub(crate) fn worker(&self, settings: &str) -> (Worker, watch::Sender<WorkerStop>) {
        self.worker_with(settings, self.options())
    }

    /// The same with other options.
    pub(crate) fn worker_with(
        &self,
        settings: &str,
        options: WorkerOptions,
    ) -> (Worker, watch::Sender<WorkerStop>) {
        let (stopper, stop) = watch::channel(WorkerStop::None);
        let worker = Worker::new(
            Arc::clone(&self.store),
            options,
            self.bounds(settings),
            Arc::new(WorkerMetrics::default()),
            stop,
        );
        (worker.unwrap(), stopper)
    }

    pub(crate) async fn submit(&self, spec: TicketSpec) -> TicketId {
        let ticket = NewTicket::new(spec, "me");
        let id = ticket.id.clone();
        self.store.submit(&[ticket]).await.unwrap();
        id
    }

    pub(crate) async fn ticket(&self, id: &TicketId) -> TicketRecord {
        self.store.ticket(id).await.unwrap().unwrap()
    }

    /// The log of a run as it is stored.
    pub(crate) async fn log(&self, run: &RunId) -> Vec<u8> {
        let (mut from, mut log) = (0, Vec::new());
        loop {
            let chunks = self.store.chunks(run, from, 1 << 20).await.unwrap();
            let Some(last) = chunks.last() else {
                return log;
            };
            from = last.last + 1;
            for chunk in &chunks {
                log.extend_from_slice(&chunk.body);
            }
        }
    }

    /// The events of a run, in order.
    pub(crate) async fn events(&self, run: &RunId) -> Vec<Value> {
        let log = self.log(run).await;
        let lines = log
            .split(|byte| *byte == b'\n')
            .filter(|line| !line.is_empty());
        lines
            .map(|line| serde_json::from_slice(line).unwrap())
            .collect()
    }

    /// Runs all tickets with a worker that has these settings, and returns the one.
    pub(crate) async fn end_of(&self, settings: &str, id: &TicketId) -> TicketRecord {
        let (worker, _stopper) = self.worker(settings);
        worker.run().await.unwrap();
        self.world.assert_nothing_is_left();
        self.ticket(id).await
    }
}

pub(crate) fn verdict(ticket: &TicketRecord) -> (&str, &str) {
    let (outcome, cause) = (ticket.outcome.as_deref(), ticket.cause.as_deref());
    (outcome.unwrap_or("none"), cause.unwrap_or("none"))
}

/// The message of an attempt's evidence.
fn evidence(ticket: &TicketRecord, attempt: usize) -> Value {
    let evidence = ticket.attempt_records[attempt].evidence.as_deref();
    serde_json::from_slice(evidence.unwrap()).unwrap()
}

#[tokio::test]
async fn a_ticket_runs_and_its_log_is_what_run_prints() {
    let fleet = FleetWorld::new(
        r#"init; say "$LAPIDARY_TICKET $LAPIDARY_TERM ${LAPIDARY_STORE-none}"; success"#,
    )
    .await;
    let id = fleet.submit(TicketSpec::new("go")).await;
    let ticket = fleet.end_of("", &id).await;
    assert_eq!(verdict(&ticket), ("completed", "end_turn"));
    let run = &ticket.attempt_records[0].run;
    let events = fleet.events(run).await;
    let seqs: Vec<_> = events
        .iter()
        .map(|it| it["seq"].as_u64().unwrap())
        .collect();
    assert_eq!(seqs, (0..events.len() as u64).collect::<Vec<_>>());
    assert_eq!(events.last().unwrap()["event"], "run_end");
    let result: Value = serde_json::from_slice(ticket.result.as_deref().unwrap()).unwrap();
    assert_eq!(result["response"], format!("{id} 1 none"));

    let shown = ["runs", "show", run.as_str(), "--format", "events"];
    let shown = crate::run::world::Told::by(fleet.world.lapidary(&shown));
    assert_eq!(shown.events, events, "the store has the recording's events");
}

#[tokio::test]
async fn a_ticket_with_a_repository_leaves_a_patch_in_the_store() {
    let fleet =
        FleetWorld::new("init; echo changed > a.txt; echo new > b.txt; say x; success").await;
    let upstream = fleet.world.path("upstream");
    let setup = "git init -q -b main \"$1\" && cd \"$1\" && echo old > a.txt && git add . && \
                 git -c user.name=n -c user.email=e commit -qm one";
    let mut shell = std::process::Command::new("sh");
    shell.args(["-c", setup, "sh"]).arg(&upstream);
    assert!(crate::support::output(shell, b"").status.success());
    let mut spec = TicketSpec::new("go");
    spec.workspace = Some(WorkspaceSpec {
        repo: Some(upstream.to_str().unwrap().to_owned()),
        reference: Some("main".to_owned()),
        push: Some("agent/x".to_owned()),
        directory: None,
    });
    let id = fleet.submit(spec.clone()).await;
    let settings = format!(
        "[fleet]\nrepositories = ['{}/*']\npush = ['agent/*']\nsetup = 'test -f a.txt -a -z \"$LAPIDARY_STORE\"'\n",
        upstream.parent().unwrap().display()
    );
    let ticket = fleet.end_of(&settings, &id).await;
    assert_eq!(
        verdict(&ticket),
        ("completed", "end_turn"),
        "{:?}",
        evidence(&ticket, 0)
    );
    let run = &ticket.attempt_records[0].run;
    let artifacts = fleet.store.artifacts(run).await.unwrap();
    let mut names: Vec<_> = artifacts.iter().map(|it| it.name.as_str()).collect();
    names.sort_unstable();
    assert_eq!(names, ["changes.patch", "files.json"]);
    let patch = fleet
        .store
        .artifact_part(run, "changes.patch", 0)
        .await
        .unwrap();
    let patch = String::from_utf8(patch.unwrap()).unwrap();
    assert!(
        patch.contains("-old\n+changed\n") && patch.contains("b/b.txt"),
        "{patch}"
    );
    let evidence = evidence(&ticket, 0);
    assert_eq!(evidence["changedFiles"], 2);
    assert_eq!(evidence["push"]["branch"], "agent/x");
    assert_eq!(evidence["push"]["error"], Value::Null);
    // The same ticket on a worker that does not list the repository.
    let id = fleet.submit(spec).await;
    let ticket = fleet.end_of("", &id).await;
    assert_eq!(verdict(&ticket), ("failed", "bad_input"));
}

#[tokio::test]
async fn a_ticket_that_wants_more_than_the_worker_allows_is_refused_and_not_repeated() {
    let fleet = FleetWorld::new("touch $HOME/../ran; init; say x; success").await;
    let mut wide = TicketSpec::new("go");
    wide.permission_mode = Some("bypassPermissions".to_owned());
    let mut elsewhere = TicketSpec::new("go");
    elsewhere.workspace = Some(WorkspaceSpec {
        repo: None,
        reference: None,
        push: None,
        directory: Some("/".into()),
    });
    let mut unknown = TicketSpec::new("go");
    unknown.agent = Some("sh -c id".to_owned());
    for spec in [wide, elsewhere, unknown] {
        let id = fleet.submit(spec).await;
        let ticket = fleet.end_of("", &id).await;
        assert_eq!(verdict(&ticket), ("failed", "bad_input"));
        assert_eq!(ticket.attempt_records.len(), 1);
    }
    assert!(!fleet.world.path("ran").exists());
    // No agent was there: nothing is kept as if its changes were not safe.
    let workspaces = fs::read_dir(fleet.world.path("state/fleet/workspaces"));
    assert_eq!(workspaces.map_or(0, Iterator::count), 0);
}

#[tokio::test]
async fn an_attempt_is_repeated_only_if_it_touched_nothing() {
    let crash = "n=$(ls $HOME/.. | grep -c crash-$LAPIDARY_TICKET); touch $HOME/../crash-$LAPIDARY_TICKET-$LAPIDARY_TERM";
    let fleet = FleetWorld::new(&format!(
        "{crash}; init; read -r p; case $p in *touch*) call c run_shell_command;; esac; \
         case $n in 0) kill -9 $$;; esac; say x; success"
    ))
    .await;
    let harmless = fleet.submit(TicketSpec::new("only read")).await;
    let ticket = fleet.end_of("", &harmless).await;
    assert_eq!(verdict(&ticket), ("completed", "end_turn"));
    let causes: Vec<_> = ticket
        .attempt_records
        .iter()
        .map(|it| it.cause.clone())
        .collect();
    assert_eq!(
        causes,
        [
            Some("agent_crashed".to_owned()),
            Some("end_turn".to_owned())
        ]
    );

    let touching = fleet.submit(TicketSpec::new("touch something")).await;
    let ticket = fleet.end_of("", &touching).await;
    assert_eq!(verdict(&ticket), ("failed", "agent_crashed"));
    assert_eq!(ticket.attempt_records.len(), 1);
}

#[tokio::test]
async fn a_cancelled_ticket_ends_its_agent_and_a_drained_worker_ends() {
    let fleet =
        FleetWorld::new("init; touch $HOME/../started; setsid sleep 641 & sleep 642; success")
            .await;
    let id = fleet.submit(TicketSpec::new("go")).await;
    let (worker, stopper) = fleet.worker("");
    let working = tokio::spawn(worker.run());
    let started = fleet.world.path("started");
    tokio::task::spawn_blocking(move || wait_until("the agent", || started.exists()))
        .await
        .unwrap();
    stopper.send_replace(WorkerStop::Drain);
    let request = CancelRequest {
        by: "me".to_owned(),
        why: None,
        now: false,
    };
    fleet.store.cancel(&id, &request).await.unwrap();
    assert_eq!(working.await.unwrap().unwrap(), 1);
    fleet.world.assert_nothing_is_left();
    let ticket = fleet.ticket(&id).await;
    assert_eq!(verdict(&ticket), ("cancelled", "cancelled_by_client"));
}

#[tokio::test]
async fn a_cancelled_ticket_ends_its_setup_command() {
    let fleet = FleetWorld::new("").await;
    let id = fleet.submit(TicketSpec::new("go")).await;
    let started = fleet.world.path("started");
    let setup = format!("setsid sleep 645 & touch {}; sleep 646", started.display());
    let (worker, _stopper) = fleet.worker(&format!("[fleet]\nsetup = '{setup}'\n"));
    let working = tokio::spawn(worker.run());
    tokio::task::spawn_blocking(move || wait_until("the setup command", || started.exists()))
        .await
        .unwrap();
    let request = CancelRequest {
        by: "me".to_owned(),
        why: None,
        now: false,
    };
    fleet.store.cancel(&id, &request).await.unwrap();
    assert_eq!(working.await.unwrap().unwrap(), 1);
    fleet.world.assert_nothing_is_left();
    let ticket = fleet.ticket(&id).await;
    assert_eq!(verdict(&ticket), ("cancelled", "cancelled_by_client"));
    let left = fleet.world.path(&format!("state/fleet/workspaces/{id}-1"));
    assert!(!left.exists(), "its workspace is removed");
}

#[tokio::test]
async fn the_history_of_a_killed_worker_is_uploaded_by_the_next_one() {
    let fleet =
        FleetWorld::new("init; say 'before the end'; touch $HOME/../started; sleep 651").await;
    let mut spec = TicketSpec::new("go");
    spec.retry = lapidary_fleet::RetryPolicy::Never;
    let id = fleet.submit(spec).await;
    let db = format!("sqlite:{}", fleet.world.path("fleet.db").display());
    let mut command = fleet
        .world
        .lapidary(&["fleet", "work", "--store", &db, "--lease", "3"]);
    let mut process = command
        .arg("--min-free=0")
        .arg("--confine-write")
        .arg(fleet.world.path(""))
        .spawn()
        .unwrap();
    fleet.world.wait_for("started");
    process.kill().unwrap();
    process.wait().unwrap();
    fleet.world.assert_nothing_is_left();
    fs::remove_file(fleet.world.path("started")).unwrap();
    let ticket = fleet.end_of("", &id).await;
    assert_eq!(verdict(&ticket), ("failed", "lease_lost"));
    let run = ticket.attempt_records[0].run.clone();
    let events = fleet.events(&run).await;
    let count = |name: &str| events.iter().filter(|it| it["event"] == name).count();
    assert_eq!(
        (count("stream_delta"), count("run_end")),
        (1, 1),
        "{events:?}"
    );
    assert_eq!(events.last().unwrap()["event"], "run_end");
}
