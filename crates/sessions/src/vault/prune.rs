//! Making the vault smaller, without losing the last content of a session.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::fs;
use std::io;
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use super::blobs::TEMPORARY;
use super::error::ErrorContext as _;
use super::{Snapshot, SnapshotEntry, Vault, VaultError, stat};

/// How long a temporary file is left alone.
const A_DAY: Duration = Duration::from_hours(24);

/// The limits of a prune.
#[derive(Debug, Clone, Copy)]
pub struct PruneRequest {
    /// Contents that no snapshot younger than this names.
    pub older_than: Option<Duration>,
    /// The oldest contents, until no more than this is left.
    pub max_bytes: Option<u64>,
    /// Only report the removals.
    pub dry_run: bool,
    /// The time.
    pub now: SystemTime,
}

/// The removals, made or planned.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PruneResult {
    /// Contents that are the beginning of a newer one of the same session: they can still be brought back, from that one.
    pub contained: usize,
    /// Contents that were too old or too many.
    pub dropped: usize,
    /// Contents that no snapshot named.
    pub unreferenced: usize,
    /// Snapshots of which nothing was left.
    pub snapshots: usize,
    /// Bytes that are free now.
    pub freed: u64,
    /// Bytes that are left.
    pub left: u64,
    /// Snapshots that cannot be read: their contents are unknown, so nothing is removed while they exist.
    pub unreadable: Vec<PathBuf>,
}

impl Vault {
    /// Removes contents: first beginnings of a newer content of the same session, then by age, then by size. It never removes a
    /// session's newest content, its newest resumable one, or a content from before a run that is not over.
    pub fn prune(&self, request: &PruneRequest) -> Result<PruneResult, VaultError> {
        if !self.dir.is_dir() {
            return Ok(PruneResult::default());
        }
        let _owned = self.lock_exclusive()?;
        let history = self.log()?;
        // An unreadable snapshot may name any content.
        let knows_all = history.unreadable.is_empty();
        let mut snapshots = history.snapshots;
        for entry in snapshots.iter_mut().flat_map(|it| &mut it.files) {
            self.complete_entry(entry);
        }
        let mut plan = PrunePlan::new(snapshots);
        plan.keep_guarded(&self.guarded_snapshots());
        plan.find_contained(self);
        plan.drop_older(request);
        plan.drop_to_size(request);
        let mut pruned = plan.result_counts();
        if knows_all {
            pruned.unreferenced = plan.sweep_unnamed(self);
        } else {
            plan.gone.clear();
            plan.dropped.clear();
            pruned = PruneResult {
                unreadable: history.unreadable,
                ..PruneResult::default()
            };
        }
        pruned.freed = plan.gone.values().sum();
        pruned.left = plan.total_bytes() - plan.freed_of_named();
        pruned.snapshots = plan.empty_snapshots();
        if !request.dry_run && knows_all {
            self.carry_out(&plan, request.now)?;
        }
        Ok(pruned)
    }

    /// Rewrites the snapshots first, so that they never name a content that is gone.
    fn carry_out(&self, plan: &PrunePlan, now: SystemTime) -> Result<(), VaultError> {
        for snapshot in &plan.snapshots {
            self.ensure_locked()?;
            let files = plan.remaining_entries(snapshot);
            if files == snapshot.files {
                continue;
            }
            if files.is_empty() {
                self.announce_step("remove a snapshot");
                let path = self.snapshot_path(&snapshot.id);
                fs::remove_file(&path).at("remove", &path)?;
            } else {
                self.write_snapshot(&Snapshot {
                    files,
                    ..snapshot.clone()
                })?;
            }
        }
        self.forget_caches();
        for sha256 in plan.gone.keys() {
            self.ensure_locked()?;
            self.announce_step("remove a content");
            let path = self.blob_path(sha256);
            match fs::remove_file(&path) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                removed => removed.at("remove", &path)?,
            }
        }
        self.forget_notes();
        self.remove_temporary(now);
        Ok(())
    }

    /// Fails if another process has added to the vault without waiting for this prune: the plan is out of date then.
    fn ensure_locked(&self) -> Result<(), VaultError> {
        if self.overtaken_path().exists() {
            let changed = io::Error::other("another process has added to it; try again");
            return Err(changed).at("prune", &self.dir);
        }
        Ok(())
    }

    fn remove_temporary(&self, now: SystemTime) {
        for path in self.blob_files() {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            let age = path.metadata().and_then(|about| about.modified());
            let age = age.ok().and_then(|time| now.duration_since(time).ok());
            if name.starts_with(TEMPORARY) && age.is_some_and(|age| age > A_DAY) {
                let _ = fs::remove_file(&path);
            }
        }
    }
}

