//! Orders of submitters and viewers (cancel, retry, remove, answer), and the prompts and artifacts of attempts.

use super::attempt::{check_lease, end_ticket};
use super::pool::{PooledSession, PostgresFault};
use crate::fate::{LOSSES_ALLOWED, NextState, RUN_TABLES};
use crate::{
    AnswerReply, ArtifactPart, ArtifactRecord, ArtifactSeal, CancelReply, CancelRequest, LeaseUse,
    NewPrompt, PromptAnswer, RetryReply, RunId, StoreError, TicketId, TicketState,
};

/// The state of a ticket, whose row is locked until the end of the transaction.
async fn lock_state(
    session: &mut PooledSession,
    ticket: &TicketId,
) -> Result<Option<(TicketState, Option<String>)>, PostgresFault> {
    let query = "select state, outcome from lapidary.ticket where id = $1 for update";
    let row = session.query_opt(query, &[&ticket.as_str()]).await?;
    Ok(row.map(|row| (TicketState::from_stored(row.get(0)), row.get(1))))
}

pub(super) async fn cancel(
    session: &mut PooledSession,
    ticket: &TicketId,
    request: &CancelRequest,
) -> Result<CancelReply, PostgresFault> {
    session.batch("begin").await?;
    let reply = cancel_locked(session, ticket, request).await?;
    session.batch("commit").await?;
    Ok(reply)
}

async fn cancel_locked(
    session: &mut PooledSession,
    ticket: &TicketId,
    request: &CancelRequest,
) -> Result<CancelReply, PostgresFault> {
    let Some((state, outcome)) = lock_state(session, ticket).await? else {
        return Ok(CancelReply::Unknown);
    };
    if state == TicketState::Done {
        let outcome = outcome.unwrap_or_default();
        return Ok(CancelReply::AlreadyDone { outcome });
    }
    let update = "update lapidary.ticket set cancel_by = coalesce(cancel_by, $2), cancel_why = coalesce(cancel_why, $3), \
        cancel_now = cancel_now or $4 where id = $1";
    let why = request.why.as_deref().map(without_nul);
    let by = without_nul(&request.by);
    session
        .execute(update, &[&ticket.as_str(), &by, &why, &request.now])
        .await?;
    if state == TicketState::Running {
        return Ok(CancelReply::Ordered);
    }
    let delete = "delete from lapidary.dependency where ticket = $1";
    session.execute(delete, &[&ticket.as_str()]).await?;
    if let NextState::Done { outcome, cause } = NextState::cancelled() {
        end_ticket(session, ticket.as_str(), &outcome, &cause).await?;
    }
    Ok(CancelReply::Done)
}

/// `PostgreSQL` takes no NUL in a text.
fn without_nul(text: &str) -> String {
    text.replace('\0', "")
}

pub(super) async fn retry(
    session: &mut PooledSession,
    ticket: &TicketId,
) -> Result<RetryReply, PostgresFault> {
    session.batch("begin").await?;
    let reply = match lock_state(session, ticket).await? {
        None => RetryReply::Unknown,
        Some((TicketState::Done, _)) => {
            let update = "update lapidary.ticket set state = 'waiting', outcome = null, cause = null, ended_at = null, \
                cancel_by = null, cancel_why = null, cancel_now = false, not_before = now(), \
                attempts_allowed = attempts - released + max_attempts, losses_allowed = lost + $2 where id = $1";
            let losses = i32::try_from(LOSSES_ALLOWED).unwrap_or(i32::MAX);
            session
                .execute(update, &[&ticket.as_str(), &losses])
                .await?;
            RetryReply::Waiting
        }
        Some((state, _)) => RetryReply::NotDone(state),
    };
    session.batch("commit").await?;
    Ok(reply)
}

pub(super) async fn remove(
    session: &mut PooledSession,
    ticket: &TicketId,
) -> Result<bool, PostgresFault> {
    session.batch("begin").await?;
    let state = lock_state(session, ticket).await?;
    let is_done = matches!(state, Some((TicketState::Done, _)));
    if is_done {
        let runs = "select run from lapidary.attempt where ticket = $1";
        for table in RUN_TABLES {
            let delete = format!("delete from lapidary.{table} where run in ({runs})");
            session.execute(&delete, &[&ticket.as_str()]).await?;
        }
        for (table, column) in [("attempt", "ticket"), ("spec", "ticket"), ("ticket", "id")] {
            let delete = format!("delete from lapidary.{table} where {column} = $1");
            session.execute(&delete, &[&ticket.as_str()]).await?;
        }
    }
    session.batch("commit").await?;
    Ok(is_done)
}

