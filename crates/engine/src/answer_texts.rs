//! The messages of an agent's turn, for the caller that looks for data in them.

use lapidary_vocab::event::{StreamDeltaKind, TextKind};
use lapidary_vocab::{Body, Event};

/// How many bytes of one turn are kept; of more text, the newest messages. A longer message is cut, and its data does not fit.
const MOST_BYTES: usize = 16 << 20;

/// Collects the messages of a turn. A tool call ends a message.
#[derive(Debug, Default)]
pub(crate) struct AnswerTexts {
    messages: Vec<String>,
    is_open: bool,
    bytes: usize,
}

impl AnswerTexts {
    /// Takes in an event.
    pub(crate) fn note_event(&mut self, event: &Event) {
        let extensions = &event.base.extensions;
        if extensions.contains_key("acp.replay") || extensions.contains_key("acp.outOfTurn") {
            return;
        }
        match &event.body {
            Body::StreamDelta(delta)
                if delta.kind == StreamDeltaKind::Text && delta.parent_call_id.is_none() =>
            {
                if let Some(text) = &delta.text_delta {
                    self.add_text(&text.to_str());
                }
            }
            Body::Text(text) if text.kind == TextKind::Text && text.parent_call_id.is_none() => {
                let text = text.text.to_str();
                // With `--deltas both`, a message follows its chunks.
                let is_repeated =
                    self.is_open && self.messages.last().is_some_and(|it| *it == text);
                if !is_repeated {
                    self.add_text(&text);
                }
            }
            Body::ToolInvocation(_) | Body::ToolCompletion(_) => self.is_open = false,
            _ => {}
        }
    }

    /// A piece of the message under way.
    pub(crate) fn add_text(&mut self, text: &str) {
        if !self.is_open {
            self.messages.push(String::new());
            self.is_open = true;
        }
        while self.bytes + text.len() > MOST_BYTES && self.messages.len() > 1 {
            self.bytes -= self.messages.remove(0).len();
        }
        let room = text.floor_char_boundary(MOST_BYTES.saturating_sub(self.bytes));
        if let Some(open) = self.messages.last_mut() {
            open.push_str(&text[..room]);
            self.bytes += room;
        }
    }

    /// The messages so far. The next one begins a new turn.
    pub(crate) fn take_messages(&mut self) -> Vec<String> {
        std::mem::take(self).messages
    }
}
