//! Usage that is read from files directly, beside that of the same sessions replayed as events.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use lapidary_gemini::GeminiHome;
use lapidary_sessions::{
    ClaudeSessions, CodexSessions, OtherSessions, PriceTable, ProjectReach, ProviderScope,
    QwenSessions, SessionProviders, SessionStore, StatsRequest, stats_with,
};
#[cfg(feature = "index")]
use lapidary_testkit::captures::fixtures;
use lapidary_vocab::stats::Stats;
use serde_json::{Value, json};
use tempfile::TempDir;

use super::agent_captures::{children, copy_tree, everywhere, name, scene, scenes};
use super::codex::packed;
#[cfg(feature = "index")]
use super::opencode::OpencodeHome;

fn providers(home: &Path) -> SessionProviders {
    let claude = home.join("projects").is_dir();
    let codex = home.join("sessions").is_dir();
    SessionProviders::default()
        .with(claude.then(|| ClaudeSessions::new(home)))
        .with(codex.then(|| CodexSessions::new(home)))
}

pub(crate) fn qwen_providers(home: &Path) -> SessionProviders {
    SessionProviders::default().with(Some(QwenSessions::new(home)))
}

#[cfg(feature = "index")]
pub(crate) fn opencode_providers(home: &OpencodeHome) -> SessionProviders {
    SessionProviders::default().with(Some(home.sessions()))
}

/// The counts of a home of Claude Code or Codex CLI, from its files.
pub(crate) fn usage_in(home: &Path) -> Stats {
    usage_of(providers(home))
}

pub(crate) fn usage_of(providers: SessionProviders) -> Stats {
    counted(&providers.for_usage(&everywhere()))
}

fn replayed_of(providers: SessionProviders) -> Stats {
    counted(&providers.list(&everywhere()))
}

fn counted(others: &OtherSessions) -> Stats {
    let request = StatsRequest::default();
    stats_with(&[], others, &request, &PriceTable::shipped())
}

/// A home of Claude Code with one log for each name.
pub(crate) fn claude_home(logs: &[(&str, &[Value])]) -> TempDir {
    let home = tempfile::tempdir().unwrap();
    for (name, records) in logs {
        let path = home.path().join("projects/-tmp-project").join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        let lines = records.iter().map(|record| format!("{record}\n"));
        fs::write(path, lines.collect::<String>()).unwrap();
    }
    home
}

/// A response of Claude Code with a message id, a request id and its output.
pub(crate) fn response(message: &str, request: &str, output: u64) -> Value {
    json!({
        "type": "assistant", "uuid": format!("{message}-{request}-{output}"), "isSidechain": false,
        "requestId": request, "sessionId": "s", "version": "2.1.312", "cwd": "/tmp/project",
        "timestamp": "2026-11-18T03:42:42.898Z",
        "message": {
            "id": message, "type": "message", "role": "assistant", "model": "claude-sonnet-4-5-20250929",
            "content": [{ "type": "text", "text": "\"usage\" of a \"user\"" }],
            "usage": {
                "input_tokens": 100, "cache_creation_input_tokens": 30, "cache_read_input_tokens": 20, "output_tokens": output,
                "cache_creation": { "ephemeral_5m_input_tokens": 10, "ephemeral_1h_input_tokens": 20 },
            },
        },
    })
}

/// Without turns: the replay counts commands of the program, such as `/compact`, as prompts.
fn outline(stats: &Stats) -> [u64; 6] {
    let tokens = &stats.tokens;
    [
        stats.answers,
        stats.tool_calls,
        stats.tool_errors,
        tokens.input,
        tokens.cached,
        tokens.output,
    ]
}

#[test]
fn usage_of_captured_files_is_that_of_their_events() {
    // The replay leaves out the files of sub-agents that no call names, counts the records of a forked session twice, takes an error
    // of the API for an answer of a model, and does not see that an interrupted command failed.
    let differs = |scene: &Path| {
        let version = name(scene.parent().unwrap());
        let scenes = [
            "claude-2.1.312/resume",
            "claude-2.1.312/api-error",
            "codex-0.166.0/interrupt",
        ];
        version == "claude-2.0.50" || scenes.iter().any(|it| scene.ends_with(it))
    };
    let mut compared = 0;
    for scene in scenes("claude-").into_iter().chain(scenes("codex-")) {
        if !differs(&scene) {
            let (read, replayed) = (usage_in(&scene), replayed_of(providers(&scene)));
            assert_eq!(outline(&read), outline(&replayed), "{}", scene.display());
            compared += 1;
        }
    }
    assert!(compared > 20, "{compared} scenes");
}

#[test]
fn usage_of_captured_files_of_qwen_code_is_that_of_their_events() {
    let mut with_tokens = 0;
    for scene in scenes("qwen-") {
        let read = usage_of(qwen_providers(&scene));
        if scene.ends_with("qwen-0.24.0/subagent") {
            // Records of a sub-agent name no model, so the replay does not see responses in them.
            assert_eq!(outline(&read), [4, 2, 0, 410, 80, 120]);
            assert_eq!(read.subagents, 1);
            continue;
        }
        let replayed = replayed_of(qwen_providers(&scene));
        assert_eq!(outline(&read), outline(&replayed), "{}", scene.display());
        assert_eq!(read.turns, replayed.turns, "{}", scene.display());
        with_tokens += usize::from(read.tokens.total > 0);
    }
    assert!(with_tokens > 9, "{with_tokens} scenes");
}

