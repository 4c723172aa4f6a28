//! Text that is safe to show: no escape sequences, no control characters, no characters that reorder the text.
//!
//! A terminal obeys escape sequences in its output. An agent that repeats a hostile file could move the cursor, rename the
//! window, write to the clipboard or show a link with another target; bidirectional overrides make code look different from its
//! meaning.

use std::borrow::Cow;
use std::ops::RangeInclusive;

/// [Sanitized](sanitize) text on one line: a blank for each newline.
pub fn one_line(text: &str) -> String {
    sanitize(text).replace('\n', " ")
}

/// Text without ANSI escape sequences and control characters, bidirectional overrides shown as `\u{202e}`.
///
/// Newlines and tabs stay; a carriage return becomes a newline, because on a terminal it would let later words cover earlier
/// ones. A sequence that never ends is not followed: only its beginning goes, so that it cannot swallow the text after it.
///
/// ```
/// use lapidary_render::plain::sanitize;
/// assert_eq!(sanitize("\u{1b}[31mred\u{1b}[0m\0"), "red");
/// assert_eq!(sanitize("user\u{202e}nimda"), "user\\u{202e}nimda");
/// ```
pub fn sanitize(text: &str) -> Cow<'_, str> {
    // Most texts have no byte of a suspect character, which is found out many bytes at a time if none ends the loop.
    #[expect(
        clippy::needless_bitwise_bool,
        reason = "without branches the compiler looks at many bytes at once"
    )]
    let may_matter = |byte: u8| (byte < b' ') | (byte == 0x7f) | (byte == 0xc2) | (byte == 0xe2);
    if !text.bytes().fold(false, |any, byte| any | may_matter(byte))
        || !text.chars().any(is_suspect)
    {
        return Cow::Borrowed(text);
    }
    let mut clean = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(is_suspect) {
        clean.push_str(&rest[..at]);
        rest = take_suspect(&rest[at..], &mut clean);
    }
    clean.push_str(rest);
    Cow::Owned(clean)
}

/// Text that a person is to approve: nothing in it is left out. [`sanitize`] takes escape sequences away with all words in them, and a shell
/// runs those words. So control characters stand here as `\u{1b}`, and so do characters that reorder the text or have no width.
///
/// Newlines and tabs stay, and `\r\n` becomes a newline.
///
/// ```
/// use lapidary_render::plain::reveal;
/// assert_eq!(reveal("ls \u{1b}]0; rm x\u{7}"), "ls \\u{1b}]0; rm x\\u{7}");
/// assert_eq!(reveal("a\u{200b}b"), "a\\u{200b}b");
/// ```
pub fn reveal(text: &str) -> Cow<'_, str> {
    let is_hidden = |c| is_suspect(c) || is_invisible(c);
    if !text.chars().any(is_hidden) {
        return Cow::Borrowed(text);
    }
    let mut clear = String::with_capacity(text.len() + 64);
    let mut before = '\n';
    for c in text.replace("\r\n", "\n").chars() {
        // Scripts and pictures that are no ASCII need joiners between their letters.
        let joins = matches!(c, '\u{200c}' | '\u{200d}') && !before.is_ascii();
        if is_hidden(c) && !joins {
            clear.extend(c.escape_unicode());
        } else {
            clear.push(c);
        }
        before = c;
    }
    Cow::Owned(clear)
}

/// The first line of a text, safe to show, at most `limit` characters of it; an ellipsis says that there is more.
pub(crate) fn first_line(text: &str, limit: usize) -> String {
    let text = text.trim();
    let line = text.lines().next().unwrap_or_default();
    // Escape sequences are long and vanish, so the line is cleaned before it is measured, but not all of a huge one.
    let start: String = line.chars().take(limit * 8).collect();
    let clean = sanitize(&start).replace(['\n', '\t'], " ");
    let shown: String = clean.chars().take(limit).collect();
    let whole = shown.len() == clean.len() && start.len() == line.len() && line.len() == text.len();
    if whole {
        shown
    } else {
        format!("{}…", shown.trim_end_matches([' ', '.']))
    }
}

/// Cleans a text that comes in chunks: a sequence that began in one chunk may end in the next.
#[derive(Debug, Default)]
pub struct ChunkFilter {
    held: String,
}

