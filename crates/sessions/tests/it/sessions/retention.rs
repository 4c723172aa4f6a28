//! Which sessions go, and which never do.

use std::collections::{BTreeMap, HashSet};
use std::fs;
use std::path::Path;
use std::time::{Duration, SystemTime};

use jiff::Timestamp;
use lapidary_gemini::settings::{Settings, WorkspaceTrust};
use lapidary_gemini::{GeminiHome, Vars};
use lapidary_sessions::{
    ExpiringItem, ExpiryReason, FileContent, RetentionError, RetentionLimits, RetentionRules,
    SessionInventory,
};
use lapidary_testkit::recorded::{RecordedHome, header, log};
use proptest::prelude::*;

use super::inventory;

const HOUR: Duration = Duration::from_hours(1);
const DAY: Duration = Duration::from_hours(24);

fn rule(max_age: Option<&str>, max_count: Option<u64>, min: Option<&str>) -> RetentionRules {
    let limits = RetentionLimits {
        enabled: true,
        max_age: max_age.map(str::to_owned),
        max_count: max_count.map(Into::into),
        min_retention: min.map(str::to_owned),
    };
    limits.checked().unwrap()
}

fn ago(now: SystemTime, age: Duration) -> String {
    format!("{:.3}", Timestamp::try_from(now - age).unwrap())
}

/// The expired sessions, by id or by the file's name, with the reason.
fn goes(
    inventory: &SessionInventory,
    rule: &RetentionRules,
    now: SystemTime,
) -> Vec<(String, ExpiryReason)> {
    let expired = rule.expired(inventory, 0, now);
    let mut told: Vec<_> = expired
        .iter()
        .map(|expired| {
            let name = match expired.what {
                ExpiringItem::Session(id) => id.to_owned(),
                ExpiringItem::File(file) => {
                    file.path.file_name().unwrap().to_str().unwrap().to_owned()
                }
            };
            (name, expired.reason)
        })
        .collect();
    told.sort_by(|one, other| one.0.cmp(&other.0));
    told
}

/// A session whose last update and whose file are of this age.
fn session(home: &RecordedHome, id: &str, now: SystemTime, age: Duration) {
    let path = home.session(id, &ago(now, age), &["hello"]);
    home.age(&path, now, age);
}

/// A conversation that a checkpoint without content hides can be recovered: it stays as long as a session would.
#[test]
fn a_conversation_that_is_only_hidden_is_kept_as_long_as_any() {
    let home = RecordedHome::new();
    let now = SystemTime::now();
    let empty = r#"{"$set":{"messages":[{"id":"c","type":"user","content":[{"text":"<session_context>x"}]}]}}"#;
    let told = |age: Duration, rule: &RetentionRules| {
        let path = home.session("hidden", &ago(now, age), &["a long conversation"]);
        let log = std::fs::read_to_string(&path).unwrap();
        std::fs::write(&path, format!("{log}{empty}\n")).unwrap();
        home.age(&path, now, age);
        let held = inventory(&home);
        assert_eq!(held.listing.sessions.len(), 0);
        let why = &held.listing.hidden[0].explanation;
        assert!(why.contains("`lapidary sessions recover`"), "{why}");
        let gone = goes(&held, rule, now);
        std::fs::remove_file(&path).unwrap();
        gone
    };
    assert_eq!(told(DAY * 2, &rule(Some("30d"), None, None)), []);
    assert_eq!(told(DAY * 2, &rule(None, Some(1), None)), []);
    let gone = told(DAY * 40, &rule(Some("30d"), None, None));
    assert_eq!(gone, [("hidden".to_owned(), ExpiryReason::TooOld)]);
}

