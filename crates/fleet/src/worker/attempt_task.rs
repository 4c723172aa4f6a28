//! One attempt at a ticket, from its claim to its end.

use std::convert::Infallible;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use lapidary::engine::conversation::{PermissionPrompt, PromptAttendant};
use lapidary::engine::headless::Job;
use lapidary::engine::process::Supervisor;
use lapidary::engine::process::stop::{self, StopLevel};
use lapidary::engine::recording::read_run;
use lapidary::engine::run::Run;
use lapidary::vocab::Cause;
use tokio::sync::{mpsc, watch};
use tokio::time::sleep;

use super::artifacts::upload_file;
use super::ask_desk::AskDesk;
use super::attempt_end::AttemptReport;
use super::bounds::{BoundsError, JobRequest};
use super::held::HeldTicket;
use super::patience;
use super::retry::{self, WorkspaceLife};
use super::upload::{EventUpload, UploadedRun};
use super::{WorkerNote, WorkerState, WorkerStop};
use crate::workspace::{
    AttemptWorkspace, RepositoryRequest, SetupError, SetupPlace, WorkspaceError, WorkspaceRecord,
};
use crate::{
    AttemptEnd, AttemptUsage, TicketClaim, TicketFate, TicketRelease, TicketSpec, WorkspaceSpec,
};

/// How often, and how far apart, the directory of an attempt that was ended early is removed.
const DISCARDS: u32 = 100;
const DISCARD_PAUSE: Duration = Duration::from_millis(20);

/// An attempt at a ticket.
pub(super) struct AttemptTask {
    state: Arc<WorkerState>,
    held: Arc<HeldTicket>,
    claim: TicketClaim,
}

/// Where the agent works.
struct AttemptPlace {
    directory: PathBuf,
    life: WorkspaceLife,
    repository: Option<AttemptWorkspace>,
    /// The directory with the record for garbage collection; none for a directory that is not ours.
    own: Option<PathBuf>,
}

impl AttemptPlace {
    /// Removes the place of an attempt whose agent did not start.
    fn discard(&self) {
        if let Some(own) = &self.own {
            discard(own);
        }
    }
}

/// Removes the directory of an attempt whose agent did not start: it has no work to keep.
fn discard(own: &Path) {
    let _ = std::fs::remove_dir_all(own); // else it stays, as `unsaved`
}

/// The same where a git that was killed may write for another moment.
async fn discard_ended(own: &Path) {
    for _ in 0..DISCARDS {
        discard(own);
        if !own.exists() {
            return;
        }
        sleep(DISCARD_PAUSE).await;
    }
}

/// A task that panics gives its ticket up, too: the leases of held tickets are renewed.
impl Drop for AttemptTask {
    fn drop(&mut self) {
        self.state.held.remove(&self.held.claimed);
    }
}

impl AttemptTask {
    pub(super) fn new(state: Arc<WorkerState>, held: Arc<HeldTicket>, claim: TicketClaim) -> Self {
        Self { state, held, claim }
    }

    /// Makes the attempt, and tells the store.
    pub(super) async fn run(self) {
        if *self.state.stop.borrow() == WorkerStop::None {
            let spec = TicketSpec::parse(&self.claim.spec);
            let report = match &spec {
                Ok(spec) => self.attempt(spec).await,
                Err(error) => Err(refused(Cause::BadInput, error, error.hint())),
            };
            let policy = spec.map(|spec| spec.retry).unwrap_or_default();
            let (mut report, place) = match report {
                Ok((report, place)) => (report, Some(place)),
                Err(report) => (*report, None),
            };
            report.evidence.worker.clone_from(&self.state.options.name);
            let fate = self.finish(policy, &report).await;
            if let Some(place) = &place {
                self.close_place(place, &report, fate.is_some());
            }
            self.note_end(&report, fate);
            self.state
                .metrics
                .note_ended(report.outcome.as_str(), report.usage.tokens.unwrap_or(0));
            let run = self.held.claimed.run();
            if report.has_log {
                self.state.unfinished.forget(run.as_str());
            } else {
                self.state.unfinished.abandon(run.as_str());
            }
        } else {
            self.give_back("draining").await;
        }
    }

