//! The same script without a socket, for a model client of this process: time can be a test's.

use bytes::Bytes;
use http_body_util::BodyExt as _;
use hyper::Request as HttpRequest;

use super::playback::BodyPlayback;
use super::request::ApiRequest;
use super::script::Script;
use super::serve::{ServerState, answer_to};

/// Plays a script for requests that are made by a call instead of over HTTP.
#[derive(Debug)]
pub struct ScriptPlayer {
    shared: ServerState,
}

/// An answer: its status, and its body piece by piece.
#[derive(Debug)]
pub struct PlayedAnswer {
    /// The HTTP status.
    pub status: u16,
    body: BodyPlayback,
}

/// The script cuts the connection here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PlayedCut;

impl ScriptPlayer {
    /// A player at the beginning of a script.
    pub fn new(script: Script) -> Self {
        Self {
            shared: ServerState::new(script),
        }
    }

    /// Answers a `streamGenerateContent` of this model with this body. Waits as long as the turn's delay.
    pub async fn stream(&self, model: &str, body: &str) -> PlayedAnswer {
        let path = format!("/v1beta/models/{model}:streamGenerateContent?alt=sse");
        let mut head = HttpRequest::new(()).into_parts().0;
        head.method = hyper::Method::POST;
        head.uri = path.parse().unwrap_or_default();
        let answer = answer_to(&head, body, &self.shared).await;
        PlayedAnswer {
            status: answer.status().as_u16(),
            body: answer.into_body(),
        }
    }

    /// The requests made so far, in their order.
    pub fn requests(&self) -> Vec<ApiRequest> {
        self.shared.requests()
    }
}

impl PlayedAnswer {
    /// The next bytes of the body; none at its end. Waits for ever where the script hangs. Can be cancelled.
    pub async fn next_bytes(&mut self) -> Result<Option<Bytes>, PlayedCut> {
        match self.body.frame().await {
            None => Ok(None),
            Some(Err(_)) => Err(PlayedCut),
            Some(Ok(frame)) => Ok(frame.into_data().ok()),
        }
    }
}
