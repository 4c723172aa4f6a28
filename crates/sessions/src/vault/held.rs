//! Session files that a second name keeps alive while runs last.
//!
//! Gemini CLI opens its session file by path for each line that it appends (0.61), and any other start of the CLI may delete that
//! path in between. The vault's copies have the lines from before a run, not those appended since. So a session file that is
//! written to during a run gets a hard link in a directory of ours beside `chats`, which the CLI does not read:
//!
//! ```text
//! <project>/.lapidary-held/<inode>+session-2026-11-16T04-40-aaaaaaaa.jsonl
//! <project>/.lapidary-held/<inode>+<parent session>+<subagent>.jsonl
//! ```
//!
//! A held file that has no other name left was deleted or replaced. Nothing about it has to be remembered, so that a process that is
//! killed leaves everything to the next one. Links are removed when no run is under way and their lines are in the session again.

use std::collections::HashMap;
use std::fs::{self, File, Metadata};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use super::blobs::sha256_hex;
use super::guard::lock::wait;
use super::replay::{LogReplay, ReadingDepth, lossy_utf8};
use super::runs::RunLock;
use super::{ContentFacts, RemovedItem, RetentionSettings, Vault, guard, session_files, stat};
use crate::names;

const FOLDER: &str = ".lapidary-held";

/// The file in that directory that runs under way have locked.
const LOCK: &str = "lock";

/// How the names of claims end.
const CLAIM: &str = ".claim";

/// How often a lock is opened that others remove meanwhile.
const TRIES: usize = 8;

/// Separates the parts of a link's name. The CLI does not use it in the names of files.
const SEPARATOR: char = '+';

/// A file that was written to so recently may belong to a CLI that is still open.
const RECENT: Duration = Duration::from_hours(1);

/// The held files of one directory of sessions.
#[derive(Debug, Clone)]
pub(super) struct HeldFiles {
    chats: PathBuf,
    folder: PathBuf,
}

/// A session file with a second name.
#[derive(Debug, Clone)]
pub(super) struct HeldFile {
    /// Our name.
    pub(super) link: PathBuf,
    /// The name that the CLI has for it.
    pub(super) path: PathBuf,
    /// When it was last appended to.
    pub(super) modified: SystemTime,
    /// True if only our names are left.
    pub(super) is_gone: bool,
    /// The directory of the project.
    project: PathBuf,
}

impl HeldFiles {
    pub(super) fn open(chats: &Path) -> Self {
        Self {
            folder: guard::project_of(chats).join(FOLDER),
            chats: chats.to_owned(),
        }
    }

    /// A directory of the project that is a link. An agent can put one there, and nothing is held, moved or put back through it.
    pub(super) fn link_on_the_way(&self) -> Option<&Path> {
        let project = guard::project_of(&self.chats);
        let mut directories = [project, self.chats.as_path(), self.folder.as_path()].into_iter();
        directories.find(|directory| directory.is_symlink())
    }

    /// Gives a session file a second name. Other files, and files that are gone by now, are left alone.
    pub(super) fn hold_file(&self, path: &Path) -> io::Result<()> {
        if self.link_on_the_way().is_some() {
            return Ok(());
        }
        let (Some(name), Ok(about)) = (self.name_of(path), path.symlink_metadata()) else {
            return Ok(());
        };
        let (inode, _) = identity(&about);
        if inode == 0 || !about.is_file() {
            return Ok(());
        }
        let link = self.folder.join(format!("{inode}{SEPARATOR}{name}"));
        let linked = match fs::hard_link(path, &link) {
            Err(error) if error.kind() == ErrorKind::NotFound && !self.folder.is_dir() => {
                self.make_folder()?;
                fs::hard_link(path, &link)
            }
            linked => linked,
        };
        match linked {
            Ok(()) => self.check_name(&link, inode, &name),
            Err(error)
                if matches!(error.kind(), ErrorKind::AlreadyExists | ErrorKind::NotFound) =>
            {
                Ok(())
            }
            Err(error) => Err(error),
        }
    }

    /// Another file may have got the path between the look at it and the link.
    fn check_name(&self, link: &Path, inode: u64, name: &str) -> io::Result<()> {
        let (linked, _) = identity(&link.symlink_metadata()?);
        if linked == inode {
            return Ok(());
        }
        fs::rename(link, self.folder.join(format!("{linked}{SEPARATOR}{name}")))
    }

