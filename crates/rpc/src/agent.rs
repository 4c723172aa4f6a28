//! An agent as a process of ours: started under supervision, spoken to through its stdin and stdout, recorded.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::{MissedTickBehavior, interval, timeout};

use super::agent_orders::{AgentOrder, next_order};
use super::connection::{Connection, connect_noting};
use super::connection_tape::ConnectionTape;
use super::error::ConnectionError;
use super::limits::{ConnectionLimits, HandledMethods};
use super::local_agent::LocalAgent;
use super::log::{LineTap, TrafficLog, TrafficObserver};
use super::pipes::{PipeReader, PipeWriter, PreparedPipes};
use super::shared_connection::IncomingRequests;
use super::transport::{GoneFuture, PeerDeparture, Transport};
use lapidary_process::KillTimeout;
use lapidary_process::{Command, Running, StartError, Supervisor, TreeExit};
use lapidary_recording::follow::FollowedFile;
use lapidary_recording::{Manifest, Recorder, STDERR};

/// How many bytes of the end of stderr are reported with the agent's end.
const TAIL: u64 = 16 * 1024;

/// How often it is looked whether the agent has written too much.
const HEARTBEAT: Duration = Duration::from_millis(500);

/// The agent to start, and the limits of its connection.
#[derive(Debug)]
pub struct AgentLaunch {
    /// The agent.
    pub source: AgentSource,
    /// The recording of both directions.
    pub recorder: Recorder,
    /// How many bytes the agent may write. More end it.
    pub max_output: u64,
    /// The methods that the agent may call.
    pub methods: HandledMethods,
    /// The limits of queues and waits.
    pub limits: ConnectionLimits,
    /// Sees each line at once.
    pub tap: Option<LineTap>,
}

/// Where an agent runs.
#[derive(Debug)]
pub enum AgentSource {
    /// In a process of its own, spoken to through its stdin and stdout.
    Process {
        /// How it is started.
        command: Box<Command>,
        /// The supervisor, which ends it with everything that it starts.
        supervisor: Supervisor,
    },
    /// As a task of this process.
    Local(LocalAgent),
}