/// A content that snapshots name.
#[derive(Debug, Clone)]
struct NamedContent {
    size: u64,
    /// When a snapshot last named it.
    time: String,
    /// The id of its session, or else its file.
    owner: String,
    is_last: bool,
}

#[derive(Debug)]
struct PrunePlan {
    snapshots: Vec<Snapshot>,
    contents: BTreeMap<String, NamedContent>,
    /// Which content begins with which.
    within: HashMap<String, String>,
    dropped: BTreeSet<String>,
    /// The contents whose files go, with their sizes.
    gone: BTreeMap<String, u64>,
}

impl PrunePlan {
    fn new(snapshots: Vec<Snapshot>) -> Self {
        let mut contents: BTreeMap<String, NamedContent> = BTreeMap::new();
        let mut within = HashMap::new();
        let mut last: HashMap<String, String> = HashMap::new();
        for snapshot in &snapshots {
            for entry in &snapshot.files {
                let owner = content_owner(snapshot, entry);
                let mut is_last_of = |what: String| last.insert(what, entry.sha256.clone());
                is_last_of(owner.clone());
                is_last_of(format!("file {}/{}", snapshot.project, entry.path));
                if entry.listed {
                    is_last_of(format!("listed {owner}"));
                }
                if let Some(whole) = &entry.within {
                    within.insert(entry.sha256.clone(), whole.clone());
                    continue;
                }
                let content = NamedContent {
                    size: entry.size,
                    time: snapshot.time.clone(),
                    owner,
                    is_last: false,
                };
                contents.insert(entry.sha256.clone(), content);
            }
        }
        // A content that is itself kept whole is not read from another.
        within.retain(|name, _| !contents.contains_key(name));
        for name in last.into_values() {
            let name = within.get(&name).unwrap_or(&name);
            if let Some(content) = contents.get_mut(name) {
                content.is_last = true;
            }
        }
        Self {
            snapshots,
            contents,
            within,
            dropped: BTreeSet::new(),
            gone: BTreeMap::new(),
        }
    }

    /// Keeps the contents from before a run that is not over: they may have to be put back.
    fn keep_guarded(&mut self, guarded: &HashSet<String>) {
        let guarded = self.snapshots.iter().filter(|it| guarded.contains(&it.id));
        for entry in guarded.flat_map(|it| &it.files) {
            let name = self.within.get(&entry.sha256).unwrap_or(&entry.sha256);
            if let Some(content) = self.contents.get_mut(name) {
                content.is_last = true;
            }
        }
    }

    /// Logs only grow: the newest content of a session usually begins with each older one.
    fn find_contained(&mut self, vault: &Vault) {
        let mut owners: BTreeMap<&str, Vec<&String>> = BTreeMap::new();
        for (name, content) in &self.contents {
            owners.entry(&content.owner).or_default().push(name);
        }
        let mut found = Vec::new();
        for names in owners.values_mut() {
            let key = |name: &String| (self.contents[name].size, self.contents[name].time.clone());
            names.sort_by_key(|name| std::cmp::Reverse(key(name)));
            let mut wholes: Vec<&String> = Vec::new();
            for name in names.iter() {
                let size = self.contents[*name].size;
                let begins = |whole: &&&String| {
                    vault.may_begin_with(whole, name, size)
                        && vault
                            .hash_of_start(whole, size)
                            .is_ok_and(|hash| hash == **name)
                };
                match wholes.iter().find(begins) {
                    Some(whole) => found.push(((*name).clone(), (*whole).clone())),
                    None => wholes.push(name),
                }
            }
        }
        for (name, whole) in found {
            self.gone.insert(name.clone(), self.contents[&name].size);
            // If a content must stay, so must the one that it is read from.
            let is_last = self.contents[&name].is_last;
            let target = self.contents.get_mut(&whole);
            if let Some(target) = target {
                target.is_last |= is_last;
            }
            for other in self.within.values_mut().filter(|it| **it == name) {
                other.clone_from(&whole);
            }
            self.within.insert(name, whole);
        }
    }

