//! Stores of other agents that change while they are read, or cannot be read.

use std::fs;
use std::io::{Seek as _, SeekFrom, Write as _};
use std::ops::ControlFlow;
use std::os::unix::fs::symlink;
use std::path::Path;

use lapidary_normalize::gemini::SubagentLogs as _;
use lapidary_sessions::{
    ClaudeSessions, CodexSessions, HiddenReason, OpencodeSessions, QwenSessions, SessionLines,
    SessionProvider, SubagentFiles,
};
use lapidary_vocab::event::DiagnosticKind;
use lapidary_vocab::{Body, Event};

use super::agent_captures::{children, copy_tree, everywhere, name, scene};

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
fn a_line_that_is_too_long_is_reported_with_its_length_and_the_rest_of_the_session_is_read() {
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
    let (mut texts, mut too_long) = (Vec::new(), Vec::new());
    let take = &mut |event: lapidary_vocab::Event| match &event.body {
        Body::UserInput(input) => texts.push(input.text.to_str().into_owned()),
        Body::Diagnostic(it) if it.kind == DiagnosticKind::LineTooLong => {
            too_long.push(it.message.clone());
        }
        _ => {}
    };
    sessions.replay(session, take).unwrap();
    assert_eq!(texts, ["before", "behind"]);
    let length = long_line();
    let sentence =
        format!("a line of {length} bytes is over the limit; its first 1024 bytes were kept");
    assert_eq!(too_long, [sentence]);
}

/// Moves a directory out of a store and leaves a link to it.
fn move_out(directory: &Path) -> tempfile::TempDir {
    let outside = tempfile::tempdir().unwrap();
    copy_tree(directory, outside.path());
    fs::remove_dir_all(directory).unwrap();
    symlink(outside.path(), directory).unwrap();
    outside
}

/// The links that are named as such, and how many events are of a sub-agent.
fn links_and_events(mut sessions: impl SessionProvider) -> (Vec<String>, usize) {
    let listing = sessions.list(&everywhere());
    let links = listing.hidden.iter();
    let links = links.filter(|it| it.reason == HiddenReason::LinkOutside);
    let links = links.map(|it| name(it.path.as_ref()));
    let mut within = 0;
    for session in &listing.sessions {
        let take = &mut |event: Event| {
            let is_within =
                matches!(&event.body, Body::Text(text) if text.parent_call_id.is_some());
            within += usize::from(is_within);
        };
        sessions.replay(session, take).unwrap();
    }
    (links.collect(), within)
}

fn home_of(of: &str, part: &str) -> tempfile::TempDir {
    let home = tempfile::tempdir().unwrap();
    copy_tree(&scene(of).join(part), &home.path().join(part));
    home
}

#[test]
fn linked_directories_within_a_project_are_named_and_not_read() {
    let session = "c1a0de00-0000-4000-8000-000000000005";
    for place in [format!("{session}/subagents"), session.to_owned()] {
        let home = home_of("claude-2.1.312/subagent", "projects");
        let claude = || ClaudeSessions::new(home.path());
        assert_eq!(links_and_events(claude()), (vec![], 2));
        let directory = home.path().join("projects/-tmp-project").join(&place);
        let _outside = move_out(&directory);
        assert_eq!(links_and_events(claude()), (vec![name(&directory)], 0));
    }
    let session = "f88fcb20-98b2-4d98-93a9-1e4cbf758fc9";
    let subagents = format!("projects/-tmp-project/subagents/{session}");
    for (place, expected) in [
        (subagents.as_str(), session),
        ("projects/-tmp-project/subagents", "subagents"),
        ("projects/-tmp-project/chats", "chats"),
    ] {
        let home = home_of("qwen-0.24.0/subagent", "projects");
        let qwen = || QwenSessions::new(home.path());
        assert_eq!(links_and_events(qwen()), (vec![], 2));
        let _outside = move_out(&home.path().join(place));
        assert_eq!(links_and_events(qwen()), (vec![expected.to_owned()], 0));
    }
    let home = home_of("qwen-0.1.4/text", "tmp");
    let project = children(&home.path().join("tmp")).remove(0);
    let _outside = move_out(&project);
    let qwen = QwenSessions::new(home.path());
    assert_eq!(links_and_events(qwen), (vec![name(&project)], 0));
    let home = home_of("opencode-1.1.65/subagent", "storage");
    let _outside = move_out(&home.path().join("storage/session/global"));
    let opencode = OpencodeSessions::new(home.path(), std::env::temp_dir());
    assert_eq!(links_and_events(opencode), (vec!["global".to_owned()], 0));
}

#[test]
fn a_linked_directory_of_sub_agents_of_gemini_cli_is_not_read() {
    let chats = tempfile::tempdir().unwrap();
    let directory = chats.path().join("s");
    fs::create_dir(&directory).unwrap();
    fs::write(directory.join("a.jsonl"), "{}").unwrap();
    let files = SubagentFiles::beside(&chats.path().join("session-s.jsonl"), "s");
    assert_eq!(files.read("a").as_deref(), Some(&b"{}"[..]));
    let _outside = move_out(&directory);
    assert_eq!(files.read("a"), None);
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
    assert!(warning.contains("projects` cannot be read: "), "{warning}");
}
