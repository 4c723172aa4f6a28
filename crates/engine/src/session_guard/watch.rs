//! Watching directories of sessions while a run lasts: each session file that is written to is held, and a conversation that
//! another start of Gemini CLI deletes gets its name back at once.

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, SystemTime};

use lapidary_sessions::vault::SessionHolding;

/// How often directories are looked at where the system does not tell, or that are not there yet.
const TICK: Duration = Duration::from_millis(20);

/// A thread that watches until it is stopped.
#[derive(Debug)]
pub(super) struct GuardThread {
    stop: StopSender,
    thread: JoinHandle<Vec<PathBuf>>,
}

impl GuardThread {
    /// Begins to watch. None if there is nothing to watch, or no thread for it.
    pub(super) fn start(holdings: Vec<SessionHolding>) -> Option<Self> {
        if holdings.is_empty() {
            return None;
        }
        let (stop, stopped) = stop_channel()?;
        let work = move || {
            let mut watcher = HoldingWatcher::new(holdings);
            while !stopped.is_set() {
                watcher.step(&stopped);
            }
            watcher.take_in();
            watcher.restored.into_iter().collect()
        };
        let thread = thread::Builder::new().name("sessions".to_owned());
        let thread = thread.spawn(work).ok()?;
        Some(Self { stop, thread })
    }

    /// Stops, and returns the files that were deleted meanwhile and got their names back.
    pub(super) fn finish(self) -> Vec<PathBuf> {
        drop(self.stop);
        self.thread.join().unwrap_or_default()
    }
}

struct HoldingWatcher {
    holdings: Vec<SessionHolding>,
    restored: BTreeSet<PathBuf>,
    #[cfg(target_os = "linux")]
    events: Option<inotify::ChatEvents>,
}

impl HoldingWatcher {
    fn new(holdings: Vec<SessionHolding>) -> Self {
        let mut watcher = Self {
            holdings,
            restored: BTreeSet::new(),
            #[cfg(target_os = "linux")]
            events: inotify::ChatEvents::new().ok(),
        };
        watcher.watch();
        watcher
    }

    /// Checks all files, also files that are older than their watch, or whose events were lost.
    fn check_files(&mut self) {
        let now = SystemTime::now();
        for holding in &self.holdings {
            // A file system without hard links was reported before the run.
            let _ = holding.hold_recent(now);
        }
        self.restore_files();
    }

    fn restore_files(&mut self) {
        for holding in &self.holdings {
            self.restored.extend(holding.restore(SystemTime::now()));
        }
    }

    /// Waits for a change of the session files, and handles it.
    #[cfg(target_os = "linux")]
    fn step(&mut self, stopped: &StopReceiver) {
        let is_complete = self.watch();
        let timeout = (!is_complete).then_some(TICK);
        match &self.events {
            Some(events) => stopped.wait(Some(events), timeout),
            None => stopped.wait(None, Some(TICK)),
        }
        self.take_in();
    }

    /// Handles the changes so far.
    #[cfg(target_os = "linux")]
    fn take_in(&mut self) {
        let seen = self.events.as_mut().map(inotify::ChatEvents::read);
        let Some(Ok(seen)) = seen else {
            self.events = None;
            return self.check_files();
        };
        if seen.is_incomplete {
            self.check_files();
        }
        for path in &seen.changed {
            self.hold_file(path);
        }
        if seen.is_deleted {
            self.restore_files();
        }
    }

    #[cfg(not(target_os = "linux"))]
    fn step(&mut self, stopped: &StopReceiver) {
        stopped.wait(TICK);
        self.take_in();
    }

    #[cfg(not(target_os = "linux"))]
    fn take_in(&mut self) {
        self.look();
    }

    #[cfg(target_os = "linux")]
    fn hold_file(&self, path: &Path) {
        for holding in &self.holdings {
            if path.starts_with(holding.chats()) {
                let _ = holding.hold(path);
            }
        }
    }

    /// Watches directories that are not watched yet. False if one is not there.
    #[cfg(target_os = "linux")]
    fn watch(&mut self) -> bool {
        let Some(events) = &mut self.events else {
            return true;
        };
        let mut is_complete = true;
        let mut new = Vec::new();
        for holding in &self.holdings {
            let chats = holding.chats();
            if events.is_watched(chats) {
                continue;
            }
            match events.watch(chats) {
                Ok(()) => new.push(holding.clone()),
                Err(error) if error.kind() == io::ErrorKind::NotFound => is_complete = false,
                // The system allows only so many watches.
                Err(_) => {
                    self.events = None;
                    return true;
                }
            }
        }
        for holding in new {
            let _ = holding.hold_recent(SystemTime::now());
        }
        is_complete
    }

