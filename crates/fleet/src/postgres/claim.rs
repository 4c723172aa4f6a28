//! Workers: registration, claims, heartbeats.

use std::collections::HashSet;
use std::time::Duration;

use tokio_postgres::Row;

use super::pool::{Parameters, PooledSession, PostgresFault};
use super::submit::stored_id;
use crate::ranking::{KindHead, batch_size, rank_kinds};
use crate::{
    CancelOrder, ClaimRequest, ClaimedTerm, HeartbeatReply, KeptLease, PromptAnswer, RunId,
    SPEC_VERSION, StoreError, TicketClaim, WorkerHeartbeat, WorkerId, WorkerStart,
};

/// Milliseconds, as statements take them.
pub(super) fn milliseconds(duration: Duration) -> i64 {
    i64::try_from(duration.as_millis()).unwrap_or(i64::MAX / 4)
}

fn spec_version() -> i32 {
    i32::try_from(SPEC_VERSION).unwrap_or(i32::MAX)
}

pub(super) async fn register(
    session: &mut PooledSession,
    worker: &WorkerStart,
) -> Result<(), PostgresFault> {
    let insert = "insert into lapidary.worker (id, name, host, version, labels, slots) \
        values ($1, $2, $3, $4, $5, $6) on conflict (id) do nothing";
    session
        .execute(
            insert,
            &[
                &worker.id.as_str(),
                &worker.name,
                &worker.host,
                &worker.version,
                &worker.labels,
                &i32::try_from(worker.slots).unwrap_or(i32::MAX),
            ],
        )
        .await?;
    Ok(())
}

pub(super) async fn leave(
    session: &mut PooledSession,
    worker: &WorkerId,
) -> Result<(), PostgresFault> {
    let update = "update lapidary.worker set left_at = now(), seen_at = now() where id = $1";
    session.execute(update, &[&worker.as_str()]).await?;
    Ok(())
}

pub(super) async fn claim(
    session: &mut PooledSession,
    request: &ClaimRequest,
) -> Result<Vec<TicketClaim>, PostgresFault> {
    let Some(mut queue) = look_at_queue(session, request).await? else {
        return claimed_before(session, request).await;
    };
    let mut claims = Vec::new();
    let limit = usize::try_from(request.limit).unwrap_or(usize::MAX);
    while claims.len() < limit {
        let before = claims.len();
        let is_contested = queue.len() > 1;
        let ranked = rank_kinds(queue, &request.labels);
        for (place, head) in ranked.iter().enumerate() {
            let left = u32::try_from(limit - claims.len()).unwrap_or(u32::MAX);
            let take = batch_size(&ranked[place..], left);
            let taken = take_of_kind(session, head, request, take).await?;
            if !taken.is_empty() {
                claims.extend(taken);
                if is_contested {
                    serve_kind(session, head.kind).await?;
                }
                break;
            }
        }
        if claims.len() == before || claims.len() == limit {
            break;
        }
        queue = kind_heads(session, request).await?;
    }
    Ok(claims)
}

/// The first claimable ticket of each kind. None if an earlier call with the same nonce claimed tickets. Refuses workers that the
/// store does not know.
async fn look_at_queue(
    session: &mut PooledSession,
    request: &ClaimRequest,
) -> Result<Option<Vec<KindHead>>, PostgresFault> {
    let rows = queue_rows(session, request).await?;
    let Some(first) = rows.first() else {
        let worker = request.worker.clone();
        return Err(StoreError::UnknownWorker { worker }.into());
    };
    Ok((!first.get::<_, bool>(0)).then(|| read_heads(&rows)))
}

async fn kind_heads(
    session: &mut PooledSession,
    request: &ClaimRequest,
) -> Result<Vec<KindHead>, PostgresFault> {
    Ok(read_heads(&queue_rows(session, request).await?))
}

