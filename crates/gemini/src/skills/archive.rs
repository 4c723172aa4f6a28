//! A `.skill` file: a zip archive of unknown origin.

mod directory;

use std::collections::HashSet;
use std::fs::{self, File};
use std::io::{self, BufReader, Read, Write as _};
use std::path::{Component, Path, PathBuf};

use zip::ZipArchive;
use zip::read::ZipFile;
use zip::result::ZipError;

use self::directory::{CheckedArchive, DirectoryProblem};
use super::copy::{DEEPEST, MOST_BYTES, MOST_FILES};
use crate::file;

/// Why an archive was not unpacked.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ArchiveError {
    /// It cannot be read.
    #[error("cannot read `{path}`: {source}")]
    Io {
        /// The archive.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// Its content cannot be written.
    #[error("cannot unpack `{path}`: {source}")]
    Unwritable {
        /// The archive.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// It is no zip archive, or a broken one.
    #[error("`{path}` is not a readable zip archive: {source}")]
    Zip {
        /// The archive.
        path: PathBuf,
        /// The problem.
        source: ZipError,
    },
    /// A name leads out of the archive.
    #[error("`{path}` has an entry `{name}`, which points outside the archive")]
    LeadsOut {
        /// The archive.
        path: PathBuf,
        /// The name.
        name: String,
    },
    /// A name with directories in directories without end.
    #[error("`{path}` has an entry `{name}`, which lies more than {DEEPEST} directories deep")]
    TooDeep {
        /// The archive.
        path: PathBuf,
        /// The name.
        name: String,
    },
    /// A name that no file here can have.
    #[error("`{path}` has an entry `{name}`, whose name is too long for a file")]
    TooLong {
        /// The archive.
        path: PathBuf,
        /// How the name begins.
        name: String,
    },
    /// Links could lead anywhere.
    #[error("`{path}` has an entry `{name}`, which is a link or the like")]
    Special {
        /// The archive.
        path: PathBuf,
        /// The name.
        name: String,
    },
    /// The same name twice: what would be looked at need not be what counts.
    #[error("`{path}` has more than one entry `{name}`")]
    Twice {
        /// The archive.
        path: PathBuf,
        /// The name.
        name: String,
    },
    /// There is too much in it.
    #[error("`{path}` unpacks to more than {MOST_FILES} files or {} MiB", MOST_BYTES / 1024 / 1024)]
    TooMuch {
        /// The archive.
        path: PathBuf,
    },
    /// Entries share their bytes: a small archive would be unpacked for as long as it likes.
    #[error("`{path}` has entries that lie over each other")]
    Overlapping {
        /// The archive.
        path: PathBuf,
    },
    /// The caller stopped it.
    #[error("stopped")]
    Stopped,
}

/// Unpacks an archive into an existing, empty directory, until the caller stops it. The archive's own figures are not believed:
/// no more is read than it has, no more is written than is allowed, and nothing outside the directory.
pub fn unpack(path: &Path, into: &Path, is_stopped: &dyn Fn() -> bool) -> Result<(), ArchiveError> {
    let mut unpacker = ArchiveUnpacker {
        path,
        into,
        is_stopped,
        left: MOST_BYTES,
        unread: 0,
        files: 0,
        folders: HashSet::new(),
    };
    match unpacker.unpack_all() {
        Err(_) if is_stopped() => Err(ArchiveError::Stopped),
        done => done,
    }
}

struct ArchiveUnpacker<'a> {
    path: &'a Path,
    into: &'a Path,
    is_stopped: &'a dyn Fn() -> bool,
    /// How many bytes may still be written.
    left: u64,
    /// How many bytes of the archive may still be unpacked: each once.
    unread: u64,
    /// How many files were made. The list was counted before, but a library has its own way to read names out of it.
    files: u64,
    folders: HashSet<PathBuf>,
}

