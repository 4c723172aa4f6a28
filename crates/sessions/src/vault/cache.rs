//! Known contents of unchanged files. Losing the cache costs time and nothing else.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use serde::{Deserialize, Serialize};

use super::blobs::sha256_hex;
use super::stat::FileStat;
use super::{ContentFacts, Vault, VaultError};

/// The known contents of the files of one directory.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct FileCache {
    /// The last snapshot of the directory: a second one that says the same is not written.
    pub(super) snapshot: Option<String>,
    pub(super) files: BTreeMap<String, CachedContent>,
}

/// The part of a cache that says which snapshot was the last.
#[derive(Debug, Default, Deserialize)]
struct CacheHead {
    snapshot: Option<String>,
}

/// The content of a file, and the stat that it had then.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct CachedContent {
    pub(super) stat: FileStat,
    pub(super) sha256: String,
    pub(super) facts: ContentFacts,
}

impl FileCache {
    /// The content of a file, if its stat is still the same.
    pub(super) fn get(&self, path: &str, stat: &FileStat) -> Option<&CachedContent> {
        self.files.get(path).filter(|known| known.stat == *stat)
    }

    /// Drops files that may have changed again within the resolution of their time stamps.
    pub(super) fn without_unsettled(mut self, now: SystemTime) -> Self {
        self.files.retain(|_, known| known.stat.is_settled(now));
        self
    }
}

/// How many bytes of contents that nothing points at are hashed before a run.
const ROTA: u64 = 8 << 20;

impl Vault {
    /// Hashes the contents of one session, and of some others, in turn. Damaged ones are dropped from the cache, and so copied
    /// again.
    pub(super) fn recheck_contents(
        &self,
        folder: &Path,
        session: Option<&str>,
        now: SystemTime,
    ) -> Result<(), VaultError> {
        let mut cache = self.read_cache(folder);
        let damaged: Vec<String> = due_contents(&cache, session, now)
            .filter(|(_, known)| self.check(&known.sha256).is_err())
            .map(|(name, _)| name.clone())
            .collect();
        if damaged.is_empty() {
            return Ok(());
        }
        for name in &damaged {
            cache.files.remove(name);
        }
        self.write_cache(folder, &cache)
    }

    pub(super) fn cache_path(&self, folder: &Path) -> PathBuf {
        let name = sha256_hex(folder.to_string_lossy().as_bytes());
        self.caches_dir().join(format!("{}.json", &name[..16]))
    }

    /// The cache of a directory of sessions; empty if it cannot be read.
    pub(super) fn read_cache(&self, folder: &Path) -> FileCache {
        let bytes = fs::read(self.cache_path(folder)).unwrap_or_default();
        serde_json::from_slice(&bytes).unwrap_or_default()
    }

    /// The last snapshot of a directory of sessions, read without the entries of its files.
    pub(super) fn last_snapshot(&self, folder: &Path) -> Option<String> {
        let bytes = fs::read(self.cache_path(folder)).unwrap_or_default();
        serde_json::from_slice::<CacheHead>(&bytes).ok()?.snapshot
    }

    pub(super) fn write_cache(&self, folder: &Path, cache: &FileCache) -> Result<(), VaultError> {
        self.announce_step("write the cache");
        let bytes = serde_json::to_vec(cache).expect("its fields are text and numbers");
        self.write_whole(&self.cache_path(folder), &bytes)
    }
}

/// The contents to hash this time. The first of the others depends on the time, so that all have their turn.
fn due_contents<'c>(
    cache: &'c FileCache,
    session: Option<&str>,
    now: SystemTime,
) -> impl Iterator<Item = (&'c String, &'c CachedContent)> {
    let is_meant = move |known: &CachedContent| {
        session.is_some() && known.facts.session_id.as_deref() == session
    };
    let (meant, others): (Vec<_>, Vec<_>) = cache.files.iter().partition(|it| is_meant(it.1));
    let time = now
        .duration_since(SystemTime::UNIX_EPOCH)
        .unwrap_or_default();
    let count = u64::try_from(others.len().max(1)).unwrap_or(1);
    let first = usize::try_from(time.as_secs() % count).unwrap_or(0);
    let mut left = ROTA;
    let in_turn = others
        .into_iter()
        .cycle()
        .skip(first)
        .take(cache.files.len() - meant.len());
    let some = in_turn.take_while(move |(_, known)| {
        let fits = known.stat.size <= left;
        left = left.saturating_sub(known.stat.size);
        fits
    });
    let some: Vec<_> = some.collect();
    meant.into_iter().chain(some)
}
