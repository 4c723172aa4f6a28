//! Sessions of opencode: files and a database of the real program, read back, and damaged.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{MetadataExt as _, symlink};
use std::path::{Path, PathBuf};

use lapidary_gemini::GeminiHome;
use lapidary_normalize::opencode::ExportDocument;
use lapidary_normalize::{NormalizeOptions, opencode::session_events};
use lapidary_sessions::{
    HiddenReason, ListedSession, OpencodeSessions, PriceTable, ProjectReach, ProviderScope,
    RawReplay as _, SessionListing, SessionProvider as _, SessionProviders, SessionStore,
    StatsRequest, stats_with,
};
use lapidary_testkit::captures::fixtures;
use lapidary_testkit::golden::GoldenFiles;
use lapidary_vocab::event::{Provider, TextKind, ToolCallStatus};
use lapidary_vocab::{Body, Event, line};
use rusqlite::Connection;

use super::agent_captures::{children, copy_tree, everywhere, name, scene, scenes};

/// A home with the sessions of a scene, and the database as opencode leaves it: with its log.
pub(crate) struct OpencodeHome {
    root: tempfile::TempDir,
    /// Keeps the log: the last connection that closes would write it into the database.
    writer: Option<Connection>,
}

impl OpencodeHome {
    pub(crate) fn new(of: &str) -> Self {
        let scene = scene(of);
        let root = tempfile::tempdir().unwrap();
        let home = root.path().join("opencode");
        fs::create_dir(&home).unwrap();
        fs::create_dir(root.path().join("scratch")).unwrap();
        if scene.join("storage").is_dir() {
            copy_tree(&scene.join("storage"), &home.join("storage"));
        }
        let sql = fs::read_to_string(scene.join("opencode.sql")).ok();
        let writer = sql.map(|sql| {
            let writer = Connection::open(home.join("opencode.db")).unwrap();
            writer.pragma_update(None, "journal_mode", "wal").unwrap();
            // Rows come table by table, so some come before the rows that they name.
            writer.pragma_update(None, "foreign_keys", false).unwrap();
            let script = format!("BEGIN;{sql}COMMIT;");
            writer.execute_batch(&script).unwrap();
            writer
        });
        Self { root, writer }
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.root.path().join("opencode")
    }

    pub(crate) fn sessions(&self) -> OpencodeSessions {
        OpencodeSessions::new(self.path(), self.root.path().join("scratch"))
    }

    fn list(&self) -> SessionListing {
        self.sessions().list(&everywhere())
    }

    /// The events of the only session, or of the first.
    fn events(&self, keep_raw: bool) -> Vec<Event> {
        let mut sessions = self.sessions();
        let listing = sessions.list(&everywhere());
        events_of(&sessions, &listing.sessions[0], keep_raw)
    }
}

fn events_of(sessions: &OpencodeSessions, session: &ListedSession, keep_raw: bool) -> Vec<Event> {
    let mut options = NormalizeOptions::new("golden");
    options.keep_raw = keep_raw;
    let mut events = Vec::new();
    let read = sessions.replay_with(session, &options, &mut |event| events.push(event));
    read.unwrap();
    events
}

fn texts(events: &[Event]) -> Vec<String> {
    let text = |event: &Event| match &event.body {
        Body::UserInput(input) => Some(format!("user {}", input.text)),
        Body::Text(text) => Some(format!("{} {}", text.kind, text.text)),
        Body::ToolInvocation(call) => Some(format!("call {}", call.tool_name)),
        Body::ToolCompletion(done) => Some(format!("{}", done.status)),
        _ => None,
    };
    events.iter().filter_map(text).collect()
}

#[test]
fn every_captured_session_of_opencode_gives_the_events_of_its_golden_file() {
    let mut goldens = GoldenFiles::default();
    for scene in scenes("opencode-") {
        let of = scene.strip_prefix(fixtures().join("sessions")).unwrap();
        let home = OpencodeHome::new(of.to_str().unwrap());
        let mut sessions = home.sessions();
        for session in sessions.list(&everywhere()).sessions {
            let mut written = Vec::new();
            for event in events_of(&sessions, &session, false) {
                assert_eq!(event.base.provider, Provider::Opencode);
                line::push_event(&mut written, &event);
            }
            let file = format!("{}.events.jsonl", session.id());
            let golden = fixtures().join("../golden/sessions").join(of).join(file);
            goldens.check(&golden, &written);
        }
    }
    goldens.finish();
}

