//! Noticing that an event only repeats an earlier one.
//!
//! With `--deltas both` a stream carries the chunks and then the same words as one `text` event. An agent confirms the mode that
//! it was told to enter. People want both once.

use std::hash::{DefaultHasher, Hasher as _};

use lapidary_vocab::event::{StreamDelta, TextEvent};
use lapidary_vocab::{Body, Json, Text};

/// The mode in which an agent starts. It says nothing about the run's permissions: Lapidary decides those.
const USUAL_MODE: &str = "default";

/// The chunks shown since the conversation last moved on, by kind and sub-agent.
#[derive(Debug, Default)]
pub(crate) struct EchoFilter {
    said: Vec<SaidText>,
    mode: Option<Text>,
}

#[derive(Debug)]
struct SaidText {
    kind: String,
    parent: Option<Text>,
    words: TextFingerprint,
}

/// Length and hash of a text, enough to recognise it: a stream may go on for ever.
#[derive(Debug, Default)]
struct TextFingerprint {
    length: usize,
    hasher: DefaultHasher,
}

impl TextFingerprint {
    /// Adds a chunk. The inside of its token, not the text: a character may be split over two chunks.
    fn add_chunk(&mut self, chunk: &Text) {
        let token = Json::from(chunk);
        let inside = &token.as_str()[1..token.as_str().len() - 1];
        self.length += inside.len();
        self.hasher.write(inside.as_bytes());
    }

    fn matches_text(&self, whole: &Text) -> bool {
        let mut other = Self::default();
        other.add_chunk(whole);
        (self.length, self.hasher.finish()) == (other.length, other.hasher.finish())
    }
}

impl EchoFilter {
    /// Takes note of an event. True if it is a `text` that repeats its chunks, or a mode that is known already.
    pub(crate) fn note_repetition(&mut self, body: &Body) -> bool {
        match body {
            Body::StreamDelta(delta) => self.note_delta(delta),
            Body::Text(whole) => return self.take_repeated(whole),
            Body::SessionMode(mode) => {
                let last = self.mode.replace(mode.current_mode_id.clone());
                let usual = Text::from(USUAL_MODE);
                return last.unwrap_or(usual) == mode.current_mode_id;
            }
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

    fn note_delta(&mut self, delta: &StreamDelta) {
        let Some(chunk) = &delta.text_delta else {
            return;
        };
        let kind = delta.kind.as_str();
        let parent = &delta.parent_call_id;
        let is_same = |said: &&mut SaidText| said.kind == kind && said.parent == *parent;
        if let Some(said) = self.said.iter_mut().find(is_same) {
            said.words.add_chunk(chunk);
            return;
        }
        let mut words = TextFingerprint::default();
        words.add_chunk(chunk);
        self.said.push(SaidText {
            kind: kind.to_owned(),
            parent: parent.clone(),
            words,
        });
    }

    fn take_repeated(&mut self, whole: &TextEvent) -> bool {
        let kind = whole.kind.as_str();
        let parent = &whole.parent_call_id;
        let found = self
            .said
            .iter()
            .position(|said| said.kind == kind && said.parent == *parent);
        // The words of both kinds are in `StreamDeltaKind` and `TextKind` alike.
        found.is_some_and(|at| self.said.remove(at).words.matches_text(&whole.text))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(lines: &[&str], expected: &[bool]) {
        let mut echo = EchoFilter::default();
        let event = |line: &str| {
            let line = line.replacen('{', r#"{"id":"r-0","seq":0,"provider":"gemini","#, 1);
            lapidary_vocab::Event::from_json(&line).unwrap()
        };
        let found: Vec<_> = lines
            .iter()
            .map(|line| echo.note_repetition(&event(line).body))
            .collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn the_whole_after_its_chunks_is_a_repetition_once() {
        let a = r#"{"event":"stream_delta","kind":"text","textDelta":"a\ud83d"}"#;
        let b = r#"{"event":"stream_delta","kind":"text","textDelta":"\ude00b"}"#;
        let think = r#"{"event":"stream_delta","kind":"thinking","textDelta":"hm"}"#;
        // Joined as the normaliser joins: the tokens one after the other.
        let whole = r#"{"event":"text","kind":"text","text":"a\ud83d\ude00b"}"#;
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

    #[test]
    fn a_mode_that_is_confirmed_is_a_repetition() {
        let plan = r#"{"event":"session_mode","currentModeId":"plan"}"#;
        let other = r#"{"event":"session_mode","currentModeId":"default"}"#;
        check(&[plan, plan, other, plan], &[false, true, false, false]);
        check(&[other, plan], &[true, false]);
    }
}
