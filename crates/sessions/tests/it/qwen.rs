//! Sessions of Qwen Code: files of the real program in both generations, read back, and damaged.

use std::fs;
use std::path::{Path, PathBuf};

use lapidary_gemini::GeminiHome;
use lapidary_normalize::gemini::session_events;
use lapidary_normalize::qwen::session_events::QwenNormalizer;
use lapidary_normalize::{DeltaMode, NormalizeOptions, WithoutSubagents, session_events_of};
use lapidary_sessions::{
    AgentTranscriptFiles, HiddenReason, PriceTable, ProjectReach, ProviderScope, QwenSessions,
    SessionListing, SessionProvider as _, SessionProviders, SessionStore, StatsRequest, stats_with,
};
use lapidary_testkit::captures::fixtures;
use lapidary_testkit::golden::GoldenFiles;
use lapidary_vocab::event::{Provider, SessionState, ToolCallStatus};
use lapidary_vocab::{Body, Event, line};
use lapidary_wire::gemini::session::ReplayedLog;

use super::agent_captures::{children, copy_tree, everywhere, name, scene, scenes};

/// The session files of a scene.
fn session_files(scene: &Path) -> Vec<PathBuf> {
    let new = scene.join("projects/-tmp-project/chats");
    if new.is_dir() {
        return children(&new);
    }
    let hashes = children(&scene.join("tmp"));
    hashes
        .iter()
        .flat_map(|it| children(&it.join("chats")))
        .collect()
}

fn events_of(path: &Path) -> Vec<Event> {
    let bytes = fs::read(path).unwrap();
    let mut options = NormalizeOptions::new("golden");
    options.keep_raw = false;
    options.deltas = DeltaMode::Final;
    let mut events = Vec::new();
    if path.extension().is_some_and(|it| it == "json") {
        session_events::events(&ReplayedLog::read(&bytes), &options, |it| events.push(it));
    } else {
        let subagents = AgentTranscriptFiles::of_qwen(path);
        let mut normalizer = QwenNormalizer::new(&options, &subagents);
        session_events_of(&mut normalizer, &bytes, &mut |it| events.push(it));
    }
    events
}

fn events_in(of: &str) -> Vec<Event> {
    let files = session_files(&scene(of));
    files.iter().flat_map(|path| events_of(path)).collect()
}

#[test]
fn every_captured_session_of_qwen_code_gives_the_events_of_its_golden_file() {
    let mut goldens = GoldenFiles::default();
    for scene in scenes("qwen-") {
        for file in session_files(&scene) {
            let mut written = Vec::new();
            for event in events_of(&file) {
                assert_eq!(event.base.provider, Provider::Qwen);
                line::push_event(&mut written, &event);
            }
            let place = file.strip_prefix(fixtures()).unwrap().with_extension("");
            let golden = fixtures().join("../golden").join(place);
            goldens.check(&golden.with_extension("events.jsonl"), &written);
        }
    }
    goldens.finish();
}

#[test]
fn a_denied_call_a_failed_request_and_a_compression_of_qwen_code_have_their_events() {
    let denied = |event: &Event| match &event.body {
        Body::ToolCompletion(done) if done.status == ToolCallStatus::Failed => {
            let reason = event.base.extensions.get("qwen.errorType");
            reason.map(|it| it.as_str().to_owned())
        }
        _ => None,
    };
    let events = events_in("qwen-0.24.0/denied");
    let denied: Vec<_> = events.iter().filter_map(denied).collect();
    assert_eq!(denied, ["\"execution_denied\""; 2]);
    let is_error = |event: &Event| matches!(&event.body, Body::SessionStatus(it) if it.status == SessionState::Error);
    assert!(events_in("qwen-0.24.0/api-error").iter().any(is_error));
    let is_compaction = |event: &Event| matches!(event.body, Body::ContextCompaction(_));
    assert!(events_in("qwen-0.24.0/compact").iter().any(is_compaction));
}

