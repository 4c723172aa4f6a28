//! The real Gemini CLI lists the same sessions, in the same order, under the same titles and numbers.

use std::fmt::Write as _;
use std::time::{Duration, SystemTime};

use jiff::Timestamp;
use lapidary_gemini::GeminiHome;
use lapidary_sessions::{SessionListing, SessionStore};
use lapidary_testkit::gemini::GeminiVersion;
use lapidary_testkit::mutate::SeededRng;
use lapidary_testkit::recorded::RecordedHome;
use serde_json::{Value, json};

use super::real::gemini;

/// What `--list-sessions` would print of our list.
fn ours(home: &RecordedHome, now: SystemTime) -> String {
    let store = SessionStore::new(GeminiHome::at(home.home()));
    let listing = SessionListing::read(&[store.project(&home.project())], now);
    let sessions = &listing.sessions;
    if sessions.is_empty() {
        return "No previous sessions found for this project.".to_owned();
    }
    let mut text = format!(
        "\nAvailable sessions for this project ({}):\n",
        sessions.len()
    );
    for session in sessions {
        let info = session.info();
        let days = age(session.updated_ms.unwrap(), now);
        // Only our list shows characters that are not ASCII.
        let title = match &info.summary {
            Some(_) => &info.display_name,
            None => &info.first_user_message,
        };
        let title = shortened(title);
        let _ = writeln!(text, "  {}. {title} ({days}) [{}]", info.index, info.id);
    }
    text
}

fn age(updated: i64, now: SystemTime) -> String {
    let now = Timestamp::try_from(now).unwrap().as_millisecond();
    match (now - updated).div_euclid(24 * 60 * 60 * 1000) {
        days @ 2.. => format!("{days} days ago"),
        1 => "1 day ago".to_owned(),
        _ if now - updated < 60_000 => "Just now".to_owned(),
        _ => format!("{} hours ago", (now - updated) / 3_600_000),
    }
}

/// As JavaScript counts letters.
fn shortened(title: &str) -> String {
    let units: Vec<u16> = title.encode_utf16().collect();
    if units.len() <= 100 {
        return title.to_owned();
    }
    format!("{}...", String::from_utf16_lossy(&units[..97]))
}

/// So many days and a half ago: nothing changes its age while the test runs.
fn ago(now: SystemTime, days: u64) -> String {
    let then = now - Duration::from_hours(24 * days + 12);
    format!("{:.3}", Timestamp::try_from(then).unwrap())
}

const TEXTS: [&str; 22] = [
    "fix the tests",
    "  two\n\nlines  and \t a tab  ",
    "caf\u{e9} \u{1f600} na\u{ef}ve",
    "\u{1f600}\u{1f601}",
    "/help",
    " /help",
    "?",
    "? what",
    "<session_context>x</session_context>",
    "  <hook_context>y",
    "<session_contex",
    "",
    "   ",
    "\u{a0}\u{feff}\u{2003}",
    "a\u{85}b\u{2028}c",
    "\u{1b}[31mred\u{1b}[0m",
    "tab\tand\u{7f}delete\u{80}",
    "end \u{1f600}",
    "\u{1f600} start",
    "a very long title a very long title a very long title a very long title a very long title a very long title 12",
    "exactly one hundred letters exactly one hundred letters exactly one hundred letters exactly one hund",
    "\"quoted\" \\ and {braces} ${x}",
];

fn content(rng: &mut SeededRng) -> Value {
    let text = TEXTS[rng.below(TEXTS.len())];
    match rng.below(14) {
        0..=4 => json!(text),
        5..=7 => json!([{ "text": text }]),
        8 => json!([{ "text": text }, { "text": "more" }]),
        9 => json!({ "text": text }),
        10 => json!([{ "functionResponse": { "name": "x" } }]),
        11 => json!([{ "text": text, "thought": true }, { "inlineData": {} }]),
        12 => json!(["plain", { "text": text }, []]),
        _ => [json!(null), json!([]), json!({}), json!(""), json!([{}])][rng.below(5)].clone(),
    }
}

