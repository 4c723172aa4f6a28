//! Reading: lists, tickets, logs, artifacts, the overview.

use std::time::Duration;

use jiff::Timestamp;
use rusqlite::{OptionalExtension as _, Row, Transaction, params, params_from_iter};

use super::connection::{SqliteFault, now};
use super::submit::{read_list, stored_id};
use crate::id::first_id_since;
use crate::{
    ArtifactRecord, AttemptRecord, AttemptUsage, CancelRequest, EventChunk, FleetOverview,
    LaneRecord, LogState, PromptRecord, RunId, TicketFilter, TicketId, TicketRecord, TicketState,
    WorkerId, WorkerRecord, WorkerStart,
};

/// A day in milliseconds.
const DAY_MS: i64 = 24 * 60 * 60 * 1000;

const TICKET_COLUMNS: &str = "ticket.id, state, title, agent, request_key, priority, not_before, kind.lanes, kind.needs, term, \
    attempts, lost, released, max_attempts, worker, lease_until, cancel_by, cancel_why, cancel_now, outcome, cause, created_by, \
    created_at, started_at, ended_at, (select count(*) from prompt where prompt.ticket = ticket.id and settled is null \
    and answer is null), (select sum(tokens) from attempt_end where run > ticket.id || '-' and run < ticket.id || '.'), \
    (select sum(cost_usd) from attempt_end where run > ticket.id || '-' and run < ticket.id || '.') from ticket join kind on kind.id = ticket.kind";

/// A time that we wrote.
fn time(milliseconds: i64) -> Timestamp {
    Timestamp::from_millisecond(milliseconds).unwrap_or_default()
}

fn optional_time(milliseconds: Option<i64>) -> Option<Timestamp> {
    milliseconds.map(time)
}

fn read_ticket(row: &Row<'_>) -> Result<TicketRecord, SqliteFault> {
    let cancel_by: Option<String> = row.get(16)?;
    let (why, now) = (row.get(17)?, row.get(18)?);
    Ok(TicketRecord {
        id: stored_id(&row.get::<_, String>(0)?)?,
        state: TicketState::from_stored(&row.get::<_, String>(1)?),
        spec: None,
        title: row.get(2)?,
        agent: row.get(3)?,
        request_key: row.get(4)?,
        priority: row.get(5)?,
        not_before: time(row.get(6)?),
        lanes: read_list(&row.get::<_, String>(7)?),
        needs: read_list(&row.get::<_, String>(8)?),
        waits_for: Vec::new(),
        term: row.get(9)?,
        attempts: row.get(10)?,
        lost: row.get(11)?,
        released: row.get(12)?,
        max_attempts: row.get(13)?,
        worker: row.get::<_, Option<String>>(14)?.map(WorkerId::from_stored),
        lease_until: optional_time(row.get(15)?),
        cancel: cancel_by.map(|by| CancelRequest { by, why, now }),
        outcome: row.get(19)?,
        cause: row.get(20)?,
        result: None,
        created_by: row.get(21)?,
        created_at: time(row.get(22)?),
        started_at: optional_time(row.get(23)?),
        ended_at: optional_time(row.get(24)?),
        usage: usage(row, 26)?,
        open_prompts: row.get(25)?,
        attempt_records: Vec::new(),
    })
}

/// Tokens and cost in two columns.
fn usage(row: &Row<'_>, column: usize) -> rusqlite::Result<AttemptUsage> {
    Ok(AttemptUsage {
        tokens: row.get(column)?,
        cost_usd: row.get(column + 1)?,
    })
}

pub(super) fn list(
    transaction: &Transaction<'_>,
    filter: &TicketFilter,
) -> Result<Vec<TicketRecord>, SqliteFault> {
    let mut conditions = vec!["true".to_owned()];
    let mut values: Vec<String> = Vec::new();
    if !filter.states.is_empty() {
        let words = filter.states.iter();
        let words: Vec<String> = words.map(|state| format!("'{}'", state.as_str())).collect();
        conditions.push(format!("state in ({})", words.join(", ")));
        // Lets SQLite use the index of tickets that have not ended.
        if !filter.states.contains(&TicketState::Done) {
            conditions.push("state <> 'done'".to_owned());
        }
    }
    let mut compare = |condition: &str, value: &Option<String>| {
        if let Some(value) = value {
            values.push(value.clone());
            conditions.push(format!("{condition} ?{}", values.len()));
        }
    };
    compare("cause =", &filter.cause);
    let before = filter.before.as_ref().map(ToString::to_string);
    compare("ticket.id <", &before);
    if let Some(lane) = &filter.lane {
        values.push(lane.clone());
        let lanes = "select 1 from json_each(kind.lanes) where value =";
        conditions.push(format!("exists ({lanes} ?{})", values.len()));
    }
    let conditions = conditions.join(" and ");
    let limit = filter.limit;
    let query =
        format!("select {TICKET_COLUMNS} where {conditions} order by ticket.id desc limit {limit}");
    let mut query = transaction.prepare_cached(&query)?;
    let rows = query.query_map(params_from_iter(values), |row| Ok(read_ticket(row)))?;
    rows.map(|row| row?).collect()
}

