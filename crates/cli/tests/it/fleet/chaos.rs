//! Chaos: while tickets run, workers, supervisors and agents are killed and stopped at random, the database is restarted or
//! read-only, its backends are killed, the network between it and the workers is broken or gone, the disk is full, and some tickets
//! are cancelled. No ticket is lost or recorded twice, no ticket has two trees at a time, no process is left, every cancel is honoured,
//! and the store has every byte.
//!
//! `cargo xtask chaos` runs it for twenty minutes with a thousand tickets, `cargo xtask test` for two minutes. `LAPIDARY_CHAOS_SEED`,
//! `LAPIDARY_CHAOS_SECONDS` and `LAPIDARY_CHAOS_TICKETS` say which, how long and how many.
//!
//! The agent and a grandchild of it hold an exclusive lock on a file of the ticket. A worker and the supervisors of its agents are
//! not both hit within a lease: that is the one case in which two trees of a ticket may overlap.

mod cancels;
mod checks;
mod database;
mod disk;
mod faults;
mod network;
mod workers;

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::path::Path;
use std::process::{Command, Output};
use std::time::{Duration, Instant};

use lapidary_fleet::{
    NewTicket, RetryPolicy, StoreError, StoreFuture, TicketFilter, TicketId, TicketRecord,
    TicketSpec, TicketState,
};
use lapidary_testkit::patience::HANG;
use tokio::time::timeout;

use super::work::FleetWorld;
use crate::run::world::World;
use crate::support::output;
use checks::OrderedCancel;
use database::ChaosDatabase;
use disk::SmallDisk;
use workers::WorkerProcess;

/// How many workers there are.
const WORKERS: usize = 4;

/// The lease of the workers.
const LEASE: Duration = Duration::from_secs(9);

/// Faults are ended meanwhile only if no request takes longer.
const LONGEST_REQUEST: Duration = Duration::from_secs(2);

/// The longest agent writes so many lines, one each fifth of a second.
const MOST_LINES: usize = 20;

/// The agent: it locks, journals, writes some lines to stdout and the same to a file of its own, and has a grandchild that holds the
/// lock as long as it does. The prompt is the number of lines. An agent whose stdout takes no more, because the disk is full, ends, and
/// so does one whose `flock` was killed in its place: only the status of a lock that is held is a violation.
const AGENT: &str = r#"
world='WORLD'
read -r lines
attempt="$LAPIDARY_TICKET-$LAPIDARY_TERM"
lock="$world/locks/$LAPIDARY_TICKET"
exec 9>>"$lock"
flock -n -E 99 9
status=$?
if [ $status = 99 ]; then {
    echo "$attempt at $(date +%s.%N), while $(tail -n 1 "$lock"):"
    ps -A -o pid,ppid,stat,args
} >> "$world/violations"; fi
[ $status = 0 ] || exit 7
echo "$attempt runs as $$ below $PPID since $(date +%s.%N)" >&9
setsid sh -c 'echo "grandchild $1" >> "$2/journal"; exec sleep 661' sh "$attempt" "$world" &
echo "begin $attempt" >> "$world/journal"
tell() { "$@" || exit 7; "$@" >> "$world/bytes/$attempt"; }
tell init
n=0
while [ $n -lt $lines ]; do n=$((n + 1)); tell say "part $n of $attempt"; sleep 0.2; done
tell success
sum=$(sha256sum < "$world/bytes/$attempt") || exit 7
echo "end $attempt ${sum%% *}" >> "$world/journal"
"#;

/// A small generator of random numbers: the same seed gives the same faults.
struct ChaosDice(u64);

impl ChaosDice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % sides as u64).unwrap()
    }

    /// A time between two numbers of milliseconds.
    fn millis(&mut self, least: usize, most: usize) -> Duration {
        Duration::from_millis((least + self.roll(most - least)) as u64)
    }
}

/// How long the faults last, how many tickets there are, and the seed of the dice.
#[derive(Debug, Clone, Copy)]
struct ChaosPlan {
    seconds: u64,
    tickets: usize,
    seed: u64,
}