/// A row if the worker is known, with the first claimable ticket of a kind that waits and whose lanes seem to have room; a row for each
/// such kind, which is one probe of the index. It is one statement, which is all that an idle worker sends.
async fn queue_rows(
    session: &mut PooledSession,
    request: &ClaimRequest,
) -> Result<Vec<Row>, PostgresFault> {
    let query = "with recursive waiting (kind) as ( \
            (select min(kind) from lapidary.ticket where state = 'waiting') \
            union all \
            select (select min(t.kind) from lapidary.ticket t where t.state = 'waiting' and t.kind > w.kind) \
            from waiting w where w.kind is not null) \
        select exists (select 1 from lapidary.ticket t where t.state = 'running' and t.worker = worker.id and t.nonce = $3), queue.* \
        from lapidary.worker left join lateral ( \
            select k.id, k.lanes, k.needs, (extract(epoch from k.last_claim) * 1000)::bigint, \
                head.priority, (extract(epoch from head.not_before) * 1000)::bigint, head.id as ticket \
            from waiting w join lapidary.kind k on k.id = w.kind \
            cross join lateral (select t.priority, t.not_before, t.id from lapidary.ticket t \
                where t.state = 'waiting' and t.kind = w.kind and t.not_before <= now() and t.spec_version <= $1 \
                order by t.priority desc, t.not_before, t.id limit 1) head \
            where not exists (select 1 from lapidary.lane l where l.name = any(k.lanes) and l.running >= l.max) \
        ) queue on true where worker.id = $2";
    let worker = request.worker.as_str();
    let values: Parameters<'_> = &[&spec_version(), &worker, &request.nonce];
    Ok(session.query(query, values).await?)
}

fn read_heads(rows: &[Row]) -> Vec<KindHead> {
    let heads = rows.iter().filter_map(|row| {
        Some(KindHead {
            kind: row.get::<_, Option<i64>>(1)?,
            lanes: row.get(2),
            needs: row.get(3),
            last_claim: row.get(4),
            priority: row.get(5),
            not_before: row.get(6),
            ticket: row.get(7),
        })
    });
    heads.collect()
}

/// Notes that a kind was served, so that others come first next time. Claims do not wait for each other here.
async fn serve_kind(session: &mut PooledSession, kind: i64) -> Result<(), PostgresFault> {
    let update = "update lapidary.kind set last_claim = clock_timestamp() \
        where id = (select id from lapidary.kind where id = $1 for update skip locked)";
    session.execute(update, &[&kind]).await?;
    Ok(())
}

async fn take_of_kind(
    session: &mut PooledSession,
    head: &KindHead,
    request: &ClaimRequest,
    take: u32,
) -> Result<Vec<TicketClaim>, PostgresFault> {
    if head.lanes.is_empty() {
        return take_tickets(session, head.kind, request, take).await;
    }
    session.batch("begin").await?;
    let room = lock_lanes(session, &head.lanes).await?;
    let take = take.min(room);
    let claims = match take {
        0 => Vec::new(),
        take => take_tickets(session, head.kind, request, take).await?,
    };
    if claims.is_empty() {
        session.batch("rollback").await?;
        return Ok(claims);
    }
    let taken = i32::try_from(claims.len()).unwrap_or(i32::MAX);
    let update = "update lapidary.lane set running = running + $2 where name = any($1)";
    session.execute(update, &[&head.lanes, &taken]).await?;
    session.batch("commit").await?;
    Ok(claims)
}

/// Locks lanes in the order of their names, and returns how many more tickets may run in all of them. Until the commit no other
/// worker changes them, so limits are exact.
pub(super) async fn lock_lanes(
    session: &mut PooledSession,
    lanes: &[String],
) -> Result<u32, PostgresFault> {
    let query =
        "select max - running from lapidary.lane where name = any($1) order by name for update";
    let rows = session.query(query, &[&lanes]).await?;
    let rooms = rows.iter().filter_map(|row| row.get::<_, Option<i32>>(0));
    let room = rooms.min().unwrap_or(i32::MAX);
    Ok(u32::try_from(room).unwrap_or(0))
}

const CLAIM_COLUMNS: &str = "t.id, t.term, s.body, t.attempts, t.attempts_allowed, t.lost, \
    (extract(epoch from t.started_at - t.not_before) * 1000)::bigint, t.created_by";

