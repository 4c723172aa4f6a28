//! The text of a message for lists: whether the message counts, and how it reads on one line.

use std::borrow::Cow;

use lapidary_json::{Token, TokenKind};
use lapidary_wire::gemini::session::NO_TEXTS;

use lapidary_gemini::js::{is_space, trim};

/// Beginnings of texts that no user wrote: commands of the CLI, and context that the CLI inserts before the first message.
const NOT_SAID_BY_USERS: [&str; 4] = ["/", "?", "<session_context>", "<hook_context>"];

/// True if a message makes its session resumable: a user's text, or a model's text, thought or tool call.
pub fn is_resumable(
    kind: Option<&str>,
    content: Option<Token<'_>>,
    calls: Option<Token<'_>>,
    thoughts: Option<Token<'_>>,
) -> bool {
    match kind {
        Some("user") => {
            let begins = content.map(content_beginning).unwrap_or_default();
            !begins.is_empty() && is_of_a_user(&begins)
        }
        Some("gemini") => {
            has_any(calls)
                || has_any(thoughts)
                || content.is_some_and(|content| !content_beginning(content).is_empty())
        }
        _ => false,
    }
}

/// True unless a text begins like a command or like inserted context.
pub(super) fn is_of_a_user(text: &str) -> bool {
    let text = trim(text);
    !NOT_SAID_BY_USERS.iter().any(|mark| text.starts_with(mark))
}

/// True for an array with at least one element.
fn has_any(list: Option<Token<'_>>) -> bool {
    let inside = list.and_then(|list| list.if_kind(TokenKind::Array)?.as_str().strip_prefix('['));
    inside.is_some_and(|inside| !inside.trim_ascii_start().starts_with(']'))
}

/// How a content begins, white space aside, with a word in brackets for each part that is no text, as the CLI has it. No more of it is read
/// than tells whether it counts: results of tools stand here, too, whole.
fn content_beginning(content: Token<'_>) -> String {
    if begins_with_no_text(content.as_str()) {
        return NO_TEXT.to_owned();
    }
    let mut text = String::new();
    add_beginning(content, &mut text);
    trim(&text).to_owned()
}

/// Stands for the first message of a session in which the user said nothing.
pub(super) const NOTHING_SAID: &str = "Empty conversation";

/// Placeholder for a part that is no text.
const NO_TEXT: &str = "[part]";

/// True if the first key of the first part makes it no text.
pub(super) fn begins_with_no_text(content: &str) -> bool {
    let content = content.strip_prefix('[').unwrap_or(content);
    let key = content.trim_ascii_start().strip_prefix('{');
    let key = key.and_then(|inside| inside.trim_ascii_start().strip_prefix('"'));
    key.is_some_and(|key| {
        NO_TEXTS.iter().any(|name| {
            key.strip_prefix(name)
                .is_some_and(|rest| rest.starts_with('"'))
        })
    })
}

fn add_beginning(content: Token<'_>, text: &mut String) {
    if is_enough(text) {
        return;
    }
    match content.kind() {
        TokenKind::String => text.push_str(&start_of(content)),
        TokenKind::Array => {
            for part in content.elements() {
                add_beginning(part, text);
                if is_enough(text) {
                    return;
                }
            }
        }
        TokenKind::Object => text.push_str(&part_text(content)),
        TokenKind::Null | TokenKind::Bool | TokenKind::Number => {}
    }
}

/// How a string begins of which only the inside is at hand, and perhaps not all of it. None if that is not enough to tell whether it counts.
pub(super) fn beginning_of_cut(inside: &str) -> Option<Cow<'_, str>> {
    let end = inside.find('"').unwrap_or(inside.len());
    let mut kept = &inside[..end];
    // Not in the middle of an escape, and not beyond an escaped quote.
    if let Some(escape) = kept.rfind('\\').filter(|at| kept.len() - at < 7) {
        kept = kept[..escape].trim_end_matches('\\');
    }
    let is_plain = |byte: u8| byte != b'\\' && byte >= b' ';
    let text = if kept.bytes().all(is_plain) {
        Cow::Borrowed(kept)
    } else {
        let text = format!("\"{kept}\"");
        Cow::Owned(Token::parse(&text).ok()?.string()?.into_owned())
    };
    is_enough(&text).then_some(text)
}

