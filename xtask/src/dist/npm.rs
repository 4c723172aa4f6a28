//! The npm packages: the TypeScript client, and the binary for one platform.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use super::packed_file::PackedFile;
use super::platform::LinkedLibc;
use super::{Release, read_licences};
use crate::workspace::run;

/// npm expects everything below this folder.
const FOLDER: &str = "package/";

/// Writes the package with the client. It has no binary: its optional dependencies do.
pub(super) fn write_client(release: &Release, tools: &Path) -> Result<PathBuf> {
    let folder = release.root.join("clients/typescript");
    let manifest = std::fs::read_to_string(folder.join("package.json"))?;
    check_versions(&manifest, &release.version)?;
    let mut files = compiled_files(&folder, tools)?;
    files.push(PackedFile::new(format!("{FOLDER}package.json"), manifest));
    files.push(PackedFile::read(
        format!("{FOLDER}README.md"),
        &folder.join("README.md"),
    )?);
    files.extend(read_licences(&release.root, FOLDER)?);
    let path = release
        .out
        .join(format!("lapidary-{}.tgz", release.version));
    release.style.write_tarball(&path, files)?;
    Ok(path)
}

/// Writes the package with the binary.
pub(super) fn write_platform(release: &Release) -> Result<PathBuf> {
    let name = release.platform.npm_package();
    let program = format!("bin/{}", release.platform.program_name());
    let (os, cpu) = release.platform.npm;
    let mut manifest = json!({
        "name": name,
        "version": release.version,
        "description": format!("The binary of `lapidary` for {os}-{cpu}: install `lapidary`"),
        "license": "MIT OR Apache-2.0",
        "os": [os],
        "cpu": [cpu],
        "files": ["bin", "LICENSE-APACHE", "LICENSE-MIT"],
        "preferUnplugged": true,
    });
    if release.platform.is_linux() && release.libc != LinkedLibc::Static {
        manifest["libc"] = json!(["glibc"]);
    }
    let mut files = read_licences(&release.root, FOLDER)?;
    files.push(PackedFile::new(
        format!("{FOLDER}package.json"),
        format!("{manifest:#}\n"),
    ));
    files.push(PackedFile::program(
        format!("{FOLDER}{program}"),
        release.binary.clone(),
    ));
    let path = release.out.join(format!("{name}-{}.tgz", release.version));
    release.style.write_tarball(&path, files)?;
    Ok(path)
}

/// The client and the packages with its binary have the version of the workspace.
fn check_versions(manifest: &str, version: &str) -> Result<()> {
    let manifest: Value = serde_json::from_str(manifest).context("`package.json` is not JSON")?;
    let binaries = manifest["optionalDependencies"].as_object();
    let binaries = binaries.into_iter().flatten().map(|(_, version)| version);
    let fits = |found: &Value| found == version;
    ensure!(
        fits(&manifest["version"]) && binaries.into_iter().all(fits),
        "`clients/typescript/package.json` does not have version {version} everywhere"
    );
    Ok(())
}

/// Compiles the client in a folder of its own.
fn compiled_files(folder: &Path, tools: &Path) -> Result<Vec<PackedFile>> {
    let modules = tools.join("node_modules");
    let built = tools.join("dist");
    let _ = std::fs::remove_dir_all(&built); // of other sources
    run(Command::new("node")
        .arg(modules.join("typescript/bin/tsc"))
        .arg("--project")
        .arg(folder)
        .arg("--typeRoots")
        .arg(modules.join("@types"))
        .arg("--outDir")
        .arg(&built))
    .context("cannot compile the TypeScript client")?;
    let mut files = Vec::new();
    for entry in std::fs::read_dir(&built)? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().display().to_string();
        let mut file = PackedFile::read(format!("{FOLDER}dist/{name}"), &path)?;
        file.is_program = file.bytes.starts_with(b"#!");
        files.push(file);
    }
    Ok(files)
}