    async fn give_back(&self, reason: &str) {
        let release = TicketRelease {
            claimed: self.held.claimed.clone(),
            reason: reason.to_owned(),
            delay: Duration::ZERO,
        };
        // If this fails, the lease ends.
        let _ = patience::while_held(&self.held, || self.state.store.release(&release)).await;
    }

    /// The attempt up to its report, or the report of one that could not start.
    async fn attempt(
        &self,
        spec: &TicketSpec,
    ) -> Result<(AttemptReport, AttemptPlace), Box<AttemptReport>> {
        self.check_bounds(spec)?;
        // A fetch or a setup command may take minutes: the ticket may be cancelled or lost meanwhile.
        let (stopper, stops) = stop::channel();
        self.held.attach(stopper, None);
        let place = self.make_place(spec, stops.clone()).await?;
        if *stops.borrow() > StopLevel::None {
            place.discard();
            return Err(self.ended_early());
        }
        let (prompt_sender, prompts) = mpsc::unbounded_channel();
        let job = self.make_job(spec, &place, prompt_sender);
        let job = job.inspect_err(|_| place.discard())?;
        let run = Box::pin(self.run_agent(job, prompts, spec, &place)).await?;
        let mut report = AttemptReport::from_run(run);
        if let Some(workspace) = &place.repository {
            self.keep_changes(workspace, &mut report).await;
        }
        Ok((report, place))
    }

    fn check_bounds(&self, spec: &TicketSpec) -> Result<(), Box<AttemptReport>> {
        let checked = self.state.bounds.check(spec);
        checked.map_err(|error| refused(Cause::BadInput, &error, error.hint()))
    }

    /// The report of an attempt that ended before its agent started.
    fn ended_early(&self) -> Box<AttemptReport> {
        let (cause, message) = if self.held.is_lost() {
            (Cause::LeaseLost, "the lease ended before the agent started")
        } else {
            let message = "the ticket was cancelled before its agent started";
            (Cause::CancelledByClient, message)
        };
        refused(cause, &message, None)
    }

    async fn make_place(
        &self,
        spec: &TicketSpec,
        stops: watch::Receiver<StopLevel>,
    ) -> Result<AttemptPlace, Box<AttemptReport>> {
        let workspace = spec.workspace.as_ref();
        if let Some(directory) = workspace.and_then(|it| it.directory.as_deref()) {
            let directory = self.state.bounds.directory(directory);
            let directory =
                directory.map_err(|error| refused(Cause::BadInput, &error, error.hint()))?;
            return Ok(AttemptPlace {
                directory,
                life: WorkspaceLife::Shared,
                repository: None,
                own: None,
            });
        }
        let run = self.held.claimed.run();
        let directory = self.state.workspaces.empty(run.as_str());
        let directory = directory.map_err(|it| workspace_report(&it))?;
        let own = directory.parent().unwrap_or(&directory).to_owned();
        let _ = WorkspaceRecord::new(run.as_str()).write(&own); // without it, it is never removed
        match self.fill_place(workspace, (&directory, &own), stops).await {
            Ok(repository) => Ok(AttemptPlace {
                directory,
                life: WorkspaceLife::OfAttempt,
                repository,
                own: Some(own),
            }),
            Err(report) => {
                discard_ended(&own).await;
                Err(report)
            }
        }
    }

    /// Fetches the repository of a ticket that has one, and runs the setup command.
    async fn fill_place(
        &self,
        workspace: Option<&WorkspaceSpec>,
        (directory, own): (&Path, &Path),
        mut stops: watch::Receiver<StopLevel>,
    ) -> Result<Option<AttemptWorkspace>, Box<AttemptReport>> {
        let request = workspace.and_then(|workspace| {
            Some(RepositoryRequest {
                repo: workspace.repo.as_deref()?,
                reference: workspace.reference.as_deref(),
                push: workspace.push.as_deref(),
            })
        });
        let repository = match request {
            Some(request) => {
                let run = self.held.claimed.run();
                let preparing = self.state.workspaces.prepare(run.as_str(), request);
                // Both can be cancelled: a git that runs is killed.
                let prepared = tokio::select! {
                    prepared = preparing => prepared,
                    _ = stop::wanted(&mut stops, StopLevel::None) => return Err(self.ended_early()),
                };
                Some(prepared.map_err(|error| workspace_report(&error))?)
            }
            None => None,
        };
        self.set_up(directory, own, &mut stops).await?;
        Ok(repository)
    }

