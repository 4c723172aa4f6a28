//! Runs a command of our binary in this process, on a thread of its own: most tests are about the effect of a command, and a
//! start of the binary costs more than most commands.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read as _, Seek as _, Write as _};
use std::os::fd::OwnedFd;
use std::os::unix::process::ExitStatusExt as _;
use std::panic::resume_unwind;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Output};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;

use lapidary_cli::{Invocation, StandardStreams};

use super::DEADLINE;

/// The stack of the main thread.
const STACK_BYTES: usize = 8 << 20;

/// The variable with which every command is started as a process: the tests must find the same.
const START_ALL: &str = "LAPIDARY_TEST_START_ALL";

/// The output of a command of our binary. None for any other program, and where a thread cannot have a directory of its own: then
/// the program has to be started.
pub(super) fn output(command: &Command, stdin: &[u8]) -> Option<Output> {
    let is_ours = command.get_program() == env!("CARGO_BIN_EXE_lapidary");
    if !is_ours || std::env::var_os(START_ALL).is_some() {
        return None;
    }
    let (stdout, stderr) = (tempfile::tempfile().unwrap(), tempfile::tempfile().unwrap());
    let (input, mut feed) = io::pipe().unwrap();
    let directory = directory(command);
    let invocation = Invocation {
        args: arguments(command),
        variables: variables(command),
        current_dir: Ok(directory.clone()),
        program: Ok(command.get_program().into()),
        streams: StandardStreams::Files {
            stdin: File::from(OwnedFd::from(input)),
            stdout: stdout.try_clone().unwrap(),
            stderr: stderr.try_clone().unwrap(),
        },
    };
    let stdin = stdin.to_vec();
    // It may end without reading all of it.
    let writer = thread::spawn(move || drop(feed.write_all(&stdin)));
    let code = on_a_thread(invocation, directory)?;
    writer.join().unwrap();
    Some(Output {
        status: ExitStatus::from_raw(i32::from(code) << 8),
        stdout: written(stdout),
        stderr: written(stderr),
    })
}

/// The exit code. A panic of the command is one of the test.
fn on_a_thread(invocation: Invocation, directory: PathBuf) -> Option<u8> {
    let (sender, receiver) = mpsc::channel();
    let builder = thread::Builder::new().stack_size(STACK_BYTES);
    let running = builder.spawn(move || {
        let code = enter(&directory).then(|| lapidary_cli::run(invocation));
        let _ = sender.send(code); // fails once the test has given up
    });
    match receiver.recv_timeout(DEADLINE) {
        Ok(code) => code,
        Err(RecvTimeoutError::Timeout) => panic!("it ends in time"),
        Err(RecvTimeoutError::Disconnected) => resume_unwind(running.unwrap().join().unwrap_err()),
    }
}

/// Gives this thread, and the threads that it starts, a current directory of their own. Containers may refuse that.
fn enter(directory: &Path) -> bool {
    use nix::sched::{CloneFlags, unshare};
    if unshare(CloneFlags::CLONE_FS).is_err() {
        return false;
    }
    std::env::set_current_dir(directory).unwrap();
    true
}

fn directory(command: &Command) -> PathBuf {
    let named = command.get_current_dir().map(Path::to_owned);
    named.unwrap_or_else(|| std::env::current_dir().unwrap())
}

fn arguments(command: &Command) -> Vec<OsString> {
    let words = [command.get_program()]
        .into_iter()
        .chain(command.get_args());
    words.map(OsString::from).collect()
}

/// The variables that the program would have. Only the debug form of a command tells whether it has none but its own.
fn variables(command: &Command) -> Vec<(OsString, OsString)> {
    let is_cleared = format!("{command:?}").contains("env -i ");
    let is_replaced = |name: &OsString| command.get_envs().any(|(changed, _)| changed == name);
    let inherited = std::env::vars_os().filter(|(name, _)| !is_cleared && !is_replaced(name));
    let own = command.get_envs();
    let own = own.filter_map(|(name, value)| Some((name.to_owned(), value?.to_owned())));
    inherited.chain(own).collect()
}

fn written(mut file: File) -> Vec<u8> {
    let mut bytes = Vec::new();
    file.rewind().unwrap();
    file.read_to_end(&mut bytes).unwrap();
    bytes
}
