//! JSON of agents, in a form that the JSON parsers of hooks can read. Agents write valid JSON, but more than most parsers take:
//! halves of surrogate pairs, numbers beyond all bounds, lists in lists without end.

use lapidary_json::Token;
use serde_json::{Number, Value};

/// Hooks get so many levels of lists and objects: JSON parsers have their limits, too.
pub(super) const MOST_LEVELS: usize = 100;

/// The treatment of numbers that a `serde_json::Value` cannot hold exactly.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum NumberPolicy {
    AsTheyStand,
    InQuotes,
}

/// A value of an agent's.
#[derive(Debug, PartialEq)]
pub(super) struct ReadableValue {
    /// A number that a value cannot hold exactly is its digits, as text; a value that is nested too deep is its whole text.
    pub(super) value: Value,
    /// All numbers are in it as they stand.
    pub(super) is_exact: bool,
}

pub(super) fn readable_value(token: Token<'_>) -> ReadableValue {
    let readable = ReadableBuilder::new(token.as_str(), NumberPolicy::InQuotes);
    let value = serde_json::from_str(&readable.text).ok();
    let value = value.filter(|_| readable.levels <= MOST_LEVELS);
    ReadableValue {
        is_exact: readable.is_exact || value.is_none(),
        value: value.unwrap_or_else(|| token.as_str().into()),
    }
}

/// The same as text that hooks can read, with each number as it stands.
pub(super) fn readable_text(token: Token<'_>) -> String {
    ReadableBuilder::new(token.as_str(), NumberPolicy::AsTheyStand).text
}

pub(super) fn is_too_deep(token: Token<'_>) -> bool {
    ReadableBuilder::new(token.as_str(), NumberPolicy::AsTheyStand).levels > MOST_LEVELS
}

struct ReadableBuilder {
    text: String,
    levels: usize,
    is_exact: bool,
}

impl ReadableBuilder {
    /// Reads valid JSON once, from left to right, in linear time for any input.
    fn new(json: &str, numbers: NumberPolicy) -> Self {
        let (mut text, mut rest) = (String::with_capacity(json.len()), json);
        let (mut level, mut levels, mut is_exact) = (0_usize, 0, true);
        while let Some(first) = rest.bytes().next() {
            let length = match first {
                b'"' => string_length(rest),
                b'-' | b'0'..=b'9' => number_length(rest),
                _ => 1, // outside of strings there is nothing but ASCII
            };
            let (token, after) = rest.split_at(length);
            match first {
                b'"' => push_string(&mut text, token),
                b'-' | b'0'..=b'9' if !is_exact_number(token) => {
                    is_exact = false;
                    let quote = if numbers == NumberPolicy::InQuotes {
                        "\""
                    } else {
                        ""
                    };
                    text.extend([quote, token, quote]);
                }
                b'{' | b'[' => {
                    level += 1;
                    levels = levels.max(level);
                    text.push_str(token);
                }
                b'}' | b']' => {
                    level = level.saturating_sub(1);
                    text.push_str(token);
                }
                _ => text.push_str(token),
            }
            rest = after;
        }
        Self {
            text,
            levels,
            is_exact,
        }
    }
}

/// How long the string is that the text begins with, quotes included.
fn string_length(text: &str) -> usize {
    let mut is_escaped = false;
    let end = text.bytes().skip(1).position(|byte| match byte {
        _ if is_escaped => {
            is_escaped = false;
            false
        }
        b'\\' => {
            is_escaped = true;
            false
        }
        byte => byte == b'"',
    });
    end.map_or(text.len(), |end| end + 2)
}

fn number_length(text: &str) -> usize {
    let is_part = |byte: u8| byte.is_ascii_digit() || b"+-.eE".contains(&byte);
    let end = text.bytes().position(|byte| !is_part(byte));
    end.unwrap_or(text.len())
}

/// A string as it stands, but with U+FFFD for halves of surrogate pairs.
fn push_string(text: &mut String, token: &str) {
    let has_surrogates = token.contains("\\ud") || token.contains("\\uD");
    let read = Token::parse(token).ok().filter(|_| has_surrogates);
    match read.and_then(Token::string) {
        Some(read) => text.push_str(&Value::from(read).to_string()),
        None => text.push_str(token),
    }
}

/// Whether the number is the same once it was read and written again. Only few need a second look.
fn is_exact_number(token: &str) -> bool {
    let is_short = token.len() < 16 && !token.contains(['.', 'e', 'E']);
    is_short || {
        let read: Option<Number> = serde_json::from_str(token).ok();
        let written = read.map(|number| number.to_string());
        written.is_some_and(|written| {
            let decimal = decimal_parts(token);
            decimal.is_some() && decimal == self::decimal_parts(&written)
        })
    }
}

