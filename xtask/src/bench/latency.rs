//! How long a line takes from the pipe to the event.

use std::ffi::OsString;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};

/// No event by then means that it waits for more input.
const PATIENCE: Duration = Duration::from_secs(5);
const DELTAS: usize = 50;
const STARTS: usize = 10;
const INIT: &str = r#"{"type":"init","timestamp":"2026-11-15T18:19:26.575Z","session_id":"2571a25a-c6c5-4920-a1ff-8824c9c44051","model":"gemini-2.5-flash"}"#;
const DELTA: &str = r#"{"type":"message","timestamp":"2026-11-15T18:19:27.100Z","role":"assistant","content":"Hello, there.","delta":true}"#;

/// Medians of both ways to wait.
#[derive(Debug)]
pub(super) struct LatencyMedians {
    /// From starting the process to its first event.
    pub(super) first: Duration,
    /// From writing a delta to its event.
    pub(super) delta: Duration,
}

/// Talks to a process over open pipes, one line at a time.
pub(super) fn measure_latency(command: &[OsString]) -> Result<LatencyMedians> {
    let mut first = Vec::new();
    for _ in 0..STARTS {
        first.push(TimedProcess::start(command)?.1);
    }
    let (mut talk, _) = TimedProcess::start(command)?;
    let mut deltas = Vec::new();
    for _ in 0..DELTAS {
        // Let the process fall asleep again, as it is when a model thinks.
        std::thread::sleep(Duration::from_millis(2));
        deltas.push(talk.exchange_line(DELTA)?);
    }
    Ok(LatencyMedians {
        first: median_time(first),
        delta: median_time(deltas),
    })
}

/// The one in the middle.
pub(super) fn median_time(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times[times.len() / 2]
}

/// A process with its input held open, and the times at which its lines arrived.
struct TimedProcess {
    child: Child,
    input: ChildStdin,
    arrivals: Receiver<Instant>,
}

impl TimedProcess {
    /// Starts the process and waits for the event of the first line. Returns how long that took.
    fn start(command: &[OsString]) -> Result<(Self, Duration)> {
        let (program, args) = command.split_first().context("nothing to start")?;
        let started = Instant::now();
        let mut child = Command::new(program)
            .args(args)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let input = child.stdin.take().context("stdin is piped")?;
        let output = child.stdout.take().context("stdout is piped")?;
        let (sender, arrivals) = channel();
        // It ends with the process's output, or when the receiver is dropped.
        std::thread::spawn(move || {
            for line in BufReader::new(output).split(b'\n') {
                if line.is_err() || sender.send(Instant::now()).is_err() {
                    break;
                }
            }
        });
        let mut talk = Self {
            child,
            input,
            arrivals,
        };
        talk.exchange_line(INIT)?;
        let first = started.elapsed();
        Ok((talk, first))
    }

    /// Writes a line, waits for the next line to arrive and returns the time between.
    fn exchange_line(&mut self, line: &str) -> Result<Duration> {
        let written = Instant::now();
        self.input.write_all(format!("{line}\n").as_bytes())?;
        let arrived = self.arrivals.recv_timeout(PATIENCE).with_context(|| {
            format!("no event within {PATIENCE:?} while the pipe is open: it waits for more input")
        })?;
        Ok(arrived.duration_since(written))
    }
}

impl Drop for TimedProcess {
    fn drop(&mut self) {
        // The measure is taken; how it ends does not matter.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
