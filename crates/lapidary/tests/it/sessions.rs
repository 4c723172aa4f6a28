//! Loading recorded sessions as messages.

use std::path::Path;

use lapidary::gemini::GeminiHome;
use lapidary::sessions::project_hash;
use lapidary::sessions::{LoadError, LoadRequest, load_messages};
use lapidary_testkit::recorded::{RecordedHome, header, log};
use serde_json::{Value, json};

fn request(home: &RecordedHome) -> LoadRequest {
    LoadRequest::new("gemini", home.project(), GeminiHome::at(home.home()))
}

/// The text of each message of a session.
fn said(request: &LoadRequest) -> Vec<String> {
    let messages = load_messages(request).unwrap();
    let texts = messages.iter().map(|message| {
        let message = serde_json::to_value(message).unwrap();
        text(&message["content"])
    });
    texts.collect()
}

fn text(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        blocks => blocks[0]["text"].as_str().unwrap_or_default().to_owned(),
    }
}

/// A session as 0.24 wrote it, in its directory.
fn document(home: &RecordedHome, name: &str, id: &str, updated: &str, says: &str) {
    let hash = project_hash(&home.project());
    let document = json!({
        "sessionId": id, "projectHash": hash, "startTime": "2026-01-01T00:00:00.000Z", "lastUpdated": updated,
        "messages": [{ "id": "1", "timestamp": updated, "type": "user", "content": says }],
    });
    home.put(
        &format!("tmp/{hash}/chats/{name}"),
        &format!("{document:#}"),
    );
}

#[test]
fn u28_the_loader_matches_the_inner_id_and_not_the_name_of_the_file() {
    let home = RecordedHome::new();
    document(
        &home,
        "session-2026-01-01T00-00-bbbbbbbb.json",
        "aaaaaaaa-1",
        "2026-01-01T00:00:00.000Z",
        "the one",
    );
    document(
        &home,
        "session-2026-01-01T00-00-aaaaaaaa.json",
        "bbbbbbbb-1",
        "2026-01-02T00:00:00.000Z",
        "the other",
    );
    assert_eq!(said(&request(&home).session("aaaaaaaa-1")), ["the one"]);
    // Not the beginning of an id either.
    let error = load_messages(&request(&home).session("aaaaaaaa")).unwrap_err();
    assert!(
        matches!(
            error,
            LoadError::NotFound {
                session_id: Some(_),
                ..
            }
        ),
        "{error:?}"
    );
}

#[test]
fn u29_without_an_id_it_is_the_greatest_last_updated() {
    let home = RecordedHome::new();
    home.session("began-last", "2026-01-05T10:00:00.000Z", &["later begun"]);
    document(
        &home,
        "session-a.json",
        "updated-last",
        "2026-01-09T00:00:00.000Z",
        "later updated",
    );
    document(
        &home,
        "session-z.json",
        "oldest",
        "2026-01-01T00:00:00.000Z",
        "old",
    );
    assert_eq!(said(&request(&home)), ["later updated"]);
    let both = said(&request(&home).session("began-last"));
    assert_eq!(both, ["later begun", "You said later begun"]);
}

#[test]
fn u30_a_corrupt_neighbour_is_ignored() {
    let home = RecordedHome::new();
    document(
        &home,
        "session-good.json",
        "good",
        "2026-01-01T00:00:00.000Z",
        "still here",
    );
    let hash = project_hash(&home.project());
    for (name, text) in [
        ("torn", "{\"sessionId\": \"good\", "),
        ("empty", ""),
        ("odd", "[1]"),
        ("null", "null"),
        ("binary", "\u{0}\u{1}"),
    ] {
        home.put(&format!("tmp/{hash}/chats/session-{name}.json"), text);
    }
    std::fs::create_dir(
        home.home()
            .join(format!(".gemini/tmp/{hash}/chats/session-dir.json")),
    )
    .unwrap();
    assert_eq!(said(&request(&home)), ["still here"]);
    assert_eq!(said(&request(&home).session("good")), ["still here"]);
}

