//! One run: start an agent, follow what it writes, translate it, end it, and say how it went, exactly once.
//!
//! ```no_run
//! # async fn demo(request: lapidary_drive::run::Request) {
//! use lapidary_drive::run::Run;
//!
//! let mut run = Run::start(request);
//! while let Some(event) = run.next().await {
//!     println!("{}", event.to_json()); // the last one is the `run_end`
//! }
//! # }
//! ```
//!
//! A run has a thread of its own: whoever reads its events may take as long as they like, and its deadlines are kept all the same.
//! What is not read yet waits in the recording, not in memory.

pub(crate) mod attempt;
mod call_watch;
mod completion;
pub(crate) mod course;
pub(crate) mod ending;
mod keeping;
pub(crate) mod oversee;
mod refused;
mod request;
pub(crate) mod rest;
mod retry;
pub(crate) mod stall;
pub(crate) mod tally;
#[cfg(test)]
pub(crate) mod testing;
mod translate;
pub(crate) mod waiting;

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::thread;

use lapidary_normalize::{Ending, Options};
use lapidary_vocab::Event;
use lapidary_vocab::event::Provider;
use tokio::sync::{mpsc, watch};

pub use lapidary_process::stop::Stopper;
use lapidary_process::stop::{self, Urgency};
pub use lapidary_recording::Records;
pub use refused::RefusedRun;
pub use request::{Request, Speech, Timeouts};
pub use rest::Skipped;
pub use translate::Batch;
pub(crate) use translate::{now, stderr_tail};

/// How many batches may wait for a slow reader. Each is of one read of the recording; more wait in the recording itself.
const BATCHES: usize = 4;

/// A run that is going on. Dropping it ends the agent.
#[derive(Debug)]
pub struct Run {
    batches: mpsc::Receiver<Batch>,
    events: VecDeque<Event>,
    stopper: Stopper,
}

impl Run {
    /// Starts a run. Whatever goes wrong from here on is told by its last event.
    pub fn start(request: Request) -> Self {
        let options = request.options.clone();
        // Whatever is not spoken to writes what Gemini CLI writes.
        Self::on_a_thread(options, Provider::Gemini, move |stops, batches| {
            course::run(request, stops, batches)
        })
    }

    /// A run that goes its course on a thread of its own.
    pub(crate) fn on_a_thread<F, C>(options: Options, provider: Provider, course: F) -> Self
    where
        F: FnOnce(watch::Receiver<Urgency>, mpsc::Sender<Batch>) -> C + Send + 'static,
        C: Future<Output = ()>,
    {
        let (sender, batches) = mpsc::channel(BATCHES);
        let (stopper, stops) = stop::channel();
        let (told, family, reserve) = (options.clone(), provider.clone(), sender.clone());
        let thread = thread::Builder::new().name("lapidary-run".to_owned());
        let body = move || run_to_its_end(&options, provider, stops, &sender, course);
        if let Err(error) = thread.spawn(body) {
            let message = format!("cannot start a thread: {error}");
            let _ = reserve.try_send(course::unable(&told, family, message));
        }
        Self {
            batches,
            events: VecDeque::new(),
            stopper,
        }
    }

    /// A run of an agent of this family that was over before it began. It is recorded where `record` says so.
    pub fn refused(
        options: &Options,
        provider: Provider,
        ending: Ending,
        record: Option<&RefusedRun>,
    ) -> Self {
        Self::over(course::refused(options, provider, ending, record))
    }

    fn over(batch: Batch) -> Self {
        let (sender, batches) = mpsc::channel(1);
        let (stopper, _) = stop::channel();
        let _ = sender.try_send(batch); // there is room for one
        Self {
            batches,
            events: VecDeque::new(),
            stopper,
        }
    }

    /// The next event, or none after the `run_end`. Can be cancelled.
    pub async fn next(&mut self) -> Option<Event> {
        while self.events.is_empty() {
            self.events.extend(self.batches.recv().await?.events);
        }
        self.events.pop_front()
    }

    /// The next event, for callers without a runtime.
    pub fn blocking_next(&mut self) -> Option<Event> {
        while self.events.is_empty() {
            self.events.extend(self.batches.blocking_recv()?.events);
        }
        self.events.pop_front()
    }

    /// The next events together with the bytes that they were made of, if these were asked for. Can be cancelled.
    pub async fn next_batch(&mut self) -> Option<Batch> {
        self.batches.recv().await
    }

    /// The next events, for callers without a runtime.
    pub fn blocking_next_batch(&mut self) -> Option<Batch> {
        self.batches.blocking_recv()
    }

    /// What ends the run from elsewhere.
    pub fn stopper(&self) -> Stopper {
        self.stopper.clone()
    }
}

impl Drop for Run {
    fn drop(&mut self) {
        self.stopper.kill();
    }
}

/// A run ends once, whatever happens: also if what happens is a mistake of ours.
fn run_to_its_end<F, C>(
    options: &Options,
    provider: Provider,
    stops: watch::Receiver<Urgency>,
    batches: &mpsc::Sender<Batch>,
    course: F,
) where
    F: FnOnce(watch::Receiver<Urgency>, mpsc::Sender<Batch>) -> C,
    C: Future<Output = ()>,
{
    let run = || {
        let runtime = runtime()?;
        runtime.block_on(course(stops, batches.clone()));
        std::io::Result::Ok(())
    };
    let message = match catch_unwind(AssertUnwindSafe(run)) {
        Ok(Ok(())) => return,
        Ok(Err(error)) => format!("cannot run anything: {error}"),
        Err(_) => "a mistake in Lapidary, which has broken the run off".to_owned(),
    };
    let _ = batches.blocking_send(course::unable(options, provider, message));
}

fn runtime() -> std::io::Result<tokio::runtime::Runtime> {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
}
