//! Queries in many scripts: each way of searching finds the text of the file.

use std::time::SystemTime;

use serde_json::json;

use super::corpus::Home;
use super::{ids, reference, search};

const FILE: &str = include_str!("languages.txt");

/// A text in which `\\u200d` stands for that character.
fn unescaped(text: &str) -> String {
    let mut pieces = text.split("\\u");
    let mut plain = pieces.next().unwrap().to_owned();
    for piece in pieces {
        let (code, rest) = piece.split_at(4);
        let code = u32::from_str_radix(code, 16).unwrap();
        plain.push(char::from_u32(code).unwrap());
        plain.push_str(rest);
    }
    plain
}

#[test]
fn queries_in_thirteen_scripts_and_emoji_find_what_they_should() {
    let home = Home::new();
    let lines = || FILE.lines().filter(|line| !line.starts_with('#'));
    let scripts = FILE.lines().filter(|line| line.starts_with("# ")).count();
    for line in lines().filter(|line| !line.starts_with("? ")) {
        let (id, text) = line.split_once('\t').unwrap();
        let record = json!({"id": "1", "type": "user", "content": unescaped(text)});
        home.session(id, "2026-01-01T10:00:00.000Z", &[&record.to_string()]);
    }
    #[cfg(feature = "index")]
    let mut index = {
        let path = home.path().join("index.sqlite");
        super::index::build(&path, &home);
        lapidary_sessions::SessionIndex::open(&path, SystemTime::now())
    };
    let projects = home.projects();
    let mut count = 0;
    for line in lines().filter_map(|line| line.strip_prefix("? ")) {
        let (query, expected) = line.split_once('\t').unwrap();
        let query = unescaped(query);
        let mut expected: Vec<_> = expected.split_whitespace().collect();
        expected.sort_unstable();
        let found = search(&query).run(&projects, SystemTime::UNIX_EPOCH);
        let mut files = ids(&found);
        files.sort_unstable();
        assert_eq!(files, expected, "{query}");
        let mut plain: Vec<_> = reference::search(&home, &query)
            .into_iter()
            .map(|(id, ..)| id)
            .collect();
        plain.sort_unstable();
        assert_eq!(plain, expected, "{query}, compared as strings");
        #[cfg(feature = "index")]
        {
            let indexed = search(&query).with(&mut index, &projects, SystemTime::UNIX_EPOCH);
            assert_eq!(ids(&indexed), ids(&found), "{query}, with an index");
            let snippets = |found: &lapidary_sessions::search::SearchHits| -> Vec<_> {
                found.hits.iter().map(|hit| hit.snippets.clone()).collect()
            };
            assert_eq!(
                snippets(&indexed),
                snippets(&found),
                "{query}, with an index"
            );
        }
        count += 1;
    }
    assert!(count >= 200 && scripts >= 14, "{count} in {scripts}");
}

#[test]
fn a_snippet_marks_whole_characters() {
    let home = Home::new();
    for (id, text) in [("ja", "きょうはﾃﾞｰﾀを見る"), ("fr", "un cafe\u{301} noir")] {
        let record = json!({"id": "1", "type": "user", "content": text});
        home.session(id, "2026-01-01T10:00:00.000Z", &[&record.to_string()]);
    }
    for (query, expected) in [("データ", "ﾃﾞｰﾀ"), ("デ", "ﾃﾞ"), ("cafe", "cafe\u{301}")]
    {
        let found = search(query).run(&home.projects(), SystemTime::UNIX_EPOCH);
        assert_eq!(found.hits[0].snippets[0].matched, expected, "{query}");
    }
}
