//! Reading: lists, tickets, logs, artifacts, the overview.

use std::time::Duration;

use jiff::Timestamp;
use tokio_postgres::Row;
use tokio_postgres::types::ToSql;

use super::claim::count;
use super::pool::{PooledSession, PostgresFault};
use super::submit::stored_id;
use crate::id::first_id_since;
use crate::{
    ArtifactRecord, AttemptRecord, AttemptUsage, CancelRequest, EventChunk, FleetOverview,
    LaneRecord, LogState, PromptRecord, RunId, TicketFilter, TicketId, TicketRecord, TicketState,
    WorkerId, WorkerRecord, WorkerStart,
};

/// A day in milliseconds.
const DAY_MS: i64 = 24 * 60 * 60 * 1000;

/// Chunks that are read at a time.
const CHUNK_PAGE: i64 = 64;

const TICKET_COLUMNS: &str = "t.id, t.state, t.title, t.agent, t.request_key, t.priority, t.not_before, k.lanes, k.needs, t.term, \
    t.attempts, t.lost, t.released, t.max_attempts, t.worker, t.lease_until, t.cancel_by, t.cancel_why, t.cancel_now, t.outcome, \
    t.cause, t.created_by, t.created_at, t.started_at, t.ended_at, (select count(*) from lapidary.prompt p \
        where p.ticket = t.id and p.settled is null and p.answer is null), used.tokens, used.cost_usd \
    from lapidary.ticket t join lapidary.kind k on k.id = t.kind \
    left join lateral (select sum(e.tokens)::bigint as tokens, sum(e.cost_usd) as cost_usd from lapidary.attempt_end e \
        where e.run > t.id || '-' and e.run < t.id || '.') used on true";

fn read_ticket(row: &Row) -> Result<TicketRecord, PostgresFault> {
    let cancel_by: Option<String> = row.get(16);
    Ok(TicketRecord {
        id: stored_id(row.get(0))?,
        state: TicketState::from_stored(row.get(1)),
        spec: None,
        title: row.get(2),
        agent: row.get(3),
        request_key: row.get(4),
        priority: row.get(5),
        not_before: row.get(6),
        lanes: row.get(7),
        needs: row.get(8),
        waits_for: Vec::new(),
        term: row.get(9),
        attempts: count(row, 10),
        lost: count(row, 11),
        released: count(row, 12),
        max_attempts: count(row, 13),
        worker: row.get::<_, Option<String>>(14).map(WorkerId::from_stored),
        lease_until: row.get(15),
        cancel: cancel_by.map(|by| CancelRequest {
            by,
            why: row.get(17),
            now: row.get(18),
        }),
        outcome: row.get(19),
        cause: row.get(20),
        result: None,
        created_by: row.get(21),
        created_at: row.get(22),
        started_at: row.get(23),
        ended_at: row.get(24),
        usage: usage(row, 26),
        open_prompts: large_count(row, 25),
        attempt_records: Vec::new(),
    })
}

/// Tokens and cost in two columns.
fn usage(row: &Row, column: usize) -> AttemptUsage {
    let tokens: Option<i64> = row.get(column);
    AttemptUsage {
        tokens: tokens.and_then(|tokens| u64::try_from(tokens).ok()),
        cost_usd: row.get(column + 1),
    }
}

fn large_count(row: &Row, column: usize) -> u32 {
    u32::try_from(row.get::<_, i64>(column)).unwrap_or(u32::MAX)
}

pub(super) async fn list(
    session: &mut PooledSession,
    filter: &TicketFilter,
) -> Result<Vec<TicketRecord>, PostgresFault> {
    let mut conditions = vec!["true".to_owned()];
    if !filter.states.is_empty() {
        let words = filter.states.iter();
        let words: Vec<String> = words.map(|state| format!("'{}'", state.as_str())).collect();
        conditions.push(format!("t.state in ({})", words.join(", ")));
        // Lets PostgreSQL use the index of tickets that have not ended.
        if !filter.states.contains(&TicketState::Done) {
            conditions.push("t.state <> 'done'".to_owned());
        }
    }
    let before = filter.before.as_ref().map(TicketId::as_str);
    let mut values: Vec<&(dyn ToSql + Sync)> = Vec::new();
    if let Some(cause) = &filter.cause {
        values.push(cause);
        conditions.push(format!("t.cause = ${}", values.len()));
    }
    if let Some(before) = &before {
        values.push(before);
        conditions.push(format!("t.id < ${}", values.len()));
    }
    if let Some(lane) = &filter.lane {
        values.push(lane);
        conditions.push(format!("${} = any(k.lanes)", values.len()));
    }
    let limit = i64::from(filter.limit);
    values.push(&limit);
    let (conditions, place) = (conditions.join(" and "), values.len());
    let query =
        format!("select {TICKET_COLUMNS} where {conditions} order by t.id desc limit ${place}");
    let rows = session.query(&query, &values).await?;
    rows.iter().map(read_ticket).collect()
}