/// A number's sign, its digits without zeros around them, and the power of ten of the last digit.
fn decimal_parts(token: &str) -> Option<(bool, String, i64)> {
    let (is_negative, token) = match token.strip_prefix('-') {
        Some(token) => (true, token),
        None => (false, token),
    };
    let (digits, power) = token.split_once(['e', 'E']).unwrap_or((token, "0"));
    let (whole, part) = digits.split_once('.').unwrap_or((digits, ""));
    let power: i64 = power.parse().ok()?;
    let power = power.checked_sub(i64::try_from(part.len()).ok()?)?;
    let all = format!("{whole}{part}");
    let digits = all.trim_end_matches('0');
    let power = power.checked_add(i64::try_from(all.len() - digits.len()).ok()?)?;
    let digits = digits.trim_start_matches('0').to_owned();
    let power = if digits.is_empty() { 0 } else { power };
    Some((is_negative, digits, power))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn value(json: &str) -> Value {
        readable_value(Token::parse(json).unwrap()).value
    }

    #[track_caller]
    fn check(given: &str, as_value: &Value, as_text: &str) {
        let token = Token::parse(given).unwrap();
        let read = readable_value(token);
        assert_eq!(read.value, *as_value, "{given}");
        assert_eq!(readable_text(token), as_text, "{given}");
        assert!(Token::parse(as_text).is_ok(), "{given}");
        let again = serde_json::from_str::<Value>(as_text);
        let is_same = again.is_ok_and(|again| again == *as_value);
        assert_eq!(read.is_exact, is_same, "{given}");
    }

    #[test]
    fn json_that_every_reader_accepts_is_unchanged() {
        for given in [
            "null",
            "true",
            "\"a \\\" \\\\ \\u00e9 \\ud83d\"",
            "[]",
            "{\"a\": [1, -2.50, 1e3, 0.1]}",
            "0",
            "-0.0",
            "9007199254740993",
            "18446744073709551615",
            "-9223372036854775808",
            "0.30000000000000004",
        ] {
            let given = given.replace("\\ud83d", "\\ud83d\\ude00");
            let as_value: Value = serde_json::from_str(&given).unwrap();
            let as_text = given.replace("\\\" \\\\ \\u00e9 \\ud83d\\ude00", "\\\" \\\\ é 😀");
            check(&given, &as_value, &as_text);
        }
    }

    #[test]
    fn hooks_get_lone_surrogates_as_replacement_characters() {
        check(r#""a\ud800b""#, &json!("a\u{fffd}b"), "\"a\u{fffd}b\"");
        check(
            r#"{"\uDC00": ["\\ud800"]}"#,
            &json!({"\u{fffd}": ["\\ud800"]}),
            "{\"\u{fffd}\": [\"\\\\ud800\"]}",
        );
    }

    #[test]
    fn numbers_that_would_be_rounded_keep_their_digits() {
        for number in [
            "1e999",
            "-1e999",
            "18446744073709551616",
            "3.14159265358979323846",
            "1e-999",
            "1e99999999999999999999",
        ] {
            check(
                &format!("[{number}]"),
                &json!([number]),
                &format!("[{number}]"),
            );
        }
    }

    #[test]
    fn json_that_is_nested_too_deeply_becomes_text() {
        let deep =
            |levels: usize| format!("{}\"\\u0053\"{}", "[".repeat(levels), "]".repeat(levels));
        let (most, more) = (deep(MOST_LEVELS), deep(MOST_LEVELS + 1));
        assert!(value(&most).is_array());
        assert_eq!(value(&more), more);
        assert!(is_too_deep(Token::parse(&more).unwrap()));
        assert!(value(&deep(100_000)).is_string());
    }

    proptest! {
        #[test]
        fn hooks_get_numbers_exactly(number in "-?(0|[1-9][0-9]{0,25})(\\.[0-9]{1,25})?([eE][+-]?[0-9]{1,4})?") {
            let token = Token::parse(&number).unwrap();
            prop_assert_eq!(readable_text(token), number.as_str());
            match readable_value(token).value {
                Value::String(digits) => prop_assert_eq!(digits, number.as_str()),
                told => prop_assert_eq!(decimal_parts(&told.to_string()), decimal_parts(&number)),
            }
        }

        #[test]
        fn hooks_get_strings_exactly(string in any::<String>()) {
            let token = Value::from(string.as_str()).to_string();
            let token = Token::parse(&token).unwrap();
            prop_assert_eq!(readable_value(token).value, string.as_str());
        }
    }
}
