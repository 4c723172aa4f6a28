//! The same search, as plainly as it can be said: everything is parsed with `serde_json`, and texts are compared as strings, folded as a
//! whole. Nothing here knows of tokens.

use std::cmp::Reverse;
use std::time::SystemTime;

use lapidary_sessions::{FileScanner, SessionListing};
use lapidary_wire::gemini::session::ReplayedLog;
use serde_json::Value;
use unicode_normalization::UnicodeNormalization as _;
use unicode_normalization::char::is_combining_mark;

use super::corpus::Home;

/// The ids of the sessions that contain every phrase of the query, the best first, with the number of texts that contain one.
pub(crate) fn search(home: &Home, query: &str) -> Vec<(String, bool, u64)> {
    let phrases = phrases(query);
    let listing = SessionListing::read(&home.projects(), SystemTime::UNIX_EPOCH);
    let mut found = Vec::new();
    for session in listing.sessions {
        let bytes = std::fs::read(&session.path).unwrap();
        let info = session.info();
        let log = ReplayedLog::read(&bytes);
        let summary = FileScanner::bytes(&bytes).unwrap();
        let title = summary.summary.or(summary.first_user_message);
        let title = title.unwrap_or_default();
        let has = |text: &str| -> Vec<bool> {
            let occurs = phrases.iter().map(|phrase| phrase.occurs_in(text));
            occurs.collect()
        };
        let in_title = has(&title);
        let texts: Vec<_> = log
            .messages()
            .flat_map(|message| texts(message.as_str()))
            .map(|text| has(&text))
            .collect();
        let is_there = |place: usize| in_title[place] || texts.iter().any(|text| text[place]);
        if (0..phrases.len()).all(is_there) {
            let whole = texts
                .iter()
                .filter(|text| text.iter().all(|is| *is))
                .count();
            let any = texts
                .iter()
                .filter(|text| text.iter().any(|is| *is))
                .count() as u64;
            let in_title = in_title.iter().all(|is| *is);
            let rank = (
                Reverse(in_title),
                Reverse(whole),
                Reverse(any),
                Reverse(session.updated_ms),
                info.id.clone(),
            );
            found.push((rank, (info.id.clone(), in_title, any)));
        }
    }
    found.sort();
    found.into_iter().map(|(_, hit)| hit).collect()
}

/// A phrase of the query, which a session must contain.
struct Phrase {
    text: String,
    is_exact: bool,
    is_prefix: bool,
}

fn phrases(query: &str) -> Vec<Phrase> {
    let mut phrases = Vec::new();
    for (place, piece) in query.split('"').enumerate() {
        let is_exact = place % 2 == 1;
        let pieces = if is_exact {
            vec![piece]
        } else {
            piece.split_whitespace().collect()
        };
        phrases.extend(pieces.into_iter().map(|piece| Phrase {
            text: compared(piece, is_exact).trim().to_owned(),
            is_exact,
            is_prefix: piece.trim_end().ends_with('*'),
        }));
    }
    phrases.retain(|phrase| !phrase.text.is_empty());
    phrases
}

impl Phrase {
    /// True if a text has it, and no word goes on where it ends.
    fn occurs_in(&self, text: &str) -> bool {
        let text = compared(text, self.is_exact);
        let ends_word = |one: Option<char>, other: Option<char>| {
            !(one.is_some_and(is_of_word) && other.is_some_and(is_of_word))
        };
        let places = text.char_indices().map(|(at, _)| at);
        let mut places = places.filter(|at| text[*at..].starts_with(&self.text));
        places.any(|at| {
            let (before, behind) = (&text[..at], &text[at + self.text.len()..]);
            let (first, last) = (self.text.chars().next(), self.text.chars().next_back());
            let is_end = ends_word(last, behind.chars().next());
            // Marks and tones belong to the letter before them.
            let is_torn =
                behind.starts_with(|next| is_mark(next) && !is_unspaced(next) || is_tone(next));
            let is_half = |before: &str| {
                let flags = before.chars().rev();
                flags.take_while(|letter| is_flag(*letter)).count() % 2 == 1
            };
            let tears_flag = first.is_some_and(is_flag) && is_half(before)
                || behind.starts_with(is_flag) && is_half(&text[..at + self.text.len()]);
            !tears_flag
                && ends_word(before.chars().next_back(), first)
                && (self.is_prefix && last.is_some_and(is_of_word) || is_end && !is_torn)
        })
    }
}

