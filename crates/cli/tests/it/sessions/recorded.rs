//! Sessions of agents other than Gemini CLI, known from recordings.

use lapidary_testkit::recorded::RecordedHome;
use serde_json::json;

use super::{object, sessions};

const ONE: &str = "aaaaaaaa-0000-4000-8000-000000000001";
const OTHER: &str = "cccccccc-0000-4000-8000-000000000002";
const START: &str = "2026-01-02T10:00:00.000Z";

/// A home with a session of Gemini CLI and a recorded run of another agent, which spoke the same stream.
fn both() -> RecordedHome {
    let home = RecordedHome::new();
    home.session(ONE, START, &["a question of old"]);
    home.recorded_run("20260103T100000-aa", "qwen", OTHER);
    home
}

#[test]
fn a_session_that_is_only_recorded_is_listed_after_those_of_gemini_cli() {
    let home = both();
    let list = object(&sessions(&home, &["list"]), "sessions");
    let found = |name: &str| [0, 1].map(|at| list["sessions"][at][name].clone());
    assert_eq!(found("id"), [ONE, OTHER]);
    assert_eq!(found("index"), [1, 0]);
    assert_eq!(found("provider"), ["gemini", "qwen"]);
    assert_eq!(found("unlisted"), [json!(null), json!("recording")]);
    assert_eq!(list["sessions"][1]["run"], "20260103T100000-aa");
    let text = sessions(&home, &["list", "--format", "text"]).stdout;
    let lines: Vec<_> = text.lines().collect();
    assert_eq!(lines.len(), 2, "{text}");
    assert!(lines[0].starts_with("   -r "), "{text}");
    assert!(lines[0].ends_with("qwen    find the lighthouse"), "{text}");
    assert!(lines[1].ends_with("gemini  a question of old"), "{text}");
}

#[test]
fn the_agent_is_not_named_where_every_session_is_of_the_same() {
    let home = RecordedHome::new();
    home.session(ONE, START, &["a question of old"]);
    home.recorded_run("20260103T100000-aa", "gemini", ONE);
    let text = sessions(&home, &["list", "--format", "text"]).stdout;
    assert!(
        text.ends_with(&format!("{ONE}  a question of old\n")),
        "{text}"
    );
    assert_eq!(text.lines().count(), 1, "{text}");
}

#[test]
fn a_recorded_session_is_shown_by_its_id_the_beginning_of_it_or_its_run() {
    let home = both();
    for named in [OTHER, "cccccccc", "20260103T100000-aa"] {
        let shown = sessions(&home, &["show", named, "--format", "text"]);
        assert_eq!(shown.code, Some(0), "{shown:?}");
        assert!(shown.stdout.contains("A lightship."), "{named}: {shown:?}");
    }
    let unknown = sessions(&home, &["show", "dddddddd"]);
    assert_eq!(unknown.code, Some(13), "{unknown:?}");
}

#[test]
fn to_delete_a_session_that_is_only_recorded_names_the_command_for_runs() {
    let home = both();
    let refused = sessions(&home, &["delete", OTHER, "--yes"]);
    assert_eq!(refused.code, Some(13), "{refused:?}");
    let hint = "hint: use `lapidary runs delete 20260103T100000-aa`";
    assert!(refused.stderr.contains(hint), "{refused:?}");
    let both = sessions(&home, &["delete", ONE, OTHER, "--yes"]);
    assert!(both.stderr.contains(hint), "{both:?}");
    let list = object(&sessions(&home, &["list"]), "sessions");
    assert_eq!(list["sessions"].as_array().map(Vec::len), Some(2), "{list}");
}

#[test]
fn a_search_finds_recorded_sessions_once() {
    let home = both();
    let found = object(&sessions(&home, &["search", "lightship"]), "search");
    assert_eq!(found["total"], 1);
    assert_eq!(found["hits"][0]["id"], OTHER);
    assert_eq!(found["hits"][0]["provider"], "qwen");
    assert_eq!(found["hits"][0]["unlisted"], "recording");
    home.recorded_run("20260103T110000-bb", "gemini", ONE);
    let found = object(&sessions(&home, &["search", "lightship"]), "search");
    assert_eq!(found["total"], 1, "the file of {ONE} has no such word");
    let text = sessions(&home, &["search", "lightship", "--format", "text"]).stdout;
    assert!(text.contains("(qwen, recorded)"), "{text}");
}

#[test]
fn a_search_with_hits_of_several_agents_names_the_agent_of_each() {
    let home = both();
    let project = home.project();
    // As Claude Code names the folder of a project.
    let folder = project
        .to_string_lossy()
        .replace(|letter: char| !letter.is_ascii_alphanumeric(), "-");
    let claude = home.home().join(".claude/projects").join(folder);
    std::fs::create_dir_all(&claude).unwrap();
    let record = serde_json::json!({
        "type": "user", "uuid": "u", "parentUuid": null, "isSidechain": false, "sessionId": "c1a0de00",
        "timestamp": "2026-01-03T10:00:00.000Z", "version": "2.1.312", "cwd": project,
        "message": { "role": "user", "content": "the lightship again" },
    });
    std::fs::write(claude.join("c1a0de00.jsonl"), format!("{record}\n")).unwrap();
    let text = sessions(&home, &["search", "lightship", "--format", "text"]).stdout;
    assert!(text.contains("(qwen, recorded)"), "{text}");
    assert!(text.contains("  (claude)  "), "{text}");
    let args = [
        "search",
        "lightship",
        "--agent",
        "claude",
        "--format",
        "text",
    ];
    let text = sessions(&home, &args).stdout;
    assert!(
        text.contains("c1a0de00") && !text.contains("(claude)"),
        "{text}"
    );
}

#[test]
fn statistics_count_recorded_sessions_by_agent() {
    let home = both();
    let stats = object(&sessions(&home, &["stats"]), "stats");
    assert_eq!(stats["sessions"], 2);
    let of = |at: usize, name: &str| stats["providers"][at][name].clone();
    assert_eq!([of(0, "provider"), of(1, "provider")], ["gemini", "qwen"]);
    assert_eq!(stats["providers"][1]["tokens"]["total"], 120);
    let text = sessions(&home, &["stats", "--format", "text"]).stdout;
    assert!(text.contains("  qwen "), "{text}");
}