impl ChunkFilter {
    /// The chunk, cleaned. An unfinished sequence at its end waits for the next chunk.
    pub fn push(&mut self, chunk: &str) -> String {
        let mut text = std::mem::take(&mut self.held);
        text.push_str(chunk);
        let mut from = 0;
        while let Some(at) = text[from..].find(is_suspect).map(|at| from + at) {
            match escape_sequence(&text[at..]) {
                EscapeSequence::Unfinished => {
                    self.held = text.split_off(at);
                    break;
                }
                EscapeSequence::Whole(len) => from = at + len,
            }
        }
        sanitize(&text).into_owned()
    }

    /// Returns the text that was held back.
    pub fn finish(&mut self) -> String {
        sanitize(&std::mem::take(&mut self.held)).into_owned()
    }
}

/// The extent of an escape sequence.
enum EscapeSequence {
    /// This many bytes belong together.
    Whole(usize),
    /// The text ends within it.
    Unfinished,
}

/// Longer than any sequence with a purpose. Beyond it, waiting for the end would hide text.
const LONGEST_SEQUENCE: usize = 4096;

const ESC: char = '\u{1b}';

fn is_suspect(c: char) -> bool {
    (c.is_control() && c != '\n' && c != '\t') || is_bidi_override(c)
}

/// The characters of "Trojan Source": embeddings, overrides and isolates.
fn is_bidi_override(c: char) -> bool {
    matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Characters that have no width, or that only change the order or the form of others.
fn is_invisible(c: char) -> bool {
    matches!(
        c,
        '\u{ad}'
            | '\u{34f}'
            | '\u{61c}'
            | '\u{115f}'..='\u{1160}'
            | '\u{17b4}'..='\u{17b5}'
            | '\u{180b}'..='\u{180f}'
            | '\u{200b}'..='\u{200f}'
            | '\u{2028}'..='\u{2029}'
            | '\u{2060}'..='\u{206f}'
            | '\u{3164}'
            | '\u{feff}'
            | '\u{ffa0}'
            | '\u{fff9}'..='\u{fffb}'
            | '\u{1d173}'..='\u{1d17a}'
            | '\u{e0000}'..='\u{e0fff}'
    )
}

/// Takes the sequence that a suspect character begins off `rest`, and writes its replacement.
fn take_suspect<'a>(rest: &'a str, clean: &mut String) -> &'a str {
    let suspect = rest.chars().next().unwrap_or_default();
    if suspect == '\r' {
        clean.push('\n');
    } else if is_bidi_override(suspect) {
        clean.extend(suspect.escape_unicode());
    }
    match escape_sequence(rest) {
        EscapeSequence::Whole(len) => &rest[len..],
        EscapeSequence::Unfinished => &rest[suspect.len_utf8()..],
    }
}

/// The sequence that begins with the suspect character at the start of `text`.
fn escape_sequence(text: &str) -> EscapeSequence {
    let mut chars = text.chars();
    let opener = chars.next().unwrap_or_default();
    let alone = opener.len_utf8();
    let (inside, before) = match (opener, chars.next()) {
        ('\r' | ESC, None) => return EscapeSequence::Unfinished,
        ('\r', Some('\n')) => return EscapeSequence::Whole(2),
        (ESC, Some('[')) | ('\u{9b}', _) => {
            (SequencePart::Control, if opener == ESC { 2 } else { alone })
        }
        (ESC, Some(']' | 'P' | 'X' | '^' | '_')) => (SequencePart::String, 2),
        ('\u{90}' | '\u{98}' | '\u{9d}'..='\u{9f}', _) => (SequencePart::String, alone),
        (ESC, Some(_)) => (SequencePart::Short, alone),
        _ => return EscapeSequence::Whole(alone),
    };
    let after = &text[before..];
    match inside.sequence_end(after) {
        // It is broken or endless: only its opener goes.
        Some(0) => EscapeSequence::Whole(alone),
        Some(end) => EscapeSequence::Whole(before + end),
        None if after.len() < LONGEST_SEQUENCE => EscapeSequence::Unfinished,
        None => EscapeSequence::Whole(alone),
    }
}

/// The grammar inside a sequence.
#[derive(Clone, Copy)]
enum SequencePart {
    /// Parameters, intermediates, a final byte: colours and cursor movements.
    Control,
    /// Text up to BEL or ST: titles, links, the clipboard.
    String,
    /// Intermediates and a final byte: character sets, saved cursors, resets.
    Short,
}

