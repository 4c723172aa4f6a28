//! The real Gemini CLI takes the same directory for a project, with any registry and any markers.

use std::fs;
use std::path::{Path, PathBuf};

use lapidary_gemini::GeminiHome;
use lapidary_sessions::SessionStore;
use lapidary_testkit::gemini::GeminiVersion;
use lapidary_testkit::recorded::{RecordedHome, log};
use serde_json::{Value, json};

use super::real::gemini_in;

/// An empty home, and a project of this name.
fn world(name: &str) -> (RecordedHome, PathBuf) {
    let home = RecordedHome::new();
    fs::remove_dir_all(home.home().join(".gemini")).unwrap();
    fs::create_dir(home.home().join(".gemini")).unwrap();
    let project = home.root().join("work").join(name);
    fs::create_dir_all(&project).unwrap();
    (home, project)
}

/// Compares our id of a project with the CLI's, before and after the CLI runs.
fn check(home: &RecordedHome, project: &Path, what: &str) {
    let store = SessionStore::new(GeminiHome::at(home.home()));
    let before = store.project(project);
    gemini_in(home, project, GeminiVersion::V0_61_0, &["--list-sessions"]);
    let registry = fs::read_to_string(home.home().join(".gemini/projects.json")).unwrap();
    let registry: Value = serde_json::from_str(&registry).unwrap();
    let theirs = registry["projects"][project.to_str().unwrap()]
        .as_str()
        .unwrap();
    assert_eq!(before.id, theirs, "{what}");
    let after = store.project(project);
    assert_eq!(after.id, theirs, "{what}, afterwards");
    assert_eq!(after.directories[0], store.base().join(theirs), "{what}");
    assert_eq!(after.warnings, [""; 0], "{what}: it has healed");
}

#[test]
#[cfg_attr(
    not(feature = "peers"),
    ignore = "needs real peers: run `cargo xtask test`"
)]
fn gemini_cli_gives_projects_the_names_that_we_expect() {
    for name in [
        "My Project (x)",
        ".hidden",
        "---",
        "\u{dc}BER caf\u{e9}",
        "a__b--c",
        "\u{212a}elvin \u{130}",
        "-x-",
    ] {
        let (home, project) = world(name);
        check(&home, &project, name);
    }
}

#[test]
#[cfg_attr(
    not(feature = "peers"),
    ignore = "needs real peers: run `cargo xtask test`"
)]
fn gemini_cli_takes_and_heals_what_we_take() {
    type Case = (&'static str, fn(&RecordedHome, &str));
    let cases: [Case; 11] = [
        ("the name is taken in the registry", |home, _| {
            home.put(
                "projects.json",
                &json!({ "projects": { "/else": "mine" } }).to_string(),
            );
        }),
        ("the name and the next are taken by markers", |home, _| {
            home.put("tmp/mine/.project_root", "/else");
            home.put("history/mine-1/.project_root", "/another");
        }),
        ("a registered directory without markers", |home, root| {
            home.put(
                "projects.json",
                &json!({ "projects": { root: "chosen" } }).to_string(),
            );
            home.put(
                "tmp/chosen/chats/session-a.jsonl",
                &log("a", "2026-01-01T00:00:00.000Z", &["hi"]),
            );
        }),
        ("a registered directory of another", |home, root| {
            home.put(
                "projects.json",
                &json!({ "projects": { root: "chosen" } }).to_string(),
            );
            home.put("tmp/chosen/.project_root", "/else");
        }),
        (
            "a registered directory whose history is another's",
            |home, root| {
                home.put(
                    "projects.json",
                    &json!({ "projects": { root: "chosen" } }).to_string(),
                );
                home.put("tmp/chosen/.project_root", root);
                home.put("history/chosen/.project_root", "/else");
            },
        ),
        ("a broken registry and a marker", |home, root| {
            home.put("projects.json", "{ broken");
            home.put("tmp/found/.project_root", root);
        }),
        (
            "no registry, and a marker among the histories",
            |home, root| {
                home.put("history/found/.project_root", root);
            },
        ),
        ("a registry that names no projects", |home, root| {
            home.put("projects.json", "{\"projects\": 5}");
            home.put("tmp/found/.project_root", &format!("{root}/\n"));
        }),
        ("a directory of that name without a marker", |home, _| {
            home.put(
                "tmp/mine/chats/session-a.jsonl",
                &log("a", "2026-01-01T00:00:00.000Z", &["hi"]),
            );
        }),
        ("a marker that is empty", |home, _| {
            home.put("tmp/mine/.project_root", "");
        }),
        (
            "another's registry entry and our marker in its place",
            |home, root| {
                home.put(
                    "projects.json",
                    &json!({ "projects": { "/else": "mine" } }).to_string(),
                );
                home.put("tmp/mine/.project_root", root);
            },
        ),
    ];
    for (what, prepare) in cases {
        let (home, project) = world("mine");
        prepare(&home, project.to_str().unwrap());
        check(&home, &project, what);
    }
}
