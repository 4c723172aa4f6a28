//! A stream on stdin, as text on stdout, each line as it comes.
//!
//! ```sh
//! cargo run -p lapidary --example translate < fixtures/gemini-0.61.0/sess-a.stdout.jsonl
//! ```

use lapidary::normalize::Normalizer as _;
use std::io::{self, Read as _};

use lapidary::normalize::{NormalizeOptions, ProcessEnd, gemini::stream::StreamNormalizer};
use lapidary::render::Renderer as _;
use lapidary::render::text::{self, TextRenderer};
use lapidary::wire::lines::LineBuffer;

fn main() -> io::Result<()> {
    let (mut input, mut output) = (io::stdin().lock(), io::stdout().lock());
    let mut normalizer = StreamNormalizer::new(&NormalizeOptions::new("example"));
    let mut renderer = TextRenderer::new(text::TextOptions { colour: false });
    let mut lines = LineBuffer::default();
    let mut events = Vec::new();
    loop {
        let count = input.read(lines.room())?;
        lines.filled(count);
        while let Some(line) = lines.next_line() {
            normalizer.push(line, None, &mut events);
        }
        if count == 0 {
            break;
        }
        for event in events.drain(..) {
            renderer.event(&event, &mut output)?;
        }
    }
    if let Some(line) = lines.last_line() {
        normalizer.push(line, None, &mut events);
    }
    normalizer.finish(&ProcessEnd::default(), &mut events);
    for event in &events {
        renderer.event(event, &mut output)?;
    }
    renderer.finish(&mut output)
}
