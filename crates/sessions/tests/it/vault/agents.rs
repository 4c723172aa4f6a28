//! Copies of the sessions of Claude Code, Codex CLI and Qwen Code.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use lapidary_sessions::vault::{
    AddedFiles, AgentCopyRequest, DEFAULT_MOST_BYTES, FlawKind, RestoreTarget, Vault,
};
use lapidary_sessions::{
    ClaudeSessions, CodexSessions, ProjectReach, ProviderScope, QwenSessions, VaultSource,
    WantedDirectories,
};
use tempfile::TempDir;

use crate::agent_captures::{children, scene};

const SESSION: &str = "c1a0de00-0000-4000-8000-000000000005";

fn copy_folder(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in children(from) {
        let target = to.join(entry.file_name().unwrap());
        if entry.is_dir() {
            copy_folder(&entry, &target);
        } else {
            fs::copy(&entry, &target).unwrap();
        }
    }
}

/// A home with a captured scene, and a vault.
fn world(of: &str) -> (TempDir, PathBuf, Vault) {
    let root = tempfile::tempdir().unwrap();
    let home = root.path().join("agent");
    copy_folder(&scene(of), &home);
    let vault = Vault::open(root.path().join("vault"));
    (root, home, vault)
}

fn take(vault: &Vault, source: &dyn VaultSource, minutes: u64, most_bytes: u64) -> Vec<AddedFiles> {
    let start = SystemTime::UNIX_EPOCH + Duration::from_hours(500_000);
    let request = AgentCopyRequest {
        scope: ProviderScope {
            projects: &[],
            reach: ProjectReach::Everywhere,
            now: start + Duration::from_mins(minutes),
        },
        reason: "test",
        most_bytes,
    };
    vault.add_agent(source, &request, &mut Vec::new()).unwrap()
}

fn contents(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut all = BTreeMap::new();
    for entry in children(folder) {
        if entry.is_dir() {
            all.extend(contents(&entry));
        } else {
            let bytes = fs::read(&entry).unwrap();
            all.insert(entry, bytes);
        }
    }
    all
}

#[test]
fn a_session_that_claude_code_deleted_comes_back_with_its_sub_agents() {
    let (_root, home, vault) = world("claude-2.1.312/subagent");
    let source = ClaudeSessions::new(&home);
    let before = contents(&home);
    let first = take(&vault, &source, 0, DEFAULT_MOST_BYTES);
    assert!(first.iter().any(|added| added.changed && added.new > 2));
    let again = take(&vault, &source, 1, DEFAULT_MOST_BYTES);
    assert!(again.iter().all(|added| !added.changed && added.new == 0));
    assert_eq!(contents(&home), before);
    assert_eq!(vault.deleted_sessions(&home).unwrap(), []);

    let project = home.join("projects/-tmp-project");
    fs::remove_dir_all(&project).unwrap();
    take(&vault, &source, 2, DEFAULT_MOST_BYTES);
    let deleted = vault.deleted_sessions(&home).unwrap();
    let [gone] = deleted.as_slice() else {
        panic!("{deleted:?}");
    };
    assert_eq!((gone.id.as_str(), gone.path.is_file()), (SESSION, false));
    assert!(gone.last_seen < *gone.missing_since.as_ref().unwrap());

    let chosen = vault.choose(RestoreTarget::Session(SESSION)).unwrap();
    let now = SystemTime::UNIX_EPOCH;
    vault.put_back(&chosen, &chosen.project, now).unwrap();
    assert_eq!(contents(&home), before);
    assert_eq!(vault.deleted_sessions(&home).unwrap(), []);
}

#[test]
fn a_session_that_qwen_code_deleted_comes_back_with_its_sub_agents() {
    let (_root, home, vault) = world("qwen-0.24.0/subagent");
    let source = QwenSessions::new(&home);
    let project = home.join("projects/-tmp-project");
    let before = contents(&project);
    assert!(before.len() > 1, "a session and its sub-agent");
    take(&vault, &source, 0, DEFAULT_MOST_BYTES);
    assert_eq!(vault.deleted_sessions(&home).unwrap(), []);
    fs::remove_dir_all(&project).unwrap();
    take(&vault, &source, 1, DEFAULT_MOST_BYTES);
    let deleted = vault.deleted_sessions(&home).unwrap();
    let [gone] = deleted.as_slice() else {
        panic!("{deleted:?}");
    };
    assert!(gone.missing_since.is_some());
    let copy = vault.content_path(&gone.entry).unwrap();
    assert!(source.first_prompt(&copy).is_some());
    let chosen = vault.choose(RestoreTarget::Session(&gone.id)).unwrap();
    let now = SystemTime::UNIX_EPOCH;
    vault.put_back(&chosen, &chosen.project, now).unwrap();
    assert_eq!(contents(&project), before);
}

