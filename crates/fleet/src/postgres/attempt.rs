//! Attempts: their logs, their ends, and the next states of their tickets.

use std::time::Duration;

use super::claim::{count, grant_amnesty, lock_lanes, milliseconds};
use super::pool::{PooledSession, PostgresFault};
use super::submit::stored_id;
use crate::fate::{
    ATTEMPT_ENDED, AttemptCounts, COMPLETED, FAILED, LEASE_LOST, NextState, PREDECESSOR_FAILED,
    RELEASED, is_same_end,
};
use crate::{
    AppendReply, AttemptEnd, AttemptUsage, ClaimedTerm, EventAppend, LeaseUse, RetryPolicy,
    StoreError, TicketFate, TicketRelease,
};

/// An append, and whether its log is watched.
pub(super) struct AppendOutcome {
    pub(super) reply: AppendReply,
    pub(super) is_watched: bool,
}

/// Appends in one statement, whose commit is the only effect.
pub(super) async fn append(
    session: &mut PooledSession,
    append: &EventAppend,
) -> Result<AppendOutcome, PostgresFault> {
    let statement = "with grown as (update lapidary.attempt a set next_seq = $3::bigint, touched = a.touched or $4 \
            where a.run = $1 and a.next_seq = $2::bigint and ($6 or exists (select 1 from lapidary.ticket t \
                where t.id = a.ticket and t.term = a.term and t.state = 'running')) \
            returning a.watched_until > now() as is_watched), \
        stored as (insert into lapidary.chunk (run, first, last, body) \
            select $1, $2::bigint, $3::bigint - 1, $5 from grown) \
        select is_watched from grown";
    let run = append.claimed.run();
    let first = i64::try_from(append.first).unwrap_or(i64::MAX);
    let next = first + i64::from(append.count);
    let is_late = append.lease == LeaseUse::Late;
    let row = session
        .query_opt(
            statement,
            &[
                &run.as_str(),
                &first,
                &next,
                &append.touched,
                &append.body,
                &is_late,
            ],
        )
        .await?;
    if let Some(row) = row {
        let next = u64::try_from(next).unwrap_or(0);
        return Ok(AppendOutcome {
            reply: AppendReply::Stored { next },
            is_watched: row.get(0),
        });
    }
    check_lease(session, &append.claimed, append.lease).await?;
    let query = "select next_seq from lapidary.attempt where run = $1";
    let row = session.query_opt(query, &[&run.as_str()]).await?;
    let next: i64 = row.map_or(0, |row| row.get(0));
    let next = u64::try_from(next).unwrap_or(0);
    Ok(AppendOutcome {
        reply: AppendReply::OutOfOrder { next },
        is_watched: false,
    })
}

/// Refuses requests of a term that is not held, or that never was.
pub(super) async fn check_lease(
    session: &mut PooledSession,
    claimed: &ClaimedTerm,
    lease: LeaseUse,
) -> Result<(), PostgresFault> {
    let query = match lease {
        LeaseUse::Held => {
            "select 1 from lapidary.ticket where id = $1 and term = $2 and state = 'running'"
        }
        LeaseUse::Late => "select 1 from lapidary.attempt where ticket = $1 and term = $2",
    };
    let found = session
        .query_opt(query, &[&claimed.ticket.as_str(), &claimed.term])
        .await?;
    match found {
        Some(_) => Ok(()),
        None => Err(StoreError::LeaseLost(claimed.clone()).into()),
    }
}

/// The columns of a running ticket that decide its next state.
struct HeldTicket {
    counts: AttemptCounts,
    policy: RetryPolicy,
    lanes: Vec<String>,
    touched: bool,
}

