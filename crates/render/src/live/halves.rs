//! Characters that were cut in two.
//!
//! Agents written in JavaScript count in UTF-16, so a chunk may end within an emoji: its token then ends in half a surrogate pair.

use lapidary_vocab::{Json, SharedToken, Text};

/// Holds half a character until the chunk with the other half comes.
#[derive(Debug, Default)]
pub(super) struct SplitCharacters {
    held: Option<Text>,
}

impl SplitCharacters {
    /// The text of a chunk, with the half that was held before it and without one at its end.
    pub(super) fn push(&mut self, chunk: &Text) -> String {
        let whole = match self.held.take() {
            Some(half) => Text::concat(&[half, chunk.clone()]),
            None => chunk.clone(),
        };
        let text = whole.to_str();
        // An invalid character decodes to this one.
        let is_cut = text.ends_with(char::REPLACEMENT_CHARACTER);
        match is_cut.then(|| without_half(&whole)).flatten() {
            Some((start, half)) => {
                self.held = Some(half);
                start.to_str().into_owned()
            }
            None => text.into_owned(),
        }
    }

    /// A half that stayed alone.
    pub(super) fn take_lone_half(&mut self) -> String {
        let held = self.held.take();
        held.map(|half| half.to_str().into_owned())
            .unwrap_or_default()
    }
}

/// A text whose token ends in the first half of a pair, without it; and that half.
fn without_half(text: &Text) -> Option<(Text, Text)> {
    let json = Json::from(text);
    let inside = json.as_str().strip_prefix('"')?.strip_suffix('"')?;
    let (start, half) = inside.split_at_checked(inside.len().checked_sub("\\ud83d".len())?)?;
    let number = u32::from_str_radix(half.strip_prefix("\\u")?, 16).ok()?;
    let is_escaped = start
        .bytes()
        .rev()
        .take_while(|byte| *byte == b'\\')
        .count()
        % 2
        == 1;
    let is_first_half = (0xd800..0xdc00).contains(&number) && !is_escaped;
    let quoted = |inside: &str| SharedToken::parse(&format!("\"{inside}\"")).ok();
    let start = quoted(start).filter(|_| is_first_half)?;
    Some((Text::from_token(start), Text::from_token(quoted(half)?)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_character_that_was_cut_is_whole_again() {
        let chunk = |token: &str| Text::from_token(SharedToken::parse(token).unwrap());
        let mut halves = SplitCharacters::default();
        assert_eq!(halves.push(&chunk(r#""a\ud83d""#)), "a");
        assert_eq!(halves.push(&chunk(r#""\ude00b""#)), "😀b");
        assert_eq!(halves.push(&chunk(r#""\\ud83d""#)), "\\ud83d");
        assert_eq!(halves.push(&chunk(r#""x\ud83d""#)), "x");
        assert_eq!(halves.push(&chunk(r#""y""#)), "\u{fffd}y");
        assert_eq!(halves.push(&chunk(r#""\ud83d""#)), "");
        assert_eq!(halves.take_lone_half(), "\u{fffd}");
        assert_eq!(halves.take_lone_half(), "");
    }
}
