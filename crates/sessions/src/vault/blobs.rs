//! Contents, each named by its SHA-256.

use std::fs::{self, File};
use std::io::{self, Read, Write as _};
use std::path::{Path, PathBuf};

use sha2::{Digest as _, Sha256};
use tempfile::{NamedTempFile, TempPath};

use super::content_prefix::ContentBytes;
use super::error::ErrorContext as _;
use super::stat::FileStat;
use super::{SnapshotEntry, Vault, VaultError, make_private};

/// How often a file is read that changes meanwhile.
const TRIES: usize = 4;

/// From so many new contents on, the disk is synchronised once, and not for each.
const MANY: usize = 16;

/// How many bytes are compared before a content is hashed.
const LAST: u64 = 4096;

/// The prefix of temporary files.
pub(super) const TEMPORARY: &str = ".tmp-";

/// A content on its way into the vault.
#[derive(Debug)]
pub(super) struct PendingBlob {
    temp: TempPath,
    pub(super) copied: CopiedFile,
}

impl PendingBlob {
    /// Where it is meanwhile.
    pub(super) fn temporary_path(&self) -> &Path {
        &self.temp
    }
}

/// A copy of a file, as it was read.
#[derive(Debug, Clone)]
pub(super) struct CopiedFile {
    pub(super) sha256: String,
    pub(super) size: u64,
    pub(super) stat: FileStat,
    /// It changed each time that it was read.
    pub(super) changing: bool,
}

/// Why a file was not copied.
#[derive(Debug)]
pub(super) enum CopyRefusal {
    /// The source cannot be read.
    Source(io::Error),
    /// It is no regular file.
    NotAFile,
    /// The vault cannot be written.
    Vault(VaultError),
}

impl From<VaultError> for CopyRefusal {
    fn from(error: VaultError) -> Self {
        Self::Vault(error)
    }
}

/// The SHA-256 of bytes, in hexadecimal.
pub(super) fn sha256_hex(bytes: &[u8]) -> String {
    hex_digits(&Sha256::digest(bytes))
}

fn hex_digits(digest: &[u8]) -> String {
    let mut text = String::with_capacity(2 * digest.len());
    for byte in digest {
        for half in [byte >> 4, byte & 15] {
            text.extend(char::from_digit(half.into(), 16));
        }
    }
    text
}

impl Vault {
    /// Copies a file under a temporary name and hashes it. [`Vault::settle_blobs`] gives the copy its final name.
    pub(super) fn copy_in(&self, path: &Path) -> Result<PendingBlob, CopyRefusal> {
        let source = open_regular(path)?;
        let mut tries = 0;
        loop {
            tries += 1;
            let before = FileStat::from_metadata(&source.metadata().map_err(CopyRefusal::Source)?);
            let (temp, sha256, size) = self.copy_once(&source)?;
            let after = FileStat::from_metadata(&source.metadata().map_err(CopyRefusal::Source)?);
            let changing = before != after || size != before.size;
            if !changing || tries == TRIES {
                let copied = CopiedFile {
                    sha256,
                    size,
                    stat: after,
                    changing,
                };
                return Ok(PendingBlob { temp, copied });
            }
        }
    }

    fn copy_once(&self, mut source: &File) -> Result<(TempPath, String, u64), CopyRefusal> {
        self.announce_step("make a temporary file");
        let mut temp = temporary_file(&self.blobs_dir())?;
        let place = temp.path().to_owned();
        self.announce_step("copy");
        let mut hasher = Sha256::new();
        let mut size = 0;
        let shares = clone(temp.as_file(), source);
        io::Seek::rewind(&mut source).map_err(CopyRefusal::Source)?;
        let mut buffer = vec![0; 128 * 1024];
        loop {
            // A copy that shares its blocks is read itself: the source may have grown since.
            let read = if shares {
                temp.as_file_mut().read(&mut buffer)
            } else {
                source.read(&mut buffer)
            };
            let read = read.map_err(CopyRefusal::Source)?;
            if read == 0 {
                break;
            }
            hasher.update(&buffer[..read]);
            size += read as u64;
            if !shares {
                temp.as_file_mut()
                    .write_all(&buffer[..read])
                    .at("write", &place)?;
            }
        }
        Ok((temp.into_temp_path(), hex_digits(&hasher.finalize()), size))
    }

