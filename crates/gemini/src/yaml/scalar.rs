//! The type of a scalar: by its tag, else by how it is written.

use std::borrow::Cow;

use granit_parser::{ScalarStyle, Tag};

use super::Yaml;

const YAML_TAGS: &str = "tag:yaml.org,2002:";

pub(super) fn scalar_value(
    text: Cow<'_, str>,
    style: ScalarStyle,
    tag: Option<&Tag>,
) -> Result<Yaml, String> {
    let is_quoted = matches!(style, ScalarStyle::SingleQuoted | ScalarStyle::DoubleQuoted);
    if !is_quoted && text.chars().any(is_unprintable) {
        return Err("there is a character that cannot be printed".to_owned());
    }
    let Some(tag) = tag.filter(|tag| !is_any(tag)) else {
        let is_plain = style == ScalarStyle::Plain && tag.is_none();
        return Ok(if is_plain {
            plain_value(&text)
        } else {
            Yaml::Text(text.into_owned())
        });
    };
    let wanted = tag_name(tag)?;
    let value = match wanted {
        "str" => return Ok(Yaml::Text(text.into_owned())),
        "binary" => return Ok(Yaml::Binary(text.into_owned())),
        _ => plain_value(&text),
    };
    let fits = match &value {
        Yaml::Null => wanted == "null" && !is_quoted,
        Yaml::Bool(_) => wanted == "bool",
        // A whole number is one with a point, too.
        Yaml::Int(_) => matches!(wanted, "int" | "float"),
        Yaml::Float(_) => wanted == "float",
        Yaml::Date(_) => wanted == "timestamp",
        _ => false,
    };
    if fits {
        Ok(value)
    } else {
        Err(format!("the scalar is not a `{wanted}`"))
    }
}

/// A value as a key: text, as JavaScript makes it.
pub(super) fn key_text(value: &Yaml) -> Result<String, String> {
    Ok(match value {
        Yaml::Null => "null".to_owned(),
        Yaml::Bool(value) => value.to_string(),
        Yaml::Int(value) => value.to_string(),
        Yaml::Float(value) => value.to_string(),
        Yaml::Date(text) | Yaml::Binary(text) | Yaml::Text(text) => text.clone(),
        Yaml::Map(_) => "[object Object]".to_owned(),
        Yaml::List(items) => {
            let items = items.iter().map(|item| match item {
                Yaml::List(_) => Err("a list in a list is a key".to_owned()),
                Yaml::Null => Ok(String::new()),
                item => key_text(item),
            });
            items.collect::<Result<Vec<_>, _>>()?.join(",")
        }
    })
}

/// The tag `!`, which only says that a scalar is text.
pub(super) fn is_any(tag: &Tag) -> bool {
    tag.handle().len() + tag.suffix().len() == 1
}

/// The name of one of YAML's own tags.
pub(super) fn tag_name(tag: &Tag) -> Result<&'static str, String> {
    const NAMES: [&str; 12] = [
        "binary",
        "bool",
        "float",
        "int",
        "map",
        "null",
        "omap",
        "pairs",
        "seq",
        "set",
        "str",
        "timestamp",
    ];
    let whole = format!("{}{}", tag.handle(), tag.suffix());
    let name = whole.strip_prefix(YAML_TAGS);
    let known = NAMES.into_iter().find(|known| Some(*known) == name);
    known.ok_or_else(|| format!("`{whole}` is not a known tag"))
}

fn plain_value(text: &str) -> Yaml {
    match text {
        "" | "~" | "null" | "Null" | "NULL" => Yaml::Null,
        "true" | "True" | "TRUE" => Yaml::Bool(true),
        "false" | "False" | "FALSE" => Yaml::Bool(false),
        written => parse_number(written).unwrap_or_else(|| date_or_text(text)),
    }
}

fn parse_number(text: &str) -> Option<Yaml> {
    parse_int(text).or_else(|| parse_float(text))
}

fn date_or_text(text: &str) -> Yaml {
    if is_date(text) {
        Yaml::Date(text.to_owned())
    } else {
        Yaml::Text(text.to_owned())
    }
}

fn parse_int(text: &str) -> Option<Yaml> {
    let (sign, digits) = split_sign(text);
    let (digits, radix) = match digits.get(..2) {
        Some("0b") => (&digits[2..], 2),
        Some("0x") => (&digits[2..], 16),
        Some("0o") => (&digits[2..], 8),
        _ if digits.starts_with('_') || digits.starts_with("0_") => return None,
        _ => (digits, 10),
    };
    let bare = without_blanks(digits, |digit| digit.is_digit(radix))?;
    // Beyond what JavaScript counts exactly it is a number all the same.
    Some(match i64::from_str_radix(&bare, radix) {
        Ok(number) => Yaml::Int(sign * number),
        Err(_) => Yaml::Float(bare.parse().unwrap_or(f64::INFINITY)),
    })
}

