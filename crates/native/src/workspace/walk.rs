//! Every file below a directory, by several threads, without following a link.
//!
//! Each directory is opened below the first one in a way that follows no link, so that a directory that becomes a link while the walk
//! goes on is skipped instead of followed.

use std::collections::VecDeque;
use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;

use tokio_util::sync::CancellationToken;

use super::disk::{EntryKind, FileStat, OpenDirectory};

/// More threads do not help: the walk waits for the kernel, not for us.
const MOST_THREADS: usize = 8;
/// The entries of one directory that are looked at.
const MOST_ENTRIES: usize = 1_000_000;

/// An entry that a walk came by.
#[derive(Debug)]
pub(crate) struct WalkedEntry<'a> {
    directory: &'a OpenDirectory,
    /// The path of the directory, below the one where the walk began.
    directory_path: &'a Path,
    file_name: &'a OsStr,
    /// The same as text.
    pub(crate) name: &'a str,
}

impl WalkedEntry<'_> {
    /// The path below the directory where the walk began. Made when it is asked for: most files are left out by their name.
    pub(crate) fn relative_path(&self) -> PathBuf {
        self.directory_path.join(self.file_name)
    }

    /// Opens the file to read it.
    pub(crate) fn open(&self) -> io::Result<std::fs::File> {
        self.directory.open_file(self.file_name)
    }

    /// Its kind, size and write time, without opening it.
    pub(crate) fn file_stat(&self) -> io::Result<FileStat> {
        self.directory.stat(self.file_name)
    }
}

/// A visitor of files. The state of a directory is passed on to the entries in it.
pub(crate) trait Visitor: Sync {
    /// The visitor's data about a directory.
    type State: Send + Sync;

    /// A directory in one with this state: returns its own state, or none if it is skipped.
    fn directory(&self, above: &Self::State, name: &str, relative: &Path) -> Option<Self::State>;

    /// A regular file in a directory with this state.
    fn file(&self, state: &Self::State, entry: &WalkedEntry<'_>);
}

struct Queue<S> {
    waiting: VecDeque<(PathBuf, S)>,
    /// Directories that a thread is at: more may come of them.
    busy: usize,
}

/// Walks until every directory was seen, or the call is cancelled. Entries come in no order.
pub(crate) fn walk_tree<V: Visitor>(
    root: &Path,
    visitor: &V,
    first: V::State,
    cancelled: &CancellationToken,
) -> io::Result<()> {
    let top = OpenDirectory::open(root)?;
    let queue = Mutex::new(Queue {
        waiting: VecDeque::from([(PathBuf::new(), first)]),
        busy: 0,
    });
    let changed = Condvar::new();
    let threads = thread::available_parallelism()
        .map_or(1, usize::from)
        .min(MOST_THREADS);
    let work = || {
        while let Some((relative, state)) = next(&queue, &changed) {
            let below = if cancelled.is_cancelled() {
                Vec::new()
            } else {
                visit_directory(&top, &relative, &state, visitor)
            };
            let mut queue = lock_queue(&queue);
            queue.busy -= 1;
            queue.waiting.extend(below);
            drop(queue);
            changed.notify_all();
        }
    };
    thread::scope(|scope| {
        for _ in 1..threads {
            scope.spawn(work);
        }
        work();
    });
    Ok(())
}

/// The next directory, once there is one. None when no thread can find more.
fn next<S>(queue: &Mutex<Queue<S>>, changed: &Condvar) -> Option<(PathBuf, S)> {
    let mut queue = lock_queue(queue);
    loop {
        if let Some(directory) = queue.waiting.pop_back() {
            queue.busy += 1;
            return Some(directory);
        }
        if queue.busy == 0 {
            return None;
        }
        queue = changed.wait(queue).unwrap_or_else(PoisonError::into_inner);
    }
}

fn lock_queue<S>(queue: &Mutex<Queue<S>>) -> MutexGuard<'_, Queue<S>> {
    queue.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Shows the entries of one directory to the visitor, and returns the directories in it. One that cannot be read has none.
fn visit_directory<V: Visitor>(
    top: &OpenDirectory,
    relative: &Path,
    state: &V::State,
    visitor: &V,
) -> Vec<(PathBuf, V::State)> {
    let mut below = Vec::new();
    let Ok((directory, entries)) = top.list(relative, MOST_ENTRIES) else {
        return below;
    };
    for entry in entries {
        let name = entry.name.to_string_lossy();
        match entry.kind {
            EntryKind::Directory => {
                let path = relative.join(&entry.name);
                let state = visitor.directory(state, &name, &path);
                below.extend(state.map(|state| (path, state)));
            }
            EntryKind::File => visitor.file(
                state,
                &WalkedEntry {
                    directory: &directory,
                    directory_path: relative,
                    file_name: &entry.name,
                    name: &name,
                },
            ),
            EntryKind::Link | EntryKind::Special => {}
        }
    }
    below
}
