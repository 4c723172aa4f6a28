//! One session of a list: which file it is, what to call it, whether it is the running one.

use std::time::{Duration, SystemTime};

use lapidary_gemini::GeminiHome;
use lapidary_sessions::{
    SelectionMode, SessionListing, SessionProject, SessionStore, project_hash, select, session_file,
};
use lapidary_testkit::recorded::{RecordedHome, file_name, header, log};

const ONE: &str = "aaaaaaaa-0000-4000-8000-000000000001";
/// Begins with the same eight letters.
const OTHER: &str = "aaaaaaaa-0000-4000-8000-000000000002";

fn project(home: &RecordedHome) -> SessionProject {
    SessionStore::new(GeminiHome::at(home.home())).project(&home.project())
}

/// Noon of that day, in UTC.
fn noon(day: u64) -> SystemTime {
    let new_year_2026 = 1_767_225_600;
    SystemTime::UNIX_EPOCH + Duration::from_secs(new_year_2026 + (day - 1) * 86_400 + 43_200)
}

#[test]
fn a_selected_session_is_shown_as_gemini_cli_shows_it() {
    let home = RecordedHome::new();
    home.session(OTHER, "2026-01-01T10:00:00.000Z", &["before"]);
    home.session(
        ONE,
        "2026-01-02T10:00:00.000Z",
        &["fix the\ntests", "and now?"],
    );
    let listing = SessionListing::read(&[project(&home)], noon(5));
    let found = select(&listing, "latest", SelectionMode::Strict).unwrap();
    assert_eq!(
        found.display_info(noon(5)),
        "Session 2: fix the tests (4 messages, 3 days ago)"
    );
}

#[test]
fn sessions_below_projects_hash_and_its_chats_are_listed_behind_those_that_gemini_cli_lists() {
    const IN_USE: &str = "bbbbbbbb-0000-4000-8000-000000000003";
    let home = RecordedHome::new();
    home.session(IN_USE, "2026-01-03T10:00:00.000Z", &["in use"]);
    let hash = project_hash(&home.project());
    for (directory, id, start) in [
        ("chats/", ONE, "2026-01-01T10:00:00.000Z"),
        ("", OTHER, "2026-01-02T10:00:00.000Z"),
    ] {
        let name = format!("projects/{hash}/{directory}{}", file_name(id, start));
        home.put(&name, &log(id, start, &["of old"]));
    }
    let store = SessionStore::new(GeminiHome::at(home.home()));
    for projects in [vec![project(&home)], store.projects()] {
        let listing = SessionListing::read(&projects, noon(5));
        let sessions = listing.sessions.iter();
        let found: Vec<_> = sessions
            .map(|session| (session.id(), session.index(), session.is_cli_listed()))
            .collect();
        let expected = [(IN_USE, 1, true), (ONE, 2, false), (OTHER, 3, false)];
        assert_eq!(found, expected);
    }
}

#[test]
fn only_the_running_session_is_the_current_one() {
    let home = RecordedHome::new();
    home.session(OTHER, "2026-01-01T10:00:00.000Z", &["before"]);
    home.session(ONE, "2026-01-02T10:00:00.000Z", &["now"]);
    let mut listing = SessionListing::read(&[project(&home)], noon(5));
    let current = |listing: &SessionListing| {
        let sessions = listing.sessions.iter();
        let current = sessions.filter(|session| session.info().is_current_session);
        current
            .map(|session| session.id().to_owned())
            .collect::<Vec<_>>()
    };
    assert_eq!(current(&listing), [] as [&str; 0]);
    listing.mark_current(ONE);
    assert_eq!(current(&listing), [ONE]);
    listing.mark_current("another");
    assert_eq!(current(&listing), [] as [&str; 0]);
}

#[test]
fn the_file_of_a_session_is_found_by_the_id_in_it() {
    let home = RecordedHome::new();
    let project = project(&home);
    assert_eq!(session_file(&project, ONE), None);
    let one = home.session(ONE, "2026-01-01T10:00:00.000Z", &["one"]);
    let other = home.session(OTHER, "2026-01-02T10:00:00.000Z", &["other"]);
    assert_eq!(session_file(&project, ONE), Some(one.clone()));
    assert_eq!(session_file(&project, OTHER), Some(other));
    // The same session, written again: the newest file counts, also if nothing was said in it yet.
    let start = "2026-01-03T10:00:00.000Z";
    let again = format!("{}\n", header(ONE, start, start));
    let again = home.chat("session-2026-01-03T10-00-aaaaaaaa.jsonl", &again);
    home.age(&one, SystemTime::now(), Duration::from_mins(1));
    assert_eq!(session_file(&project, ONE), Some(again));
}

#[test]
fn an_id_that_an_agent_made_up_names_no_file() {
    let home = RecordedHome::new();
    let project = project(&home);
    let text = log(ONE, "2026-01-01T10:00:00.000Z", &["one"]);
    home.put("tmp/project/secret-aaaaaaaa.jsonl", &text);
    home.chat("session-broken-aaaaaaaa.jsonl", "no session\n");
    for id in [ONE, "", "../secret", "é", "aaaaaaaé", "session-2026"] {
        assert_eq!(session_file(&project, id), None, "{id}");
    }
}