fn parse_float(text: &str) -> Option<Yaml> {
    let (sign, rest) = split_sign(text);
    let sign = if sign < 0 { -1.0 } else { 1.0 };
    if matches!(rest, ".inf" | ".Inf" | ".INF") {
        return Some(Yaml::Float(sign * f64::INFINITY));
    }
    if matches!(text, ".nan" | ".NaN" | ".NAN") {
        return Some(Yaml::Float(f64::NAN));
    }
    // A bare point has no sign.
    let is_number = rest.starts_with(|first: char| first.is_ascii_digit())
        || (text.starts_with('.') && text.len() > 1 && !text[1..].starts_with(['e', 'E']));
    let (mantissa, exponent) = rest
        .split_once(['e', 'E'])
        .map_or((rest, None), |(before, after)| (before, Some(after)));
    let is_mantissa = |letter: char| letter.is_ascii_digit() || letter == '_' || letter == '.';
    if !is_number || !mantissa.chars().all(is_mantissa) || mantissa.matches('.').count() > 1 {
        return None;
    }
    let digits = exponent.map(|digits| digits.strip_prefix(['-', '+']).unwrap_or(digits));
    let is_exponent =
        |digits: &str| !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
    if !digits.is_none_or(is_exponent) || text.ends_with('_') {
        return None;
    }
    let bare: String = rest.chars().filter(|letter| *letter != '_').collect();
    let bare = if bare.starts_with('.') {
        format!("0{bare}")
    } else {
        bare
    };
    bare.parse()
        .ok()
        .map(|number: f64| Yaml::Float(sign * number))
}

fn split_sign(text: &str) -> (i64, &str) {
    match text.strip_prefix('-') {
        Some(rest) => (-1, rest),
        None => (1, text.strip_prefix('+').unwrap_or(text)),
    }
}

/// Digits without the blanks that may stand between them, but not at the end.
fn without_blanks(text: &str, is_digit: impl Fn(char) -> bool) -> Option<String> {
    let is_number = text.chars().all(|letter| letter == '_' || is_digit(letter));
    let bare: String = text.chars().filter(|letter| *letter != '_').collect();
    (is_number && !bare.is_empty() && !text.ends_with('_')).then_some(bare)
}

/// A day as `YYYY-MM-DD`, or a time behind a day, where a digit may be missing.
fn is_date(text: &str) -> bool {
    let bytes = text.as_bytes();
    if bytes.len() < 8 || !bytes[..4].iter().all(u8::is_ascii_digit) {
        return false;
    }
    let mut reader = TimeDigits(&text[4..]);
    let (Some(month), Some(day)) = (
        reader.strip_literal("-").and_then(|r| r.up_to(2)),
        reader.strip_literal("-").and_then(|r| r.up_to(2)),
    ) else {
        return false;
    };
    if reader.0.is_empty() {
        return month == 2 && day == 2;
    }
    reader.take_time()
}

/// Reads a time from left to right.
struct TimeDigits<'a>(&'a str);

impl TimeDigits<'_> {
    fn strip_literal(&mut self, what: &str) -> Option<&mut Self> {
        self.0 = self.0.strip_prefix(what)?;
        Some(self)
    }

    /// How many digits there are, at least one and no more than so many.
    fn up_to(&mut self, most: usize) -> Option<usize> {
        let count = self
            .0
            .bytes()
            .take(most)
            .take_while(u8::is_ascii_digit)
            .count();
        self.0 = &self.0[count..];
        (count > 0).then_some(count)
    }

    fn take_time(&mut self) -> bool {
        let blank = self.0.trim_start_matches([' ', '\t']);
        self.0 = match self.0.strip_prefix(['T', 't']) {
            Some(rest) => rest,
            None if blank.len() < self.0.len() => blank,
            None => return false,
        };
        let is_clock = self.up_to(2).is_some()
            && self.strip_literal(":").and_then(|r| r.up_to(2)) == Some(2)
            && self.strip_literal(":").and_then(|r| r.up_to(2)) == Some(2);
        if let Some(fraction) = self.0.strip_prefix('.') {
            self.0 = fraction.trim_start_matches(|digit: char| digit.is_ascii_digit());
        }
        is_clock && (self.0.is_empty() || self.take_zone())
    }

    fn take_zone(&mut self) -> bool {
        self.0 = self.0.trim_start_matches([' ', '\t']);
        if self.0 == "Z" {
            return true;
        }
        let Some(rest) = self.0.strip_prefix(['-', '+']) else {
            return false;
        };
        self.0 = rest;
        self.up_to(2).is_some()
            && (self.0.is_empty()
                || (self.strip_literal(":").and_then(|r| r.up_to(2)) == Some(2)
                    && self.0.is_empty()))
    }
}

/// What js-yaml does not let pass outside quotes.
fn is_unprintable(letter: char) -> bool {
    matches!(letter, '\0'..='\u{8}' | '\u{b}' | '\u{c}' | '\u{e}'..='\u{1f}' | '\u{7f}'..='\u{84}' | '\u{86}'..='\u{9f}' | '\u{fffe}' | '\u{ffff}')
}