impl ArchiveUnpacker<'_> {
    fn unpack_all(&mut self) -> Result<(), ArchiveError> {
        let file = file::open_regular(self.path).map_err(self.io_error())?;
        let file =
            file.ok_or_else(|| self.io_error()(io::Error::other("it is not a regular file")))?;
        self.unread = file.metadata().map_err(self.io_error())?.len();
        let checked = CheckedArchive::open(file, self.is_stopped);
        let checked = checked.map_err(|problem| self.directory_error(problem))?;
        let count = checked.count;
        let mut archive = ZipArchive::new(BufReader::new(checked)).map_err(self.zip_error())?;
        if archive.len() != count {
            return Err(self.directory_error(DirectoryProblem::Broken));
        }
        for number in 0..count {
            self.unpack_entry(archive.by_index(number).map_err(self.zip_error())?)?;
        }
        Ok(())
    }

    fn unpack_entry(&mut self, entry: ZipFile<'_, impl Read>) -> Result<(), ArchiveError> {
        let name = String::from_utf8_lossy(entry.name_raw()).into_owned();
        let place = self.entry_path(&name, &entry)?;
        let unread = self.unread.checked_sub(entry.compressed_size());
        self.unread = unread.ok_or_else(|| self.directory_error(DirectoryProblem::Overlapping))?;
        if entry.is_dir() {
            return self.make_folders(&place);
        }
        if let Some(folder) = place.parent() {
            self.make_folders(folder)?;
        }
        self.files += 1;
        self.check_count()?;
        let mut written = match File::create_new(self.into.join(&place)) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                return Err(self.directory_error(DirectoryProblem::Twice(name)));
            }
            made => made.map_err(|error| self.not_made(error, &place))?,
        };
        let mode = entry.unix_mode();
        self.write_entry(entry, &mut written)?;
        set_mode(&written, mode).map_err(self.unwritable_error())
    }

    /// Makes a directory, and its parents.
    fn make_folders(&mut self, place: &Path) -> Result<(), ArchiveError> {
        if self.folders.contains(place) || place == Path::new("") {
            return Ok(());
        }
        let folders = place.ancestors().filter(|folder| *folder != Path::new(""));
        self.folders.extend(folders.map(Path::to_owned));
        self.check_count()?;
        match fs::create_dir_all(self.into.join(place)) {
            Err(error) if is_in_the_way(&error) => {
                let name = place.display().to_string();
                Err(self.directory_error(DirectoryProblem::Twice(name)))
            }
            made => made.map_err(|error| self.not_made(error, place)),
        }
    }

    fn not_made(&self, error: io::Error, place: &Path) -> ArchiveError {
        if error.kind() == io::ErrorKind::InvalidFilename {
            let (path, name) = (self.path.to_owned(), shortened_name(place));
            return ArchiveError::TooLong { path, name };
        }
        self.unwritable_error()(error)
    }

    fn check_count(&self) -> Result<(), ArchiveError> {
        if self.files + self.folders.len() as u64 > MOST_FILES {
            return Err(self.directory_error(DirectoryProblem::TooMuch));
        }
        Ok(())
    }

    fn write_entry(
        &mut self,
        mut entry: impl Read,
        written: &mut File,
    ) -> Result<(), ArchiveError> {
        let mut buffer = vec![0; 64 * 1024];
        loop {
            let read = entry.read(&mut buffer);
            let count = read.map_err(|error| self.zip_error()(ZipError::Io(error)))?;
            if count == 0 {
                return Ok(());
            }
            let left = self.left.checked_sub(count as u64);
            self.left = left.ok_or_else(|| self.directory_error(DirectoryProblem::TooMuch))?;
            let all = written.write_all(&buffer[..count]);
            all.map_err(self.unwritable_error())?;
        }
    }

    /// Where an entry goes, below the directory.
    fn entry_path(
        &self,
        name: &str,
        entry: &ZipFile<'_, impl Read>,
    ) -> Result<PathBuf, ArchiveError> {
        let path = self.path.to_owned();
        if !is_ordinary(entry.unix_mode()) {
            let name = name.to_owned();
            return Err(ArchiveError::Special { path, name });
        }
        let place = PathBuf::from(name);
        let is_inside = place
            .components()
            .all(|part| matches!(part, Component::Normal(_) | Component::CurDir));
        // A backslash is a letter here, and a separator on Windows.
        let is_plain = !name.contains(['\\', '\0']);
        let depth = place.components().count();
        if !is_inside || !is_plain || depth == 0 {
            let name = name.to_owned();
            return Err(ArchiveError::LeadsOut { path, name });
        }
        if depth > DEEPEST {
            let name = name.to_owned();
            return Err(ArchiveError::TooDeep { path, name });
        }
        Ok(place)
    }

    fn io_error(&self) -> impl Fn(io::Error) -> ArchiveError + use<> {
        let path = self.path.to_owned();
        move |source| ArchiveError::Io {
            path: path.clone(),
            source,
        }
    }

    fn zip_error(&self) -> impl Fn(ZipError) -> ArchiveError + use<> {
        let path = self.path.to_owned();
        move |source| ArchiveError::Zip {
            path: path.clone(),
            source,
        }
    }

    fn unwritable_error(&self) -> impl Fn(io::Error) -> ArchiveError + use<> {
        let path = self.path.to_owned();
        move |source| ArchiveError::Unwritable {
            path: path.clone(),
            source,
        }
    }

    fn directory_error(&self, problem: DirectoryProblem) -> ArchiveError {
        let path = self.path.to_owned();
        match problem {
            DirectoryProblem::Io(source) => ArchiveError::Io { path, source },
            DirectoryProblem::Broken => ArchiveError::Zip {
                path,
                source: ZipError::InvalidArchive("its list of entries is broken".into()),
            },
            DirectoryProblem::TooMuch => ArchiveError::TooMuch { path },
            DirectoryProblem::Overlapping => ArchiveError::Overlapping { path },
            DirectoryProblem::Twice(name) => ArchiveError::Twice { path, name },
        }
    }
}

/// So much of a name as people read.
fn shortened_name(place: &Path) -> String {
    const SHOWN: usize = 80;
    let name = place.display().to_string();
    let start: String = name.chars().take(SHOWN).collect();
    if start.len() < name.len() {
        return start + "…";
    }
    name
}

/// A file where a directory should be.
fn is_in_the_way(error: &io::Error) -> bool {
    use io::ErrorKind::{AlreadyExists, NotADirectory};
    matches!(error.kind(), AlreadyExists | NotADirectory)
}

/// A file or a directory, as far as the archive says.
fn is_ordinary(mode: Option<u32>) -> bool {
    const KIND: u32 = 0o170_000;
    const FILE: u32 = 0o100_000;
    const FOLDER: u32 = 0o040_000;
    matches!(mode.unwrap_or_default() & KIND, 0 | FILE | FOLDER)
}

#[cfg(unix)]
fn set_mode(file: &File, mode: Option<u32>) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt as _;
    let mode = mode.filter(|mode| mode & 0o777 != 0);
    match mode {
        Some(mode) => file.set_permissions(fs::Permissions::from_mode((mode & 0o777) | 0o600)),
        None => Ok(()),
    }
}

#[cfg(not(unix))]
#[expect(clippy::unnecessary_wraps, reason = "as where there are modes")]
fn set_mode(_: &File, _: Option<u32>) -> io::Result<()> {
    Ok(())
}