pub(super) async fn answer(
    session: &mut PooledSession,
    answer: &PromptAnswer,
) -> Result<AnswerReply, PostgresFault> {
    let update = "update lapidary.prompt set answer = $3, answered_by = $4, answered_at = now() \
        where run = $1 and request = $2 and answer is null and settled is null";
    let run = answer.run.as_str();
    let request = answer.request.as_bytes();
    let by = without_nul(&answer.by);
    let changed = session
        .execute(update, &[&run, &request, &answer.answer, &by])
        .await?;
    if changed == 1 {
        return Ok(AnswerReply::Stored);
    }
    let query = "select answered_by from lapidary.prompt where run = $1 and request = $2";
    let row = session.query_opt(query, &[&run, &request]).await?;
    Ok(match row.map(|row| row.get::<_, Option<String>>(0)) {
        None => AnswerReply::Unknown,
        Some(Some(by)) => AnswerReply::AlreadyAnswered { by },
        Some(None) => AnswerReply::Over,
    })
}

pub(super) async fn record_prompt(
    session: &mut PooledSession,
    prompt: &NewPrompt,
) -> Result<(), PostgresFault> {
    check_lease(session, &prompt.claimed, LeaseUse::Held).await?;
    let insert = "insert into lapidary.prompt (run, request, ticket, seq, body) values ($1, $2, $3, $4, $5) \
        on conflict do nothing";
    let run = prompt.claimed.run();
    let seq = i64::try_from(prompt.seq).unwrap_or(i64::MAX);
    session
        .execute(
            insert,
            &[
                &run.as_str(),
                &prompt.request.as_bytes(),
                &prompt.claimed.ticket.as_str(),
                &seq,
                &prompt.body,
            ],
        )
        .await?;
    Ok(())
}

pub(super) async fn settle_prompt(
    session: &mut PooledSession,
    run: &RunId,
    request: &str,
    how: &str,
) -> Result<(), PostgresFault> {
    let update = "update lapidary.prompt set settled = $3 where run = $1 and request = $2 and settled is null";
    session
        .execute(update, &[&run.as_str(), &request.as_bytes(), &how])
        .await?;
    Ok(())
}

pub(super) async fn watch(session: &mut PooledSession, run: &RunId) -> Result<(), PostgresFault> {
    let update = "update lapidary.attempt set watched_until = now() + interval '1 minute' \
        where run = $1 and watched_until < now() + interval '30 seconds'";
    session.execute(update, &[&run.as_str()]).await?;
    Ok(())
}

pub(super) async fn put_part(
    session: &mut PooledSession,
    part: &ArtifactPart,
) -> Result<(), PostgresFault> {
    part.check()?;
    check_lease(session, &part.claimed, part.lease).await?;
    let insert = "insert into lapidary.artifact_part (run, name, part, body) select $1, $2, $3, $4 \
        where not exists (select 1 from lapidary.artifact where run = $1 and name = $2) \
        on conflict (run, name, part) do update set body = excluded.body";
    let run = part.claimed.run();
    let number = i32::try_from(part.part).unwrap_or(i32::MAX);
    session
        .execute(insert, &[&run.as_str(), &part.name, &number, &part.body])
        .await?;
    Ok(())
}

pub(super) async fn seal_artifact(
    session: &mut PooledSession,
    seal: &ArtifactSeal,
) -> Result<ArtifactRecord, PostgresFault> {
    check_lease(session, &seal.claimed, seal.lease).await?;
    let run = seal.claimed.run();
    let mismatch = || StoreError::ArtifactMismatch {
        name: seal.name.clone(),
    };
    // The server reads the parts: through a slow connection they would take longer than a request may.
    let query = "select count(*), coalesce(sum(length(body)), 0)::bigint, \
            sha256(coalesce(string_agg(body, ''::bytea order by part), ''::bytea)) \
        from lapidary.artifact_part where run = $1 and name = $2 and part < $3";
    let parts = i32::try_from(seal.parts).unwrap_or(i32::MAX);
    let row = session
        .query_opt(query, &[&run.as_str(), &seal.name, &parts])
        .await?;
    let row = row.ok_or_else(mismatch)?;
    let (count, size, hash): (i64, i64, &[u8]) = (row.get(0), row.get(1), row.get(2));
    if count != i64::from(parts) || hash != seal.sha256 {
        return Err(mismatch().into());
    }
    let insert = "with sealed as (insert into lapidary.artifact (run, name, media_type, parts, bytes, sha256) \
            values ($1, $2, $3, $4::int, $5, $6) on conflict do nothing) \
        delete from lapidary.artifact_part where run = $1 and name = $2 and part >= $4::int";
    let sha256 = seal.sha256.as_slice();
    session
        .execute(
            insert,
            &[
                &run.as_str(),
                &seal.name,
                &seal.media_type,
                &parts,
                &size,
                &sha256,
            ],
        )
        .await?;
    Ok(ArtifactRecord {
        name: seal.name.clone(),
        media_type: seal.media_type.clone(),
        parts: seal.parts,
        bytes: u64::try_from(size).unwrap_or_default(),
        sha256: seal.sha256,
    })
}
