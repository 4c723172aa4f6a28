//! Lapidary as a library: the front door to its crates.
//!
//! | module | what |
//! |---|---|
//! | [`wire`] | what agents write, field for field |
//! | [`normalize`] | from their words to ours: pure state machines |
//! | [`vocab`] | our published vocabularies and their JSON Schemas |
//! | [`render`] | events as text, Markdown and HTML |
//! | [`drive`] | running agents: configuration, detection, arguments |
//! | [`gemini`] | what lies in `.gemini`: settings, trust, extensions, hooks, skills |
//! | [`sessions`] | recorded sessions: lists, search, statistics, the vault; one session as messages |
//! | [`standin`] | what stands in for agents and models: the demo |
//!
//! A stream in, events out:
//!
//! ```
//! use lapidary::normalize::{Ending, Options, gemini::stream::StreamNormalizer};
//! use lapidary::vocab::Body;
//! use lapidary::wire::lines::LineBuffer;
//!
//! let mut lines = LineBuffer::default();
//! lines.push(b"{\"type\":\"message\",\"role\":\"assistant\",\"content\":\"Hi.\",\"delta\":true}\n");
//! lines.push(b"{\"type\":\"result\",\"status\":\"success\"}\n");
//!
//! let mut normalizer = StreamNormalizer::new(&Options::new("run-1"));
//! let mut events = Vec::new();
//! while let Some(line) = lines.next_line() {
//!     normalizer.push(line, None, &mut events);
//! }
//! if let Some(line) = lines.last_line() {
//!     normalizer.push(line, None, &mut events); // it may lack its newline
//! }
//! normalizer.finish(&Ending { exit_code: Some(0), ..Ending::default() }, &mut events);
//!
//! assert!(matches!(&events[0].body, Body::StreamDelta(delta) if delta.text_delta.as_ref().unwrap() == "Hi."));
//! assert!(matches!(&events[2].body, Body::RunEnd(end) if end.outcome.as_str() == "completed"));
//! ```

pub mod sessions;

pub use lapidary_drive as drive;
pub use lapidary_gemini as gemini;
pub use lapidary_normalize as normalize;
pub use lapidary_render as render;
pub use lapidary_standin as standin;
pub use lapidary_vocab as vocab;
pub use lapidary_wire as wire;