    /// Gives contents their names, when they are safely on the disk.
    pub(super) fn settle_blobs(&self, pending: Vec<PendingBlob>) -> Result<(), VaultError> {
        let all_at_once = pending.len() > MANY && self.sync_everything();
        let mut folders = Vec::new();
        for PendingBlob { temp, copied } in pending {
            let place = self.blob_path(&copied.sha256);
            if place.is_file() && self.check(&copied.sha256).is_ok() {
                continue;
            }
            if !all_at_once {
                self.announce_step("sync a content");
                let file = File::options().append(true).open(&temp);
                file.and_then(|file| file.sync_all()).at("write", &temp)?;
            }
            let folder = place.parent().unwrap_or(&self.dir).to_owned();
            make_private(&folder)?;
            self.announce_step("name a content");
            temp.persist(&place)
                .map_err(|refused| refused.error)
                .at("write", &place)?;
            folders.push(folder);
        }
        folders.push(self.blobs_dir());
        if folders.len() <= MANY || !self.sync_everything() {
            folders.dedup();
            for folder in &folders {
                sync_folder(folder);
            }
        }
        Ok(())
    }

    /// One order for all of the file system, where there is such a thing.
    fn sync_everything(&self) -> bool {
        self.announce_step("sync all contents");
        #[cfg(target_os = "linux")]
        return File::open(&self.dir).is_ok_and(|dir| rustix::fs::syncfs(dir).is_ok());
        #[cfg(not(target_os = "linux"))]
        false
    }

    /// Where a content lies.
    pub(super) fn blob_path(&self, sha256: &str) -> PathBuf {
        let folder = sha256.get(..2).unwrap_or("");
        self.blobs_dir().join(folder).join(sha256)
    }

    /// True if there is a content of that name and size. Its bytes are not looked at.
    pub(super) fn has_blob(&self, sha256: &str, size: u64) -> bool {
        fs::symlink_metadata(self.blob_path(sha256))
            .is_ok_and(|about| about.is_file() && about.len() == size)
    }

    /// Hashes a content, holding none of it.
    pub(super) fn check(&self, sha256: &str) -> Result<(), VaultError> {
        let whole = u64::MAX;
        if self.hash_of_start(sha256, whole)? == sha256 {
            Ok(())
        } else {
            Err(VaultError::Corrupt {
                sha256: sha256.to_owned(),
            })
        }
    }

    /// The SHA-256 of a content's first bytes.
    pub(super) fn hash_of_start(&self, sha256: &str, size: u64) -> Result<String, VaultError> {
        let (file, bytes) = self.open_bytes(sha256)?;
        let place = self.blob_path(&bytes.of);
        let size = bytes.size.unwrap_or(u64::MAX).min(size);
        let mut hasher = BlobHasher(Sha256::new());
        io::copy(&mut file.take(size), &mut hasher).at("read", &place)?;
        Ok(hex_digits(&hasher.0.finalize()))
    }

    /// Opens the file that has a content's bytes. It may be folded into another one just now: then they are looked for again.
    fn open_bytes(&self, sha256: &str) -> Result<(File, ContentBytes), VaultError> {
        for _ in 0..TRIES {
            let bytes = self.bytes_of(sha256);
            if let Ok(file) = open_regular(&self.blob_path(&bytes.of)) {
                return Ok((file, bytes));
            }
        }
        let sha256 = sha256.to_owned();
        Err(VaultError::Missing { sha256 })
    }

