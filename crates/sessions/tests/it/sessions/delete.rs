//! Deleting: all of a session, and nothing of any other.

use std::collections::{BTreeMap, HashSet};
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use lapidary_sessions::{DeleteError, ListedSession, SelectError};
use lapidary_testkit::recorded::{RecordedHome, header, log};

use super::{delete, inventory, is_changed, refuse};

const ONE: &str = "aaaaaaaa-0000-4000-8000-000000000001";
/// Begins with the same eight letters.
const OTHER: &str = "aaaaaaaa-0000-4000-8000-000000000002";

fn gone(before: &BTreeMap<String, String>, home: &RecordedHome) -> Vec<String> {
    let after = home.tree();
    let mut before = before.clone();
    before.retain(|name, content| after.get(name) != Some(content));
    for name in after.keys() {
        assert!(!name.contains("new"), "nothing is made: {name}");
    }
    before.into_keys().collect()
}

#[test]
fn every_file_of_the_session_goes_and_no_other_that_begins_alike() {
    let home = RecordedHome::new();
    home.session(ONE, "2026-01-02T10:00:00.000Z", &["first"]);
    home.session(OTHER, "2026-01-02T10:05:00.000Z", &["second"]);
    let stub = format!(
        "{}\n",
        header(ONE, "2026-01-03T10:00:00.000Z", "2026-01-03T10:00:00.000Z")
    );
    home.chat("session-2026-01-03T10-00-aaaaaaaa.jsonl", &stub);
    // An old copy in the directory of before 0.29, and a name that says nothing.
    let hash = lapidary_sessions::project_hash(&home.project());
    let copy = log(ONE, "2026-01-02T10:00:00.000Z", &["first"]);
    home.put(&format!("tmp/{hash}/chats/session-whatever.jsonl"), &copy);
    let before = home.tree();
    delete(&home, ONE).unwrap();
    assert_eq!(
        gone(&before, &home),
        [
            format!("tmp/{hash}/chats/session-whatever.jsonl"),
            "tmp/project/chats/session-2026-01-02T10-00-aaaaaaaa.jsonl".to_owned(),
            "tmp/project/chats/session-2026-01-03T10-00-aaaaaaaa.jsonl".to_owned(),
        ]
    );
}

#[test]
fn deleting_a_session_removes_its_files_and_those_of_its_sub_agents() {
    let home = RecordedHome::new();
    home.session(ONE, "2026-01-02T10:00:00.000Z", &["first"]);
    home.session(OTHER, "2026-01-02T10:05:00.000Z", &["second"]);
    for id in [ONE, OTHER, "agent-1"] {
        home.put(&format!("tmp/project/logs/session-{id}.jsonl"), "{}\n");
        home.put(
            &format!("tmp/project/tool-outputs/session-{id}/a/b.txt"),
            "out",
        );
        home.put(&format!("tmp/project/{id}/plans/plan.md"), "plan");
    }
    home.chat(&format!("{ONE}/agent-1.jsonl"), "{}\n");
    home.chat(&format!("{OTHER}/agent-2.jsonl"), "{}\n");
    let before = home.tree();
    delete(&home, "1").unwrap();
    let gone = gone(&before, &home);
    assert!(
        gone.iter().all(|name| name.contains(ONE)
            || name.contains("agent-1")
            || name.ends_with("10-00-aaaaaaaa.jsonl")),
        "{gone:?}"
    );
    let files = gone.iter().filter(|name| before[*name] != "/").count();
    assert_eq!(files, 1 + 3 + 3 + 1, "{gone:?}");
}

#[test]
fn only_whole_ids_and_numbers_that_are_written_as_such_name_a_session() {
    let home = RecordedHome::new();
    home.session(ONE, "2026-01-02T10:00:00.000Z", &["first"]);
    home.session(OTHER, "2026-01-02T10:05:00.000Z", &["second"]);
    let before = home.tree();
    for named in [
        "1x",
        "01",
        "+1",
        "-1",
        "0",
        "3",
        " 1",
        "1 ",
        "1.0",
        "1e0",
        "aaaaaaaa",
        "latest",
        "",
        ".",
        "..",
        "../../x",
        "chats",
        "session-2026-01-02T10-00-aaaaaaaa",
        "99999999999999999999",
    ] {
        let refused = delete(&home, named);
        assert!(
            matches!(refused, Err(SelectError::Invalid { .. })),
            "{named}: {refused:?}"
        );
    }
    assert_eq!(home.tree(), before);
    let empty = RecordedHome::new();
    assert_eq!(delete(&empty, "1"), Err(SelectError::NoSessions));
}

