//! The store of the chaos, and the faults of a database and of the network in front of it.

use std::net::{Ipv4Addr, SocketAddr};
use std::ops::Range;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use lapidary_fleet::StoreAddress;
use lapidary_testkit::postgres::{PostgresServer, PostgresStop};
use lapidary_testkit::tcp_proxy::ProxyMode;
use tokio_postgres::NoTls;

use super::network::WorkerNetwork;
use super::{ChaosDice, LEASE, WORKERS};

/// The store of the chaos.
pub(super) enum ChaosDatabase {
    Sqlite(StoreAddress),
    Postgres(PostgresChaos),
}

/// A `PostgreSQL` of its own, and a network in front of it for each worker.
pub(super) struct PostgresChaos {
    server: PostgresServer,
    networks: Vec<WorkerNetwork>,
    /// The fault that is going on, and when it is over.
    fault: Option<(DatabaseFault, Instant)>,
    /// No fault before this moment: tickets need some time to get on.
    rest_until: Instant,
}

/// A fault of the database, or of the network in front of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum DatabaseFault {
    Stopped(PostgresStop),
    /// The backends of some connections are killed.
    Backends,
    /// The database takes no changes, as a standby does.
    ReadOnly,
    Network(ProxyMode),
    /// The network namespace has no link.
    Link,
}

impl DatabaseFault {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Stopped(PostgresStop::Fast) => "database restarted (fast)",
            Self::Stopped(PostgresStop::Immediate) => "database restarted (immediate)",
            Self::Backends => "backends killed",
            Self::ReadOnly => "database read-only",
            Self::Network(ProxyMode::Cut) => "network cut",
            Self::Network(ProxyMode::Stall) => "network stalled",
            Self::Network(ProxyMode::HalfOpen) => "network half open",
            Self::Network(ProxyMode::Delay(_)) => "network slow",
            Self::Network(ProxyMode::Pass) => "network mended",
            Self::Link => "network without a link",
        }
    }
}

impl ChaosDatabase {
    pub(super) fn sqlite(path: &Path) -> Self {
        Self::Sqlite(StoreAddress::Sqlite(path.to_owned()))
    }

    pub(super) fn postgres(_path: &Path) -> Self {
        let server = PostgresServer::start(&[]);
        let port = port_of(server.url());
        let networks = (0..WORKERS).map(|_| WorkerNetwork::start(port));
        Self::Postgres(PostgresChaos {
            networks: networks.collect(),
            server,
            fault: None,
            rest_until: Instant::now() + Duration::from_secs(3),
        })
    }

    /// The address for this test, which no network fault meets.
    pub(super) fn address(&self) -> StoreAddress {
        match self {
            Self::Sqlite(address) => address.clone(),
            Self::Postgres(it) => StoreAddress::parse(it.server.url(), Path::new("/")).unwrap(),
        }
    }

    /// The address for a worker.
    pub(super) fn worker_address(&self, worker: usize) -> String {
        match self {
            Self::Sqlite(address) => address.to_string(),
            Self::Postgres(it) => {
                let server = it.networks[worker].address();
                format!("postgres://lapidary@{server}/postgres")
            }
        }
    }

    /// The command of a worker on its network.
    pub(super) fn enter(&self, worker: usize, usual: Command) -> Command {
        match self {
            Self::Sqlite(_) => usual,
            Self::Postgres(it) => it.networks[worker].enter(usual),
        }
    }

    pub(super) fn is_up(&self) -> bool {
        match self {
            Self::Sqlite(_) => true,
            Self::Postgres(it) => !matches!(
                it.fault,
                Some((DatabaseFault::Stopped(_) | DatabaseFault::ReadOnly, _))
            ),
        }
    }

    /// Ends a fault whose time is over.
    pub(super) async fn mend(&mut self, now: Instant) {
        if let Self::Postgres(it) = self
            && it.fault.is_some_and(|(_, until)| until <= now)
        {
            it.end_fault().await;
        }
    }

    pub(super) async fn end_fault(&mut self) {
        if let Self::Postgres(it) = self {
            it.end_fault().await;
        }
    }

