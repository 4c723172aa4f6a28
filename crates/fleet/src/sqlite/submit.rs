//! New tickets.

use rusqlite::{OptionalExtension as _, Transaction, params};

use super::connection::{SqliteFault, now};
use crate::fate::LOSSES_ALLOWED;
use crate::ranking::{kind_key, lane_names, need_names};
use crate::ticket::{check_ticket, ticket_title};
use crate::{LaneLimit, NewTicket, SubmissionAnswer, TicketId};

pub(super) fn submit(
    transaction: &Transaction<'_>,
    tickets: &[NewTicket],
) -> Result<Vec<SubmissionAnswer>, SqliteFault> {
    let now = now();
    let submitted = tickets.iter();
    let submitted = submitted.map(|ticket| submit_one(transaction, ticket, now));
    submitted.collect()
}

fn submit_one(
    transaction: &Transaction<'_>,
    ticket: &NewTicket,
    now: i64,
) -> Result<SubmissionAnswer, SqliteFault> {
    check_ticket(ticket)?;
    let hash = ticket.content_hash();
    // Not `or`: with statistics of a table whose tickets have no key, SQLite would read all of it.
    let known = "select id, content_hash from ticket where id = ?1 \
        union all select id, content_hash from ticket where request_key = ?2 limit 1";
    let known = transaction
        .prepare_cached(known)?
        .query_row(params![ticket.id.as_str(), ticket.request_key], |row| {
            Ok((row.get::<_, String>(0)?, row.get::<_, Vec<u8>>(1)?))
        })
        .optional()?;
    if let Some((id, known_hash)) = known {
        let id = stored_id(&id)?;
        return Ok(if known_hash == hash {
            SubmissionAnswer::Existing(id)
        } else {
            SubmissionAnswer::Conflict { ticket: id }
        });
    }
    let mut open = Vec::new();
    let mut has_failed = false;
    for predecessor in &ticket.after {
        match predecessor_end(transaction, predecessor)? {
            None => {
                let ticket = predecessor.clone();
                return Ok(SubmissionAnswer::UnknownPredecessor { ticket });
            }
            Some(PredecessorEnd::Open) => open.push(predecessor),
            Some(PredecessorEnd::Completed) => {}
            Some(PredecessorEnd::Failed) => has_failed = true,
        }
    }
    let lanes = lane_names(ticket);
    for lane in &ticket.lanes {
        set_lane(transaction, lane)?;
    }
    let kind = kind_id(transaction, &lanes, &need_names(ticket))?;
    let state = match (has_failed, open.is_empty()) {
        (true, _) => "done",
        (false, true) => "waiting",
        (false, false) => "blocked",
    };
    let spec = ticket.spec.to_bytes();
    let insert = "insert into ticket (id, state, spec_version, content_hash, request_key, title, agent, retry, kind, priority, \
        not_before, max_attempts, attempts_allowed, losses_allowed, created_by, created_at, outcome, cause, ended_at) \
        values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?12, ?13, ?14, ?15, ?16, ?17, ?18)";
    let not_before = ticket
        .not_before
        .map_or(now, |time| time.as_millisecond().max(now));
    transaction.prepare_cached(insert)?.execute(params![
        ticket.id.as_str(),
        state,
        ticket.spec.version,
        hash,
        ticket.request_key,
        ticket_title(&ticket.spec.prompt),
        ticket.spec.agent,
        ticket.spec.retry.as_str(),
        kind,
        ticket.priority,
        not_before,
        ticket.max_attempts,
        LOSSES_ALLOWED,
        ticket.created_by,
        now,
        has_failed.then_some(crate::fate::FAILED),
        has_failed.then_some(crate::fate::PREDECESSOR_FAILED),
        has_failed.then_some(now),
    ])?;
    let insert = "insert into spec (ticket, body) values (?1, ?2)";
    let mut statement = transaction.prepare_cached(insert)?;
    statement.execute(params![ticket.id.as_str(), spec])?;
    let insert = "insert or ignore into dependency (ticket, predecessor) values (?1, ?2)";
    for predecessor in open {
        let mut statement = transaction.prepare_cached(insert)?;
        statement.execute(params![ticket.id.as_str(), predecessor.as_str()])?;
    }
    Ok(SubmissionAnswer::Created(ticket.id.clone()))
}

enum PredecessorEnd {
    Open,
    Completed,
    Failed,
}

fn predecessor_end(
    transaction: &Transaction<'_>,
    ticket: &TicketId,
) -> Result<Option<PredecessorEnd>, SqliteFault> {
    let query = "select state, outcome from ticket where id = ?1";
    let row = transaction
        .prepare_cached(query)?
        .query_row([ticket.as_str()], |row| {
            let state: String = row.get(0)?;
            let outcome: Option<String> = row.get(1)?;
            Ok(match (state.as_str(), outcome.as_deref()) {
                ("done", Some(crate::fate::COMPLETED)) => PredecessorEnd::Completed,
                ("done", _) => PredecessorEnd::Failed,
                _ => PredecessorEnd::Open,
            })
        });
    Ok(row.optional()?)
}

fn set_lane(transaction: &Transaction<'_>, lane: &LaneLimit) -> rusqlite::Result<()> {
    let insert = "insert into lane (name, max) values (?1, ?2) \
        on conflict (name) do update set max = coalesce(excluded.max, max)";
    let mut statement = transaction.prepare_cached(insert)?;
    statement.execute(params![lane.name, lane.limit])?;
    Ok(())
}

fn kind_id(
    transaction: &Transaction<'_>,
    lanes: &[String],
    needs: &[String],
) -> Result<i64, SqliteFault> {
    let key = kind_key(lanes, needs);
    let mut known = transaction.prepare_cached("select id from kind where key = ?1")?;
    if let Some(id) = known.query_row([&key], |row| row.get(0)).optional()? {
        return Ok(id);
    }
    let insert = "insert into kind (key, lanes, needs) values (?1, ?2, ?3)";
    let mut statement = transaction.prepare_cached(insert)?;
    statement.execute(params![key, list_text(lanes), list_text(needs)])?;
    Ok(transaction.last_insert_rowid())
}

/// A list of texts as JSON.
pub(super) fn list_text(list: &[String]) -> String {
    serde_json::to_string(list).expect("a list of texts is JSON")
}

/// A list of texts that [`list_text`] wrote.
pub(super) fn read_list(text: &str) -> Vec<String> {
    serde_json::from_str(text).unwrap_or_default()
}

/// An id that we wrote.
pub(super) fn stored_id(text: &str) -> Result<TicketId, SqliteFault> {
    text.parse().map_err(|_| {
        SqliteFault::Store(crate::StoreError::BadRequest {
            field: "ticket",
            problem: "in the store has an id that is none".to_owned(),
        })
    })
}