/// Begins a transaction with the ticket under its term, locked until its end. `condition` ends the query.
async fn lock_held(
    session: &mut PooledSession,
    claimed: &ClaimedTerm,
    condition: &str,
) -> Result<Option<HeldTicket>, PostgresFault> {
    let query = format!(
        "select t.attempts, t.released, t.lost, t.attempts_allowed, t.losses_allowed, t.cancel_by is not null, t.retry, k.lanes, \
            a.touched from lapidary.ticket t join lapidary.kind k on k.id = t.kind \
            join lapidary.attempt a on a.ticket = t.id and a.term = t.term \
        where t.id = $1 and t.term = $2 and t.state = 'running' {condition}"
    );
    let row = session
        .begin_with(&query, &[&claimed.ticket.as_str(), &claimed.term])
        .await?;
    Ok(row.map(|row| HeldTicket {
        counts: AttemptCounts {
            attempts: count(&row, 0),
            released: count(&row, 1),
            lost: count(&row, 2),
            attempts_allowed: count(&row, 3),
            losses_allowed: count(&row, 4),
            is_cancelled: row.get(5),
        },
        policy: RetryPolicy::from_word(row.get(6)),
        lanes: row.get(7),
        touched: row.get(8),
    }))
}

const WAIT_FOR_LOCK: &str = "for update of t";
const EXPIRED_AND_FREE: &str = "and t.lease_until < now() for update of t skip locked";

pub(super) async fn finish(
    session: &mut PooledSession,
    end: &AttemptEnd,
) -> Result<TicketFate, PostgresFault> {
    let Some(held) = lock_held(session, &end.claimed, WAIT_FOR_LOCK).await? else {
        session.batch("rollback").await?;
        return finished_before(session, &end.claimed, None).await;
    };
    let next = held.counts.after_end(end);
    let close = AttemptClose {
        outcome: &end.outcome,
        cause: &end.cause,
        evidence: end.evidence.as_deref(),
        result: end.result.as_deref(),
        usage: end.usage,
        lost: 0,
        released: 0,
    };
    close_attempt(session, &end.claimed, &close, &held, &next).await?;
    session.batch("commit").await?;
    Ok(next.fate())
}

pub(super) async fn release(
    session: &mut PooledSession,
    release: &TicketRelease,
) -> Result<TicketFate, PostgresFault> {
    let claimed = &release.claimed;
    let Some(mut held) = lock_held(session, claimed, WAIT_FOR_LOCK).await? else {
        session.batch("rollback").await?;
        return finished_before(session, claimed, Some(RELEASED)).await;
    };
    held.counts.released += 1;
    let next = held.counts.after_release(release.delay);
    let close = AttemptClose {
        outcome: "cancelled",
        cause: RELEASED,
        evidence: Some(release.reason.as_bytes()),
        result: None,
        usage: AttemptUsage::default(),
        lost: 0,
        released: 1,
    };
    close_attempt(session, claimed, &close, &held, &next).await?;
    session.batch("commit").await?;
    Ok(next.fate())
}

/// Ends attempts whose lease is over, each in a transaction of its own.
pub(super) async fn reclaim(
    session: &mut PooledSession,
    lease: Duration,
    limit: u32,
) -> Result<Vec<(ClaimedTerm, TicketFate)>, PostgresFault> {
    if !find_expired(session, lease).await? {
        return Ok(Vec::new());
    }
    grant_amnesty(session, lease).await?;
    let query = "select id, term from lapidary.ticket where state = 'running' and lease_until < now() \
        order by lease_until limit $1";
    let mut fates = Vec::new();
    for row in session.query(query, &[&i64::from(limit)]).await? {
        let claimed = ClaimedTerm {
            ticket: stored_id(row.get(0))?,
            term: row.get(1),
        };
        let fate = reclaim_one(session, &claimed).await?;
        fates.extend(fate.map(|fate| (claimed, fate)));
    }
    Ok(fates)
}

