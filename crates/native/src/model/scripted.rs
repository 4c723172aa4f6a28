//! A model that answers from a script, without a socket: for tests, the demo and examples.

use std::sync::Arc;

use lapidary_standin::api::{ApiRequest, Script, ScriptPlayer};

use super::error::ModelError;
use super::gemini::request_body;
use super::quota::error_of;
use super::reader::AnswerReader;
use super::retry::{Attempt, RetryPolicy};
use super::{ModelAnswer, ModelClient, ModelEvent, ModelRequest};
use crate::tool::BoxFuture;

/// A model whose answers are written down. Its script has the same turns, errors and faults as the mock API.
#[derive(Debug, Clone)]
pub struct ScriptedModel {
    player: Arc<ScriptPlayer>,
    retries: RetryPolicy,
}

impl ScriptedModel {
    /// A model at the beginning of its script. Clones share it.
    pub fn new(script: Script) -> Self {
        Self {
            player: Arc::new(ScriptPlayer::new(script)),
            retries: RetryPolicy::default(),
        }
    }

    /// The requests made so far.
    pub fn requests(&self) -> Vec<ApiRequest> {
        self.player.requests()
    }
}

impl ModelClient for ScriptedModel {
    fn generate<'a>(
        &'a self,
        request: &'a ModelRequest<'a>,
        listener: &'a mut (dyn FnMut(ModelEvent) + Send),
    ) -> BoxFuture<'a, Result<ModelAnswer, ModelError>> {
        let attempt = ScriptedAttempt {
            player: &self.player,
            model: request.model,
            body: request_body(request),
        };
        Box::pin(async move { self.retries.run(&attempt, listener).await })
    }
}

struct ScriptedAttempt<'a> {
    player: &'a ScriptPlayer,
    model: &'a str,
    body: String,
}

impl Attempt for ScriptedAttempt<'_> {
    fn attempt<'a>(
        &'a self,
        listener: &'a mut (dyn FnMut(ModelEvent) + Send),
    ) -> BoxFuture<'a, Result<ModelAnswer, ModelError>> {
        Box::pin(async move {
            let mut answer = self.player.stream(self.model, &self.body).await;
            let mut reader = AnswerReader::default();
            let mut error_body = Vec::new();
            let cut = |_| ModelError::CutStream {
                reason: "the script cuts the connection".to_owned(),
            };
            while let Some(bytes) = answer.next_bytes().await.map_err(cut)? {
                match answer.status {
                    200 => reader.push(&bytes, listener)?,
                    _ => error_body.extend_from_slice(&bytes),
                }
            }
            match answer.status {
                200 => reader.finish(listener),
                status => Err(error_of(status, &error_body, None)),
            }
        })
    }
}