pub(super) fn ticket(
    transaction: &Transaction<'_>,
    id: &TicketId,
) -> Result<Option<TicketRecord>, SqliteFault> {
    let query = format!("select {TICKET_COLUMNS} where ticket.id = ?1");
    let found = transaction
        .prepare_cached(&query)?
        .query_row([id.as_str()], |row| Ok(read_ticket(row)))
        .optional()?;
    let Some(found) = found else { return Ok(None) };
    let mut ticket = found?;
    let query = "select body from spec where ticket = ?1";
    let spec = transaction.query_row(query, [id.as_str()], |row| row.get(0));
    ticket.spec = spec.optional()?;
    let query = "select predecessor from dependency where ticket = ?1 order by predecessor";
    let mut query = transaction.prepare_cached(query)?;
    let waits_for = query.query_map([id.as_str()], |row| row.get::<_, String>(0))?;
    for predecessor in waits_for {
        ticket.waits_for.push(stored_id(&predecessor?)?);
    }
    ticket.attempt_records = attempts(transaction, id)?;
    let query = "select result from attempt_end join attempt using (run) \
        where ticket = ?1 and result is not null order by term desc limit 1";
    let result = transaction.query_row(query, [id.as_str()], |row| row.get(0));
    ticket.result = result.optional()?;
    Ok(Some(ticket))
}

fn attempts(
    transaction: &Transaction<'_>,
    id: &TicketId,
) -> Result<Vec<AttemptRecord>, SqliteFault> {
    let query = "select number, term, worker, next_seq, touched, started_at, ended_at, outcome, cause, evidence, \
            tokens, cost_usd \
        from attempt left join attempt_end using (run) where ticket = ?1 order by term";
    let mut query = transaction.prepare_cached(query)?;
    let attempts = query.query_map([id.as_str()], |row| {
        let term = row.get(1)?;
        Ok(AttemptRecord {
            number: row.get(0)?,
            term,
            run: RunId::new(id, term),
            worker: WorkerId::from_stored(row.get(2)?),
            next_seq: row.get(3)?,
            touched: row.get(4)?,
            started_at: time(row.get(5)?),
            ended_at: optional_time(row.get(6)?),
            outcome: row.get(7)?,
            cause: row.get(8)?,
            evidence: row.get(9)?,
            usage: usage(row, 10)?,
        })
    })?;
    Ok(attempts.collect::<Result<_, _>>()?)
}

pub(super) fn open_prompts(
    transaction: &Transaction<'_>,
    ticket: Option<&TicketId>,
) -> Result<Vec<PromptRecord>, SqliteFault> {
    let query = "select ticket, attempt.term, request, seq, body, asked_at, answered_by, settled \
        from prompt join attempt using (run, ticket) \
        where settled is null and answer is null and (?1 is null or ticket = ?1) order by asked_at, seq";
    let mut query = transaction.prepare_cached(query)?;
    let read = |row: &Row<'_>| -> Result<PromptRecord, SqliteFault> {
        let ticket = stored_id(&row.get::<_, String>(0)?)?;
        Ok(PromptRecord {
            run: RunId::new(&ticket, row.get(1)?),
            ticket,
            request: row.get(2)?,
            seq: row.get(3)?,
            body: row.get(4)?,
            asked_at: time(row.get(5)?),
            answered_by: row.get(6)?,
            settled: row.get(7)?,
        })
    };
    let rows = query.query_map([ticket.map(TicketId::as_str)], |row| Ok(read(row)))?;
    rows.map(|row| row?).collect()
}

pub(super) fn chunks(
    transaction: &Transaction<'_>,
    run: &RunId,
    from: u64,
    bytes: usize,
) -> Result<Vec<EventChunk>, SqliteFault> {
    let query = "select first, last, body from chunk where run = ?1 and first >= \
        coalesce((select max(first) from chunk where run = ?1 and first <= ?2), 0) and last >= ?2 order by first";
    let mut query = transaction.prepare_cached(query)?;
    let mut rows = query.query(params![run.as_str(), from])?;
    let mut chunks = Vec::new();
    let mut size = 0;
    while size < bytes
        && let Some(row) = rows.next()?
    {
        let body: Vec<u8> = row.get(2)?;
        size += body.len().max(1);
        chunks.push(EventChunk {
            first: row.get(0)?,
            last: row.get(1)?,
            body,
        });
    }
    Ok(chunks)
}

pub(super) fn log_state(
    transaction: &Transaction<'_>,
    run: &RunId,
    worker: &WorkerId,
) -> Result<Option<LogState>, SqliteFault> {
    let query = "select next_seq, ended_at is not null from attempt where run = ?1 and worker = ?2";
    let values = [run.as_str(), worker.as_str()];
    let found = transaction.query_row(query, values, |row| {
        Ok(LogState {
            next_seq: row.get(0)?,
            has_ended: row.get(1)?,
        })
    });
    Ok(found.optional()?)
}

