//! A connection to an agent that speaks ACP, the Agent Client Protocol: JSON-RPC 2.0, one message per line.
//!
//! This is the connection alone: it knows requests, answers and notifications, and none of the methods. It is ours because a client
//! that loses nothing needs the bytes, and because everything an agent prints may be an attack:
//!
//! * reading never ends on bad input. Banners, scalars, batches, half lines, invalid UTF-8, lines without end and answers to
//!   requests that were never sent are shown to the [`TrafficObserver`] as they came, and otherwise ignored. The agent is never told;
//! * every line, of both sides, is shown to the observer in the order in which it was sent;
//! * each [`IncomingRequest`] request is answered once: by the handler of its method, at once with -32601 if there is none, and with -32603 if
//!   the handler drops it;
//! * when the agent ends, every pending request fails at once, with its exit status and the end of its stderr;
//! * the agent is never made to wait for us. One task reads its output and hands it on to queues that are bounded by the bytes they
//!   hold, not by blocking the sender: [`ConnectionLimits`] says for each queue how it acts when it is full.
//!
//! An agent is a process, whose stdin and stdout are the [`Transport`], or a task of this process ([`LocalAgent`]). An agent behind HTTP or
//! WebSocket is such a task, which passes lines on.
//!
//! ```no_run
//! # async fn demo(recorder: lapidary_recording::Recorder) -> Result<(), Box<dyn std::error::Error>> {
//! use std::time::Duration;
//! use lapidary_rpc::{RunningAgent, AgentSource, AgentLaunch, ConnectionLimits, HandledMethods};
//! use lapidary_process::{Command, Supervisor};
//! use lapidary_vocab::Json;
//!
//! let mut command = Command::new("gemini", "/home/me/project");
//! command.args(["--acp"]);
//! let agent = RunningAgent::start(AgentLaunch {
//!     source: AgentSource::Process {
//!         command: Box::new(command),
//!         supervisor: Supervisor::at("/usr/local/bin/lapidary"),
//!     },
//!     recorder,
//!     max_output: 1 << 30,
//!     methods: HandledMethods::from_names(["session/request_permission"]),
//!     limits: ConnectionLimits::default(),
//!     tap: None,
//! })
//! .await?;
//! let params = Json::from_value(&serde_json::json!({"protocolVersion": 1}));
//! let patience = Some(Duration::from_secs(60));
//! let answer = agent.connection.request("initialize", Some(&params), patience).await?;
//! println!("{:?}", answer.result);
//! agent.end(Duration::from_secs(5)).await;
//! # Ok(()) }
//! ```

mod agent;
mod agent_loss;
mod agent_orders;
mod classify;
mod client;
mod connection;
mod connection_tape;
mod driver;
mod error;
mod limits;
mod local_agent;
mod log;
mod message;
mod outgoing;
mod pipes;
mod playback;
mod reader;
mod shared_connection;
mod traffic;
mod transport;
mod truncated;
mod writer;

pub use agent::{AgentError, AgentLaunch, AgentProcess, AgentSource, RunningAgent};
pub use agent_loss::{AgentLoss, AgentLossKind};
pub use client::{
    AcpClient, AgentCapabilities, AuthMethod, InitializeAnswer, ModeSearch, OpenedSession,
    PromptAnswer, SessionMode, SessionModes, SessionParams, SessionSettings,
};
pub use client::{STEER, VERSION};
pub use connection::{Connection, OpenConnection, PendingCall, connect};
pub use error::{ConnectionError, RequestError, RpcError};
pub use limits::{ConnectionLimits, HandledMethods};
pub use local_agent::{LocalAgent, LocalEnd, LocalTask};
pub use log::{LineFacts, LineTap, TrafficObserver};
pub use message::{
    AnswerExpectation, LineNoise, MessageContent, ReceivedLine, ReceivedMessage, RequestAnswer,
    RequestId,
};
pub use shared_connection::{IncomingRequest, IncomingRequests, RequestResponder};
pub use traffic::{ObservedLine, TrafficLine};
pub use transport::{GoneFuture, PeerDeparture, Transport};
