//! Slow work, on threads of its own: listing, reading, searching, writing. The newest request of a kind counts; older ones are
//! given up. Each worker reports with a [`BrowserInput`], and ends once the receiver is gone.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use lapidary::render::live::MarkSet;
use lapidary::sessions::SessionListing;

use super::deletion::PlannedDeletion;
use super::entry::BrowseEntry;
use super::list::EntryFiles;
use super::sources::BrowsedProjects;
use super::state::{BrowserInput, FoundSessions, TranscriptExtent};
use super::title_terms::query_terms;
use super::{full_text, other_commands, transcript};

/// Files are searched after this pause in typing.
const PAUSE: Duration = Duration::from_millis(120);

/// A search reports its progress after this many files.
const TELL: usize = 256;

/// How long writing may take after the user has left.
const LAST: Duration = Duration::from_secs(30);

/// Says whether the answer is still of use.
type IsWanted<'w> = dyn Fn() -> bool + Sync + 'w;

/// The threads of the browser.
pub(super) struct BrowserWorkers {
    inputs: Sender<BrowserInput>,
    marks: MarkSet,
    sources: Arc<BrowsedProjects>,
    reads: NewestWorker<(PathBuf, TranscriptExtent)>,
    searches: NewestWorker<(String, EntryFiles)>,
    /// The deletion that waits for the user's yes.
    planned: Arc<Mutex<Option<PlannedDeletion>>>,
    /// How many threads are writing or deleting now.
    writing: Arc<AtomicUsize>,
}

impl BrowserWorkers {
    pub(super) fn start_workers(
        sources: BrowsedProjects,
        marks: MarkSet,
        inputs: Sender<BrowserInput>,
    ) -> Self {
        let sources = Arc::new(sources);
        let (told, where_from) = (inputs.clone(), sources.clone());
        let reads = NewestWorker::start_worker(
            "read",
            Duration::ZERO,
            move |ticket, (path, extent): (PathBuf, TranscriptExtent), is_wanted| {
                let others = where_from.other_sessions();
                let read = catch_panic(|| match others.in_path(&path) {
                    Some(session) => {
                        transcript::replay_transcript(&session, extent, marks, is_wanted)
                    }
                    None => transcript::read_transcript(&path, extent, marks, is_wanted),
                });
                let read = read.unwrap_or_else(|| Err("it cannot be shown".to_owned()));
                let _ = told.send(BrowserInput::Read(ticket, read)); // fails once the browser has ended
            },
        );
        let (told, where_from) = (inputs.clone(), sources.clone());
        let searches = NewestWorker::start_worker(
            "search",
            PAUSE,
            move |ticket, (query, files): (String, EntryFiles), is_wanted| {
                run_search(
                    &where_from,
                    (ticket, &query, &files),
                    marks,
                    &told,
                    is_wanted,
                );
            },
        );
        Self {
            inputs,
            marks,
            sources,
            reads,
            searches,
            planned: Arc::default(),
            writing: Arc::default(),
        }
    }

    /// Lists the sessions.
    pub(super) fn list_sessions(&self) {
        let (sources, marks, told) = (self.sources.clone(), self.marks, self.inputs.clone());
        self.spawn_once("list", move || {
            let count = |done, total| {
                let _ = told.send(BrowserInput::Counted(done, total)); // fails once the browser has ended
            };
            let listing = catch_panic(|| sources.list_sessions(&count));
            let listing = listing.unwrap_or_else(|| SessionListing {
                warnings: vec!["the sessions cannot be listed".to_owned()],
                ..SessionListing::default()
            });
            let warning = match &listing.warnings[..] {
                [] => None,
                [one] => Some(one.clone()),
                [one, more @ ..] => Some(format!("{one} (and {} more)", more.len())),
            };
            BrowserInput::Listed(
                BrowseEntry::all_entries(&listing, &sources.other_sessions(), marks),
                warning,
            )
        });
    }

