//! Workers: registration, claims, heartbeats.

use std::time::Duration;

use rusqlite::{OptionalExtension as _, Row, Transaction, params};

use super::bell::{StoreBell, ring};
use super::connection::{SqliteFault, milliseconds, now};
use super::submit::{list_text, read_list, stored_id};
use crate::ranking::{KindHead, batch_size, rank_kinds};
use crate::{
    CancelOrder, ClaimRequest, ClaimedTerm, HeartbeatReply, KeptLease, PromptAnswer, RunId,
    SPEC_VERSION, StoreError, TicketClaim, WorkerHeartbeat, WorkerId, WorkerStart,
};

pub(super) fn register(
    transaction: &Transaction<'_>,
    worker: &WorkerStart,
) -> Result<(), SqliteFault> {
    let insert = "insert into worker (id, name, host, version, labels, slots, started_at, seen_at) \
        values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?7) on conflict (id) do nothing";
    transaction.execute(
        insert,
        params![
            worker.id.as_str(),
            worker.name,
            worker.host,
            worker.version,
            list_text(&worker.labels),
            worker.slots,
            now(),
        ],
    )?;
    Ok(())
}

pub(super) fn leave(transaction: &Transaction<'_>, worker: &WorkerId) -> Result<(), SqliteFault> {
    let update = "update worker set left_at = ?2, seen_at = ?2 where id = ?1";
    transaction.execute(update, params![worker.as_str(), now()])?;
    Ok(())
}

/// Whether a claim would find a ticket. It only reads: an idle worker writes nothing, and wakes no other one.
pub(super) fn claimable_exists(
    transaction: &Transaction<'_>,
    request: &ClaimRequest,
) -> Result<bool, SqliteFault> {
    let worker = &request.worker;
    let mut known = transaction.prepare_cached("select 1 from worker where id = ?1")?;
    if !known.exists([worker.as_str()])? {
        let worker = worker.clone();
        return Err(StoreError::UnknownWorker { worker }.into());
    }
    for head in rank_kinds(kind_heads(transaction)?, &request.labels) {
        if lane_room(transaction, &head.lanes)? > 0 {
            return Ok(true);
        }
    }
    let repeated = "select 1 from ticket where state = 'running' and worker = ?1 and nonce = ?2";
    let mut repeated = transaction.prepare_cached(repeated)?;
    Ok(repeated.exists([worker.as_str(), &request.nonce])?)
}

pub(super) fn claim(
    transaction: &Transaction<'_>,
    request: &ClaimRequest,
) -> Result<Vec<TicketClaim>, SqliteFault> {
    let repeated = claimed_before(transaction, request)?;
    if !repeated.is_empty() {
        return Ok(repeated);
    }
    let mut claims = Vec::new();
    let limit = usize::try_from(request.limit).unwrap_or(usize::MAX);
    while claims.len() < limit {
        let ranked = rank_kinds(kind_heads(transaction)?, &request.labels);
        let left = u32::try_from(limit - claims.len()).unwrap_or(u32::MAX);
        let before = claims.len();
        for (place, head) in ranked.iter().enumerate() {
            let room = lane_room(transaction, &head.lanes)?;
            let take = batch_size(&ranked[place..], left).min(room);
            if take > 0 {
                claims.extend(take_of_kind(transaction, head, request, take)?);
                break;
            }
        }
        if claims.len() == before {
            break;
        }
    }
    if !claims.is_empty() {
        ring(transaction, StoreBell::States)?;
    }
    Ok(claims)
}

/// Marks a worker as seen.
fn see_worker(
    transaction: &Transaction<'_>,
    worker: &WorkerId,
    draining: bool,
) -> Result<(), SqliteFault> {
    let update = "update worker set seen_at = ?2, draining = ?3 where id = ?1";
    let mut update = transaction.prepare_cached(update)?;
    if update.execute(params![worker.as_str(), now(), draining])? == 0 {
        let worker = worker.clone();
        return Err(StoreError::UnknownWorker { worker }.into());
    }
    Ok(())
}

