//! The body of an answer: bytes, pauses, and ways to end that a well-behaved server has not.

use std::collections::VecDeque;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use hyper::body::{Body, Frame};
use tokio::time::{Sleep, sleep};

use super::turn::Ending;

/// A body that is played step by step.
#[derive(Debug, Default)]
pub(super) struct Playback {
    steps: VecDeque<Step>,
    waiting: Option<Pin<Box<Sleep>>>,
}

#[derive(Debug)]
enum Step {
    Send(Bytes),
    Wait(Duration),
    /// Lets the connection write out what it has: a connection that fails does not.
    Flush,
    /// Says nothing until the peer leaves.
    Hang,
    /// Fails, which makes the connection close before the body has ended.
    Cut,
}

/// The script says that the connection ends here.
#[derive(Debug, thiserror::Error)]
#[error("the script cuts the connection here")]
pub(super) struct Cut;

impl Playback {
    /// A body that is sent at once.
    pub(super) fn whole(bytes: impl Into<Bytes>) -> Self {
        let mut playback = Self::default();
        playback.send(bytes);
        playback
    }

    pub(super) fn send(&mut self, bytes: impl Into<Bytes>) {
        self.steps.push_back(Step::Send(bytes.into()));
    }

    pub(super) fn wait(&mut self, duration: Duration) {
        if !duration.is_zero() {
            self.steps.push_back(Step::Wait(duration));
        }
    }

    pub(super) fn end(&mut self, ending: Ending) {
        match ending {
            Ending::Complete => {}
            Ending::Hang(None) => self.steps.push_back(Step::Hang),
            Ending::Hang(Some(duration)) => self.wait(duration),
            Ending::Drop => self.steps.extend([Step::Flush, Step::Cut]),
        }
    }
}

impl Body for Playback {
    type Data = Bytes;
    type Error = Cut;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Cut>>> {
        loop {
            if let Some(waiting) = &mut self.waiting {
                ready!(waiting.as_mut().poll(context));
                self.waiting = None;
            }
            match self.steps.pop_front() {
                None => return Poll::Ready(None),
                Some(Step::Send(bytes)) => return Poll::Ready(Some(Ok(Frame::data(bytes)))),
                Some(Step::Cut) => return Poll::Ready(Some(Err(Cut))),
                Some(Step::Wait(duration)) => self.waiting = Some(Box::pin(sleep(duration))),
                Some(Step::Flush) => {
                    context.waker().wake_by_ref();
                    return Poll::Pending;
                }
                Some(Step::Hang) => {
                    // Nothing will wake this up; the connection notices by itself when the peer leaves.
                    self.steps.push_front(Step::Hang);
                    return Poll::Pending;
                }
            }
        }
    }
}