    pub(super) fn read_transcript(&self, ticket: u64, path: PathBuf, extent: TranscriptExtent) {
        self.reads.request_job(ticket, (path, extent));
    }

    pub(super) fn search_files(&self, ticket: u64, query: String, files: EntryFiles) {
        self.searches.request_job(ticket, (query, files));
    }

    pub(super) fn export_session(&self, path: PathBuf, to: PathBuf) {
        let (sources, others) = (self.sources.clone(), self.sources.other_sessions());
        self.spawn_writer("export", move || {
            let session = others.in_path(&path);
            BrowserInput::Remark(
                match catch_panic(|| {
                    other_commands::export_markdown(&path, session, &to, sources.invocation())
                }) {
                    Some(Ok(())) => format!("written: {}", to.display()),
                    Some(Err(error)) => format!("not written: {error:#}"),
                    None => "not written".to_owned(),
                },
            )
        });
    }

    /// Looks up the files of a session, and holds the plan.
    pub(super) fn plan_deletion(&self, path: PathBuf, size: u64) {
        let (sources, marks, slot) = (self.sources.clone(), self.marks, self.planned.clone());
        self.spawn_once("plan", move || {
            match catch_panic(|| PlannedDeletion::new(&sources.projects, &path, size)) {
                Some(Ok(planned)) => {
                    let plan = planned.deletion_plan(marks);
                    *slot.lock().unwrap_or_else(PoisonError::into_inner) = Some(planned);
                    BrowserInput::Planned(path, plan)
                }
                Some(Err(error)) => BrowserInput::Refused(format!("not deleted: {error:#}")),
                None => BrowserInput::Refused("not deleted: it cannot be read".to_owned()),
            }
        });
    }

    /// Deletes the files that were looked up for this file.
    pub(super) fn delete_planned(&self, path: PathBuf) {
        let slot = &self.planned;
        let planned = slot.lock().unwrap_or_else(PoisonError::into_inner).take();
        let invocation = self.sources.invocation().clone();
        self.spawn_writer("delete", move || {
            let planned = planned.filter(|planned| planned.is_of(&path));
            match catch_panic(|| planned.map(|planned| planned.carry_out(&invocation))).flatten() {
                Some(Ok(told)) => BrowserInput::Deleted(path, told),
                Some(Err(error)) => BrowserInput::Refused(format!("not deleted: {error:#}")),
                None => BrowserInput::Refused("not deleted".to_owned()),
            }
        });
    }

    /// Waits until all writing is done: a half-written file is of no use.
    pub(super) fn finish_writing(&self) {
        let last = Instant::now() + LAST;
        while self.writing.load(Ordering::SeqCst) > 0 && Instant::now() < last {
            thread::sleep(Duration::from_millis(2));
        }
    }

    fn spawn_writer(&self, name: &str, work: impl FnOnce() -> BrowserInput + Send + 'static) {
        let writing = CountedWriter::new(&self.writing);
        self.spawn_once(name, move || {
            let input = work();
            drop(writing);
            input
        });
    }

    fn spawn_once(&self, name: &str, work: impl FnOnce() -> BrowserInput + Send + 'static) {
        let told = self.inputs.clone();
        let spawned = spawn_thread(name, move || {
            let _ = told.send(work());
        });
        if let Err(error) = spawned {
            let _ = self
                .inputs
                .send(BrowserInput::Remark(format!("no thread for that: {error}")));
        }
    }
}

/// A writer that is counted until it is dropped.
struct CountedWriter(Arc<AtomicUsize>);

impl CountedWriter {
    fn new(all: &Arc<AtomicUsize>) -> Self {
        all.fetch_add(1, Ordering::SeqCst);
        Self(all.clone())
    }
}