/// The first claimable ticket of each kind that waits: one probe of the index for each.
fn kind_heads(transaction: &Transaction<'_>) -> rusqlite::Result<Vec<KindHead>> {
    let query = "with recursive waiting (kind) as ( \
            select min(kind) from ticket where state = 'waiting' \
            union all \
            select (select min(kind) from ticket where state = 'waiting' and kind > waiting.kind) \
            from waiting where waiting.kind is not null) \
        select kind.id, kind.lanes, kind.needs, kind.last_claim, head.priority, head.not_before, head.id \
        from waiting join kind on kind.id = waiting.kind \
        join ticket head on head.id = ( \
            select id from ticket where state = 'waiting' and kind = waiting.kind and not_before <= ?1 and spec_version <= ?2 \
            order by priority desc, not_before, id limit 1)";
    let mut query = transaction.prepare_cached(query)?;
    let heads = query.query_map(params![now(), SPEC_VERSION], |row| {
        Ok(KindHead {
            kind: row.get(0)?,
            lanes: read_list(&row.get::<_, String>(1)?),
            needs: read_list(&row.get::<_, String>(2)?),
            last_claim: row.get(3)?,
            priority: row.get(4)?,
            not_before: row.get(5)?,
            ticket: row.get(6)?,
        })
    })?;
    heads.collect()
}

/// How many more tickets may run in all of these lanes.
fn lane_room(transaction: &Transaction<'_>, lanes: &[String]) -> rusqlite::Result<u32> {
    let query = "select max - running from lane where name = ?1 and max is not null";
    let mut query = transaction.prepare_cached(query)?;
    let mut room = u32::MAX;
    for lane in lanes {
        let left: Option<i64> = query.query_row([lane], |row| row.get(0)).optional()?;
        room = room.min(left.map_or(u32::MAX, |left| u32::try_from(left).unwrap_or(0)));
    }
    Ok(room)
}

fn take_of_kind(
    transaction: &Transaction<'_>,
    head: &KindHead,
    request: &ClaimRequest,
    take: u32,
) -> Result<Vec<TicketClaim>, SqliteFault> {
    let now = now();
    let query = "select id from ticket where state = 'waiting' and kind = ?1 and not_before <= ?2 and spec_version <= ?3 \
        order by priority desc, not_before, id limit ?4";
    let ids: Vec<String> = transaction
        .prepare_cached(query)?
        .query_map(params![head.kind, now, SPEC_VERSION, take], |row| {
            row.get(0)
        })?
        .collect::<Result<_, _>>()?;
    let update = "update ticket set state = 'running', term = term + 1, attempts = attempts + 1, worker = ?2, nonce = ?3, \
        lease_until = ?4, lease = ?5, started_at = ?6 where id = ?1";
    let insert = "insert into attempt (run, ticket, number, term, worker, started_at) \
        select id || '-' || term, id, attempts, term, worker, started_at from ticket where id = ?1";
    let lease = milliseconds(request.lease);
    for id in &ids {
        let worker = request.worker.as_str();
        transaction.prepare_cached(update)?.execute(params![
            id,
            worker,
            request.nonce,
            now + lease,
            lease,
            now
        ])?;
        transaction.prepare_cached(insert)?.execute([id])?;
    }
    let taken = i64::try_from(ids.len()).unwrap_or(i64::MAX);
    for lane in &head.lanes {
        let update = "update lane set running = running + ?2 where name = ?1";
        let mut update = transaction.prepare_cached(update)?;
        update.execute(params![lane, taken])?;
    }
    let update = "update kind set last_claim = ?2 where id = ?1";
    let mut update = transaction.prepare_cached(update)?;
    update.execute(params![head.kind, now])?;
    let claims = ids.iter().map(|id| claim_of(transaction, id));
    claims.collect()
}

const CLAIM_COLUMNS: &str = "ticket.id, term, spec.body, attempts, attempts_allowed, lost, not_before, started_at, created_by \
    from ticket join spec on spec.ticket = ticket.id";

fn claim_of(transaction: &Transaction<'_>, id: &str) -> Result<TicketClaim, SqliteFault> {
    let query = format!("select {CLAIM_COLUMNS} where ticket.id = ?1");
    let mut query = transaction.prepare_cached(&query)?;

    query.query_row([id], |row| Ok(read_claim(row)))?
}

fn claimed_before(
    transaction: &Transaction<'_>,
    request: &ClaimRequest,
) -> Result<Vec<TicketClaim>, SqliteFault> {
    let query =
        format!("select {CLAIM_COLUMNS} where state = 'running' and worker = ?1 and nonce = ?2");
    let mut query = transaction.prepare_cached(&query)?;
    let claims = query.query_map(params![request.worker.as_str(), request.nonce], |row| {
        Ok(read_claim(row))
    })?;
    claims.map(|claim| claim?).collect()
}

