//! Stores of other agents that change while they are read, or cannot be read.

use std::fs;
use std::io::{Seek as _, SeekFrom, Write as _};
use std::ops::ControlFlow;

use lapidary_sessions::{ClaudeSessions, CodexSessions, SessionLines, SessionProvider};
use lapidary_vocab::Body;
use lapidary_vocab::event::DiagnosticKind;

use super::agent_captures::everywhere;

/// The longest line that is read whole, and a little more; a gigabyte with `cargo xtask test --full`.
fn long_line() -> u64 {
    match std::env::var_os("LAPIDARY_FULL") {
        Some(_) => 1 << 30,
        None => 65 << 20,
    }
}

/// Counts the lines of a file; `change` is called with the first one.
fn lines_while(path: &std::path::Path, change: &mut dyn FnMut()) -> usize {
    let mut lines = SessionLines::open(path).unwrap();
    let mut count = 0;
    let read = lines.each_line(1 << 20, &mut |_| {
        if count == 0 {
            change();
        }
        count += 1;
        ControlFlow::Continue(())
    });
    read.unwrap();
    count
}

#[test]
fn a_file_that_is_replaced_while_it_is_read_is_read_as_it_was_and_a_cut_one_ends_there() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("s.jsonl");
    let line = format!("{{\"a\":\"{}\"}}\n", "x".repeat(1000));
    let write = || fs::write(&path, line.repeat(2000)).unwrap();
    write();
    let other = home.path().join("other");
    fs::write(&other, "{}\n").unwrap();
    let replaced = lines_while(&path, &mut || fs::rename(&other, &path).unwrap());
    assert_eq!(replaced, 2000);
    assert_eq!(lines_while(&path, &mut || {}), 1, "it is another file now");
    write();
    let cut = lines_while(&path, &mut || {
        let file = fs::File::options().write(true).open(&path).unwrap();
        file.set_len(0).unwrap();
    });
    assert!((1..2000).contains(&cut), "{cut}");
}

#[test]
fn a_line_that_is_too_long_is_told_with_its_length_and_the_rest_of_the_session_is_read() {
    let home = tempfile::tempdir().unwrap();
    let folder = home.path().join("sessions/2026");
    fs::create_dir_all(&folder).unwrap();
    let path = folder.join("rollout-x.jsonl");
    let record = |kind: &str, payload: &str| {
        format!(
            "{{\"timestamp\":\"2026-01-01T10:00:00.000Z\",\"type\":\"{kind}\",\"payload\":{payload}}}\n"
        )
    };
    let said = |text: &str| {
        let payload = format!(
            r#"{{"type":"message","role":"user","content":[{{"type":"input_text","text":"{text}"}}]}}"#
        );
        record("response_item", &payload)
    };
    let mut file = fs::File::create(&path).unwrap();
    let meta = record("session_meta", r#"{"id":"long","cwd":"/tmp/project"}"#);
    file.write_all((meta + &said("before")).as_bytes()).unwrap();
    // A hole: the file takes no place on the disk.
    let there = i64::try_from(long_line()).unwrap();
    file.seek(SeekFrom::Current(there)).unwrap();
    file.write_all(format!("\n{}", said("behind")).as_bytes())
        .unwrap();
    drop(file);
    let mut sessions = CodexSessions::new(home.path());
    let listing = sessions.list(&everywhere());
    let [session] = &listing.sessions[..] else {
        panic!("one session: {:?}", listing.hidden);
    };
    assert_eq!(session.message_count(), Some(2));
    let (mut texts, mut too_long) = (Vec::new(), 0);
    let take = &mut |event: lapidary_vocab::Event| match &event.body {
        Body::UserInput(input) => texts.push(input.text.to_str().into_owned()),
        Body::Diagnostic(it) if it.kind == DiagnosticKind::LineTooLong => too_long += 1,
        _ => {}
    };
    sessions.replay(session, take).unwrap();
    assert_eq!(
        (texts, too_long),
        (vec!["before".to_owned(), "behind".to_owned()], 1)
    );
}

#[test]
fn a_store_that_cannot_be_looked_into_has_a_sentence() {
    let home = tempfile::tempdir().unwrap();
    // As a directory without permission, but for every user.
    fs::write(home.path().join("projects"), "no directory").unwrap();
    let listing = ClaudeSessions::new(home.path()).list(&everywhere());
    let [warning] = &listing.warnings[..] else {
        panic!("one warning: {:?}", listing.warnings);
    };
    assert!(warning.contains("projects` are not listed: "), "{warning}");
}