pub(super) async fn ticket(
    session: &mut PooledSession,
    id: &TicketId,
) -> Result<Option<TicketRecord>, PostgresFault> {
    let query = format!("select {TICKET_COLUMNS} where t.id = $1");
    let Some(row) = session.query_opt(&query, &[&id.as_str()]).await? else {
        return Ok(None);
    };
    let mut ticket = read_ticket(&row)?;
    let query = "select body from lapidary.spec where ticket = $1";
    let spec = session.query_opt(query, &[&id.as_str()]).await?;
    ticket.spec = spec.map(|row| row.get(0));
    let query =
        "select predecessor from lapidary.dependency where ticket = $1 order by predecessor";
    for row in session.query(query, &[&id.as_str()]).await? {
        ticket.waits_for.push(stored_id(row.get(0))?);
    }
    ticket.attempt_records = attempts(session, id).await?;
    let query = "select e.result from lapidary.attempt_end e join lapidary.attempt a using (run) \
        where a.ticket = $1 and e.result is not null order by a.term desc limit 1";
    let result = session.query_opt(query, &[&id.as_str()]).await?;
    ticket.result = result.map(|row| row.get(0));
    Ok(Some(ticket))
}

async fn attempts(
    session: &mut PooledSession,
    id: &TicketId,
) -> Result<Vec<AttemptRecord>, PostgresFault> {
    let query = "select a.number, a.term, a.worker, a.next_seq, a.touched, a.started_at, a.ended_at, a.outcome, a.cause, e.evidence, \
            e.tokens, e.cost_usd \
        from lapidary.attempt a left join lapidary.attempt_end e using (run) where a.ticket = $1 order by a.term";
    let rows = session.query(query, &[&id.as_str()]).await?;
    let attempts = rows.iter().map(|row| AttemptRecord {
        number: count(row, 0),
        term: row.get(1),
        run: RunId::new(id, row.get(1)),
        worker: WorkerId::from_stored(row.get(2)),
        next_seq: number(row, 3),
        touched: row.get(4),
        started_at: row.get(5),
        ended_at: row.get(6),
        outcome: row.get(7),
        cause: row.get(8),
        evidence: row.get(9),
        usage: usage(row, 10),
    });
    Ok(attempts.collect())
}

/// A number that is never negative.
fn number(row: &Row, column: usize) -> u64 {
    u64::try_from(row.get::<_, i64>(column)).unwrap_or(0)
}

pub(super) async fn open_prompts(
    session: &mut PooledSession,
    ticket: Option<&TicketId>,
) -> Result<Vec<PromptRecord>, PostgresFault> {
    let query = "select p.ticket, a.term, p.request, p.seq, p.body, p.asked_at, p.answered_by, p.settled \
        from lapidary.prompt p join lapidary.attempt a using (run) \
        where p.settled is null and p.answer is null and ($1::text is null or p.ticket = $1) order by p.asked_at, p.seq";
    let ticket = ticket.map(TicketId::as_str);
    let rows = session.query(query, &[&ticket]).await?;
    let prompts = rows.iter().map(|row| {
        let ticket = stored_id(row.get(0))?;
        Ok(PromptRecord {
            run: RunId::new(&ticket, row.get(1)),
            ticket,
            request: String::from_utf8_lossy(row.get(2)).into_owned(),
            seq: number(row, 3),
            body: row.get(4),
            asked_at: row.get(5),
            answered_by: row.get(6),
            settled: row.get(7),
        })
    });
    prompts.collect()
}

pub(super) async fn chunks(
    session: &mut PooledSession,
    run: &RunId,
    from: u64,
    bytes: usize,
) -> Result<Vec<EventChunk>, PostgresFault> {
    let query = "select first, last, body from lapidary.chunk where run = $1 and last >= $2::bigint and first >= \
            coalesce((select max(first) from lapidary.chunk where run = $1 and first <= $2::bigint), 0) \
        order by first limit $3";
    let from = i64::try_from(from).unwrap_or(i64::MAX);
    let rows = session
        .query(query, &[&run.as_str(), &from, &CHUNK_PAGE])
        .await?;
    let mut chunks = Vec::new();
    let mut size = 0;
    for row in &rows {
        if size >= bytes {
            break;
        }
        let body: Vec<u8> = row.get(2);
        size += body.len().max(1);
        chunks.push(EventChunk {
            first: number(row, 0),
            last: number(row, 1),
            body,
        });
    }
    Ok(chunks)
}

pub(super) async fn log_state(
    session: &mut PooledSession,
    run: &RunId,
    worker: &WorkerId,
) -> Result<Option<LogState>, PostgresFault> {
    let query = "select next_seq, ended_at is not null from lapidary.attempt where run = $1 and worker = $2";
    let values: [&(dyn ToSql + Sync); 2] = [&run.as_str(), &worker.as_str()];
    let row = session.query_opt(query, &values).await?;
    Ok(row.map(|row| LogState {
        next_seq: number(&row, 0),
        has_ended: row.get(1),
    }))
}