#[test]
fn the_work_of_a_sub_agent_of_qwen_code_stands_in_its_call() {
    let within = |event: &Event| match &event.body {
        Body::Text(text) => text
            .parent_call_id
            .as_ref()
            .map(|id| format!("{id} {}", text.text)),
        Body::ToolInvocation(call) => {
            let parent = call.parent_call_id.as_ref();
            parent.map(|id| format!("{id} {}", call.tool_name))
        }
        _ => None,
    };
    let events = events_in("qwen-0.24.0/subagent");
    let within: Vec<_> = events.iter().filter_map(within).collect();
    let expected = [
        "call_0001_0 Reading.",
        "call_0001_0 read_file",
        "call_0001_0 It has three lines.",
    ];
    assert_eq!(within, expected);
}

/// A home with all scenes of a version.
fn home_with(version: &str) -> tempfile::TempDir {
    let home = tempfile::tempdir().unwrap();
    for scene in children(&scene(version)) {
        for part in ["projects", "tmp"] {
            if scene.join(part).is_dir() {
                copy_tree(&scene.join(part), &home.path().join(part));
            }
        }
    }
    home
}

fn list_in(home: &Path) -> SessionListing {
    QwenSessions::new(home).list(&everywhere())
}

#[test]
fn sessions_of_every_generation_of_qwen_code_are_listed_by_their_first_prompt() {
    for version in ["qwen-0.1.4", "qwen-0.5.0", "qwen-0.24.0"] {
        let home = home_with(version);
        let listing = list_in(home.path());
        let titles = listing.sessions.iter().map(|it| &*it.info().display_name);
        let titles: Vec<_> = titles.collect();
        assert!(titles.contains(&"Say hello"), "{version}: {titles:?}");
        assert_eq!(listing.sessions.len(), children(&scene(version)).len());
        assert_eq!((listing.hidden, listing.warnings), (vec![], vec![]));
        for session in &listing.sessions {
            assert_eq!(session.info().provider, Provider::Qwen);
            let mut texts = 0;
            let provider = QwenSessions::new(home.path());
            let count =
                &mut |event: Event| texts += u32::from(matches!(event.body, Body::UserInput(_)));
            provider.replay(session, count).unwrap();
            assert!(texts > 0, "{}", session.path.display());
        }
    }
}

#[test]
fn a_project_has_its_sessions_of_both_generations_and_not_those_of_another() {
    let home = home_with("qwen-0.24.0");
    copy_tree(&scene("qwen-0.1.4/text/tmp"), &home.path().join("tmp"));
    let store = SessionStore::new(GeminiHome::at(home.path()));
    for (directory, expected) in [("/tmp/project", 11), ("/tmp/other", 0)] {
        let project = store.project(directory.as_ref());
        let scope = ProviderScope {
            projects: std::slice::from_ref(&project),
            reach: ProjectReach::Named,
            now: std::time::SystemTime::UNIX_EPOCH,
        };
        let listing = QwenSessions::new(home.path()).list(&scope);
        assert_eq!(listing.sessions.len(), expected, "{directory}");
        let is_there = |project: Option<&str>| project == Some(directory);
        assert!(
            listing
                .sessions
                .iter()
                .all(|it| is_there(it.info().project.as_deref()))
        );
    }
}

