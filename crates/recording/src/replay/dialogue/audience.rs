//! Where a dialogue is played to: the pipes of a process, or a stream in this one.

use std::io;

use tokio::io::{AsyncWrite, AsyncWriteExt as _};

use super::DialogueStage;

/// Receives the recorded agent's output.
pub(super) trait Audience {
    /// Writes a line of the agent's stdout.
    async fn write(&mut self, line: &[u8]) -> io::Result<()>;
    /// Writes a piece of the agent's stderr. An agent goes on if that is closed.
    fn complain(&mut self, bytes: &[u8]);
    /// Notes a difference between the client and the recorded one.
    fn note(&mut self, text: &str);
}

impl Audience for DialogueStage<'_> {
    async fn write(&mut self, line: &[u8]) -> io::Result<()> {
        self.out.write_all(line)?;
        self.out.flush()
    }

    fn complain(&mut self, bytes: &[u8]) {
        let _ = self.err.write_all(bytes);
        let _ = self.err.flush();
    }

    fn note(&mut self, text: &str) {
        (self.note)(text);
    }
}

/// A client in this process. It has no stderr of the agent, and compares nothing.
pub(super) struct StreamAudience<W>(pub(super) W);

impl<W: AsyncWrite + Unpin> Audience for StreamAudience<W> {
    async fn write(&mut self, line: &[u8]) -> io::Result<()> {
        self.0.write_all(line).await?;
        self.0.flush().await
    }

    fn complain(&mut self, _bytes: &[u8]) {}

    fn note(&mut self, _text: &str) {}
}
