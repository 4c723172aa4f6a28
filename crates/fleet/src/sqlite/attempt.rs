//! Attempts: their logs, their ends, and the next states of their tickets.

use std::time::Duration;

use rusqlite::{OptionalExtension as _, Transaction, params};

use super::bell::{StoreBell, ring};
use super::claim::beat;
use super::connection::{SqliteFault, milliseconds, now};
use super::submit::{read_list, stored_id};
use crate::fate::{
    ATTEMPT_ENDED, AttemptCounts, COMPLETED, FAILED, LEASE_LOST, NextState, PREDECESSOR_FAILED,
    RELEASED, is_same_end,
};
use crate::{
    AppendReply, AttemptEnd, AttemptUsage, ClaimedTerm, EventAppend, LeaseUse, RetryPolicy,
    StoreError, TicketFate, TicketRelease,
};

pub(super) fn append(
    transaction: &Transaction<'_>,
    append: &EventAppend,
) -> Result<AppendReply, SqliteFault> {
    let run = append.claimed.run();
    check_lease(transaction, &append.claimed, append.lease)?;
    let first = i64::try_from(append.first).unwrap_or(i64::MAX);
    let next = first + i64::from(append.count);
    let update = "update attempt set next_seq = ?3, touched = touched or ?4 where run = ?1 and next_seq = ?2";
    let mut update = transaction.prepare_cached(update)?;
    if update.execute(params![run.as_str(), first, next, append.touched])? == 0 {
        let query = "select next_seq from attempt where run = ?1";
        let next = transaction
            .prepare_cached(query)?
            .query_row([run.as_str()], |row| row.get(0))?;
        return Ok(AppendReply::OutOfOrder { next });
    }
    let insert = "insert into chunk (run, first, last, at, body) values (?1, ?2, ?3, ?4, ?5)";
    let mut insert = transaction.prepare_cached(insert)?;
    insert.execute(params![run.as_str(), first, next - 1, now(), append.body])?;
    Ok(AppendReply::Stored {
        next: u64::try_from(next).unwrap_or(0),
    })
}

/// Refuses requests of a term that is not held, or that never was.
pub(super) fn check_lease(
    transaction: &Transaction<'_>,
    claimed: &ClaimedTerm,
    lease: LeaseUse,
) -> Result<(), SqliteFault> {
    let query = match lease {
        LeaseUse::Held => "select 1 from ticket where id = ?1 and term = ?2 and state = 'running'",
        LeaseUse::Late => "select 1 from attempt where ticket = ?1 and term = ?2",
    };
    let mut query = transaction.prepare_cached(query)?;
    if query.exists(params![claimed.ticket.as_str(), claimed.term])? {
        Ok(())
    } else {
        Err(StoreError::LeaseLost(claimed.clone()).into())
    }
}

/// The columns of a running ticket that decide its next state.
struct HeldTicket {
    counts: AttemptCounts,
    policy: RetryPolicy,
    lanes: Vec<String>,
}

fn held_ticket(
    transaction: &Transaction<'_>,
    claimed: &ClaimedTerm,
) -> Result<Option<HeldTicket>, SqliteFault> {
    let query = "select attempts, released, lost, attempts_allowed, losses_allowed, cancel_by is not null, retry, kind.lanes \
        from ticket join kind on kind.id = ticket.kind where ticket.id = ?1 and term = ?2 and state = 'running'";
    let mut query = transaction.prepare_cached(query)?;
    let held = query.query_row(params![claimed.ticket.as_str(), claimed.term], |row| {
        Ok(HeldTicket {
            counts: AttemptCounts {
                attempts: row.get(0)?,
                released: row.get(1)?,
                lost: row.get(2)?,
                attempts_allowed: row.get(3)?,
                losses_allowed: row.get(4)?,
                is_cancelled: row.get(5)?,
            },
            policy: RetryPolicy::from_word(&row.get::<_, String>(6)?),
            lanes: read_list(&row.get::<_, String>(7)?),
        })
    });
    Ok(held.optional()?)
}

pub(super) fn finish(
    transaction: &Transaction<'_>,
    end: &AttemptEnd,
) -> Result<TicketFate, SqliteFault> {
    let Some(held) = held_ticket(transaction, &end.claimed)? else {
        return finished_before(transaction, &end.claimed, None);
    };
    let next = held.counts.after_end(end);
    let record = AttemptClose {
        outcome: &end.outcome,
        cause: &end.cause,
        evidence: end.evidence.as_deref(),
        result: end.result.as_deref(),
        usage: end.usage,
    };
    close_attempt(transaction, &end.claimed, &record, &next)?;
    move_ticket(transaction, &end.claimed, &held, &next)?;
    Ok(next.fate())
}

