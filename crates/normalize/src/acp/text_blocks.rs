//! The agent's messages, chunk by chunk, and the blocks of text and of thoughts in them.
//!
//! Where deltas are passed on, a message and its blocks are framed by `messageStart`, `blockStart`, `blockStop` and
//! `messageStop`. These are ours and carry no line: a line's own event does.

use std::collections::VecDeque;
use std::sync::Arc;

use lapidary_json::{SharedToken, Token, TokenKind};
use lapidary_vocab::event::{StreamDelta, StreamDeltaKind, TextEvent, TextKind};
use lapidary_vocab::{Body, Json, Number, Text};
use lapidary_wire::acp::update::{MessageChunk, PlainChunk};

use super::line::{AcpLine, LineExtras};
use super::{AcpNormalizer, content, usage};
use crate::joined::JoinedText;
use crate::raw::RawContent;
use crate::verdict::AgentActivity;
use crate::{DeltaMode, EventBuffer, own};

/// The message under way.
#[derive(Debug, Default)]
pub(super) struct OpenSpeech {
    message: Option<OpenMessage>,
    /// The block that is being joined, unless deltas are passed on alone.
    joined: Option<JoinedBlock>,
    /// The newest messages that were streamed and have an id.
    streamed: VecDeque<Text>,
}

/// How many messages are remembered as streamed.
const MOST_STREAMED: usize = 64;

impl OpenSpeech {
    /// True if this message was streamed, chunk by chunk.
    pub(super) fn has_streamed(&self, id: Option<Token<'_>>) -> bool {
        own::string_token(id).is_some_and(|id| self.streamed.contains(&own::owned_text(id)))
    }

    fn note_streamed(&mut self, id: &Text) {
        if self.streamed.len() >= MOST_STREAMED {
            self.streamed.pop_front();
        }
        self.streamed.push_back(id.clone());
    }
}

#[derive(Debug)]
struct OpenMessage {
    id: Option<Text>,
    session: Option<Text>,
    /// The call in which a sub-agent says it.
    parent: Option<Text>,
    /// The kind of the open block, if one is open.
    block: Option<StreamDeltaKind>,
    /// How many blocks were begun.
    blocks: u64,
    /// Chunks of the usual spelling need no second look: nothing is to be said about them.
    is_plain: bool,
}

/// A block whose chunks are joined.
#[derive(Debug)]
struct JoinedBlock {
    text: JoinedText,
    /// Those of its first chunk.
    tags: Vec<&'static str>,
}

impl AcpNormalizer {
    /// A chunk in the usual spelling, in the middle of an answer. True if it was passed on.
    pub(super) fn goes_on(
        &mut self,
        chunk: &PlainChunk<'_>,
        text: &Arc<str>,
        out: &mut EventBuffer,
    ) -> bool {
        let Some(message) = &self.speech.message else {
            return false;
        };
        let is_same = message
            .session
            .as_ref()
            .is_some_and(|session| chunk.session_id.is(&session.to_str()));
        let is_open = message.block == Some(StreamDeltaKind::Text) && message.is_plain;
        if self.deltas != DeltaMode::Only || !is_open || !is_same {
            return false;
        }
        let index = message.blocks - 1;
        if !chunk.text.is("") {
            self.verdict.note_activity(AgentActivity::Words);
        }
        let words = Text::from_token(SharedToken::new(text, chunk.text));
        let mut raw = self
            .stamp
            .keep_raw
            .then(|| RawContent::from_json_line(text, chunk.whole));
        let body = text_delta(StreamDeltaKind::Text, Some(words), Some(index));
        out.push(self.stamp.next_event(body, &mut raw));
        true
    }

    /// A chunk of an answer or of a thought.
    pub(super) fn take_chunk(
        &mut self,
        kind: StreamDeltaKind,
        chunk: &MessageChunk<'_>,
        current: &mut AcpLine<'_>,
        out: &mut EventBuffer,
    ) {
        let counts = chunk.meta.and_then(|meta| meta.get("usage"));
        let counts = counts.and_then(|counts| counts.if_kind(TokenKind::Object));
        let Some(block) = chunk.content else {
            return current.complain_of_missing("content", None);
        };
        match content::block_text(block) {
            // Some agents count tokens on a chunk that says nothing.
            Some(words) if words.is("") && counts.is_some() => {}
            Some(words) => {
                let words = current.shared_text(words);
                self.begin_block(&kind, chunk.message_id, current, out);
                self.pass_on(kind, words, Vec::new(), current, out);
            }
            None => {
                let extra = vec![("acp.content", current.shared_json(block))];
                self.begin_block(&kind, chunk.message_id, current, out);
                self.pass_on(kind, Text::default(), extra, current, out);
            }
        }
        if let Some(counts) = counts {
            self.take_step_usage(counts, current, out);
        }
    }

    fn pass_on(
        &mut self,
        kind: StreamDeltaKind,
        words: Text,
        extra: LineExtras,
        current: &mut AcpLine<'_>,
        out: &mut EventBuffer,
    ) {
        let index = self.speech.message.as_ref().map(|open| open.blocks - 1);
        if self.deltas != DeltaMode::Only {
            let since = self.stamp.timestamp.as_ref();
            let block = self.speech.joined.get_or_insert_with(|| JoinedBlock {
                text: JoinedText::begun_at(since),
                tags: current.tags.clone(),
            });
            let carries =
                self.deltas == DeltaMode::Final && self.stamp.keep_raw && extra.is_empty();
            let line = carries.then(|| current.raw.take()).flatten();
            block.text.push(&words, line);
            current.has_event |= self.deltas == DeltaMode::Final;
        }
        if self.deltas != DeltaMode::Final {
            self.emit_event(text_delta(kind, Some(words), index), extra, current, out);
        } else if !extra.is_empty() {
            // Content that is no text cannot be joined: it is an event of its own.
            self.emit_event(whole_text(&kind, words), extra, current, out);
        }
    }

