//! Short programs that are waited for, without a supervisor: another process would cost more than the program itself.
//!
//! Nothing is inherited but what the [`Command`] says, what is written is kept up to a bound, and a program that takes too long is
//! ended with everything that it started: its group, whatever stands below it, and whatever carries its mark, though it may have
//! left both. Only what has thrown away its environment as well as its parents gets away.

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

/// What is read at once of output that nobody keeps.
const SCRATCH: usize = 64 * 1024;

/// A short program, what it is told, and how much of it is borne.
#[derive(Debug, Clone)]
pub struct ShortCommand {
    /// What is started, and where. A mark is added to its environment.
    pub command: Command,
    /// What it can read. A program that does not is no error.
    pub input: Arc<[u8]>,
    /// How long it may take, whatever it leaves behind that still holds its output included.
    pub timeout: Duration,
    /// So many bytes of its output are kept.
    pub most_output: usize,
    /// So many bytes of its complaints are kept.
    pub most_complaints: usize,
}

/// What became of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FinishedCommand {
    /// How the program itself ended. Unknown only if it cannot be killed.
    pub exit: Option<Exit>,
    /// Who ended it.
    pub end: CommandEnd,
    /// How long it took.
    pub duration: Duration,
    /// What it wrote to its standard output.
    pub stdout: CapturedOutput,
    /// What it wrote to its standard error.
    pub stderr: CapturedOutput,
    /// How many of its processes could not be ended.
    pub immortal: u32,
}

/// Who ended a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CommandEnd {
    /// It ended, and everything that held its output did.
    ByItself,
    /// It took too long, and was killed.
    TimedOut,
    /// Nobody wanted it any more, and it was killed.
    Cancelled,
    /// Nobody wanted it any more when its turn came: it was never started.
    NotStarted,
}

/// Some of what was written.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CapturedOutput {
    /// The beginning.
    pub bytes: Vec<u8>,
    /// How many bytes came after it and were thrown away.
    pub left_out: u64,
}

/// So many run at once; others wait for their turn. Each takes seven descriptors, and who has none left starts nothing.
static TURNS: Semaphore = Semaphore::const_new(64);

/// How many are being ended.
static ENDING: LazyLock<watch::Sender<usize>> = LazyLock::new(watch::Sender::default);

/// Waits for a turn. Whoever has to, waits for those that are being ended as well, and lets those go first whose time is up: starting
/// programs takes longer than anything else here, and ending them has a deadline.
async fn turn() -> StartPermit {
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

/// A turn, and the right to start a program while nobody else does.
type StartPermit = (
    Option<SemaphorePermit<'static>>,
    Option<MutexGuard<'static, ()>>,
);

/// As long as this is there, somebody is being ended.
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
        let turn = cancel.run_until_cancelled(turn()).await;
        let Some((_turn, start)) = turn.filter(|_| !cancel.is_cancelled()) else {
            return Ok(FinishedCommand::not_started(asked.elapsed()));
        };
        let started = Instant::now();
        self.command.mark(MARK, fresh_mark());
        let mut alone = UnsupervisedChild::start(&self.command)
            .map_err(|source| StartError::refused(&self.command, source))?;
        drop(start);
        let (mut stdout, mut stderr) = (CapturedOutput::default(), CapturedOutput::default());
        // Held until it is over: whoever finds them closed would end by itself, and what it ends with is no answer.
        let (mut stdin, mut out, mut err) = alone.pipes();
        let talking = async {
            // The program is waited for last: until then nobody else can have its process id, or its group's.
            tokio::join!(
                stdout.fill(out.as_mut(), self.most_output),
                stderr.fill(err.as_mut(), self.most_complaints),
            );
            alone.wait().await
        };
        let feeding = async {
            feed(&mut stdin, &self.input).await;
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
            CommandEnd::ByItself => (exit, alone.is_over()),
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
async fn feed(stdin: &mut Option<impl AsyncWrite + Unpin>, input: &[u8]) {
    if let Some(pipe) = stdin {
        let _ = pipe.write_all(input).await;
    }
    *stdin = None; // there is no more
}

/// A value that nothing else has, and that nobody can guess.
fn fresh_mark() -> String {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    let chance = RandomState::new();
    let half = |half: u8| chance.hash_one((std::process::id(), count, half));
    format!("{:016x}{:016x}", half(0), half(1))
}
