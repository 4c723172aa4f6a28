//! A real agent on a scripted model, over one transport, with a home and a project of its own.

use std::ffi::OsString;
use std::path::PathBuf;

use lapidary_standin::api::{FakeApi, Script};
use lapidary_testkit::acp::{AcpWorld, Peer};
use serde_json::Value;

use crate::support::{Ran, lapidary, started};

/// How Lapidary reaches the agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StageTransport {
    /// Over ACP, by its adapter where it has one.
    Acp,
    /// By the stream of its own program.
    StreamJson,
}

impl StageTransport {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Acp => "acp",
            Self::StreamJson => "stream-json",
        }
    }
}

/// The stage. The model's script goes on from run to run.
pub(super) struct AgentStage {
    pub(super) world: AcpWorld,
    pub(super) peer: Peer,
    pub(super) transport: StageTransport,
    pub(super) api: FakeApi,
    environment: Vec<(OsString, OsString)>,
}

impl AgentStage {
    pub(super) fn new(peer: Peer, transport: StageTransport, script: Script) -> Self {
        let world = AcpWorld::new(peer);
        let api = FakeApi::start_in_thread(script).unwrap();
        let url = api.base_url();
        let environment = match (peer, transport) {
            (Peer::Claude | Peer::Codex, StageTransport::StreamJson) => {
                world.own_stream_environment(&url)
            }
            _ => world.named_environment(&url),
        };
        Self {
            world,
            peer,
            transport,
            api,
            environment,
        }
    }

    /// A command of Lapidary's in the project.
    pub(super) fn lapidary(&self, args: &[&str]) -> Ran {
        let mut command = lapidary(args.iter().copied());
        command
            .current_dir(self.world.project())
            .env_clear()
            .envs(self.environment.iter().cloned())
            .env("LAPIDARY_STATE_DIR", self.world.root().join("state"));
        let output = started(command, b"");
        Ran {
            code: output.status.code(),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }

    /// A run of the agent that may do everything, and its result.
    pub(super) fn run(&self, run_id: &str, prompt: &str) -> Value {
        let transport = ["--transport", self.transport.name()];
        // Claude Code refuses to bypass permissions for root; it writes files in the project without asking.
        let allowed = match (self.transport, self.peer) {
            (StageTransport::Acp, _) => ["--allow", "*"],
            (StageTransport::StreamJson, Peer::Claude) => ["--permission-mode", "acceptEdits"],
            (StageTransport::StreamJson, _) => ["--permission-mode", "bypassPermissions"],
        };
        let args = [
            &["run", "--no-config", "--agent", self.peer.name()],
            &transport[..],
            &allowed,
            &["--run-id", run_id, "--format", "result", prompt],
        ];
        let ran = self.lapidary(&args.concat());
        serde_json::from_str(&ran.stdout).expect(&ran.stderr)
    }

    /// The recording of a run.
    pub(super) fn recording(&self, run_id: &str) -> PathBuf {
        self.world.root().join("state/runs").join(run_id)
    }

    /// The objects that a command prints, one on each line.
    pub(super) fn lines(&self, args: &[&str]) -> Vec<Value> {
        let ran = self.lapidary(args);
        assert_eq!(ran.code, Some(0), "{args:?}: {}", ran.stderr);
        let lines = ran.stdout.lines();
        lines.map(|it| serde_json::from_str(it).unwrap()).collect()
    }
}