/// Whether a lease is over, or the fleet was silent. One statement that takes no locks: each worker asks at every sweep, and the
/// answer is nearly always no.
async fn find_expired(session: &mut PooledSession, lease: Duration) -> Result<bool, PostgresFault> {
    let query = "select beat_at < now() - $1::bigint / 2 * interval '1 millisecond' or exists (select 1 from lapidary.ticket \
        where state = 'running' and lease_until < now()) from lapidary.fleet";
    let row = session.query_opt(query, &[&milliseconds(lease)]).await?;
    Ok(row.is_some_and(|row| row.get(0)))
}

async fn reclaim_one(
    session: &mut PooledSession,
    claimed: &ClaimedTerm,
) -> Result<Option<TicketFate>, PostgresFault> {
    let Some(mut held) = lock_held(session, claimed, EXPIRED_AND_FREE).await? else {
        session.batch("rollback").await?;
        return Ok(None);
    };
    held.counts.lost += 1;
    let next = held.counts.after_loss(held.policy, held.touched);
    let close = AttemptClose {
        outcome: FAILED,
        cause: LEASE_LOST,
        evidence: None,
        result: None,
        usage: AttemptUsage::default(),
        lost: 1,
        released: 0,
    };
    close_attempt(session, claimed, &close, &held, &next).await?;
    session.batch("commit").await?;
    Ok(Some(next.fate()))
}

/// How an attempt ended.
struct AttemptClose<'a> {
    outcome: &'a str,
    cause: &'a str,
    evidence: Option<&'a [u8]>,
    result: Option<&'a [u8]>,
    usage: AttemptUsage,
    lost: i32,
    released: i32,
}

/// Ends the attempt, moves the ticket on, and frees its lanes. In a transaction that has the ticket's row.
async fn close_attempt(
    session: &mut PooledSession,
    claimed: &ClaimedTerm,
    close: &AttemptClose<'_>,
    held: &HeldTicket,
    next: &NextState,
) -> Result<(), PostgresFault> {
    let run = claimed.run();
    let (state, outcome, cause) = next.columns();
    let delay = match next {
        NextState::Done { .. } => 0,
        NextState::Waiting { delay } => milliseconds(*delay),
    };
    let update = "with closed as (update lapidary.attempt set ended_at = now(), outcome = $2, cause = $3, fate = $4::text, \
            fate_outcome = $5::text, fate_cause = $6::text where run = $1), \
        ended as (insert into lapidary.attempt_end (run, evidence, result, tokens, cost_usd) values ($1, $7, $8, $14, $15)), \
        settled as (update lapidary.prompt set settled = $9 where run = $1 and settled is null), \
        freed as (delete from lapidary.dependency where predecessor = $13 and $4::text = 'done' returning ticket) \
        update lapidary.ticket set state = $4::text, worker = null, nonce = null, lease_until = null, outcome = $5::text, \
            cause = $6::text, lost = lost + $10::int, released = released + $11::int, \
            not_before = case when $4::text = 'waiting' then now() + $12::bigint * interval '1 millisecond' else not_before end, \
            ended_at = case when $4::text = 'done' then now() end where id = $13 \
            returning (select array_agg(freed.ticket) from freed)";
    let ticket = claimed.ticket.as_str();
    let tokens = close.usage.tokens;
    let tokens = tokens.map(|tokens| i64::try_from(tokens).unwrap_or(i64::MAX));
    let moved = session
        .query_opt(
            update,
            &[
                &run.as_str(),
                &close.outcome,
                &close.cause,
                &state,
                &outcome,
                &cause,
                &close.evidence,
                &close.result,
                &ATTEMPT_ENDED,
                &close.lost,
                &close.released,
                &delay,
                &ticket,
                &tokens,
                &close.usage.cost_usd,
            ],
        )
        .await?;
    if !held.lanes.is_empty() {
        lock_lanes(session, &held.lanes).await?;
        let update = "update lapidary.lane set running = running - 1 where name = any($1)";
        session.execute(update, &[&held.lanes]).await?;
    }
    let freed: Option<Vec<String>> = moved.and_then(|row| row.get(0));
    match (outcome, freed) {
        (Some(outcome), Some(freed)) => move_dependents(session, freed, outcome == COMPLETED).await,
        _ => Ok(()),
    }
}

