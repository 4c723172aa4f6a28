//! Releases: `cargo xtask dist` writes the archive, the npm packages, the wheel, the install script, the Homebrew formula and checksums.

mod archive;
mod build;
mod npm;
mod packed_file;
mod platform;
mod wheel;

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use flate2::Compression;
use sha2::{Digest as _, Sha256};

use self::build::BuildRequest;
use self::packed_file::{ArchiveStyle, PackedFile};
use self::platform::{LinkedLibc, ReleasePlatform};
use crate::peers;
use crate::workspace::{Workspace, run};

#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Args {
    /// Where the files are written [default: target/dist]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Build for this target [default: that of this machine]
    #[arg(long, value_name = "TARGET")]
    target: Option<String>,
    /// The oldest glibc that the binary runs on, or `host` for that of this machine. Other targets than Linux with glibc ignore it
    #[arg(long, value_name = "VERSION", default_value = build::OLD_GLIBC, conflicts_with = "binary")]
    glibc: String,
    /// Build with this profile
    #[arg(long, default_value = "dist")]
    profile: String,
    /// Pack this binary instead of building one
    #[arg(long, value_name = "FILE")]
    binary: Option<PathBuf>,
    /// The address below which the archives will be, for the install script and the Homebrew formula
    #[arg(long, value_name = "URL")]
    base_url: Option<String>,
    /// Build the image of `packaging/Dockerfile`, too. This needs a Docker engine, and compiles again in the image
    #[arg(long)]
    image: bool,
    /// Do not compress: for tests
    #[arg(long)]
    store: bool,
}

/// The inputs of every file of a release.
#[derive(Debug)]
struct Release {
    root: PathBuf,
    out: PathBuf,
    version: String,
    target: String,
    platform: ReleasePlatform,
    libc: LinkedLibc,
    binary: Vec<u8>,
    style: ArchiveStyle,
}

/// Writes all files of a release for one platform.
pub(crate) fn write_release(workspace: &Workspace, args: &Args) -> Result<()> {
    let time = build::source_time(&workspace.root)?;
    let target = match &args.target {
        Some(target) => target.clone(),
        None => build::host_target()?,
    };
    let platform = ReleasePlatform::of_target(&target)?;
    let program = match &args.binary {
        Some(file) => file.clone(),
        None => build::build_binary(
            workspace,
            &BuildRequest {
                profile: &args.profile,
                target: &target,
                glibc: Some(args.glibc.as_str())
                    .filter(|glibc| *glibc != "host" && target.ends_with("-linux-gnu")),
                time,
            },
        )?,
    };
    let out = args.out.clone();
    let out = out.unwrap_or_else(|| workspace.target.join("dist"));
    std::fs::create_dir_all(&out)?;
    let compression = if args.store {
        Compression::none()
    } else {
        Compression::best()
    };
    let release = Release {
        root: workspace.root.clone(),
        out,
        version: workspace_version(&workspace.root)?,
        libc: LinkedLibc::of_binary(&program)?,
        binary: std::fs::read(&program)?,
        platform,
        target,
        style: ArchiveStyle { time, compression },
    };
    release.write_all(workspace, &program, args.base_url.as_deref())?;
    if args.image {
        release.build_image()?;
    }
    Ok(())
}

impl Release {
    fn write_all(
        &self,
        workspace: &Workspace,
        program: &Path,
        base_url: Option<&str>,
    ) -> Result<()> {
        let tools = peers::install_clients(workspace)?;
        let archive = archive::write_archive(self, program)?;
        let files = vec![
            archive.clone(),
            npm::write_client(self, &tools)?,
            npm::write_platform(self)?,
            wheel::write_wheel(self)?,
        ];
        let install = self.write_install_script(base_url)?;
        let mut sums = String::new();
        for path in &files {
            let _ = writeln!(sums, "{}  {}", checksum(path)?, file_name(path));
        }
        std::fs::write(self.out.join("SHA256SUMS"), sums)?;
        for path in files.iter().chain([&install]) {
            println!("wrote {}", path.display());
        }
        match base_url {
            Some(base_url) => println!(
                "wrote {}",
                self.write_formula(base_url, &archive)?.display()
            ),
            None => println!("skipped: the Homebrew formula, which needs `--base-url`"),
        }
        if let LinkedLibc::Glibc(minor) = self.libc {
            println!("the binary needs glibc 2.{minor}");
        }
        Ok(())
    }

