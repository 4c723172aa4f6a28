//! New tickets.

use std::collections::BTreeMap;

use super::pool::{PooledSession, PostgresFault};
use crate::fate::{COMPLETED, FAILED, LOSSES_ALLOWED, PREDECESSOR_FAILED};
use crate::ranking::{kind_key, lane_names, need_names};
use crate::ticket::{check_ticket, ticket_title};
use crate::{NewTicket, StoreError, SubmissionAnswer, TicketId};

pub(super) async fn submit(
    session: &mut PooledSession,
    tickets: &[NewTicket],
) -> Result<Vec<SubmissionAnswer>, PostgresFault> {
    tickets.iter().try_for_each(check_ticket)?;
    if let [ticket] = tickets
        && ticket.lanes.is_empty()
        && ticket.after.is_empty()
    {
        // One statement writes it: there is nothing that a transaction would hold together.
        return Ok(vec![submit_one(session, ticket).await?]);
    }
    session.batch("begin").await?;
    set_lanes(session, tickets).await?;
    let mut submissions = Vec::with_capacity(tickets.len());
    for ticket in tickets {
        submissions.push(submit_one(session, ticket).await?);
    }
    session.batch("commit").await?;
    Ok(submissions)
}

/// Sets the limits of all lanes first, in the order in which claims lock them. Lanes that are as they should be are not touched: a
/// claim may have locked them.
async fn set_lanes(
    session: &mut PooledSession,
    tickets: &[NewTicket],
) -> Result<(), PostgresFault> {
    let mut wanted: BTreeMap<&str, Option<i32>> = BTreeMap::new();
    for lane in tickets.iter().flat_map(|ticket| &ticket.lanes) {
        let limit = lane
            .limit
            .map(|limit| i32::try_from(limit).unwrap_or(i32::MAX));
        let entry = wanted.entry(&lane.name).or_default();
        *entry = limit.or(*entry);
    }
    if wanted.is_empty() {
        return Ok(());
    }
    let names: Vec<&str> = wanted.keys().copied().collect();
    let known = "select name, max from lapidary.lane where name = any($1)";
    for row in session.query(known, &[&names]).await? {
        let (name, limit): (String, Option<i32>) = (row.get(0), row.get(1));
        let is_same = wanted.get(name.as_str());
        let is_same = is_same.is_some_and(|wanted| wanted.is_none() || *wanted == limit);
        if is_same {
            wanted.remove(name.as_str());
        }
    }
    let insert = "insert into lapidary.lane as l (name, max) values ($1, $2) \
        on conflict (name) do update set max = coalesce(excluded.max, l.max)";
    for (name, limit) in wanted {
        session.execute(insert, &[&name, &limit]).await?;
    }
    Ok(())
}

async fn submit_one(
    session: &mut PooledSession,
    ticket: &NewTicket,
) -> Result<SubmissionAnswer, PostgresFault> {
    let hash = ticket.content_hash();
    // A predecessor may be removed by now. Other tickets are looked for only if they cannot be inserted.
    if !ticket.after.is_empty()
        && let Some(known) = known_ticket(session, ticket, &hash).await?
    {
        return Ok(known);
    }
    let ends = predecessor_ends(session, &ticket.after).await?;
    if let Some(unknown) = ticket
        .after
        .iter()
        .find(|id| !ends.contains_key(id.as_str()))
    {
        let ticket = unknown.clone();
        return Ok(SubmissionAnswer::UnknownPredecessor { ticket });
    }
    let has_failed = ends.values().any(|end| *end == PredecessorEnd::Failed);
    let open = ends.iter().filter(|(_, end)| **end == PredecessorEnd::Open);
    let open: Vec<&str> = open.map(|(id, _)| id.as_str()).collect();
    let state = match (has_failed, open.is_empty()) {
        (true, _) => "done",
        (false, true) => "waiting",
        (false, false) => "blocked",
    };
    let (lanes, needs) = (lane_names(ticket), need_names(ticket));
    // The kind nearly always exists. If not, the first round adds it, and the second one finds it.
    for _ in 0..2 {
        let new = NewRow {
            ticket,
            hash: &hash,
            kind: &kind_key(&lanes, &needs),
            state,
            has_failed,
            open: &open,
        };
        if insert_ticket(session, &new).await? {
            return Ok(SubmissionAnswer::Created(ticket.id.clone()));
        }
        // It is there, or another submission with this key came first and is committed now.
        if let Some(known) = known_ticket(session, ticket, &hash).await? {
            return Ok(known);
        }
        add_kind(session, &lanes, &needs).await?;
    }
    let problem = "is in use by a submission that is not finished".to_owned();
    let field = "request key";
    Err(StoreError::BadRequest { field, problem }.into())
}

/// A ticket to be inserted.
struct NewRow<'a> {
    ticket: &'a NewTicket,
    hash: &'a [u8; 32],
    /// The key of its kind.
    kind: &'a str,
    state: &'a str,
    has_failed: bool,
    /// Predecessors that have not ended.
    open: &'a [&'a str],
}

