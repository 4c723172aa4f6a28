//! `stream_event` lines: the events of Anthropic's API, with `--include-partial-messages`.
//!
//! The whole block comes in an `assistant` line after its chunks. With chunks alone that line is a `stream_delta` of kind `block`
//! without text; with whole texts alone the lines of the chunks are carried by the next event, as an array.

use lapidary_json::{SharedToken, Token};
use lapidary_vocab::event::{
    Diagnostic, DiagnosticKind, StreamDelta, StreamDeltaKind, TextEvent, TextKind, UsageUpdate,
};
use lapidary_vocab::{ArrayBuilder, Body, Number, Text, TextBuilder};

use super::super::calls;
use super::{ClaudeStreamNormalizer, CurrentLine};
use crate::own::{self, string_token};
use crate::raw::RawContent;
use crate::stream_run::{LineInHand, StreamRun};
use crate::{DeltaMode, EventBuffer, NormalizeOptions};

/// A message that arrives in chunks.
#[derive(Debug)]
pub(super) struct PartialMessage {
    deltas: DeltaMode,
    keeps_lines: bool,
    /// The model that writes it.
    model: Option<Text>,
    /// The call whose arguments arrive.
    call_id: Option<Text>,
    /// The words of the block that arrives, until the block comes whole.
    words: Option<(TextKind, TextBuilder)>,
    /// Lines that the next event carries.
    held: Option<ArrayBuilder>,
}

impl PartialMessage {
    pub(super) fn new(options: &NormalizeOptions) -> Self {
        Self {
            deltas: options.deltas,
            keeps_lines: options.keep_raw && options.deltas == DeltaMode::Final,
            model: None,
            call_id: None,
            words: None,
            held: None,
        }
    }

    /// A block comes whole. `None` if the whole block becomes an event.
    pub(super) fn complete_block(&mut self, kind: &TextKind) -> Option<Body> {
        let (arrived, _) = self.words.take()?;
        let was_streamed = self.deltas == DeltaMode::Only && arrived == *kind;
        was_streamed.then(|| Body::StreamDelta(delta(StreamDeltaKind::Other("block".to_owned()))))
    }

    /// The first event of a line carries the lines that were held back, too.
    pub(super) fn join_held_lines(&mut self, hand: &mut LineInHand) {
        let is_first = !hand.has_event;
        if let Some(mut held) = self.held.take_if(|_| is_first) {
            if let Some(raw) = hand.raw.take() {
                held.push(&raw.into_json());
            }
            hand.raw = Some(RawContent::from_joined_lines(held.finish()));
        }
    }

    /// The stream ends within a message: words that did not come whole become an event as far as they came.
    pub(super) fn flush(&mut self, run: &mut StreamRun, out: &mut EventBuffer) {
        let lines = self.held.take().map(ArrayBuilder::finish);
        let mut raw = lines.map(RawContent::from_joined_lines);
        let words = self.words.take();
        let body = match words {
            Some((kind, text)) if self.deltas != DeltaMode::Only => Body::Text(TextEvent {
                text: text.to_text(),
                kind,
                parent_call_id: None,
                model: self.model.clone(),
            }),
            _ if raw.is_some() => Body::Diagnostic(Diagnostic {
                kind: DiagnosticKind::Protocol,
                message: "lines of a message without its end".to_owned(),
                count: None,
            }),
            _ => return,
        };
        out.push(run.stamp.next_event(body, &mut raw));
    }

    fn note_words(&mut self, kind: TextKind, text: &Text) {
        let same = matches!(&self.words, Some((known, _)) if *known == kind);
        if !same {
            self.words = Some((kind, TextBuilder::default()));
        }
        // With chunks alone memory does not grow with the message.
        if let Some((_, words)) = &mut self.words
            && self.deltas != DeltaMode::Only
        {
            words.push(text);
        }
    }

    fn hold_line(&mut self, hand: &mut LineInHand) {
        hand.has_event = true;
        if let Some(raw) = hand.raw.take().filter(|_| self.keeps_lines) {
            self.held.get_or_insert_default().push(&raw.into_json());
        }
    }