/// True once a text tells whether a user said it.
fn is_enough(text: &str) -> bool {
    let longest = NOT_SAID_BY_USERS.iter().map(|mark| mark.len()).max();
    let text = trim(text);
    let is_open = text.starts_with('<') && text.len() < longest.unwrap_or_default();
    !text.is_empty() && !is_open
}

/// The start of a string: a little of it, unless that is white space.
fn start_of(string: Token<'_>) -> Cow<'_, str> {
    const LITTLE: usize = 128;
    let whole = || string.string().unwrap_or_default();
    let raw = string.as_str();
    if raw.len() <= LITTLE {
        return whole();
    }
    let mut end = raw.floor_char_boundary(LITTLE);
    // Not in the middle of an escape.
    if let Some(escape) = raw[..end].rfind('\\').filter(|at| end - at < 7) {
        end = raw[..escape].trim_end_matches('\\').len();
    }
    let little = format!("{}\"", &raw[..end.max(1)]);
    let little = Token::parse(&little).ok().and_then(Token::string);
    match little {
        Some(little) if is_enough(&little) => Cow::Owned(little.into_owned()),
        _ => whole(),
    }
}

fn part_text(part: Token<'_>) -> Cow<'_, str> {
    let other = part
        .members()
        .any(|(key, _)| NO_TEXTS.iter().any(|name| key.is(name)));
    if other {
        return Cow::Borrowed(NO_TEXT);
    }
    part.get("text").and_then(Token::string).unwrap_or_default()
}

/// The text of a content: its text parts, joined; other parts are skipped.
pub fn says(content: Token<'_>) -> Cow<'_, str> {
    match content.kind() {
        TokenKind::String => content.string().unwrap_or_default(),
        TokenKind::Array => {
            let texts = content
                .elements()
                .filter_map(|part| part.get("text")?.string());
            Cow::Owned(texts.collect())
        }
        _ => Cow::Borrowed(""),
    }
}

/// The same, with a line for each text part: two words that stand in two parts stay two.
pub(crate) fn says_in_lines(content: Token<'_>) -> Cow<'_, str> {
    match content.kind() {
        TokenKind::Array => {
            let texts = content
                .elements()
                .filter_map(|part| part.get("text")?.string());
            Cow::Owned(texts.collect::<Vec<_>>().join("\n"))
        }
        _ => says(content),
    }
}

/// A message on one line, as the CLI's lists show it: white space runs as one blank, ASCII only.
pub fn title(message: &str) -> String {
    if is_plain(message) && !has_two_blanks(message) {
        return message.trim_ascii().to_owned();
    }
    let mut line = String::with_capacity(message.len());
    let (mut rest, mut gap) = (message, false);
    while !rest.is_empty() {
        let (plain, behind) = rest.split_at(plain_length(rest));
        add_plain(plain, &mut gap, &mut line);
        let mut letters = behind.chars();
        match letters.next() {
            Some(letter) if is_space(letter) => gap = true,
            // Letters that are not ASCII are dropped; the blanks around them stay.
            Some(_) if std::mem::take(&mut gap) => line.push(' '),
            _ => {}
        }
        rest = letters.as_str();
    }
    match line.trim() {
        trimmed if trimmed.len() == line.len() => line,
        trimmed => trimmed.to_owned(),
    }
}

/// Adds printable ASCII, runs of blanks as one. `gap` says whether blanks are still to be added.
fn add_plain(plain: &str, gap: &mut bool, line: &mut String) {
    let words = plain.trim_ascii();
    *gap |= plain.starts_with(' ');
    if words.is_empty() {
        return;
    }
    if *gap {
        line.push(' ');
    }
    *gap = plain.ends_with(' ');
    if !words.contains("  ") {
        return line.push_str(words);
    }
    let words = words.split(' ').filter(|word| !word.is_empty());
    for (number, word) in words.enumerate() {
        line.push_str(if number == 0 { "" } else { " " });
        line.push_str(word);
    }
}

/// How many bytes a text begins with that are printable ASCII.
fn plain_length(text: &str) -> usize {
    const BLOCK: usize = 16;
    let (blocks, _) = text.as_bytes().as_chunks::<BLOCK>();
    let plain = blocks.iter().take_while(|block| are_plain(&block[..]));
    let from = BLOCK * plain.count();
    let rest = text.bytes().skip(from);
    from + rest.take_while(|byte| are_plain(&[*byte])).count()
}

/// True for a text that a terminal shows as it is: printable ASCII. Many bytes are looked at a time if none ends the loop.
fn is_plain(text: &str) -> bool {
    are_plain(text.as_bytes())
}

fn are_plain(bytes: &[u8]) -> bool {
    let is_plain = |byte: u8| (b' '..=b'~').contains(&byte);
    bytes.iter().fold(true, |all, byte| all & is_plain(*byte))
}

/// True if two blanks stand together. Many bytes are looked at a time if none ends the loop.
fn has_two_blanks(text: &str) -> bool {
    let bytes = text.as_bytes();
    let are_blank = |one: u8, other: u8| (one ^ b' ') | (other ^ b' ') == 0;
    let pairs = bytes.iter().zip(bytes.get(1..).unwrap_or_default());
    pairs.fold(false, |any, (one, other)| any | are_blank(*one, *other))
}

/// The name of a session in a list, from its first message, and that message as the CLI shows it. The CLI drops letters that are
/// not ASCII, which is all of a Japanese title.
pub fn headline(first_message: Option<&str>) -> (String, String) {
    let first = first_message.map_or_else(|| NOTHING_SAID.to_owned(), title);
    let name = own_letters(first_message).unwrap_or_else(|| first.clone());
    (name, first)
}

/// A first message with letters that the CLI leaves out, on one line. None if it has no such letters.
pub(super) fn own_letters(first_message: Option<&str>) -> Option<String> {
    let message = first_message.filter(|message| !message.is_ascii());
    message.map(one_line)
}

/// A message on one line, in its own letters: white space runs as one blank, and nothing that a terminal would obey.
pub(super) fn one_line(message: &str) -> String {
    if is_one_line(message) {
        return message.to_owned();
    }
    let mut harmless = printable_summary(message);
    if harmless.contains('\u{7f}') {
        harmless = harmless.replace('\u{7f}', "");
    }
    let mut line = String::with_capacity(harmless.len());
    let words = harmless.split(is_space);
    for word in words.filter(|word| !word.is_empty()) {
        line.push_str(if line.is_empty() { "" } else { " " });
        line.push_str(word);
    }
    line
}

/// True for most texts that are on one line already: no byte is, or may begin, white space other than a blank, a control
/// character or an invisible letter.
fn is_one_line(text: &str) -> bool {
    #[expect(
        clippy::needless_bitwise_bool,
        reason = "without branches the compiler looks at many bytes at once"
    )]
    let may_matter = |byte: u8| {
        (byte < b' ') | (byte == 0x7f) | (byte == 0xc2) | (byte == 0xef) | (byte & 0xfc == 0xe0)
    };
    let is_suspect = text.bytes().fold(false, |any, byte| any | may_matter(byte));
    let has_edge = text.starts_with(' ') || text.ends_with(' ');
    !is_suspect && !has_edge && !has_two_blanks(text)
}

/// A summary without escape sequences and control characters, as the CLI shows it.
pub(super) fn printable_summary(summary: &str) -> String {
    if is_plain(summary) {
        return summary.to_owned();
    }
    let mut kept = String::with_capacity(summary.len());
    let mut rest = summary;
    while !rest.is_empty() {
        let (fine, behind) = rest.split_at(harmless_length(rest));
        kept.push_str(fine);
        let mut letters = behind.chars();
        match letters.next() {
            Some(start @ ('\u{1b}' | '\u{9b}')) => skip_sequence(start, &mut letters),
            // The CLI leaves these.
            Some(letter @ ('\t' | '\n' | '\r')) => kept.push(letter),
            Some(letter) if letter.is_control() || is_invisible(letter) => {}
            letter => kept.extend(letter),
        }
        rest = letters.as_str();
    }
    kept
}

/// How many bytes a text begins with of which no character is one that a terminal obeys, or that is not seen. Characters are told by their
/// first bytes, those of others among them. DEL is left: the code that prints it sees to it.
fn harmless_length(text: &str) -> usize {
    let may_matter = |byte: u8| byte < b' ' || matches!(byte, 0xc2 | 0xe2 | 0xef);
    text.bytes().position(may_matter).unwrap_or(text.len())
}

/// Skips the rest of an escape sequence.
fn skip_sequence(start: char, letters: &mut std::str::Chars<'_>) {
    let kind = if start == '\u{9b}' {
        Some('[')
    } else {
        letters.clone().next()
    };
    match kind {
        Some('[') => {
            if start == '\u{1b}' {
                letters.next();
            }
            for letter in letters.by_ref() {
                if ('@'..='~').contains(&letter) {
                    break;
                }
            }
        }
        Some(']') => {
            while let Some(letter) = letters.next() {
                let is_end = letter == '\u{1b}' && letters.as_str().starts_with('\\');
                if is_end {
                    letters.next();
                }
                if is_end || letter == '\u{7}' {
                    break;
                }
            }
        }
        Some(_) => {
            letters.next();
        }
        None => {}
    }
}

fn is_invisible(letter: char) -> bool {
    matches!(letter, '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resumable(kind: &str, content: &str) -> bool {
        is_resumable(Some(kind), Token::parse(content).ok(), None, None)
    }

    #[test]
    fn commands_and_text_added_by_the_cli_are_not_resumable() {
        assert!(resumable("user", r#""hello""#));
        assert!(resumable("user", r#"[{"text":" \n hello"}]"#));
        assert!(resumable("user", r#"[{"functionResponse":{"name":"x"}}]"#));
        for ignored in [
            r#""""#,
            r#"" \n ""#,
            r#""/help""#,
            r#"" ?""#,
            r#"[{"text":"<session_context>x"}]"#,
            r#""<hook_context>""#,
            "[]",
            "null",
            "{}",
        ] {
            assert!(!resumable("user", ignored), "{ignored}");
        }
        assert!(!resumable("info", r#""hello""#));
        assert!(resumable("gemini", r#""/ is the root""#));
        assert!(!resumable("gemini", r#""  ""#));
        let call = Token::parse(r#"[{"name":"x"}]"#).ok();
        assert!(is_resumable(Some("gemini"), None, call, None));
        assert!(is_resumable(Some("gemini"), None, None, call));
    }

    #[test]
    fn a_title_is_one_line_of_ascii() {
        assert_eq!(title("  fix\n\n the   tests \t"), "fix the tests");
        assert_eq!(title("caf\u{e9} \u{1f600} ole\u{1b}[31m"), "caf  ole[31m");
        assert_eq!(title("\u{1f600}"), "");
        assert_eq!(title("a \u{e9} b\u{e9}c\u{7f} d"), "a  bc d");
    }

    #[test]
    fn a_message_on_one_line_keeps_its_letters() {
        assert_eq!(
            one_line("  日本語の\n\n テスト \t caf\u{e9}"),
            "日本語の テスト café"
        );
        assert_eq!(
            one_line("\u{1b}[31mred\u{1b}[0m\u{7f} \u{202e}x 👩\u{200d}👧"),
            "red x 👩\u{200d}👧"
        );
        assert_eq!(one_line(" \u{1b}[2J "), "");
        assert_eq!(one_line("Größe  naïve "), "Größe naïve");
    }

    #[test]
    fn a_text_that_is_taken_for_one_line_is_one() {
        for letter in ('\0'..='\u{ffff}').filter(|letter| *letter != ' ') {
            let text = format!("a{letter}b");
            let is_kept =
                !is_space(letter) && printable_summary(&text) == text && letter != '\u{7f}';
            assert!(!is_one_line(&text) || is_kept, "{letter:?}");
        }
        assert!(is_one_line("Größe naïve 日本語"));
    }

    #[test]
    fn a_summary_reaches_a_terminal_without_its_sequences() {
        assert_eq!(
            printable_summary("a\u{1b}[31mred\u{1b}[0m \u{1b}]0;title\u{7}b\u{202e}c\u{9b}1md"),
            "ared bcd"
        );
    }
}