impl SequencePart {
    /// The end of the sequence; 0 if another byte interrupts it; none if the text ends first.
    fn sequence_end(self, after: &str) -> Option<usize> {
        match self {
            Self::Control => final_byte(after, 0x20..=0x3f, 0x40..=0x7e),
            Self::Short => final_byte(after, 0x20..=0x2f, 0x30..=0x7e),
            Self::String => string_end(after),
        }
    }
}

fn final_byte(after: &str, inside: RangeInclusive<u8>, last: RangeInclusive<u8>) -> Option<usize> {
    let end = after.bytes().position(|byte| !inside.contains(&byte))?;
    Some(if last.contains(&after.as_bytes()[end]) {
        end + 1
    } else {
        0
    })
}

fn string_end(after: &str) -> Option<usize> {
    let end = after.find(char::is_control)?;
    let terminator = &after[end..];
    if terminator == "\u{1b}" {
        return None;
    }
    let marks = ["\u{7}", "\u{9c}", "\u{1b}\\"];
    let mark = marks
        .iter()
        .find(|mark| end < LONGEST_SEQUENCE && terminator.starts_with(**mark));
    Some(mark.map_or(0, |mark| end + mark.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(input: &str, expected: &str) {
        assert_eq!(sanitize(input), expected, "{input:?}");
        // Cut anywhere, the chunks show the same.
        for cut in (0..=input.len()).filter(|cut| input.is_char_boundary(*cut)) {
            let mut chunks = ChunkFilter::default();
            let shown = chunks.push(&input[..cut]) + &chunks.push(&input[cut..]) + &chunks.finish();
            assert_eq!(shown, expected, "{input:?} cut at {cut}");
        }
    }

    #[test]
    fn escape_sequences_go_and_the_words_stay() {
        check("plain\ttext\n", "plain\ttext\n");
        check("\u{1b}[1;31mred\u{1b}[0m", "red");
        check(
            "\u{1b}]8;;https://evil.example\u{1b}\\click\u{1b}]8;;\u{1b}\\",
            "click",
        );
        check("\u{1b}]0;title\u{7}a", "a");
        check("\u{9b}31mred\u{9d}52;c;AAAA\u{9c}b", "redb");
        check("\u{1b}(Ba\u{1b}7b\u{1b}cc", "abc");
        check("\u{1b}P1$r0m\u{1b}\\x", "x");
    }

    #[test]
    fn a_sequence_that_never_ends_hides_nothing() {
        check("\u{1b}]0;title and\nthe rest", "]0;title and\nthe rest");
        check("\u{1b}[12\u{1b}[31mred", "[12red");
        check("end\u{1b}", "end");
        let long = format!("\u{1b}]0;{}\u{7}", "x".repeat(5000));
        assert_eq!(sanitize(&long).len(), 5003);
    }

    #[test]
    fn control_characters_go_and_overrides_show() {
        check("a\0b\u{8}c\u{7f}d\u{85}e", "abcde");
        check("10%\r20%\r\ndone", "10%\n20%\ndone");
        check("a\u{202e}b\u{2066}c", "a\\u{202e}b\\u{2066}c");
        check("café 😀 עברית", "café 😀 עברית");
    }

    #[test]
    fn a_text_to_approve_hides_nothing() {
        for (text, expected) in [
            ("café 😀 עברית\ta\r\nb", "café 😀 עברית\ta\nb"),
            ("ls \u{1b}]0; rm x\u{7}", "ls \\u{1b}]0; rm x\\u{7}"),
            ("\u{9d}0; rm x\u{9c}", "\\u{9d}0; rm x\\u{9c}"),
            ("good\rbad\u{8}", "good\\u{d}bad\\u{8}"),
            (
                "a\u{202e}b\u{200f}c\u{e0041}d",
                "a\\u{202e}b\\u{200f}c\\u{e0041}d",
            ),
            ("x\u{200d}y 👩\u{200d}💻", "x\\u{200d}y 👩\u{200d}💻"),
        ] {
            let revealed = reveal(text);
            assert_eq!(revealed, expected);
            assert_eq!(sanitize(&revealed), revealed, "{text:?}");
        }
    }

    #[test]
    fn a_first_line_says_when_there_is_more() {
        assert_eq!(first_line("one", 10), "one");
        assert_eq!(first_line("one\ntwo", 10), "one…");
        assert_eq!(first_line("abcdefgh", 3), "abc…");
        assert_eq!(first_line("\u{1b}[31m\tred", 10), "\u{20}red");
    }
}
