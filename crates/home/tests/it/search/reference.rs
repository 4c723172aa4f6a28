//! The same search, as plainly as it can be said: everything is parsed with `serde_json`, every word is compared.

use std::cmp::Reverse;
use std::time::SystemTime;

use lapidary_home::sessions::{Listing, Scanner};
use lapidary_wire::gemini::session::Log;
use serde_json::Value;

use super::corpus::Home;

/// What is looked for: phrases of words in small letters, the last of each perhaps a beginning.
pub(crate) type Phrases<'q> = &'q [(&'q str, bool)];

/// The ids of the sessions in which every phrase is, the best first, with how many texts have something of it.
pub(crate) fn search(home: &Home, phrases: Phrases<'_>) -> Vec<(String, bool, u64)> {
    let listing = Listing::of(&home.projects(), SystemTime::UNIX_EPOCH);
    let mut found = Vec::new();
    for session in listing.sessions {
        let bytes = std::fs::read(&session.path).unwrap();
        let info = &session.info;
        let log = Log::read(&bytes);
        let summary = Scanner::bytes(&bytes).unwrap();
        let title = summary.summary.or(summary.first_user_message);
        let title = title.unwrap_or_default();
        let has = |text: &str| -> Vec<bool> {
            let words = words(text);
            phrases
                .iter()
                .map(|(phrase, is_prefix)| occurs(&words, phrase, *is_prefix))
                .collect()
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

fn words(text: &str) -> Vec<String> {
    let runs = text.split(|letter: char| !letter.is_alphanumeric());
    runs.filter(|run| !run.is_empty() && run.len() <= 128)
        .map(str::to_lowercase)
        .collect()
}

fn occurs(words: &[String], phrase: &str, is_prefix: bool) -> bool {
    let phrase: Vec<&str> = phrase.split(' ').collect();
    words.windows(phrase.len()).any(|window| {
        let mut pairs = window.iter().zip(&phrase).enumerate();
        pairs.all(|(place, (word, wanted))| {
            word == wanted || (is_prefix && place + 1 == phrase.len() && word.starts_with(wanted))
        })
    })
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