#[test]
fn sessions_beyond_the_age_or_the_number_expire() {
    let home = RecordedHome::new();
    let now = SystemTime::now();
    for (id, days) in [("one", 40), ("two", 20), ("three", 10), ("four", 3)] {
        session(&home, id, now, DAY * days);
    }
    let held = inventory(&home);
    let told = |rule: RetentionRules| goes(&held, &rule, now);
    let pair = |id: &str, why| (id.to_owned(), why);
    assert_eq!(
        told(rule(Some("30d"), None, None)),
        [pair("one", ExpiryReason::TooOld)]
    );
    assert_eq!(told(rule(Some("1d"), None, None)).len(), 4);
    assert_eq!(
        told(rule(Some("30d"), Some(2), None)),
        [
            pair("one", ExpiryReason::TooOld),
            pair("two", ExpiryReason::TooMany)
        ]
    );
    assert_eq!(told(rule(None, Some(4), None)), []);
    // However many there are: the least that is kept is kept.
    assert_eq!(
        told(rule(None, Some(1), Some("15d"))),
        [
            pair("one", ExpiryReason::TooMany),
            pair("two", ExpiryReason::TooMany)
        ]
    );
}

#[test]
fn empty_files_expire_early_and_broken_files_as_late_as_sessions() {
    let home = RecordedHome::new();
    let now = SystemTime::now();
    for (name, age) in [("young", HOUR), ("old", DAY * 2), ("ancient", DAY * 60)] {
        let time = ago(now, age);
        for (kind, text) in [
            ("empty", String::new()),
            ("broken", "{\"no\":".to_owned()),
            (
                "stub",
                format!("{}\n", header(&format!("{name}-id"), &time, &time)),
            ),
        ] {
            let path = home.chat(&format!("session-{name}-{kind}.jsonl"), &text);
            home.age(&path, now, age);
        }
    }
    let held = inventory(&home);
    let pair = |id: &str, why| (id.to_owned(), why);
    assert_eq!(
        goes(&held, &rule(Some("30d"), None, None), now),
        [
            pair("ancient-id", ExpiryReason::NoContent),
            pair("old-id", ExpiryReason::NoContent),
            // A broken file may still be recovered: it is kept as long as a session.
            pair("session-ancient-broken.jsonl", ExpiryReason::NotASession),
            pair("session-ancient-empty.jsonl", ExpiryReason::Empty),
            pair("session-old-empty.jsonl", ExpiryReason::Empty),
        ]
    );
}

#[test]
fn a_stub_is_no_reason_to_remove_the_session_whose_id_it_shares() {
    let home = RecordedHome::new();
    let now = SystemTime::now();
    session(&home, "shared-id", now, DAY * 5);
    let time = ago(now, DAY * 4);
    let stub = home.chat(
        "session-later-shared-i.jsonl",
        &format!("{}\n", header("shared-id", &time, &time)),
    );
    home.age(&stub, now, DAY * 4);
    let path = home.chat(
        "session-other-shared-i.jsonl",
        &format!("{}\n", header("shared-other", &time, &time)),
    );
    home.age(&path, now, DAY * 4);
    let told = goes(&inventory(&home), &rule(Some("30d"), None, None), now);
    assert_eq!(told, [("shared-other".to_owned(), ExpiryReason::NoContent)]);
}

#[test]
fn a_session_with_a_future_or_unreadable_time_is_kept() {
    let home = RecordedHome::new();
    let now = SystemTime::now();
    for (id, time) in [
        ("future", "2999-01-01T00:00:00.000Z"),
        ("odd", "yesterday"),
        ("past", "2001-01-01T00:00:00.000Z"),
    ] {
        let path = home.chat(
            &format!("session-x-{id}.jsonl"),
            &log(id, time, &[]).replace(
                "}\n",
                "}\n{\"id\":\"1\",\"type\":\"user\",\"content\":\"hi\"}\n",
            ),
        );
        home.age(&path, now, DAY * 90);
    }
    let told = goes(&inventory(&home), &rule(Some("30d"), None, None), now);
    assert_eq!(told, [("past".to_owned(), ExpiryReason::TooOld)]);
    // The file was written just now, so the time in its records does not count.
    let path = home.folder().join("chats/session-x-past.jsonl");
    home.age(&path, now, HOUR);
    assert_eq!(
        goes(&inventory(&home), &rule(Some("30d"), None, None), now),
        []
    );
}