impl ChaosPlan {
    /// The plan of the variables, or this one.
    fn from_variables(usual: Self) -> Self {
        let number = |name: &str, usual: u64| {
            let value = std::env::var(name).ok();
            value.and_then(|value| value.parse().ok()).unwrap_or(usual)
        };
        let tickets = number("LAPIDARY_CHAOS_TICKETS", usual.tickets as u64);
        Self {
            seconds: number("LAPIDARY_CHAOS_SECONDS", usual.seconds),
            tickets: usize::try_from(tickets).unwrap(),
            seed: number("LAPIDARY_CHAOS_SEED", usual.seed),
        }
    }
}

/// A fleet under faults.
struct FleetChaos {
    fleet: FleetWorld,
    database: ChaosDatabase,
    disk: SmallDisk,
    workers: Vec<WorkerProcess>,
    /// Agents that are stopped, and when they go on.
    stopped_agents: Vec<(i32, Instant)>,
    faults: BTreeMap<&'static str, usize>,
    /// The faults with their times: evidence for a check that failed.
    history: Vec<String>,
    /// How often workers ended by themselves.
    ended_workers: BTreeMap<String, usize>,
    dice: ChaosDice,
    submitted: usize,
    /// The ticket whose submission was not answered.
    next_ticket: Option<NewTicket>,
    cancels: HashMap<TicketId, OrderedCancel>,
}

impl FleetChaos {
    fn new(plan: ChaosPlan, database: ChaosDatabase, fleet: FleetWorld) -> Self {
        furnish(&fleet.world);
        // A recording and a workspace take some pages each.
        let size = 32 + plan.tickets / 4;
        let mut chaos = Self {
            disk: SmallDisk::mount(&fleet.world.path("state"), size),
            fleet,
            database,
            workers: Vec::new(),
            stopped_agents: Vec::new(),
            faults: BTreeMap::new(),
            history: Vec::new(),
            ended_workers: BTreeMap::new(),
            dice: ChaosDice(plan.seed | 1),
            submitted: 0,
            next_ticket: None,
            cancels: HashMap::new(),
        };
        chaos.workers = (0..WORKERS).map(|at| chaos.start_worker(at)).collect();
        chaos
    }

    fn new_ticket(&mut self) -> NewTicket {
        let lines = self.dice.roll(MOST_LINES);
        let mut spec = TicketSpec::new(format!("{lines}\n"));
        spec.retry = RetryPolicy::Always;
        let mut ticket = NewTicket::new(spec, "chaos");
        ticket.max_attempts = 50;
        ticket
    }

    /// Submits the next ticket. False if the store does not answer: then it is submitted again.
    async fn submit(&mut self) -> bool {
        let ticket = match self.next_ticket.take() {
            Some(ticket) => ticket,
            None => self.new_ticket(),
        };
        let tickets = [ticket];
        let is_submitted = now_or_later(self.fleet.store.submit(&tickets)).await;
        if is_submitted.is_some() {
            self.submitted += 1;
            return true;
        }
        self.next_ticket = tickets.into_iter().next();
        false
    }

    /// Tickets in these states, or all. None if the store does not answer.
    async fn tickets(&self, states: &[TicketState]) -> Option<Vec<TicketRecord>> {
        now_or_later(self.fleet.store.list(&in_states(states))).await
    }

    /// Submits tickets and makes faults, until the time is over.
    async fn rage(&mut self, plan: ChaosPlan) {
        let started = Instant::now();
        let time = Duration::from_secs(plan.seconds);
        while started.elapsed() < time {
            let pause = self.dice.millis(100, 600);
            tokio::time::sleep(pause).await;
            self.mend().await;
            if self.database.is_up() {
                // The last tickets come when four fifths of the time are over.
                let part = 5 * started.elapsed().as_millis() / 4;
                let due = part * plan.tickets as u128 / time.as_millis();
                while self.submitted < plan.tickets
                    && (self.submitted as u128) < due
                    && self.submit().await
                {}
            }
            self.strike().await;
        }
    }

    /// Ends all faults, submits the rest, and waits until no ticket is left.
    async fn settle(&mut self, plan: ChaosPlan) {
        self.end_faults().await;
        let last = Instant::now() + 3 * HANG;
        let states = [
            TicketState::Blocked,
            TicketState::Waiting,
            TicketState::Running,
        ];
        loop {
            self.mend().await;
            while self.submitted < plan.tickets && self.submit().await {}
            let open = self.tickets(&states).await;
            if self.submitted == plan.tickets && open.as_ref().is_some_and(Vec::is_empty) {
                break;
            }
            assert!(Instant::now() < last, "these are not done: {open:?}");
            tokio::time::sleep(Duration::from_millis(500)).await;
        }
        self.end_workers();
    }
}

