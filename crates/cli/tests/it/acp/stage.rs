//! A scripted agent, silent or not, and the recording of its conversation.

use std::fs;
use std::path::PathBuf;

use lapidary::engine::acp::{
    AgentLaunch, AgentSource, ConnectionError, ConnectionLimits, HandledMethods, RequestAnswer,
    RequestError, RunningAgent,
};
use lapidary::engine::process::{Command, Exit, Supervisor};
use lapidary::engine::recording::{Channel, Recorder, Timing};
pub(super) use lapidary_testkit::patience::HANG as LONG;
use tokio::time::timeout;

use crate::run::world::World;

pub(super) struct Stage {
    pub(super) world: World,
}

impl Stage {
    /// An agent that is this shell script.
    pub(super) fn with(script: &str) -> Self {
        Self {
            world: World::with_agent(script),
        }
    }

    pub(super) async fn start(&self) -> RunningAgent {
        RunningAgent::start(self.launch("gemini")).await.unwrap()
    }

    pub(super) fn launch(&self, program: &str) -> AgentLaunch {
        let vars = self.world.lapidary(&[]);
        let vars = vars
            .get_envs()
            .filter_map(|(name, value)| Some((name, value?)));
        let mut command = Command::new(self.world.path(program), self.world.path("project"));
        command.envs(vars);
        AgentLaunch {
            source: AgentSource::Process {
                command: Box::new(command),
                supervisor: Supervisor::at(env!("CARGO_BIN_EXE_lapidary")),
            },
            recorder: Recorder::begin(&self.world.path("state/runs"), "run").unwrap(),
            max_output: 1 << 30,
            methods: HandledMethods::from_names(["session/request_permission"]),
            limits: ConnectionLimits::default(),
            tap: None,
        }
    }

    fn recorded(&self, name: &str) -> PathBuf {
        self.world.path("state/runs/run").join(name)
    }

    pub(super) fn bytes(&self, name: &str) -> Vec<u8> {
        fs::read(self.recorded(name)).unwrap()
    }

    /// Asserts that the recording accounts for every byte, and that nothing runs any more.
    pub(super) fn assert_complete(&self) {
        self.world.assert_nothing_is_left();
        let timing = Timing::read(&String::from_utf8(self.bytes("timing")).unwrap()).unwrap();
        let channels = [
            (Channel::In, "stdin"),
            (Channel::Out, "stdout"),
            (Channel::Err, "stderr"),
        ];
        for (channel, name) in channels {
            let length = fs::metadata(self.recorded(name)).unwrap().len();
            assert_eq!(timing.total(channel), length, "{name}");
        }
    }
}

/// Sends a request, and waits until it has a result or an error.
pub(super) async fn ask(agent: &RunningAgent, method: &str) -> Result<RequestAnswer, RequestError> {
    let answer = agent.connection.request(method, None, None);
    timeout(LONG, answer).await.expect("it hangs")
}

/// The error of a request to an agent that has ended.
pub(super) fn closed(exit: Exit, stderr: &str) -> RequestError {
    RequestError::Connection(ConnectionError::Closed {
        exit: Some(exit),
        stderr_tail: stderr.to_owned(),
    })
}
