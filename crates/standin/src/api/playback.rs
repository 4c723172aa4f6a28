//! The body of an answer: bytes, pauses, and ways to end that a well-behaved server has not.

use std::collections::VecDeque;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use hyper::body::{Body, Frame};
use tokio::time::{Sleep, sleep};

use super::turn::BodyEnding;

/// A body that is played step by step.
#[derive(Debug, Default)]
pub(super) struct BodyPlayback {
    steps: VecDeque<PlaybackStep>,
    waiting: Option<Pin<Box<Sleep>>>,
}

#[derive(Debug)]
enum PlaybackStep {
    Send(Bytes),
    Wait(Duration),
    /// Lets the connection write out its buffer: a connection that fails does not.
    Flush,
    /// Says nothing until the peer leaves.
    Hang,
    /// Fails, which makes the connection close before the body has ended.
    Cut,
}

/// The script says that the connection ends here.
#[derive(Debug, thiserror::Error)]
#[error("the script cuts the connection here")]
pub(super) struct ConnectionCut;

impl BodyPlayback {
    /// A body that is sent at once.
    pub(super) fn whole(bytes: impl Into<Bytes>) -> Self {
        let mut playback = Self::default();
        playback.send(bytes);
        playback
    }

    pub(super) fn send(&mut self, bytes: impl Into<Bytes>) {
        self.steps.push_back(PlaybackStep::Send(bytes.into()));
    }

    pub(super) fn wait(&mut self, duration: Duration) {
        if !duration.is_zero() {
            self.steps.push_back(PlaybackStep::Wait(duration));
        }
    }

    pub(super) fn end(&mut self, ending: BodyEnding) {
        match ending {
            BodyEnding::Complete => {}
            BodyEnding::Hang(None) => self.steps.push_back(PlaybackStep::Hang),
            BodyEnding::Hang(Some(duration)) => self.wait(duration),
            BodyEnding::Drop => self.steps.extend([PlaybackStep::Flush, PlaybackStep::Cut]),
        }
    }
}

impl Body for BodyPlayback {
    type Data = Bytes;
    type Error = ConnectionCut;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, ConnectionCut>>> {
        loop {
            if let Some(waiting) = &mut self.waiting {
                ready!(waiting.as_mut().poll(context));
                self.waiting = None;
            }
            match self.steps.pop_front() {
                None => return Poll::Ready(None),
                Some(PlaybackStep::Send(bytes)) => {
                    return Poll::Ready(Some(Ok(Frame::data(bytes))));
                }
                Some(PlaybackStep::Cut) => return Poll::Ready(Some(Err(ConnectionCut))),
                Some(PlaybackStep::Wait(duration)) => {
                    self.waiting = Some(Box::pin(sleep(duration)));
                }
                Some(PlaybackStep::Flush) => {
                    context.waker().wake_by_ref();
                    return Poll::Pending;
                }
                Some(PlaybackStep::Hang) => {
                    // Nothing will wake this up; the connection notices by itself when the peer leaves.
                    self.steps.push_front(PlaybackStep::Hang);
                    return Poll::Pending;
                }
            }
        }
    }
}
