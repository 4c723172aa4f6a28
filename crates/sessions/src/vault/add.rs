//! Taking files in.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use super::blobs::{CopiedFile, CopyRefusal, PendingBlob};
use super::cache::{CachedContent, FileCache};
use super::error::ErrorContext as _;
use super::stat::{self, FileStat};
use crate::provider::VaultSource;

use super::{ContentFacts, FlawKind, GatherFlaw, Snapshot, SnapshotEntry, Vault, VaultError};

/// The files to add.
#[derive(Debug, Clone)]
pub struct AddRequest<'a> {
    /// The directory that the snapshot's paths start from.
    pub project: &'a Path,
    /// The files, which lie below it.
    pub files: &'a [PathBuf],
    /// The purpose, for the snapshot.
    pub reason: &'a str,
    /// The time.
    pub now: SystemTime,
}

/// The result of adding files to the vault.
#[derive(Debug, Clone)]
pub struct AddedFiles {
    /// All files as they are now.
    pub snapshot: Snapshot,
    /// The facts of each file about its session, by the snapshot's path.
    pub facts: BTreeMap<String, ContentFacts>,
    /// Files that could not be copied, with the reason.
    pub flaws: Vec<GatherFlaw>,
    /// How many contents were not in the vault before.
    pub new: usize,
    /// False if the last snapshot of the directory says the same, and is the one meant here.
    pub changed: bool,
}

impl AddedFiles {
    /// The result for a directory that never had a session: nothing is written.
    fn without_sessions(request: &AddRequest<'_>) -> Self {
        Self {
            snapshot: Snapshot::new(request.project, request.reason, request.now, Vec::new()),
            facts: BTreeMap::new(),
            flaws: Vec::new(),
            new: 0,
            changed: false,
        }
    }
}

impl Vault {
    /// Adds files to the vault. Files that cannot be read are reported in `flaws`, the others are copied. If the vault itself
    /// cannot be written, nothing has changed.
    pub fn add(&self, request: &AddRequest<'_>) -> Result<AddedFiles, VaultError> {
        self.add_to_folder(request, cache_folder(request), None)
    }

    /// Adds files of another agent. Their paths tell their sessions, so no file has to fit into memory.
    pub(super) fn add_by_name(
        &self,
        request: &AddRequest<'_>,
        naming: FileNaming<'_>,
    ) -> Result<AddedFiles, VaultError> {
        self.add_to_folder(request, request.project.to_owned(), Some(naming))
    }

    fn add_to_folder(
        &self,
        request: &AddRequest<'_>,
        folder: PathBuf,
        naming: Option<FileNaming<'_>>,
    ) -> Result<AddedFiles, VaultError> {
        let cache = self.read_cache(&folder);
        if request.files.is_empty() && cache.snapshot.is_none() {
            return Ok(AddedFiles::without_sessions(request));
        }
        self.make_directories()?;
        let (_shared, held) = self.lock_shared()?;
        let mut intake = VaultIntake {
            vault: self,
            folder,
            request,
            naming,
            known: FileCache::default(),
            pending: Vec::new(),
            changing: Vec::new(),
            flaws: held.into_iter().collect(),
        };
        for path in request.files {
            intake.take_file(path, &cache)?;
        }
        intake.finish(cache)
    }
}

/// Files whose paths tell their sessions.
#[derive(Debug, Clone, Copy)]
pub(super) struct FileNaming<'a> {
    pub(super) source: &'a dyn VaultSource,
    /// The size that the contents of the vault may reach.
    pub(super) most_bytes: u64,
}

struct VaultIntake<'a> {
    vault: &'a Vault,
    folder: PathBuf,
    request: &'a AddRequest<'a>,
    naming: Option<FileNaming<'a>>,
    known: FileCache,
    pending: Vec<PendingBlob>,
    changing: Vec<String>,
    flaws: Vec<GatherFlaw>,
}