async fn take_tickets(
    session: &mut PooledSession,
    kind: i64,
    request: &ClaimRequest,
    take: u32,
) -> Result<Vec<TicketClaim>, PostgresFault> {
    let update = format!(
        "with picked as (select id from lapidary.ticket \
            where state = 'waiting' and kind = $1 and not_before <= now() and spec_version <= $2 \
            order by priority desc, not_before, id limit $3 for update skip locked), \
        taken as (update lapidary.ticket t set state = 'running', term = t.term + 1, attempts = t.attempts + 1, worker = $4, \
            nonce = $5, lease_until = now() + $6::bigint * interval '1 millisecond', lease = $6, started_at = now() \
            from picked where t.id = picked.id returning t.*), \
        begun as (insert into lapidary.attempt (run, ticket, number, term, worker, started_at) \
            select id || '-' || term, id, attempts, term, worker, started_at from taken) \
        select {CLAIM_COLUMNS} from taken t join lapidary.spec s on s.ticket = t.id \
        order by t.priority desc, t.not_before, t.id"
    );
    let lease = milliseconds(request.lease);
    let rows = session
        .query(
            &update,
            &[
                &kind,
                &spec_version(),
                &i64::from(take),
                &request.worker.as_str(),
                &request.nonce,
                &lease,
            ],
        )
        .await?;
    rows.iter().map(read_claim).collect()
}

/// The tickets of an earlier call with the same nonce.
async fn claimed_before(
    session: &mut PooledSession,
    request: &ClaimRequest,
) -> Result<Vec<TicketClaim>, PostgresFault> {
    let query = format!(
        "select {CLAIM_COLUMNS} from lapidary.ticket t join lapidary.spec s on s.ticket = t.id \
        where t.state = 'running' and t.worker = $1 and t.nonce = $2"
    );
    let worker = request.worker.as_str();
    let rows = session.query(&query, &[&worker, &request.nonce]).await?;
    rows.iter().map(read_claim).collect()
}

fn read_claim(row: &Row) -> Result<TicketClaim, PostgresFault> {
    let ticket = stored_id(row.get(0))?;
    let term = row.get(1);
    let waited: i64 = row.get(6);
    Ok(TicketClaim {
        run: RunId::new(&ticket, term),
        ticket,
        term,
        spec: row.get(2),
        attempt: count(row, 3),
        max_attempts: count(row, 4),
        lost: count(row, 5),
        waited: Duration::from_millis(u64::try_from(waited).unwrap_or(0)),
        created_by: row.get(7),
    })
}

/// A count, which is never negative.
pub(super) fn count(row: &Row, column: usize) -> u32 {
    u32::try_from(row.get::<_, i32>(column)).unwrap_or(0)
}

