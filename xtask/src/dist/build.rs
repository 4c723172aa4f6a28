//! The binary of a release: the same bytes for the same sources, wherever they are.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use crate::peers;
use crate::workspace::{Workspace, run};

/// The oldest glibc that Rust's standard library supports.
pub(super) const OLD_GLIBC: &str = "2.17";

/// How the binary is built.
#[derive(Debug)]
pub(super) struct BuildRequest<'a> {
    pub(super) profile: &'a str,
    pub(super) target: &'a str,
    /// The glibc to link against, such as `2.17`, by `cargo zigbuild`. None for that of this machine.
    pub(super) glibc: Option<&'a str>,
    /// Seconds since 1970.
    pub(super) time: u64,
}

/// Builds the binary, and gives its path.
pub(super) fn build_binary(workspace: &Workspace, request: &BuildRequest<'_>) -> Result<PathBuf> {
    let mut cargo;
    let target;
    if let Some(version) = request.glibc {
        target = format!("{}.{version}", request.target);
        cargo = workspace.cargo_command("zigbuild");
        let linker = peers::install_linker(workspace);
        add_linker(
            &mut cargo,
            &linker.context("`--glibc host` needs no other linker")?,
        )?;
    } else {
        target = request.target.to_owned();
        cargo = workspace.cargo_command("build");
    }
    cargo
        .args(["--profile", request.profile, "--target", &target])
        .args(["--package", "lapidary-cli", "--bin", "lapidary"])
        .env("CARGO_INCREMENTAL", "0")
        .env("SOURCE_DATE_EPOCH", request.time.to_string());
    for (variable, flags) in path_flags(workspace) {
        cargo.env(variable, flags);
    }
    run(&mut cargo).context("cannot build the binary")?;
    let folder = match request.profile {
        "dev" => "debug",
        profile => profile,
    };
    let folder = workspace.target.join(request.target).join(folder);
    let file = if request.target.contains("windows") {
        "lapidary.exe"
    } else {
        "lapidary"
    };
    Ok(folder.join(file))
}

/// Lets cargo find `cargo-zigbuild`, and that its Python module.
fn add_linker(cargo: &mut Command, folder: &Path) -> Result<()> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let path = std::env::split_paths(&path);
    let path = std::env::join_paths(std::iter::once(folder.join("bin")).chain(path))?;
    cargo.env("PATH", path).env("PYTHONPATH", folder);
    Ok(())
}

/// Flags that keep the paths of this machine out of the binary, for Rust and for C.
fn path_flags(workspace: &Workspace) -> [(&'static str, String); 2] {
    let cargo = std::env::var_os("CARGO_HOME").map(PathBuf::from);
    let home = std::env::var_os("HOME").map(PathBuf::from);
    let cargo = cargo.or_else(|| Some(home?.join(".cargo")));
    let mut places = vec![(workspace.root.clone(), "/lapidary")];
    places.extend(cargo.map(|cargo| (cargo, "/cargo")));
    // Generated sources. The last prefix that fits counts: this is within the root, or elsewhere.
    places.push((workspace.target.clone(), "/lapidary/target"));
    let joined = |option: &str, separator: &str| {
        let flags = places.iter();
        let flags = flags.map(|(from, to)| format!("{option}={}={to}", from.display()));
        flags.collect::<Vec<_>>().join(separator)
    };
    [
        // Separated by a character that no path has.
        (
            "CARGO_ENCODED_RUSTFLAGS",
            joined("--remap-path-prefix", "\u{1f}"),
        ),
        ("CFLAGS", joined("-ffile-prefix-map", " ")),
    ]
}

/// The target of this machine.
pub(super) fn host_target() -> Result<String> {
    let answer = Command::new("rustc")
        .args(["--print", "host-tuple"])
        .output()?;
    Ok(String::from_utf8(answer.stdout)?.trim().to_owned())
}

/// The time of a release: `SOURCE_DATE_EPOCH`, or that of the last commit.
pub(super) fn source_time(root: &Path) -> Result<u64> {
    let given = std::env::var("SOURCE_DATE_EPOCH").ok();
    let text = if let Some(given) = given {
        given
    } else {
        let answer = Command::new("git")
            .args(["log", "-1", "--format=%ct"])
            .current_dir(root)
            .output()?;
        String::from_utf8(answer.stdout)?
    };
    let time = text.trim().parse();
    time.context("the time of the release is unknown: set `SOURCE_DATE_EPOCH`")
}
