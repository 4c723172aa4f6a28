//! What a message says, as far as lists care: whether it counts, and how it reads on one line.

use std::borrow::Cow;

use lapidary_json::{Kind, Token};

/// What the CLI puts before the first message itself, and the way its own commands begin.
const NOT_SAID_BY_USERS: [&str; 4] = ["/", "?", "<session_context>", "<hook_context>"];

/// How much of a message has to be known to tell whether it counts.
const ENOUGH: usize = 32;

/// True if a message makes its session worth resuming: a user who said something, or a model that said, thought or did something.
pub fn is_resumable(
    kind: Option<&str>,
    content: Option<Token<'_>>,
    calls: Option<Token<'_>>,
    thoughts: Option<Token<'_>>,
) -> bool {
    match kind {
        Some("user") => {
            let begins = content.map(beginning).unwrap_or_default();
            !begins.is_empty()
                && !NOT_SAID_BY_USERS
                    .iter()
                    .any(|mark| begins.starts_with(mark))
        }
        Some("gemini") => {
            has_any(calls)
                || has_any(thoughts)
                || content.is_some_and(|content| !beginning(content).is_empty())
        }
        _ => false,
    }
}

/// True for a list with something in it. What that is, nobody needs to know.
fn has_any(list: Option<Token<'_>>) -> bool {
    let inside = list.and_then(|list| list.of(Kind::Array)?.as_str().strip_prefix('['));
    inside.is_some_and(|inside| !inside.trim_ascii_start().starts_with(']'))
}

/// How a content begins, white space aside, with a word in brackets for each part that is no text, as the CLI has it.
fn beginning(content: Token<'_>) -> String {
    let mut text = String::new();
    add_beginning(content, &mut text);
    trim(&text).to_owned()
}

fn add_beginning(content: Token<'_>, text: &mut String) {
    if trim(text).len() >= ENOUGH {
        return;
    }
    match content.kind() {
        Kind::String => text.push_str(&start_of(content)),
        Kind::Array => content
            .elements()
            .for_each(|part| add_beginning(part, text)),
        Kind::Object => text.push_str(&part(content)),
        Kind::Null | Kind::Bool | Kind::Number => {}
    }
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
        Some(little) if trim(&little).len() >= ENOUGH => Cow::Owned(little.into_owned()),
        _ => whole(),
    }
}

fn part(part: Token<'_>) -> Cow<'_, str> {
    const NAMED: [&str; 8] = [
        "videoMetadata",
        "thought",
        "codeExecutionResult",
        "executableCode",
        "fileData",
        "functionCall",
        "functionResponse",
        "inlineData",
    ];
    let other = part
        .members()
        .any(|(key, _)| NAMED.iter().any(|name| key.is(name)));
    if other {
        return Cow::Borrowed("[part]");
    }
    part.get("text").and_then(Token::string).unwrap_or_default()
}

/// The text of a content: what its text parts say, nothing of the others.
pub fn says(content: Token<'_>) -> Cow<'_, str> {
    match content.kind() {
        Kind::String => content.string().unwrap_or_default(),
        Kind::Array => {
            let texts = content
                .elements()
                .filter_map(|part| part.get("text")?.string());
            Cow::Owned(texts.collect())
        }
        _ => Cow::Borrowed(""),
    }
}

/// A message on one line, as the CLI's lists show it: white space runs as one blank, ASCII only.
pub fn title(message: &str) -> String {
    let mut line = String::new();
    let mut gap = false;
    for letter in message.chars() {
        if is_space(letter) {
            gap = true;
            continue;
        }
        if !(' '..='~').contains(&letter) {
            // What goes leaves the blanks around it.
            if std::mem::take(&mut gap) {
                line.push(' ');
            }
            continue;
        }
        if std::mem::take(&mut gap) {
            line.push(' ');
        }
        line.push(letter);
    }
    line.trim().to_owned()
}

/// A summary without what a terminal would obey, as the CLI shows it.
pub(super) fn harmless(summary: &str) -> String {
    let mut kept = String::new();
    let mut letters = summary.chars().peekable();
    while let Some(letter) = letters.next() {
        match letter {
            '\u{1b}' | '\u{9b}' => skip_sequence(letter, &mut letters),
            '\t' | '\n' | '\r' => kept.push(letter),
            letter if letter.is_control() || is_invisible(letter) => {}
            letter => kept.push(letter),
        }
    }
    kept
}

/// Skips what is left of an escape sequence.
fn skip_sequence(start: char, letters: &mut std::iter::Peekable<std::str::Chars<'_>>) {
    let kind = if start == '\u{9b}' {
        Some('[')
    } else {
        letters.peek().copied()
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
                if letter == '\u{7}' || (letter == '\u{1b}' && letters.next_if_eq(&'\\').is_some())
                {
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

/// JavaScript's idea of white space.
fn is_space(letter: char) -> bool {
    letter == '\u{feff}' || (letter.is_whitespace() && letter != '\u{85}')
}

fn trim(text: &str) -> &str {
    text.trim_matches(is_space)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resumable(kind: &str, content: &str) -> bool {
        is_resumable(Some(kind), Token::parse(content).ok(), None, None)
    }

    #[test]
    fn what_users_say_counts_and_what_the_cli_says_for_them_does_not() {
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
    }

    #[test]
    fn a_summary_reaches_a_terminal_without_its_sequences() {
        assert_eq!(
            harmless("a\u{1b}[31mred\u{1b}[0m \u{1b}]0;title\u{7}b\u{202e}c\u{9b}1md"),
            "ared bcd"
        );
    }
}
