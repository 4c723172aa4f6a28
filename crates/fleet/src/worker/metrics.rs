//! Numbers of a worker for Prometheus, on loopback, if they are asked for.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::{sleep, timeout};

use crate::{FleetStore, TicketState};

/// The bounds of the claim latency's buckets, in seconds.
const BUCKETS: [f64; 9] = [0.01, 0.05, 0.1, 0.25, 0.5, 1.0, 5.0, 30.0, 300.0];

/// The most bytes of a request that are read.
const LONGEST_REQUEST: usize = 8 * 1024;

/// How long a client may take.
const CLIENT_TIME: Duration = Duration::from_secs(5);

/// The store's overview is read at most this often.
const OVERVIEW_TIME: Duration = Duration::from_secs(5);

/// Numbers of a worker.
#[derive(Debug, Default)]
pub struct WorkerMetrics {
    numbers: Mutex<MetricValues>,
}

#[derive(Debug, Default, Clone)]
struct MetricValues {
    claimed: u64,
    claim_seconds: f64,
    claim_buckets: [u64; BUCKETS.len()],
    ended: BTreeMap<String, u64>,
    tokens: u64,
    reclaimed: u64,
    heartbeats: u64,
}

impl WorkerMetrics {
    /// A ticket was claimed that had waited so long.
    pub(crate) fn note_claimed(&self, waited: Duration) {
        let mut numbers = self.lock();
        let seconds = waited.as_secs_f64();
        numbers.claimed += 1;
        numbers.claim_seconds += seconds;
        for (bucket, bound) in numbers.claim_buckets.iter_mut().zip(BUCKETS) {
            *bucket += u64::from(seconds <= bound);
        }
    }

    /// A run ended.
    pub(crate) fn note_ended(&self, outcome: &str, tokens: u64) {
        let mut numbers = self.lock();
        *numbers.ended.entry(outcome.to_owned()).or_default() += 1;
        numbers.tokens = numbers.tokens.saturating_add(tokens);
    }

    /// Attempts of other workers were ended.
    pub(crate) fn note_reclaimed(&self, count: usize) {
        self.lock().reclaimed += u64::try_from(count).unwrap_or(u64::MAX);
    }

    /// A heartbeat was answered.
    pub(crate) fn note_heartbeat(&self) {
        self.lock().heartbeats += 1;
    }

    /// All numbers in the text format of Prometheus.
    fn to_text(&self, queue: &[(TicketState, u64)]) -> String {
        let numbers = self.lock().clone();
        let mut text = String::new();
        let mut line = |text_line: String| {
            let _ = writeln!(text, "{text_line}"); // writing to a string does not fail
        };
        line("# TYPE lapidary_fleet_tickets gauge".to_owned());
        for (state, count) in queue {
            line(format!(
                "lapidary_fleet_tickets{{state=\"{}\"}} {count}",
                state.as_str()
            ));
        }
        line("# TYPE lapidary_fleet_claim_wait_seconds histogram".to_owned());
        let name = "lapidary_fleet_claim_wait_seconds";
        for (bound, count) in BUCKETS.iter().zip(numbers.claim_buckets) {
            line(format!("{name}_bucket{{le=\"{bound}\"}} {count}"));
        }
        line(format!("{name}_bucket{{le=\"+Inf\"}} {}", numbers.claimed));
        line(format!("{name}_sum {}", numbers.claim_seconds));
        line(format!("{name}_count {}", numbers.claimed));
        line("# TYPE lapidary_fleet_runs_total counter".to_owned());
        for (outcome, count) in &numbers.ended {
            line(format!(
                "lapidary_fleet_runs_total{{outcome=\"{outcome}\"}} {count}"
            ));
        }
        for (name, count) in [
            ("tokens", numbers.tokens),
            ("reclaimed", numbers.reclaimed),
            ("heartbeats", numbers.heartbeats),
        ] {
            line(format!("# TYPE lapidary_fleet_{name}_total counter"));
            line(format!("lapidary_fleet_{name}_total {count}"));
        }
        text
    }

