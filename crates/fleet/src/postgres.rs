//! The store of many machines: a `PostgreSQL` database.

mod address;
mod attempt;
mod claim;
mod doorbell;
mod listener;
mod orders;
mod pool;
mod schema;
mod submit;
mod tls;
mod view;

use std::sync::Arc;
use std::time::Duration;

use self::doorbell::NotifyDoorbell;
use self::listener::NotifyListener;
use self::pool::{SessionPool, on_session};
use crate::{
    AnswerReply, AppendReply, ArtifactPart, ArtifactRecord, ArtifactSeal, AttemptEnd, CancelReply,
    CancelRequest, ChangeListener, ClaimRequest, ClaimedTerm, EventAppend, EventChunk,
    FleetOverview, FleetStore, HeartbeatReply, LogState, NewPrompt, NewTicket, PromptAnswer,
    PromptRecord, RetryReply, RunId, StoreError, StoreFuture, SubmissionAnswer, TicketClaim,
    TicketFate, TicketFilter, TicketId, TicketRecord, TicketRelease, WorkerHeartbeat, WorkerId,
    WorkerStart,
};

pub use address::PostgresAddress;
pub(crate) use schema::initial_sql;

/// A store in a `PostgreSQL` database, version 13 or newer.
#[derive(Debug)]
pub struct PostgresStore {
    pool: Arc<SessionPool>,
    doorbell: NotifyDoorbell,
}

impl PostgresStore {
    /// Connects to a database that has our tables.
    pub async fn open(address: &PostgresAddress) -> Result<Self, StoreError> {
        let pool = Arc::new(SessionPool::new(address));
        schema::check(&pool).await?;
        let doorbell = NotifyDoorbell::start(Arc::clone(&pool));
        Ok(Self { pool, doorbell })
    }

    /// Makes the tables, or updates them. Returns the versions that it applied.
    pub async fn initialise(address: &PostgresAddress) -> Result<Vec<i64>, StoreError> {
        schema::migrate(&SessionPool::new(address)).await
    }

    /// A ticket that waits again is news for workers, one that ended for tickets behind it.
    fn note_fate(&self) {
        self.doorbell.note_states();
        self.doorbell.note_queue();
    }
}

impl FleetStore for PostgresStore {
    fn address(&self) -> &str {
        self.pool.shown()
    }

    fn submit<'a>(&'a self, tickets: &'a [NewTicket]) -> StoreFuture<'a, Vec<SubmissionAnswer>> {
        Box::pin(async move {
            let submissions = on_session!(&self.pool, submit::submit, tickets).await?;
            self.doorbell.note_queue();
            Ok(submissions)
        })
    }

    fn list<'a>(&'a self, filter: &'a TicketFilter) -> StoreFuture<'a, Vec<TicketRecord>> {
        Box::pin(async move { on_session!(&self.pool, view::list, filter).await })
    }

    fn ticket<'a>(&'a self, ticket: &'a TicketId) -> StoreFuture<'a, Option<TicketRecord>> {
        Box::pin(async move { on_session!(&self.pool, view::ticket, ticket).await })
    }

