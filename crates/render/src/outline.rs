//! What a header tells and only the end knows, for renderers that are to write before the end: whoever can have the events twice
//! takes an outline first, and nothing has to be held.

use std::cell::Cell;

use lapidary_vocab::Event;

use crate::transcript::Transcript;

/// The facts, the accounts and the prompts of a conversation, and none of what was said.
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
