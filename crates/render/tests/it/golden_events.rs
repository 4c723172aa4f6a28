//! Events that were printed and read back look as they did when they came from the agent.

use std::fs;

use lapidary_render::Renderer;
use lapidary_render::markdown::MarkdownRenderer;
use lapidary_render::text::{TextOptions, TextRenderer};
use lapidary_testkit::captures::{self, CaptureKind};
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

/// The golden files have costs, which the command line computes by its prices.
fn without_costs(golden: &str) -> String {
    let kept = golden
        .lines()
        .filter(|line| !line.starts_with("| Cost | ~"));
    let mut text = String::new();
    for line in kept {
        let parts: Vec<_> = line.split(" · ").collect();
        let is_cost = |part: &str| part.trim_start_matches('\\').starts_with("~$");
        let ends_cursive = parts
            .last()
            .is_some_and(|last| is_cost(last) && last.ends_with('*'));
        let parts: Vec<_> = parts.into_iter().filter(|part| !is_cost(part)).collect();
        text += &parts.join(" · ");
        text += if ends_cursive { "*\n" } else { "\n" };
    }
    text
}

/// Session files are skipped: their transcripts are made in another order than their events.
#[test]
fn golden_events_give_the_golden_text_and_markdown() {
    let is_run = |capture: &captures::Capture| capture.kind != CaptureKind::Session;
    for capture in captures::all().into_iter().filter(is_run) {
        let folder = captures::fixtures().join("../golden").join(&capture.name);
        let text = |file| fs::read_to_string(folder.join(file)).unwrap();
        let events: Vec<_> = text("events.jsonl")
            .lines()
            .map(|line| Event::from_json(line).unwrap())
            .collect();
        let plain = TextRenderer::new(TextOptions { colour: false });
        assert_eq!(
            rendered(&events, plain),
            without_costs(&text("text.txt")),
            "{}",
            capture.name
        );
        let markdown = MarkdownRenderer::default();
        assert_eq!(
            rendered(&events, markdown),
            without_costs(&text("transcript.md")),
            "{}",
            capture.name
        );
    }
}