#[test]
fn session_numbers_are_resolved_before_the_first_deletion() {
    let home = RecordedHome::new();
    for (id, minute) in [("one", "00"), ("two", "01"), ("three", "02")] {
        home.session(id, &format!("2026-01-02T10:{minute}:00.000Z"), &["hi"]);
    }
    let inventory = inventory(&home);
    let going: HashSet<_> = ["1", "2"]
        .iter()
        .map(|named| inventory.named(named).unwrap())
        .collect();
    for deletion in inventory.deletions(&going) {
        deletion.carry_out(&mut |_: &Path| Ok(())).unwrap();
    }
    let left = super::inventory(&home);
    let left: Vec<_> = left
        .listing
        .sessions
        .iter()
        .map(ListedSession::id)
        .collect();
    assert_eq!(left, ["three"]);
}

#[test]
fn an_id_never_becomes_a_directory_of_the_projects_own_nor_a_way_out() {
    for id in [
        "chats",
        "Chats",
        "LOGS",
        "tool-outputs",
        "checkpoints",
        "memory",
        ".",
        "..",
        "../../x",
        "../project",
        "/",
        "a/../../b",
        "\u{1f600}",
    ] {
        let home = RecordedHome::new();
        home.session("innocent", "2026-01-01T10:00:00.000Z", &["stays"]);
        for name in [
            "logs/other.jsonl",
            "tool-outputs/session-innocent/o.txt",
            "checkpoints/c.json",
            "memory/m.md",
            "innocent/plans/p.md",
            "Chats/x",
            "LOGS/x",
        ] {
            home.put(&format!("tmp/project/{name}"), "precious");
        }
        home.put("x/precious", "outside");
        home.put("tmp/x/precious", "outside");
        home.put("tmp/b/precious", "outside");
        let file = home.chat(
            "session-2026-01-02T10-00-evil.jsonl",
            &log(id, "2026-01-02T10:00:00.000Z", &["go"]),
        );
        let before = home.tree();
        delete(&home, "2").unwrap();
        let file = file
            .strip_prefix(home.home().join(".gemini"))
            .unwrap()
            .to_owned();
        assert_eq!(gone(&before, &home), [file.to_str().unwrap()], "{id}");
    }
}

#[test]
fn two_ids_that_make_the_same_file_name_share_artefacts_and_the_one_that_stays_keeps_them() {
    let home = RecordedHome::new();
    home.session("a/b", "2026-01-02T10:00:00.000Z", &["goes"]);
    home.session("a_b", "2026-01-02T10:05:00.000Z", &["stays"]);
    home.put("tmp/project/tool-outputs/session-a_b/o.txt", "whose?");
    home.put("tmp/project/a_b/plans/p.md", "whose?");
    home.chat("a_b/agent.jsonl", "{}");
    let before = home.tree();
    delete(&home, "a/b").unwrap();
    assert_eq!(
        gone(&before, &home),
        ["tmp/project/chats/session-2026-01-02T10-00-a_b.jsonl"]
    );
    delete(&home, "a_b").unwrap();
    assert!(!home.tree().keys().any(|name| name.contains("a_b")));
}

#[test]
fn a_linked_artefact_is_unlinked_and_what_it_leads_to_stays() {
    let home = RecordedHome::new();
    home.session(ONE, "2026-01-02T10:00:00.000Z", &["first"]);
    let outside = home.root().join("outside");
    fs::create_dir_all(&outside).unwrap();
    fs::write(outside.join("precious"), "yes").unwrap();
    fs::create_dir_all(home.folder().join("tool-outputs")).unwrap();
    symlink(
        &outside,
        home.folder().join(format!("tool-outputs/session-{ONE}")),
    )
    .unwrap();
    symlink(&outside, home.folder().join(ONE)).unwrap();
    symlink(&outside, home.folder().join("chats").join(ONE)).unwrap();
    delete(&home, ONE).unwrap();
    assert_eq!(fs::read_to_string(outside.join("precious")).unwrap(), "yes");
    assert!(
        !home.tree().keys().any(|name| name.contains(ONE)),
        "{:?}",
        home.tree()
    );
}

