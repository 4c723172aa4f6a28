//! The process of an MCP server, under supervision.

use std::io;
use std::os::fd::OwnedFd;
use std::time::Duration;

use lapidary_gemini::agents::McpServer;
use lapidary_process::{Command, Running, Stdio};
use serde_json::Value;
use tokio::net::unix::pipe;
use tokio::time::timeout;

use super::{McpError, McpSettings};

/// How long a server may take to end once its input has ended.
const BY_ITSELF: Duration = Duration::from_secs(1);
/// How long a server that was asked to end has for that.
const GRACE: Duration = Duration::from_millis(500);
/// A supervisor that does not end its process in this time is given up.
const GIVE_UP: Duration = Duration::from_secs(10);

/// The process of a server. Dropping it ends the server with everything that it started.
#[derive(Debug)]
pub(super) struct ServerProcess(Running);

impl ServerProcess {
    /// Starts a server. Its stderr is discarded.
    pub(super) async fn start(
        settings: &McpSettings,
        program: &str,
        definition: &McpServer,
    ) -> Result<(Self, pipe::Receiver, pipe::Sender), McpError> {
        let failed = |reason: String| McpError::Start { reason };
        let pipes = Pipes::new().map_err(|error| failed(error.to_string()))?;
        let directory = definition.cwd.as_ref().map_or_else(
            || settings.directory.clone(),
            |directory| settings.directory.join(directory),
        );
        let mut command = Command::new(program, directory);
        command.args(definition.args.iter().flatten());
        command.envs(settings.environment.iter().cloned());
        let own = definition.env.iter().flatten();
        command.envs(own.filter_map(|(name, value)| Some((name, text_of(value)?))));
        let running = settings.supervisor.start(command, pipes.stdio).await;
        let running = running.map_err(|error| failed(error.to_string()))?;
        Ok((Self(running), pipes.reads, pipes.writes))
    }

    pub(super) async fn end_process(&mut self) {
        if timeout(BY_ITSELF, self.0.wait()).await.is_ok() {
            return;
        }
        self.0.stop(GRACE).await;
        if timeout(GIVE_UP, self.0.wait()).await.is_err() {
            self.0.abandon().await;
        }
    }
}

struct Pipes {
    stdio: Stdio,
    reads: pipe::Receiver,
    writes: pipe::Sender,
}

impl Pipes {
    fn new() -> io::Result<Self> {
        let (our_reads, their_writes) = io::pipe()?;
        let (their_reads, our_writes) = io::pipe()?;
        Ok(Self {
            stdio: Stdio {
                stdin: their_reads.into(),
                stdout: their_writes.into(),
                ..Stdio::null()?
            },
            reads: pipe::Receiver::from_owned_fd(OwnedFd::from(our_reads))?,
            writes: pipe::Sender::from_owned_fd(OwnedFd::from(our_writes))?,
        })
    }
}

/// The text of a variable: definitions may have numbers and flags there.
fn text_of(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(_) | Value::Bool(_) => Some(value.to_string()),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}
