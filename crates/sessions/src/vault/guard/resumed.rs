//! The record that a guard leaves for other processes, and the finishing of guards whose process was killed.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use super::{
    ChatDir, Guard, GuardAction, GuardRequest, RepairKind, RetentionSettings, SeenFile,
    SessionRepair, failure_action, project_of,
};
use crate::vault::held::HeldFiles;
use crate::vault::open::{GuardRecord, RecordedPlace};
use crate::vault::runs::RunLock;
use crate::vault::{ContentFacts, Vault, VaultError, stat};

impl Guard {
    /// The record from which another process can finish this guard.
    pub(super) fn to_record(&self) -> GuardRecord {
        let retention = self.request.retention;
        GuardRecord {
            since: stat::rfc3339_text(self.request.now),
            resume: self.request.resume.clone(),
            max_age: retention.and_then(|it| it.max_age),
            max_count: retention.and_then(|it| it.max_count),
            has_retention: retention.is_some(),
            places: self.places.iter().map(recorded_place).collect(),
        }
    }

    fn of_record(vault: &Vault, record: &GuardRecord) -> Self {
        let retention = record.has_retention.then_some(RetentionSettings {
            max_age: record.max_age,
            max_count: record.max_count,
        });
        let places = record.places.iter();
        Self {
            vault: vault.clone(),
            request: GuardRequest {
                chats: record.places.iter().map(|it| it.chats.clone()).collect(),
                now: record.start_time(),
                resume: record.resume.clone(),
                retention,
            },
            places: places.map(|place| as_it_was(vault, place)).collect(),
            actions: Vec::new(),
            flaws: Vec::new(),
            open: None,
        }
    }
}

/// Finishes the guards of killed processes. A guard that cannot be finished stays for the next process.
pub(super) fn finish_abandoned(vault: &Vault, now: SystemTime) -> Vec<GuardAction> {
    let mut actions = Vec::new();
    for (open, record) in vault.abandoned_guards() {
        match Guard::of_record(vault, &record).after(now) {
            Ok(SessionRepair { actions: done, .. }) => {
                actions.extend(done);
                open.close();
            }
            Err(error) => actions.push(unfinished_warning(&record, &error)),
        }
    }
    actions
}

/// Puts back held files of killed runs, where no run is under way.
pub(super) fn finish_held(vault: &Vault, chats: &[PathBuf], now: SystemTime) -> Vec<GuardAction> {
    let mut actions = Vec::new();
    // A project's own directory, where older versions have sessions, shares its held files with `chats`.
    for chats in chats.iter().filter(|it| it.ends_with("chats")) {
        if HeldFiles::open(chats).held_files().is_empty()
            || HeldFiles::open(chats).lock_for_release().is_none()
        {
            continue;
        }
        match held_only(vault, chats).after(now) {
            Ok(SessionRepair { actions: done, .. }) => actions.extend(done),
            Err(error) => actions.push(failure_action(None, chats, &error)),
        }
    }
    actions
}

/// A guard that knows only the held files.
fn held_only(vault: &Vault, chats: &Path) -> Guard {
    Guard {
        vault: vault.clone(),
        request: GuardRequest {
            chats: vec![chats.to_owned()],
            // A session that was removed on purpose at any time stays removed.
            now: SystemTime::UNIX_EPOCH,
            resume: None,
            retention: None,
        },
        places: vec![ChatDir {
            chats: chats.to_owned(),
            project: project_of(chats).to_owned(),
            snapshot: String::new(),
            before: Vec::new(),
            run: RunLock::default(),
        }],
        actions: Vec::new(),
        flaws: Vec::new(),
        open: None,
    }
}

fn unfinished_warning(record: &GuardRecord, error: &VaultError) -> GuardAction {
    let path = record.places.first().map(|it| it.chats.clone());
    GuardAction {
        did: RepairKind::Warned,
        session_id: None,
        path: path.unwrap_or_default(),
        sentence: format!(
            "An earlier run was killed, and what it lost could not be put back yet: {error}."
        ),
    }
}

fn recorded_place(place: &ChatDir) -> RecordedPlace {
    let file = |seen: &SeenFile| (seen.entry.path.clone(), seen.path.clone());
    RecordedPlace {
        chats: place.chats.clone(),
        project: place.project.clone(),
        snapshot: place.snapshot.clone(),
        files: place.before.iter().map(file).collect(),
    }
}

/// A snapshot that is gone had nothing, or nothing that was worth keeping.
fn as_it_was(vault: &Vault, place: &RecordedPlace) -> ChatDir {
    let entries = vault.snapshot(&place.snapshot).map(|it| it.files);
    let entries = entries.unwrap_or_default().into_iter();
    let paths: HashMap<&str, &PathBuf> = place
        .files
        .iter()
        .map(|(name, path)| (&**name, path))
        .collect();
    let before = entries.filter_map(|entry| {
        let path = (*paths.get(&*entry.path)?).clone();
        Some(SeenFile {
            facts: ContentFacts::read(&vault.read(&entry).ok()?),
            is_main: path.parent() == Some(&place.chats),
            permissions: None,
            path,
            entry,
        })
    });
    ChatDir {
        before: before.collect(),
        chats: place.chats.clone(),
        project: place.project.clone(),
        snapshot: place.snapshot.clone(),
        run: RunLock::default(),
    }
}