    /// Holds files that may be written to: recently changed files, and `named`.
    pub(super) fn hold_recent(&self, named: &[PathBuf], now: SystemTime) -> io::Result<()> {
        for path in session_files(&self.chats).0 {
            let modified = path.metadata().and_then(|about| about.modified());
            let age = modified.map(|time| now.duration_since(time).unwrap_or_default());
            if named.contains(&path) || age.is_ok_and(|age| age < RECENT) {
                self.hold_file(&path)?;
            }
        }
        Ok(())
    }

    /// Follows a file that was renamed.
    pub(super) fn follow_rename(&self, from: &Path, to: &Path) {
        if let (Ok(about), Some(name)) = (to.symlink_metadata(), self.name_of(from)) {
            let (inode, _) = identity(&about);
            let old = self.folder.join(format!("{inode}{SEPARATOR}{name}"));
            if old.exists() && self.hold_file(to).is_ok() {
                let _ = fs::remove_file(old);
            }
        }
    }

    /// All held files, in the order in which they were last appended to.
    pub(super) fn held_files(&self) -> Vec<HeldFile> {
        let entries = match self.link_on_the_way() {
            Some(_) => return Vec::new(),
            None => fs::read_dir(&self.folder),
        };
        let Ok(entries) = entries else {
            return Vec::new();
        };
        let mut found = Vec::new();
        let mut links: HashMap<u64, u64> = HashMap::new();
        for entry in entries.flatten() {
            let Some((path, about)) = self.path_of(&entry) else {
                continue;
            };
            let (inode, names) = identity(&about);
            *links.entry(inode).or_default() += 1;
            found.push((entry.path(), path, about, inode, names));
        }
        let mut files: Vec<_> = found
            .into_iter()
            .map(|(link, path, about, inode, names)| HeldFile {
                link,
                path,
                modified: about.modified().unwrap_or(SystemTime::UNIX_EPOCH),
                is_gone: names <= links[&inode],
                project: guard::project_of(&self.chats).to_owned(),
            })
            .collect();
        files.sort_by(|a, b| (a.modified, &a.link).cmp(&(b.modified, &b.link)));
        files
    }

    fn path_of(&self, entry: &fs::DirEntry) -> Option<(PathBuf, Metadata)> {
        let name = entry.file_name().into_string().ok()?;
        let (_, below) = name.split_once(SEPARATOR)?;
        let path = match below.split_once(SEPARATOR) {
            Some((parent, name)) => self.chats.join(parent).join(name),
            None => self.chats.join(below),
        };
        // An agent can make files here, too.
        self.name_of(&path).filter(|own| own == below)?;
        let about = entry.metadata().ok().filter(Metadata::is_file)?;
        Some((path, about))
    }

    /// The name of a session file below its directory, as part of a link's name.
    fn name_of(&self, path: &Path) -> Option<String> {
        let below = path.strip_prefix(&self.chats).ok()?;
        let parts: Vec<&str> = below.iter().map(|it| it.to_str()).collect::<Option<_>>()?;
        let is_session = match parts[..] {
            [name] => names::is_session(name),
            [_, name] => names::session_stem(name).is_some(),
            _ => false,
        };
        let is_plain = |part: &&str| !part.contains(SEPARATOR) && !matches!(*part, "." | "..");
        let is_plain = parts.iter().all(is_plain);
        (is_session && is_plain).then(|| parts.join(&SEPARATOR.to_string()))
    }

    /// Says that a run is under way, as long as the file is open. Runs may have different vaults, but they share this directory. None
    /// in a project that the CLI has not made yet, which has nothing to share.
    pub(super) fn join_run(&self, patience: Duration) -> Option<File> {
        if !self.has_project() {
            return None;
        }
        let path = self.folder.join(LOCK);
        for _ in 0..TRIES {
            self.make_folder().ok()?;
            let mut options = File::options();
            options.create(true).truncate(false).write(true);
            let Ok(lock) = options.open(&path) else {
                continue;
            };
            wait(patience, || lock.try_lock_shared()).ok()?;
            // The last run removes it: then there is another one by now.
            if is_same(&lock, &path) {
                return Some(lock);
            }
        }
        None
    }

    /// The right to release held files: the lock, or an empty list if there is no lock file. `None` while a run is under way.
    pub(super) fn lock_for_release(&self) -> Option<Vec<File>> {
        let Ok(lock) = File::options().write(true).open(self.folder.join(LOCK)) else {
            return Some(Vec::new());
        };
        lock.try_lock().ok()?;
        Some(vec![lock])
    }

