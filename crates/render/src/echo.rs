//! Noticing that a whole text only repeats chunks that were shown already.
//!
//! With `--deltas both` a stream carries the chunks and then the same words as one `text` event. People want them once.

use lapidary_vocab::event::{StreamDelta, TextEvent};
use lapidary_vocab::{Body, Text};

/// The chunks shown since the conversation last moved on, by kind and sub-agent.
#[derive(Debug, Default)]
pub(crate) struct Echo {
    said: Vec<Said>,
}

#[derive(Debug)]
struct Said {
    kind: String,
    parent: Option<Text>,
    chunks: Vec<Text>,
}

impl Echo {
    /// Takes note of an event. True if it is a `text` that says again what its chunks have said.
    pub(crate) fn repeats(&mut self, body: &Body) -> bool {
        match body {
            Body::StreamDelta(delta) => self.note(delta),
            Body::Text(whole) => return self.take(whole),
            Body::UserInput(_)
            | Body::ToolInvocation(_)
            | Body::TurnComplete(_)
            | Body::SessionInit(_) => {
                self.said.clear();
            }
            // A diagnostic or a late tool result may come between the chunks of one text.
            _ => {}
        }
        false
    }

    fn note(&mut self, delta: &StreamDelta) {
        let Some(chunk) = &delta.text_delta else {
            return;
        };
        let kind = delta.kind.as_str();
        let parent = &delta.parent_call_id;
        match self
            .said
            .iter_mut()
            .find(|said| said.kind == kind && said.parent == *parent)
        {
            Some(said) => said.chunks.push(chunk.clone()),
            None => self.said.push(Said {
                kind: kind.to_owned(),
                parent: parent.clone(),
                chunks: vec![chunk.clone()],
            }),
        }
    }

    fn take(&mut self, whole: &TextEvent) -> bool {
        let kind = whole.kind.as_str();
        let parent = &whole.parent_call_id;
        let found = self
            .said
            .iter()
            .position(|said| said.kind == kind && said.parent == *parent);
        // The words of both kinds are in `StreamDeltaKind` and `TextKind` alike.
        found.is_some_and(|at| Text::concat(&self.said.remove(at).chunks) == whole.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(lines: &[&str], expected: &[bool]) {
        let mut echo = Echo::default();
        let event = |line: &str| {
            let line = line.replacen('{', r#"{"id":"r-0","seq":0,"provider":"gemini","#, 1);
            lapidary_vocab::Event::from_json(&line).unwrap()
        };
        let found: Vec<_> = lines
            .iter()
            .map(|line| echo.repeats(&event(line).body))
            .collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn the_whole_after_its_chunks_is_a_repetition_once() {
        let a = r#"{"event":"stream_delta","kind":"text","textDelta":"a\ud83d"}"#;
        let b = r#"{"event":"stream_delta","kind":"text","textDelta":"\ude00b"}"#;
        let think = r#"{"event":"stream_delta","kind":"thinking","textDelta":"hm"}"#;
        let whole = r#"{"event":"text","kind":"text","text":"a😀b"}"#;
        let thought = r#"{"event":"text","kind":"thinking","text":"hm"}"#;
        check(&[a, b, whole, whole], &[false, false, true, false]);
        check(
            &[think, a, b, thought, whole],
            &[false, false, false, true, true],
        );
        check(&[a, whole], &[false, false]);
        let input = r#"{"event":"user_input","text":"next"}"#;
        check(&[a, b, input, whole], &[false; 4]);
    }
}
