//! A command, from its start to the end of everything that it started.

use std::ffi::OsString;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use lapidary_process::{Command, Exit, Running, StartError, Stdio};
use tokio::io::AsyncReadExt as _;
use tokio::net::unix::pipe;
use tokio::time::{Instant, sleep, sleep_until, timeout};
use tokio_util::sync::CancellationToken;

use super::output::{ShellOutput, mark_untrusted, shortened_output};
use super::{ShellCall, ShellSettings};
use crate::tool::{ToolErrorKind, ToolOutput};

/// How long a command that is to end has for that.
const GRACE: Duration = Duration::from_millis(200);
/// A supervisor that does not end its process in this time is given up.
const GIVE_UP: Duration = Duration::from_secs(10);
/// The rest of the pipe is read within this time after the command has ended.
const DRAIN: Duration = Duration::from_millis(500);

const CHUNK: usize = 64 * 1024;

/// Variables that keep commands from waiting for a person.
const QUIET: [(&str, &str); 9] = [
    ("GEMINI_CLI", "1"),
    ("TERM", "xterm-256color"),
    ("PAGER", "cat"),
    ("GIT_PAGER", "cat"),
    ("GIT_TERMINAL_PROMPT", "0"),
    ("GIT_ASKPASS", ""),
    ("SSH_ASKPASS", ""),
    ("GH_PROMPT_DISABLED", "1"),
    ("GCM_INTERACTIVE", "never"),
];

/// Why a command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ending {
    ByItself(Option<Exit>),
    Cancelled,
    Silent,
}

impl ShellCall {
    pub(super) async fn run_command(self, cancelled: &CancellationToken) -> ToolOutput {
        let (mut running, mut reader) = match self.start_command().await {
            Ok(started) => started,
            Err(error) => return not_started(&error),
        };
        let pid = running.pid();
        let mut output = ShellOutput::default();
        let ending = follow_command(
            &mut running,
            &mut reader,
            &mut output,
            cancelled,
            &self.settings,
        )
        .await;
        if !matches!(ending, Ending::ByItself(_)) {
            end_command(&mut running).await;
        }
        drain_output(&mut reader, &mut output).await;
        self.command_output(ending, &output.into_text(), pid)
    }

    async fn start_command(&self) -> Result<(Running, pipe::Receiver), StartError> {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let failed = |source| StartError::Spawn {
            program: self.settings.shell.clone(),
            source,
        };
        let (ours, theirs) = std::io::pipe().map_err(failed)?;
        let stdio = Stdio {
            stdout: theirs.try_clone().map_err(failed)?.into(),
            stderr: theirs.into(),
            ..Stdio::null().map_err(failed)?
        };
        let reader = pipe::Receiver::from_owned_fd(OwnedFd::from(ours)).map_err(failed)?;
        let mut command = Command::new(&self.settings.shell, &self.directory);
        command.args(["-c", self.command.as_str()]);
        command
            .envs(self.settings.environment.iter().cloned())
            .envs(QUIET);
        command.envs([("PWD", OsString::from(&self.directory))]);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        command.mark(
            "LAPIDARY_COMMAND",
            format!("{}-{number}", std::process::id()),
        );
        let running = self.settings.supervisor.start(command, stdio).await?;
        Ok((running, reader))
    }

    fn command_output(&self, ending: Ending, output: &str, pid: i32) -> ToolOutput {
        let (text, display) = match ending {
            Ending::ByItself(exit) => ended_texts(exit, output, pid),
            Ending::Cancelled => {
                let display = cancelled_display("Command cancelled by user.", output);
                (
                    cancelled_text(
                        "Command was cancelled by user before it could complete.",
                        output,
                    ),
                    display,
                )
            }
            Ending::Silent => {
                let minutes = self.settings.silence.as_secs_f64() / 60.0;
                let words = format!(
                    "Command was automatically cancelled because it exceeded the timeout of {minutes:.1} minutes without output."
                );
                (
                    cancelled_text(&words, output),
                    cancelled_display(&words, output),
                )
            }
        };
        ToolOutput {
            text: shortened_output(
                mark_untrusted(&text),
                self.settings.most_letters,
                &self.temporary,
            ),
            display: Some(display),
            ..ToolOutput::default()
        }
    }
}