    fn write_install_script(&self, base_url: Option<&str>) -> Result<PathBuf> {
        let script = self.read_template("install.sh")?;
        let script = script.replace("@BASE_URL@", base_url.unwrap_or_default());
        let path = self.out.join("install.sh");
        std::fs::write(&path, script)?;
        Ok(path)
    }

    fn write_formula(&self, base_url: &str, archive: &Path) -> Result<PathBuf> {
        let formula = self.read_template("lapidary.rb")?;
        let url = format!("{}/{}", base_url.trim_end_matches('/'), file_name(archive));
        let formula = formula
            .replace("@BASE_URL@", base_url)
            .replace("@URL@", &url)
            .replace("@SHA256@", &checksum(archive)?);
        let path = self.out.join("lapidary.rb");
        std::fs::write(&path, formula)?;
        Ok(path)
    }

    fn build_image(&self) -> Result<()> {
        let tag = format!("lapidary:{}", self.version);
        let mut docker = Command::new("docker");
        docker
            .args([
                "build",
                "--file",
                "packaging/Dockerfile",
                "--tag",
                &tag,
                ".",
            ])
            .env("DOCKER_BUILDKIT", "1") // reads `Dockerfile.dockerignore`
            .current_dir(&self.root);
        run(&mut docker)
            .context("cannot build the image: `docker info` shows whether an engine runs")?;
        println!("built the image {tag}");
        Ok(())
    }

    /// A file of `packaging/`, with the version in it.
    fn read_template(&self, name: &str) -> Result<String> {
        let path = self.root.join("packaging").join(name);
        let text = std::fs::read_to_string(&path)
            .with_context(|| format!("cannot read {}", path.display()))?;
        Ok(text.replace("@VERSION@", &self.version))
    }
}

fn checksum(path: &Path) -> Result<String> {
    let digest = Sha256::digest(std::fs::read(path)?);
    Ok(digest.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    }))
}

fn file_name(path: &Path) -> String {
    path.file_name().unwrap_or_default().display().to_string()
}

/// Both licences, below a folder of an archive.
fn read_licences(root: &Path, folder: &str) -> Result<Vec<PackedFile>> {
    let names = ["LICENSE-APACHE", "LICENSE-MIT"];
    let files = names.map(|name| PackedFile::read(format!("{folder}{name}"), &root.join(name)));
    files.into_iter().collect()
}

/// The version of the workspace, which all packages share.
fn workspace_version(root: &Path) -> Result<String> {
    let manifest = std::fs::read_to_string(root.join("Cargo.toml"))?;
    let version = version_in(&manifest, "version = ");
    let version = version.context("`Cargo.toml` has no version")?;
    let python = std::fs::read_to_string(root.join("clients/python/pyproject.toml"))?;
    let module = root.join("clients/python/src/lapidary_cli/_version.py");
    let module = std::fs::read_to_string(module)?;
    ensure!(
        version_in(&python, "version = ").as_ref() == Some(&version)
            && version_in(&module, "VERSION = ").as_ref() == Some(&version),
        "`clients/python` does not have version {version} everywhere"
    );
    Ok(version)
}

fn version_in(text: &str, start: &str) -> Option<String> {
    let line = text.lines().find_map(|line| line.strip_prefix(start))?;
    Some(line.trim_matches('"').to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_packages_have_the_version_of_the_workspace() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        assert_eq!(workspace_version(&root).unwrap(), env!("CARGO_PKG_VERSION"));
    }
}
