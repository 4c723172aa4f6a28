//! A small disk for the state of workers, which can be filled: a mount in a namespace that ends with the test.

use std::fs::{self, File};
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Instant;

use crate::support::program;

/// The process that keeps the namespace. It ends when its stdin is closed, also if this test is killed.
pub(super) struct SmallDisk {
    keeper: Child,
    /// The disk as this process reaches it.
    directory: PathBuf,
    full_until: Option<Instant>,
}

impl SmallDisk {
    /// A disk of so many MiB in place of a directory.
    pub(super) fn mount(directory: &Path, mebibytes: usize) -> Self {
        fs::create_dir_all(directory).unwrap();
        let script = "mount -t tmpfs -o size=\"$2m\" none \"$1\" && echo ready && exec cat";
        let mut keeper = program("unshare")
            .args(["--user", "--map-root-user", "--mount"])
            .args(["sh", "-c", script, "sh"])
            .arg(directory)
            .arg(mebibytes.to_string())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut ready = String::new();
        let stdout = keeper.stdout.take().unwrap();
        BufReader::new(stdout).read_line(&mut ready).unwrap();
        assert_eq!(ready, "ready\n", "the disk is mounted");
        let root = PathBuf::from(format!("/proc/{}/root", keeper.id()));
        Self {
            keeper,
            directory: root.join(directory.strip_prefix("/").unwrap()),
            full_until: None,
        }
    }

    /// The same command with this disk. Its process is the command's own.
    pub(super) fn enter(&self, usual: &Command) -> Command {
        let mut command = program("nsenter");
        command
            .args(["--user", "--mount", "--target"])
            .arg(self.keeper.id().to_string())
            .args(["sh", "-c", "cd \"$1\" && shift && exec \"$@\"", "sh"])
            .arg(usual.get_current_dir().unwrap())
            .arg(usual.get_program())
            .args(usual.get_args())
            .env_clear();
        let variables = usual.get_envs();
        command.envs(variables.filter_map(|(name, value)| Some((name, value?))));
        command
    }

    /// Fills the disk until then. False if it is full already.
    pub(super) fn fill(&mut self, until: Instant) -> bool {
        if self.full_until.is_some() {
            return false;
        }
        let mut file = File::create(self.filling()).unwrap();
        let piece = vec![0; 64 * 1024];
        while file.write_all(&piece).is_ok() {}
        self.full_until = Some(until);
        true
    }

    /// Makes room again when the time has come.
    pub(super) fn mend(&mut self, now: Instant) {
        if self.full_until.is_some_and(|until| until <= now) {
            self.empty();
        }
    }

    pub(super) fn empty(&mut self) {
        if self.full_until.take().is_some() {
            fs::remove_file(self.filling()).unwrap();
        }
    }

    /// The files of a run, with the beginnings of their texts: evidence for a check that failed.
    pub(super) fn files_of(&self, run: &str) -> Vec<(PathBuf, String)> {
        let mut waiting = vec![self.directory.join("runs"), self.directory.join("fleet")];
        let mut found = Vec::new();
        while let Some(directory) = waiting.pop() {
            for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
                let path = entry.path();
                if path.is_dir() {
                    waiting.push(path);
                } else if path.to_string_lossy().contains(run) {
                    let text = fs::read_to_string(&path).unwrap_or_default();
                    found.push((path, text.chars().take(2000).collect()));
                }
            }
        }
        found
    }

    fn filling(&self) -> PathBuf {
        self.directory.join("filling")
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        drop(self.keeper.stdin.take());
        let _ = self.keeper.wait();
    }
}
