//! Sessions of Claude Code: files of the real program, read back, and damaged in every way.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use lapidary_gemini::GeminiHome;
use lapidary_normalize::claude::session_events::ClaudeNormalizer;
use lapidary_normalize::{
    DeltaMode, NormalizeOptions, SubagentTranscripts as _, WithoutSubagents, session_events_of,
};
use lapidary_sessions::{
    AgentTranscriptFiles, ClaudeSessions, HiddenReason, PriceTable, ProjectReach, ProviderScope,
    SessionListing, SessionProvider as _, SessionProviders, SessionStore, StatsRequest, stats_with,
};
use lapidary_testkit::captures::fixtures;
use lapidary_testkit::golden::GoldenFiles;
use lapidary_vocab::Body;
use lapidary_vocab::event::{Provider, SessionState, ToolCallStatus};
use lapidary_vocab::{Event, line};

use super::agent_captures::{children, everywhere, name, scene, scenes};

/// The session files of a scene, without those of sub-agents.
fn session_files(scene: &Path) -> Vec<PathBuf> {
    let files = children(&scene.join("projects/-tmp-project"));
    let is_session = |path: &PathBuf| {
        let is_log = path.extension().is_some_and(|ending| ending == "jsonl");
        is_log && !name(path).starts_with("agent-")
    };
    files.into_iter().filter(is_session).collect()
}

fn events_of(path: &Path) -> Vec<Event> {
    let bytes = fs::read(path).unwrap();
    let mut options = NormalizeOptions::new("golden");
    options.keep_raw = false;
    options.deltas = DeltaMode::Final;
    let subagents = AgentTranscriptFiles::of_claude(path);
    let mut events = Vec::new();
    let mut normalizer = ClaudeNormalizer::new(&options, &subagents);
    session_events_of(&mut normalizer, &bytes, &mut |it| events.push(it));
    events
}

fn events_in(of: &str) -> Vec<Event> {
    let files = session_files(&scene(of));
    files.iter().flat_map(|path| events_of(path)).collect()
}

