//! Short programs that we wait for, without a supervisor: another process would cost more than the program itself.
//!
//! The program inherits only the environment of its [`Command`]. Its output is kept up to a bound. A program that takes too long
//! is ended with every process that it started: its group, its descendants, and each process with its mark in the environment,
//! which finds processes that left both. Only a process that discards its environment and its parents escapes.

use std::hash::{BuildHasher as _, RandomState};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::sync::{Mutex, MutexGuard, Semaphore, SemaphorePermit, watch};
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;

use super::system::UnsupervisedChild;
use super::{Command, Exit, StartError};

/// What everything that such a program starts has in its environment, with a value that nothing else has.
pub const MARK: &str = "LAPIDARY_BRIEF";

/// The size of one read of output beyond the bound, which is discarded.
const SCRATCH: usize = 64 * 1024;

/// A short program with its input and its bounds.
#[derive(Debug, Clone)]
pub struct ShortCommand {
    /// The program and its directory. A mark is added to its environment.
    pub command: Command,
    /// Its standard input. A program that does not read it is no error.
    pub input: Arc<[u8]>,
    /// How long it may take, including processes that it leaves behind with its output open.
    pub timeout: Duration,
    /// How many bytes of its stdout are kept.
    pub most_output: usize,
    /// How many bytes of its stderr are kept.
    pub most_stderr: usize,
}

/// The result of a short command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FinishedCommand {
    /// How the program itself ended. Unknown only if it cannot be killed.
    pub exit: Option<Exit>,
    /// The reason of its end.
    pub end: CommandEnd,
    /// How long it took.
    pub duration: Duration,
    /// Its standard output.
    pub stdout: CapturedOutput,
    /// Its standard error.
    pub stderr: CapturedOutput,
    /// How many of its processes could not be ended.
    pub immortal: u32,
}

/// The reason of a program's end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CommandEnd {
    /// It ended, and everything that held its output did.
    ByItself,
    /// It took too long, and was killed.
    TimedOut,
    /// The caller cancelled it, and it was killed.
    Cancelled,
    /// The caller cancelled it before its turn came: it was never started.
    NotStarted,
}

/// Output up to the bound.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CapturedOutput {
    /// The beginning.
    pub bytes: Vec<u8>,
    /// How many bytes came after it and were thrown away.
    pub left_out: u64,
}

/// How many run at once; others wait for their turn. Each takes seven descriptors, and without a free descriptor no program
/// starts.
static TURNS: Semaphore = Semaphore::const_new(64);

/// How many are being ended.
static ENDING: LazyLock<watch::Sender<usize>> = LazyLock::new(watch::Sender::default);

/// Waits for a turn. A caller that must wait also waits for programs that are being ended, and lets them go first: starting a
/// program takes longer than any other step here, and ending one has a deadline.
async fn start_turn() -> StartPermit {
    static START: Mutex<()> = Mutex::const_new(());
    if let Ok(turn) = TURNS.try_acquire() {
        return (Some(turn), None);
    }
    let turn = TURNS.acquire().await.ok(); // it never closes
    let start = START.lock().await;
    let mut ending = ENDING.subscribe();
    loop {
        let _ = ending.wait_for(|ending| *ending == 0).await; // it never closes either
        tokio::task::yield_now().await;
        if *ending.borrow() == 0 {
            return (turn, Some(start));
        }
    }
}

/// A turn, and the lock under which one program at a time is started.
type StartPermit = (
    Option<SemaphorePermit<'static>>,
    Option<MutexGuard<'static, ()>>,
);

/// Counts a program that is being ended, for as long as this value lives.
struct EndingGuard;

impl EndingGuard {
    fn begin() -> Self {
        ENDING.send_modify(|ending| *ending += 1);
        Self
    }
}

impl Drop for EndingGuard {
    fn drop(&mut self) {
        ENDING.send_modify(|ending| *ending -= 1);
    }
}

impl ShortCommand {
    /// Runs it to its end. Dropping this kills it, and everything that it started.
    pub async fn run(mut self, cancel: &CancellationToken) -> Result<FinishedCommand, StartError> {
        let asked = Instant::now();
        let turn = cancel.run_until_cancelled(start_turn()).await;
        let Some((_turn, start)) = turn.filter(|_| !cancel.is_cancelled()) else {
            return Ok(FinishedCommand::not_started(asked.elapsed()));
        };
        let started = Instant::now();
        self.command.mark(MARK, fresh_mark());
        let mut alone = UnsupervisedChild::start(&self.command)
            .map_err(|source| StartError::refused(&self.command, source))?;
        drop(start);
        let (mut stdout, mut stderr) = (CapturedOutput::default(), CapturedOutput::default());
        // Keep our pipe ends open until the child exits. A hook that gets SIGPIPE exits with a code that we would misread as its
        // answer.
        let (mut stdin, mut out, mut err) = alone.pipes();
        let talking = async {
            // The program is reaped last: until then no other process can have its process id, or its group's.
            tokio::join!(
                stdout.fill(out.as_mut(), self.most_output),
                stderr.fill(err.as_mut(), self.most_stderr),
            );
            alone.wait().await
        };
        let feeding = async {
            feed_stdin(&mut stdin, &self.input).await;
            std::future::pending().await // having read is not having ended
        };
        let (exit, end) = tokio::select! {
            biased;
            () = cancel.cancelled() => (None, CommandEnd::Cancelled),
            () = sleep(self.timeout) => (None, CommandEnd::TimedOut),
            exit = talking => (exit, CommandEnd::ByItself),
            exit = feeding => exit,
        };
        let (exit, immortal) = match end {
            CommandEnd::ByItself => (exit, alone.release()),
            CommandEnd::TimedOut | CommandEnd::Cancelled | CommandEnd::NotStarted => {
                let _ending = EndingGuard::begin();
                alone.end().await
            }
        };
        Ok(FinishedCommand {
            exit,
            end,
            duration: started.elapsed(),
            stdout,
            stderr,
            immortal,
        })
    }
}

impl FinishedCommand {
    fn not_started(duration: Duration) -> Self {
        Self {
            exit: None,
            end: CommandEnd::NotStarted,
            duration,
            stdout: CapturedOutput::default(),
            stderr: CapturedOutput::default(),
            immortal: 0,
        }
    }
}

impl CapturedOutput {
    /// The beginning as text.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.bytes).into_owned()
    }

    async fn fill(&mut self, from: Option<impl AsyncRead + Unpin>, most: usize) {
        let Some(mut from) = from else { return };
        while self.bytes.len() < most {
            match from.read_buf(&mut self.bytes).await {
                Ok(1..) => {}
                Ok(0) | Err(_) => return,
            }
        }
        let more = self.bytes.len() - most;
        self.bytes.truncate(most);
        self.left_out = u64::try_from(more).unwrap_or(u64::MAX);
        let mut scratch = vec![0; SCRATCH];
        while let Ok(count @ 1..) = from.read(&mut scratch).await {
            self.left_out += u64::try_from(count).unwrap_or(u64::MAX);
        }
    }
}

/// A program may close its input whenever it likes.
async fn feed_stdin(stdin: &mut Option<impl AsyncWrite + Unpin>, input: &[u8]) {
    if let Some(pipe) = stdin {
        let _ = pipe.write_all(input).await;
    }
    *stdin = None; // there is no more
}

/// A unique value that another process cannot guess.
fn fresh_mark() -> String {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    let chance = RandomState::new();
    let half = |half: u8| chance.hash_one((std::process::id(), count, half));
    format!("{:016x}{:016x}", half(0), half(1))
}
