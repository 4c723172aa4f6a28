//! `fleet work`: runs the tickets of a fleet on this machine.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::mpsc::sync_channel;
use std::thread;
use std::time::Duration;

use anyhow::anyhow;
use lapidary::engine::process::platform::share_heap;
use lapidary::normalize::NormalizeOptions;
use lapidary_fleet::worker::{
    MetricsError, MetricsServer, Worker, WorkerBounds, WorkerEnd, WorkerError, WorkerMetrics,
    WorkerNote, WorkerOptions, WorkerStop, connect_patiently,
};
use lapidary_fleet::workspace::GcLimits;
use lapidary_fleet::{FleetStore, StoreAddress};
use tokio::runtime::Builder;
use tokio::sync::watch;
use tokio::task::JoinSet;

use super::machine::{fleet_directory, host_name, machine_labels, user_settings};
use super::store_option::{StoreOption, store_failure};
use crate::commands::job::JobRequest;
use crate::commands::mcp::options::ServerOptions;
use crate::commands::narrowed_options::refuse_given;
use crate::exit::CommandExit;
use crate::failure::Failure;
use crate::printer::Printer;

/// The shortest lease: processes must have time to end before another worker may claim their ticket.
const SHORTEST_LEASE: f64 = 3.0;

/// Notes that wait for a slow reader of stderr. Further ones are dropped.
const WAITING_NOTES: usize = 1000;

/// Run tickets of a fleet on this machine
///
/// Claims tickets, runs their agents in workspaces of their own, and stores what they did. Options and `lapidary.toml` bound every ticket: a ticket narrows them, and never widens them. `[fleet]` in your `lapidary.toml` lists the repositories, directories, branches and agents that tickets may name. The first SIGTERM or Ctrl-C drains: no more tickets are claimed, and the worker ends when those it has are done. The second ends the agents.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  lapidary fleet work --slots 4
  lapidary fleet work --store postgres://worker@db.example.org/fleet --label gpu --slots 2
  lapidary fleet work --drain --permission-mode acceptEdits
  lapidary fleet work --once --metrics 127.0.0.1:9464

Exits with 0 when it was drained. docs/fleet.md has the trust model.")]
pub(crate) struct Args {
    #[command(flatten)]
    store: StoreOption,
    /// How many tickets run at a time
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1024))]
    slots: u32,
    /// A label of this worker: it claims tickets that need it. Can be given more than once
    #[arg(long = "label", value_name = "LABEL")]
    labels: Vec<String>,
    /// The name of this worker, for people [default: the machine's name]
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// Run one ticket, then exit
    #[arg(long, conflicts_with = "drain")]
    once: bool,
    /// Exit when no ticket is left that this worker could run
    #[arg(long)]
    drain: bool,
    /// How long a ticket is held without a heartbeat, in seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 90.0)]
    lease: f64,
    /// Claim no ticket while less than this is free on the disk, in bytes
    #[arg(long, value_name = "BYTES", default_value_t = 5 * 1024 * 1024 * 1024)]
    min_free: u64,
    /// Serve metrics for Prometheus on this address of this machine
    #[arg(long, value_name = "ADDRESS")]
    metrics: Option<SocketAddr>,
    #[command(flatten)]
    with: ServerOptions,
}

pub(crate) fn run(args: &Args, out: &mut Printer) -> Result<CommandExit, Failure> {
    args.with.check("`fleet work`")?;
    let common = &args.with.0;
    let given = [
        ("--no-record", common.no_record),
        ("--working-dir", common.working_dir.is_some()),
    ];
    let hint = "each ticket has a workspace; events are read from recordings";
    refuse_given("`fleet work`", &given, hint)?;
    let lease = Duration::try_from_secs_f64(args.lease).ok();
    let Some(lease) = lease.filter(|_| args.lease >= SHORTEST_LEASE) else {
        let error = anyhow!("`--lease` is a number of seconds, {SHORTEST_LEASE} or more");
        return Err(Failure::usage(error));
    };
    let bounds = worker_bounds(args, out)?;
    let options = worker_options(args, lease, &bounds)?;
    share_heap(); // each run has a thread
    let runtime = Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| Failure::internal(anyhow!(error)))?;
    let ended = runtime.block_on(work(args, options, bounds, out));
    runtime.shutdown_background(); // what is left only reads
    ended
}