#[cfg(feature = "index")]
#[test]
fn usage_of_captured_sessions_of_opencode_is_that_of_their_events() {
    let mut with_tokens = 0;
    for scene in scenes("opencode-") {
        let of = scene.strip_prefix(fixtures().join("sessions")).unwrap();
        let home = OpencodeHome::new(of.to_str().unwrap());
        let read = usage_of(opencode_providers(&home));
        let replayed = replayed_of(opencode_providers(&home));
        assert_eq!(outline(&read), outline(&replayed), "{}", scene.display());
        assert_eq!(read.turns, replayed.turns, "{}", scene.display());
        with_tokens += usize::from(read.tokens.total > 0);
    }
    assert!(with_tokens > 9, "{with_tokens} scenes");
}

#[test]
fn a_compressed_rollout_counts_like_the_one_it_was_made_of() {
    let plain = scene("codex-0.166.0/tools");
    let home = tempfile::tempdir().unwrap();
    copy_tree(&plain.join("sessions"), &home.path().join("sessions"));
    let day = home.path().join("sessions/2026/11/18");
    let rollout = children(&day).remove(0);
    let bytes = fs::read(&rollout).unwrap();
    fs::write(rollout.with_extension("jsonl.zst"), packed(&bytes)).unwrap();
    fs::remove_file(&rollout).unwrap();
    let read = usage_in(home.path());
    assert_eq!(outline(&read), outline(&usage_in(&plain)));
    assert!(read.tokens.total > 0);
}

#[test]
fn a_response_that_a_forked_session_repeats_counts_once_and_for_the_session_that_ended_first() {
    let stats = usage_in(&scene("claude-2.1.312/resume"));
    // Three prompts and three responses of 101 to 103 tokens; the fork repeats two of each.
    assert_eq!((stats.sessions, stats.turns, stats.answers), (2, 3, 3));
    assert_eq!(stats.tokens.output, 90);
}

#[test]
fn the_record_of_a_response_with_the_most_tokens_counts_and_a_sidechain_repeats_none() {
    let mut aside = response("m1", "r9", 50);
    aside["isSidechain"] = true.into();
    let records = [
        response("m1", "r1", 3),
        response("m1", "r1", 40),
        response("m1", "r1", 7),
        response("m2", "r2", 1),
        response("m2", "r3", 2),
    ];
    let home = claude_home(&[
        ("a.jsonl", &records),
        ("a/subagents/agent-b.jsonl", &[aside]),
    ]);
    let stats = usage_in(home.path());
    assert_eq!((stats.answers, stats.tokens.output), (3, 43));
    assert_eq!(stats.tokens.input, 3 * 150);
}

#[test]
fn cache_writes_cost_more_than_reads_and_each_source_of_a_price_has_its_date() {
    let home = claude_home(&[("a.jsonl", &[response("m1", "r1", 10)])]);
    let stats = usage_in(home.path());
    let tokens = &stats.tokens;
    assert_eq!((tokens.cache_written, tokens.cache_written_1h), (30, 20));
    let expected = 100.0 * 3.0 + 20.0 * 0.3 + 10.0 * 3.75 + 20.0 * 6.0 + 10.0 * 15.0;
    assert!((stats.cost.unwrap() * 1e6 - expected).abs() < 1e-6);
    assert_eq!(stats.price_sources.len(), 1);
    assert_eq!(stats.price_sources[0].as_of, "2026-09-22");
    let [row] = stats.usage.as_slice() else {
        panic!("{:?}", stats.usage);
    };
    assert_eq!(row.date.as_deref(), Some("2026-11-18"));
    assert_eq!(row.project.as_deref(), Some("/tmp/project"));
    assert_eq!(stats.projects[0].tokens, stats.tokens);
}

#[test]
fn only_the_named_project_counts_though_two_share_a_directory() {
    let mut other = response("m2", "r2", 99);
    other["cwd"] = "/tmp-project".into();
    let home = claude_home(&[
        ("a.jsonl", &[response("m1", "r1", 10)]),
        ("b.jsonl", &[other]),
    ]);
    let store = SessionStore::new(GeminiHome::at(home.path()));
    let projects = [store.project(Path::new("/tmp/project"))];
    let scope = ProviderScope {
        projects: &projects,
        reach: ProjectReach::Named,
        now: SystemTime::UNIX_EPOCH,
    };
    let others = providers(home.path()).for_usage(&scope);
    let request = StatsRequest::default();
    let stats = stats_with(&[], &others, &request, &PriceTable::shipped());
    assert_eq!((stats.sessions, stats.tokens.output), (1, 10));
}

#[test]
fn damaged_lines_count_nothing_and_the_others_count() {
    let good: PathBuf = scene("codex-0.166.0/tools");
    let whole = usage_in(&good);
    let home = tempfile::tempdir().unwrap();
    let day = home.path().join("sessions/2026/11/18");
    fs::create_dir_all(&day).unwrap();
    let from = super::agent_captures::children(&good.join("sessions/2026/11/18"));
    let mut bytes = b"{\"timestamp\":\"\\\",\"type\n\xff\xfe\n{\"timestamp\":\"x\",\"type\":\"event_msg\",\"payload\":{\"type\":\"token_count\"\n\n".to_vec();
    bytes.extend(fs::read(&from[0]).unwrap());
    bytes.extend_from_slice(b"{\"timestamp\":\"2026");
    fs::write(day.join(name(&from[0])), bytes).unwrap();
    assert_eq!(outline(&usage_in(home.path())), outline(&whole));
}
