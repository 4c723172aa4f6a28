//! Files on their way into an archive, and archives that are the same for the same files: sorted names, one time, no owner.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

use anyhow::{Context, Result, ensure};
use flate2::write::{DeflateEncoder, GzEncoder};
use flate2::{Compression, Crc, GzBuilder};

/// A file of an archive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PackedFile {
    /// Its path in the archive.
    pub(crate) path: String,
    pub(crate) bytes: Vec<u8>,
    pub(crate) is_program: bool,
}

impl PackedFile {
    pub(crate) fn new(path: impl Into<String>, bytes: impl Into<Vec<u8>>) -> Self {
        Self {
            path: path.into(),
            bytes: bytes.into(),
            is_program: false,
        }
    }

    /// A file that can be executed.
    pub(crate) fn program(path: impl Into<String>, bytes: impl Into<Vec<u8>>) -> Self {
        Self {
            is_program: true,
            ..Self::new(path, bytes)
        }
    }

    /// A file of the disk.
    pub(crate) fn read(path: impl Into<String>, from: &Path) -> Result<Self> {
        let bytes =
            std::fs::read(from).with_context(|| format!("cannot read {}", from.display()))?;
        Ok(Self::new(path, bytes))
    }

    fn mode(&self) -> u32 {
        if self.is_program { 0o755 } else { 0o644 }
    }
}

/// The settings that all archives of a release share.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ArchiveStyle {
    /// The time of every file, in seconds since 1970.
    pub(crate) time: u64,
    pub(crate) compression: Compression,
}

impl ArchiveStyle {
    /// Writes a `.tar.gz`.
    pub(crate) fn write_tarball(self, path: &Path, mut files: Vec<PackedFile>) -> Result<()> {
        files.sort_by(|one, other| one.path.cmp(&other.path));
        let out = BufWriter::new(File::create(path)?);
        // Without a name, and with a time of 0: the header of gzip is the same everywhere.
        let mut out: GzEncoder<_> = GzBuilder::new().write(out, self.compression);
        for file in &files {
            out.write_all(&tar_header(file, self.time)?)?;
            out.write_all(&file.bytes)?;
            out.write_all(&vec![0; padding(file.bytes.len())])?;
        }
        out.write_all(&[0; 2 * BLOCK])?;
        out.finish()?.flush()?;
        Ok(())
    }

    /// Writes a `.zip`. Files of a zip have no time before 1980, and none of these has another.
    pub(crate) fn write_zip(self, path: &Path, files: &[PackedFile]) -> Result<()> {
        let mut out = Vec::new();
        let mut directory = Vec::new();
        for file in files {
            let place = u32::try_from(out.len())?;
            let (method, data) = self.deflated(&file.bytes)?;
            let entry = zip_entry(file, method, data.len())?;
            out.extend_from_slice(b"PK\x03\x04");
            out.extend_from_slice(&entry);
            out.extend_from_slice(file.path.as_bytes());
            out.extend_from_slice(&data);
            directory.extend_from_slice(b"PK\x01\x02\x14\x03"); // made by version 2.0 on Unix
            directory.extend_from_slice(&entry);
            directory.extend_from_slice(&[0; 6]); // no comment, first disk, no attributes of DOS
            directory.extend_from_slice(&((0o100_000 | file.mode()) << 16).to_le_bytes());
            directory.extend_from_slice(&place.to_le_bytes());
            directory.extend_from_slice(file.path.as_bytes());
        }
        let (count, start) = (u16::try_from(files.len())?, u32::try_from(out.len())?);
        out.extend_from_slice(&directory);
        out.extend_from_slice(b"PK\x05\x06\0\0\0\0");
        out.extend_from_slice(&count.to_le_bytes());
        out.extend_from_slice(&count.to_le_bytes());
        out.extend_from_slice(&u32::try_from(directory.len())?.to_le_bytes());
        out.extend_from_slice(&start.to_le_bytes());
        out.extend_from_slice(&[0; 2]);
        std::fs::write(path, out).with_context(|| format!("cannot write {}", path.display()))
    }

    fn deflated(self, bytes: &[u8]) -> Result<(u16, Vec<u8>)> {
        if self.compression == Compression::none() {
            return Ok((STORED, bytes.to_vec()));
        }
        let mut encoder = DeflateEncoder::new(Vec::new(), self.compression);
        encoder.write_all(bytes)?;
        Ok((DEFLATED, encoder.finish()?))
    }
}

const BLOCK: usize = 512;
const STORED: u16 = 0;
const DEFLATED: u16 = 8;

fn padding(length: usize) -> usize {
    length.next_multiple_of(BLOCK) - length
}