pub(super) async fn heartbeat(
    session: &mut PooledSession,
    heartbeat: &WorkerHeartbeat,
) -> Result<HeartbeatReply, PostgresFault> {
    let update = "with seen as (update lapidary.worker set seen_at = now(), draining = $2 where id = $1 returning id), \
        silence as (select beat_at < now() - $3::bigint / 2 * interval '1 millisecond' as is_long, \
            beat_at < now() - interval '1 second' as is_due from lapidary.fleet), \
        beat as (update lapidary.fleet set beat_at = now() where one = ( \
            select one from lapidary.fleet, silence where is_due and not is_long for update of fleet skip locked)), \
        kept as (update lapidary.ticket t set lease_until = now() + $3::bigint * interval '1 millisecond', lease = $3 \
            from unnest($4::text[], $5::bigint[]) as held (id, term) \
            where t.id = held.id and t.term = held.term and t.worker = $1 and t.state = 'running' \
            returning t.id, t.term, t.cancel_by, t.cancel_why, t.cancel_now, exists (select 1 from lapidary.prompt p \
                where p.run = t.id || '-' || t.term and p.answer is not null and p.settled is null)) \
        select seen.id is not null, silence.is_long, kept.* \
        from silence left join seen on true left join kept on true";
    let held = &heartbeat.held;
    let ids: Vec<&str> = held.iter().map(|held| held.ticket.as_str()).collect();
    let terms: Vec<i64> = held.iter().map(|held| held.term).collect();
    let lease = milliseconds(heartbeat.lease);
    let worker = heartbeat.worker.as_str();
    let rows = session
        .query(
            update,
            &[&worker, &heartbeat.draining, &lease, &ids, &terms],
        )
        .await?;
    let first = rows.first();
    if !first.is_some_and(|row| row.get(0)) {
        let worker = heartbeat.worker.clone();
        return Err(StoreError::UnknownWorker { worker }.into());
    }
    if first.is_some_and(|row| row.get(1)) {
        grant_amnesty(session, heartbeat.lease).await?;
    }
    let mut reply = HeartbeatReply::default();
    for row in &rows {
        let Some(ticket) = row.get::<_, Option<&str>>(2) else {
            continue;
        };
        let cancel_by: Option<String> = row.get(4);
        reply.kept.push(KeptLease {
            claimed: ClaimedTerm {
                ticket: stored_id(ticket)?,
                term: row.get(3),
            },
            cancel: cancel_by.map(|by| CancelOrder {
                by,
                why: row.get(5),
                now: row.get(6),
            }),
        });
    }
    let kept: HashSet<&ClaimedTerm> = reply.kept.iter().map(|kept| &kept.claimed).collect();
    let lost = held.iter().filter(|held| !kept.contains(held));
    reply.lost = lost.cloned().collect();
    let has_answers = |row: &Row| row.get::<_, Option<bool>>(7).unwrap_or(false);
    if rows.iter().any(has_answers) {
        reply.answers = answers(session, &reply.kept).await?;
    }
    Ok(reply)
}

async fn answers(
    session: &mut PooledSession,
    kept: &[KeptLease],
) -> Result<Vec<PromptAnswer>, PostgresFault> {
    let runs: Vec<String> = kept
        .iter()
        .map(|kept| kept.claimed.run().to_string())
        .collect();
    let query = "select run, request, answer, answered_by from lapidary.prompt \
        where run = any($1) and answer is not null and settled is null order by run, seq";
    let rows = session.query(query, &[&runs]).await?;
    let answers = rows.iter().map(|row| {
        let run: &str = row.get(0);
        let (ticket, term) = RunId::parse(run).map_err(|error| StoreError::BadRequest {
            field: "run",
            problem: error.to_string(),
        })?;
        Ok(PromptAnswer {
            run: RunId::new(&ticket, term),
            request: String::from_utf8_lossy(row.get(1)).into_owned(),
            answer: row.get(2),
            by: row.get(3),
        })
    });
    answers.collect()
}

/// Extends all leases once after the whole fleet was silent for half a lease: the database was away, and no worker could renew its
/// own. The first program that comes back does it, under the lock of the fleet's row.
pub(super) async fn grant_amnesty(
    session: &mut PooledSession,
    lease: Duration,
) -> Result<(), PostgresFault> {
    session.batch("begin").await?;
    let query = "select beat_at < clock_timestamp() - $1::bigint / 2 * interval '1 millisecond' \
        from lapidary.fleet for update";
    let rows = session.query(query, &[&milliseconds(lease)]).await?;
    if rows.first().is_some_and(|row| row.get(0)) {
        let update = "update lapidary.ticket set lease_until = \
            greatest(lease_until, clock_timestamp() + lease * interval '1 millisecond') where state = 'running'";
        session.execute(update, &[]).await?;
        let update = "update lapidary.fleet set beat_at = clock_timestamp()";
        session.execute(update, &[]).await?;
    }
    session.batch("commit").await?;
    Ok(())
}

/// Whether a ticket runs, or a worker with these labels could claim one now or later.
pub(super) async fn find_work(
    session: &mut PooledSession,
    labels: &[String],
) -> Result<bool, PostgresFault> {
    let query = "select exists (select 1 from lapidary.ticket where state = 'running') \
        or exists (select 1 from lapidary.ticket t join lapidary.kind k on k.id = t.kind \
            where t.state <> 'done' and t.spec_version <= $1 and k.needs <@ $2)";
    let rows = session.query(query, &[&spec_version(), &labels]).await?;
    Ok(rows.first().is_some_and(|row| row.get(0)))
}