#[test]
fn a_rollout_that_grew_is_kept_once_and_restored_as_it_was_last() {
    let (_root, home, vault) = world("codex-0.166.0/text");
    let source = CodexSessions::new(&home);
    take(&vault, &source, 0, DEFAULT_MOST_BYTES);
    let (rollout, mut bytes) = contents(&home)
        .into_iter()
        .find(|(path, _)| path.extension().is_some_and(|it| it == "jsonl"))
        .unwrap();
    bytes.extend_from_slice(
        b"{\"timestamp\":\"2026-11-18T05:00:00.000Z\",\"type\":\"x\",\"payload\":{}}\n",
    );
    fs::write(&rollout, &bytes).unwrap();
    take(&vault, &source, 5, DEFAULT_MOST_BYTES);
    let blobs = contents(&vault.dir().join("blobs"));
    let copies = blobs.values().filter(|copy| bytes.starts_with(copy));
    assert_eq!(copies.count(), 1, "the beginning is within the whole");
    fs::remove_file(&rollout).unwrap();
    let gone = vault.deleted_sessions(&home).unwrap().remove(0);
    assert_eq!(gone.missing_since, None, "nothing has looked since");
    let chosen = vault.choose(RestoreTarget::Session(&gone.id)).unwrap();
    let now = SystemTime::UNIX_EPOCH;
    vault.put_back(&chosen, &chosen.project, now).unwrap();
    assert_eq!(fs::read(&rollout).unwrap(), bytes);
}

#[test]
fn a_vault_that_is_full_keeps_the_copy_that_it_has() {
    let (_root, home, vault) = world("codex-0.166.0/text");
    let source = CodexSessions::new(&home);
    let refused = take(&vault, &source, 0, 10);
    let flaws: Vec<_> = refused.iter().flat_map(|added| &added.flaws).collect();
    assert!(flaws.iter().all(|flaw| flaw.kind == FlawKind::NoRoom) && !flaws.is_empty());
    take(&vault, &source, 1, DEFAULT_MOST_BYTES);
    let files = contents(&home);
    let rollout = files
        .keys()
        .find(|path| path.extension().is_some_and(|it| it == "jsonl"));
    let rollout = rollout.unwrap();
    let whole = fs::read(rollout).unwrap();
    fs::write(rollout, [whole.as_slice(), b"more\n"].concat()).unwrap();
    let refused = take(&vault, &source, 2, 10);
    assert_eq!(refused[0].flaws[0].kind, FlawKind::NoRoom);
    fs::remove_file(rollout).unwrap();
    let gone = vault.deleted_sessions(&home).unwrap().remove(0);
    assert_eq!(
        vault
            .content_path(&gone.entry)
            .map(|path| fs::read(path).unwrap()),
        Some(whole)
    );
}

#[test]
fn prompts_of_a_deleted_session_are_found_in_the_history_of_claude_code() {
    let (_root, home, _vault) = world("claude-2.1.312/interactive");
    let source = ClaudeSessions::new(&home);
    let forgotten = || {
        source
            .forgotten_sessions(&WantedDirectories::Every)
            .unwrap()
    };
    assert_eq!(forgotten(), [], "its file is there");
    fs::remove_dir_all(home.join("projects/-tmp-project")).unwrap();
    let left = forgotten();
    let [session] = left.as_slice() else {
        panic!("{left:?}");
    };
    assert_eq!(session.id, "c1a0de00-0000-4000-8000-000000000020");
    assert_eq!(session.prompts[0].text, "Write a file for me");
    let hostile = "{\"display\":\"x\",\"sessionId\":\"../../etc\",\"project\":\"/\"}\nnot JSON\n";
    fs::write(home.join("history.jsonl"), hostile).unwrap();
    assert_eq!(forgotten(), []);
}