/// The header of a file in the `ustar` format.
fn tar_header(file: &PackedFile, time: u64) -> Result<[u8; BLOCK]> {
    let mut header = [0; BLOCK];
    let mut put = |start: usize, text: &[u8]| {
        header[start..start + text.len()].copy_from_slice(text);
    };
    let (prefix, name) = split_path(&file.path)?;
    put(0, name.as_bytes());
    put(100, format!("{:07o}", file.mode()).as_bytes());
    put(108, b"0000000");
    put(116, b"0000000");
    put(124, format!("{:011o}", file.bytes.len()).as_bytes());
    put(136, format!("{time:011o}").as_bytes());
    put(148, b"        "); // the checksum counts as blanks
    put(156, b"0");
    put(257, b"ustar\x0000");
    put(345, prefix.as_bytes());
    let sum: u32 = header.iter().map(|byte| u32::from(*byte)).sum();
    header[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
    Ok(header)
}

/// A path of more than 100 bytes is split at a slash.
fn split_path(path: &str) -> Result<(&str, &str)> {
    const LONGEST_NAME: usize = 100;
    const LONGEST_PREFIX: usize = 155;
    if path.len() <= LONGEST_NAME {
        return Ok(("", path));
    }
    let places = path.match_indices('/').map(|(place, _)| place);
    let parts = places.map(|place| (&path[..place], &path[place + 1..]));
    let mut fitting =
        parts.filter(|(prefix, name)| prefix.len() <= LONGEST_PREFIX && name.len() <= LONGEST_NAME);
    let found = fitting.next();
    ensure!(
        found.is_some(),
        "the path `{path}` is too long for an archive"
    );
    Ok(found.unwrap_or_default())
}

/// The fields that the two headers of a file in a zip share.
fn zip_entry(file: &PackedFile, method: u16, packed: usize) -> Result<Vec<u8>> {
    const VERSION: u16 = 20;
    const FIRST_DAY: u16 = (1 << 5) | 1; // 1980-01-01
    let mut sum = Crc::new();
    sum.update(&file.bytes);
    let mut entry = Vec::new();
    for field in [VERSION, 0, method, 0, FIRST_DAY] {
        entry.extend_from_slice(&field.to_le_bytes());
    }
    for field in [
        sum.sum(),
        u32::try_from(packed)?,
        u32::try_from(file.bytes.len())?,
    ] {
        entry.extend_from_slice(&field.to_le_bytes());
    }
    entry.extend_from_slice(&u16::try_from(file.path.len())?.to_le_bytes());
    entry.extend_from_slice(&[0; 2]); // no extra fields
    Ok(entry)
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    const STYLE: ArchiveStyle = ArchiveStyle {
        time: 1_700_000_000,
        compression: Compression::fast(),
    };

    fn sample() -> Vec<PackedFile> {
        let long = format!("lapidary/{}/page.1", "x".repeat(110));
        vec![
            PackedFile::program("lapidary/lapidary", "#!/bin/sh\n"),
            PackedFile::new("lapidary/README.md", "words\n".repeat(200)),
            PackedFile::new(long, vec![0; 512]),
        ]
    }

    #[test]
    fn a_tarball_is_the_same_in_any_order_and_tar_reads_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        STYLE.write_tarball(&path("one.tar.gz"), sample()).unwrap();
        let reversed = sample().into_iter().rev().collect();
        STYLE.write_tarball(&path("two.tar.gz"), reversed).unwrap();
        let bytes = |name: &str| std::fs::read(path(name)).unwrap();
        assert!(bytes("one.tar.gz") == bytes("two.tar.gz"));
        let listed = Command::new("tar")
            .args(["--utc", "--numeric-owner", "-tvzf", "one.tar.gz"])
            .current_dir(&folder)
            .output()
            .unwrap();
        let listed = String::from_utf8(listed.stdout).unwrap();
        let lines: Vec<_> = listed.lines().collect();
        assert!(
            lines[0]
                .starts_with("-rw-r--r-- 0/0            1200 2023-11-14 22:13 lapidary/README.md"),
            "{listed}"
        );
        assert!(lines[1].starts_with("-rwxr-xr-x 0/0"), "{listed}");
        assert!(lines[2].ends_with("x/page.1"), "{listed}");
    }

    #[test]
    fn python_reads_a_zip_with_its_modes() {
        let folder = tempfile::tempdir().unwrap();
        for (name, compression) in [
            ("a.zip", Compression::none()),
            ("b.zip", Compression::best()),
        ] {
            let style = ArchiveStyle {
                compression,
                ..STYLE
            };
            let path = folder.path().join(name);
            style.write_zip(&path, &sample()).unwrap();
            let script = "import sys, zipfile\nz = zipfile.ZipFile(sys.argv[1])\nassert z.testzip() is None\n\
                for i in z.infolist(): print(oct(i.external_attr >> 16), i.file_size, i.filename[:18])";
            let mut python = Command::new("python3");
            let shown = python.args(["-c", script]).arg(&path).output().unwrap();
            assert_eq!(
                String::from_utf8(shown.stdout).unwrap(),
                "0o100755 10 lapidary/lapidary\n0o100644 1200 lapidary/README.md\n0o100644 512 lapidary/xxxxxxxxx\n",
                "{}",
                String::from_utf8_lossy(&shown.stderr)
            );
        }
    }
}
