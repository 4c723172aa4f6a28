//! Orders of submitters and viewers (cancel, retry, remove, answer), and the prompts and artifacts of attempts.

use rusqlite::{OptionalExtension as _, Transaction, params};
use sha2::{Digest as _, Sha256};

use super::attempt::{check_lease, end_ticket};
use super::connection::{SqliteFault, now};
use crate::fate::{LOSSES_ALLOWED, NextState, RUN_TABLES};
use crate::{
    AnswerReply, ArtifactPart, ArtifactRecord, ArtifactSeal, CancelReply, CancelRequest, LeaseUse,
    NewPrompt, PromptAnswer, RetryReply, RunId, StoreError, TicketId, TicketState,
};

pub(super) fn cancel(
    transaction: &Transaction<'_>,
    ticket: &TicketId,
    request: &CancelRequest,
) -> Result<CancelReply, SqliteFault> {
    let Some((state, outcome)) = state_of(transaction, ticket)? else {
        return Ok(CancelReply::Unknown);
    };
    if state == TicketState::Done {
        let outcome = outcome.unwrap_or_default();
        return Ok(CancelReply::AlreadyDone { outcome });
    }
    let update = "update ticket set cancel_by = coalesce(cancel_by, ?2), cancel_why = coalesce(cancel_why, ?3), \
        cancel_now = cancel_now or ?4 where id = ?1";
    let values = params![ticket.as_str(), request.by, request.why, request.now];
    transaction.execute(update, values)?;
    if state == TicketState::Running {
        return Ok(CancelReply::Ordered);
    }
    let delete = "delete from dependency where ticket = ?1";
    transaction.execute(delete, [ticket.as_str()])?;
    if let NextState::Done { outcome, cause } = NextState::cancelled() {
        end_ticket(transaction, ticket.as_str(), &outcome, &cause)?;
    }
    Ok(CancelReply::Done)
}

fn state_of(
    transaction: &Transaction<'_>,
    ticket: &TicketId,
) -> Result<Option<(TicketState, Option<String>)>, SqliteFault> {
    let query = "select state, outcome from ticket where id = ?1";
    let state = transaction.query_row(query, [ticket.as_str()], |row| {
        let state: String = row.get(0)?;
        Ok((TicketState::from_stored(&state), row.get(1)?))
    });
    Ok(state.optional()?)
}

pub(super) fn retry(
    transaction: &Transaction<'_>,
    ticket: &TicketId,
) -> Result<RetryReply, SqliteFault> {
    match state_of(transaction, ticket)? {
        None => return Ok(RetryReply::Unknown),
        Some((TicketState::Done, _)) => {}
        Some((state, _)) => return Ok(RetryReply::NotDone(state)),
    }
    let update = "update ticket set state = 'waiting', outcome = null, cause = null, ended_at = null, cancel_by = null, \
        cancel_why = null, cancel_now = 0, not_before = ?2, attempts_allowed = attempts - released + max_attempts, \
        losses_allowed = lost + ?3 where id = ?1";
    transaction.execute(update, params![ticket.as_str(), now(), LOSSES_ALLOWED])?;
    Ok(RetryReply::Waiting)
}

pub(super) fn remove(
    transaction: &Transaction<'_>,
    ticket: &TicketId,
) -> Result<bool, SqliteFault> {
    let state = state_of(transaction, ticket)?;
    if !matches!(state, Some((TicketState::Done, _))) {
        return Ok(false);
    }
    let runs = "select run from attempt where ticket = ?1";
    for table in RUN_TABLES {
        let delete = format!("delete from {table} where run in ({runs})");
        transaction.execute(&delete, [ticket.as_str()])?;
    }
    for delete in [
        "delete from attempt where ticket = ?1",
        "delete from spec where ticket = ?1",
        "delete from ticket where id = ?1",
    ] {
        transaction.execute(delete, [ticket.as_str()])?;
    }
    Ok(true)
}