    fn lock(&self) -> MutexGuard<'_, MetricValues> {
        self.numbers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Why there are no metrics.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MetricsError {
    /// The address can be reached from other machines.
    #[error("`{address}` can be reached from other machines, and metrics need no password")]
    NotLoopback {
        /// The address.
        address: SocketAddr,
    },
    /// The address is in use, or does not belong to this machine.
    #[error("cannot listen on `{address}`")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// The error of the system.
        source: io::Error,
    },
}

/// Answers requests for metrics.
#[derive(Debug)]
pub struct MetricsServer {
    listener: TcpListener,
    address: SocketAddr,
}

impl MetricsServer {
    /// Listens on a loopback address.
    pub async fn bind(address: SocketAddr) -> Result<Self, MetricsError> {
        if !address.ip().is_loopback() {
            return Err(MetricsError::NotLoopback { address });
        }
        let bound = TcpListener::bind(address).await;
        let listener = bound.map_err(|source| MetricsError::Listen { address, source })?;
        let address = listener.local_addr().unwrap_or(address);
        Ok(Self { listener, address })
    }

    /// The address, with the real port.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Serves without end. One request at a time: a scraper is enough.
    pub async fn serve(self, metrics: Arc<WorkerMetrics>, store: Arc<dyn FleetStore>) {
        loop {
            let Ok((client, _)) = self.listener.accept().await else {
                sleep(Duration::from_millis(100)).await;
                continue;
            };
            let overview = timeout(OVERVIEW_TIME, store.overview()).await;
            let queue = overview.ok().and_then(Result::ok);
            let text = metrics.to_text(&queue.map(|it| it.counts).unwrap_or_default());
            let _ = timeout(CLIENT_TIME, respond(client, &text)).await; // a client that is slow gets nothing
        }
    }
}

async fn respond(mut client: TcpStream, text: &str) -> io::Result<()> {
    let mut request = Vec::new();
    let mut piece = [0; 1024];
    while !request.windows(4).any(|it| it == b"\r\n\r\n") && request.len() < LONGEST_REQUEST {
        match client.read(&mut piece).await? {
            0 => break,
            count => request.extend_from_slice(&piece[..count]),
        }
    }
    let is_known = request.starts_with(b"GET /metrics");
    let (status, body) = if is_known {
        ("200 OK", text)
    } else {
        ("404 Not Found", "")
    };
    let head = format!(
        "HTTP/1.1 {status}\r\ncontent-type: text/plain; version=0.0.4\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
        body.len()
    );
    client.write_all(head.as_bytes()).await?;
    client.write_all(body.as_bytes()).await?;
    client.shutdown().await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_in_the_text_format() {
        let metrics = WorkerMetrics::default();
        metrics.note_claimed(Duration::from_millis(60));
        metrics.note_ended("completed", 12);
        metrics.note_ended("completed", 3);
        let text = metrics.to_text(&[(TicketState::Waiting, 7)]);
        for line in [
            "lapidary_fleet_tickets{state=\"waiting\"} 7",
            "lapidary_fleet_claim_wait_seconds_bucket{le=\"0.05\"} 0",
            "lapidary_fleet_claim_wait_seconds_bucket{le=\"0.1\"} 1",
            "lapidary_fleet_claim_wait_seconds_bucket{le=\"+Inf\"} 1",
            "lapidary_fleet_runs_total{outcome=\"completed\"} 2",
            "lapidary_fleet_tokens_total 15",
        ] {
            assert!(text.lines().any(|it| it == line), "{line}\n{text}");
        }
    }

    #[tokio::test]
    async fn metrics_are_for_this_machine_only() {
        let refused = MetricsServer::bind("0.0.0.0:0".parse().unwrap()).await;
        assert!(matches!(refused, Err(MetricsError::NotLoopback { .. })));
    }
}