    /// Runs the worker's setup command.
    async fn set_up(
        &self,
        tree: &Path,
        beside: &Path,
        stops: &mut watch::Receiver<StopLevel>,
    ) -> Result<(), Box<AttemptReport>> {
        let Some(setup) = self.state.bounds.settings.setup() else {
            return Ok(());
        };
        let surroundings = &self.state.bounds.surroundings;
        let supervisor = Supervisor::at(&surroundings.program).leased(self.held.lease.clone());
        let place = SetupPlace {
            tree,
            beside,
            environment: &surroundings.environment,
            supervisor: &supervisor,
        };
        let stopped = async {
            stop::wanted(stops, StopLevel::None).await;
        };
        setup
            .run(place, stopped)
            .await
            .map_err(|error| match error {
                SetupError::Stopped => self.ended_early(),
                error => refused(Cause::SpawnFailed, &error, None),
            })
    }

    /// The job of the agent, and a note of it for the next worker if this one is killed.
    fn make_job(
        &self,
        spec: &TicketSpec,
        place: &AttemptPlace,
        prompts: mpsc::UnboundedSender<PermissionPrompt>,
    ) -> Result<Job, Box<AttemptReport>> {
        let job = self.state.bounds.job(JobRequest {
            spec,
            claimed: &self.held.claimed,
            directory: place.directory.clone(),
            lease: self.held.lease.clone(),
            attendant: match spec.ask_timeout() {
                Some(_) => PromptAttendant::Somebody(prompts),
                None => PromptAttendant::Nobody,
            },
        });
        let job = job.map_err(|error| bounds_report(&error))?;
        let run_id = self.held.claimed.run();
        let recording = job.records.root.join(run_id.as_str());
        let set_aside = crate::workspace::set_aside(&recording);
        let noted = set_aside.and_then(|()| self.state.unfinished.note(&run_id, &recording));
        noted.map_err(|error| refused(Cause::Internal, &error, None))?;
        Ok(job)
    }

    /// Runs the agent to its end, and uploads its events.
    async fn run_agent(
        &self,
        job: Job,
        prompts: mpsc::UnboundedReceiver<PermissionPrompt>,
        spec: &TicketSpec,
        place: &AttemptPlace,
    ) -> Result<UploadedRun, Box<AttemptReport>> {
        let recording = job.records.root.join(self.held.claimed.run().as_str());
        let run = job.start();
        let (request_sender, requests) = mpsc::unbounded_channel();
        let (answer_sender, answers) = mpsc::unbounded_channel();
        self.held.attach(run.stopper(), Some(answer_sender));
        let events = run.subscribe(0);
        let events = events.map_err(|error| refused(Cause::Internal, &error, None))?;
        let store = Arc::clone(&self.state.store);
        let upload = EventUpload::new(
            Arc::clone(&store),
            Arc::clone(&self.held),
            place.life,
            request_sender,
        );
        let desk = spec.ask_timeout().map(|timeout| AskDesk {
            store,
            held: Arc::clone(&self.held),
            timeout,
            prompts,
            requests,
            answers,
        });
        let uploaded = async {
            let mut uploaded = tokio::join!(read_to_end(run), upload.upload(events)).1;
            uploaded.usage = recorded_usage(&recording);
            uploaded
        };
        // The desk has nothing more to do once the run is over.
        tokio::select! {
            uploaded = uploaded => Ok(uploaded),
            never = serve_without_end(desk) => match never {},
        }
    }

