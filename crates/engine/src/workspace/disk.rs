//! Opening and replacing files at a place, without following a link.

#[cfg(not(unix))]
#[path = "disk/other.rs"]
mod system;
#[cfg(unix)]
#[path = "disk/unix.rs"]
mod system;

use std::io;
use std::sync::atomic::{AtomicU64, Ordering};

pub(super) use system::{open, replace};

/// A name for a file that is about to replace another. It contains our name and process id, should the file ever be left behind.
fn draft_name() -> String {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    format!(".lapidary-{}-{count}.new", std::process::id())
}

fn no_file() -> io::Error {
    let words = "it is not a regular file";
    io::Error::new(io::ErrorKind::InvalidInput, words)
}
