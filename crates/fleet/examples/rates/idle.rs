//! Workers that have nothing to do, and the transactions that they cost the database.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use lapidary::directories::surroundings;
use lapidary::prepare::{RunOptions, RunSurroundings};
use lapidary_fleet::worker::{
    FleetSettings, Worker, WorkerBounds, WorkerEnd, WorkerMetrics, WorkerOptions, WorkerStop,
};
use lapidary_fleet::workspace::GcLimits;
use lapidary_fleet::{FleetStore, StoreAddress};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::sleep;
use tokio_postgres::{Client, NoTls};

use crate::Failed;

/// The pause between two starts: workers of a fleet do not start in one moment.
const START_PAUSE: Duration = Duration::from_millis(15);

/// Workers that share the connections of one store, as behind a pooler. Each has a connection of its own that listens.
const WORKERS_OF_A_STORE: usize = 100;

/// Transactions of so many idle workers within this time, once all have started. The measuring connection's own are deducted.
pub(crate) async fn transactions(
    store: &str,
    workers: usize,
    time: Duration,
) -> Result<i64, Failed> {
    let address = StoreAddress::parse(store, Path::new("."))?;
    let directory = tempfile::tempdir()?;
    let (stopper, stop) = watch::channel(WorkerStop::None);
    let mut running = JoinSet::new();
    let mut shared: Option<Arc<dyn FleetStore>> = None;
    for number in 0..workers {
        if number % WORKERS_OF_A_STORE == 0 {
            shared = Some(address.open().await?);
        }
        let store = Arc::clone(shared.as_ref().expect("the first worker opens a store"));
        let worker = Worker::new(
            store,
            options(number, directory.path()),
            bounds(directory.path()),
            Arc::new(WorkerMetrics::default()),
            stop.clone(),
        )?;
        running.spawn(worker.run());
        sleep(START_PAUSE).await;
    }
    let (client, connection) = tokio_postgres::connect(store, NoTls).await?;
    let connection = tokio::spawn(connection);
    // The database counts the transactions of a connection about once a second.
    sleep(Duration::from_secs(20)).await;
    let before = committed(&client).await?;
    sleep(time).await;
    let after = committed(&client).await?;
    stopper.send_replace(WorkerStop::Drain);
    drop(client);
    connection.await??;
    for ended in running.join_all().await {
        ended?;
    }
    Ok(after - before - 1)
}

async fn committed(client: &Client) -> Result<i64, tokio_postgres::Error> {
    let query = "select xact_commit from pg_stat_database where datname = current_database()";
    Ok(client.query_one(query, &[]).await?.get(0))
}

fn options(number: usize, directory: &Path) -> WorkerOptions {
    WorkerOptions {
        name: format!("idle-{number}"),
        host: "here".to_owned(),
        labels: Vec::new(),
        slots: 1,
        lease: Duration::from_secs(90),
        until: WorkerEnd::Never,
        directory: directory.join("fleet"),
        min_free: 0,
        gc: GcLimits::default(),
    }
}

fn bounds(directory: &Path) -> WorkerBounds {
    WorkerBounds {
        options: RunOptions::new("idle"),
        surroundings: RunSurroundings {
            environment: surroundings([], directory),
            program: "/nowhere/lapidary".into(),
        },
        settings: FleetSettings::default(),
    }
}