/// Gives a world the agent, and the directories that it writes to.
fn furnish(world: &World) {
    let root = world.path("");
    let script = AGENT.replace("WORLD", root.to_str().unwrap().trim_end_matches('/'));
    world.agent(&script);
    for name in ["locks", "bytes"] {
        fs::create_dir(world.path(name)).unwrap();
    }
}

fn in_states(states: &[TicketState]) -> TicketFilter {
    TicketFilter {
        states: states.to_vec(),
        limit: 10_000,
        ..TicketFilter::default()
    }
}

/// The answer to a request. None if the store does not answer for now: it may be away or read-only, and a worker that is stopped
/// within a transaction of `SQLite` keeps all others out.
async fn now_or_later<T>(operation: StoreFuture<'_, T>) -> Option<T> {
    match timeout(LONGEST_REQUEST, operation).await {
        Err(_) | Ok(Err(StoreError::Unavailable { .. } | StoreError::ReadOnly { .. })) => None,
        Ok(answer) => Some(answer.unwrap()),
    }
}

/// Runs the chaos on a store, and returns the figures.
fn run_chaos(plan: ChaosPlan, open: fn(&Path) -> ChaosDatabase) -> String {
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    let runtime = runtime.enable_all().build().unwrap();
    runtime.block_on(async {
        let world = World::with_agent("");
        let database = open(&world.path("fleet.db"));
        let address = database.address();
        address.initialise().await.unwrap();
        let store = address.open().await.unwrap();
        let fleet = FleetWorld { world, store };
        let mut chaos = FleetChaos::new(plan, database, fleet);
        chaos.rage(plan).await;
        chaos.settle(plan).await;
        chaos.check().await
    })
}

/// Runs the agent of a ticket without a worker. Its programs may be replaced by those of the world.
fn run_agent(world: &World) -> Output {
    let mut path = world.path("").into_os_string();
    path.push(":");
    path.push(std::env::var_os("PATH").unwrap());
    let mut agent = Command::new(world.path("gemini"));
    agent.envs([("LAPIDARY_TICKET", "t"), ("LAPIDARY_TERM", "1")]);
    agent.env("PATH", path);
    output(agent, b"0\n")
}

#[test]
fn an_agent_reports_a_second_tree_only_if_another_process_has_its_lock() {
    let world = World::with_agent("");
    furnish(&world);
    let held = fs::File::create(world.path("locks/t")).unwrap();
    held.lock().unwrap();
    run_agent(&world);
    let violations = fs::read_to_string(world.path("violations")).unwrap();
    assert!(violations.starts_with("t-1 at "), "{violations}");

    // A fault that kills `flock` instead of the agent.
    drop(held);
    fs::remove_file(world.path("violations")).unwrap();
    world.program("flock", "#!/bin/sh\nkill -9 $$");
    assert_eq!(run_agent(&world).status.code(), Some(7));
    assert!(!world.path("violations").exists());
}

#[test]
fn nothing_is_lost_and_nothing_runs_twice_while_workers_supervisors_and_agents_are_hit() {
    let plan = ChaosPlan::from_variables(ChaosPlan {
        seconds: 15,
        tickets: 24,
        seed: 7,
    });
    println!("chaos on SQLite: {plan:?}");
    println!(
        "chaos on SQLite: {}",
        run_chaos(plan, ChaosDatabase::sqlite)
    );
}

#[test]
#[cfg_attr(
    not(feature = "peers"),
    ignore = "needs a real PostgreSQL: run `cargo xtask test`"
)]
fn nothing_is_lost_and_nothing_runs_twice_while_the_database_and_the_network_fail() {
    let plan = ChaosPlan::from_variables(ChaosPlan {
        seconds: 80,
        tickets: 60,
        seed: 7,
    });
    println!("chaos on PostgreSQL: {plan:?}");
    let figures = run_chaos(plan, ChaosDatabase::postgres);
    println!("chaos on PostgreSQL: {figures}");
}