pub(super) fn release(
    transaction: &Transaction<'_>,
    release: &TicketRelease,
) -> Result<TicketFate, SqliteFault> {
    let claimed = &release.claimed;
    let Some(mut held) = held_ticket(transaction, claimed)? else {
        return finished_before(transaction, claimed, Some(RELEASED));
    };
    let update = "update ticket set released = released + 1 where id = ?1";
    transaction
        .prepare_cached(update)?
        .execute([claimed.ticket.as_str()])?;
    held.counts.released += 1;
    let next = held.counts.after_release(release.delay);
    let record = AttemptClose {
        outcome: "cancelled",
        cause: RELEASED,
        evidence: Some(release.reason.as_bytes()),
        result: None,
        usage: AttemptUsage::default(),
    };
    close_attempt(transaction, claimed, &record, &next)?;
    move_ticket(transaction, claimed, &held, &next)?;
    Ok(next.fate())
}

/// Whether a lease is over, or the fleet was silent. It only reads: nearly always there is nothing to do.
pub(super) fn reclaimable_exists(
    transaction: &Transaction<'_>,
    lease: Duration,
) -> Result<bool, SqliteFault> {
    let query = "select beat_at < ?2 or exists (select 1 from ticket where state = 'running' and lease_until < ?1) from fleet";
    let now = now();
    let mut query = transaction.prepare_cached(query)?;
    let silent_since = now - milliseconds(lease) / 2;
    Ok(query.query_row([now, silent_since], |row| row.get(0))?)
}

/// Ends attempts whose lease is over.
pub(super) fn reclaim(
    transaction: &Transaction<'_>,
    lease: Duration,
    limit: u32,
) -> Result<Vec<(ClaimedTerm, TicketFate)>, SqliteFault> {
    beat(transaction, lease)?;
    let query = "select id, term from ticket where state = 'running' and lease_until < ?1 order by lease_until limit ?2";
    let expired: Vec<(String, i64)> = transaction
        .prepare_cached(query)?
        .query_map(params![now(), limit], |row| Ok((row.get(0)?, row.get(1)?)))?
        .collect::<Result<_, _>>()?;
    let mut fates = Vec::new();
    for (ticket, term) in expired {
        let ticket = stored_id(&ticket)?;
        let claimed = ClaimedTerm { ticket, term };
        let fate = reclaim_one(transaction, &claimed)?;
        fates.extend(fate.map(|fate| (claimed, fate)));
    }
    if !fates.is_empty() {
        ring(transaction, StoreBell::Fates)?;
    }
    Ok(fates)
}

fn reclaim_one(
    transaction: &Transaction<'_>,
    claimed: &ClaimedTerm,
) -> Result<Option<TicketFate>, SqliteFault> {
    let Some(mut held) = held_ticket(transaction, claimed)? else {
        return Ok(None);
    };
    let update = "update ticket set lost = lost + 1 where id = ?1";
    transaction.execute(update, [claimed.ticket.as_str()])?;
    held.counts.lost += 1;
    let query = "select touched from attempt where run = ?1";
    let run = claimed.run();
    let touched = transaction.query_row(query, [run.as_str()], |row| row.get(0))?;
    let next = held.counts.after_loss(held.policy, touched);
    let record = AttemptClose {
        outcome: FAILED,
        cause: LEASE_LOST,
        evidence: None,
        result: None,
        usage: AttemptUsage::default(),
    };
    close_attempt(transaction, claimed, &record, &next)?;
    move_ticket(transaction, claimed, &held, &next)?;
    Ok(Some(next.fate()))
}

/// How an attempt ended.
struct AttemptClose<'a> {
    outcome: &'a str,
    cause: &'a str,
    evidence: Option<&'a [u8]>,
    result: Option<&'a [u8]>,
    usage: AttemptUsage,
}