#[test]
fn the_same_scene_reads_the_same_in_every_generation_of_opencode() {
    let told = |version: &str| texts(&OpencodeHome::new(&format!("{version}/text")).events(false));
    let expected = ["thinking The user greets me.", "text Hello, I am ready."];
    for version in ["opencode-1.1.65", "opencode-1.2.27", "opencode-1.18.33"] {
        let told = told(version);
        // Some versions of `opencode run` end a prompt with a newline.
        assert_eq!(told[0].trim_end(), "user \"Say hello\"", "{version}");
        assert_eq!(told[1..], expected, "{version}");
    }
}

#[test]
fn each_row_of_a_session_of_opencode_is_carried_by_one_event_or_counted() {
    for of in [
        "opencode-1.18.33/tools",
        "opencode-1.18.33/compact",
        "opencode-1.1.65/tools",
    ] {
        let home = OpencodeHome::new(of);
        let events = home.events(true);
        let carriers = events
            .iter()
            .filter(|event| event.base.raw.is_some())
            .count();
        let counted = events.iter().filter_map(|event| match &event.body {
            Body::Diagnostic(told) => told.count,
            _ => None,
        });
        let counted = usize::try_from(counted.sum::<u64>()).unwrap();
        assert_eq!(carriers + counted, rows_in(&scene(of)), "{of}");
    }
}

/// How many rows of sessions, messages and parts a scene has.
fn rows_in(scene: &Path) -> usize {
    match fs::read_to_string(scene.join("opencode.sql")) {
        Ok(sql) => {
            let tables = ["session", "message", "part"].map(|it| format!("INSERT INTO \"{it}\""));
            let is_row = |line: &&str| tables.iter().any(|table| line.starts_with(table));
            sql.lines().filter(is_row).count()
        }
        Err(_) => count_files(&scene.join("storage")),
    }
}

fn count_files(directory: &Path) -> usize {
    let count = |path: &PathBuf| if path.is_dir() { count_files(path) } else { 1 };
    children(directory).iter().map(count).sum()
}

#[test]
fn the_session_of_a_sub_agent_of_opencode_stands_in_its_call_and_not_in_the_list() {
    for version in ["opencode-1.1.65", "opencode-1.2.27", "opencode-1.18.33"] {
        let home = OpencodeHome::new(&format!("{version}/subagent"));
        let listing = home.list();
        assert_eq!(listing.sessions.len(), 1, "{version}");
        let reasons: Vec<_> = listing.hidden.iter().map(|it| it.reason.clone()).collect();
        assert_eq!(reasons, [HiddenReason::Subagent], "{version}");
        let events = home.events(false);
        let within = events.iter().filter_map(|event| match &event.body {
            Body::Text(text) => text.parent_call_id.as_ref().map(|_| text.text.to_string()),
            _ => None,
        });
        let within: Vec<_> = within.collect();
        assert_eq!(within, ["Reading.", "It has three lines."], "{version}");
    }
}

#[test]
fn a_denied_call_an_error_and_an_interruption_of_opencode_have_their_events() {
    let denied = OpencodeHome::new("opencode-1.18.33/denied").events(false);
    let is_failed = |event: &Event| matches!(&event.body, Body::ToolCompletion(done) if done.status == ToolCallStatus::Failed);
    assert!(denied.iter().any(is_failed));
    let failed = OpencodeHome::new("opencode-1.18.33/api-error").events(false);
    let is_error = |event: &Event| matches!(&event.body, Body::Text(text) if text.kind == TextKind::Error && text.text.to_str() == "the request is not valid");
    assert!(failed.iter().any(is_error));
    let cut = OpencodeHome::new("opencode-1.18.33/interrupt").events(false);
    assert_eq!(texts(&cut).last().unwrap(), "call bash", "it never ended");
}