#[test]
fn damaged_and_linked_files_of_qwen_code_have_a_reason_and_the_others_are_listed() {
    let home = home_with("qwen-0.5.0");
    let good = list_in(home.path()).sessions.len();
    let chats = home.path().join("projects/-tmp-project/chats");
    fs::write(chats.join("empty.jsonl"), "").unwrap();
    fs::write(chats.join("noise.jsonl"), "no JSON\n").unwrap();
    std::os::unix::fs::symlink("/etc/passwd", chats.join("link.jsonl")).unwrap();
    fs::create_dir(chats.join("directory.jsonl")).unwrap();
    fs::create_dir(chats.join("archive")).unwrap();
    let twin = &children(&chats)
        .into_iter()
        .find(|it| it.is_file() && it.metadata().unwrap().len() > 99)
        .unwrap();
    fs::copy(twin, chats.join("archive").join(name(twin))).unwrap();
    let listing = list_in(home.path());
    let mut hidden: Vec<_> = listing.hidden.iter().map(|it| it.reason.clone()).collect();
    hidden.sort_by_key(ToString::to_string);
    let expected = [
        HiddenReason::Duplicate,
        HiddenReason::Empty,
        HiddenReason::LinkOutside,
        HiddenReason::NotAFile,
        HiddenReason::NotASession,
    ];
    assert_eq!(hidden, expected);
    assert_eq!(listing.sessions.len(), good);
}

#[test]
fn tokens_of_qwen_code_are_counted_once_for_each_response() {
    let home = tempfile::tempdir().unwrap();
    copy_tree(
        &scene("qwen-0.24.0/tools/projects"),
        &home.path().join("projects"),
    );
    let sessions = QwenSessions::new(home.path());
    let others = SessionProviders::default()
        .with(Some(sessions))
        .list(&everywhere());
    let stats = stats_with(
        &[],
        &others,
        &StatsRequest::default(),
        &PriceTable::shipped(),
    );
    // Six responses of 101 to 106 tokens, each with 20 from the cache and 30 of output.
    let tokens = stats.tokens;
    assert_eq!(
        (tokens.input, tokens.cached, tokens.output),
        (621, 120, 180)
    );
    assert_eq!((stats.turns, stats.answers, stats.tool_calls), (1, 6, 8));
}

#[test]
fn a_rewound_prompt_of_qwen_code_is_counted_and_a_circle_of_parents_ends() {
    let record = |uuid: &str, parent: &str, kind: &str, text: &str| {
        format!(
            r#"{{"uuid":"{uuid}","parentUuid":{parent},"sessionId":"s","type":"{kind}","cwd":"/p","message":{{"role":"x","parts":[{{"text":"{text}"}}]}}}}"#
        )
    };
    let lines = [
        record("a", "null", "user", "begin"),
        record("b", "\"a\"", "assistant", "begun"),
        record("c", "\"b\"", "user", "wrong way"),
        record("d", "\"c\"", "assistant", "lost"),
        record("f", "\"g\"", "assistant", "round"),
        record("g", "\"f\"", "assistant", "and round"),
        record("e", "\"b\"", "user", "right way"),
        record("e", "\"b\"", "user", "right way"),
        r#"{"uuid":"h","mess"#.to_owned(),
    ];
    let text = lines.join("\n");
    let mut normalizer = QwenNormalizer::new(&NormalizeOptions::new("r"), &WithoutSubagents);
    let mut told = Vec::new();
    session_events_of(
        &mut normalizer,
        text.as_bytes(),
        &mut |event| match event.body {
            Body::UserInput(input) => told.push(input.text.to_string()),
            Body::Text(text) => told.push(text.text.to_string()),
            Body::Diagnostic(diagnostic) => told.push(diagnostic.message),
            _ => {}
        },
    );
    let expected = [
        "begin",
        "begun",
        "round",
        "and round",
        "right way",
        "the last record is cut off",
        "not shown: 2 records after a prompt that was taken back, 1 record that stands twice; shown in the order of the file: 2 records whose parents form a circle",
    ];
    assert_eq!(told, expected);
}

#[test]
fn a_session_file_of_qwen_code_cut_anywhere_is_read_as_far_as_it_goes() {
    let bytes = fs::read(&session_files(&scene("qwen-0.24.0/tools"))[0]).unwrap();
    for end in (0..bytes.len()).step_by(197) {
        lapidary_testkit::fuzz::qwen_session(&bytes[..end]);
    }
}
