//! Ids of runs.

use std::hash::{BuildHasher as _, RandomState};

/// An id for a run that sorts by time and meets no other.
pub fn fresh_run() -> String {
    let time = jiff::Timestamp::now().strftime("%Y%m%dT%H%M%S");
    let chance = RandomState::new().hash_one(std::process::id());
    format!("{time}-{:08x}", chance & 0xffff_ffff)
}
