//! Reading a ticket's log as it grows, over all its attempts.

use std::time::Duration;

use lapidary_fleet::{
    ChangeListener, FleetStore, RunId, StoreError, TicketId, TicketRecord, TicketState,
};
use tokio::time::{Instant, timeout};

use super::store_option::{find_ticket, store_failure, unknown_ticket};
use crate::failure::Failure;

/// Bytes of the log that are read at a time.
const PAGE: usize = 1 << 20;

/// The longest pause between two looks at the ticket: changes are announced, and this is the net below.
const LONGEST_PAUSE: Duration = Duration::from_secs(2);

/// How often a watcher says that it is still there.
const WATCH_AGAIN: Duration = Duration::from_secs(25);

/// Which attempts are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FollowScope {
    /// This attempt.
    Attempt(u32),
    /// The last attempt, and those after it.
    Last,
}

/// Reads the log of a ticket.
pub(super) struct LogFollower<'a> {
    store: &'a dyn FleetStore,
    ticket: TicketId,
    scope: FollowScope,
    is_following: bool,
    run: Option<RunId>,
    next: u64,
    listener: Option<Box<dyn ChangeListener>>,
    watched: Option<Instant>,
}

impl<'a> LogFollower<'a> {
    /// Reads from this event on. Without `is_following` it ends with the last stored event.
    pub(super) fn new(
        store: &'a dyn FleetStore,
        ticket: TicketId,
        scope: FollowScope,
        from: u64,
        is_following: bool,
    ) -> Self {
        Self {
            store,
            ticket,
            scope,
            is_following,
            run: None,
            next: from,
            listener: None,
            watched: None,
        }
    }

    /// The next lines: whole events, each with its `\n`. None at the end.
    pub(super) async fn next_lines(&mut self) -> Result<Option<Vec<u8>>, Failure> {
        loop {
            // Read the ticket before the log: if it shows an attempt as ended, the log has all events from before the end.
            let ticket = self.read_ticket().await?;
            self.choose_run(&ticket);
            if let Some(run) = self.run.clone()
                && let Some(lines) = self.read_page(&run).await?
            {
                return Ok(Some(lines));
            }
            if !self.is_following || self.is_over(&ticket) {
                return Ok(None);
            }
            self.wait_for_change().await?;
        }
    }

    async fn read_ticket(&self) -> Result<TicketRecord, Failure> {
        if !self.is_following {
            return find_ticket(self.store, &self.ticket).await;
        }
        let found = retry_passing(async || self.store.ticket(&self.ticket).await).await?;
        found.ok_or_else(|| unknown_ticket(self.store, &self.ticket))
    }

    /// The first run that is read, or the next one once this one is over.
    fn choose_run(&mut self, ticket: &TicketRecord) {
        let attempts = &ticket.attempt_records;
        let chosen = match (self.scope, &self.run) {
            (FollowScope::Attempt(number), _) => attempts.iter().find(|it| it.number == number),
            (FollowScope::Last, None) => attempts.last(),
            (FollowScope::Last, Some(run)) => {
                let place = attempts.iter().position(|it| it.run == *run);
                let current = place.and_then(|place| attempts.get(place));
                let has_all =
                    current.is_some_and(|it| it.ended_at.is_some() && self.next >= it.next_seq);
                match (place, has_all) {
                    (Some(place), true) => attempts.get(place + 1).or(current),
                    _ => current,
                }
            }
        };
        let Some(chosen) = chosen else { return };
        if self.run.as_ref().is_some_and(|run| *run != chosen.run) {
            self.next = 0;
            self.watched = None;
        }
        self.run = Some(chosen.run.clone());
    }

    async fn read_page(&mut self, run: &RunId) -> Result<Option<Vec<u8>>, Failure> {
        let read = async || self.store.chunks(run, self.next, PAGE).await;
        let chunks = if self.is_following {
            retry_passing(read).await?
        } else {
            read().await.map_err(store_failure)?
        };
        let mut lines = Vec::new();
        for chunk in chunks {
            let skipped = self.next.saturating_sub(chunk.first);
            lines.extend_from_slice(without_lines(&chunk.body, skipped));
            self.next = chunk.last + 1;
        }
        Ok((!lines.is_empty()).then_some(lines))
    }

    fn is_over(&self, ticket: &TicketRecord) -> bool {
        let attempt = ticket
            .attempt_records
            .iter()
            .find(|it| Some(&it.run) == self.run.as_ref());
        match self.scope {
            FollowScope::Attempt(number) => match attempt {
                Some(attempt) => attempt.ended_at.is_some(),
                None => ticket.state == TicketState::Done || ticket.attempts >= number,
            },
            FollowScope::Last => ticket.state == TicketState::Done,
        }
    }

    async fn wait_for_change(&mut self) -> Result<(), Failure> {
        if let Some(run) = &self.run
            && self
                .watched
                .is_none_or(|since| since.elapsed() > WATCH_AGAIN)
        {
            // A viewer of a read-only standby cannot say that it watches: it polls.
            let _ = self.store.watch(run).await;
            self.watched = Some(Instant::now());
        }
        if self.listener.is_none() {
            self.listener = self.store.listen().await.ok();
            return Ok(()); // something may have changed before
        }
        if let Some(listener) = &mut self.listener {
            let _ = timeout(LONGEST_PAUSE, listener.next()).await;
        }
        Ok(())
    }
}

/// A reader outlives a restart of the store.
pub(super) async fn retry_passing<T>(
    operation: impl AsyncFn() -> Result<T, StoreError>,
) -> Result<T, Failure> {
    loop {
        match operation().await {
            Err(error) if error.is_passing() => tokio::time::sleep(Duration::from_secs(1)).await,
            done => return done.map_err(store_failure),
        }
    }
}

/// The text without its first lines.
fn without_lines(text: &[u8], lines: u64) -> &[u8] {
    let mut rest = text;
    for _ in 0..lines {
        let end = memchr::memchr(b'\n', rest).map_or(rest.len(), |at| at + 1);
        rest = &rest[end..];
    }
    rest
}

/// Waits until a ticket has ended.
pub(super) async fn wait_for_end(
    store: &dyn FleetStore,
    ticket: &TicketId,
) -> Result<TicketRecord, Failure> {
    let mut listener = store.listen().await.map_err(store_failure)?;
    loop {
        let record = retry_passing(async || store.ticket(ticket).await).await?;
        let record = record.ok_or_else(|| unknown_ticket(store, ticket))?;
        if record.state == TicketState::Done {
            return Ok(record);
        }
        let _ = timeout(LONGEST_PAUSE, listener.next()).await;
    }
}

#[cfg(test)]
mod tests {
    use super::without_lines;

    #[test]
    fn lines_that_were_read_are_skipped() {
        assert_eq!(without_lines(b"a\nb\nc\n", 2), b"c\n");
        assert_eq!(without_lines(b"a\n", 0), b"a\n");
        assert_eq!(without_lines(b"a\n", 9), b"");
    }
}
