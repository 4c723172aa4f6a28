//! Events that were printed and read back look as they did when they came from the agent.

use std::fs;

use lapidary_render::Renderer;
use lapidary_render::markdown::MarkdownRenderer;
use lapidary_render::text::{Options, TextRenderer};
use lapidary_testkit::captures::{self, Kind};
use lapidary_vocab::Event;

fn rendered(events: &[Event], mut renderer: impl Renderer) -> String {
    let mut out = Vec::new();
    for event in events {
        renderer
            .event(event, &mut out)
            .expect("memory can be written");
    }
    renderer.finish(&mut out).expect("memory can be written");
    String::from_utf8(out).expect("a transcript is text")
}

/// Session files are left out: their transcripts are made in another order than their events.
#[test]
fn golden_events_give_the_golden_text_and_markdown() {
    let is_run = |capture: &captures::Capture| capture.kind != Kind::Session;
    for capture in captures::all().into_iter().filter(is_run) {
        let folder = captures::fixtures().join("../golden").join(&capture.name);
        let text = |file| fs::read_to_string(folder.join(file)).unwrap();
        let events: Vec<_> = text("events.jsonl")
            .lines()
            .map(|line| Event::from_json(line).unwrap())
            .collect();
        let plain = TextRenderer::new(Options { colour: false });
        assert_eq!(
            rendered(&events, plain),
            text("text.txt"),
            "{}",
            capture.name
        );
        let markdown = MarkdownRenderer::default();
        assert_eq!(
            rendered(&events, markdown),
            text("transcript.md"),
            "{}",
            capture.name
        );
    }
}
