//! Searches in sessions: the results, and that they are the same for each way of searching.

mod corpus;
#[cfg(all(feature = "index", target_os = "linux"))]
mod directory_names;
#[cfg(feature = "index")]
mod index;
mod languages;
mod properties;
mod reference;

use std::time::SystemTime;

use lapidary_sessions::search::{EntryRole, SearchFilters, SearchHits, SearchQuery, SessionSearch};

use corpus::Home;

fn search(query: &str) -> SessionSearch {
    SessionSearch {
        query: SearchQuery::words(query).unwrap(),
        filters: SearchFilters::default(),
        limit: 20,
    }
}

fn ids(found: &SearchHits) -> Vec<&str> {
    let ids = found.hits.iter().map(|hit| hit.session.id());
    ids.collect()
}

fn run(home: &Home, search: &SessionSearch) -> SearchHits {
    search.run(&home.projects(), SystemTime::UNIX_EPOCH)
}

fn three() -> Home {
    let home = Home::new();
    home.session("one", "2026-01-01T10:00:00.000Z", &[
        r#"{"id":"1","type":"user","content":[{"text":"Where is the Zebra?"}]}"#,
        r#"{"id":"2","type":"gemini","content":"In the zoo.","model":"gemini-2.5-pro","thoughts":[{"subject":"Animals","description":"a giraffe"}]}"#,
    ]);
    home.session("two", "2026-01-02T10:00:00.000Z", &[
        r#"{"id":"1","type":"user","content":"read it"}"#,
        r#"{"id":"2","type":"gemini","content":"","model":"gemini-2.5-flash","toolCalls":[{"id":"c","name":"read_file","args":{"file_path":"src/zoo.rs","limit":7331},"status":"success","result":[{"functionResponse":{"id":"c","name":"read_file","response":{"output":"the zebra\nand the giraffe"}}}],"resultDisplay":"Read all lines"}]}"#,
        r#"{"$set":{"summary":"About reading"}}"#,
    ]);
    home.session(
        "three",
        "2026-01-03T10:00:00.000Z",
        &[
            r#"{"id":"1","type":"user","content":"zebra zebra"}"#,
            r#"{"id":"2","type":"gemini","content":"A zebra it is"}"#,
            r#"{"id":"3","type":"user","content":"okapi"}"#,
            r#"{"$rewindTo":"3"}"#,
        ],
    );
    home
}

#[test]
fn the_context_that_gemini_cli_adds_is_not_searched() {
    let home = Home::new();
    home.session("one", "2026-01-01T10:00:00.000Z", &[
        r#"{"id":"1","type":"user","content":[{"text":"<session_context>\nThe project has the file okapi.py."}]}"#,
        r#"{"id":"2","type":"user","content":"what about the zebra?"}"#,
    ]);
    assert_eq!(ids(&run(&home, &search("okapi"))), [""; 0]);
    assert_eq!(ids(&run(&home, &search("zebra"))), ["one"]);
}

#[test]
fn titles_come_first_then_how_often_then_how_recently() {
    let home = three();
    let is = |query: &str, expected: &[&str]| {
        assert_eq!(ids(&run(&home, &search(query))), expected, "{query}");
    };
    is("zebra", &["three", "one", "two"]);
    is("zoo", &["two", "one"]);
    is("zebra giraffe", &["two", "one"]);
    is("\"the zebra\"", &["one", "two"]);
    is("\"zebra the\"", &[]);
    is("zeb*", &["three", "one", "two"]);
    is("zeb", &[]);
    is("7331", &["two"]);
    is("src/zoo.rs", &["two"]);
    is("reading", &["two"]);
    is("lines", &["two"]);
    is("animals", &["one"]);
    // A message that the user rewound is not found.
    is("okapi", &[]);
}