    /// Removes the directory if nothing is held in it. To be called by its owner.
    pub(super) fn remove_if_empty(&self) {
        if self.held_files().is_empty() {
            self.remove_stale_claims();
            let _ = fs::remove_file(self.folder.join(LOCK));
            let _ = fs::remove_dir(&self.folder);
        }
    }

    /// Claims of killed processes.
    fn remove_stale_claims(&self) {
        for entry in fs::read_dir(&self.folder).into_iter().flatten().flatten() {
            let path = entry.path();
            let is_claim = entry.file_name().to_string_lossy().ends_with(CLAIM);
            if !is_claim {
                continue;
            }
            if let Ok(claim) = File::options().write(true).open(&path)
                && claim.try_lock().is_ok()
            {
                let _ = fs::remove_file(&path);
            }
        }
    }

    /// Where a run says that it continues a session.
    pub(super) fn claim_path(&self, session: &str) -> PathBuf {
        let name = &sha256_hex(session.as_bytes())[..16];
        self.folder.join(format!("{name}{CLAIM}"))
    }

    /// False in a project that the CLI has not made yet.
    pub(super) fn has_project(&self) -> bool {
        guard::project_of(&self.chats).is_dir()
    }

    pub(super) fn make_folder(&self) -> io::Result<()> {
        let mut builder = fs::DirBuilder::new();
        builder.recursive(true);
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        builder.create(&self.folder)
    }
}

impl HeldFile {
    pub(super) fn read(&self) -> io::Result<Vec<u8>> {
        fs::read(&self.link)
    }

    pub(super) fn remove_link(&self) {
        let _ = fs::remove_file(&self.link);
    }