#[test]
fn every_captured_session_of_claude_code_gives_the_events_of_its_golden_file() {
    let mut goldens = GoldenFiles::default();
    for scene in scenes("claude-") {
        for file in session_files(&scene) {
            let mut written = Vec::new();
            for event in events_of(&file) {
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
fn what_a_sub_agent_did_stands_in_its_call_in_every_version() {
    let scenes = [
        ("claude-1.0.80/subagent", "toolu_0001_1"),
        ("claude-2.0.50/subagent", "toolu_0003_1"),
        ("claude-2.1.312/subagent", "toolu_0001_1"),
    ];
    for (of, call) in scenes {
        let mut within = Vec::new();
        for event in events_in(of) {
            let parent = match &event.body {
                Body::Text(text) => text.parent_call_id.as_ref(),
                Body::ToolInvocation(call) => call.parent_call_id.as_ref(),
                Body::ToolCompletion(done) => done.parent_call_id.as_ref(),
                _ => None,
            };
            within.extend(parent.map(|parent| parent.to_str().into_owned()));
        }
        assert_eq!(within, [call; 4], "{of}: text, call, result, text");
    }
}

#[test]
fn results_of_parallel_calls_are_read_though_only_one_is_an_ancestor_of_the_last_record() {
    let events = events_in("claude-2.1.312/tools");
    let count = |is: fn(&Body) -> bool| events.iter().filter(|event| is(&event.body)).count();
    assert_eq!(count(|body| matches!(body, Body::ToolInvocation(_))), 7);
    assert_eq!(count(|body| matches!(body, Body::ToolCompletion(_))), 7);
    // Each response has its tokens once, though each of its records repeats them.
    assert_eq!(count(|body| matches!(body, Body::UsageUpdate(_))), 5);
}

#[test]
fn an_interruption_a_denial_and_a_compaction_of_claude_code_have_their_events() {
    let is_interrupted = |event: &Event| matches!(&event.body, Body::SessionStatus(it) if it.status == SessionState::Interrupted);
    assert!(
        events_in("claude-2.1.312/interrupt")
            .iter()
            .any(is_interrupted)
    );
    let is_denied = |event: &Event| {
        let failed =
            matches!(&event.body, Body::ToolCompletion(it) if it.status == ToolCallStatus::Failed);
        failed && event.base.extensions.contains_key("claude.toolDenialKind")
    };
    let denied = events_in("claude-2.1.312/denied");
    assert_eq!(denied.iter().filter(|event| is_denied(event)).count(), 2);
    let is_compaction = |event: &Event| matches!(event.body, Body::ContextCompaction(_));
    assert!(
        events_in("claude-2.1.312/compact")
            .iter()
            .any(is_compaction)
    );
}

#[test]
fn a_prompt_that_was_taken_back_is_counted_and_has_no_event() {
    let record = |uuid: &str, parent: &str, kind: &str, text: &str| {
        format!(
            r#"{{"type":"{kind}","uuid":"{uuid}","parentUuid":{parent},"sessionId":"s","cwd":"/p","message":{{"role":"{kind}","content":"{text}"}}}}"#
        )
    };
    let lines = [
        record("a", "null", "user", "begin"),
        record("b", "\"a\"", "assistant", "begun"),
        record("c", "\"b\"", "user", "wrong way"),
        record("d", "\"c\"", "assistant", "went wrong"),
        record("e", "\"b\"", "user", "right way"),
        record("e", "\"b\"", "user", "right way"),
        // A circle, and a parent that is not there: kept, since nothing shows that they were taken back.
        record("f", "\"g\"", "assistant", "round"),
        record("g", "\"f\"", "assistant", "and round"),
        record("h", "\"gone\"", "assistant", "from elsewhere"),
        record("i", "\"e\"", "assistant", "well done"),
        r#"{"type":"assistant","uuid":"j","mess"#.to_owned(),
    ];
    let text = lines.join("\n");
    let mut told = Vec::new();
    let mut normalizer = ClaudeNormalizer::new(&NormalizeOptions::new("r"), &WithoutSubagents);
    session_events_of(
        &mut normalizer,
        text.as_bytes(),
        &mut |event| match event.body {
            Body::UserInput(input) => told.push(input.text.to_str().into_owned()),
            Body::Text(text) => told.push(text.text.to_str().into_owned()),
            Body::Diagnostic(diagnostic) => told.push(diagnostic.message),
            _ => {}
        },
    );
    let expected = [
        "begin",
        "begun",
        "right way",
        "round",
        "and round",
        "from elsewhere",
        "well done",
        "the last record is cut off",
        "not shown: 2 records after a prompt that was taken back, 1 record that stands twice; shown in the order of the file: 2 records whose parents form a circle",
    ];
    assert_eq!(told, expected);
}

#[test]
fn a_record_of_an_unknown_type_is_carried_whole() {
    let text = r#"{"type":"hologram","sessionId":"s","uuid":"u","new":[1.10,{"a":2}]}"#;
    let mut raws = Vec::new();
    let mut options = NormalizeOptions::new("r");
    options.keep_raw = false;
    let mut normalizer = ClaudeNormalizer::new(&options, &WithoutSubagents);
    session_events_of(&mut normalizer, text.as_bytes(), &mut |event| {
        raws.extend(event.base.raw.map(|raw| raw.as_str().to_owned()));
    });
    assert_eq!(raws, [text]);
}

#[test]
fn a_session_cut_anywhere_is_read_as_far_as_it_goes() {
    let path = &session_files(&scene("claude-2.1.312/subagent"))[0];
    let bytes = fs::read(path).unwrap();
    for end in (0..bytes.len()).step_by(97) {
        lapidary_testkit::fuzz::claude_session(&bytes[..end]);
    }
}

/// A home with the sessions of all scenes of a version, in a directory of Claude Code.
fn home_with(version: &str) -> tempfile::TempDir {
    let home = tempfile::tempdir().unwrap();
    let project = home.path().join("projects/-tmp-project");
    fs::create_dir_all(&project).unwrap();
    for scene in children(&scene(version)) {
        for file in session_files(&scene) {
            fs::copy(&file, project.join(name(&file))).unwrap();
        }
    }
    home
}

fn listing_of(home: &Path) -> SessionListing {
    ClaudeSessions::new(home).list(&everywhere())
}

#[test]
fn sessions_of_claude_code_are_listed_with_title_directory_and_times() {
    let home = home_with("claude-2.1.312");
    let listing = listing_of(home.path());
    let titles: Vec<_> = listing
        .sessions
        .iter()
        .map(|it| &*it.info().display_name)
        .collect();
    assert!(titles.contains(&"Say hello"), "{titles:?}");
    assert!(
        titles.contains(&"My small task"),
        "the name that the user gave: {titles:?}"
    );
    for session in &listing.sessions {
        let info = session.info();
        assert_eq!(info.provider, Provider::Claude);
        assert_eq!(info.project.as_deref(), Some("/tmp/project"));
        assert_eq!(format!("{}.jsonl", info.id), info.file_name);
        assert!(info.start_time < info.last_updated, "{info:?}");
        assert!(info.message_count >= 2, "{info:?}");
    }
    assert_eq!(listing.hidden, []);
}

#[test]
fn only_sessions_of_the_named_project_are_listed() {
    let home = home_with("claude-2.1.312");
    // `/tmp-project` has the same name in the store.
    let store = SessionStore::new(GeminiHome::at(home.path()));
    let count = |root: &str| {
        let project = store.project(root.as_ref());
        let scope = ProviderScope {
            projects: std::slice::from_ref(&project),
            reach: ProjectReach::Named,
            now: SystemTime::UNIX_EPOCH,
        };
        ClaudeSessions::new(home.path()).list(&scope).sessions.len()
    };
    assert!(count("/tmp/project") > 10);
    assert_eq!(count("/tmp-project"), 0);
    assert_eq!(count("/tmp/other"), 0);
}

#[test]
fn files_that_are_no_session_have_a_reason_and_the_others_are_listed() {
    let home = home_with("claude-1.0.80");
    let outside = tempfile::tempdir().unwrap();
    let project = home.path().join("projects/-tmp-project");
    let good = listing_of(home.path()).sessions.len();
    fs::write(project.join("empty.jsonl"), "").unwrap();
    fs::write(project.join("noise.jsonl"), "no JSON\n").unwrap();
    fs::create_dir(project.join("folder.jsonl")).unwrap();
    fs::write(outside.path().join("far.jsonl"), "{}").unwrap();
    symlink(outside.path().join("far.jsonl"), project.join("link.jsonl")).unwrap();
    symlink(outside.path(), home.path().join("projects/-elsewhere")).unwrap();
    let copy = home.path().join("projects/-copy");
    fs::create_dir(&copy).unwrap();
    let first = session_files(&scene("claude-1.0.80/tools"))[0].clone();
    fs::copy(&first, copy.join(name(&first))).unwrap();
    let listing = listing_of(home.path());
    let mut hidden: Vec<_> = listing.hidden.iter().map(|it| it.reason.clone()).collect();
    hidden.sort_by_key(ToString::to_string);
    let expected = [
        HiddenReason::Duplicate,
        HiddenReason::Empty,
        HiddenReason::LinkOutside,
        HiddenReason::LinkOutside,
        HiddenReason::NoContent, // a file of 1.0.80 with a `summary` only
        HiddenReason::NotAFile,
        HiddenReason::NotASession,
    ];
    assert_eq!(hidden, expected);
    assert_eq!(listing.sessions.len(), good);
}

#[test]
fn a_sub_agents_id_that_leads_elsewhere_names_no_file() {
    let home = tempfile::tempdir().unwrap();
    let project = home.path().join("projects/-p");
    fs::create_dir_all(&project).unwrap();
    fs::write(home.path().join("agent-x.jsonl"), "{}").unwrap();
    let files = AgentTranscriptFiles::of_claude(&project.join("s.jsonl"));
    let read = |id: &str| files.read(id);
    assert_eq!(read("../../agent-x"), None);
    assert_eq!(read("/etc/passwd"), None);
    fs::write(project.join("agent-y.jsonl"), "{}").unwrap();
    assert_eq!(read("y").as_deref(), Some(&b"{}"[..]));
}

#[test]
fn tokens_and_tool_calls_of_sessions_of_claude_code_are_counted_once_for_each_response() {
    let home = tempfile::tempdir().unwrap();
    let project = home.path().join("projects/-tmp-project");
    fs::create_dir_all(&project).unwrap();
    let file = &session_files(&scene("claude-2.1.312/tools"))[0];
    fs::copy(file, project.join(name(file))).unwrap();
    let sessions = ClaudeSessions::new(home.path());
    let others = SessionProviders::default()
        .with(Some(sessions))
        .list(&everywhere());
    let request = StatsRequest::default();
    let stats = stats_with(&[], &others, &request, &PriceTable::shipped());
    assert_eq!((stats.sessions, stats.turns, stats.answers), (1, 1, 5));
    assert_eq!((stats.tool_calls, stats.tool_errors), (7, 2));
    // Five responses of 101 to 105 tokens, each with 20 read from the cache, and 30 of output. The 10 that were written to the cache
    // stand in none of its lifetimes.
    let tokens = stats.tokens;
    assert_eq!(
        (tokens.input, tokens.cached, tokens.output),
        (615, 100, 150)
    );
}
