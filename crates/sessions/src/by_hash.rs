//! Maps and sets whose keys are hashes: these are not hashed again.

use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasherDefault, DefaultHasher, Hash, Hasher};

/// Values by the hash of an id.
pub(crate) type ByHash<V> = HashMap<u64, V, BuildHasherDefault<AsIs>>;

/// Hashes of ids.
pub(crate) type HashedIds = HashSet<u64, BuildHasherDefault<AsIs>>;

/// A hasher for keys that are hashes already.
#[derive(Debug, Default)]
pub(crate) struct AsIs(u64);

impl Hasher for AsIs {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = self.0.rotate_left(8) ^ u64::from(*byte);
        }
    }

    fn write_u64(&mut self, hash: u64) {
        self.0 = hash;
    }
}

/// Not the id itself: files have many, and each is only ever compared.
pub(crate) fn hash(id: impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    id.hash(&mut hasher);
    hasher.finish()
}