    /// The chunk of an event.
    fn chunk(&mut self, event: Token<'_>) -> StreamDelta {
        let word = string_token(event.get("type")).and_then(Token::string);
        let index = event.get("index");
        let kind = match word.as_deref() {
            Some("message_start") => {
                let model = event.get("message").and_then(|it| it.get("model"));
                self.model = string_token(model).map(own::owned_text);
                self.words = None;
                StreamDeltaKind::MessageStart
            }
            Some("message_stop") => StreamDeltaKind::MessageStop,
            Some("content_block_start") => {
                let id = event.get("content_block").and_then(|it| it.get("id"));
                self.call_id = string_token(id).map(own::owned_text);
                self.words = None;
                StreamDeltaKind::BlockStart
            }
            Some("content_block_stop") => StreamDeltaKind::BlockStop,
            Some("content_block_delta") => return self.block_chunk(event),
            other => StreamDeltaKind::Other(other.unwrap_or("event").to_owned()),
        };
        StreamDelta {
            block_index: number(index),
            call_id: match kind {
                StreamDeltaKind::BlockStart | StreamDeltaKind::BlockStop => self.call_id.clone(),
                _ => None,
            },
            ..delta(kind)
        }
    }

    fn block_chunk(&mut self, event: Token<'_>) -> StreamDelta {
        let inner = event.get("delta");
        let text = |key| string_token(inner.and_then(|it| it.get(key))).map(own::owned_text);
        let word = string_token(inner.and_then(|it| it.get("type"))).and_then(Token::string);
        let index = number(event.get("index"));
        let (kind, words) = match word.as_deref() {
            Some("text_delta") => (StreamDeltaKind::Text, text("text")),
            Some("thinking_delta") => (StreamDeltaKind::Thinking, text("thinking")),
            Some("input_json_delta") => {
                return StreamDelta {
                    json_delta: text("partial_json"),
                    call_id: self.call_id.clone(),
                    block_index: index,
                    ..delta(StreamDeltaKind::ToolInput)
                };
            }
            other => {
                let word = other.unwrap_or("delta").to_owned();
                return StreamDelta {
                    block_index: index,
                    ..delta(StreamDeltaKind::Other(word))
                };
            }
        };
        if let Some(words) = &words {
            let told = if kind == StreamDeltaKind::Text {
                TextKind::Text
            } else {
                TextKind::Thinking
            };
            self.note_words(told, words);
        }
        StreamDelta {
            text_delta: words,
            block_index: index,
            ..delta(kind)
        }
    }
}

impl ClaudeStreamNormalizer {
    pub(super) fn translate_stream_event(&mut self, current: &mut CurrentLine<'_, '_>) {
        let Some(event) = current.line.event else {
            return self.emit_state("an event without content", current);
        };
        let usage = event.get("usage").and_then(calls::step_usage);
        let is_end = event.get("type").is_some_and(|it| it.is("message_delta"));
        if let Some(step_usage) = usage.filter(|_| is_end) {
            let body = UsageUpdate {
                parent_call_id: None,
                model: self.partial.model.clone(),
                step_usage,
            };
            return self.emit(Body::UsageUpdate(body), current);
        }
        let mut chunk = self.partial.chunk(event);
        chunk.parent_call_id = current.line.parent_tool_use_id.map(own::owned_text);
        self.run.has_spoken |= chunk.text_delta.is_some() || chunk.json_delta.is_some();
        if self.partial.deltas == DeltaMode::Final {
            self.partial.hold_line(&mut current.hand);
        } else {
            self.emit(Body::StreamDelta(chunk), current);
        }
    }
}

fn delta(kind: StreamDeltaKind) -> StreamDelta {
    StreamDelta {
        kind,
        text_delta: None,
        json_delta: None,
        block_index: None,
        call_id: None,
        parent_call_id: None,
    }
}

fn number(token: Option<Token<'_>>) -> Option<Number> {
    Number::from_token(SharedToken::from(token?))
}