    fn begin_block(
        &mut self,
        kind: &StreamDeltaKind,
        message_id: Option<Token<'_>>,
        current: &AcpLine<'_>,
        out: &mut EventBuffer,
    ) {
        let id = own::string_token(message_id).map(own::owned_text);
        let session = self.stamp.session_id.clone();
        let is_another = self.speech.message.as_ref().is_some_and(|open| {
            let has_other_id = open.id.is_some() && id.is_some() && open.id != id;
            has_other_id || open.session != session || open.parent != current.parent
        });
        if is_another {
            self.end_message(out);
        }
        if self.speech.message.is_none() {
            if let Some(id) = &id {
                self.speech.note_streamed(id);
            }
            let extra = id.iter().map(|id| ("acp.messageId", Json::from(id)));
            let extra = extra.collect();
            let parent = current.parent.as_ref();
            self.emit_block_frame(StreamDeltaKind::MessageStart, parent, None, extra, out);
        }
        let is_plain = current.tags.is_empty() && current.parent.is_none();
        let mut open = self.speech.message.take().unwrap_or(OpenMessage {
            id,
            session,
            parent: current.parent.clone(),
            block: None,
            blocks: 0,
            is_plain,
        });
        let goes_on = open.block.as_ref() == Some(kind);
        let ends = open.block.is_some() && !goes_on;
        if !goes_on && !ends {
            open.blocks += 1;
            open.block = Some(kind.clone());
        }
        let index = open.blocks - 1;
        self.speech.message = Some(open);
        if ends {
            self.end_block(out);
            return self.begin_block(kind, message_id, current, out);
        }
        if !goes_on {
            let sort = Json::from_value(&kind.as_str());
            let extra = vec![("acp.blockType", sort)];
            let parent = current.parent.as_ref();
            self.emit_block_frame(StreamDeltaKind::BlockStart, parent, Some(index), extra, out);
        }
    }

    /// The open block is complete: other content follows.
    pub(super) fn end_block(&mut self, out: &mut EventBuffer) {
        let Some(open) = &mut self.speech.message else {
            return;
        };
        let Some(kind) = open.block.take() else {
            return;
        };
        let index = open.blocks - 1;
        let (session, parent) = (open.session.clone(), open.parent.clone());
        let now = std::mem::replace(&mut self.stamp.session_id, session);
        let parent = parent.as_ref();
        self.emit_block_frame(
            StreamDeltaKind::BlockStop,
            parent,
            Some(index),
            Vec::new(),
            out,
        );
        self.flush_block(&kind, parent, out);
        self.stamp.session_id = now;
    }

    /// The open message is complete: the turn is over.
    pub(super) fn end_message(&mut self, out: &mut EventBuffer) {
        self.end_block(out);
        if let Some(open) = self.speech.message.take() {
            let now = std::mem::replace(&mut self.stamp.session_id, open.session);
            let parent = open.parent.as_ref();
            self.emit_block_frame(StreamDeltaKind::MessageStop, parent, None, Vec::new(), out);
            self.stamp.session_id = now;
        }
    }

    /// The block that was being joined.
    fn flush_block(
        &mut self,
        kind: &StreamDeltaKind,
        parent: Option<&Text>,
        out: &mut EventBuffer,
    ) {
        let Some(JoinedBlock { text, tags }) = self.speech.joined.take() else {
            return;
        };
        if text.is_empty() {
            return;
        }
        let (words, mut raw, since) = text.finish();
        let now = std::mem::replace(&mut self.stamp.timestamp, since);
        let body = super::with_parent_call(whole_text(kind, words), parent);
        let mut event = self.stamp.next_event(body, &mut raw);
        for tag in tags {
            event
                .base
                .extensions
                .insert(tag.to_owned(), Json::from_value(&true));
        }
        out.push(event);
        self.stamp.timestamp = now;
    }

    fn emit_block_frame(
        &mut self,
        kind: StreamDeltaKind,
        parent: Option<&Text>,
        index: Option<u64>,
        extra: LineExtras,
        out: &mut EventBuffer,
    ) {
        if self.deltas == DeltaMode::Final {
            return;
        }
        let body = super::with_parent_call(text_delta(kind, None, index), parent);
        let mut event = self.stamp.next_event(body, &mut None);
        let extra = extra
            .into_iter()
            .map(|(key, value)| (key.to_owned(), value));
        event.base.extensions.extend(extra);
        out.push(event);
    }

    /// Tokens of one request to the model.
    fn take_step_usage(
        &mut self,
        counts: Token<'_>,
        current: &mut AcpLine<'_>,
        out: &mut EventBuffer,
    ) {
        let session = self.sessions.session_mut(self.stamp.session_id.as_ref());
        session.steps.add_counts(counts);
        let body = usage::step_usage(counts);
        self.emit_event(body, Vec::new(), current, out);
    }
}

fn text_delta(kind: StreamDeltaKind, words: Option<Text>, index: Option<u64>) -> Body {
    Body::StreamDelta(StreamDelta {
        kind,
        text_delta: words,
        json_delta: None,
        block_index: index.map(Number::from),
        call_id: None,
        parent_call_id: None,
    })
}

fn whole_text(kind: &StreamDeltaKind, text: Text) -> Body {
    Body::Text(TextEvent {
        text,
        kind: match kind {
            StreamDeltaKind::Thinking => TextKind::Thinking,
            _ => TextKind::Text,
        },
        parent_call_id: None,
        model: None,
    })
}
