//! An agent that runs as a task of this process, at the other end of a pipe in memory.
//!
//! It is prompted, recorded, limited and ended like an agent in a process of its own; only no process has to be started, and
//! time can be a test's. Processes that it starts are its own to end: a task has no process tree.
//!
//! A task can also pass the lines on to an agent on another machine. Such an agent has no exit status, and its connection can
//! be lost.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;

use lapidary_process::{Exit, TreeExit};
use tokio::io::{DuplexStream, ReadHalf, WriteHalf, duplex, split};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until};

use super::agent_loss::AgentLoss;
use super::agent_orders::{AgentOrder, next_order};
use super::error::ConnectionError;
use super::transport::{GoneFuture, PeerDeparture, Transport};

/// How many bytes wait in the pipe, in each direction, before its writer waits.
const PIPE_BYTES: usize = 64 * 1024;

/// The exit code of a task that panicked: as that of a Rust program.
const PANICKED: i32 = 101;

/// The agent's side of a conversation. The agent has ended when it is done.
pub type LocalTask = Pin<Box<dyn Future<Output = LocalEnd> + Send>>;

/// How the agent of a task ended.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LocalEnd {
    /// Its exit status, if it has one.
    pub exit: Option<Exit>,
    /// Why the connection to a remote agent is lost, if it is.
    pub loss: Option<AgentLoss>,
}

/// Where the agent of a task runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum AgentPlace {
    Here,
    Elsewhere,
}

/// How the agent of a task hands over data that fits an output schema.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum DataForm {
    /// With its answer to the prompt: it gets the schema when the session is opened.
    Result,
    /// In its messages, as any other agent: the prompt has to state the schema.
    Messages,
}

/// An agent that runs in this process. It can be started any number of times.
#[derive(Clone)]
pub struct LocalAgent {
    serve: Arc<dyn Fn(DuplexStream) -> LocalTask + Send + Sync>,
    place: AgentPlace,
    data: DataForm,
}

impl LocalAgent {
    /// An agent that serves a client at the other end of a stream: it reads requests from it, and writes answers to it.
    pub fn new<F>(serve: impl Fn(DuplexStream) -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = ()> + Send + 'static,
    {
        Self::with_exit(move |stream| {
            let served = serve(stream);
            async {
                served.await;
                Some(Exit::Code(0))
            }
        })
    }

    /// The same, of an agent that says how it exits: a recorded one exits as it did then.
    pub fn with_exit<F>(serve: impl Fn(DuplexStream) -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = Option<Exit>> + Send + 'static,
    {
        let serve = Arc::new(serve);
        Self {
            serve: Arc::new(move |stream| {
                let served = serve(stream);
                Box::pin(async {
                    let exit = served.await;
                    LocalEnd { exit, loss: None }
                })
            }),
            place: AgentPlace::Here,
            data: DataForm::Result,
        }
    }

    /// A remote agent: the task passes lines on to it. An error is the reason why that is over before the client hung up.
    pub fn elsewhere<F>(serve: impl Fn(DuplexStream) -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = Result<(), AgentLoss>> + Send + 'static,
    {
        let serve = Arc::new(serve);
        Self {
            serve: Arc::new(move |stream| {
                let served = serve(stream);
                Box::pin(async {
                    let loss = served.await.err();
                    LocalEnd { exit: None, loss }
                })
            }),
            place: AgentPlace::Elsewhere,
            data: DataForm::Messages,
        }
    }

    /// The same agent, which knows nothing of output schemas: its messages are searched for data.
    #[must_use]
    pub fn with_data_in_messages(mut self) -> Self {
        self.data = DataForm::Messages;
        self
    }

    /// Whether it takes the schema of its result from the session, and hands data over with its answer.
    pub fn takes_output_schema(&self) -> bool {
        self.data == DataForm::Result
    }

    /// Whether a task of this process does its work, and not a remote agent. Its end then has an exit status.
    pub fn is_in_process(&self) -> bool {
        self.place == AgentPlace::Here
    }

    /// Starts it.
    pub(super) fn start_task(
        &self,
        orders: watch::Receiver<AgentOrder>,
        departed: watch::Sender<Option<TreeExit>>,
    ) -> LocalPipe {
        let (ours, theirs) = duplex(PIPE_BYTES);
        let mut task = JoinSet::new();
        task.spawn((self.serve)(theirs));
        LocalPipe {
            stream: ours,
            keeper: LocalKeeper {
                task,
                orders,
                departed,
            },
        }
    }
}

impl fmt::Debug for LocalAgent {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.debug_struct("LocalAgent").finish_non_exhaustive()
    }
}

/// Our end of the pipe.
pub(super) struct LocalPipe {
    stream: DuplexStream,
    keeper: LocalKeeper,
}

impl Transport for LocalPipe {
    type Reads = ReadHalf<DuplexStream>;
    type Writes = WriteHalf<DuplexStream>;

    fn open(self) -> (Self::Reads, Self::Writes, Option<GoneFuture>) {
        let (reads, writes) = split(self.stream);
        (
            reads,
            writes,
            Some(Box::pin(self.keeper.wait_for_departure())),
        )
    }
}

/// Keeps the task until it ends or has to. When this is dropped the task is, too.
struct LocalKeeper {
    task: JoinSet<LocalEnd>,
    orders: watch::Receiver<AgentOrder>,
    departed: watch::Sender<Option<TreeExit>>,
}

impl LocalKeeper {
    async fn wait_for_departure(mut self) -> PeerDeparture {
        let LocalEnd { exit, loss } = self.until_it_ends().await;
        self.departed.send_replace(Some(TreeExit {
            exit,
            leftover: 0,
            immortal: 0,
        }));
        PeerDeparture {
            exit,
            sent_away: loss.map(ConnectionError::Lost),
            ..PeerDeparture::default()
        }
    }

    /// How it ended. There is no exit status if it was ended by us.
    async fn until_it_ends(&mut self) -> LocalEnd {
        let mut must_end: Option<Instant> = None;
        loop {
            let grace = async {
                match must_end {
                    Some(end) => sleep_until(end).await,
                    None => std::future::pending().await,
                }
            };
            // All of these futures are cancel-safe.
            tokio::select! {
                biased;
                done = self.task.join_next() => return match done {
                    None => LocalEnd::default(),
                    Some(Ok(end)) => end,
                    Some(Err(error)) => LocalEnd {
                        exit: error.is_panic().then_some(Exit::Code(PANICKED)),
                        loss: None,
                    },
                },
                () = grace => self.task.abort_all(),
                order = next_order(&mut self.orders) => match order {
                    AgentOrder::Live => {}
                    AgentOrder::Stop(grace) => must_end = Some(Instant::now() + grace),
                    AgentOrder::Kill => self.task.abort_all(),
                },
            }
        }
    }
}
