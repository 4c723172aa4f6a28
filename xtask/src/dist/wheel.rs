//! The wheel: the Python client and the binary, in the layout of the specification of binary distributions.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use sha2::{Digest as _, Sha256};

use super::packed_file::PackedFile;
use super::{Release, read_licences};

/// The name in files; in the index it is `lapidary-cli`.
const NAME: &str = "lapidary_cli";

/// Writes the wheel for the release's platform.
pub(super) fn write_wheel(release: &Release) -> Result<PathBuf> {
    let tag = release.platform.wheel_tag(release.libc);
    let info = format!("{NAME}-{}.dist-info", release.version);
    let mut files = package_files(&release.root.join("clients/python/src").join(NAME))?;
    let program = release.platform.program_name();
    files.push(PackedFile::program(
        format!("{NAME}/bin/{program}"),
        release.binary.clone(),
    ));
    files.push(PackedFile::new(
        format!("{info}/METADATA"),
        metadata(release)?,
    ));
    files.push(PackedFile::new(format!("{info}/WHEEL"), wheel_facts(&tag)));
    files.push(PackedFile::new(
        format!("{info}/entry_points.txt"),
        "[console_scripts]\nlapidary = lapidary_cli.__main__:main\nlapidary-cli = lapidary_cli.__main__:main\n",
    ));
    files.extend(read_licences(&release.root, &format!("{info}/licenses/"))?);
    files.sort_by(|one, other| one.path.cmp(&other.path));
    let record = format!("{info}/RECORD");
    files.push(PackedFile::new(record.clone(), records(&files, &record)));
    let path = release
        .out
        .join(format!("{NAME}-{}-py3-none-{tag}.whl", release.version));
    release.style.write_zip(&path, &files)?;
    Ok(path)
}

fn package_files(folder: &Path) -> Result<Vec<PackedFile>> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().display().to_string();
        if path.is_file() {
            files.push(PackedFile::read(format!("{NAME}/{name}"), &path)?);
        }
    }
    Ok(files)
}

fn metadata(release: &Release) -> Result<String> {
    let folder = release.root.join("clients/python");
    let read = |name: &str| {
        std::fs::read_to_string(folder.join(name)).with_context(|| format!("cannot read {name}"))
    };
    let project = read("pyproject.toml")?;
    let value = |key: &str| {
        let line = project
            .lines()
            .find_map(|line| line.strip_prefix(&format!("{key} = ")));
        let line = line.with_context(|| format!("`pyproject.toml` has no `{key}`"))?;
        anyhow::Ok(line.trim_matches('"').to_owned())
    };
    let mut text = "Metadata-Version: 2.4\nName: lapidary-cli\n".to_owned();
    let _ = writeln!(text, "Version: {}", release.version);
    let _ = writeln!(text, "Summary: {}", value("description")?);
    let _ = writeln!(text, "License-Expression: {}", value("license")?);
    text += "License-File: LICENSE-APACHE\nLicense-File: LICENSE-MIT\n";
    let _ = writeln!(text, "Requires-Python: {}", value("requires-python")?);
    text += "Description-Content-Type: text/markdown\n\n";
    Ok(text + &read("README.md")?)
}

fn wheel_facts(tag: &str) -> String {
    let mut text =
        "Wheel-Version: 1.0\nGenerator: cargo xtask dist\nRoot-Is-Purelib: false\n".to_owned();
    for platform in tag.split('.') {
        let _ = writeln!(text, "Tag: py3-none-{platform}");
    }
    text
}

/// The list of files with their hashes. Its own line has none.
fn records(files: &[PackedFile], own: &str) -> String {
    let mut text = String::new();
    for file in files {
        let hash = BASE64_URL_SAFE_NO_PAD.encode(Sha256::digest(&file.bytes));
        let _ = writeln!(text, "{},sha256={hash},{}", file.path, file.bytes.len());
    }
    text + own + ",,\n"
}
