//! A connection to the agent under test, and the steps that end the agent.

use std::path::Path;
use std::time::Duration;

use lapidary::engine::acp::{
    AcpClient, AgentLaunch, AgentSource, ConnectionLimits, HandledMethods, InitializeAnswer,
    LineNoise, MessageContent, OpenedSession, RequestAnswer, RequestError, RunningAgent,
    SessionParams, TrafficLine,
};
use lapidary::engine::process::{self, Command, Exit, Supervisor, TreeExit};
use lapidary::engine::recording::Recorder;
use lapidary::vocab::Json;
use lapidary::vocab::doctor::ShutdownBy;
use serde_json::json;
use tokio::time::{Instant, timeout};

use super::offer::clip_text;
use super::turn::{ObservedTurn, TurnCancel};

/// A card's worth of lines is a few kilobytes. An agent that writes more than this floods.
const MAX_OUTPUT: u64 = 16 * 1024 * 1024;

/// How long an agent has to end by itself when its stdin is closed, and then when it is asked to.
const GRACE: Duration = Duration::from_secs(5);

/// How long reading the agent's last lines may take.
const LAST_WORDS: Duration = Duration::from_secs(2);

const MARK: &str = "LAPIDARY_RUN";

pub(super) struct AcpProbe {
    pub(super) agent: RunningAgent,
    pub(super) noise: NoiseSeen,
    /// By which everything that it starts is found again.
    run: String,
}

/// Lines that are no messages.
#[derive(Debug, Default)]
pub(super) struct NoiseSeen {
    pub(super) lines: u64,
    /// The beginning of the first.
    pub(super) first: Option<String>,
}

/// The end of the agent.
pub(super) struct ProbeShutdown {
    pub(super) by: ShutdownBy,
    pub(super) took: Duration,
    pub(super) ended: Option<TreeExit>,
    /// Processes that are still alive.
    pub(super) left: Vec<i32>,
    pub(super) noise: NoiseSeen,
}

impl AcpProbe {
    pub(super) async fn start_agent(
        mut command: Command,
        supervisor: &Supervisor,
        root: &Path,
    ) -> anyhow::Result<Self> {
        // Only this probe uses this directory, so its path marks our processes.
        let run = root.to_string_lossy().into_owned();
        command.mark(MARK, &run);
        let source = AgentSource::Process {
            command: Box::new(command),
            supervisor: supervisor.clone(),
        };
        Self::connect_agent(source, root).await
    }

    /// Starts or reaches the agent.
    pub(super) async fn connect_agent(source: AgentSource, root: &Path) -> anyhow::Result<Self> {
        let launch = AgentLaunch {
            source,
            recorder: Recorder::begin(&root.join("runs"), "card")?,
            max_output: MAX_OUTPUT,
            methods: HandledMethods::from_names(["session/request_permission"]),
            limits: ConnectionLimits::default(),
            tap: None,
        };
        Ok(Self {
            agent: RunningAgent::start(launch).await?,
            noise: NoiseSeen::default(),
            run: root.to_string_lossy().into_owned(),
        })
    }

    /// Offers neither files nor terminals: the agent then does every action itself, and asks before.
    pub(super) async fn initialize_agent(
        &self,
        time: Duration,
    ) -> Result<InitializeAnswer, RequestError> {
        let none =
            json!({ "fs": { "readTextFile": false, "writeTextFile": false }, "terminal": false });
        let client = self.acp_client(time);
        client
            .initialize_with(&Json::from_value(&none), Some(time))
            .await
    }

    pub(super) async fn new_session(
        &self,
        project: &Path,
        meta: Option<&Json>,
        time: Duration,
    ) -> Result<OpenedSession, RequestError> {
        let setting = SessionParams {
            cwd: project,
            additional: &[],
            mcp_servers: &[],
            meta,
        };
        self.acp_client(time).new_session(&setting).await
    }

    pub(super) async fn send_prompt(
        &mut self,
        session: &str,
        text: &str,
        cancel: TurnCancel,
        time: Duration,
    ) -> ObservedTurn {
        let client = self.acp_client(time);
        ObservedTurn::play_turn(self, &client, session, (text, cancel, time)).await
    }

    pub(super) async fn send_unknown_method(
        &self,
        time: Duration,
    ) -> Result<RequestAnswer, RequestError> {
        let nothing = Json::empty_object();
        let connection = &self.agent.connection;
        connection
            .request("_lapidary/unknown", Some(&nothing), Some(time))
            .await
    }

    fn acp_client(&self, time: Duration) -> AcpClient {
        AcpClient::new(self.agent.connection.clone(), time)
    }

    /// Ends the agent in steps, and notes the step that was necessary and the processes that are left.
    pub(super) async fn end_agent(mut self) -> ProbeShutdown {
        let began = Instant::now();
        let process = self.agent.process.clone();
        let before = timeout(Duration::ZERO, process.gone()).await.ok();
        let was_gone = before.is_some() || self.agent.connection.ended().is_some();
        self.agent.connection.hang_up();
        let by_itself = match before {
            Some(ended) => Some(ended),
            None => timeout(GRACE, process.gone()).await.ok(),
        };
        let (by, ended) = match by_itself {
            Some(ended) if was_gone => (ShutdownBy::Itself, ended),
            Some(ended) => (ShutdownBy::Eof, ended),
            None => {
                let ended = process.end(Duration::ZERO, GRACE).await;
                (asked_or_killed(ended), ended)
            }
        };
        let took = began.elapsed();
        let _ = timeout(LAST_WORDS, self.listen_to_the_end()).await;
        ProbeShutdown {
            by,
            took,
            ended,
            left: process::marked(MARK, &self.run),
            noise: self.noise,
        }
    }

    async fn listen_to_the_end(&mut self) {
        while let Some(observed) = self.agent.observer.next().await {
            self.noise.note_traffic(&observed.traffic);
        }
    }
}

fn asked_or_killed(ended: Option<TreeExit>) -> ShutdownBy {
    const KILL: i32 = 9;
    match ended.and_then(|ended| ended.exit) {
        Some(Exit::Signal(KILL)) | None => ShutdownBy::Kill,
        Some(Exit::Signal(_) | Exit::Code(_)) => ShutdownBy::Term,
    }
}

impl NoiseSeen {
    pub(super) fn note_traffic(&mut self, traffic: &TrafficLine) {
        let TrafficLine::Received(received) = traffic else {
            return;
        };
        match &received.what {
            MessageContent::Noise(
                LineNoise::NotJson
                | LineNoise::NotAnObject
                | LineNoise::NotAMessage
                | LineNoise::TooLong(_),
            ) => {
                self.lines += 1;
                self.first
                    .get_or_insert_with(|| clip_text(received.line.text()));
            }
            MessageContent::Noise(LineNoise::Blank)
            | MessageContent::Request { .. }
            | MessageContent::Notification { .. }
            | MessageContent::Answer { .. } => {}
        }
    }
}
