//! What takes time, on threads of its own: listing, reading, searching, writing. The newest request of a sort counts; what was asked
//! before is given up. Each tells what it has as an [`Input`]; once nobody listens, it ends.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use lapidary::home::sessions::{
    Candidate, FromFiles, Listing, Project, Summaries, Summary, Unreadable,
};
use lapidary::render::live::Marks;

use super::entry::Entry;
use super::list::Files;
use super::state::{Extent, Found, Input};
use super::{full_text, seams, transcript};

/// So many files are listed before it is told how far it is.
const BATCH: usize = 256;

/// While somebody types on, files are not searched.
const PAUSE: Duration = Duration::from_millis(120);

/// What was found is told so often.
const TELL: Duration = Duration::from_millis(100);

/// Those who do the work.
pub(super) struct Workers {
    inputs: Sender<Input>,
    marks: Marks,
    projects: Arc<[Project]>,
    reads: Newest<(PathBuf, Extent)>,
    searches: Newest<(Vec<String>, Files)>,
}

impl Workers {
    pub(super) fn start(projects: Vec<Project>, marks: Marks, inputs: Sender<Input>) -> Self {
        let told = inputs.clone();
        let reads = Newest::start(
            "read",
            Duration::ZERO,
            move |ticket, (path, extent): (PathBuf, Extent), is_wanted| {
                let read = guarded(|| transcript::read(&path, extent, marks, is_wanted));
                let read = read.unwrap_or_else(|| Err("it cannot be shown".to_owned()));
                let _ = told.send(Input::Read(ticket, read)); // nobody listens any more
            },
        );
        let told = inputs.clone();
        let searches = Newest::start(
            "search",
            PAUSE,
            move |ticket, (words, files): (Vec<String>, Files), is_wanted| {
                guarded(|| search(ticket, &words, &files, marks, &told, is_wanted));
            },
        );
        Self {
            inputs,
            marks,
            projects: projects.into(),
            reads,
            searches,
        }
    }

    /// Lists the sessions.
    pub(super) fn list(&self, now: std::time::SystemTime) {
        let (projects, marks, told) = (self.projects.clone(), self.marks, self.inputs.clone());
        self.once("list", move || {
            let mut counting = Counting { told: &told };
            let listing = guarded(|| Listing::with(&projects, now, &mut counting));
            let listing = listing.unwrap_or_else(|| Listing {
                warnings: vec!["the sessions cannot be listed".to_owned()],
                ..Listing::default()
            });
            let warning = match &listing.warnings[..] {
                [] => None,
                [one] => Some(one.clone()),
                [one, more @ ..] => Some(format!("{one} (and {} more)", more.len())),
            };
            Input::Listed(Entry::all(&listing, marks), warning)
        });
    }

    pub(super) fn read(&self, ticket: u64, path: PathBuf, extent: Extent) {
        self.reads.ask(ticket, (path, extent));
    }

    pub(super) fn search(&self, ticket: u64, words: Vec<String>, files: Files) {
        self.searches.ask(ticket, (words, files));
    }

    pub(super) fn export(&self, path: PathBuf, to: PathBuf) {
        self.once("export", move || {
            Input::Told(match guarded(|| seams::export(&path, &to)) {
                Some(Ok(())) => format!("written: {}", to.display()),
                Some(Err(error)) => format!("not written: {error:#}"),
                None => "not written".to_owned(),
            })
        });
    }

    pub(super) fn delete(&self, path: PathBuf) {
        let projects = self.projects.clone();
        self.once("delete", move || {
            match guarded(|| seams::delete(&projects, &path)) {
                Some(Ok(told)) => Input::Deleted(path, told),
                Some(Err(error)) => Input::Told(format!("not deleted: {error:#}")),
                None => Input::Told("not deleted".to_owned()),
            }
        });
    }

    fn once(&self, name: &str, work: impl FnOnce() -> Input + Send + 'static) {
        let told = self.inputs.clone();
        let spawned = spawn(name, move || {
            let _ = told.send(work());
        });
        if let Err(error) = spawned {
            let _ = self
                .inputs
                .send(Input::Told(format!("no thread for that: {error}")));
        }
    }
}

/// A thread that does the newest of what it was asked.
struct Newest<Job> {
    jobs: Sender<(u64, Job)>,
    /// The ticket of the newest request.
    wanted: Arc<AtomicU64>,
}