/// A text as it is compared: one blank for each separator of words, none beside a letter that counts as a word by itself.
fn compared(text: &str, is_exact: bool) -> String {
    let width = |letter: char| match letter {
        '\u{ff00}'..='\u{ffef}' => letter.to_string().nfkd().collect::<String>(),
        _ => letter.to_string(),
    };
    let decomposed: String = text.chars().map(width).collect::<String>().nfd().collect();
    let mut plain = String::new();
    for letter in decomposed.chars().filter(|letter| !is_unseen(*letter)) {
        let small: String = match letter {
            'I' | 'i' | 'ı' => "i".to_owned(),
            letter if is_mark(letter) => letter.to_string(),
            letter => letter
                .to_lowercase()
                .to_string()
                .to_uppercase()
                .to_lowercase(),
        };
        // `to_lowercase` of a text makes the last sigma of a word another one.
        plain.push_str(&small.replace('ς', "σ").nfd().to_string());
    }
    let plain = plain.replace("i\u{307}", "i");
    let plain: String = if is_exact {
        plain
    } else {
        let base = plain
            .chars()
            .filter(|letter| !(is_accent(*letter) || is_tone(*letter)));
        let stroke = |letter: char| match letter {
            'ø' => "o".to_owned(),
            'ł' => "l".to_owned(),
            'đ' => "d".to_owned(),
            'ħ' => "h".to_owned(),
            'ŧ' => "t".to_owned(),
            'æ' => "ae".to_owned(),
            'œ' => "oe".to_owned(),
            letter => letter.to_string(),
        };
        base.map(stroke).collect()
    };
    blanks(&plain.nfc().collect::<String>())
}

fn blanks(text: &str) -> String {
    let is_seen = |letter: char| {
        is_of_word(letter) || is_unspaced(letter) || is_emoji(letter) || is_tone(letter)
    };
    let words = text
        .split(|letter: char| !is_seen(letter))
        .filter(|word| !word.is_empty());
    let mut line = String::new();
    for word in words {
        let between = (line.chars().next_back(), word.chars().next());
        if let (Some(before), Some(behind)) = between
            && (is_of_word(before) && is_of_word(behind)
                || is_unspaced(before) && is_unspaced(behind))
        {
            line.push(' ');
        }
        line.push_str(word);
    }
    line
}

fn is_of_word(letter: char) -> bool {
    (letter.is_alphanumeric() || is_combining_mark(letter))
        && !is_unspaced(letter)
        && !is_emoji(letter)
}

fn is_unspaced(letter: char) -> bool {
    let is_digit = letter.is_numeric() && !('\u{3000}'..='\u{3fff}').contains(&letter);
    let is_of_script = matches!(u32::from(letter),
        0xe00..=0xeff | 0x1000..=0x109f | 0x1100..=0x11ff | 0x1780..=0x17ff | 0x3005..=0x3007 | 0x3041..=0x30ff
        | 0x3130..=0x318f | 0x3400..=0x9fff | 0xac00..=0xd7ff | 0xf900..=0xfaff | 0x20000..=0x3ffff);
    is_of_script && !is_digit && (letter.is_alphanumeric() || is_combining_mark(letter))
}

fn is_emoji(letter: char) -> bool {
    matches!(u32::from(letter), 0xa9 | 0xae | 0x2600..=0x27bf | 0x2b00..=0x2bff | 0x1f000..=0x1faff)
        && !is_tone(letter)
}

fn is_tone(letter: char) -> bool {
    ('\u{1f3fb}'..='\u{1f3ff}').contains(&letter)
}

/// Half of a flag.
fn is_flag(letter: char) -> bool {
    ('\u{1f1e6}'..='\u{1f1ff}').contains(&letter)
}

fn is_mark(letter: char) -> bool {
    is_combining_mark(letter)
}

/// Marks of Latin, Greek and Cyrillic, of Hebrew and of Arabic.
fn is_accent(letter: char) -> bool {
    is_mark(letter)
        && matches!(u32::from(letter), 0x300..=0x36f | 0x483..=0x489 | 0x590..=0x5ff | 0x600..=0x74f | 0x1ab0..=0x1dff | 0x20d0..=0x20ff)
}

fn is_unseen(letter: char) -> bool {
    matches!(u32::from(letter), 0xad | 0x640 | 0x17b4 | 0x17b5 | 0x200b..=0x200f | 0x2060 | 0xfe00..=0xfe0f | 0xfeff)
}

fn texts(message: &str) -> Vec<String> {
    let message: Value = serde_json::from_str(message).unwrap();
    let mut texts = Vec::new();
    match &message["content"] {
        Value::String(text) => texts.push(text.clone()),
        Value::Array(parts) => texts.extend(
            parts
                .iter()
                .filter_map(|part| Some(part["text"].as_str()?.to_owned())),
        ),
        _ => {}
    }
    for call in message["toolCalls"].as_array().into_iter().flatten() {
        let arguments = call["args"].as_object().into_iter().flatten();
        let arguments: Vec<_> = arguments.filter_map(|(_, value)| value.as_str()).collect();
        texts.push(arguments.join("\n"));
        let output = &call["result"][0]["functionResponse"]["response"]["output"];
        texts.push(output.as_str().unwrap_or_default().to_owned());
    }
    texts
}