    #[cfg(not(target_os = "linux"))]
    fn watch(&mut self) {}
}

#[cfg(target_os = "linux")]
use linux::{StopReceiver, StopSender, stop_channel};

/// A pipe ends the thread: it waits for that and for events at once.
#[cfg(target_os = "linux")]
mod linux {
    use std::io::{PipeReader, PipeWriter};

    use rustix::event::{PollFd, PollFlags, Timespec, poll};

    use super::{Arc, AtomicBool, Duration, Ordering, inotify};

    /// Ends the thread when it is dropped.
    #[derive(Debug)]
    pub(super) struct StopSender(
        Arc<AtomicBool>,
        #[expect(dead_code, reason = "closing it wakes the thread")] PipeWriter,
    );

    pub(super) struct StopReceiver(Arc<AtomicBool>, PipeReader);

    pub(super) fn stop_channel() -> Option<(StopSender, StopReceiver)> {
        let (reader, writer) = std::io::pipe().ok()?;
        let flag = Arc::new(AtomicBool::new(false));
        Some((
            StopSender(Arc::clone(&flag), writer),
            StopReceiver(flag, reader),
        ))
    }

    impl Drop for StopSender {
        fn drop(&mut self) {
            self.0.store(true, Ordering::SeqCst);
        }
    }

    impl StopReceiver {
        pub(super) fn is_set(&self) -> bool {
            self.0.load(Ordering::SeqCst)
        }

        pub(super) fn wait(&self, events: Option<&inotify::ChatEvents>, timeout: Option<Duration>) {
            let mut fds = vec![PollFd::new(&self.1, PollFlags::IN)];
            if let Some(events) = events {
                fds.push(PollFd::new(events.fd(), PollFlags::IN));
            }
            let timeout = timeout.and_then(|it| Timespec::try_from(it).ok());
            let _ = poll(&mut fds, timeout.as_ref());
        }
    }
}

#[cfg(not(target_os = "linux"))]
struct StopReceiver(Arc<AtomicBool>);

#[cfg(not(target_os = "linux"))]
#[derive(Debug)]
struct StopSender(Arc<AtomicBool>);

#[cfg(not(target_os = "linux"))]
fn stop_channel() -> Option<(StopSender, StopReceiver)> {
    let flag = Arc::new(AtomicBool::new(false));
    Some((StopSender(Arc::clone(&flag)), StopReceiver(flag)))
}

#[cfg(not(target_os = "linux"))]
impl Drop for StopSender {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

#[cfg(not(target_os = "linux"))]
impl StopReceiver {
    fn is_set(&self) -> bool {
        self.0.load(Ordering::SeqCst)
    }

    fn wait(&self, timeout: Duration) {
        thread::park_timeout(timeout);
    }
}

#[cfg(target_os = "linux")]
mod inotify {
    use std::collections::HashMap;
    use std::ffi::OsStr;
    use std::io;
    use std::mem::MaybeUninit;
    use std::os::fd::OwnedFd;
    use std::os::unix::ffi::OsStrExt as _;

    use rustix::fs::inotify::{CreateFlags, ReadFlags, Reader, WatchFlags, add_watch, init};
    use rustix::io::Errno;

    use super::{Path, PathBuf};

    /// The watched directories, and the directories of subagents below them.
    pub(super) struct ChatEvents {
        fd: OwnedFd,
        watched: HashMap<i32, WatchedDir>,
    }

    #[derive(Clone)]
    struct WatchedDir {
        folder: PathBuf,
        is_below: bool,
    }

    /// The changes that were read.
    #[derive(Default)]
    pub(super) struct SeenChanges {
        /// Files that were made, renamed or appended to.
        pub(super) changed: Vec<PathBuf>,
        pub(super) is_deleted: bool,
        /// Events were dropped, or a directory was made and may have had files before it was watched.
        pub(super) is_incomplete: bool,
    }

    impl ChatEvents {
        pub(super) fn new() -> io::Result<Self> {
            Ok(Self {
                fd: init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK)?,
                watched: HashMap::new(),
            })
        }

        pub(super) fn fd(&self) -> &OwnedFd {
            &self.fd
        }

        pub(super) fn is_watched(&self, folder: &Path) -> bool {
            self.watched.values().any(|it| it.folder == folder)
        }

        /// Watches a directory of sessions and the directories in it.
        pub(super) fn watch(&mut self, chats: &Path) -> io::Result<()> {
            self.add(chats, false)?;
            for entry in chats.read_dir()?.flatten() {
                if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                    let _ = self.add(&entry.path(), true);
                }
            }
            Ok(())
        }