impl Drop for CountedWriter {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

/// A thread that does the newest of its jobs.
struct NewestWorker<Job> {
    jobs: Sender<(u64, Job)>,
    /// The ticket of the newest request.
    wanted: Arc<AtomicU64>,
}

impl<Job: Send + 'static> NewestWorker<Job> {
    fn start_worker(
        name: &str,
        pause: Duration,
        work: impl Fn(u64, Job, &IsWanted<'_>) + Send + 'static,
    ) -> Self {
        let (jobs, asked) = channel::<(u64, Job)>(); // a job is asked for by a key: people type no faster
        let wanted = Arc::new(AtomicU64::new(0));
        let current = wanted.clone();
        // Without a thread nothing is done, and the screen goes on to say that it is being done.
        let _ = spawn_thread(name, move || {
            while let Some((ticket, job)) = next(&asked, pause) {
                let is_wanted = || current.load(Ordering::Relaxed) == ticket;
                if is_wanted() {
                    work(ticket, job, &is_wanted);
                }
            }
        });
        Self { jobs, wanted }
    }

    fn request_job(&self, ticket: u64, job: Job) {
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

/// Searches and reports its progress, until a newer search is asked for.
fn run_search(
    sources: &BrowsedProjects,
    (ticket, query, files): (u64, &str, &EntryFiles),
    marks: MarkSet,
    told: &Sender<BrowserInput>,
    is_wanted: &IsWanted<'_>,
) {
    if query_terms(query).is_empty() {
        return;
    }
    let tell = |places, done, total| {
        let found = FoundSessions {
            places,
            done,
            total,
        };
        told.send(BrowserInput::Found(ticket, found)).is_ok()
    };
    let watch = |done: usize, total: usize| {
        let is_time = done > 0 && done < total && done.is_multiple_of(TELL);
        is_wanted() && (!is_time || tell(Vec::new(), done, total))
    };
    let found =
        catch_panic(|| full_text::find_matches(sources, query, files, marks, &watch)).flatten();
    if is_wanted() {
        tell(found.unwrap_or_default(), files.len(), files.len());
    }
}

/// A panic over one file ends only this job.
fn catch_panic<T>(work: impl FnOnce() -> T) -> Option<T> {
    catch_unwind(AssertUnwindSafe(work)).ok()
}

fn spawn_thread(name: &str, body: impl FnOnce() + Send + 'static) -> std::io::Result<()> {
    let builder = thread::Builder::new().name(format!("lapidary-{name}"));
    builder.spawn(body).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_requests_at_one_time_only_the_newest_is_carried_out() {
        let (done, results) = channel();
        let newest = NewestWorker::start_worker(
            "test",
            Duration::from_millis(50),
            move |ticket, job: &str, _| {
                done.send((ticket, job)).unwrap();
            },
        );
        newest.request_job(1, "one");
        newest.request_job(2, "two");
        newest.request_job(3, "three");
        let deadline = Duration::from_secs(20);
        assert_eq!(results.recv_timeout(deadline), Ok((3, "three")));
        newest.request_job(4, "four");
        assert_eq!(results.recv_timeout(deadline), Ok((4, "four")));
        drop(newest);
        assert!(
            results.recv_timeout(deadline).is_err(),
            "the thread has ended"
        );
    }

    #[test]
    fn a_newer_request_tells_the_worker_to_drop_the_older_one() {
        let (done, results) = channel();
        let newest =
            NewestWorker::start_worker("test", Duration::ZERO, move |ticket, (): (), is_wanted| {
                let deadline = Instant::now() + Duration::from_secs(20);
                while is_wanted() && ticket == 1 && Instant::now() < deadline {
                    thread::sleep(Duration::from_millis(1));
                }
                done.send((ticket, is_wanted())).unwrap();
            });
        newest.request_job(1, ());
        thread::sleep(Duration::from_millis(20));
        newest.request_job(2, ());
        let deadline = Duration::from_secs(20);
        assert_eq!(results.recv_timeout(deadline), Ok((1, false)));
        assert_eq!(results.recv_timeout(deadline), Ok((2, true)));
    }
}
