//! The rates of a fleet's store, compared with a maintained queue and the limits of the database, and the latency of workers.
//!
//! All of it is measured on one `PostgreSQL` that writes to the disk before it answers (`fsync=on`), and again on `SQLite`.

mod claims;
mod idle;
mod machine;
mod queue;
mod rates;
mod stage;
mod worker;

use std::fs;
use std::path::Path;

use anyhow::Result;
use lapidary_testkit::postgres::PostgresServer;

use super::verdict::BenchVerdict;
use crate::peers;
use crate::workspace::Workspace;
use stage::FleetStage;

/// Settings of the server. Idle workers each have a connection that listens.
const SETTINGS: [&str; 3] = ["fsync=on", "max_connections=1400", "max_wal_size=4GB"];

/// Measures and prints.
pub(super) fn report_fleet(
    workspace: &Workspace,
    folder: &Path,
    lapidary: &Path,
) -> Result<BenchVerdict> {
    let folder = folder.join("fleet");
    let _ = fs::remove_dir_all(&folder); // of an earlier bench
    fs::create_dir_all(&folder)?;
    peers::install_postgres(workspace)?;
    let server = PostgresServer::start(&SETTINGS);
    let on_postgres = FleetStage {
        rates: workspace.target.join("release/examples/rates"),
        lapidary: lapidary.to_owned(),
        folder: folder.join("postgres"),
        store: server.url().to_owned(),
    };
    let on_sqlite = FleetStage {
        folder: folder.join("sqlite"),
        store: format!("sqlite:{}", folder.join("sqlite/fleet.db").display()),
        ..on_postgres.clone()
    };
    println!("## Fleets\n");
    let mut verdict = BenchVerdict::default();
    let limits = [&rates::ON_POSTGRES, &rates::ON_SQLITE];
    let stages = [&on_postgres, &on_sqlite];
    for stage in stages {
        stage.set_up()?;
    }
    rates::print_head();
    for (stage, limits) in stages.into_iter().zip(limits) {
        verdict.add_verdict(rates::report_rates(stage, limits)?);
    }
    machine::report_limits(&server, &folder)?;
    machine::report_disk(&folder)?;
    let queue = queue::measure(workspace, server.url())?;
    queue::report_rate(&queue);
    worker::print_head();
    for (stage, name) in stages.into_iter().zip(["PostgreSQL", "SQLite"]) {
        verdict.add_verdict(worker::report_worker(stage, name)?);
    }
    queue::report_start(&queue);
    claims::print_head();
    for (stage, name) in stages.into_iter().zip(["PostgreSQL", "SQLite"]) {
        verdict.add_verdict(claims::report_claims(stage, name)?);
    }
    verdict.add_verdict(idle::report_idle(&on_postgres)?);
    Ok(verdict)
}