#[test]
fn u31_a_trailing_slash_or_a_relative_path_is_the_same_directory() {
    let home = RecordedHome::new();
    document(
        &home,
        "session-a.json",
        "one",
        "2026-01-01T00:00:00.000Z",
        "found",
    );
    let root = home.root();
    let named = |path: &Path| {
        LoadRequest {
            project: path.to_owned(),
            ..request(&home)
        }
        .in_dir(&root)
    };
    let slash = format!("{}/", home.project().display());
    for path in [
        slash.as_str(),
        "work/project",
        "./work/project/",
        "work/../work/project",
        "work/./project",
    ] {
        assert_eq!(said(&named(Path::new(path))), ["found"], "{path}");
    }
    // A link to the directory names the same directory.
    std::os::unix::fs::symlink(home.project(), root.join("link")).unwrap();
    assert_eq!(said(&named(Path::new("link"))), ["found"]);
}

#[test]
fn a_missing_session_is_a_typed_error_or_an_empty_list() {
    let home = RecordedHome::new();
    let error = load_messages(&request(&home)).unwrap_err();
    let told = format!(
        "No Gemini session found for project: {}",
        home.project().display()
    );
    assert_eq!(error.to_string(), told);
    assert!(matches!(
        error,
        LoadError::NotFound {
            session_id: None,
            ..
        }
    ));
    assert_eq!(load_messages(&request(&home).or_empty()).unwrap(), []);
    home.session("one", "2026-01-05T10:00:00.000Z", &["hello"]);
    let lenient = request(&home).session("another").or_empty();
    assert_eq!(load_messages(&lenient).unwrap(), []);
    let goose = LoadRequest {
        tool: "goose".to_owned(),
        ..request(&home)
    };
    let refused = load_messages(&goose.or_empty());
    assert!(matches!(refused, Err(LoadError::UnknownTool { .. })));
}

#[test]
fn messages_of_claude_code_are_loaded_from_its_own_files() {
    let home = RecordedHome::new();
    let project = home.project().canonicalize().unwrap();
    let plain = |letter: char| {
        if letter.is_ascii_alphanumeric() {
            letter
        } else {
            '-'
        }
    };
    let name: String = project.to_string_lossy().chars().map(plain).collect();
    let directory = home.home().join(".claude/projects").join(name);
    std::fs::create_dir_all(&directory).unwrap();
    let record = |uuid: &str, role: &str, text: &str| {
        serde_json::json!({
            "type": role, "uuid": uuid, "sessionId": "s", "cwd": project,
            "timestamp": "2026-01-05T10:00:00.000Z",
            "message": { "role": role, "content": [{ "type": "text", "text": text }] },
        })
    };
    let lines = [record("a", "user", "hello"), record("b", "assistant", "hi")];
    let text = lines.map(|it| it.to_string()).join("\n");
    std::fs::write(directory.join("s.jsonl"), text).unwrap();
    let claude = LoadRequest {
        tool: "claude".to_owned(),
        ..request(&home)
    };
    assert_eq!(load_messages(&claude).unwrap().len(), 2);
    let absent = LoadRequest {
        tool: "codex".to_owned(),
        ..request(&home)
    };
    let absent = load_messages(&absent).unwrap_err();
    assert!(matches!(absent, LoadError::NotFound { .. }));
}

#[test]
fn the_conversation_is_loaded_and_not_the_stub_that_a_resume_left_beside_it() {
    let home = RecordedHome::new();
    home.session("shared", "2026-01-05T10:00:00.000Z", &["hello"]);
    let later = "2026-01-06T10:00:00.000Z";
    home.chat(
        "session-2026-01-06T10-00-shared.jsonl",
        &format!("{}\n", header("shared", later, later)),
    );
    assert_eq!(said(&request(&home)).len(), 2);
    assert_eq!(said(&request(&home).session("shared")).len(), 2);
    // A stub alone is found by its id: it is there.
    home.chat("session-x.jsonl", &log("stub", later, &[]));
    assert_eq!(said(&request(&home).session("stub")).len(), 0);
}

#[test]
fn loading_writes_nothing() {
    let home = RecordedHome::new();
    home.session("one", "2026-01-05T10:00:00.000Z", &["hello"]);
    let before = home.tree();
    load_messages(&request(&home)).unwrap();
    assert_eq!(home.tree(), before);
}