impl VaultIntake<'_> {
    fn take_file(&mut self, path: &Path, cache: &FileCache) -> Result<(), VaultError> {
        let name = relative_path(path, self.request.project);
        let unchanged = fs::symlink_metadata(path)
            .ok()
            .and_then(|about| cache.get(&name, &FileStat::from_metadata(&about)))
            .filter(|known| self.vault.has_blob(&known.sha256, known.stat.size));
        if let Some(known) = unchanged {
            self.known.files.insert(name, known.clone());
            return Ok(());
        }
        if !self.has_room_for(path) {
            // A copy of the file as it was counts more than none.
            let known = cache.files.get(&name);
            self.known
                .files
                .extend(known.map(|known| (name, known.clone())));
            self.add_flaw(path, FlawKind::NoRoom);
            return Ok(());
        }
        match self.vault.copy_in(path) {
            Ok(pending) => self.take_copy(name, path, pending),
            Err(CopyRefusal::Vault(error)) => Err(error),
            Err(CopyRefusal::NotAFile) => {
                self.add_flaw(path, FlawKind::Special);
                Ok(())
            }
            Err(CopyRefusal::Source(error)) => {
                self.add_flaw(path, flaw_kind(path, &error));
                Ok(())
            }
        }
    }

    /// Whether a copy of this file keeps the vault within its bound.
    fn has_room_for(&self, path: &Path) -> bool {
        let Some(naming) = &self.naming else {
            return true;
        };
        let size = fs::symlink_metadata(path).map_or(0, |about| about.len());
        let pending = self.pending.iter().map(|it| it.copied.size);
        let taken = pending.fold(self.vault.content_bytes(), u64::saturating_add);
        taken.saturating_add(size) <= naming.most_bytes
    }

    fn take_copy(
        &mut self,
        name: String,
        path: &Path,
        pending: PendingBlob,
    ) -> Result<(), VaultError> {
        let CopiedFile {
            sha256,
            size,
            stat,
            changing,
        } = pending.copied.clone();
        if changing {
            self.changing.push(name.clone());
        }
        let stat = stat.with_size(size);
        let facts = if let Some(naming) = &self.naming {
            naming.source.facts_of(path)
        } else {
            let temp = pending.temporary_path();
            ContentFacts::read(&fs::read(temp).at("read", temp)?)
        };
        let known = CachedContent {
            stat,
            sha256,
            facts,
        };
        self.known.files.insert(name, known);
        self.pending.push(pending);
        Ok(())
    }

    fn add_flaw(&mut self, path: &Path, kind: FlawKind) {
        let path = path.to_owned();
        self.flaws.push(GatherFlaw { path, kind });
    }

    /// Contents first, then the snapshot that names them, then the cache.
    fn finish(mut self, old: FileCache) -> Result<AddedFiles, VaultError> {
        let (vault, request) = (self.vault, self.request);
        let new = self.pending.len();
        vault.settle_blobs(std::mem::take(&mut self.pending))?;
        let files = self.snapshot_entries();
        let last = old.snapshot.and_then(|id| vault.snapshot(&id).ok());
        let is_last = |last: &&Snapshot| is_same(&last.files, &files);
        let same = last.as_ref().filter(is_last).cloned();
        let changed = same.is_none();
        let mut snapshot = same
            .unwrap_or_else(|| Snapshot::new(request.project, request.reason, request.now, files));
        if changed {
            snapshot.sequence = vault.next_sequence()?;
            vault.write_snapshot(&snapshot)?;
            fold_grown_files(vault, last.as_ref(), &snapshot);
            vault.remember_gone(&self.folder, last.as_ref(), &snapshot)?;
        }
        let facts = self.known.files.iter();
        let facts = facts.map(|(name, known)| (name.clone(), known.facts.clone()));
        let facts = facts.collect();
        if changed || new > 0 {
            self.known.snapshot = Some(snapshot.id.clone());
            for name in &self.changing {
                self.known.files.remove(name);
            }
            let known = self.known.without_unsettled(request.now);
            vault.write_cache(&self.folder, &known)?;
        }
        Ok(AddedFiles {
            snapshot,
            facts,
            flaws: self.flaws,
            new,
            changed,
        })
    }

    fn snapshot_entries(&self) -> Vec<SnapshotEntry> {
        let entry = |(name, known): (&String, &CachedContent)| SnapshotEntry {
            path: name.clone(),
            size: known.stat.size,
            mtime: stat::rfc3339_text(known.stat.modified_time()),
            sha256: known.sha256.clone(),
            session_id: known.facts.session_id.clone(),
            listed: known.facts.listed,
            changing: self.changing.contains(name),
            within: None,
        };
        self.known.files.iter().map(entry).collect()
    }
}

/// Keeps a content once if the file has only grown since the last snapshot.
fn fold_grown_files(vault: &Vault, last: Option<&Snapshot>, new: &Snapshot) {
    for old in last.iter().flat_map(|last| &last.files) {
        let found = new.files.binary_search_by(|it| it.path.cmp(&old.path));
        if let Ok(at) = found {
            // It saves room and nothing else.
            let _ = vault.fold_content(old, &new.files[at]);
        }
    }
}

/// The directory that is known as a whole: a project may have sessions in two, `chats` and its own.
fn cache_folder(request: &AddRequest<'_>) -> PathBuf {
    let below = |path: &PathBuf| {
        let mut parts = path.strip_prefix(request.project).ok()?.components();
        let first = parts.next()?;
        parts.next().map(|_| request.project.join(first))
    };
    let folder = request.files.first().and_then(below);
    folder.unwrap_or_else(|| request.project.to_owned())
}

fn is_same(a: &[SnapshotEntry], b: &[SnapshotEntry]) -> bool {
    let key = |entry: &SnapshotEntry| (entry.path.clone(), entry.sha256.clone(), entry.size);
    a.len() == b.len()
        && a.iter()
            .zip(b)
            .all(|(a, b)| key(a) == key(b) && a.within.is_none())
}

fn relative_path(path: &Path, project: &Path) -> String {
    let below = path.strip_prefix(project).unwrap_or(path);
    below.to_string_lossy().into_owned()
}

fn flaw_kind(path: &Path, error: &io::Error) -> FlawKind {
    match fs::symlink_metadata(path) {
        Ok(about) if about.is_symlink() => FlawKind::Symlink,
        Ok(about) if about.is_dir() => FlawKind::Directory,
        Err(_) if error.kind() == io::ErrorKind::NotFound => FlawKind::Gone,
        _ => FlawKind::Unreadable(error.to_string()),
    }
}
