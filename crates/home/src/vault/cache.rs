//! What an unchanged file was known to hold. Losing it costs time and nothing else.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use serde::{Deserialize, Serialize};

use super::blobs::sha256;
use super::stat::Stat;
use super::{Facts, Vault, VaultError};

/// What is known of the files of one directory.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Cache {
    /// The last snapshot of the directory: a second one that says the same is not written.
    pub(super) snapshot: Option<String>,
    pub(super) files: BTreeMap<String, Known>,
}

/// What a file held when it looked like that.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Known {
    pub(super) stat: Stat,
    pub(super) sha256: String,
    pub(super) facts: Facts,
}

impl Cache {
    /// What is known of a file that looks like this now.
    pub(super) fn get(&self, path: &str, stat: &Stat) -> Option<&Known> {
        self.files.get(path).filter(|known| known.stat == *stat)
    }

    /// Remembers only what cannot have changed again in the same moment.
    pub(super) fn settled(mut self, now: SystemTime) -> Self {
        self.files.retain(|_, known| known.stat.is_settled(now));
        self
    }
}

impl Vault {
    fn cache_path(&self, folder: &Path) -> PathBuf {
        let name = sha256(folder.to_string_lossy().as_bytes());
        self.caches().join(format!("{}.json", &name[..16]))
    }

    /// What is known of a directory of sessions; nothing if that cannot be read.
    pub(super) fn cache(&self, folder: &Path) -> Cache {
        let bytes = fs::read(self.cache_path(folder)).unwrap_or_default();
        serde_json::from_slice(&bytes).unwrap_or_default()
    }

    pub(super) fn write_cache(&self, folder: &Path, cache: &Cache) -> Result<(), VaultError> {
        self.step("write the cache");
        let bytes = serde_json::to_vec(cache).expect("its fields are text and numbers");
        self.write_whole(&self.cache_path(folder), &bytes)
    }
}
