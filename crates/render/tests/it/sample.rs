//! Events built by hand, shaped like those of real runs (`tool-write_file`, `tool-denied-default-mode-write`, …).

use lapidary_render::Renderer;
use lapidary_render::html::HtmlRenderer;
use lapidary_render::markdown::MarkdownRenderer;
use lapidary_render::text::{TextOptions, TextRenderer};
use lapidary_vocab::Event;

pub(crate) const INIT: &str = r#"{"event":"session_init","model":"gemini-2.5-flash"}"#;
pub(crate) const ASKS: &str = r#"{"event":"user_input","text":"write"}"#;
pub(crate) const CALLS: &str = r#"{"event":"tool_invocation","callId":"c1","toolName":"write_file","kind":"edit","input":{"file_path":"new.txt","content":"one\ntwo\n"}}"#;
pub(crate) const DONE: &str = r#"{"event":"tool_completion","callId":"c1","status":"completed"}"#;
pub(crate) const DENIED: &str = r#"{"event":"tool_completion","callId":"c1","status":"failed","isError":true,"output":"Tool \"write_file\" not found."}"#;
pub(crate) const TURN: &str = r#"{"event":"turn_complete","subtype":"success","durationMs":1260,"usage":{"inputTokens":200,"outputTokens":20},"modelUsage":{"gemini-2.5-flash":{"inputTokens":200,"outputTokens":20}}}"#;
pub(crate) const END: &str =
    r#"{"event":"run_end","outcome":"completed","cause":"end_turn","exitCode":0}"#;

/// A chunk of an answer.
pub(crate) fn delta(text: &str) -> String {
    format!(
        r#"{{"event":"stream_delta","kind":"text","textDelta":{}}}"#,
        quoted(text)
    )
}

/// Text as a JSON string.
pub(crate) fn quoted(text: &str) -> String {
    lapidary_vocab::Json::from_value(&text).as_str().to_owned()
}

/// Events of one run, 300 ms apart unless they say when they were.
pub(crate) fn events<S: AsRef<str>>(bodies: &[S]) -> Vec<Event> {
    let numbered = bodies.iter().enumerate();
    numbered
        .map(|(seq, body)| event(seq, body.as_ref()))
        .collect()
}

fn event(seq: usize, body: &str) -> Event {
    let (seconds, millis) = (seq * 300 / 1000, seq * 300 % 1000);
    let time = if body.contains(r#""timestamp":"#) {
        String::new()
    } else {
        format!(r#""timestamp":"2026-11-15T18:15:{seconds:02}.{millis:03}Z","#)
    };
    let base = format!(
        r#"{{"id":"r-{seq}","seq":{seq},"provider":"gemini","sessionId":"9881fb80-d833-4da5-84ba-6efc6cee791a",{time}"#
    );
    Event::from_json(&body.replacen('{', &base, 1))
        .unwrap_or_else(|error| panic!("{error}: {body}"))
}

pub(crate) fn text<S: AsRef<str>>(bodies: &[S]) -> String {
    render(
        TextRenderer::new(TextOptions { colour: false }),
        &events(bodies),
    )
}

pub(crate) fn coloured<S: AsRef<str>>(bodies: &[S]) -> String {
    render(
        TextRenderer::new(TextOptions { colour: true }),
        &events(bodies),
    )
}

pub(crate) fn markdown<S: AsRef<str>>(bodies: &[S]) -> String {
    render(MarkdownRenderer::default(), &events(bodies))
}

pub(crate) fn html<S: AsRef<str>>(bodies: &[S]) -> String {
    render(HtmlRenderer::default(), &events(bodies))
}

/// The part of a page between the header and the footer.
pub(crate) fn main_of(page: &str) -> &str {
    let (_, after) = page
        .split_once("<main id=\"transcript\">\n")
        .expect("a page has a main part");
    after.split_once("</main>").expect("which ends").0
}

/// The output of a renderer for events.
pub(crate) fn render(mut renderer: impl Renderer, events: &[Event]) -> String {
    let mut out = Vec::new();
    for event in events {
        renderer
            .event(event, &mut out)
            .expect("a vector takes everything");
    }
    renderer
        .finish(&mut out)
        .expect("a vector takes everything");
    String::from_utf8(out).expect("renderers write UTF-8")
}