impl<Job: Send + 'static> Newest<Job> {
    fn start(
        name: &str,
        pause: Duration,
        work: impl Fn(u64, Job, &dyn Fn() -> bool) + Send + 'static,
    ) -> Self {
        let (jobs, asked) = channel::<(u64, Job)>(); // a job is asked for by a key: people type no faster
        let wanted = Arc::new(AtomicU64::new(0));
        let current = wanted.clone();
        // Without a thread nothing is done, and the screen goes on to say that it is being done.
        let _ = spawn(name, move || {
            while let Some((ticket, job)) = next(&asked, pause) {
                let is_wanted = || current.load(Ordering::Relaxed) == ticket;
                if is_wanted() {
                    work(ticket, job, &is_wanted);
                }
            }
        });
        Self { jobs, wanted }
    }

    fn ask(&self, ticket: u64, job: Job) {
        self.wanted.store(ticket, Ordering::Relaxed);
        let _ = self.jobs.send((ticket, job));
    }
}

/// The newest job, once no newer one has come for a while.
fn next<Job>(asked: &Receiver<Job>, pause: Duration) -> Option<Job> {
    let mut job = asked.recv().ok()?;
    loop {
        match asked.recv_timeout(pause) {
            Ok(newer) => job = newer,
            Err(RecvTimeoutError::Timeout) => return Some(job),
            Err(RecvTimeoutError::Disconnected) => return None,
        }
    }
}

/// Summaries from the files, telling how far it is.
struct Counting<'t> {
    told: &'t Sender<Input>,
}

impl Summaries for Counting<'_> {
    fn of(&mut self, files: &[&Candidate]) -> Vec<Result<Summary, Unreadable>> {
        let mut read = Vec::with_capacity(files.len());
        for batch in files.chunks(BATCH) {
            let _ = self.told.send(Input::Counted(read.len(), files.len()));
            read.extend(FromFiles.of(batch));
        }
        read
    }
}

fn search(
    ticket: u64,
    words: &[String],
    files: &[(usize, PathBuf)],
    marks: Marks,
    told: &Sender<Input>,
    is_wanted: &dyn Fn() -> bool,
) {
    if words.is_empty() {
        return;
    }
    let mut last = Instant::now();
    let mut found = Found {
        total: files.len(),
        ..Found::default()
    };
    for (done, (place, file)) in files.iter().enumerate() {
        if !is_wanted() {
            return;
        }
        let snippet = guarded(|| full_text::find(file, words, marks)).flatten();
        found
            .places
            .extend(snippet.map(|snippet| (*place, snippet)));
        found.done = done + 1;
        if last.elapsed() >= TELL || found.done == found.total {
            last = Instant::now();
            let places = std::mem::take(&mut found.places);
            let news = Found { places, ..found };
            if told.send(Input::Found(ticket, news)).is_err() {
                return;
            }
        }
    }
}

/// Whatever a file does to us, it does to this piece of work only.
fn guarded<T>(work: impl FnOnce() -> T) -> Option<T> {
    catch_unwind(AssertUnwindSafe(work)).ok()
}

fn spawn(name: &str, body: impl FnOnce() + Send + 'static) -> std::io::Result<()> {
    let builder = thread::Builder::new().name(format!("lapidary-{name}"));
    builder.spawn(body).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_what_is_asked_at_once_only_the_newest_is_done() {
        let (done, results) = channel();
        let newest = Newest::start(
            "test",
            Duration::from_millis(50),
            move |ticket, job: &str, _| {
                done.send((ticket, job)).unwrap();
            },
        );
        newest.ask(1, "one");
        newest.ask(2, "two");
        newest.ask(3, "three");
        let deadline = Duration::from_secs(20);
        assert_eq!(results.recv_timeout(deadline), Ok((3, "three")));
        newest.ask(4, "four");
        assert_eq!(results.recv_timeout(deadline), Ok((4, "four")));
        drop(newest);
        assert!(
            results.recv_timeout(deadline).is_err(),
            "the thread has ended"
        );
    }

    #[test]
    fn work_that_nobody_wants_any_more_is_told_so() {
        let (done, results) = channel();
        let newest = Newest::start("test", Duration::ZERO, move |ticket, (): (), is_wanted| {
            let deadline = Instant::now() + Duration::from_secs(20);
            while is_wanted() && ticket == 1 && Instant::now() < deadline {
                thread::sleep(Duration::from_millis(1));
            }
            done.send((ticket, is_wanted())).unwrap();
        });
        newest.ask(1, ());
        thread::sleep(Duration::from_millis(20));
        newest.ask(2, ());
        let deadline = Duration::from_secs(20);
        assert_eq!(results.recv_timeout(deadline), Ok((1, false)));
        assert_eq!(results.recv_timeout(deadline), Ok((2, true)));
    }
}