pub(super) fn artifacts(
    transaction: &Transaction<'_>,
    run: &RunId,
) -> Result<Vec<ArtifactRecord>, SqliteFault> {
    let query =
        "select name, media_type, parts, bytes, sha256 from artifact where run = ?1 order by name";
    let mut query = transaction.prepare_cached(query)?;
    let rows = query.query_map([run.as_str()], |row| {
        Ok(ArtifactRecord {
            name: row.get(0)?,
            media_type: row.get(1)?,
            parts: row.get(2)?,
            bytes: row.get(3)?,
            sha256: row.get(4)?,
        })
    })?;
    Ok(rows.collect::<Result<_, _>>()?)
}

pub(super) fn artifact_part(
    transaction: &Transaction<'_>,
    run: &RunId,
    name: &str,
    part: u32,
) -> Result<Option<Vec<u8>>, SqliteFault> {
    let query = "select body from artifact_part join artifact using (run, name) where run = ?1 and name = ?2 and part = ?3";
    let found = transaction.query_row(query, params![run.as_str(), name, part], |row| row.get(0));
    Ok(found.optional()?)
}

pub(super) fn overview(transaction: &Transaction<'_>) -> Result<FleetOverview, SqliteFault> {
    let now = now();
    let mut counts = Vec::new();
    for state in TicketState::ALL {
        let word = state.as_str();
        let limit = FleetOverview::COUNTED_DONE;
        let query = format!(
            "select count(*) from (select 1 from ticket where state = '{word}' limit {limit})"
        );
        counts.push((state, transaction.query_row(&query, [], |row| row.get(0))?));
    }
    let query = "select min(not_before) from ticket where state = 'waiting' and not_before <= ?1";
    let oldest: Option<i64> = transaction.query_row(query, [now], |row| row.get(0))?;
    let query = "select count(*) from prompt where settled is null and answer is null";
    let open_prompts = transaction.query_row(query, [], |row| row.get(0))?;
    Ok(FleetOverview {
        now: time(now),
        counts,
        oldest_waiting: oldest
            .map(|since| Duration::from_millis(u64::try_from(now - since).unwrap_or(0))),
        lanes: lanes(transaction)?,
        workers: workers(transaction, now)?,
        open_prompts,
        last_day: last_day(transaction, now)?,
    })
}

/// The key of an end begins with its ticket's id, and ids begin with the time: no other index is needed.
fn last_day(transaction: &Transaction<'_>, now: i64) -> Result<AttemptUsage, SqliteFault> {
    let query = "select sum(tokens), sum(cost_usd) from (select tokens, cost_usd from attempt_end \
        where run >= ?1 order by run desc limit ?2)";
    let since = first_id_since(now - DAY_MS);
    let values = params![since, FleetOverview::COUNTED_DONE];
    Ok(transaction.query_row(query, values, |row| usage(row, 0))?)
}

fn lanes(transaction: &Transaction<'_>) -> Result<Vec<LaneRecord>, SqliteFault> {
    let query = "select name, running, max, (select count(*) from ticket join kind on kind.id = ticket.kind \
            join json_each(kind.lanes) on value = name where state = 'waiting') as waiting \
        from lane where running > 0 or waiting > 0 order by name";
    let mut query = transaction.prepare_cached(query)?;
    let rows = query.query_map([], |row| {
        Ok(LaneRecord {
            name: row.get(0)?,
            running: row.get(1)?,
            limit: row.get(2)?,
            waiting: row.get(3)?,
        })
    })?;
    Ok(rows.collect::<Result<_, _>>()?)
}

fn workers(transaction: &Transaction<'_>, now: i64) -> Result<Vec<WorkerRecord>, SqliteFault> {
    let query = "select id, name, host, version, labels, slots, started_at, seen_at, draining, left_at, \
            (select count(*) from ticket where state = 'running' and ticket.worker = worker.id) \
        from worker where seen_at > ?1 order by name, started_at";
    let mut query = transaction.prepare_cached(query)?;
    let rows = query.query_map([now - 24 * 60 * 60 * 1000], |row| {
        Ok(WorkerRecord {
            start: WorkerStart {
                id: WorkerId::from_stored(row.get(0)?),
                name: row.get(1)?,
                host: row.get(2)?,
                version: row.get(3)?,
                labels: read_list(&row.get::<_, String>(4)?),
                slots: row.get(5)?,
            },
            started_at: time(row.get(6)?),
            seen_at: time(row.get(7)?),
            draining: row.get(8)?,
            left_at: optional_time(row.get(9)?),
            running: row.get(10)?,
        })
    })?;
    Ok(rows.collect::<Result<_, _>>()?)
}