    /// Stores the changes in the workspace, and pushes them if that is wanted.
    async fn keep_changes(&self, workspace: &AttemptWorkspace, report: &mut AttemptReport) {
        let changes = match workspace.collect().await {
            Ok(changes) => changes,
            Err(error) => {
                return report
                    .note_left_out(format!("the changes could not be collected: {error}"));
            }
        };
        for file in &changes.artifacts {
            if let Err(error) = upload_file(&*self.state.store, &self.held, file).await {
                report.note_left_out(format!("`{}` is not stored: {error}", file.name));
            }
        }
        let message = format!("Ticket {}", self.held.claimed.ticket);
        // A push of an attempt that lost its lease would meet that of the next one.
        let push = if self.held.is_lost() {
            None
        } else {
            workspace.push(&changes, &message).await
        };
        report.note_changes(&changes, push);
    }

    /// Tells the store the end. None if the ticket is not held any more: then the store has decided.
    async fn finish(
        &self,
        policy: crate::RetryPolicy,
        report: &AttemptReport,
    ) -> Option<TicketFate> {
        let end = AttemptEnd {
            claimed: self.held.claimed.clone(),
            outcome: report.outcome.to_string(),
            cause: report.cause.to_string(),
            evidence: serde_json::to_vec(&report.evidence).ok(),
            result: report.result.clone(),
            usage: report.usage,
            retry: retry::advice(policy, &report.cause, report.touched, self.claim.attempt),
        };
        let finished = patience::while_held(&self.held, || self.state.store.finish(&end)).await;
        finished.ok()
    }

    fn note_end(&self, report: &AttemptReport, fate: Option<TicketFate>) {
        self.state.tell(WorkerNote::AttemptEnded {
            ticket: self.held.claimed.ticket.clone(),
            attempt: self.claim.attempt,
            verdict: format!("{} ({})", report.outcome, report.cause),
            message: report.evidence.message.clone(),
            hint: report.evidence.hint.clone(),
            fate,
        });
    }

    /// Completes the record for garbage collection.
    fn close_place(&self, place: &AttemptPlace, report: &AttemptReport, is_told: bool) {
        let Some(own) = &place.own else { return };
        let is_empty =
            || std::fs::read_dir(&place.directory).is_ok_and(|mut it| it.next().is_none());
        let has_all = report.is_complete && report.evidence.left_out.is_empty();
        let record = WorkspaceRecord::read(own);
        let record =
            record.unwrap_or_else(|_| WorkspaceRecord::new(self.held.claimed.run().as_str()));
        let record = WorkspaceRecord {
            ended_at: Some(Timestamp::now().as_second()),
            outcome: Some(report.outcome.to_string()),
            is_safe: is_told && has_all && (place.repository.is_some() || is_empty()),
            ..record
        };
        let _ = record.write(own); // without it, it is never removed
    }
}

/// Reads the run's own stream: subscriptions go no further than that is read.
async fn read_to_end(mut run: Run) {
    while run.next_batch().await.is_some() {}
}

/// Tokens and cost of a run whose recording is complete: the agent's own figures, or those of prices.
fn recorded_usage(recording: &Path) -> AttemptUsage {
    let place = recording.parent().zip(recording.file_name());
    let run = place.and_then(|(root, name)| read_run(root, name.to_str()?));
    run.map_or_else(AttemptUsage::default, |run| AttemptUsage {
        tokens: run.info.total_tokens,
        cost_usd: run.info.cost_usd,
    })
}

/// Serves prompts, if they are asked, until it is dropped.
async fn serve_without_end(desk: Option<AskDesk>) -> Infallible {
    if let Some(desk) = desk {
        desk.serve().await;
    }
    std::future::pending().await
}

fn refused(cause: Cause, error: &dyn std::fmt::Display, hint: Option<&str>) -> Box<AttemptReport> {
    Box::new(AttemptReport::not_started(cause, error.to_string(), hint))
}

fn bounds_report(error: &BoundsError) -> Box<AttemptReport> {
    refused(Cause::BadInput, error, error.hint())
}

/// The end of an attempt without a workspace: bad input if no worker could do better, else a failed start, which may be repeated.
fn workspace_report(error: &WorkspaceError) -> Box<AttemptReport> {
    let cause = if error.is_final() {
        Cause::BadInput
    } else {
        Cause::SpawnFailed
    };
    refused(cause, error, None)
}
