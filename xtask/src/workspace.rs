//! The paths of the workspace, and how commands are run in it.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

/// The workspace that `cargo xtask` was called in.
#[derive(Debug)]
pub(crate) struct Workspace {
    /// The repository's root.
    pub(crate) root: PathBuf,
    /// Cargo's target directory.
    pub(crate) target: PathBuf,
    cargo: OsString,
}

impl Workspace {
    /// Asks cargo's environment, so that no path is baked into the binary.
    pub(crate) fn find_root() -> Result<Self> {
        let package = std::env::var_os("CARGO_MANIFEST_DIR").map(PathBuf::from);
        let root = package.and_then(|dir| Some(dir.parent()?.to_owned()));
        let program = std::env::current_exe()?;
        let target = program.ancestors().nth(2).map(PathBuf::from);
        Ok(Self {
            root: root.context("run this as `cargo xtask`")?,
            target: target.context("the program is not in a target directory")?,
            cargo: std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()),
        })
    }

    /// A cargo command at the root that leaves `Cargo.lock` as it is.
    pub(crate) fn cargo_command(&self, subcommand: &str) -> Command {
        let mut command = self.plain_cargo(subcommand);
        command.arg("--locked");
        command
    }

    /// A `cargo test` whose tests find the Python interpreter itself. Many scripted agents are Python programs, and the `python3` of
    /// a version manager such as pyenv is a shell script that needs four times as long as the agent.
    pub(crate) fn cargo_test(&self) -> Command {
        let mut command = self.cargo_command("test");
        command.envs(path_with_python().map(|path| ("PATH", path)));
        command
    }

    /// A cargo command at the root that takes no `--locked`. It does not get the variables that `cargo xtask` sets for this program:
    /// the build script of `ring` runs again when they change, and then all that depends on it is compiled again.
    pub(crate) fn plain_cargo(&self, subcommand: &str) -> Command {
        let mut command = Command::new(&self.cargo);
        command.arg(subcommand).current_dir(&self.root);
        for (name, _) in std::env::vars_os() {
            let bytes = name.as_encoded_bytes();
            if bytes.starts_with(b"CARGO_PKG_") || bytes.starts_with(b"CARGO_MANIFEST_") {
                command.env_remove(name);
            }
        }
        command
    }
}

/// Our `PATH` behind the directory of the interpreter that `python3` starts; none if there is no Python.
fn path_with_python() -> Option<OsString> {
    let mut python = Command::new("python3");
    python.args(["-c", "import sys; print(sys.executable)"]);
    let output = python.output().ok().filter(|it| it.status.success())?;
    let interpreter = PathBuf::from(String::from_utf8(output.stdout).ok()?.trim());
    let path = std::env::var_os("PATH").unwrap_or_default();
    let directories = std::iter::once(interpreter.parent()?.to_owned());
    std::env::join_paths(directories.chain(std::env::split_paths(&path))).ok()
}

/// Runs a command with its output shown, and fails if it does.
pub(crate) fn run(command: &mut Command) -> Result<()> {
    let name = command_name(command);
    let status = command
        .status()
        .with_context(|| format!("cannot start `{name}`"))?;
    ensure!(status.success(), "`{name}` failed ({status})");
    Ok(())
}

/// A command as a person would type it: the program and its subcommand.
fn command_name(command: &Command) -> String {
    let program = Path::new(command.get_program());
    let program = program.file_name().unwrap_or(program.as_os_str());
    let words = [program].into_iter().chain(command.get_args().take(1));
    let words: Vec<_> = words.map(OsStr::to_string_lossy).collect();
    words.join(" ")
}
