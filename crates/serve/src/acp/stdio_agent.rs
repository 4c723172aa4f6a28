//! `lapidary acp`: an agent for the one client that has started us.

use std::path::PathBuf;

use lapidary::PermissionMode;
use lapidary::engine::conversation::CommandSender;
use lapidary::engine::run::Run;
use lapidary::vocab::event::RunEnd;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_util::sync::CancellationToken;

use super::bridge::{AcpBridge, BridgePlace};
use super::lines::ClientLines;
use crate::live_run::LiveRun;
use crate::run_request::{RunRequest, SessionDirectory, StartedRun};

/// An agent that was started for a client on two pipes.
#[derive(Debug)]
pub struct StdioAgent {
    /// The id of the run.
    pub id: String,
    /// The run. It has to be recorded: the agent's messages are read from the recording.
    pub run: Run,
    /// Sends commands to the run.
    pub orders: CommandSender,
    /// The widest permission mode that the client may set.
    pub widest_mode: PermissionMode,
    /// The directory of the agent.
    pub working_dir: Option<PathBuf>,
    /// The client opens sessions here or below. Without links.
    pub root: PathBuf,
}

impl StdioAgent {
    /// Serves the client until it closes its pipe, the run ends, or `stopped`. Returns the end of the run, which is over then.
    /// Inside a tokio runtime.
    pub async fn serve(
        self,
        reads: impl AsyncRead + Unpin + Send,
        writes: impl AsyncWrite + Unpin + Send,
        stopped: CancellationToken,
    ) -> Option<RunEnd> {
        let directory = SessionDirectory::of_agent(self.working_dir.as_deref(), &self.root);
        let started = StartedRun {
            id: self.id,
            run: self.run,
            orders: self.orders,
            widest_mode: self.widest_mode,
            session_directory: directory,
        };
        let run = LiveRun::start(started, &RunRequest::default());
        let place = BridgePlace {
            root: &self.root,
            access_log: None,
        };
        let mut bridge = AcpBridge::new(place, &run, directory);
        let served = bridge.serve(ClientLines { reads, writes });
        if stopped
            .run_until_cancelled(Box::pin(served))
            .await
            .is_none()
        {
            run.stop();
        }
        bridge.leave_run();
        run.ended().await;
        run.end()
    }
}
