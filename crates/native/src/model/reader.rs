//! The body of an answer, as it streams in, into parts.

use lapidary_json::Token;
use lapidary_wire::sse::{EventBuffer, EventTooLarge};

use super::content::ModelPart;
use super::error::ModelError;
use super::quota::error_of;
use super::{ModelAnswer, ModelEvent, TokenUsage};

/// How many bytes the parts of one answer may have together.
const ANSWER_BYTES: usize = 64 * 1024 * 1024;

/// Reads the server-sent events of one answer.
#[derive(Debug, Default)]
pub struct AnswerReader {
    events: EventBuffer,
    answer: ModelAnswer,
    block_reason: Option<String>,
    bytes: usize,
}

impl AnswerReader {
    /// Takes up bytes of the body, and tells `listener` the parts in it.
    pub fn push(
        &mut self,
        bytes: &[u8],
        listener: &mut (dyn FnMut(ModelEvent) + Send),
    ) -> Result<(), ModelError> {
        self.bytes += bytes.len();
        if self.bytes > ANSWER_BYTES {
            return Err(too_large(ANSWER_BYTES));
        }
        self.events.push(bytes);
        let limit = |EventTooLarge { limit }| too_large(limit);
        while let Some(event) = self.events.next_event().map_err(limit)? {
            self.take_response(&event.data, listener)?;
        }
        Ok(())
    }

    /// The whole answer, once the body has ended.
    pub fn finish(
        mut self,
        listener: &mut (dyn FnMut(ModelEvent) + Send),
    ) -> Result<ModelAnswer, ModelError> {
        if let Some(event) = std::mem::take(&mut self.events).unfinished() {
            self.take_response(&event.data, listener)
                .map_err(|_| cut_stream_error("the last event is incomplete"))?;
        }
        if let Some(reason) = self.block_reason {
            return Err(ModelError::BlockedPrompt { reason });
        }
        let answer = self.answer;
        if answer.calls().next().is_some() {
            return Ok(answer);
        }
        match &answer.finish_reason {
            None => Err(cut_stream_error("there is no finish reason")),
            Some(reason) if reason == "MALFORMED_FUNCTION_CALL" => {
                Err(malformed_error("the model made a malformed call"))
            }
            Some(_) if answer.text().is_empty() => Err(ModelError::EmptyAnswer {
                finish_reason: answer.finish_reason,
            }),
            Some(_) => Ok(answer),
        }
    }

    /// One response object.
    fn take_response(
        &mut self,
        data: &[u8],
        listener: &mut (dyn FnMut(ModelEvent) + Send),
    ) -> Result<(), ModelError> {
        let text = std::str::from_utf8(data).map_err(|_| malformed_error("it is not UTF-8"))?;
        let response =
            Token::parse(text).map_err(|_| malformed_error("an event is not valid JSON"))?;
        if let Some(error) = response.get("error").and_then(Token::non_null) {
            let status = error.get("code").and_then(Token::u64);
            let status = status.and_then(|code| u16::try_from(code).ok());
            return Err(error_of(status.unwrap_or(500), text.as_bytes(), None));
        }
        self.take_counts(response);
        let candidate = response
            .get("candidates")
            .and_then(|list| list.elements().next());
        let Some(candidate) = candidate else {
            return Ok(());
        };
        if let Some(reason) = string_of(candidate, "finishReason") {
            self.answer.finish_reason = Some(reason);
        }
        let parts = candidate
            .get("content")
            .and_then(|content| content.get("parts"));
        for part in parts.into_iter().flat_map(Token::elements) {
            let part = ModelPart::from_token(part);
            listener(ModelEvent::Part(part.clone()));
            self.answer.parts.push(part);
        }
        Ok(())
    }

    fn take_counts(&mut self, response: Token<'_>) {
        if let Some(usage) = response.get("usageMetadata") {
            let count = |key| usage.get(key).and_then(Token::u64).unwrap_or_default();
            self.answer.usage = Some(TokenUsage {
                prompt: count("promptTokenCount"),
                output: count("candidatesTokenCount"),
                thoughts: count("thoughtsTokenCount"),
                cached: count("cachedContentTokenCount"),
                total: count("totalTokenCount"),
            });
        }
        if let Some(version) = string_of(response, "modelVersion") {
            self.answer.model_version = Some(version);
        }
        if let Some(feedback) = response.get("promptFeedback")
            && let Some(reason) = string_of(feedback, "blockReason")
        {
            self.block_reason = Some(reason);
        }
    }
}

fn string_of(token: Token<'_>, key: &str) -> Option<String> {
    token.get(key).and_then(Token::string).map(String::from)
}

fn cut_stream_error(reason: &str) -> ModelError {
    ModelError::CutStream {
        reason: reason.to_owned(),
    }
}

fn malformed_error(reason: &str) -> ModelError {
    ModelError::MalformedAnswer {
        reason: reason.to_owned(),
    }
}

fn too_large(limit: usize) -> ModelError {
    malformed_error(&format!("it is over the limit of {limit} bytes"))
}
