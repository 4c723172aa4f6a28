//! The facts of a header that only the end of a conversation knows, for renderers that write before the end. A caller that can
//! read the events twice takes an outline first, and no text has to be held back.

use std::cell::Cell;

use lapidary_vocab::Event;

use crate::transcript::Transcript;

/// The facts, the accounts and the prompts of a conversation, without its text.
#[derive(Debug, Default)]
pub struct Outline {
    transcript: Transcript,
}

impl Outline {
    /// Takes the next event in.
    pub fn event(&mut self, event: &Event) {
        self.transcript.push(event);
        self.transcript.forget_items();
    }
}

/// An outline in use.
#[derive(Debug)]
pub(crate) struct OutlineCursor {
    pub(crate) transcript: Transcript,
    has_begun: Cell<bool>,
}

impl OutlineCursor {
    pub(crate) fn new(outline: Outline) -> Self {
        Self {
            transcript: outline.transcript,
            has_begun: Cell::new(false),
        }
    }

    /// False the first time.
    pub(crate) fn has_begun(&self) -> bool {
        self.has_begun.replace(true)
    }
}
