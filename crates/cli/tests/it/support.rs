//! Running the real binary.

use std::ffi::OsStr;
use std::fs;
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::mpsc;
use std::thread;

pub(crate) use lapidary_testkit::patience::HANG as DEADLINE;

/// How a command went.
#[derive(Debug, PartialEq)]
pub(crate) struct Ran {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

/// A program that knows nothing of who runs the tests: not where their home of Gemini CLI is, no key, no directory of ours.
pub(crate) fn program(name: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new(name);
    let ours = |name: &OsStr| {
        let name = name.to_string_lossy();
        ["GEMINI_", "GOOGLE_", "LAPIDARY_"]
            .iter()
            .any(|start| name.starts_with(start))
    };
    for (name, _) in std::env::vars_os().filter(|(name, _)| ours(name)) {
        command.env_remove(name);
    }
    command
}

/// The binary, in the repository's root, so that messages name files the same way everywhere.
pub(crate) fn lapidary<S: AsRef<OsStr>>(args: impl IntoIterator<Item = S>) -> Command {
    let mut command = program(env!("CARGO_BIN_EXE_lapidary"));
    command.args(args).current_dir(root());
    for name in ["NO_COLOR", "CLICOLOR", "CLICOLOR_FORCE", "COLUMNS"] {
        command.env_remove(name);
    }
    command
}

/// The same command in a mount namespace of its own, where a directory is a disk of this size. `usual` has a cleared environment.
pub(crate) fn with_a_small_disk(usual: &Command, directory: &Path, size: &str) -> Command {
    fs::create_dir_all(directory).unwrap();
    let mut command = program("unshare");
    command
        .args(["--user", "--map-root-user", "--mount", "sh", "-c"])
        .arg("mount -t tmpfs -o size=\"$1\" none \"$2\" && shift 2 && exec \"$@\"")
        .args(["sh", size])
        .arg(directory)
        .arg(usual.get_program())
        .args(usual.get_args())
        .env_clear();
    command.envs(
        usual
            .get_envs()
            .filter_map(|(name, value)| Some((name, value?))),
    );
    if let Some(directory) = usual.get_current_dir() {
        command.current_dir(directory);
    }
    command
}

/// Runs the binary with nothing on stdin.
pub(crate) fn run(args: &[&str]) -> Ran {
    run_with(args, b"")
}

/// Runs the binary.
pub(crate) fn run_with(args: &[&str], stdin: &[u8]) -> Ran {
    let Output {
        status,
        stdout,
        stderr,
    } = output(lapidary(args), stdin);
    Ran {
        code: status.code(),
        stdout: String::from_utf8(stdout).unwrap(),
        stderr: String::from_utf8(stderr).unwrap(),
    }
}

/// Runs a command that prints bytes.
pub(crate) fn output(mut command: Command, stdin: &[u8]) -> Output {
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut pipe = child.stdin.take().unwrap();
    let stdin = stdin.to_vec();
    // It may end without reading all of it.
    let writer = thread::spawn(move || drop(pipe.write_all(&stdin)));
    let output = ended(child);
    writer.join().unwrap();
    output
}

/// Waits for a child that is expected to end.
pub(crate) fn ended(child: Child) -> Output {
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || sender.send(child.wait_with_output()));
    let waited = receiver.recv_timeout(DEADLINE);
    waited.expect("it ends in time").unwrap()
}

/// The lines that a child prints, as they come.
pub(crate) fn lines_of(child: &mut Child) -> mpsc::Receiver<String> {
    let mut stdout = child.stdout.take().unwrap();
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        let mut line = Vec::new();
        let mut byte = [0];
        while stdout.read(&mut byte).is_ok_and(|count| count == 1) {
            if byte[0] == b'\n' {
                let line = String::from_utf8(std::mem::take(&mut line)).unwrap();
                if sender.send(line).is_err() {
                    return;
                }
            } else {
                line.push(byte[0]);
            }
        }
    });
    receiver
}

/// All captures and session files, as paths from the root.
pub(crate) fn captures() -> Vec<String> {
    let mut found = Vec::new();
    collect(&root().join("fixtures"), &mut found);
    let mut names: Vec<_> = found
        .iter()
        .filter(|path| {
            matches!(
                path.extension().and_then(OsStr::to_str),
                Some("json" | "jsonl")
            )
        })
        .map(|path| path.strip_prefix(root()).unwrap().to_str().unwrap())
        .filter(|name| !name.ends_with(".meta.json"))
        .map(str::to_owned)
        .collect();
    names.sort();
    assert!(names.len() > 100, "the captures are there");
    names
}

fn collect(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            collect(&path, found);
        } else {
            found.push(path);
        }
    }
}

pub(crate) fn root() -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    root.canonicalize().unwrap()
}

/// The bytes of a file of the repository.
pub(crate) fn read(name: &str) -> Vec<u8> {
    fs::read(root().join(name)).unwrap()
}

/// This test is two: as itself it starts itself again, with variables that somebody's shell may have.
#[test]
fn what_a_shell_has_set_reaches_no_command_of_a_test() {
    const SET: [&str; 3] = ["GEMINI_CLI_HOME", "GOOGLE_API_KEY", "LAPIDARY_STATE_DIR"];
    if std::env::var_os("LAPIDARY_TEST_SHELL").is_none() {
        let mut again = Command::new(std::env::current_exe().unwrap());
        again.args([
            "--exact",
            "support::what_a_shell_has_set_reaches_no_command_of_a_test",
        ]);
        again.envs(SET.map(|name| (name, "/nonexistent")));
        again.env("LAPIDARY_TEST_SHELL", "");
        let ran = output(again, b"");
        assert!(ran.status.success(), "{ran:?}");
        return;
    }
    for command in [program("env"), lapidary(["schema"])] {
        let removed = command.get_envs().filter(|(_, value)| value.is_none());
        let removed: Vec<_> = removed.map(|(name, _)| name.to_owned()).collect();
        let all = SET.iter().all(|name| removed.contains(&name.into()));
        assert!(all, "{removed:?}");
    }
    let seen = output(program("env"), b"").stdout;
    let seen = String::from_utf8(seen).unwrap();
    assert!(!seen.contains("/nonexistent"), "{seen}");
}
