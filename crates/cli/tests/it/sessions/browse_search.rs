//! What `sessions search` finds, the browser finds.

use std::fs::{self, File};
use std::time::{Duration, SystemTime};

use serde_json::Value;

use super::browse::{DONE, Home, LEAVE, titles};
use super::pty::Pty;
use crate::support::output;

/// Each ends in a way that says that the last word is whole.
const QUERIES: [&str; 9] = [
    "basket ",
    "HUNDRED ",
    "orders returns ",
    "\"the test sleeps\"",
    "\"sleeps the test\"",
    "clock flaky ",
    "prod* query ",
    "\"login te*",
    "schema.sql ",
];

/// The titles that `sessions search` finds.
fn found(home: &Home, query: &str) -> Vec<String> {
    let ran = output(
        home.sessions(&["search", query, "--no-index", "--format", "json"]),
        b"",
    );
    let result: Value = serde_json::from_slice(&ran.stdout).unwrap();
    let hits = result["hits"].as_array().unwrap().iter();
    let mut titles: Vec<_> = hits
        .map(|hit| hit["displayName"].as_str().unwrap().to_owned())
        .collect();
    titles.sort();
    titles
}

fn browsed(pty: &mut Pty, query: &str) -> Vec<String> {
    pty.type_in(&format!("\u{15}{query}"));
    let screen = pty.wait("the search is over", |screen| {
        let foot = screen.lines().last().unwrap_or_default();
        let foot = foot.trim_end_matches("Enter reads, Esc ends the search");
        foot.trim_end() == format!("search: {query}").trim_end()
    });
    let mut titles: Vec<_> = titles(&screen).into_iter().map(str::to_owned).collect();
    titles.sort();
    titles
}

fn compare(home: &Home) {
    let mut pty = home.browse();
    pty.wait_for("5 sessions");
    let mut count = 0;
    for query in QUERIES {
        let expected = found(home, query);
        count += expected.len();
        assert_eq!(browsed(&mut pty, query), expected, "{query}");
    }
    assert!(count >= 8, "there was something to be found");
    pty.type_in("\u{3}");
    pty.ended();
}

/// Makes the session files older: the index does not take in files that were written just now.
fn age(home: &Home) {
    let then = SystemTime::UNIX_EPOCH + Duration::from_mins(29_500_000);
    for file in fs::read_dir(home.chats()).unwrap() {
        let file = File::options().append(true).open(file.unwrap().path());
        file.unwrap().set_modified(then).unwrap();
    }
}

#[test]
fn the_browser_finds_what_a_search_finds() {
    compare(&Home::shop());
}

#[test]
fn browse_searches_with_an_index_and_updates_it() {
    let home = Home::shop();
    let last = home.session(5, Some("Bump the dependencies"), &["x", "y"]);
    fs::remove_file(&last).unwrap();
    age(&home);
    assert!(
        output(home.sessions(&["index"]), b"").status.success(),
        "an index of four"
    );
    home.session(
        5,
        Some("Bump the dependencies"),
        &["Update what is old.", "The clock is flaky, too."],
    );
    age(&home);
    let status = || {
        let ran = output(home.sessions(&["index", "--status"]), b"");
        String::from_utf8(ran.stdout).unwrap()
    };
    assert!(status().contains("4 of 5 files"), "{}", status());
    let mut pty = home.browse();
    pty.wait_for("5 sessions");
    assert!(status().contains("5 of 5 files"), "{}", status());
    pty.type_in(LEAVE);
    assert_eq!(pty.ended(), DONE);
    compare(&home);
}

#[test]
fn a_word_is_found_while_it_is_being_typed() {
    let home = Home::shop();
    let mut pty = home.browse();
    pty.wait_for("5 sessions");
    let expected = ["Why is the checkout so slow?"];
    assert_eq!(browsed(&mut pty, "bask"), expected);
    assert!(browsed(&mut pty, "nowhere").is_empty());
    assert!(browsed(&mut pty, "bask ").is_empty(), "a blank ends it");
    assert_eq!(browsed(&mut pty, "\"of the bask"), expected);
    pty.type_in("\u{3}");
    pty.ended();
}
