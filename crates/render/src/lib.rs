//! Events as text, Markdown and HTML for people.
//!
//! | module | for | how |
//! |---|---|---|
//! | [`text`] | a terminal | every event is written as it comes |
//! | [`markdown`] | a pull request, a wiki, an issue | folded into a transcript, written at the end |
//! | [`html`] | a browser, a printer, an archive | the same transcript as one self-contained page |
//! | [`live`] | a terminal with a person before it | rows, some of them redrawn until they are settled |
//! | [`plain`] | all of them | an agent's words, without characters that could fool a terminal or a reader |
//!
//! Everything an agent said is hostile here: file contents, web pages and model output all end up in a transcript. Each
//! format has one place that makes text harmless, and nothing reaches the output around it. Words are never dropped in
//! silence: folded and cut text says how much.
//!
//! ```
//! use lapidary_render::{Renderer, text};
//! # let line = r#"{"event":"text","text":"hi","kind":"text","id":"r-0","seq":0,"provider":"gemini"}"#;
//! let event = lapidary_vocab::Event::from_json(line).unwrap();
//! let mut renderer = text::TextRenderer::new(text::TextOptions { colour: false });
//! let mut out = Vec::new();
//! renderer.event(&event, &mut out).unwrap();
//! renderer.finish(&mut out).unwrap();
//! assert_eq!(out, b"hi\n");
//! ```

mod call_state;
mod code;
pub mod diff;
mod echo;
mod ink;
mod json_text;
mod link;
mod notice;
mod notices;
mod permission;
mod preview;
mod times;
mod tool;
mod tool_argument;
mod totals;
mod transcript;
mod words;

pub mod html;
pub mod live;
pub mod markdown;
pub mod outline;
pub mod plain;
pub mod text;

use std::io;

use lapidary_vocab::Event;

/// The extension of a `turn_complete` or a `usage_update` that has a cost in US dollars which was computed from tokens. Renderers show it
/// with `~`, where the agent reports none.
pub const COMPUTED_COST: &str = "lapidary.computedCostUsd";

/// Writes events for people. One renderer per transcript.
pub trait Renderer {
    /// Takes the next event, and writes as much as can be written already.
    fn event(&mut self, event: &Event, out: &mut dyn io::Write) -> io::Result<()>;

    /// Writes the text that was held back. To be called once, after the last event.
    fn finish(&mut self, out: &mut dyn io::Write) -> io::Result<()>;
}
