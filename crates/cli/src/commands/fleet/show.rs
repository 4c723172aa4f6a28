//! `fleet show`: one ticket with its attempts.

use std::io::Write as _;

use jiff::Timestamp;
use lapidary::render::plain::one_line;
use lapidary::vocab::fleet::{FLEET_TICKET_SCHEMA, FleetAttempt, FleetTicketReport};
use lapidary::vocab::line;
use lapidary_fleet::{FleetStore, TicketId, TicketRecord, TicketState};
use serde_json::Value;

use super::super::sessions::SessionsFormat;
use super::list::state_words;
use super::report::{attempt_report, json_or_text, prompt_report, ticket_report};
use super::store_option::{StoreOption, block_on, find_ticket, store_failure};
use crate::exit::CommandExit;
use crate::failure::Failure;
use crate::printer::Printer;

/// Show a ticket: its attempts, their evidence, open permission requests, its result
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  lapidary fleet show 1hc8k3x9e2r7m4qz6t0w
  lapidary fleet show 1hc8k3x9e2r7m4qz6t0w --format json | jq .result.response")]
pub(crate) struct Args {
    /// The ticket's id
    #[arg(value_name = "TICKET")]
    ticket: TicketId,
    #[command(flatten)]
    store: StoreOption,
    /// What to print [default: text on a terminal, json when piped]
    #[arg(long, value_enum)]
    format: Option<SessionsFormat>,
}

pub(crate) fn run(args: &Args, out: &mut Printer) -> Result<CommandExit, Failure> {
    let (record, report) = block_on(async {
        let store = args.store.open_existing(&out.invocation).await?;
        let record = find_ticket(&*store, &args.ticket).await?;
        let report = make_report(&*store, &record).await?;
        Ok((record, report))
    })?;
    match SessionsFormat::or_usual(args.format, out.is_terminal) {
        SessionsFormat::Json => line::write(out, &report)?,
        SessionsFormat::Text => print_text(&record, &report, out)?,
    }
    Ok(CommandExit::Success)
}

pub(super) async fn make_report(
    store: &dyn FleetStore,
    record: &TicketRecord,
) -> Result<FleetTicketReport, Failure> {
    let mut attempt_list = Vec::new();
    for attempt in &record.attempt_records {
        let artifacts = store.artifacts(&attempt.run).await.map_err(store_failure)?;
        attempt_list.push(attempt_report(attempt, &artifacts));
    }
    let prompts = store.open_prompts(Some(&record.id)).await;
    let prompts = prompts.map_err(store_failure)?;
    Ok(FleetTicketReport {
        schema: FLEET_TICKET_SCHEMA.to_owned(),
        ticket: ticket_report(record),
        spec: record.spec.as_deref().map(json_or_text),
        attempt_list,
        prompts: prompts.iter().map(prompt_report).collect(),
        result: record.result.as_deref().map(json_or_text),
    })
}

fn print_text(
    record: &TicketRecord,
    report: &FleetTicketReport,
    out: &mut Printer,
) -> Result<(), Failure> {
    let ticket = &report.ticket;
    writeln!(out, "{}  {}", record.id, state_words(record))?;
    writeln!(out, "  {}", one_line(&record.title))?;
    writeln!(
        out,
        "  submitted {} by {}",
        ticket.created_at,
        one_line(&record.created_by)
    )?;
    if let Some(cancel) = &record.cancel {
        let why = cancel.why.iter().map(|why| format!(": {why}"));
        let by = format!("{}{}", cancel.by, why.collect::<String>());
        writeln!(out, "  cancelled by {}", one_line(&by))?;
    }
    for (name, list) in [
        ("lanes", &ticket.lanes),
        ("needs", &ticket.needs),
        ("waits for", &ticket.waits_for),
    ] {
        if !list.is_empty() {
            writeln!(out, "  {name}: {}", one_line(&list.join(", ")))?;
        }
    }
    let is_waiting = matches!(record.state, TicketState::Waiting | TicketState::Blocked);
    if is_waiting && record.not_before > Timestamp::now() {
        writeln!(out, "  not before {}", ticket.not_before)?;
    }
    for attempt in &report.attempt_list {
        let end = match (&attempt.outcome, &attempt.cause) {
            (Some(outcome), Some(cause)) => format!("{outcome}: {cause}"),
            _ => "running".to_owned(),
        };
        writeln!(
            out,
            "  attempt {}: {}, {} events, worker {}",
            attempt.attempt,
            one_line(&end),
            attempt.events,
            one_line(worker_name(attempt))
        )?;
        print_reason(attempt.evidence.as_ref(), out)?;
        for artifact in &attempt.artifacts {
            writeln!(
                out,
                "    {} ({} bytes)",
                one_line(&artifact.name),
                artifact.bytes
            )?;
        }
    }
    for prompt in &report.prompts {
        writeln!(
            out,
            "  asks `{}`: {}",
            one_line(&prompt.request_id),
            one_line(&wanted_call(&prompt.event))
        )?;
    }
    let response = report
        .result
        .as_ref()
        .and_then(|result| result.get("response"));
    let response = response.and_then(|response| response.as_str());
    if let Some(response) = response.filter(|response| !response.is_empty()) {
        writeln!(out, "\n{}", lapidary::render::plain::sanitize(response))?;
    }
    Ok(())
}

/// The worker's name, which the evidence of an attempt that ended has; else its id.
fn worker_name(attempt: &FleetAttempt) -> &str {
    let name = attempt
        .evidence
        .as_ref()
        .and_then(|it| it.get("worker")?.as_str());
    name.unwrap_or(&attempt.worker)
}

/// Why an attempt ended, and what to do, as its evidence says.
fn print_reason(evidence: Option<&Value>, out: &mut Printer) -> Result<(), Failure> {
    for (label, name) in [("", "message"), ("hint: ", "hint")] {
        let text = evidence.and_then(|evidence| evidence.get(name)?.as_str());
        if let Some(text) = text {
            writeln!(out, "    {label}{}", one_line(text))?;
        }
    }
    Ok(())
}

/// The call that a permission request is about, in a line.
fn wanted_call(event: &Value) -> String {
    let text = |name: &str| event.get(name).and_then(Value::as_str);
    match (text("toolName"), text("command").or_else(|| text("title"))) {
        (Some(tool), Some(what)) => format!("{tool} {what}"),
        (Some(one), None) | (None, Some(one)) => one.to_owned(),
        (None, None) => event.to_string(),
    }
}
