//! Tickets that have ended, made by one statement for each table.

use std::time::Duration;

use lapidary_fleet::StoreAddress;
use tokio_postgres::NoTls;

use crate::Failed;
use crate::clients::{completed, register, request, ticket};

/// Adds tickets that have ended, each with its spec and one attempt. Their numbers are new ones. One real ticket is the pattern of all.
pub(crate) async fn add_finished(
    address: &StoreAddress,
    first: i64,
    last: i64,
) -> Result<(), Failed> {
    let store = address.open().await?;
    let worker = register(&*store).await?;
    store.submit(&[ticket()]).await?;
    for claim in store.claim(&request(&worker)).await? {
        store.finish(&completed(&claim)).await?;
    }
    drop(store);
    match address {
        StoreAddress::Sqlite(path) => {
            let connection = rusqlite::Connection::open(path)?;
            connection.busy_timeout(Duration::from_mins(1))?;
            connection.execute_batch(&copies(
                "",
                &sqlite_numbers(first, last),
                "printf('%020d', n)",
            ))?;
            connection.execute_batch("analyze; pragma wal_checkpoint(truncate)")?;
        }
        StoreAddress::Postgres(_) => {
            let (client, connection) = tokio_postgres::connect(&address.to_string(), NoTls).await?;
            let connection = tokio::spawn(connection);
            let numbers = format!("generate_series({first}, {last}) n");
            let sql = copies("lapidary.", &numbers, "lpad(n::text, 20, '0')");
            client.batch_execute(&sql).await?;
            client.batch_execute("vacuum analyze").await?;
            // Else the pages of the new tickets are written while claims are measured.
            client.batch_execute("checkpoint").await?;
            drop(client);
            connection.await??;
        }
    }
    Ok(())
}

fn sqlite_numbers(first: i64, last: i64) -> String {
    format!(
        "(with recursive counted (n) as (select {first} union all select n + 1 from counted where n < {last}) select n from counted)"
    )
}

/// Copies of the first ticket that has ended. Their ids are numbers, which are older than any real id.
fn copies(schema: &str, numbers: &str, id: &str) -> String {
    let ticket = "state, spec_version, content_hash, title, agent, retry, kind, priority, not_before, term, attempts, max_attempts, \
        attempts_allowed, losses_allowed, lease, outcome, cause, created_by, created_at, started_at, ended_at";
    let attempt = "number, term, worker, started_at, ended_at, outcome, cause, fate, fate_outcome, fate_cause";
    let pattern = format!(
        "(select id from {schema}ticket where state = 'done' and term = 1 order by id desc limit 1)"
    );
    format!(
        "begin; \
        insert into {schema}ticket (id, {ticket}) select {id}, {ticket} from {schema}ticket, {numbers} where id = {pattern}; \
        insert into {schema}spec (ticket, body) select {id}, body from {schema}spec, {numbers} where ticket = {pattern}; \
        insert into {schema}attempt (run, ticket, {attempt}) select {id} || '-1', {id}, {attempt} from {schema}attempt, {numbers} \
            where ticket = {pattern}; \
        insert into {schema}attempt_end (run) select {id} || '-1' from {numbers}; \
        commit"
    )
}