    /// False if a content cannot begin with a smaller one: the last bytes of that differ. Costs next to nothing.
    pub(super) fn may_begin_with(&self, whole: &str, part: &str, size: u64) -> bool {
        let last = |name: &str| -> io::Result<Vec<u8>> {
            let file = open_regular(&self.blob_path(name));
            let mut file = file.map_err(|_| io::ErrorKind::InvalidInput)?;
            let length = size.min(LAST);
            io::Seek::seek(&mut file, io::SeekFrom::Start(size - length))?;
            let mut bytes = Vec::new();
            file.take(length).read_to_end(&mut bytes)?;
            Ok(bytes)
        };
        matches!((last(whole), last(part)), (Ok(whole), Ok(part)) if whole == part)
    }

    /// The content that a file had, verified.
    pub fn read(&self, entry: &SnapshotEntry) -> Result<Vec<u8>, VaultError> {
        let name = entry.within.as_ref().unwrap_or(&entry.sha256);
        match self.read_from(name, entry) {
            Err(VaultError::Missing { .. }) => self.read_moved(name, entry),
            read => read,
        }
    }

    /// Reads a content that a prune has moved since the entry was read, or moves now: then only the snapshots know which content
    /// begins with it.
    fn read_moved(&self, name: &str, entry: &SnapshotEntry) -> Result<Vec<u8>, VaultError> {
        let _shared = self.share_where_it_is();
        let name = self
            .containing_content(entry)?
            .unwrap_or_else(|| name.to_owned());
        self.read_from(&name, entry)
    }

    fn read_from(&self, name: &str, entry: &SnapshotEntry) -> Result<Vec<u8>, VaultError> {
        let (file, found) = self.open_bytes(name)?;
        let place = self.blob_path(&found.of);
        let mut bytes = Vec::new();
        file.take(entry.size)
            .read_to_end(&mut bytes)
            .at("read", &place)?;
        if sha256_hex(&bytes) == entry.sha256 {
            Ok(bytes)
        } else {
            Err(VaultError::Corrupt {
                sha256: entry.sha256.clone(),
            })
        }
    }

    /// Writes a small file of ours: whole or not at all.
    pub(super) fn write_whole(&self, path: &Path, bytes: &[u8]) -> Result<(), VaultError> {
        let folder = path.parent().unwrap_or(&self.dir);
        let mut temp = temporary_file(folder)?;
        temp.as_file_mut().write_all(bytes).at("write", path)?;
        self.announce_step("sync a record");
        temp.as_file().sync_all().at("write", path)?;
        self.announce_step("name a record");
        temp.persist(path)
            .map_err(|refused| refused.error)
            .at("write", path)?;
        sync_folder(folder);
        Ok(())
    }
}

/// A new file in a directory, gone again unless it is given a name.
pub(super) fn temporary_file(folder: &Path) -> Result<NamedTempFile, VaultError> {
    let mut builder = tempfile::Builder::new();
    let temp = builder.prefix(TEMPORARY).tempfile_in(folder);
    temp.at("make a file in", folder)
}

struct BlobHasher(Sha256);

impl io::Write for BlobHasher {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.update(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Opens a regular file. It does not follow a link, and does not block on a pipe.
pub(super) fn open_regular(path: &Path) -> Result<File, CopyRefusal> {
    let mut options = File::options();
    options.read(true);
    #[cfg(unix)]
    {
        use rustix::fs::OFlags;
        use std::os::unix::fs::OpenOptionsExt as _;
        let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
        options.custom_flags(flags.bits().cast_signed());
    }
    let file = options.open(path).map_err(CopyRefusal::Source)?;
    let about = file.metadata().map_err(CopyRefusal::Source)?;
    if about.is_file() {
        Ok(file)
    } else {
        Err(CopyRefusal::NotAFile)
    }
}

/// Shares the source's blocks with a new file, where the file system can. Later changes of either do not show in the other.
#[cfg(target_os = "linux")]
fn clone(to: &File, source: &File) -> bool {
    rustix::fs::ioctl_ficlone(to, source).is_ok()
}

#[cfg(not(target_os = "linux"))]
fn clone(_: &File, _: &File) -> bool {
    false
}

/// A new name is safe when its directory is. Some file systems cannot, and need not.
pub(super) fn sync_folder(folder: &Path) {
    if let Ok(folder) = File::open(folder) {
        let _ = folder.sync_all();
    }
}