fn close_attempt(
    transaction: &Transaction<'_>,
    claimed: &ClaimedTerm,
    record: &AttemptClose<'_>,
    next: &NextState,
) -> Result<(), SqliteFault> {
    let run = claimed.run();
    let (fate, outcome, cause) = next.columns();
    let update = "update attempt set ended_at = ?2, outcome = ?3, cause = ?4, fate = ?5, fate_outcome = ?6, fate_cause = ?7 \
        where run = ?1";
    transaction.prepare_cached(update)?.execute(params![
        run.as_str(),
        now(),
        record.outcome,
        record.cause,
        fate,
        outcome,
        cause
    ])?;
    let insert = "insert into attempt_end (run, evidence, result, tokens, cost_usd) values (?1, ?2, ?3, ?4, ?5)";
    let (tokens, cost_usd) = (record.usage.tokens, record.usage.cost_usd);
    let values = params![
        run.as_str(),
        record.evidence,
        record.result,
        tokens,
        cost_usd
    ];
    transaction.prepare_cached(insert)?.execute(values)?;
    let update = "update prompt set settled = ?2 where run = ?1 and settled is null";
    let mut update = transaction.prepare_cached(update)?;
    update.execute(params![run.as_str(), ATTEMPT_ENDED])?;
    Ok(())
}

fn move_ticket(
    transaction: &Transaction<'_>,
    claimed: &ClaimedTerm,
    held: &HeldTicket,
    next: &NextState,
) -> Result<(), SqliteFault> {
    let update = "update lane set running = running - 1 where name = ?1";
    for lane in &held.lanes {
        transaction.prepare_cached(update)?.execute([lane])?;
    }
    let ticket = claimed.ticket.as_str();
    match next {
        NextState::Waiting { delay } => {
            let update = "update ticket set state = 'waiting', worker = null, nonce = null, lease_until = null, \
                not_before = ?2 where id = ?1";
            let mut update = transaction.prepare_cached(update)?;
            update.execute(params![ticket, now() + milliseconds(*delay)])?;
            Ok(())
        }
        NextState::Done { outcome, cause } => end_ticket(transaction, ticket, outcome, cause),
    }
}

/// Ends a ticket. Tickets that waited for it become claimable, or end as well.
pub(super) fn end_ticket(
    transaction: &Transaction<'_>,
    ticket: &str,
    outcome: &str,
    cause: &str,
) -> Result<(), SqliteFault> {
    let mut ended = vec![(ticket.to_owned(), outcome.to_owned(), cause.to_owned())];
    while let Some((ticket, outcome, cause)) = ended.pop() {
        let update = "update ticket set state = 'done', worker = null, nonce = null, lease_until = null, outcome = ?2, \
            cause = ?3, ended_at = ?4 where id = ?1";
        let mut update = transaction.prepare_cached(update)?;
        update.execute(params![ticket, outcome, cause, now()])?;
        let delete = "delete from dependency where predecessor = ?1 returning ticket";
        let waiting: Vec<String> = transaction
            .prepare_cached(delete)?
            .query_map([&ticket], |row| row.get(0))?
            .collect::<Result<_, _>>()?;
        for dependent in waiting {
            if outcome == COMPLETED {
                unblock(transaction, &dependent)?;
            } else {
                let delete = "delete from dependency where ticket = ?1";
                transaction.prepare_cached(delete)?.execute([&dependent])?;
                ended.push((dependent, FAILED.to_owned(), PREDECESSOR_FAILED.to_owned()));
            }
        }
    }
    Ok(())
}

fn unblock(transaction: &Transaction<'_>, ticket: &str) -> Result<(), SqliteFault> {
    let update = "update ticket set state = 'waiting', not_before = max(not_before, ?2) where id = ?1 and state = 'blocked' \
        and not exists (select 1 from dependency where ticket = ?1)";
    let mut update = transaction.prepare_cached(update)?;
    update.execute(params![ticket, now()])?;
    Ok(())
}

/// The fate that an earlier call of the same attempt decided. An attempt that ended in another way lost its lease.
fn finished_before(
    transaction: &Transaction<'_>,
    claimed: &ClaimedTerm,
    wanted_cause: Option<&str>,
) -> Result<TicketFate, SqliteFault> {
    let query = "select cause, fate, fate_outcome, fate_cause from attempt where run = ?1 and ended_at is not null";
    let run = claimed.run();
    let mut query = transaction.prepare_cached(query)?;
    let ended = query.query_row([run.as_str()], |row| {
        let cause: String = row.get(0)?;
        let fate: String = row.get(1)?;
        let fate = match fate.as_str() {
            "waiting" => TicketFate::Waiting,
            _ => TicketFate::Done {
                outcome: row.get(2)?,
                cause: row.get(3)?,
            },
        };
        Ok((cause, fate))
    });
    match ended.optional()? {
        Some((cause, fate)) if is_same_end(&cause, wanted_cause) => Ok(fate),
        _ => Err(StoreError::LeaseLost(claimed.clone()).into()),
    }
}