    /// Gives a deleted file its name again: the same file, so that a CLI that is still open goes on in it. False if the name is
    /// taken.
    pub(super) fn link_back(&self) -> io::Result<bool> {
        match self.link_to_name() {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// The agent is at work meanwhile: a link that it puts in the place of a directory is not followed.
    #[cfg(unix)]
    fn link_to_name(&self) -> io::Result<()> {
        use rustix::fs::{AtFlags, CWD, linkat};
        let name = self.path.file_name().unwrap_or_default();
        let folder = self.path.parent().unwrap_or(&self.project);
        let folder = open_below(&self.project, folder)?;
        Ok(linkat(CWD, &self.link, &folder, name, AtFlags::empty())?)
    }

    #[cfg(not(unix))]
    fn link_to_name(&self) -> io::Result<()> {
        fs::create_dir_all(self.path.parent().unwrap_or(&self.project))?;
        fs::hard_link(&self.link, &self.path)
    }
}

/// Opens a directory of a project, and makes it if it is missing. Neither it nor one above it, up to the project's own, may be a link.
#[cfg(unix)]
fn open_below(project: &Path, folder: &Path) -> io::Result<std::os::fd::OwnedFd> {
    use rustix::fs::{CWD, Mode, OFlags, mkdirat, openat};
    let flags = OFlags::DIRECTORY | OFlags::CLOEXEC;
    let above = project.parent().unwrap_or(Path::new("/"));
    let below = folder.strip_prefix(above);
    let below = below.map_err(|_| io::Error::from(ErrorKind::InvalidInput))?;
    let mut at = openat(CWD, above, flags, Mode::empty())?;
    for part in below {
        match mkdirat(&at, part, Mode::RWXU) {
            Ok(()) | Err(rustix::io::Errno::EXIST) => {}
            Err(error) => return Err(error.into()),
        }
        at = openat(&at, part, flags | OFlags::NOFOLLOW, Mode::empty())?;
    }
    Ok(at)
}

/// Keeps the session files of one directory alive while a run lasts. [`Guard::holdings`](super::Guard::holdings) makes it; the
/// caller reports the file events of the directory to it.
#[derive(Debug, Clone)]
pub struct SessionHolding {
    pub(super) held: HeldFiles,
    pub(super) vault: Vault,
    /// When the run began: sessions that were removed on purpose since stay removed.
    pub(super) since: SystemTime,
    /// The retention by which the CLI deletes sessions.
    pub(super) retention: Option<RetentionSettings>,
    pub(super) run: RunLock,
}

impl SessionHolding {
    /// The directory. It may not exist yet.
    pub fn chats(&self) -> &Path {
        &self.held.chats
    }

    /// To be called when a file was made, renamed or appended to. An error means that the file system has no hard links.
    pub fn hold(&self, path: &Path) -> io::Result<()> {
        self.prevent_release();
        self.held.hold_file(path)
    }

    /// Holds every file of the directory that was written to lately. To be called first, and when events were missed.
    pub fn hold_recent(&self, now: SystemTime) -> io::Result<()> {
        self.prevent_release();
        self.held.hold_recent(&[], now)
    }

    /// Keeps other runs from releasing held files from now on.
    fn prevent_release(&self) {
        self.run.join_run(&self.held, self.vault.patience);
    }

    /// Gives held conversations that were deleted their names again, and says which. To be called when a file was deleted.
    pub fn restore(&self, now: SystemTime) -> Vec<PathBuf> {
        let retention = self.retention.unwrap_or_default();
        // Which sessions are too many is looked at after the run.
        if retention.max_count.is_some() {
            return Vec::new();
        }
        let oldest = retention.max_age.and_then(|age| now.checked_sub(age));
        let files = self.held.held_files().into_iter();
        let deleted = files.filter(|it| it.is_gone && it.path.symlink_metadata().is_err());
        let restored = deleted.filter(|file| {
            let bytes = file.read().unwrap_or_default();
            let updated = ContentFacts::read(&bytes).last_updated;
            let updated = updated.and_then(|time| stat::parse(&time));
            let is_expired = updated < oldest && updated.is_some();
            !is_expired
                && is_missed(&self.vault, file, &bytes, self.since)
                && file.link_back().unwrap_or(false)
        });
        restored.map(|file| file.path).collect()
    }
}

/// True for a conversation that was not removed on purpose, and that no other file of the directory has.
pub(super) fn is_missed(vault: &Vault, file: &HeldFile, bytes: &[u8], since: SystemTime) -> bool {
    has_content(bytes) && !is_buried(vault, file, bytes, since) && !is_elsewhere(&file.path, bytes)
}

pub(super) fn has_content(bytes: &[u8]) -> bool {
    let text = lossy_utf8(bytes);
    LogReplay::from_bytes(&text, ReadingDepth::Hidden)
        .kept
        .has_content()
}

pub(super) fn is_buried(vault: &Vault, file: &HeldFile, bytes: &[u8], since: SystemTime) -> bool {
    let id = ContentFacts::read(bytes).session_id;
    id.is_some_and(|id| vault.is_buried(RemovedItem::Session(&id), since))
        || vault.is_buried(RemovedItem::File(&file.path), since)
}

/// True if another file of the same eight characters has every message of a content.
pub(super) fn is_elsewhere(path: &Path, bytes: &[u8]) -> bool {
    let folder = path.parent().unwrap_or(Path::new("."));
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let (Some(short), Ok(entries)) = (names::short_id(&name), fs::read_dir(folder)) else {
        return false;
    };
    let ours = lossy_utf8(bytes);
    let ours = LogReplay::from_bytes(&ours, ReadingDepth::Hidden);
    let others = entries.flatten().filter(|entry| {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        names::is_session(&name) && names::short_id(&name) == Some(short) && entry.path() != path
    });
    others.into_iter().any(|entry| {
        let bytes = fs::read(entry.path()).unwrap_or_default();
        let text = lossy_utf8(&bytes);
        has_all(
            &LogReplay::from_bytes(&text, ReadingDepth::Everything),
            &ours,
        )
    })
}

/// True if a log has every message of another one, whether it shows them or not.
pub(super) fn has_all(log: &LogReplay<'_>, of: &LogReplay<'_>) -> bool {
    let mut keys = of.kept.iter().map(|message| message.key);
    keys.all(|key| log.kept.get(key).is_some() || log.shown.get(key).is_some())
}

/// True if an open file is still the one of that name.
pub(super) fn is_same(file: &File, path: &Path) -> bool {
    let (Ok(open), Ok(named)) = (file.metadata(), path.symlink_metadata()) else {
        return false;
    };
    identity(&open).0 == identity(&named).0
}

/// A file's number and how many names it has. Where the system has no such numbers they are 0, and nothing is held.
#[cfg(unix)]
fn identity(about: &Metadata) -> (u64, u64) {
    use std::os::unix::fs::MetadataExt as _;
    (about.ino(), about.nlink())
}

#[cfg(not(unix))]
fn identity(_: &Metadata) -> (u64, u64) {
    (0, 0)
}
