//! Recordings as sessions: runs of any agent, each session once.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use lapidary_engine::recorded_sessions::RecordingSessions;
use lapidary_engine::recording::ListingMode;
use lapidary_gemini::GeminiHome;
use lapidary_sessions::search::{EntryRole, SearchFilters, SearchQuery, SessionSearch};
use lapidary_sessions::{
    FromFiles, GeminiSessions, ListedSession, OtherSessions, PriceTable, ProjectReach,
    ProviderScope, SessionListing, SessionProject, SessionProvider, SessionProviders, SessionStore,
    StatsRequest, stats_with,
};
use lapidary_testkit::recorded::RecordedHome;
use lapidary_vocab::session::UnlistedPlace;
use lapidary_vocab::stats::Stats;
use serde_json::{Value, json};

const SESSION: &str = "cccccccc-0000-4000-8000-000000000001";
const START: &str = "2026-11-01T08:00:00.000Z";

/// A conversation of Claude over ACP: a thought, a tool call, an answer, and the usage.
const CONVERSATION: &[(&str, &str)] = &[
    (
        "in",
        r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":1}}"#,
    ),
    (
        "out",
        r#"{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":1}}"#,
    ),
    (
        "in",
        r#"{"jsonrpc":"2.0","id":1,"method":"session/new","params":{"cwd":"/w","mcpServers":[]}}"#,
    ),
    (
        "out",
        r#"{"jsonrpc":"2.0","id":1,"result":{"sessionId":"SESSION"}}"#,
    ),
    (
        "in",
        r#"{"jsonrpc":"2.0","id":2,"method":"session/prompt","params":{"sessionId":"SESSION","prompt":[{"type":"text","text":"find the lighthouse"}]}}"#,
    ),
    (
        "out",
        r#"{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"SESSION","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"It is a light"}}}}"#,
    ),
    (
        "out",
        r#"{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"SESSION","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"ship, not a tower."}}}}"#,
    ),
    (
        "out",
        r#"{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"SESSION","update":{"sessionUpdate":"tool_call","toolCallId":"t1","title":"grep","kind":"search","status":"pending","rawInput":{"pattern":"beacon"}}}}"#,
    ),
    (
        "out",
        r#"{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"SESSION","update":{"sessionUpdate":"tool_call_update","toolCallId":"t1","status":"failed","rawOutput":"no such keeper"}}}"#,
    ),
    (
        "out",
        r#"{"jsonrpc":"2.0","id":2,"result":{"stopReason":"end_turn","usage":{"inputTokens":100,"outputTokens":20,"totalTokens":120}}}"#,
    ),
];