fn message(rng: &mut SeededRng) -> Value {
    let kind = [
        "user", "user", "gemini", "gemini", "info", "error", "warning", "odd",
    ][rng.below(8)];
    let mut message = json!({ "id": format!("m{}", rng.below(6)), "type": kind, "timestamp": "2026-01-01T00:00:00.000Z" });
    if rng.below(10) > 0 {
        message["content"] = content(rng);
    }
    match rng.below(8) {
        0 => message["toolCalls"] = json!([{ "id": "c", "name": "x" }]),
        1 => message["thoughts"] = json!([{ "subject": "s" }]),
        2 => message["toolCalls"] = json!([]),
        _ => {}
    }
    message
}

fn metadata(rng: &mut SeededRng, id: &str, now: SystemTime) -> Value {
    let mut record = json!({ "sessionId": id, "projectHash": "0".repeat(64), "startTime": ago(now, 5 + rng.below(300) as u64), "lastUpdated": ago(now, rng.below(300) as u64 + 2) });
    match rng.below(8) {
        0 => record["kind"] = json!("subagent"),
        1 => record["summary"] = json!(TEXTS[rng.below(TEXTS.len())]),
        _ => record["kind"] = json!("main"),
    }
    record
}

fn record(rng: &mut SeededRng, id: &str, now: SystemTime) -> String {
    let value = match rng.below(16) {
        0 => json!({ "$rewindTo": format!("m{}", rng.below(7)) }),
        1 => json!({ "$set": { "lastUpdated": ago(now, rng.below(100) as u64 + 2) } }),
        2 => json!({ "$set": { "summary": TEXTS[rng.below(TEXTS.len())] } }),
        3 => {
            let messages: Vec<_> = (0..rng.below(4)).map(|_| message(rng)).collect();
            json!({ "$set": { "messages": messages } })
        }
        4 => metadata(rng, id, now),
        5 => {
            return [
                "",
                "  ",
                "{\"id\": \"m1\", ",
                "null",
                "5",
                "[]",
                "{}",
                "{\"$set\": null}",
                "{\"$set\": 5}",
                "{\"id\": 5}",
                "\u{0}",
            ][rng.below(11)]
            .to_owned();
        }
        // Not without times: the CLI gives each file the moment at which it read it, and none is sure to come before another.
        6 => {
            let mut record = metadata(rng, id, now);
            record["messages"] = json!([message(rng), message(rng)]);
            record
        }
        _ => message(rng),
    };
    value.to_string()
}

/// A log, or a document of before 0.39.
fn session(rng: &mut SeededRng, id: &str, now: SystemTime) -> String {
    if rng.below(4) == 0 {
        let mut document = metadata(rng, id, now);
        let messages: Vec<_> = (0..rng.below(5)).map(|_| message(rng)).collect();
        document["messages"] = json!(messages);
        if rng.below(4) == 0 {
            document.as_object_mut().unwrap().remove("projectHash");
        }
        return if rng.below(2) == 0 {
            format!("{document:#}")
        } else {
            document.to_string()
        };
    }
    let mut lines = vec![metadata(rng, id, now).to_string()];
    lines.extend((0..rng.below(10)).map(|_| record(rng, id, now)));
    if rng.below(8) == 0 {
        lines.remove(0);
    }
    let end = ["\n", "\r\n"][usize::from(rng.below(8) == 0)];
    let mut text = lines.join(end);
    if rng.below(2) == 0 {
        text += end;
    }
    text
}

#[test]
#[cfg_attr(
    not(feature = "peers"),
    ignore = "needs real peers: run `cargo xtask test`"
)]
fn gemini_cli_lists_what_we_list_however_odd_the_files_are() {
    for seed in 0..4 {
        let home = RecordedHome::new();
        let now = SystemTime::now();
        let mut rng = SeededRng::new(seed + 1);
        for number in 0..150 {
            let id = format!(
                "s{}",
                if rng.below(6) == 0 {
                    rng.below(150)
                } else {
                    number
                }
            );
            let text = session(&mut rng, &id, now);
            let ending = ["json", "jsonl"][rng.below(2)];
            home.chat(&format!("session-{number:03}-x.{ending}"), &text);
        }
        let theirs = gemini(&home, GeminiVersion::V0_61_0, &["--list-sessions"]);
        let ours = ours(&home, now);
        assert!(ours.lines().count() > 40, "{ours}");
        // It has had the newest summarised, and we look after that.
        let pairs = ours.lines().zip(theirs.stdout.lines());
        for (our, their) in pairs {
            assert_eq!(our, their, "seed {seed}");
        }
        assert_eq!(ours, theirs.stdout, "seed {seed}");
    }
}
