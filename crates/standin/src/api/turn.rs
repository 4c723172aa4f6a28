//! The model's reaction to one request.

use std::time::Duration;

use serde_json::Value;

use super::chunk::{Chunk, ChunkContent, ChunkData, ReportedUsage};
use super::error::ApiError;

/// The model's reaction to one request: it answers, fails, dawdles or breaks off.
///
/// Each piece of an answer is a chunk of its own. Methods that add to an answer, called on a turn that is an error, make it an
/// answer.
#[derive(Debug, Clone, PartialEq)]
pub struct Turn {
    pub(super) delay: Duration,
    pub(super) answer: TurnAnswer,
    pub(super) ending: BodyEnding,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum TurnAnswer {
    Speech(ModelSpeech),
    Error(ApiError),
    Verbatim {
        status: u16,
        content_type: String,
        body: String,
    },
}

/// An answer of the model.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct ModelSpeech {
    chunks: Vec<Chunk>,
    finish: Option<String>,
    usage: ReportedUsage,
    pub(super) model_version: Option<String>,
}

/// What happens after the last byte.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum BodyEnding {
    /// The body ends as it should.
    Complete,
    /// The connection stays open and silent: until the peer leaves, or for a while.
    Hang(Option<Duration>),
    /// The connection is cut before the body ends.
    Drop,
}

impl Turn {
    /// Answers with some text.
    pub fn text(text: impl Into<String>) -> Self {
        Self::chunks([Chunk::text(text)])
    }

    /// Thinks. Gemini CLI wants a thought's subject in `**`, at its start.
    pub fn thought(text: impl Into<String>) -> Self {
        Self::chunks([Chunk::thought(text)])
    }

    /// Calls a tool.
    pub fn call(tool: impl Into<String>, args: Value) -> Self {
        Self::chunks([Chunk::call(tool, args)])
    }

    /// Answers chunk by chunk. No chunk at all is an empty answer, which is an error to Gemini CLI.
    pub fn chunks(chunks: impl IntoIterator<Item = Chunk>) -> Self {
        let speech = ModelSpeech {
            chunks: chunks.into_iter().collect(),
            ..ModelSpeech::default()
        };
        Self::new(TurnAnswer::Speech(speech))
    }

    /// Answers with exactly this body, which need not be JSON: the answer of a proxy in between.
    pub fn verbatim(status: u16, content_type: impl Into<String>, body: impl Into<String>) -> Self {
        Self::new(TurnAnswer::Verbatim {
            status,
            content_type: content_type.into(),
            body: body.into(),
        })
    }

    /// Then says some text.
    pub fn and_text(self, text: impl Into<String>) -> Self {
        self.and(Chunk::text(text))
    }

    /// Then calls a tool.
    pub fn and_call(self, tool: impl Into<String>, args: Value) -> Self {
        self.and(Chunk::call(tool, args))
    }

    /// Then says this.
    pub fn and(self, chunk: Chunk) -> Self {
        self.speaking(|speech| speech.chunks.push(chunk))
    }

    /// Ends the answer for another reason than `STOP`: `MAX_TOKENS`, `SAFETY`.
    pub fn finish(self, reason: impl Into<String>) -> Self {
        self.speaking(|speech| speech.finish = Some(reason.into()))
    }

    /// Ends the answer without saying why, which the real service never does.
    pub fn no_finish(self) -> Self {
        self.speaking(|speech| speech.finish = None)
    }

    /// Counts these tokens instead of a few.
    pub fn usage(self, usage: ReportedUsage) -> Self {
        self.speaking(|speech| speech.usage = usage)
    }

    /// Names another model than the one that was asked.
    pub fn model_version(self, model: impl Into<String>) -> Self {
        self.speaking(|speech| speech.model_version = Some(model.into()))
    }

    /// Waits before the first byte of the answer.
    pub fn delay(mut self, delay: Duration) -> Self {
        self.delay = delay;
        self
    }

    /// Keeps the connection open after the last chunk, and says nothing more: not even why the answer ends.
    pub fn hang(mut self) -> Self {
        self.ending = BodyEnding::Hang(None);
        self
    }

    /// Says nothing for a while after the last chunk, then ends the answer.
    pub fn hang_for(mut self, duration: Duration) -> Self {
        self.ending = BodyEnding::Hang(Some(duration));
        self
    }

    /// Cuts the connection after the last chunk, which does not say that the answer ends.
    pub fn drop_connection(mut self) -> Self {
        self.ending = BodyEnding::Drop;
        self
    }

    fn new(answer: TurnAnswer) -> Self {
        Self {
            delay: Duration::ZERO,
            answer,
            ending: BodyEnding::Complete,
        }
    }

    fn speaking(mut self, change: impl FnOnce(&mut ModelSpeech)) -> Self {
        let mut speech = match self.answer {
            TurnAnswer::Speech(speech) => speech,
            TurnAnswer::Error(_) | TurnAnswer::Verbatim { .. } => ModelSpeech::default(),
        };
        change(&mut speech);
        self.answer = TurnAnswer::Speech(speech);
        self
    }
}

impl ModelSpeech {
    /// The chunks as they are sent: the last one says why it is the last, unless there is no end.
    pub(super) fn played(&self, ending: BodyEnding) -> Vec<Chunk> {
        let mut chunks = self.chunks.clone();
        if chunks.is_empty() {
            chunks.push(Chunk::content(ChunkContent::default()));
        }
        let ends = matches!(ending, BodyEnding::Complete | BodyEnding::Hang(Some(_)));
        if ends
            && let Some(ChunkData::Content(last)) = chunks.last_mut().map(|chunk| &mut chunk.data)
        {
            last.finish = last.finish.take().or_else(|| self.finish.clone());
            last.usage = last.usage.or(Some(self.usage));
        }
        chunks
    }
}

impl Default for ModelSpeech {
    fn default() -> Self {
        Self {
            chunks: Vec::new(),
            finish: Some("STOP".to_owned()),
            usage: ReportedUsage::default(),
            model_version: None,
        }
    }
}

impl From<&str> for Turn {
    fn from(text: &str) -> Self {
        Self::text(text)
    }
}

impl From<String> for Turn {
    fn from(text: String) -> Self {
        Self::text(text)
    }
}

impl From<ApiError> for Turn {
    fn from(error: ApiError) -> Self {
        Self::new(TurnAnswer::Error(error))
    }
}
