//! A server of one client, on this process's stdin and stdout: an MCP server, or an agent for an editor.
//!
//! Neither can be waited for on every system, and a client may pass a pipe, a socket or a file. So a thread reads stdin, the main
//! thread writes stdout, and the server runs on a third, between two pipes in memory: a client that does not read blocks only the
//! main thread.

use std::io::{self, Write as _};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use anyhow::anyhow;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, DuplexStream};
use tokio::runtime::{Builder, Handle};
use tokio_util::sync::CancellationToken;

use crate::exit::CommandExit;
use crate::failure::Failure;
use crate::printer::Printer;

/// Bytes between the threads and the server. More wait in the client's own pipe.
const PIPE: usize = 64 * 1024;

/// How long the main thread may take to write the last answers. Then a client that does not read is left behind.
const LAST_ANSWERS: Duration = Duration::from_secs(2);

/// Serves until the client closes stdin, or a signal ends us. `serve` gets stdin, stdout and the signal; nothing that it started
/// runs when it is done. Returns its result.
pub(in crate::commands) fn serve_stdio<T: Send + 'static, F: Future<Output = T>>(
    serve: impl FnOnce(DuplexStream, DuplexStream, CancellationToken) -> F + Send + 'static,
    out: &mut Printer,
) -> Result<Option<T>, Failure> {
    let runtime = Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| Failure::internal(anyhow!(error)))?;
    let stopped = CancellationToken::new();
    let stop = stopped.clone();
    // Without it signals have their default effect, and the supervisor cleans up.
    let _ = out
        .invocation
        .on_interruptions(async move |mut interruptions| {
            interruptions.next().await;
            stop.cancel();
        });
    let (reads, input) = tokio::io::duplex(PIPE);
    let (output, writes) = tokio::io::duplex(PIPE);
    let handle = runtime.handle().clone();
    let (written, is_written) = mpsc::channel();
    start_thread("lapidary-stdin", {
        let (handle, stdin) = (handle.clone(), out.invocation.stdin_reader());
        move || copy_stdin(&handle, stdin, input)
    })?;
    let (done, is_done) = mpsc::channel();
    start_thread("lapidary-server", move || {
        let result = runtime.block_on(serve(reads, writes, stopped));
        let _ = done.send(result); // the main thread may have failed to write
        runtime.shutdown_background(); // a search that still runs only reads
        if is_written.recv_timeout(LAST_ANSWERS).is_err() {
            exit_process();
        }
    })?;
    let copied = copy_to(out, &handle, output);
    let _ = written.send(()); // the server's thread may have ended
    match copied {
        Ok(()) => Ok(is_done.recv().ok()),
        // The next write of the server fails, since its pipe has ended.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {
            Ok(is_done.recv_timeout(LAST_ANSWERS).ok())
        }
        Err(error) => Err(error.into()),
    }
}

fn start_thread(name: &str, body: impl FnOnce() + Send + 'static) -> Result<(), Failure> {
    let thread = thread::Builder::new().name(name.to_owned());
    let spawned = thread.spawn(body).map(drop);
    spawned.map_err(|error| Failure::internal(anyhow!(error)))
}

/// Copies stdin to its end. A read of stdin cannot be given up: the thread ends with us.
fn copy_stdin(handle: &Handle, mut stdin: impl io::Read, mut input: DuplexStream) {
    let mut buffer = vec![0; PIPE];
    loop {
        match stdin.read(&mut buffer) {
            Ok(0) => return,
            Ok(count) => {
                if handle.block_on(input.write_all(&buffer[..count])).is_err() {
                    return;
                }
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(_) => return,
        }
    }
}

/// Copies the server's lines to stdout, until it ends. If stdout is closed, the server is told by the end of its pipe.
fn copy_to(out: &mut Printer, handle: &Handle, mut output: DuplexStream) -> io::Result<()> {
    let mut buffer = vec![0; PIPE];
    loop {
        let count = handle.block_on(output.read(&mut buffer))?;
        if count == 0 {
            return Ok(());
        }
        out.write_all(&buffer[..count])?;
        out.flush()?;
    }
}

#[expect(
    clippy::exit,
    reason = "the main thread hangs in a write that may never end"
)]
fn exit_process() -> ! {
    std::process::exit(CommandExit::Success.exit_code().into());
}