#[test]
fn tokens_of_opencode_are_counted_once_for_each_response() {
    // The mock model counts its requests into the prompt, and the request for a title comes at another time.
    for (version, input) in [("opencode-1.1.65", 632), ("opencode-1.18.33", 627)] {
        let home = OpencodeHome::new(&format!("{version}/tools"));
        let others = SessionProviders::default().with(Some(home.sessions()));
        let others = others.list(&everywhere());
        let stats = stats_with(
            &[],
            &others,
            &StatsRequest::default(),
            &PriceTable::shipped(),
        );
        // Six responses, each with 20 tokens from the cache and 30 of output.
        let tokens = stats.tokens;
        let counted = (tokens.input, tokens.cached, tokens.output);
        assert_eq!(counted, (input, 120, 180), "{version}");
        assert_eq!((stats.answers, stats.tool_calls), (6, 8), "{version}");
    }
}

/// The name, size and times of everything below a directory.
fn state_of(directory: &Path) -> BTreeMap<PathBuf, (u64, i64, i64, i64)> {
    let mut state = BTreeMap::new();
    for path in children(directory) {
        let about = path.symlink_metadata().unwrap();
        let facts = (
            about.len(),
            about.mtime_nsec(),
            about.mtime(),
            about.ctime_nsec(),
        );
        state.insert(path.clone(), facts);
        if path.is_dir() {
            state.extend(state_of(&path));
        }
    }
    state
}

#[test]
fn reading_a_database_makes_and_changes_no_file_with_or_without_a_log() {
    let home = OpencodeHome::new("opencode-1.18.33/tools");
    let database = home.path().join("opencode.db");
    assert!(
        home.path()
            .join("opencode.db-wal")
            .metadata()
            .unwrap()
            .len()
            > 0
    );
    let check = || {
        let before = state_of(&home.path());
        assert_eq!(home.list().sessions.len(), 1);
        assert!(home.events(false).len() > 10);
        assert_eq!(state_of(&home.path()), before);
        assert_eq!(
            children(&home.root.path().join("scratch")),
            [] as [PathBuf; 0]
        );
    };
    check();
    // At rest, as after a checkpoint: no log and nothing beside the database.
    let copy = home.root.path().join("copy.db");
    let target = copy.to_str().unwrap().to_owned();
    home.writer
        .as_ref()
        .unwrap()
        .execute("VACUUM INTO ?1", [target])
        .unwrap();
    for ending in ["-wal", "-shm"] {
        fs::remove_file(home.path().join(format!("opencode.db{ending}"))).unwrap();
    }
    fs::rename(&copy, &database).unwrap();
    check();
}

#[test]
fn a_database_that_is_locked_is_read_all_the_same() {
    let home = OpencodeHome::new("opencode-1.18.33/text");
    let writer = Connection::open(home.path().join("opencode.db")).unwrap();
    writer
        .execute_batch("BEGIN EXCLUSIVE; UPDATE session SET title = 'not yet';")
        .unwrap();
    assert_eq!(
        &*home.list().sessions[0].info().display_name,
        "A small project"
    );
}

