//! Watching a program that is being recorded: how far its files have grown, whether it has ended, whether it must.

use std::io;
use std::path::Path;
use std::time::Duration;

use tokio::sync::{mpsc, watch};

use super::CapturedPiece;
use super::tape::SharedTape;
use crate::follow::{CHUNK, FileSizes, FollowedFile, StreamFollower};
use crate::{STDERR, STDOUT};
use lapidary_process::KillTimeout;
use lapidary_process::stop::{StopLevel, wanted};
use lapidary_process::{Running, TreeExit};

/// Watches the program until its end.
pub(super) struct CaptureWatch {
    running: Running,
    tape: SharedTape,
    follower: StreamFollower,
    grace: Duration,
    asked: StopLevel,
    patience: KillTimeout,
}

impl CaptureWatch {
    pub(super) fn new(
        running: Running,
        tape: SharedTape,
        follower: StreamFollower,
        grace: Duration,
    ) -> Self {
        Self {
            running,
            tape,
            follower,
            grace,
            asked: StopLevel::None,
            patience: KillTimeout::default(),
        }
    }

    /// Watches until the program and everything that it started is gone.
    pub(super) async fn until_the_end(mut self, mut stops: watch::Receiver<StopLevel>) -> TreeExit {
        let ended = loop {
            // All of these futures are cancel-safe.
            tokio::select! {
                biased;
                ended = self.running.wait() => break ended,
                urgency = wanted(&mut stops, self.asked) => self.end_agent(urgency).await,
                () = self.patience.ends() => break self.running.abandon().await,
                _ = self.follower.due() => self.note_file_growth().await,
            }
        };
        self.note_file_growth().await;
        self.follower.finish();
        ended
    }

    /// How far have the files grown? The input is noted by its own thread, and may have been too much meanwhile.
    async fn note_file_growth(&mut self) {
        let tape = &self.tape;
        self.follower
            .look(|channel, bytes| tape.note_growth(channel, bytes));
        if self.asked < StopLevel::Kill && self.tape.first_problem().is_some() {
            self.end_agent(StopLevel::Kill).await;
        }
    }

    async fn end_agent(&mut self, urgency: StopLevel) {
        self.asked = urgency;
        match urgency {
            StopLevel::None => {}
            StopLevel::Cancel => {
                self.running.stop(self.grace).await;
                self.patience.ordered(self.grace);
            }
            StopLevel::Kill | StopLevel::LeaseLost => {
                self.running.kill().await;
                self.patience.ordered(Duration::ZERO);
            }
        }
    }
}

/// Hands on the program's output, at the pace of the receiver.
pub(super) struct OutputCopier {
    stdout: FollowedFile,
    stderr: FollowedFile,
    pieces: mpsc::Sender<CapturedPiece>,
}

impl OutputCopier {
    pub(super) fn new(directory: &Path, pieces: mpsc::Sender<CapturedPiece>) -> io::Result<Self> {
        Ok(Self {
            stdout: FollowedFile::open(&directory.join(STDOUT))?,
            stderr: FollowedFile::open(&directory.join(STDERR))?,
            pieces,
        })
    }

    /// Reads until the output ends, or the receiver is gone.
    pub(super) async fn follow_output(mut self, mut grown: watch::Receiver<FileSizes>) {
        loop {
            let now = *grown.borrow_and_update();
            let Self {
                stdout,
                stderr,
                pieces,
            } = &mut self;
            let is_heard = copy_pieces(stderr, now.stderr, pieces, CapturedPiece::Err).await
                && copy_pieces(stdout, now.stdout, pieces, CapturedPiece::Out).await;
            if !is_heard || now.is_over || grown.changed().await.is_err() {
                return;
            }
        }
    }
}

/// False if the receiver is gone, or the file cannot be read.
async fn copy_pieces(
    from: &mut FollowedFile,
    until: u64,
    pieces: &mpsc::Sender<CapturedPiece>,
    piece: fn(Vec<u8>) -> CapturedPiece,
) -> bool {
    while from.offset < until {
        let mut bytes = vec![0; CHUNK];
        match from.read(&mut bytes, until) {
            Ok(count @ 1..) => bytes.truncate(count),
            Ok(0) | Err(_) => return false, // the file was truncated
        }
        if pieces.send(piece(bytes)).await.is_err() {
            return false;
        }
    }
    true
}