/// The same session, loaded by a later run: the agent repeats the conversation.
const CONTINUED: &[(&str, &str)] = &[
    (
        "in",
        r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":1}}"#,
    ),
    (
        "out",
        r#"{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":1}}"#,
    ),
    (
        "in",
        r#"{"jsonrpc":"2.0","id":1,"method":"session/load","params":{"sessionId":"SESSION","cwd":"/w","mcpServers":[]}}"#,
    ),
    (
        "out",
        r#"{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"SESSION","update":{"sessionUpdate":"user_message_chunk","content":{"type":"text","text":"find the lighthouse"}}}}"#,
    ),
    (
        "out",
        r#"{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"SESSION","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"It is a lightship."}}}}"#,
    ),
    (
        "out",
        r#"{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"SESSION","update":{"sessionUpdate":"tool_call","toolCallId":"t0","title":"grep","kind":"search","status":"completed","rawInput":{"pattern":"beacon"}}}}"#,
    ),
    ("out", r#"{"jsonrpc":"2.0","id":1,"result":{}}"#),
    (
        "in",
        r#"{"jsonrpc":"2.0","id":2,"method":"session/prompt","params":{"sessionId":"SESSION","prompt":[{"type":"text","text":"thanks"}]}}"#,
    ),
    (
        "out",
        r#"{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"SESSION","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"Welcome."}}}}"#,
    ),
    (
        "out",
        r#"{"jsonrpc":"2.0","id":2,"result":{"stopReason":"end_turn","usage":{"inputTokens":10,"outputTokens":5,"totalTokens":15}}}"#,
    ),
];

/// A home of Gemini CLI, a project, and recordings.
struct Shelf {
    home: RecordedHome,
}

impl Shelf {
    fn new() -> Self {
        let home = RecordedHome::new();
        fs::create_dir(home.root().join("runs")).unwrap();
        Self { home }
    }

    fn root(&self) -> PathBuf {
        self.home.root().join("runs")
    }

    fn projects(&self) -> Vec<SessionProject> {
        let store = SessionStore::new(GeminiHome::at(self.home.home()));
        vec![store.project(&self.home.project())]
    }

    /// A run of an agent over ACP, in the project.
    fn run(&self, id: &str, agent: &str, session: Option<&str>) {
        self.run_in(id, agent, session, &self.home.project());
    }

    fn run_in(&self, id: &str, agent: &str, session: Option<&str>, directory: &Path) {
        let manifest = json!({
            "schema": "lapidary.recording/1", "writer": "lapidary 0.1.0", "run": id, "agent": agent, "transport": "acp",
            "argv": [agent], "environment": [], "directory": directory, "startedAt": START,
            "end": { "durationMs": 90_000, "exitCode": 0, "agentExitCode": 0, "outcome": "completed", "cause": "end_turn",
                "sessionId": session, "prompt": "find the lighthouse" },
        });
        self.write(id, &manifest, session.unwrap_or("s"));
    }

    fn write(&self, id: &str, manifest: &Value, session: &str) {
        let folder = self.root().join(id);
        fs::create_dir(&folder).unwrap();
        fs::write(folder.join("run.json"), manifest.to_string()).unwrap();
        self.say(id, CONVERSATION, session);
    }

    /// What both sides of a run said.
    fn say(&self, id: &str, conversation: &[(&str, &str)], session: &str) {
        let folder = self.root().join(id);
        let (mut stdin, mut stdout, mut timing) = (String::new(), String::new(), String::new());
        for (at, (channel, line)) in conversation.iter().enumerate() {
            let line = line.replace("SESSION", session) + "\n";
            writeln!(timing, "{at}.000 {channel} {}", line.len()).unwrap();
            let file = if *channel == "in" {
                &mut stdin
            } else {
                &mut stdout
            };
            file.push_str(&line);
        }
        let files = [
            ("stdin", stdin),
            ("stdout", stdout),
            ("stderr", String::new()),
            ("timing", timing),
        ];
        for (name, text) in files {
            fs::write(folder.join(name), text).unwrap();
        }
    }

    fn recorded(&self, reach: ProjectReach) -> (RecordingSessions, SessionListing) {
        let mut provider = RecordingSessions::new(self.root(), ListingMode::Direct);
        let listing = provider.list(&ProviderScope {
            projects: &self.projects(),
            reach,
            now: SystemTime::now(),
        });
        (provider, listing)
    }

    fn others(&self) -> OtherSessions {
        let provider = RecordingSessions::new(self.root(), ListingMode::Direct);
        let providers = SessionProviders::default().with(Some(provider));
        providers.list(&ProviderScope {
            projects: &self.projects(),
            reach: ProjectReach::Named,
            now: SystemTime::now(),
        })
    }

    /// Sessions of Gemini CLI, and sessions that are in recordings only.
    fn list(&self) -> SessionListing {
        let mut files = FromFiles;
        let mut gemini = GeminiSessions::new(&mut files);
        let mut listing = gemini.list(&ProviderScope {
            projects: &self.projects(),
            reach: ProjectReach::Named,
            now: SystemTime::now(),
        });
        listing.add_others(self.recorded(ProjectReach::Named).1);
        listing
    }

    fn stats(&self) -> Stats {
        let others = self.others();
        let (request, prices) = (StatsRequest::default(), PriceTable::shipped());
        stats_with(&self.projects(), &others, &request, &prices)
    }

    fn search(&self, words: &str, filters: SearchFilters) -> Vec<(String, String)> {
        let search = SessionSearch {
            query: SearchQuery::words(words).unwrap(),
            filters,
            limit: 10,
        };
        let found = search.of_others(&self.others());
        assert_eq!(found.warnings, Vec::<String>::new());
        let places = found.hits.into_iter().flat_map(|hit| hit.snippets);
        places.map(|it| (it.role, it.matched)).collect()
    }
}

fn ids(listing: &SessionListing) -> Vec<(&str, u64)> {
    let rows = listing.sessions.iter();
    rows.map(|row| (row.id(), row.index())).collect()
}

fn only(listing: &SessionListing) -> &ListedSession {
    match listing.sessions.as_slice() {
        [only] => only,
        rows => panic!("one session was expected: {rows:?}"),
    }
}

#[test]
fn a_recorded_run_of_another_agent_is_a_session_without_a_number() {
    let shelf = Shelf::new();
    shelf.home.session(
        "aaaaaaaa-0000-4000-8000-000000000001",
        START,
        &["a question"],
    );
    shelf.run("run-1", "claude", Some(SESSION));
    let listing = shelf.list();
    let gemini = ("aaaaaaaa-0000-4000-8000-000000000001", 1);
    assert_eq!(ids(&listing), [gemini, (SESSION, 0)]);
    let info = listing.sessions[1].info();
    assert_eq!(info.provider.as_str(), "claude");
    assert_eq!(info.run.as_deref(), Some("run-1"));
    assert_eq!(info.unlisted, Some(UnlistedPlace::Recording));
    assert_eq!(info.display_name, "find the lighthouse");
    assert_eq!(info.start_time, START);
    assert_eq!(info.last_updated, "2026-11-01T08:01:30.000Z");
    assert_eq!(info.project_id, "project");
    assert_eq!(listing.sessions[0].info().provider.as_str(), "gemini");
}

#[test]
fn a_run_whose_agent_left_a_session_file_is_listed_and_counted_once() {
    let shelf = Shelf::new();
    shelf.home.session(SESSION, START, &["a question"]);
    let alone = shelf.stats();
    shelf.run("run-1", "gemini", Some(SESSION));
    let listing = shelf.list();
    assert_eq!(ids(&listing), [(SESSION, 1)]);
    assert_eq!(only(&listing).info().unlisted, None);
    assert_eq!(shelf.stats(), alone);
}

#[test]
fn several_runs_of_one_session_are_one_row_and_all_of_them_count() {
    let shelf = Shelf::new();
    for run in ["run-1", "run-2"] {
        shelf.run(run, "claude", Some(SESSION));
    }
    shelf.run("run-3", "claude", None);
    let (_, listing) = shelf.recorded(ProjectReach::Named);
    let rows: Vec<_> = listing.sessions.iter().collect();
    let shown: Vec<_> = rows
        .iter()
        .map(|row| (row.id(), row.info().run.as_deref().unwrap()))
        .collect();
    assert_eq!(shown, [("run-3", "run-3"), (SESSION, "run-2")]);
    let stats = shelf.stats();
    assert_eq!(
        (stats.sessions, stats.turns, stats.tokens.total),
        (2, 3, 360)
    );
}

#[test]
fn history_that_an_agent_repeats_counts_for_the_run_that_made_it() {
    let shelf = Shelf::new();
    shelf.run("run-1", "claude", Some(SESSION));
    shelf.run("run-2", "claude", Some(SESSION));
    shelf.say("run-2", CONTINUED, SESSION);
    let stats = shelf.stats();
    let counted = (
        stats.sessions,
        stats.turns,
        stats.tool_calls,
        stats.tokens.total,
    );
    assert_eq!(counted, (1, 2, 1, 135));
}

#[test]
fn runs_of_other_projects_are_listed_only_on_request() {
    let shelf = Shelf::new();
    let elsewhere = shelf.home.root().join("elsewhere");
    shelf.run_in("run-1", "claude", Some(SESSION), &elsewhere);
    shelf.run_in("run-2", "codex", None, &elsewhere);
    let (_, listing) = shelf.recorded(ProjectReach::Named);
    assert_eq!(ids(&listing), []);
    let (_, listing) = shelf.recorded(ProjectReach::Everywhere);
    let projects: Vec<_> = listing.sessions.iter().map(|row| row.project).collect();
    assert_eq!(projects, [1, 1], "behind the one that Gemini CLI knows");
    assert_eq!(listing.sessions[0].info().project_id, "");
}

#[test]
fn a_recorded_program_that_is_no_agent_and_an_agent_that_did_not_start_are_no_sessions() {
    let shelf = Shelf::new();
    let manifest = |transport: &str, prompt: Option<&str>| {
        json!({
            "schema": "lapidary.recording/1", "run": "r", "agent": "make", "transport": transport, "argv": ["make"],
            "environment": [], "directory": shelf.home.project(), "startedAt": START,
            "end": { "durationMs": 1, "agentExitCode": 0, "prompt": prompt },
        })
    };
    shelf.write("program", &manifest("unknown", Some("x")), "s");
    shelf.write("silent", &manifest("acp", None), "s");
    let mut failed = manifest("acp", Some("x"));
    failed["end"]["outcome"] = "failed".into();
    shelf.write("failed", &failed, "s");
    fs::create_dir(shelf.root().join("broken")).unwrap();
    fs::write(shelf.root().join("broken/run.json"), "{").unwrap();
    assert_eq!(ids(&shelf.recorded(ProjectReach::Everywhere).1), []);
}

#[test]
fn recordings_are_searched_by_what_was_said_and_done_in_them() {
    let shelf = Shelf::new();
    shelf.run("run-1", "claude", Some(SESSION));
    let check = |words: &str, expected: &[(&str, &str)]| {
        let found = shelf.search(words, SearchFilters::default());
        let found: Vec<_> = found
            .iter()
            .map(|(role, text)| (role.as_str(), text.as_str()))
            .collect();
        assert_eq!(found, expected, "{words}");
    };
    check("lightship", &[("assistant", "lightship")]); // in two chunks
    check("beacon", &[("tool", "beacon")]);
    check("keeper", &[("tool", "keeper")]);
    check(
        "lighthouse",
        &[("title", "lighthouse"), ("user", "lighthouse")],
    );
    check("submarine", &[]);
    let tool = SearchFilters {
        role: Some(EntryRole::Tool),
        ..SearchFilters::default()
    };
    assert_eq!(shelf.search("lightship", tool), []);
    let later = SearchFilters {
        since_ms: Some(i64::MAX),
        ..SearchFilters::default()
    };
    assert_eq!(shelf.search("lightship", later), []);
}

#[test]
fn recordings_are_counted_by_agent_with_their_tokens_and_tools() {
    let shelf = Shelf::new();
    shelf.home.session(
        "aaaaaaaa-0000-4000-8000-000000000001",
        START,
        &["a question"],
    );
    shelf.run("run-1", "claude", Some(SESSION));
    let stats = shelf.stats();
    let providers: Vec<_> = stats
        .providers
        .iter()
        .map(|it| (it.provider.as_str(), it.sessions, it.tokens.total))
        .collect();
    assert_eq!(providers, [("claude", 1, 120), ("gemini", 1, 125)]);
    assert_eq!(stats.sessions, 2);
    let tools: Vec<_> = stats.tools.iter().map(|it| (it.calls, it.errors)).collect();
    assert_eq!(tools, [(1, 1)]);
    assert_eq!(stats.days[0].date, "2026-11-01");
}

#[test]
fn a_recording_that_cannot_be_read_is_a_warning() {
    let shelf = Shelf::new();
    shelf.run("run-1", "claude", Some(SESSION));
    fs::write(shelf.root().join("run-1/timing"), "0.000 in 999999\n").unwrap();
    let stats = shelf.stats();
    assert_eq!(stats.sessions, 0);
    let [warning] = stats.warnings.as_slice() else {
        panic!("one warning was expected: {:?}", stats.warnings);
    };
    assert!(warning.contains("run-1"), "{warning}");
    assert!(warning.contains("not counted"), "{warning}");
}

#[test]
fn the_files_of_gemini_cli_replay_as_the_events_that_translate_prints() {
    let shelf = Shelf::new();
    shelf.home.session(SESSION, START, &["a question"]);
    let listing = shelf.list();
    let mut files = FromFiles;
    let provider = GeminiSessions::new(&mut files);
    let mut kinds = Vec::new();
    let replayed = provider.replay(only(&listing), &mut |event| {
        let event = serde_json::to_value(&event).unwrap();
        kinds.push(event["event"].as_str().unwrap().to_owned());
    });
    replayed.unwrap();
    assert!(kinds.contains(&"user_input".to_owned()), "{kinds:?}");
    assert!(provider.capabilities().has_numbers);
}

#[test]
fn an_operation_that_a_recording_does_not_support_names_the_next_step() {
    let shelf = Shelf::new();
    shelf.run("run-1", "claude", Some(SESSION));
    let others = shelf.others();
    let session = others.iter().next().unwrap();
    let refused = session.capabilities().delete.check(session.listed);
    let refused = refused.unwrap_err();
    let sentence = format!("session `{SESSION}` is in a recording only");
    assert_eq!(refused.to_string(), sentence);
    assert_eq!(refused.hint, "use `lapidary runs delete run-1`");
    let mut files = FromFiles;
    let gemini = GeminiSessions::new(&mut files).capabilities();
    assert_eq!(gemini.delete.check(session.listed), Ok(()));
}