/// Ends a ticket that no worker has. In a transaction that has its row.
pub(super) async fn end_ticket(
    session: &mut PooledSession,
    ticket: &str,
    outcome: &str,
    cause: &str,
) -> Result<(), PostgresFault> {
    let update = "update lapidary.ticket set state = 'done', outcome = $2, cause = $3, ended_at = now() where id = $1";
    session
        .execute(update, &[&ticket, &outcome, &cause])
        .await?;
    release_dependents(session, ticket, outcome).await
}

/// Lets tickets that waited for this one go on, or end.
async fn release_dependents(
    session: &mut PooledSession,
    ticket: &str,
    outcome: &str,
) -> Result<(), PostgresFault> {
    let dependents = free_dependents(session, ticket).await?;
    move_dependents(session, dependents, outcome == COMPLETED).await
}

/// The tickets that waited for this one. They wait for it no more.
async fn free_dependents(
    session: &mut PooledSession,
    ticket: &str,
) -> Result<Vec<String>, PostgresFault> {
    let delete = "delete from lapidary.dependency where predecessor = $1 returning ticket";
    let rows = session.query(delete, &[&ticket]).await?;
    Ok(rows.iter().map(|row| row.get(0)).collect())
}

/// Makes tickets claimable whose last predecessor completed. If a predecessor did not complete, ends them, and the tickets that
/// waited for them in turn. Each row is locked before its other predecessors are counted: two predecessors that end at once must
/// not both see the other one as open.
async fn move_dependents(
    session: &mut PooledSession,
    dependents: Vec<String>,
    is_completed: bool,
) -> Result<(), PostgresFault> {
    let mut freed = vec![(dependents, is_completed)];
    while let Some((dependents, is_completed)) = freed.pop() {
        if dependents.is_empty() {
            continue;
        }
        let lock = "select id from lapidary.ticket where id = any($1) order by id for update";
        session.query(lock, &[&dependents]).await?;
        if is_completed {
            let update = "update lapidary.ticket t set state = 'waiting', not_before = greatest(not_before, now()) \
                where id = any($1) and state = 'blocked' \
                and not exists (select 1 from lapidary.dependency d where d.ticket = t.id)";
            session.execute(update, &[&dependents]).await?;
            continue;
        }
        let delete = "delete from lapidary.dependency where ticket = any($1)";
        session.execute(delete, &[&dependents]).await?;
        let update = "update lapidary.ticket set state = 'done', outcome = $2, cause = $3, ended_at = now() \
            where id = any($1) and state = 'blocked'";
        let values: [&(dyn tokio_postgres::types::ToSql + Sync); 3] =
            [&dependents, &FAILED, &PREDECESSOR_FAILED];
        session.execute(update, &values).await?;
        for dependent in &dependents {
            freed.push((free_dependents(session, dependent).await?, false));
        }
    }
    Ok(())
}

/// The fate that an earlier call of the same attempt decided. An attempt that ended in another way lost its lease.
async fn finished_before(
    session: &mut PooledSession,
    claimed: &ClaimedTerm,
    wanted_cause: Option<&str>,
) -> Result<TicketFate, PostgresFault> {
    let query = "select cause, fate, fate_outcome, fate_cause from lapidary.attempt \
        where run = $1 and ended_at is not null";
    let row = session.query_opt(query, &[&claimed.run().as_str()]).await?;
    let lost = || PostgresFault::Store(StoreError::LeaseLost(claimed.clone()));
    let row = row.ok_or_else(lost)?;
    let cause: &str = row.get(0);
    match (is_same_end(cause, wanted_cause), row.get(1)) {
        (false, _) => Err(lost()),
        (true, "waiting") => Ok(TicketFate::Waiting),
        (true, _) => Ok(TicketFate::Done {
            outcome: row.get(2),
            cause: row.get(3),
        }),
    }
}
