//! `sessions prune`.

use std::time::{Duration, SystemTime};

use lapidary_testkit::recorded::RecordedHome;

use super::{object, sessions};

const DAY: Duration = Duration::from_hours(24);

/// Two old sessions and one of now, an old empty file and a new one.
fn home() -> RecordedHome {
    let home = RecordedHome::new();
    let now = SystemTime::now();
    for (id, time) in [
        ("old-one", "2020-01-02T10:00:00.000Z"),
        ("old-two", "2020-01-03T10:00:00.000Z"),
    ] {
        let path = home.session(id, time, &["long ago"]);
        home.age(&path, now, DAY * 100);
    }
    home.session("new", "2999-01-01T00:00:00.000Z", &["now"]);
    let empty = home.chat("session-empty-old.jsonl", "");
    home.age(&empty, now, DAY * 2);
    home.chat("session-empty-new.jsonl", "");
    home
}

#[test]
fn nothing_goes_until_it_is_applied() {
    let home = home();
    let before = home.tree();
    let ran = sessions(&home, &["prune"]);
    let shown = object(&ran, "removal");
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""));
    let reasons: Vec<_> = shown["removed"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| (one["id"].as_str(), one["reason"].as_str().unwrap()))
        .collect();
    assert_eq!(
        reasons,
        [
            (Some("old-one"), "too_old"),
            (Some("old-two"), "too_old"),
            (None, "empty")
        ]
    );
    assert_eq!(
        (&shown["applied"], &shown["kept"]),
        (&false.into(), &1.into())
    );
    assert_eq!(home.tree(), before);

    let ran = sessions(&home, &["prune", "--format", "text"]);
    assert!(
        ran.stdout.contains("too old        long ago [old-one]\n"),
        "{}",
        ran.stdout
    );
    assert!(ran.stdout.contains("3 sessions, "), "{}", ran.stdout);
    assert_eq!(
        ran.stderr,
        "note: nothing was removed; --apply removes it\n"
    );
    assert_eq!(home.tree(), before);

    let ran = sessions(&home, &["prune", "--apply"]);
    let done = object(&ran, "removal");
    assert_eq!(
        (ran.code, &done["applied"], &done["removed"]),
        (Some(0), &true.into(), &shown["removed"])
    );
    let left: Vec<_> = home
        .tree()
        .into_keys()
        .filter(|name| name.contains("chats/"))
        .collect();
    assert_eq!(
        left,
        [
            "tmp/project/chats/session-2999-01-01T00-00-new.jsonl",
            "tmp/project/chats/session-empty-new.jsonl"
        ]
    );
    let again = object(&sessions(&home, &["prune", "--yes"]), "removal");
    assert_eq!(again["removed"], serde_json::json!([]));
}

#[test]
fn prune_arguments_override_readable_settings() {
    let home = home();
    let settings = |text: &str| {
        home.put(
            "settings.json",
            &format!(r#"{{"general": {{"sessionRetention": {text}}}}}"#),
        )
    };
    let ids = |args: &[&str]| {
        let shown = object(&sessions(&home, args), "removal");
        let removed = shown["removed"].as_array().unwrap().clone();
        removed
            .iter()
            .filter_map(|one| one["id"].as_str().map(str::to_owned))
            .collect::<Vec<_>>()
    };
    settings(r#"{"enabled": false}"#);
    assert_eq!(ids(&["prune", "--max-count", "2"]), ["old-one"]);
    assert_eq!(ids(&["prune", "--max-age", "999m"]), [""; 0]);
    assert_eq!(
        ids(&["prune", "--max-count", "1", "--min-retention", "9999m"]),
        [""; 0]
    );
    let ran = sessions(&home, &["prune"]);
    assert_eq!(
        (ran.code, ran.stderr.as_str()),
        (
            Some(13),
            "error: Retention not enabled\nhint: say what to remove with --max-age or --max-count\n"
        )
    );
    settings(r#"{"maxAge": "2 years"}"#);
    let ran = sessions(&home, &["prune"]);
    assert_eq!(ran.code, Some(13));
    assert!(
        ran.stderr
            .starts_with("error: Invalid retention period format: 2 years. Expected"),
        "{}",
        ran.stderr
    );
    settings(r#"{"maxAge": "999m", "maxCount": 2}"#);
    assert_eq!(ids(&["prune"]), ["old-one"]);
    home.put("settings.json", "{ \"general\": ");
    let ran = sessions(&home, &["prune", "--max-age", "1d", "--apply"]);
    assert_eq!(
        ran.code,
        Some(13),
        "settings that nobody can read may say to keep it all"
    );
    assert!(
        home.tree()
            .contains_key("tmp/project/chats/session-2020-01-02T10-00-old-one.jsonl")
    );
}

#[test]
fn wrong_limits_are_wrong_usage() {
    let home = home();
    for (args, told) in [
        (
            &["prune", "--max-age", "3x"][..],
            "error: Invalid retention period format: 3x.",
        ),
        (
            &["prune", "--max-age", "0d"],
            "error: Invalid retention period: 0d. Value must be greater than 0",
        ),
        (
            &["prune", "--max-count", "0"],
            "error: maxCount must be at least 1",
        ),
        (
            &["prune", "--max-count", "-1"],
            "error: maxCount must be at least 1",
        ),
        (
            &["prune", "--max-age", "12h"],
            "error: maxAge cannot be less than minRetention (1d)",
        ),
        (
            &["prune", "--min-retention", "soon"],
            "error: Invalid retention period format: soon.",
        ),
        (
            &["prune", "--all", "--max-age", "3x"],
            "error: Invalid retention period format: 3x.",
        ),
    ] {
        let ran = sessions(&home, args);
        assert_eq!(ran.code, Some(2), "{args:?}: {ran:?}");
        assert!(ran.stderr.starts_with(told), "{args:?}: {}", ran.stderr);
    }
}

#[test]
fn each_of_all_projects_is_pruned_by_its_own_settings() {
    let home = home();
    let other = home.root().join("work/other");
    std::fs::create_dir_all(other.join(".gemini")).unwrap();
    home.put("tmp/other/.project_root", &other.display().to_string());
    let text = lapidary_testkit::recorded::log("others", "2020-01-02T10:00:00.000Z", &["hi"]);
    let path = home.put(
        "tmp/other/chats/session-2020-01-02T10-00-others.jsonl",
        &text,
    );
    home.age(&path, SystemTime::now(), DAY * 100);
    std::fs::write(
        other.join(".gemini/settings.json"),
        r#"{"general": {"sessionRetention": {"enabled": false}}}"#,
    )
    .unwrap();
    let ids = |args: &[&str]| {
        let shown = object(&sessions(&home, args), "removal");
        let removed = shown["removed"].as_array().unwrap().clone();
        let ids = removed
            .iter()
            .filter_map(|one| one["id"].as_str().map(str::to_owned));
        (ids.collect::<Vec<_>>(), shown["warnings"].clone())
    };
    // The settings of an untrusted workspace do not count, not even to keep sessions.
    let (gone, _) = ids(&["prune", "--all"]);
    assert_eq!(gone, ["others", "old-one", "old-two"]);
    home.put(
        "trustedFolders.json",
        &serde_json::json!({ other.to_str().unwrap(): "TRUST_FOLDER" }).to_string(),
    );
    let (gone, warnings) = ids(&["prune", "--all"]);
    assert_eq!(gone, ["old-one", "old-two"]);
    assert_eq!(
        warnings,
        serde_json::json!(["nothing of `other` goes: Retention not enabled"])
    );
}