    fn cancel<'a>(
        &'a self,
        ticket: &'a TicketId,
        request: &'a CancelRequest,
    ) -> StoreFuture<'a, CancelReply> {
        Box::pin(async move {
            let reply = on_session!(&self.pool, orders::cancel, ticket, request).await?;
            self.doorbell.note_orders();
            self.doorbell.note_states();
            Ok(reply)
        })
    }

    fn retry<'a>(&'a self, ticket: &'a TicketId) -> StoreFuture<'a, RetryReply> {
        Box::pin(async move {
            let reply = on_session!(&self.pool, orders::retry, ticket).await?;
            self.note_fate();
            Ok(reply)
        })
    }

    fn remove<'a>(&'a self, ticket: &'a TicketId) -> StoreFuture<'a, bool> {
        Box::pin(async move { on_session!(&self.pool, orders::remove, ticket).await })
    }

    fn overview(&self) -> StoreFuture<'_, FleetOverview> {
        Box::pin(async move { on_session!(&self.pool, view::overview).await })
    }

    fn open_prompts<'a>(
        &'a self,
        ticket: Option<&'a TicketId>,
    ) -> StoreFuture<'a, Vec<PromptRecord>> {
        Box::pin(async move { on_session!(&self.pool, view::open_prompts, ticket).await })
    }

    fn answer<'a>(&'a self, answer: &'a PromptAnswer) -> StoreFuture<'a, AnswerReply> {
        Box::pin(async move {
            let reply = on_session!(&self.pool, orders::answer, answer).await?;
            self.doorbell.note_orders();
            Ok(reply)
        })
    }

    fn chunks<'a>(
        &'a self,
        run: &'a RunId,
        from: u64,
        bytes: usize,
    ) -> StoreFuture<'a, Vec<EventChunk>> {
        Box::pin(async move { on_session!(&self.pool, view::chunks, run, from, bytes).await })
    }

    fn watch<'a>(&'a self, run: &'a RunId) -> StoreFuture<'a, ()> {
        Box::pin(async move { on_session!(&self.pool, orders::watch, run).await })
    }

    fn artifacts<'a>(&'a self, run: &'a RunId) -> StoreFuture<'a, Vec<ArtifactRecord>> {
        Box::pin(async move { on_session!(&self.pool, view::artifacts, run).await })
    }

    fn artifact_part<'a>(
        &'a self,
        run: &'a RunId,
        name: &'a str,
        part: u32,
    ) -> StoreFuture<'a, Option<Vec<u8>>> {
        Box::pin(async move { on_session!(&self.pool, view::artifact_part, run, name, part).await })
    }

    fn listen(&self) -> StoreFuture<'_, Box<dyn ChangeListener>> {
        Box::pin(async move {
            let listener = NotifyListener::new(Arc::clone(&self.pool)).await;
            Ok(Box::new(listener) as Box<dyn ChangeListener>)
        })
    }

    fn flush(&self) -> StoreFuture<'_, ()> {
        Box::pin(async move {
            self.doorbell.flush().await;
            Ok(())
        })
    }

    fn register<'a>(&'a self, worker: &'a WorkerStart) -> StoreFuture<'a, ()> {
        Box::pin(async move { on_session!(&self.pool, claim::register, worker).await })
    }

    fn claim<'a>(&'a self, request: &'a ClaimRequest) -> StoreFuture<'a, Vec<TicketClaim>> {
        Box::pin(async move {
            let claims = on_session!(&self.pool, claim::claim, request).await?;
            if !claims.is_empty() {
                self.doorbell.note_states();
            }
            Ok(claims)
        })
    }

    fn heartbeat<'a>(&'a self, heartbeat: &'a WorkerHeartbeat) -> StoreFuture<'a, HeartbeatReply> {
        Box::pin(async move { on_session!(&self.pool, claim::heartbeat, heartbeat).await })
    }

    fn append<'a>(&'a self, append: &'a EventAppend) -> StoreFuture<'a, AppendReply> {
        Box::pin(async move {
            let appended = on_session!(&self.pool, attempt::append, append).await?;
            if appended.is_watched {
                self.doorbell.note_run(&append.claimed.run());
            }
            Ok(appended.reply)
        })
    }

    fn log_state<'a>(
        &'a self,
        run: &'a RunId,
        worker: &'a WorkerId,
    ) -> StoreFuture<'a, Option<LogState>> {
        Box::pin(async move { on_session!(&self.pool, view::log_state, run, worker).await })
    }

    fn record_prompt<'a>(&'a self, prompt: &'a NewPrompt) -> StoreFuture<'a, ()> {
        Box::pin(async move {
            on_session!(&self.pool, orders::record_prompt, prompt).await?;
            self.doorbell.note_states();
            Ok(())
        })
    }

    fn settle_prompt<'a>(
        &'a self,
        run: &'a RunId,
        request: &'a str,
        how: &'a str,
    ) -> StoreFuture<'a, ()> {
        Box::pin(
            async move { on_session!(&self.pool, orders::settle_prompt, run, request, how).await },
        )
    }

    fn put_part<'a>(&'a self, part: &'a ArtifactPart) -> StoreFuture<'a, ()> {
        Box::pin(async move { on_session!(&self.pool, orders::put_part, part).await })
    }

    fn seal_artifact<'a>(&'a self, seal: &'a ArtifactSeal) -> StoreFuture<'a, ArtifactRecord> {
        Box::pin(async move { on_session!(&self.pool, orders::seal_artifact, seal).await })
    }

    fn finish<'a>(&'a self, end: &'a AttemptEnd) -> StoreFuture<'a, TicketFate> {
        Box::pin(async move {
            let fate = on_session!(&self.pool, attempt::finish, end).await?;
            self.note_fate();
            Ok(fate)
        })
    }

    fn release<'a>(&'a self, release: &'a TicketRelease) -> StoreFuture<'a, TicketFate> {
        Box::pin(async move {
            let fate = on_session!(&self.pool, attempt::release, release).await?;
            self.note_fate();
            Ok(fate)
        })
    }

    fn reclaim(
        &self,
        lease: Duration,
        limit: u32,
    ) -> StoreFuture<'_, Vec<(ClaimedTerm, TicketFate)>> {
        Box::pin(async move {
            let fates = on_session!(&self.pool, attempt::reclaim, lease, limit).await?;
            if !fates.is_empty() {
                self.note_fate();
            }
            Ok(fates)
        })
    }

    fn find_work<'a>(&'a self, labels: &'a [String]) -> StoreFuture<'a, bool> {
        Box::pin(async move { on_session!(&self.pool, claim::find_work, labels).await })
    }

    fn leave<'a>(&'a self, worker: &'a WorkerId) -> StoreFuture<'a, ()> {
        Box::pin(async move { on_session!(&self.pool, claim::leave, worker).await })
    }
}