#[test]
fn a_corrupt_a_newer_and_a_linked_database_have_a_sentence_and_the_files_are_listed() {
    let sentence = |damage: &dyn Fn(&Path)| {
        let home = OpencodeHome::new("opencode-1.1.65/text");
        damage(&home.path().join("opencode.db"));
        let listing = home.list();
        assert_eq!(listing.sessions.len(), 1, "the files are still read");
        assert_eq!(listing.hidden.len(), 1);
        assert_eq!(listing.hidden[0].reason, HiddenReason::Unreadable);
        assert_eq!(listing.warnings.len(), 1);
        listing.hidden[0].explanation.clone()
    };
    let noise = sentence(&|path| fs::write(path, "no database\n".repeat(100)).unwrap());
    assert_eq!(noise, "it cannot be read: file is not a database");
    let newer = sentence(&|path| {
        let writer = Connection::open(path).unwrap();
        writer
            .execute_batch("CREATE TABLE session_v9 (id TEXT);")
            .unwrap();
    });
    let told = "it cannot be read: it has no table `session` with a column `directory`: a newer opencode may have written it";
    assert_eq!(newer, told);
    let endless = sentence(&|path| {
        let writer = Connection::open(path).unwrap();
        let view = "CREATE VIEW session AS WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n)
            SELECT x AS id, NULL AS parent_id, '/' AS directory, '' AS title, x AS time_created, x AS time_updated FROM n;
            CREATE TABLE message (id, session_id, time_created, data);
            CREATE TABLE part (id, message_id, session_id, data);";
        writer.execute_batch(view).unwrap();
    });
    let told = "it cannot be read: its `session` is no table with rows of its own";
    assert_eq!(endless, told);
    let directory = sentence(&|path| fs::create_dir(path).unwrap());
    assert_eq!(directory, "it cannot be read: it is not a file");
    let link = sentence(&|path| symlink("elsewhere.db", path).unwrap());
    let told = "it cannot be read: it is a link, which is not followed";
    assert_eq!(link, told);
}

#[test]
fn a_damaged_page_or_row_leaves_the_rest_of_a_database_readable() {
    let home = OpencodeHome::new("opencode-1.18.33/tools");
    let writer = home.writer.as_ref().unwrap();
    let damage =
        "UPDATE part SET data = '{\"type\":\"text\",' WHERE id = (SELECT min(id) FROM part);
                  UPDATE message SET data = x'ff00' WHERE id = (SELECT max(id) FROM message);";
    writer.execute_batch(damage).unwrap();
    let told = home
        .events(false)
        .into_iter()
        .filter_map(|event| match event.body {
            Body::Diagnostic(told) if told.count.is_none() => Some(told.message),
            _ => None,
        });
    let told: Vec<_> = told.collect();
    assert_eq!(
        told,
        ["unknown type of part: none", "unknown role of a message"]
    );
}

#[test]
fn a_session_that_is_in_both_generations_is_listed_once() {
    let home = OpencodeHome::new("opencode-1.18.33/text");
    let listing = home.list();
    let id = listing.sessions[0].id();
    let storage = home.path().join("storage/session/global");
    fs::create_dir_all(&storage).unwrap();
    let session = format!(
        r#"{{"id":"{id}","projectID":"global","directory":"/tmp/project","title":"An old copy","time":{{"created":1,"updated":2}}}}"#
    );
    fs::write(storage.join(format!("{id}.json")), session).unwrap();
    let messages = home.path().join("storage/message").join(id);
    fs::create_dir_all(&messages).unwrap();
    fs::write(
        messages.join("msg_1.json"),
        r#"{"id":"msg_1","role":"user"}"#,
    )
    .unwrap();
    let listing = home.list();
    assert_eq!(&*listing.sessions[0].info().display_name, "A small project");
    assert_eq!(listing.sessions.len(), 1);
    assert_eq!(listing.hidden[0].reason, HiddenReason::Duplicate);
}

#[test]
fn files_of_opencode_that_vanish_while_they_are_read_are_named_and_the_rest_is_read() {
    let home = OpencodeHome::new("opencode-1.1.65/tools");
    let whole = texts(&home.events(false));
    let mut sessions = home.sessions();
    let listing = sessions.list(&everywhere());
    let session = &listing.sessions[0];
    let messages = children(&home.path().join("storage/message").join(session.id()));
    // The list of messages is made before the first of them is told.
    let last = messages.last().unwrap();
    let mut events = Vec::new();
    let read = sessions.replay_with(session, &NormalizeOptions::new("r"), &mut |event| {
        if matches!(event.body, Body::UserInput(_)) {
            let _ = fs::remove_file(last);
        }
        events.push(event);
    });
    read.unwrap();
    let told = events.iter().filter_map(|event| match &event.body {
        Body::Diagnostic(told) if told.count.is_none() => Some(told.message.clone()),
        _ => None,
    });
    let error = std::io::Error::from_raw_os_error(2);
    let sentence = format!("`{}` cannot be read: {error}", last.display());
    assert_eq!(told.collect::<Vec<_>>(), [sentence]);
    assert_eq!(texts(&events), whole, "the parts of that message are there");
}

