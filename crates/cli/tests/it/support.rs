//! Running commands: in this process where that shows the same, else by the real binary.

mod in_process;

use std::ffi::OsStr;
use std::fs;
use std::io::{Read, Write as _};
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
    let mount = format!("mount -t tmpfs -o size={size} none \"$1\"");
    with_a_mount(usual, directory, &mount)
}

/// The same, where a directory and its content are mounted read-only.
pub(crate) fn with_a_read_only(usual: &Command, directory: &Path) -> Command {
    let mount = "mount --bind \"$1\" \"$1\" && mount -o remount,bind,ro \"$1\"";
    with_a_mount(usual, directory, mount)
}

/// The same, where a directory is a full disk with the content of the directory.
pub(crate) fn with_a_full_disk(usual: &Command, directory: &Path) -> Command {
    let mount = "cp -r \"$1\" \"$1.copy\" && mount -t tmpfs -o size=4m none \"$1\" && cp -r \"$1.copy/.\" \"$1\" && { cat /dev/zero > \"$1/.filling\" 2> /dev/null; true; }";
    with_a_mount(usual, directory, mount)
}

fn with_a_mount(usual: &Command, directory: &Path, mount: &str) -> Command {
    let mut command = program("unshare");
    command
        .args(["--user", "--map-root-user", "--mount", "sh", "-c"])
        .arg(format!("{mount} && shift && exec \"$@\""))
        .arg("sh")
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

/// Runs a command on a terminal of so many columns, and copies the terminal's output to stdout.
const ON_A_TERMINAL: &str = "import fcntl, os, pty, struct, sys, termios
pid, terminal = pty.fork()
if pid == 0:
    fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack('HHHH', 24, int(sys.argv[1]), 0, 0))
    os.execvp(sys.argv[2], sys.argv[2:])
try:
    while shown := os.read(terminal, 65536): os.write(1, shown)
except OSError: pass
sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))";

/// Runs a command, with just the variables that it was given, on a terminal of so many columns. Stdout is all that the terminal was
/// sent, with plain ends of lines.
pub(crate) fn on_a_terminal(usual: &Command, columns: u16) -> Ran {
    let mut python = program("python3");
    python.args(["-c", ON_A_TERMINAL, &columns.to_string(), "env", "-i"]);
    for (name, value) in usual.get_envs() {
        let mut variable = name.to_owned();
        variable.push("=");
        variable.push(value.unwrap_or_default());
        python.arg(variable);
    }
    python.arg(usual.get_program()).args(usual.get_args());
    if let Some(directory) = usual.get_current_dir() {
        python.current_dir(directory);
    }
    let ran = output(python, b"");
    Ran {
        code: ran.status.code(),
        stdout: String::from_utf8(ran.stdout).unwrap().replace("\r\n", "\n"),
        stderr: String::from_utf8(ran.stderr).unwrap(),
    }
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

/// Runs a command that prints bytes: ours in this process, any other program as a process.
pub(crate) fn output(command: Command, stdin: &[u8]) -> Output {
    let ran = in_process::output(&command, stdin);
    ran.unwrap_or_else(|| started(command, stdin))
}

/// Runs a command as a process of its own: for tests about signals, limits, and the process itself.
pub(crate) fn started(mut command: Command, stdin: &[u8]) -> Output {
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
    lines_from(child.stdout.take().unwrap())
}

/// The lines of an output of a child, as they come.
pub(crate) fn lines_from(mut output: impl Read + Send + 'static) -> mpsc::Receiver<String> {
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        let mut line = Vec::new();
        let mut byte = [0];
        while output.read(&mut byte).is_ok_and(|count| count == 1) {
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

/// Commands of every group, right and wrong ones, that read nothing of this machine but the repository and the home.
const COMMANDS: [&[&str]; 22] = [
    &[],
    &["--version"],
    &["--help"],
    &["run", "--help"],
    &["run", "--agnet", "x", "go"],
    &[
        "run", "--agent", "demo", "--run-id", "r", "--format", "result", "--budget", "none", "go",
    ],
    &[
        "translate",
        "fixtures/gemini-0.61.0/tool-replace.stdout.jsonl",
    ],
    &["translate", "--format", "text", "-"],
    &["translate", "nowhere.jsonl"],
    &["sessions", "list"],
    &["sessions", "search", "word"],
    &["sessions", "browse"],
    &["skills", "list"],
    &["hooks", "list", "--format", "text"],
    &["agents", "list"],
    &["agents", "check", "nowhere.md"],
    &["runs", "list", "--format", "text"],
    &["runs", "show", "none"],
    &["policy", "compile", "nowhere.toml", "--agent", "claude"],
    &["config", "show"],
    &["schema", "events"],
    &["completions", "bash"],
];

#[test]
fn a_command_in_this_process_prints_and_returns_what_the_binary_does() {
    let home = tempfile::tempdir().unwrap();
    for args in COMMANDS {
        let command = || {
            let mut command = lapidary(args);
            command.env_clear().env("HOME", home.path());
            command.env("PATH", "/usr/bin:/bin");
            command
        };
        let told = |ran: Output| Ran {
            code: ran.status.code(),
            stdout: String::from_utf8(ran.stdout).unwrap(),
            stderr: String::from_utf8(ran.stderr).unwrap(),
        };
        let stdin = b"{\"type\":\"result\",\"status\":\"success\"}\n";
        let ours = told(output(command(), stdin));
        assert_eq!(ours, told(started(command(), stdin)), "{args:?}");
        assert!(
            !ours.stdout.is_empty() || !ours.stderr.is_empty(),
            "{args:?}"
        );
    }
}

/// This test runs in two processes: the first starts the test again, with variables that a user's shell may set.
#[test]
fn variables_of_the_users_shell_reach_no_command_of_a_test() {
    const SET: [&str; 3] = ["GEMINI_CLI_HOME", "GOOGLE_API_KEY", "LAPIDARY_STATE_DIR"];
    if std::env::var_os("LAPIDARY_TEST_SHELL").is_none() {
        let mut again = Command::new(std::env::current_exe().unwrap());
        again.args([
            "--exact",
            "support::variables_of_the_users_shell_reach_no_command_of_a_test",
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