pub(super) fn answer(
    transaction: &Transaction<'_>,
    answer: &PromptAnswer,
) -> Result<AnswerReply, SqliteFault> {
    let update = "update prompt set answer = ?3, answered_by = ?4, answered_at = ?5 \
        where run = ?1 and request = ?2 and answer is null and settled is null";
    let (run, request) = (answer.run.as_str(), &answer.request);
    let values = params![run, request, answer.answer, answer.by, now()];
    if transaction.execute(update, values)? == 1 {
        return Ok(AnswerReply::Stored);
    }
    let query = "select answered_by from prompt where run = ?1 and request = ?2";
    let found = transaction.query_row(query, params![run, request], |row| row.get(0));
    let found: Option<Option<String>> = found.optional()?;
    Ok(match found {
        None => AnswerReply::Unknown,
        Some(Some(by)) => AnswerReply::AlreadyAnswered { by },
        Some(None) => AnswerReply::Over,
    })
}

pub(super) fn record_prompt(
    transaction: &Transaction<'_>,
    prompt: &NewPrompt,
) -> Result<(), SqliteFault> {
    check_lease(transaction, &prompt.claimed, LeaseUse::Held)?;
    let insert = "insert into prompt (run, request, ticket, seq, body, asked_at) values (?1, ?2, ?3, ?4, ?5, ?6) \
        on conflict do nothing";
    transaction.execute(
        insert,
        params![
            prompt.claimed.run().as_str(),
            prompt.request,
            prompt.claimed.ticket.as_str(),
            prompt.seq,
            prompt.body,
            now()
        ],
    )?;
    Ok(())
}

pub(super) fn settle_prompt(
    transaction: &Transaction<'_>,
    run: &RunId,
    request: &str,
    how: &str,
) -> Result<(), SqliteFault> {
    let update =
        "update prompt set settled = ?3 where run = ?1 and request = ?2 and settled is null";
    transaction.execute(update, params![run.as_str(), request, how])?;
    Ok(())
}

pub(super) fn put_part(
    transaction: &Transaction<'_>,
    part: &ArtifactPart,
) -> Result<(), SqliteFault> {
    part.check()?;
    check_lease(transaction, &part.claimed, part.lease)?;
    let run = part.claimed.run();
    let insert = "insert into artifact_part (run, name, part, body) select ?1, ?2, ?3, ?4 \
        where not exists (select 1 from artifact where run = ?1 and name = ?2) \
        on conflict (run, name, part) do update set body = excluded.body";
    let mut insert = transaction.prepare_cached(insert)?;
    insert.execute(params![run.as_str(), part.name, part.part, part.body])?;
    Ok(())
}

pub(super) fn seal_artifact(
    transaction: &Transaction<'_>,
    seal: &ArtifactSeal,
) -> Result<ArtifactRecord, SqliteFault> {
    check_lease(transaction, &seal.claimed, seal.lease)?;
    let run = seal.claimed.run();
    let mismatch = || StoreError::ArtifactMismatch {
        name: seal.name.clone(),
    };
    let mut hash = Sha256::new();
    let mut bytes = 0;
    let query = "select body from artifact_part where run = ?1 and name = ?2 and part = ?3";
    let mut query = transaction.prepare_cached(query)?;
    for part in 0..seal.parts {
        let body = query.query_row(params![run.as_str(), seal.name, part], |row| row.get(0));
        let body: Option<Vec<u8>> = body.optional()?;
        let body = body.ok_or_else(mismatch)?;
        hash.update(&body);
        bytes += body.len() as u64;
    }
    if seal.sha256 != <[u8; 32]>::from(hash.finalize()) {
        return Err(mismatch().into());
    }
    let insert = "insert into artifact (run, name, media_type, parts, bytes, sha256) values (?1, ?2, ?3, ?4, ?5, ?6) \
        on conflict do nothing";
    let (name, media_type) = (&seal.name, &seal.media_type);
    let values = params![
        run.as_str(),
        name,
        media_type,
        seal.parts,
        bytes,
        seal.sha256
    ];
    transaction.execute(insert, values)?;
    let delete = "delete from artifact_part where run = ?1 and name = ?2 and part >= ?3";
    transaction.execute(delete, params![run.as_str(), name, seal.parts])?;
    Ok(ArtifactRecord {
        name: name.clone(),
        media_type: media_type.clone(),
        parts: seal.parts,
        bytes,
        sha256: seal.sha256,
    })
}
