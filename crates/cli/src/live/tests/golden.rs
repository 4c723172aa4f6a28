//! Whole runs, as they stand on the terminal when they are over.

use lapidary::normalize::Normalizer as _;
use lapidary::normalize::gemini::stream::StreamNormalizer;
use lapidary::normalize::{NormalizeOptions, ProcessEnd};
use lapidary::render::live::TerminalSize;
use lapidary::vocab::Event;
use lapidary::wire::lines::LineBuffer;
use lapidary_testkit::captures::{self, Capture};
use lapidary_testkit::golden::GoldenFiles;

use super::terminal::{NARROW, WIDE, delta, events, played};

fn of_capture(capture: &Capture) -> Vec<Event> {
    let mut lines = LineBuffer::default();
    lines.push(&capture.bytes());
    let mut normalizer = StreamNormalizer::new(&NormalizeOptions::new("run"));
    let mut events = Vec::new();
    while let Some(line) = lines.next_line() {
        normalizer.push(line, None, &mut events);
    }
    if let Some(line) = lines.last_line() {
        normalizer.push(line, None, &mut events);
    }
    let ending = ProcessEnd {
        exit_code: capture.exit_code,
        ..ProcessEnd::default()
    };
    normalizer.finish(&ending, &mut events);
    events
}

fn check(goldens: &mut GoldenFiles, name: &str, events: &[Event]) {
    for size in [WIDE, NARROW] {
        let TerminalSize { width, height } = size;
        let folder = captures::fixtures().join("../golden/live").join(name);
        let file = |look: &str| folder.join(format!("{width}x{height}.{look}.txt"));
        let plain = played(events, size, false).everything();
        goldens.check(&file("plain"), plain.as_bytes());
        let colour = played(events, size, true).styled();
        goldens.check(&file("colour"), colour.as_bytes());
    }
}

#[test]
fn captures_on_a_terminal() {
    let mut goldens = GoldenFiles::default();
    for name in [
        "gemini-0.24.0/tool-mixed",
        "gemini-0.61.0/api-400-bad-key",
        "gemini-0.61.0/loop-detected",
        "gemini-0.61.0/text-multichunk",
        "gemini-0.61.0/thoughts",
        "gemini-0.61.0/tool-denied-default-mode-write",
        "gemini-0.61.0/tool-replace",
        "gemini-0.61.0/tool-shell-large",
    ] {
        check(&mut goldens, name, &of_capture(&captures::named(name)));
    }
    goldens.finish();
}

/// A long answer with all parts of Markdown, which no capture has.
pub(super) const ANSWER: &str = "\
# What I found

The **parser** reads `Cargo.toml` *twice*, see [the manual](https://doc.example/cargo) and ~~nothing else~~ <https://example.org>.

- first item, which is long enough to need a second row on a terminal of ordinary width
- second: `cargo test -p lapidary-render`
  1. nested and **bold**
  2. 二つ目の項目は日本語で書かれていて、空白がないので、どこで折り返してもよい。

> A quotation that goes on for a while, so that it wraps and keeps its mark on the left.

```rust
fn main() {
\tprintln!(\"hello, world\"); // a comment that is too long for a narrow terminal
}
```

| file | lines |
|---|---|
| a.rs | 12 |

---
Done 🎉 with *.rs and snake_case_names, 2 * 3 = 6.
";

const EDIT: &str = r#"{"event":"tool_invocation","callId":"e","toolName":"replace","kind":"edit","input":{"file_path":"src/a.rs","old_string":"a\nb\nc\n","new_string":"LINES"}}"#;

#[test]
fn a_long_answer_and_a_long_diff_on_a_terminal() {
    let lines = "another line\\n".repeat(40);
    let mut bodies = vec![
        r#"{"event":"session_init","model":"gemini-2.5-flash"}"#.to_owned(),
        r#"{"event":"user_input","text":"Explain,\nthen change it."}"#.to_owned(),
    ];
    bodies.extend(ANSWER.split_inclusive(' ').map(delta));
    bodies.push(EDIT.replace("LINES", &lines));
    bodies.push(r#"{"event":"tool_completion","callId":"e","status":"completed"}"#.to_owned());
    bodies.push(
        r#"{"event":"run_end","outcome":"completed","cause":"end_turn","exitCode":0}"#.to_owned(),
    );
    let mut goldens = GoldenFiles::default();
    check(&mut goldens, "markdown", &events(&bodies));
    goldens.finish();
}