/// The settings of a user and of a workspace.
fn settings(user: &str, workspace: &str) -> Settings {
    let root = tempfile::tempdir().unwrap();
    let project = root.path().join("project");
    for (folder, text) in [(root.path(), user), (&project, workspace)] {
        fs::create_dir_all(folder.join(".gemini")).unwrap();
        fs::write(folder.join(".gemini/settings.json"), text).unwrap();
    }
    let home = root.path().display().to_string();
    let vars = BTreeMap::from([
        ("GEMINI_CLI_HOME".into(), home.clone().into()),
        // The machine that the tests run on may have system settings.
        (
            "GEMINI_CLI_SYSTEM_SETTINGS_PATH".into(),
            (home + "/none.json").into(),
        ),
    ]);
    let home = GeminiHome::from_vars(Vars::new(&vars), None).unwrap();
    Settings::read(&home, &project)
}

#[test]
fn settings_mean_what_they_mean_to_the_cli() {
    let check = |retention: &str, expected: Result<(&str, Option<u64>, &str), &str>| {
        let text = format!(r#"{{"general": {{"sessionRetention": {retention}}}}}"#);
        let settings = settings(&text, "{}");
        let limits = RetentionLimits::from_settings(&settings, WorkspaceTrust::IsIgnored).unwrap();
        let told = limits.checked().map(|rule| {
            let age = rule.max_age.map_or("-".to_owned(), |age| age.to_string());
            (age, rule.max_count, rule.min_retention.to_string())
        });
        let expected = expected.map(|(age, count, min)| (age.to_owned(), count, min.to_owned()));
        assert_eq!(
            told.map_err(|error| error.to_string()),
            expected.map_err(str::to_owned),
            "{retention}"
        );
    };
    check("{}", Ok(("30d", None, "1d")));
    check("null", Ok(("30d", None, "1d")));
    check(r#"{"maxCount": 5}"#, Ok(("30d", Some(5), "1d")));
    check(
        r#"{"maxAge": "2w", "minRetention": "36h"}"#,
        Ok(("14d", None, "36h")),
    );
    check(r#"{"minRetention": "soon"}"#, Ok(("30d", None, "1d")));
    check(r#"{"maxAge": "", "maxCount": 3}"#, Ok(("-", Some(3), "1d")));
    check(r#"{"enabled": false}"#, Err("Retention not enabled"));
    check(r#"{"enabled": 0}"#, Err("Retention not enabled"));
    check(
        r#"{"maxAge": null}"#,
        Err("Either maxAge or maxCount must be specified"),
    );
    check(r#"{"maxCount": 0}"#, Err("maxCount must be at least 1"));
    check(r#"{"maxCount": -3}"#, Err("maxCount must be at least 1"));
    check(
        r#"{"maxCount": "many"}"#,
        Err("maxCount must be a number, not \"many\""),
    );
    check(
        r#"{"maxAge": "12h"}"#,
        Err("maxAge cannot be less than minRetention (1d)"),
    );
    check(
        r#"{"maxAge": "5d", "minRetention": "1w"}"#,
        Err("maxAge cannot be less than minRetention (1w)"),
    );
    check(
        r#"{"maxAge": "0d"}"#,
        Err("Invalid retention period: 0d. Value must be greater than 0"),
    );
    let words = "Invalid retention period format: 30 days. Expected format: <number><unit> where unit is h, d, w, or m";
    check(r#"{"maxAge": "30 days"}"#, Err(words));
}

#[test]
fn a_workspace_that_is_not_trusted_says_nothing_and_settings_that_cannot_be_read_stop_everything() {
    let one_day = r#"{"general": {"sessionRetention": {"maxAge": "1d"}}}"#;
    let readable = settings("{}", one_day);
    let age = |workspace| {
        RetentionLimits::from_settings(&readable, workspace)
            .unwrap()
            .max_age
    };
    assert_eq!(age(WorkspaceTrust::IsIgnored).as_deref(), Some("30d"));
    assert_eq!(age(WorkspaceTrust::Counts).as_deref(), Some("1d"));
    let refused =
        RetentionLimits::from_settings(&settings("{", one_day), WorkspaceTrust::IsIgnored);
    assert!(
        matches!(refused, Err(RetentionError::BadSettings { .. })),
        "{refused:?}"
    );
}

/// A file as the property makes them: its session, its content, the hours since it was written and updated.
#[derive(Debug, Clone)]
struct Made {
    id: usize,
    kind: usize,
    hours: u64,
    written: u64,
}

/// All but one begin with the same eight letters, and two make the same file name.
const IDS: [&str; 5] = [
    "samestart-1",
    "samestart-2",
    "samestart_2",
    "samestart/2",
    "otherwise",
];

fn made() -> impl Strategy<Value = Vec<Made>> {
    let one = (0..IDS.len(), 0..5_usize, 0..100_u64, 0..100_u64);
    let one = one.prop_map(|(id, kind, hours, written)| Made {
        id,
        kind,
        hours,
        written,
    });
    prop::collection::vec(one, 1..12)
}

fn write(home: &RecordedHome, files: &[Made], now: SystemTime) {
    for (place, file) in files.iter().enumerate() {
        let id = IDS[file.id];
        let time = ago(now, HOUR * u32::try_from(file.hours).unwrap());
        let text = match file.kind {
            0 | 1 => log(id, &time, &["hello"]),
            2 => format!("{}\n", header(id, &time, &time)),
            3 => String::new(),
            _ => "broken".to_owned(),
        };
        let path = home.chat(&format!("session-{place}-{}.jsonl", &id[..8]), &text);
        home.age(&path, now, HOUR * u32::try_from(file.written).unwrap());
        let name = id.replace('/', "_");
        home.put(
            &format!("tmp/project/tool-outputs/session-{name}/out.txt"),
            id,
        );
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn pruning_never_removes_a_file_of_a_session_that_is_kept(
        files in made(), age in 2_u64..80, count in prop::option::of(1_u64..4), min in 1_u64..60,
    ) {
        let now = SystemTime::now();
        let home = RecordedHome::new();
        write(&home, &files, now);
        let min = min.min(age);
        let rule = rule(Some(&format!("{age}h")), count, Some(&format!("{min}h")));
        let held = inventory(&home);
        let expired = rule.expired(&held, 0, now);
        let going: HashSet<_> = expired.iter().filter_map(|expired| match expired.what {
            ExpiringItem::Session(id) => Some((0, id.to_owned())),
            ExpiringItem::File(_) => None,
        }).collect();
        let before: BTreeMap<_, _> = home.tree();
        for deletion in held.deletions(&going) {
            deletion.carry_out(&mut |_: &Path| Ok(())).unwrap();
        }
        for one in &expired {
            if let ExpiringItem::File(file) = one.what {
                held.deletion_of_file(file).carry_out(&mut |_: &Path| Ok(())).unwrap();
            }
        }
        let after = home.tree();
        for file in &held.files {
            let name = file.path.strip_prefix(home.home().join(".gemini")).unwrap().to_str().unwrap();
            let is_young = now.duration_since(file.modified).unwrap() <= HOUR * u32::try_from(min).unwrap();
            let stays = match file.content.id() {
                Some(id) => !going.contains(&(0, id.to_owned())),
                None => is_young || file.content == FileContent::Unreadable,
            };
            if stays || is_young {
                prop_assert_eq!(before.get(name), after.get(name), "{} of {:?}", name, file.content);
            }
            // The outputs of tools stay as long as any file of that id does.
            if let Some(id) = file.content.id().filter(|_| stays) {
                let out = format!("tmp/project/tool-outputs/session-{}/out.txt", id.replace('/', "_"));
                prop_assert!(after.contains_key(&out), "{}", out);
            }
        }
        prop_assert_eq!(rule.expired(&inventory(&home), 0, now).len(), 0, "once is enough");
    }
}