fn read_claim(row: &Row<'_>) -> Result<TicketClaim, SqliteFault> {
    let ticket = stored_id(&row.get::<_, String>(0)?)?;
    let term = row.get(1)?;
    let waited = row.get::<_, i64>(7)? - row.get::<_, i64>(6)?;
    Ok(TicketClaim {
        run: RunId::new(&ticket, term),
        ticket,
        term,
        spec: row.get(2)?,
        attempt: row.get(3)?,
        max_attempts: row.get(4)?,
        lost: row.get(5)?,
        waited: Duration::from_millis(u64::try_from(waited).unwrap_or(0)),
        created_by: row.get(8)?,
    })
}

pub(super) fn heartbeat(
    transaction: &Transaction<'_>,
    heartbeat: &WorkerHeartbeat,
) -> Result<HeartbeatReply, SqliteFault> {
    see_worker(transaction, &heartbeat.worker, heartbeat.draining)?;
    beat(transaction, heartbeat.lease)?;
    let mut reply = HeartbeatReply::default();
    let until = now() + milliseconds(heartbeat.lease);
    let update = "update ticket set lease_until = ?4, lease = ?5 where id = ?1 and term = ?2 and worker = ?3 and state = 'running' \
        returning cancel_by, cancel_why, cancel_now";
    for held in &heartbeat.held {
        let values = params![
            held.ticket.as_str(),
            held.term,
            heartbeat.worker.as_str(),
            until,
            milliseconds(heartbeat.lease)
        ];
        let kept = transaction
            .prepare_cached(update)?
            .query_row(values, |row| {
                let by: Option<String> = row.get(0)?;
                let (why, now) = (row.get(1)?, row.get(2)?);
                Ok(by.map(|by| CancelOrder { by, why, now }))
            })
            .optional()?;
        match kept {
            Some(cancel) => {
                reply.kept.push(KeptLease {
                    claimed: held.clone(),
                    cancel,
                });
                reply.answers.extend(answers(transaction, held)?);
            }
            None => reply.lost.push(held.clone()),
        }
    }
    Ok(reply)
}

fn answers(
    transaction: &Transaction<'_>,
    held: &ClaimedTerm,
) -> Result<Vec<PromptAnswer>, SqliteFault> {
    let query = "select request, answer, answered_by from prompt \
        where run = ?1 and answer is not null and settled is null order by seq";
    let run = held.run();
    let mut query = transaction.prepare_cached(query)?;
    let answers = query.query_map([run.as_str()], |row| {
        Ok(PromptAnswer {
            run: run.clone(),
            request: row.get(0)?,
            answer: row.get(1)?,
            by: row.get(2)?,
        })
    })?;
    Ok(answers.collect::<Result<_, _>>()?)
}

/// Notes that a worker is alive. After half a lease without any, all leases are extended once: the store was away, or the machine
/// slept, and no worker could renew its own.
pub(super) fn beat(transaction: &Transaction<'_>, lease: Duration) -> rusqlite::Result<()> {
    let now = now();
    let last: i64 = transaction
        .prepare_cached("select beat_at from fleet")?
        .query_row([], |row| row.get(0))?;
    if now - last > milliseconds(lease) / 2 {
        let update =
            "update ticket set lease_until = max(lease_until, ?1 + lease) where state = 'running'";
        transaction.prepare_cached(update)?.execute([now])?;
    }
    let mut update = transaction.prepare_cached("update fleet set beat_at = ?1")?;
    update.execute([now])?;
    Ok(())
}

/// Whether a ticket runs, or a worker with these labels could claim one now or later.
pub(super) fn find_work(
    transaction: &Transaction<'_>,
    labels: &[String],
) -> Result<bool, SqliteFault> {
    let running = "select exists (select 1 from ticket where state = 'running')";
    if transaction.query_row(running, [], |row| row.get(0))? {
        return Ok(true);
    }
    let query = "select distinct kind.needs from ticket join kind on kind.id = ticket.kind \
        where state <> 'done' and spec_version <= ?1";
    let mut query = transaction.prepare_cached(query)?;
    let needs = query.query_map([SPEC_VERSION], |row| row.get::<_, String>(0))?;
    for needs in needs {
        let needs = read_list(&needs?);
        if needs.iter().all(|need| labels.contains(need)) {
            return Ok(true);
        }
    }
    Ok(false)
}