    fn drop_older(&mut self, request: &PruneRequest) {
        let Some(limit) = request
            .older_than
            .and_then(|it| request.now.checked_sub(it))
        else {
            return;
        };
        let limit = stat::rfc3339_text(limit);
        let is_old = |content: &NamedContent| stat::parse(&content.time) < stat::parse(&limit);
        let old = self.droppable_contents().into_iter();
        let old: Vec<_> = old.filter(|name| is_old(&self.contents[name])).collect();
        for name in old {
            self.drop_content(name);
        }
    }

    fn drop_to_size(&mut self, request: &PruneRequest) {
        let Some(limit) = request.max_bytes else {
            return;
        };
        let mut names = self.droppable_contents();
        names.sort_by(|a, b| self.contents[a].time.cmp(&self.contents[b].time));
        for name in names {
            if self.total_bytes() - self.freed_of_named() <= limit {
                return;
            }
            self.drop_content(name);
        }
    }

    fn droppable_contents(&self) -> Vec<String> {
        let may_go = |(name, content): &(&String, &NamedContent)| {
            !content.is_last && !self.gone.contains_key(*name)
        };
        let contents = self.contents.iter().filter(may_go);
        contents.map(|(name, _)| name.clone()).collect()
    }

    /// Drops a content, together with the contents that are read from it.
    fn drop_content(&mut self, name: String) {
        let inside = self.within.iter().filter(|(_, whole)| **whole == name);
        self.dropped.extend(inside.map(|(name, _)| name.clone()));
        self.gone.insert(name.clone(), self.contents[&name].size);
        self.dropped.insert(name);
    }

    /// Contents that no snapshot names.
    fn sweep_unnamed(&mut self, vault: &Vault) -> usize {
        let before = self.gone.len();
        for path in vault.blob_files() {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            if !name.starts_with(TEMPORARY) && !self.contents.contains_key(&*name) {
                let size = path.metadata().map_or(0, |about| about.len());
                self.gone.insert(name.into_owned(), size);
            }
        }
        self.gone.len() - before
    }

    fn remaining_entries(&self, snapshot: &Snapshot) -> Vec<SnapshotEntry> {
        let kept = snapshot.files.iter().filter(|entry| {
            let whole = entry.within.as_ref().unwrap_or(&entry.sha256);
            !self.dropped.contains(&entry.sha256) && !self.dropped.contains(whole)
        });
        let with_place = kept.map(|entry| SnapshotEntry {
            within: self.within.get(&entry.sha256).cloned(),
            ..entry.clone()
        });
        with_place.collect()
    }

    fn result_counts(&self) -> PruneResult {
        let dropped = self
            .dropped
            .intersection(&self.gone.keys().cloned().collect())
            .count();
        PruneResult {
            contained: self.gone.len() - dropped,
            dropped,
            ..PruneResult::default()
        }
    }

    fn total_bytes(&self) -> u64 {
        self.contents.values().map(|content| content.size).sum()
    }

    fn freed_of_named(&self) -> u64 {
        let named = self
            .gone
            .iter()
            .filter(|it| self.contents.contains_key(it.0));
        named.map(|(_, size)| size).sum()
    }

    fn empty_snapshots(&self) -> usize {
        let is_empty =
            |it: &&Snapshot| !it.files.is_empty() && self.remaining_entries(it).is_empty();
        self.snapshots.iter().filter(is_empty).count()
    }
}

fn content_owner(snapshot: &Snapshot, entry: &SnapshotEntry) -> String {
    match &entry.session_id {
        // A subagent has the id of its own session, and one content may be two sessions' only if it is the same.
        Some(id) => format!("session {id}"),
        None => format!("file {}/{}", snapshot.project, entry.path),
    }
}