#[test]
fn filters_leave_out_what_was_not_asked_for() {
    let home = three();
    let is = |filters: SearchFilters, expected: &[&str]| {
        let search = SessionSearch {
            filters: filters.clone(),
            ..search("zebra")
        };
        assert_eq!(ids(&run(&home, &search)), expected, "{filters:?}");
    };
    let none = SearchFilters::default;
    let role = |role| SearchFilters {
        role: Some(role),
        ..none()
    };
    is(role(EntryRole::User), &["three", "one"]);
    is(role(EntryRole::Assistant), &["three"]);
    is(role(EntryRole::Tool), &["two"]);
    is(role(EntryRole::Title), &["three", "one"]);
    is(role(EntryRole::Notice), &[]);
    let tool = |name: &str| SearchFilters {
        tool: Some(name.to_owned()),
        ..none()
    };
    is(tool("READ_FILE"), &["two"]);
    is(tool("read"), &[]);
    let model = |name: &str| SearchFilters {
        model: Some(name.to_owned()),
        ..none()
    };
    is(model("Flash"), &["two"]);
    is(model("pro"), &[]);
    let day = |day: i64| Some(1_767_225_600_000 + day * 86_400_000);
    is(
        SearchFilters {
            since_ms: day(1),
            until_ms: day(2),
            ..none()
        },
        &["two"],
    );
}

#[test]
fn snippets_say_where_and_mark_what() {
    let home = three();
    let found = run(&home, &search("giraffe"));
    let snippet = &found.hits[0].snippets[0];
    assert_eq!(ids(&found), ["two", "one"]);
    assert_eq!(
        (&*snippet.before, &*snippet.matched, &*snippet.after),
        ("the zebra and the ", "giraffe", " Read all lines")
    );
    assert_eq!(
        (&*snippet.role, snippet.tool.as_deref(), snippet.message),
        ("tool", Some("read_file"), Some(2))
    );
}

#[test]
fn only_the_best_are_shown_and_all_are_counted() {
    let home = three();
    let found = run(
        &home,
        &SessionSearch {
            limit: 1,
            ..search("zebra")
        },
    );
    assert_eq!((ids(&found), found.total), (vec!["three"], 3));
    assert_eq!(found.hits[0].matching_texts, 2);
    assert!(found.hits[0].in_title);
}

#[test]
fn an_expression_is_looked_for_in_what_was_said_not_in_how_it_is_written() {
    let home = three();
    let search = |pattern| SessionSearch {
        query: SearchQuery::regex(pattern).unwrap(),
        ..search("x")
    };
    assert_eq!(ids(&run(&home, &search(r"(?i)zebra\nand"))), ["two"]);
    assert_eq!(
        ids(&run(&home, &search(r"functionResponse|\\n"))),
        Vec::<&str>::new()
    );
}

#[test]
fn the_newer_of_two_files_is_the_session() {
    let home = three();
    let newer = r#"{"id":"1","type":"user","content":"nothing striped"}"#;
    home.session("three", "2026-01-04T10:00:00.000Z", &[newer]);
    assert_eq!(ids(&run(&home, &search("zebra"))), ["one", "two"]);
    assert_eq!(ids(&run(&home, &search("striped"))), ["three"]);
    // A file that calls itself otherwise later on is another session's.
    home.session(
        "four",
        "2026-01-05T10:00:00.000Z",
        &[newer, r#"{"$set":{"sessionId":"one"}}"#],
    );
    assert_eq!(ids(&run(&home, &search("zebra"))), ["two"]);
}

#[test]
fn files_that_are_no_sessions_are_no_results() {
    let home = three();
    home.file("session-empty.jsonl", b"");
    home.file("session-torn.jsonl", b"{\"sessionId\":\"torn\",\"zebra\":");
    home.file("session-bytes.jsonl", b"\xff\xfe zebra \x00\x01");
    home.file("session-other.json", b"[\"zebra\"]");
    std::fs::create_dir(home.chats().join("session-zebra.jsonl")).unwrap();
    home.session(
        "sub",
        "2026-01-06T10:00:00.000Z",
        &[
            r#"{"id":"1","type":"user","content":"zebra"}"#,
            r#"{"$set":{"kind":"subagent"}}"#,
        ],
    );
    home.session(
        "mute",
        "2026-01-06T10:00:00.000Z",
        &[r#"{"id":"1","type":"user","content":"/zebra"}"#],
    );
    let found = run(&home, &search("zebra"));
    assert_eq!(ids(&found), ["three", "one", "two"]);
    assert_eq!(found.warnings, Vec::<String>::new());
}