/// Why there is no agent.
#[derive(Debug, thiserror::Error)]
pub enum AgentError {
    /// It cannot be started.
    #[error(transparent)]
    Start(#[from] StartError),
    /// There is nothing to speak to it through, or nowhere to record it.
    #[error("cannot prepare the connection to the agent")]
    Prepare(#[source] io::Error),
}

/// A running agent. When it and all clones of its connection are dropped, the agent is ended with everything that it started.
#[derive(Debug)]
pub struct RunningAgent {
    /// To speak to it.
    pub connection: Connection,
    /// The agent's requests.
    pub requests: IncomingRequests,
    /// Sees the lines of both directions.
    pub observer: TrafficObserver,
    /// The handle that ends it.
    pub process: AgentProcess,
}

/// The process of an agent. Clones are the same one.
#[derive(Debug, Clone)]
pub struct AgentProcess {
    pid: i32,
    has_exit_status: bool,
    log: Arc<TrafficLog>,
    orders: Arc<watch::Sender<AgentOrder>>,
    ended: watch::Receiver<Option<TreeExit>>,
}

impl RunningAgent {
    /// Starts an agent and connects to it. Nothing is said yet.
    pub async fn start(launch: AgentLaunch) -> Result<Self, AgentError> {
        let (orders, ordered) = watch::channel(AgentOrder::Live);
        let (departed, ended) = watch::channel(None);
        let (methods, limits) = (launch.methods, launch.limits);
        let taped = |recorder| {
            let tape =
                ConnectionTape::new(recorder, launch.max_output).map_err(AgentError::Prepare)?;
            Ok::<_, AgentError>(Arc::new(
                TrafficLog::new(limits, Some(tape)).with_tap(launch.tap),
            ))
        };
        let (pid, has_exit_status, log, connected) = match launch.source {
            AgentSource::Process {
                command,
                supervisor,
            } => {
                let stderr = launch.recorder.directory().join(STDERR);
                let pipes = PreparedPipes::new(&launch.recorder).map_err(AgentError::Prepare)?;
                let log = taped(launch.recorder)?;
                let keeper = ProcessTask {
                    running: supervisor.start(*command, pipes.stdio).await?,
                    ordered,
                    departed,
                    log: Arc::clone(&log),
                    stderr,
                    sent_away: None,
                };
                let pid = keeper.running.pid();
                let pipes = ProcessPipes {
                    stdin: pipes.stdin,
                    stdout: pipes.stdout,
                    keeper,
                };
                let connected = connect_noting(pipes, methods, limits, Arc::clone(&log));
                (pid, true, log, connected)
            }
            AgentSource::Local(agent) => {
                let log = taped(launch.recorder)?;
                let has_exit_status = agent.is_in_process();
                let pipe = agent.start_task(ordered, departed);
                let connected = connect_noting(pipe, methods, limits, Arc::clone(&log));
                (0, has_exit_status, log, connected)
            }
        };
        Ok(Self {
            connection: connected.connection,
            requests: connected.requests,
            observer: connected.observer,
            process: AgentProcess {
                pid,
                has_exit_status,
                log,
                orders: Arc::new(orders),
                ended,
            },
        })
    }

    /// The agent's process id.
    pub fn pid(&self) -> i32 {
        self.process.pid
    }

    /// Writes the manifest of the recording.
    pub fn describe(&self, manifest: &Manifest) -> io::Result<()> {
        self.process.describe(manifest)
    }

    /// Ends the agent in steps: see [`AgentProcess::end`].
    pub async fn end(&self, grace: Duration) -> Option<TreeExit> {
        self.connection.hang_up();
        self.process.end(grace, grace).await
    }

    /// Ends the agent and everything that it started, now.
    pub async fn kill(&self) -> Option<TreeExit> {
        self.process.kill().await
    }

    /// Waits until the agent has ended and nothing that it started is left. Can be cancelled.
    pub async fn gone(&self) -> Option<TreeExit> {
        self.process.gone().await
    }
}

impl AgentProcess {
    /// The agent's process id.
    pub fn pid(&self) -> i32 {
        self.pid
    }

    /// Writes the manifest of the recording.
    pub fn describe(&self, manifest: &Manifest) -> io::Result<()> {
        self.log.write_manifest(manifest)
    }

    /// The length of stderr at the time of the agent's last line.
    pub fn complained_before(&self) -> u64 {
        self.log.complained_before()
    }

    /// Whether its end has an exit status: a remote agent has none.
    pub fn has_exit_status(&self) -> bool {
        self.has_exit_status
    }

    /// How it ended, if it has.
    pub fn exit(&self) -> Option<TreeExit> {
        *self.ended.borrow()
    }

    /// Ends the agent, in steps: once its stdin is closed it has so long to end by itself; then it is asked to end, and after
    /// the grace it is ended with everything that it started. Returns when no process is left; none only if the runtime is
    /// going down. The lines until then can still be observed.
    pub async fn end(&self, by_itself: Duration, grace: Duration) -> Option<TreeExit> {
        if let Ok(ended) = timeout(by_itself, self.gone()).await {
            return ended;
        }
        self.orders.send_replace(AgentOrder::Stop(grace));
        self.gone().await
    }

    /// Ends the agent and everything that it started, now.
    pub async fn kill(&self) -> Option<TreeExit> {
        self.orders.send_replace(AgentOrder::Kill);
        self.gone().await
    }

    /// Waits until the agent has ended and nothing that it started is left. Can be cancelled.
    pub async fn gone(&self) -> Option<TreeExit> {
        let mut ended = self.ended.clone();
        ended
            .wait_for(Option::is_some)
            .await
            .ok()
            .and_then(|ended| *ended)
    }
}

/// The stdin and stdout of a process under supervision.
struct ProcessPipes {
    stdin: PipeWriter,
    stdout: PipeReader,
    keeper: ProcessTask,
}

impl Transport for ProcessPipes {
    type Reads = PipeReader;
    type Writes = PipeWriter;

    fn open(self) -> (PipeReader, PipeWriter, Option<GoneFuture>) {
        let gone = Box::pin(self.keeper.wait_for_departure());
        (self.stdout, self.stdin, Some(gone))
    }
}

/// Keeps an agent until it ends or has to.
struct ProcessTask {
    running: Running,
    ordered: watch::Receiver<AgentOrder>,
    departed: watch::Sender<Option<TreeExit>>,
    log: Arc<TrafficLog>,
    stderr: PathBuf,
    /// Why it has to go.
    sent_away: Option<ConnectionError>,
}

impl ProcessTask {
    async fn wait_for_departure(mut self) -> PeerDeparture {
        let ended = self.until_it_ends().await;
        let _ = self.log.look_at_stderr(); // more than may be does not matter any more
        let tail = FollowedFile::open(&self.stderr).map(|stderr| stderr.tail(TAIL));
        self.departed.send_replace(Some(ended));
        PeerDeparture {
            exit: ended.exit,
            stderr_tail: String::from_utf8_lossy(&tail.unwrap_or_default()).into_owned(),
            sent_away: self.sent_away,
        }
    }

    async fn until_it_ends(&mut self) -> TreeExit {
        let mut heartbeat = interval(HEARTBEAT);
        heartbeat.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut patience = KillTimeout::default();
        let mut order = AgentOrder::Live;
        loop {
            // All of these futures are cancel-safe.
            let wanted = tokio::select! {
                biased;
                ended = self.running.wait() => return ended,
                () = patience.ends() => return self.running.abandon().await,
                wanted = next_order(&mut self.ordered) => wanted,
                _ = heartbeat.tick() => self.order_by_stderr(),
            };
            if wanted == AgentOrder::Live || wanted == order {
                continue;
            }
            order = wanted;
            patience.ordered(self.give_order(order).await);
        }
    }

    /// Has it written more than it may?
    fn order_by_stderr(&mut self) -> AgentOrder {
        match self.log.look_at_stderr() {
            Ok(()) => AgentOrder::Live,
            Err(error) => {
                self.sent_away.get_or_insert(error);
                AgentOrder::Kill
            }
        }
    }

    /// Returns how long it may take.
    async fn give_order(&mut self, order: AgentOrder) -> Duration {
        match order {
            AgentOrder::Live => Duration::MAX,
            AgentOrder::Stop(grace) => {
                self.running.stop(grace).await;
                grace
            }
            AgentOrder::Kill => {
                self.running.kill().await;
                Duration::ZERO
            }
        }
    }
}