/// The answer to a command that was not started.
fn not_started(error: &StartError) -> ToolOutput {
    let source = std::error::Error::source(error).map(|source| format!(": {source}"));
    let why = format!("{error}{}", source.unwrap_or_default());
    ToolOutput {
        text: mark_untrusted(&format!("Output: (empty)\nError: {why}\nExit Code: 1")),
        display: Some(format!("Command failed: {why}")),
        error: Some(ToolErrorKind("shell_execute_error")),
        ..ToolOutput::default()
    }
}

/// The answer to a command that ended by itself.
fn ended_texts(exit: Option<Exit>, output: &str, pid: i32) -> (String, String) {
    let mut parts = vec![format!(
        "Output: {}",
        if output.is_empty() { "(empty)" } else { output }
    )];
    let mut display = output.to_owned();
    match exit {
        Some(Exit::Code(0)) => {}
        Some(Exit::Code(code)) => {
            parts.push(format!("Exit Code: {code}"));
            if output.is_empty() {
                display = format!("Command exited with code: {code}");
            }
        }
        Some(Exit::Signal(signal)) => {
            parts.push(format!("Signal: {signal}"));
            if output.is_empty() {
                display = format!("Command terminated by signal: {signal}");
            }
        }
        None => parts.push("Error: it is not known how the command ended".to_owned()),
    }
    parts.push(format!("Process Group PGID: {pid}"));
    (parts.join("\n"), display)
}

fn cancelled_text(words: &str, output: &str) -> String {
    if output.is_empty() {
        format!("{words} There was no output before it was cancelled.")
    } else {
        format!("{words} Below is the output before it was cancelled:\n{output}")
    }
}

fn cancelled_display(words: &str, output: &str) -> String {
    if output.is_empty() {
        words.to_owned()
    } else {
        format!("{words}\n\nOutput before cancellation:\n{output}")
    }
}

/// Reads the command's output until it ends, is cancelled, or is silent for too long. All futures here can be dropped and taken up
/// again.
async fn follow_command(
    running: &mut Running,
    reader: &mut pipe::Receiver,
    output: &mut ShellOutput,
    cancelled: &CancellationToken,
    settings: &ShellSettings,
) -> Ending {
    let mut chunk = vec![0; CHUNK];
    let mut is_open = true;
    let mut deadline = Instant::now() + settings.silence;
    loop {
        tokio::select! {
            biased;
            () = cancelled.cancelled() => return Ending::Cancelled,
            count = reader.read(&mut chunk), if is_open => match count {
                Ok(0) | Err(_) => is_open = false,
                Ok(count) => {
                    output.push(&chunk[..count]);
                    deadline = Instant::now() + settings.silence;
                }
            },
            ended = running.wait() => return Ending::ByItself(ended.exit),
            () = sleep_until(deadline) => return Ending::Silent,
        }
    }
}

/// Ends the command and everything that it started.
async fn end_command(running: &mut Running) {
    running.stop(GRACE).await;
    if timeout(GIVE_UP, running.wait()).await.is_err() {
        running.abandon().await;
    }
}

/// Reads the rest. A process that we cannot end may hold the pipe open.
async fn drain_output(reader: &mut pipe::Receiver, output: &mut ShellOutput) {
    let enough = sleep(DRAIN);
    tokio::pin!(enough);
    let mut chunk = vec![0; CHUNK];
    loop {
        tokio::select! {
            biased;
            () = &mut enough => return,
            count = reader.read(&mut chunk) => match count {
                Ok(0) | Err(_) => return,
                Ok(count) => output.push(&chunk[..count]),
            },
        }
    }
}