async fn work(
    args: &Args,
    options: WorkerOptions,
    bounds: WorkerBounds,
    out: &mut Printer,
) -> Result<CommandExit, Failure> {
    let stop = stop_on_signals(out);
    let mut early_stop = stop.clone();
    // Both futures are cancellation-safe.
    let store = tokio::select! {
        biased;
        store = open_store(args, out) => store?,
        Ok(_) = early_stop.wait_for(|stop| *stop != WorkerStop::None) => {
            return Ok(CommandExit::Success);
        }
    };
    let metrics = Arc::new(WorkerMetrics::default());
    let mut helpers = JoinSet::new();
    if let Some(address) = args.metrics {
        let server = MetricsServer::bind(address).await;
        let server = server.map_err(metrics_failure)?;
        let address = server.address();
        out.print_message(&format!("note: metrics are on http://{address}/metrics"));
        helpers.spawn(server.serve(Arc::clone(&metrics), Arc::clone(&store)));
    }
    let shown = format!("{}, slots: {}", options.name, options.slots);
    out.print_message(&format!("note: worker {shown}, store {}", store.address()));
    let worker = Worker::new(store, options, bounds, metrics, stop);
    let worker = worker.map_err(worker_failure)?;
    let ran = print_notes(worker, out).await.map_err(worker_failure)?;
    out.print_message(&format!("note: tickets claimed: {ran}"));
    Ok(CommandExit::Success)
}

/// Runs a worker, and prints its notes on a thread of their own: a reader of stderr that does not read must not hold up a heartbeat.
async fn print_notes(worker: Worker, out: &Printer) -> Result<u64, WorkerError> {
    let (sender, notes) = sync_channel::<WorkerNote>(WAITING_NOTES);
    let invocation = Arc::clone(&out.invocation);
    let printer = thread::spawn(move || {
        for note in notes {
            invocation.print_message(&format!("note: {note}"));
            if let Some(hint) = note.hint() {
                invocation.print_message(&format!("hint: {hint}"));
            }
        }
    });
    let ran = worker.run_with_notes(|note| {
        let _ = sender.try_send(note); // dropped if no one reads
    });
    let ran = ran.await;
    drop(sender);
    let _ = printer.join(); // it does not panic
    ran
}

/// Opens the store. A worker that starts while the database restarts waits for it, as one does that runs already.
async fn open_store(args: &Args, out: &mut Printer) -> Result<Arc<dyn FleetStore>, Failure> {
    let address = args.store.address(&out.invocation)?;
    let opened = match address.open().await {
        Err(error) if error.is_passing() && matches!(address, StoreAddress::Postgres(_)) => {
            out.print_message(&format!("note: {error}; the worker tries again"));
            connect_patiently(&address).await
        }
        opened => opened,
    };
    opened.map_err(store_failure)
}

fn metrics_failure(error: MetricsError) -> Failure {
    let is_remote = matches!(error, MetricsError::NotLoopback { .. });
    let failure = Failure::bad_input(anyhow!(error));
    if is_remote {
        return failure.with_hint("use an address such as `127.0.0.1:9464`");
    }
    failure
}

fn worker_failure(error: WorkerError) -> Failure {
    match error {
        WorkerError::Store(error) => store_failure(error),
        error => Failure::internal(anyhow!(error)),
    }
}

/// The first signal drains, the second ends the agents.
fn stop_on_signals(out: &Printer) -> watch::Receiver<WorkerStop> {
    let (sender, stop) = watch::channel(WorkerStop::None);
    // Without it signals have their default effect, and the supervisors end the agents.
    let _ = out
        .invocation
        .on_interruptions(async move |mut interruptions| {
            for urgency in [WorkerStop::Drain, WorkerStop::Now] {
                interruptions.next().await;
                sender.send_replace(urgency);
            }
            std::future::pending::<()>().await; // the sender stays: a worker without one could not wait for it
        });
    stop
}

fn worker_bounds(args: &Args, out: &Printer) -> Result<WorkerBounds, Failure> {
    let request = JobRequest::new(&args.with.0, NormalizeOptions::new(""), &out.invocation);
    let (options, surroundings) = request.into_parts()?;
    let settings = user_settings(&surroundings.environment)?;
    Ok(WorkerBounds {
        options,
        surroundings,
        settings,
    })
}

fn worker_options(
    args: &Args,
    lease: Duration,
    bounds: &WorkerBounds,
) -> Result<WorkerOptions, Failure> {
    let environment = &bounds.surroundings.environment;
    let host = host_name();
    let mut labels = machine_labels(bounds);
    labels.extend(args.labels.iter().cloned());
    Ok(WorkerOptions {
        name: args.name.clone().unwrap_or_else(|| host.clone()),
        host,
        labels,
        slots: args.slots,
        lease,
        until: match (args.once, args.drain) {
            (true, _) => WorkerEnd::Once,
            (_, true) => WorkerEnd::Drained,
            (false, false) => WorkerEnd::Never,
        },
        directory: fleet_directory(environment)?,
        min_free: args.min_free,
        gc: GcLimits::default(),
    })
}