        fn add(&mut self, folder: &Path, is_below: bool) -> io::Result<()> {
            let flags = WatchFlags::CREATE
                | WatchFlags::MODIFY
                | WatchFlags::MOVED_TO
                | WatchFlags::DELETE
                | WatchFlags::ONLYDIR;
            let number = add_watch(&self.fd, folder, flags)?;
            let folder = folder.to_owned();
            self.watched.insert(number, WatchedDir { folder, is_below });
            Ok(())
        }

        /// Takes all events that have come.
        pub(super) fn read(&mut self) -> io::Result<SeenChanges> {
            let mut seen = SeenChanges::default();
            let mut folders = Vec::new();
            let mut ended = Vec::new();
            let mut buffer = [MaybeUninit::uninit(); 8192];
            let mut reader = Reader::new(&self.fd, &mut buffer);
            loop {
                let event = match reader.next() {
                    Ok(event) => event,
                    Err(Errno::AGAIN) => break,
                    Err(Errno::INTR) => continue,
                    Err(error) => return Err(error.into()),
                };
                let kind = event.events();
                if kind.contains(ReadFlags::QUEUE_OVERFLOW) {
                    seen.is_incomplete = true;
                }
                if kind.contains(ReadFlags::IGNORED) {
                    ended.push(event.wd());
                }
                let (Some(watched), Some(name)) =
                    (self.watched.get(&event.wd()), event.file_name())
                else {
                    continue;
                };
                let path = watched.folder.join(OsStr::from_bytes(name.to_bytes()));
                if kind.contains(ReadFlags::ISDIR) {
                    let is_new = kind.intersects(ReadFlags::CREATE | ReadFlags::MOVED_TO);
                    folders.extend((is_new && !watched.is_below).then_some(path));
                } else if kind.contains(ReadFlags::DELETE) {
                    seen.is_deleted = true;
                } else if seen.changed.last() != Some(&path) {
                    seen.changed.push(path);
                }
            }
            // A directory that was removed is watched again once it is there again.
            for number in ended {
                self.watched.remove(&number);
            }
            for folder in folders {
                seen.is_incomplete |= self.add(&folder, true).is_ok();
            }
            Ok(seen)
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use lapidary_sessions::vault::{Guard, GuardRequest, Vault};
    use lapidary_testkit::patience::wait_until;

    use super::*;

    const SESSION: &str = concat!(
        r#"{"sessionId":"aaaaaaaa-1","projectHash":"p","kind":"main"}"#,
        "\n",
        r#"{"id":"u","type":"user","content":[{"text":"question"}]}"#,
        "\n"
    );

    fn guard(root: &Path) -> Guard {
        let request = GuardRequest {
            chats: vec![root.join("project/chats")],
            now: SystemTime::now(),
            resume: None,
            retention: None,
        };
        Guard::before(&Vault::open(root.join("vault")), request).unwrap()
    }

    /// The directory is made after the run has begun, as in a project in which the CLI was never started.
    #[test]
    fn a_conversation_that_is_deleted_during_a_run_is_back_at_once() {
        let root = tempfile::tempdir().unwrap();
        let guard = guard(root.path());
        let watch = GuardThread::start(guard.holdings()).unwrap();
        let chats = root.path().join("project/chats");
        fs::create_dir_all(chats.join("aaaaaaaa-1")).unwrap();
        let files = [
            "session-2026-01-01T00-00-aaaaaaaa.jsonl",
            "aaaaaaaa-1/agent.jsonl",
        ];
        let files = files.map(|name| chats.join(name));
        for file in &files {
            fs::write(file, SESSION).unwrap();
        }
        let held = root.path().join("project/.lapidary-held");
        wait_until("both are held", || {
            let names = fs::read_dir(&held).into_iter().flatten().flatten();
            let names = names.map(|entry| entry.file_name());
            names.filter(|name| name != "lock").count() == 2
        });
        for file in &files {
            fs::remove_file(file).unwrap();
        }
        wait_until("both are back", || files.iter().all(|file| file.exists()));
        let mut back = files.to_vec();
        back.sort();
        assert_eq!(watch.finish(), back);
        guard.after(SystemTime::now()).unwrap();
        assert!(!held.exists());
        assert_eq!(fs::read_to_string(&files[0]).unwrap(), SESSION);
    }

    #[test]
    fn a_watch_that_is_dropped_ends_its_thread() {
        let root = tempfile::tempdir().unwrap();
        let guard = guard(root.path());
        let GuardThread { stop, thread } = GuardThread::start(guard.holdings()).unwrap();
        drop(stop);
        assert_eq!(thread.join().unwrap(), [] as [PathBuf; 0]);
    }
}
