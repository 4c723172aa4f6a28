//! For any files, the fast search finds the same as the plain search.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::time::SystemTime;

use lapidary_json::Token;
use lapidary_sessions::search::SearchHits;
use lapidary_sessions::{FileScanner, is_resumable};
use lapidary_wire::gemini::session::ReplayedLog;
use proptest::prelude::*;
use serde_json::json;

use super::corpus::{Home, header};
use super::{reference, search};

const WORDS: [&str; 40] = [
    "fox",
    "Fox",
    "foxes",
    "dog",
    "ÉTÉ",
    "été",
    "e\u{301}te\u{301}",
    "ete",
    "дом",
    "ДОМ",
    "a1",
    "lazy",
    "Straße",
    "STRASSE",
    "λόγος",
    "ΛΟΓΟΣ",
    "ışık",
    "İ",
    "日本語",
    "本",
    "テスト",
    "ﾃｽﾄ",
    "が",
    "か\u{3099}",
    "か",
    "한국어를",
    "한국",
    "\u{1112}\u{1161}\u{11ab}국",
    "ภาษาไทย",
    "ไทย",
    "مَرْحَبًا",
    "مرحبا",
    "שָׁלוֹם",
    "हिन्दी",
    "🎉",
    "👍🏽",
    "👍",
    "⚠️",
    "ＦＯＸ",
    "fo\u{ad}x",
];

/// What parts words, and what looks odd in JSON. Nothing, too: then words grow together.
const SIGNS: [&str; 11] = [
    " ",
    "_",
    "\n",
    "\"",
    "\\",
    "\u{1b}[0m",
    " \u{1f600} ",
    "\\u0066ox ",
    "",
    "、",
    "…",
];

const QUERIES: [&str; 40] = [
    "fox",
    "FOX dog",
    "fo*",
    "\"fox dog\"",
    "dog/fo*",
    "été",
    "ete",
    "\"été\"",
    "\"ete\"",
    "\"e\u{301}te*\"",
    "дом lazy",
    "\"a1 a1\"",
    "nowhere",
    "strasse",
    "straß*",
    "λογος",
    "\"λόγος\"",
    "isik",
    "i",
    "日本語",
    "本",
    "語",
    "本語 fox",
    "日語",
    "\"日本 語\"",
    "テスト",
    "スト",
    "が",
    "か",
    "한국",
    "국어",
    "ไทย",
    "ภาษา",
    "مرحبا",
    "\"مرحبا\"",
    "שלום",
    "हिन्दी",
    "🎉 fox",
    "👍",
    "\"👍\"",
];

/// Some of them.
fn queries() -> impl Strategy<Value = Vec<&'static str>> {
    prop::sample::subsequence(&QUERIES[..], 9)
}

fn text() -> impl Strategy<Value = String> {
    let pair = (
        prop::sample::select(&WORDS[..]),
        prop::sample::select(&SIGNS[..]),
    );
    prop::collection::vec(pair, 0..6).prop_map(|pairs| {
        pairs
            .into_iter()
            .fold(String::new(), |mut text, (word, sign)| {
                let _ = write!(text, "{word}{sign}");
                text
            })
    })
}

/// A record as the CLI writes them, and so long that a search does not read all of it without need.
fn long(id: &str, text: &str) -> String {
    let said = json!(format!("{}{text}", "so much to say, ".repeat(80)));
    format!(
        r#"{{"id":"{id}","timestamp":"2026-01-01T00:00:00.000Z","type":"gemini","content":{said}}}"#
    )
}

/// One record of a log.
fn record() -> impl Strategy<Value = String> {
    let id = || (0..5u8).prop_map(|id| id.to_string());
    prop_oneof![
        3 => (id(), text()).prop_map(|(id, text)| json!({"id": id, "type": "user", "content": [{"text": text}]}).to_string()),
        3 => (id(), text()).prop_map(|(id, text)| json!({"id": id, "type": "gemini", "content": text}).to_string()),
        2 => (id(), text(), text()).prop_map(|(id, input, output)| json!({
            "id": id, "type": "gemini", "content": "",
            "toolCalls": [{"id": "c", "name": "t", "args": {"x": input, "y": "dog"}, "result": [{"functionResponse": {"response": {"output": output}}}]}],
        }).to_string()),
        3 => (id(), text()).prop_map(|(id, text)| long(&id, &text)),
        1 => id().prop_map(|id| json!({"$rewindTo": id}).to_string()),
        1 => (id(), text()).prop_map(|(id, text)| json!({"$set": {"messages": [{"id": id, "type": "user", "content": text}]}}).to_string()),
        1 => text().prop_filter("a summary says something", |text| !text.is_empty()).prop_map(|text| json!({"$set": {"summary": text}}).to_string()),
        1 => (0..4u8).prop_map(|id| json!({"$set": {"sessionId": format!("id-{id}")}}).to_string()),
        1 => Just("{\"torn".to_owned()),
    ]
}

