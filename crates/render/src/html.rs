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
//! | `escape` | the only way in for a text |

mod closing;
mod code;
mod escape;
mod item;
mod masthead;
mod page;
mod prose;
mod tool;

use std::io;

use lapidary_vocab::Event;

use crate::Renderer;
use crate::transcript::Transcript;

/// Writes a transcript as an HTML page when it is finished: the header tells what only the end knows.
#[derive(Debug, Default)]
pub struct HtmlRenderer {
    transcript: Transcript,
}

impl Renderer for HtmlRenderer {
    fn event(&mut self, event: &Event, _out: &mut dyn io::Write) -> io::Result<()> {
        self.transcript.push(event);
        Ok(())
    }

    fn finish(&mut self, out: &mut dyn io::Write) -> io::Result<()> {
        page::write(&self.transcript, out)
    }
}
