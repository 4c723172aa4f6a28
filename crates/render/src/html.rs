//! The transcript as one self-contained page: no script, nothing loaded, light and dark, made to be read and printed.
//!
//! | module | writes |
//! |---|---|
//! | `page` | the frame |
//! | `masthead` | the header with the facts, the list of prompts |
//! | `closing` | the footer with the verdict and the accounts |
//! | `item` | prompts, answers, thoughts, notices |
//! | `tool` | tool calls and their parts: diffs, files, terminals |
//! | `prose` | Markdown as HTML |
//! | `code` | code with its colours |
//! | `fragments` | blocks of a run that goes on |
//! | `failures` | links from one failure to the next |
//! | `escape` | the only way in for a text |

mod closing;
mod code;
mod escape;
mod failures;
mod fragments;
mod item;
mod masthead;
mod page;
mod prose;
mod tool;

use std::io;

pub use fragments::{
    FragmentWriter, HtmlFragment, TRANSCRIPT_STYLE, TranscriptFacts, permission_html,
};
use lapidary_vocab::Event;

use crate::Renderer;
use crate::outline::{Outline, OutlineCursor};
use crate::transcript::{Transcript, TranscriptItem};
use item::ItemWriter;

/// Writes a transcript as an HTML page when it is finished: the header tells what only the end knows. Given an [`Outline`], it
/// writes as it goes.
#[derive(Debug, Default)]
pub struct HtmlRenderer {
    transcript: Transcript,
    ahead: Option<OutlineCursor>,
    items: ItemWriter,
    has_written: bool,
}

impl HtmlRenderer {
    /// One that knows how it will end.
    pub fn knowing(outline: Outline) -> Self {
        let ahead = OutlineCursor::new(outline);
        Self {
            transcript: ahead.transcript.for_second_pass(),
            ahead: Some(ahead),
            ..Self::default()
        }
    }

    fn write_items(&mut self, items: &[TranscriptItem], out: &mut dyn io::Write) -> io::Result<()> {
        for item in items {
            self.has_written |= page::write_item(&mut self.items, item, out)?;
        }
        Ok(())
    }

    fn begin_page(&mut self, out: &mut dyn io::Write) -> io::Result<()> {
        let transcript = match &self.ahead {
            Some(ahead) if ahead.has_begun() => return Ok(()),
            Some(ahead) => &ahead.transcript,
            None => &self.transcript,
        };
        self.items = ItemWriter::new(transcript);
        page::begin_page(transcript, out)
    }
}

impl Renderer for HtmlRenderer {
    fn event(&mut self, event: &Event, out: &mut dyn io::Write) -> io::Result<()> {
        self.transcript.push(event);
        if self.ahead.is_none() {
            return Ok(());
        }
        self.begin_page(out)?;
        let finished = self.transcript.take_finished();
        self.write_items(&finished, out)
    }

    fn finish(&mut self, out: &mut dyn io::Write) -> io::Result<()> {
        self.transcript.close_transcript();
        self.begin_page(out)?;
        let rest = std::mem::take(&mut self.transcript.items);
        self.write_items(&rest, out)?;
        page::end_page(&self.transcript, !self.has_written, out)
    }
}