/// A file: whose session, when, what; and whether letters are written as escapes.
type File = (u8, u8, Vec<String>, bool);

fn files() -> impl Strategy<Value = Vec<File>> {
    let file = (
        0..4u8,
        1..9u8,
        prop::collection::vec(record(), 0..8),
        prop::bool::weighted(0.2),
    );
    prop::collection::vec(file, 0..6)
}

fn write(home: &Home, files: &[File]) {
    for (place, file) in files.iter().enumerate() {
        home.file(&format!("session-{place}.jsonl"), log(file).as_bytes());
    }
}

fn log((id, day, records, is_escaped): &File) -> String {
    let mut text = header(
        &format!("id-{id}"),
        &format!("2026-01-0{day}T00:00:00.000Z"),
    );
    for record in records {
        let _ = write!(text, "\n{record}");
    }
    if *is_escaped {
        // As the writer of another program may have it.
        text = ascii(&text);
        text = text.replace('f', "\\u0066").replace("\\\\u0066", "\\\\f");
        text = text
            .replace("pro\\u0066", "prof")
            .replace("re\\u0066", "ref");
    }
    text
}

/// The same JSON in ASCII.
fn ascii(json: &str) -> String {
    let mut text = String::new();
    for unit in json.encode_utf16() {
        match u8::try_from(unit) {
            Ok(byte) if byte.is_ascii() => text.push(byte.into()),
            _ => {
                let _ = write!(text, "\\u{unit:04x}");
            }
        }
    }
    text
}

pub(super) fn outcome(found: &SearchHits) -> Vec<(String, bool, u64)> {
    let hits = found.hits.iter();
    hits.map(|hit| {
        (
            hit.session.id().to_owned(),
            hit.in_title,
            hit.matching_texts,
        )
    })
    .collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn the_fast_way_finds_what_the_plain_way_finds(files in files(), queries in queries()) {
        let home = Home::new();
        write(&home, &files);
        for query in &queries {
            let found = search(query).run(&home.projects(), SystemTime::UNIX_EPOCH);
            prop_assert_eq!(outcome(&found), reference::search(&home, query), "{}", query);
            for hit in &found.hits {
                prop_assert!(!hit.snippets.is_empty() && hit.snippets.len() <= 3, "{query}: {hit:?}");
            }
        }
    }

    #[test]
    fn the_list_and_the_log_agree_on_any_session(files in files()) {
        for (id, day, records, _) in files {
            // Not escaped: that damages some long records inside, which a list does not see and a log does.
            let text = log(&(id, day, records, false));
            let replayed = ReplayedLog::read(text.as_bytes());
            let summary = FileScanner::bytes(text.as_bytes()).unwrap();
            let said = |name| replayed.get(name).and_then(Token::string).map(Cow::into_owned);
            prop_assert_eq!(Some(summary.id), said("sessionId"));
            prop_assert_eq!(summary.summary, said("summary"));
            prop_assert_eq!(summary.start_time, said("startTime"));
            // A rewind takes away records in a list and messages in a log, in Gemini CLI too: a message that was written again
            // behind the place is gone from the one and stays in the other.
            if text.contains("$rewindTo") {
                continue;
            }
            let kind = |message: Token<'_>| message.get("type").and_then(|it| Some(it.string()?.into_owned()));
            let users = replayed.messages().filter(|it| kind(*it).as_deref() == Some("user"));
            prop_assert_eq!(summary.user_message_count, users.count() as u64);
            let can_be_resumed = replayed.messages().any(|it| {
                is_resumable(kind(it).as_deref(), it.get("content"), it.get("toolCalls"), it.get("thoughts"))
            });
            prop_assert_eq!(summary.is_resumable, can_be_resumed);
        }
    }

    #[cfg(feature = "index")]
    #[test]
    fn an_index_finds_the_same_before_and_after_files_change(before in files(), after in files(), queries in queries()) {
        let home = Home::new();
        write(&home, &before);
        let path = home.path().join("cache/index.sqlite");
        let same = |home: &Home| {
            let mut index = lapidary_sessions::SessionIndex::open(&path, SystemTime::now());
            for query in &queries {
                let plain = search(query).run(&home.projects(), SystemTime::UNIX_EPOCH);
                let indexed = search(query).with(&mut index, &home.projects(), SystemTime::UNIX_EPOCH);
                prop_assert!(index.is_open());
                prop_assert_eq!(outcome(&indexed), outcome(&plain), "{}", query);
                prop_assert_eq!(&indexed.warnings, &plain.warnings);
                let snippets = |found: &SearchHits| -> Vec<_> { found.hits.iter().map(|hit| hit.snippets.clone()).collect() };
                prop_assert_eq!(snippets(&indexed), snippets(&plain));
            }
            Ok(())
        };
        super::index::build(&path, &home);
        same(&home)?;
        for name in std::fs::read_dir(home.chats()).unwrap() {
            std::fs::remove_file(name.unwrap().path()).unwrap();
        }
        write(&home, &after);
        same(&home)?;
    }
}
