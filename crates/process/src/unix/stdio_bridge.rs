//! Connects an agent's MCP client with a server in the process of its run.
//!
//! The agent starts the server by a command line: this program, executed again, which copies its stdin to a socket of the run and the
//! socket to its stdout. The socket lies in a private directory, so its path is no secret.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Read, Write};
use std::net::Shutdown;
use std::os::fd::AsRawFd as _;
use std::os::unix::net;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::thread;

use tokio::net::UnixListener;

/// The argument that makes a program a bridge. The path of the socket follows.
const ARGUMENT: &str = "__stdio-bridge";

/// Bytes that are copied at once.
const CHUNK: usize = 64 * 1024;

/// One connected bridge, at the end of the run.
pub type BridgeStream = tokio::net::UnixStream;

/// Accepts bridges at a socket.
#[derive(Debug)]
pub struct BridgeListener(UnixListener);

impl BridgeListener {
    /// Makes the socket, in a directory that only this user can enter. Needs a runtime.
    ///
    /// # Errors
    /// The directory is not there, or the file is.
    pub fn bind(socket: &Path) -> io::Result<Self> {
        let listener = with_short_path(socket, |path| net::UnixListener::bind(path))?;
        listener.set_nonblocking(true)?;
        UnixListener::from_std(listener).map(Self)
    }

    /// The next bridge. Can be cancelled.
    ///
    /// # Errors
    /// The system has no descriptor left.
    pub async fn accept(&self) -> io::Result<BridgeStream> {
        self.0.accept().await.map(|(stream, _)| stream)
    }
}

/// The arguments with which this program is a bridge to a socket.
pub fn bridge_arguments(socket: &Path) -> [OsString; 2] {
    [OsString::from(ARGUMENT), socket.as_os_str().to_owned()]
}

/// Copies between stdio and a socket if the arguments of this process say so, and returns how it is to exit. To be called first thing
/// in `main`.
pub fn run_if_asked(mut args: impl Iterator<Item = OsString>) -> Option<ExitCode> {
    let is_asked = args.nth(1).is_some_and(|arg| arg == ARGUMENT);
    let socket = args.next().filter(|_| is_asked)?;
    Some(match copy_both_ways(Path::new(&socket)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE, // the run is over, or the agent is gone
    })
}

/// Copies until the run closes the socket. The thread that reads stdin ends with the process.
fn copy_both_ways(socket: &Path) -> io::Result<()> {
    let mut from_run = with_short_path(socket, |path| net::UnixStream::connect(path))?;
    let to_run = from_run.try_clone()?;
    thread::Builder::new().spawn(move || {
        let _ = copy_chunks(io::stdin().lock(), &to_run); // either end is gone
        let _ = to_run.shutdown(Shutdown::Write);
    })?;
    copy_chunks(&mut from_run, io::stdout().lock())
}

/// `io::copy` would leave the last bytes in the buffer of stdout.
fn copy_chunks(mut reads: impl Read, mut writes: impl Write) -> io::Result<()> {
    let mut chunk = vec![0; CHUNK];
    loop {
        match reads.read(&mut chunk) {
            Ok(0) => return Ok(()),
            Ok(count) => {
                writes.write_all(&chunk[..count])?;
                writes.flush()?;
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

/// Uses a socket by a path of a few bytes: an address has room for about a hundred, and directories of recordings can be longer.
fn with_short_path<T>(socket: &Path, action: impl FnOnce(&Path) -> io::Result<T>) -> io::Result<T> {
    let (Some(directory), Some(name)) = (socket.parent(), socket.file_name()) else {
        return Err(io::ErrorKind::InvalidInput.into());
    };
    let directory = File::open(directory)?;
    action(&short_path(&directory, name).unwrap_or_else(|| socket.to_owned()))
}

/// The path by the descriptor of its directory, on Linux.
fn short_path(directory: &File, name: &OsStr) -> Option<PathBuf> {
    let path = PathBuf::from(format!("/proc/self/fd/{}", directory.as_raw_fd()));
    path.exists().then(|| path.join(name))
}

#[cfg(test)]
mod tests {
    use std::io::BufRead as _;

    use super::*;

    #[tokio::test]
    async fn a_socket_is_reached_by_a_path_that_is_longer_than_an_address() {
        let home = tempfile::tempdir().unwrap();
        let directory = home.path().join("d".repeat(200));
        std::fs::create_dir(&directory).unwrap();
        let socket = directory.join("answers");
        let listener = BridgeListener::bind(&socket).unwrap();
        let client = thread::spawn(move || {
            let stream = with_short_path(&socket, |path| net::UnixStream::connect(path)).unwrap();
            (&stream).write_all(b"hello\n").unwrap();
        });
        let stream = listener.accept().await.unwrap().into_std().unwrap();
        stream.set_nonblocking(false).unwrap();
        let mut line = String::new();
        io::BufReader::new(stream).read_line(&mut line).unwrap();
        assert_eq!(line, "hello\n");
        client.join().unwrap();
    }

    #[test]
    fn other_arguments_start_no_bridge() {
        for words in [
            &["lapidary"][..],
            &["lapidary", "run", "x"],
            &["l", ARGUMENT],
        ] {
            let args = words.iter().map(OsString::from);
            assert_eq!(run_if_asked(args), None, "{words:?}");
        }
    }
}