#[test]
fn a_linked_directory_of_messages_of_opencode_is_not_read() {
    let home = OpencodeHome::new("opencode-1.1.65/text");
    let messages = children(&home.path().join("storage/message")).remove(0);
    let outside = home.root.path().join("outside");
    fs::rename(&messages, &outside).unwrap();
    symlink(&outside, &messages).unwrap();
    let listing = home.list();
    assert_eq!(listing.sessions.len(), 0);
    let told = "it cannot be read: it is a link, which is not followed";
    assert_eq!(listing.hidden[0].explanation, told);
}

#[test]
fn sub_agents_of_opencode_in_another_project_are_not_among_the_skipped() {
    for version in ["opencode-1.1.65", "opencode-1.18.33"] {
        let home = OpencodeHome::new(&format!("{version}/subagent"));
        let store = SessionStore::new(GeminiHome::at(home.path()));
        for (directory, hidden) in [("/tmp/project", 1), ("/tmp/other", 0)] {
            let project = store.project(directory.as_ref());
            let scope = ProviderScope {
                projects: std::slice::from_ref(&project),
                reach: ProjectReach::Named,
                now: std::time::SystemTime::UNIX_EPOCH,
            };
            let listing = home.sessions().list(&scope);
            assert_eq!(listing.hidden.len(), hidden, "{version} {directory}");
        }
    }
}

#[test]
fn an_id_of_opencode_that_leads_elsewhere_names_no_file() {
    let home = OpencodeHome::new("opencode-1.1.65/subagent");
    let parts = children(&home.path().join("storage/part"));
    let task = parts.iter().flat_map(|it| children(it)).find(|path| {
        let text = fs::read_to_string(path).unwrap();
        text.contains("\"tool\": \"task\"")
    });
    let task = task.unwrap();
    let text = fs::read_to_string(&task).unwrap();
    let child = text
        .split("\"sessionId\": \"")
        .nth(1)
        .unwrap()
        .split('"')
        .next()
        .unwrap();
    fs::write(&task, text.replace(child, "../../../secret")).unwrap();
    let secret = home.root.path().join("secret");
    fs::create_dir(&secret).unwrap();
    fs::write(secret.join("msg_1.json"), r#"{"id":"msg_1","role":"user"}"#).unwrap();
    let told = texts(&home.events(false));
    assert!(told.contains(&"text The helper counted three lines.".to_owned()));
    assert!(!told.contains(&"text Reading.".to_owned()), "{told:?}");
}

#[test]
fn a_document_of_opencode_export_gives_the_events_of_its_session() {
    let storage = scene("opencode-1.1.65/tools/storage");
    let read = |path: &Path| fs::read_to_string(path).unwrap();
    let session = children(&children(&storage.join("session"))[0]).remove(0);
    let id = name(&session).replace(".json", "");
    let messages = children(&storage.join("message").join(&id))
        .into_iter()
        .map(|path| {
            let parts = storage.join("part").join(name(&path).replace(".json", ""));
            let parts: Vec<_> = children(&parts).iter().map(|it| read(it)).collect();
            format!(
                "{{\"info\":{},\"parts\":[{}]}}",
                read(&path),
                parts.join(",")
            )
        });
    let messages: Vec<_> = messages.collect();
    let document = format!(
        "{{\"info\":{},\"messages\":[{}]}}",
        read(&session),
        messages.join(",")
    );
    let export = ExportDocument::parse(&document).unwrap();
    let mut events = Vec::new();
    let options = NormalizeOptions::new("golden");
    session_events::events(&export, export.id(), &options, &mut |it| events.push(it)).unwrap();
    assert_eq!(
        texts(&events),
        texts(&OpencodeHome::new("opencode-1.1.65/tools").events(true))
    );
    assert_eq!(
        ExportDocument::parse("{}").map(|it| it.id().to_owned()),
        None
    );
}