#[test]
fn deletion_does_not_follow_links() {
    let home = RecordedHome::new();
    home.session(ONE, "2026-01-02T10:00:00.000Z", &["first"]);
    let outside = home.root().join("outside");
    fs::create_dir_all(outside.join(format!("session-{ONE}"))).unwrap();
    symlink(&outside, home.folder().join("tool-outputs")).unwrap();
    symlink(&outside, home.folder().join("logs")).unwrap();
    let held = inventory(&home);
    let going = HashSet::from([held.named(ONE).unwrap()]);
    let deletions = held.deletions(&going);
    assert_eq!(deletions[0].spared.len(), 1, "{:?}", deletions[0].spared);
    deletions[0].carry_out(&mut |_: &Path| Ok(())).unwrap();
    assert!(outside.join(format!("session-{ONE}")).is_dir());

    // The sessions themselves, too.
    let home = RecordedHome::new();
    let file = home.session(ONE, "2026-01-02T10:00:00.000Z", &["first"]);
    let moved = home.root().join("elsewhere");
    fs::rename(file.parent().unwrap(), &moved).unwrap();
    symlink(&moved, home.folder().join("chats")).unwrap();
    let before = home.tree();
    delete(&home, ONE).unwrap();
    assert_eq!(home.tree(), before);
    assert_eq!(fs::read_dir(&moved).unwrap().count(), 1);
}

#[test]
fn a_session_that_cannot_be_backed_up_is_not_deleted() {
    let home = RecordedHome::new();
    home.session(ONE, "2026-01-02T10:00:00.000Z", &["first"]);
    home.put(&format!("tmp/project/logs/session-{ONE}.jsonl"), "{}\n");
    let before = home.tree();
    let held = inventory(&home);
    let going = HashSet::from([held.named(ONE).unwrap()]);
    let errors = held.deletions(&going)[0]
        .carry_out(&mut refuse)
        .unwrap_err();
    assert!(
        matches!(errors[..], [DeleteError::NotKept { .. }]),
        "{errors:?}"
    );
    assert_eq!(home.tree(), before);
}

#[test]
fn every_file_is_backed_up_before_the_first_is_deleted() {
    let home = RecordedHome::new();
    let file = home.session(ONE, "2026-01-02T10:00:00.000Z", &["first"]);
    let agent = home.chat(&format!("{ONE}/agent-1.jsonl"), "{}\n");
    let held = inventory(&home);
    let going = HashSet::from([held.named(ONE).unwrap()]);
    let mut kept = Vec::new();
    let both = [file.clone(), agent.clone()];
    let mut keep = |path: &Path| {
        assert!(both.iter().all(|path| path.is_file()));
        kept.push(path.to_owned());
        Ok(())
    };
    held.deletions(&going)[0].carry_out(&mut keep).unwrap();
    assert_eq!(kept, both);
}

#[test]
fn a_session_that_changed_after_planning_is_not_deleted() {
    let home = RecordedHome::new();
    let file = home.session(ONE, "2026-01-02T10:00:00.000Z", &["first"]);
    let held = inventory(&home);
    let going = HashSet::from([held.named(ONE).unwrap()]);
    let deletions = held.deletions(&going);
    let more = fs::read_to_string(&file).unwrap() + "{\"$set\":{}}\n";
    fs::write(&file, more).unwrap();
    let before = home.tree();
    let errors = deletions[0].carry_out(&mut |_: &Path| Ok(())).unwrap_err();
    assert!(is_changed(&errors), "{errors:?}");
    assert_eq!(home.tree(), before);
}

#[test]
fn a_hidden_session_can_be_named_by_its_whole_id() {
    let home = RecordedHome::new();
    home.session("visible", "2026-01-02T10:00:00.000Z", &["hello"]);
    let time = "2026-01-03T10:00:00.000Z";
    let stub = home.chat(
        "session-2026-01-03T10-00-empty.jsonl",
        &format!("{}\n", header("empty-one", time, time)),
    );
    delete(&home, "empty-one").unwrap();
    assert!(!stub.exists());
    assert_eq!(inventory(&home).files.len(), 1);
}