/// Inserts a ticket in one statement. False if its kind is not known yet, or if its id or its key is in use.
async fn insert_ticket(
    session: &mut PooledSession,
    new: &NewRow<'_>,
) -> Result<bool, PostgresFault> {
    let insert = "with inserted as (insert into lapidary.ticket (id, state, spec_version, content_hash, request_key, title, agent, \
            retry, kind, priority, not_before, max_attempts, attempts_allowed, losses_allowed, created_by, outcome, cause, ended_at) \
            select $1::text, $2::text, $3::integer, $4::bytea, $5::text, $6::text, $7::text, $8::text, kind.id, $10::smallint, \
                greatest($11::timestamptz, now()), $12::integer, $12, $13::integer, $14::text, $15::text, $16::text, \
                case when $2 = 'done' then now() end \
            from lapidary.kind where kind.key = $9 on conflict do nothing returning id), \
        body as (insert into lapidary.spec (ticket, body) select id, $17::bytea from inserted), \
        blocked as (insert into lapidary.dependency (ticket, predecessor) \
            select id, predecessor from inserted, unnest($18::text[]) predecessor where $2 = 'blocked') \
        select id from inserted";
    let NewRow { ticket, .. } = new;
    let attempts = i32::try_from(ticket.max_attempts).unwrap_or(i32::MAX);
    let losses = i32::try_from(LOSSES_ALLOWED).unwrap_or(i32::MAX);
    let inserted = session
        .query_opt(
            insert,
            &[
                &ticket.id.as_str(),
                &new.state,
                &i32::try_from(ticket.spec.version).unwrap_or(i32::MAX),
                &new.hash.as_slice(),
                &ticket.request_key,
                &ticket_title(&ticket.spec.prompt),
                &ticket.spec.agent,
                &ticket.spec.retry.as_str(),
                &new.kind,
                &ticket.priority,
                &ticket.not_before,
                &attempts,
                &losses,
                &ticket.created_by,
                &new.has_failed.then_some(FAILED),
                &new.has_failed.then_some(PREDECESSOR_FAILED),
                &ticket.spec.to_bytes(),
                &new.open,
            ],
        )
        .await?;
    Ok(inserted.is_some())
}

async fn known_ticket(
    session: &mut PooledSession,
    ticket: &NewTicket,
    hash: &[u8; 32],
) -> Result<Option<SubmissionAnswer>, PostgresFault> {
    let query = "select id, content_hash from lapidary.ticket where id = $1 \
        union all select id, content_hash from lapidary.ticket where request_key = $2 limit 1";
    let values: [&(dyn tokio_postgres::types::ToSql + Sync); 2] =
        [&ticket.id.as_str(), &ticket.request_key];
    let Some(row) = session.query_opt(query, &values).await? else {
        return Ok(None);
    };
    let id = stored_id(row.get(0))?;
    let known: &[u8] = row.get(1);
    Ok(Some(if known == hash {
        SubmissionAnswer::Existing(id)
    } else {
        SubmissionAnswer::Conflict { ticket: id }
    }))
}

#[derive(PartialEq)]
enum PredecessorEnd {
    Open,
    Completed,
    Failed,
}

/// How the predecessors ended. Their rows are locked until the commit: a predecessor that ends meanwhile either is seen here, or sees
/// the dependency.
async fn predecessor_ends(
    session: &mut PooledSession,
    after: &[TicketId],
) -> Result<BTreeMap<String, PredecessorEnd>, PostgresFault> {
    if after.is_empty() {
        return Ok(BTreeMap::new());
    }
    let ids: Vec<&str> = after.iter().map(TicketId::as_str).collect();
    let query =
        "select id, state, outcome from lapidary.ticket where id = any($1) order by id for share";
    let rows = session.query(query, &[&ids]).await?;
    let ends = rows.iter().map(|row| {
        let end = match (row.get(1), row.get(2)) {
            ("done", Some(COMPLETED)) => PredecessorEnd::Completed,
            ("done", _) => PredecessorEnd::Failed,
            _ => PredecessorEnd::Open,
        };
        (row.get(0), end)
    });
    Ok(ends.collect())
}

async fn add_kind(
    session: &mut PooledSession,
    lanes: &[String],
    needs: &[String],
) -> Result<(), PostgresFault> {
    let insert =
        "insert into lapidary.kind (key, lanes, needs) values ($1, $2, $3) on conflict do nothing";
    let key = kind_key(lanes, needs);
    session.execute(insert, &[&key, &lanes, &needs]).await?;
    Ok(())
}

/// An id that we wrote.
pub(super) fn stored_id(text: &str) -> Result<TicketId, PostgresFault> {
    text.parse().map_err(|_| {
        PostgresFault::Store(StoreError::BadRequest {
            field: "ticket",
            problem: "in the store has an id that is none".to_owned(),
        })
    })
}