    /// A random fault. None for `SQLite`, or if the last one is too near.
    pub(super) async fn strike(&mut self, dice: &mut ChaosDice) -> Option<DatabaseFault> {
        match self {
            Self::Sqlite(_) => None,
            Self::Postgres(it) => it.strike(dice).await,
        }
    }
}

impl PostgresChaos {
    async fn strike(&mut self, dice: &mut ChaosDice) -> Option<DatabaseFault> {
        if self.fault.is_some() || Instant::now() < self.rest_until {
            return None;
        }
        let fault = match dice.roll(9) {
            0 => DatabaseFault::Stopped(PostgresStop::Fast),
            1 => DatabaseFault::Stopped(PostgresStop::Immediate),
            2 => DatabaseFault::Backends,
            3 => DatabaseFault::Network(ProxyMode::Cut),
            4 => DatabaseFault::Network(ProxyMode::Stall),
            5 => DatabaseFault::Network(ProxyMode::HalfOpen),
            6 => DatabaseFault::ReadOnly,
            7 => DatabaseFault::Link,
            _ => DatabaseFault::Network(ProxyMode::Delay(dice.millis(50, 500))),
        };
        match fault {
            DatabaseFault::Stopped(how) => self.server.stop(how),
            DatabaseFault::Backends => self.kill_backends(dice.roll(4)).await,
            DatabaseFault::ReadOnly => self.set_read_only("on").await,
            DatabaseFault::Network(mode) => {
                for network in &self.networks[some_workers(dice)] {
                    network.set_mode(mode);
                }
            }
            DatabaseFault::Link => {
                let networks = &self.networks[some_workers(dice)];
                networks.iter().for_each(WorkerNetwork::take_link);
            }
        }
        // One in four is longer than a lease.
        let lease = usize::try_from(LEASE.as_millis()).unwrap();
        let time = match dice.roll(4) {
            0 => dice.millis(lease, 2 * lease),
            _ => dice.millis(200, lease / 2),
        };
        self.fault = Some((fault, Instant::now() + time));
        Some(fault)
    }

    async fn end_fault(&mut self) {
        match self.fault.take() {
            Some((DatabaseFault::Stopped(_), _)) => self.server.resume(),
            Some((DatabaseFault::Network(_) | DatabaseFault::Link, _)) => {
                self.networks.iter().for_each(WorkerNetwork::mend);
            }
            Some((DatabaseFault::ReadOnly, _)) => self.set_read_only("off").await,
            Some((DatabaseFault::Backends, _)) | None => {}
        }
        self.rest_until = Instant::now() + LEASE / 2;
    }

    /// Kills so many backends in four, those of this test among them.
    async fn kill_backends(&self, quarters: usize) {
        let kill = format!(
            "select pg_terminate_backend(pid) from pg_stat_activity
             where backend_type = 'client backend' and pid <> pg_backend_pid() and pid % 4 <= {quarters}"
        );
        self.execute(&[&kill]).await;
    }

    async fn set_read_only(&self, word: &str) {
        let alter = format!("alter system set default_transaction_read_only = {word}");
        let own = "set default_transaction_read_only = off";
        self.execute(&[own, &alter, "select pg_reload_conf()"])
            .await;
    }

    /// Runs statements as an administrator.
    async fn execute(&self, statements: &[&str]) {
        let connected = tokio_postgres::connect(self.server.url(), NoTls).await;
        let (client, connection) = connected.unwrap();
        let connection = tokio::spawn(connection);
        for sql in statements {
            client.batch_execute(sql).await.unwrap();
        }
        drop(client);
        let _ = connection.await; // its end says nothing more
    }
}

/// One worker, or all.
fn some_workers(dice: &mut ChaosDice) -> Range<usize> {
    match dice.roll(2 * WORKERS) {
        one @ 0..WORKERS => one..one + 1,
        _ => 0..WORKERS,
    }
}

fn port_of(url: &str) -> SocketAddr {
    let port = url.rsplit_once(':').unwrap().1.split('/').next().unwrap();
    SocketAddr::from((Ipv4Addr::LOCALHOST, port.parse().unwrap()))
}