pub(super) async fn artifacts(
    session: &mut PooledSession,
    run: &RunId,
) -> Result<Vec<ArtifactRecord>, PostgresFault> {
    let query = "select name, media_type, parts, bytes, sha256 from lapidary.artifact where run = $1 order by name";
    let rows = session.query(query, &[&run.as_str()]).await?;
    let artifacts = rows.iter().map(|row| ArtifactRecord {
        name: row.get(0),
        media_type: row.get(1),
        parts: count(row, 2),
        bytes: number(row, 3),
        sha256: row.get::<_, &[u8]>(4).try_into().unwrap_or_default(),
    });
    Ok(artifacts.collect())
}

pub(super) async fn artifact_part(
    session: &mut PooledSession,
    run: &RunId,
    name: &str,
    part: u32,
) -> Result<Option<Vec<u8>>, PostgresFault> {
    let query = "select p.body from lapidary.artifact_part p join lapidary.artifact using (run, name) \
        where run = $1 and name = $2 and p.part = $3";
    let part = i32::try_from(part).unwrap_or(i32::MAX);
    let row = session
        .query_opt(query, &[&run.as_str(), &name, &part])
        .await?;
    Ok(row.map(|row| row.get(0)))
}

pub(super) async fn overview(session: &mut PooledSession) -> Result<FleetOverview, PostgresFault> {
    let mut counts = Vec::new();
    for state in TicketState::ALL {
        let (word, limit) = (state.as_str(), FleetOverview::COUNTED_DONE);
        let query = format!(
            "select count(*) from (select 1 from lapidary.ticket where state = '{word}' limit {limit}) counted"
        );
        let row = session.query_opt(&query, &[]).await?;
        counts.push((state, row.map_or(0, |row| number(&row, 0))));
    }
    let query = "select now(), (select (extract(epoch from now() - min(not_before)) * 1000)::bigint from lapidary.ticket \
            where state = 'waiting' and not_before <= now()), \
        (select count(*) from lapidary.prompt where settled is null and answer is null)";
    let rows = session.query(query, &[]).await?;
    let row = rows.first().expect("a select without a table has one row");
    let oldest: Option<i64> = row.get(1);
    Ok(FleetOverview {
        now: row.get(0),
        counts,
        oldest_waiting: oldest
            .map(|waited| Duration::from_millis(u64::try_from(waited).unwrap_or(0))),
        lanes: lanes(session).await?,
        workers: workers(session).await?,
        open_prompts: large_count(row, 2),
        last_day: last_day(session, row.get(0)).await?,
    })
}

/// The key of an end begins with its ticket's id, and ids begin with the time: no other index is needed.
async fn last_day(
    session: &mut PooledSession,
    now: Timestamp,
) -> Result<AttemptUsage, PostgresFault> {
    let query = "select sum(tokens)::bigint, sum(cost_usd) from (select tokens, cost_usd from lapidary.attempt_end \
        where run >= $1 order by run desc limit $2) newest";
    let since = first_id_since(now.as_millisecond() - DAY_MS);
    let limit = i64::try_from(FleetOverview::COUNTED_DONE).unwrap_or(i64::MAX);
    let row = session.query_opt(query, &[&since, &limit]).await?;
    Ok(row.map(|row| usage(&row, 0)).unwrap_or_default())
}

async fn lanes(session: &mut PooledSession) -> Result<Vec<LaneRecord>, PostgresFault> {
    let query = "with waiting as (select lane, count(*) as tickets from lapidary.ticket t \
            join lapidary.kind k on k.id = t.kind, unnest(k.lanes) lane where t.state = 'waiting' group by lane) \
        select l.name, l.running, l.max, coalesce(w.tickets, 0) from lapidary.lane l left join waiting w on w.lane = l.name \
        where l.running > 0 or w.tickets > 0 order by l.name";
    let rows = session.query(query, &[]).await?;
    let lanes = rows.iter().map(|row| {
        let limit: Option<i32> = row.get(2);
        LaneRecord {
            name: row.get(0),
            running: count(row, 1),
            limit: limit.and_then(|limit| u32::try_from(limit).ok()),
            waiting: large_count(row, 3),
        }
    });
    Ok(lanes.collect())
}

async fn workers(session: &mut PooledSession) -> Result<Vec<WorkerRecord>, PostgresFault> {
    let query = "select w.id, w.name, w.host, w.version, w.labels, w.slots, w.started_at, w.seen_at, w.draining, w.left_at, \
            (select count(*) from lapidary.ticket t where t.state = 'running' and t.worker = w.id) \
        from lapidary.worker w where w.seen_at > now() - interval '1 day' order by w.name, w.started_at";
    let rows = session.query(query, &[]).await?;
    let workers = rows.iter().map(|row| WorkerRecord {
        start: WorkerStart {
            id: WorkerId::from_stored(row.get(0)),
            name: row.get(1),
            host: row.get(2),
            version: row.get(3),
            labels: row.get(4),
            slots: count(row, 5),
        },
        started_at: row.get(6),
        seen_at: row.get(7),
        draining: row.get(8),
        left_at: row.get(9),
        running: large_count(row, 10),
    });
    Ok(workers.collect())
}
