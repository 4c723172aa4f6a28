//! `fleet list`: the tickets of a store.

use std::io::Write as _;
use std::time::SystemTime;

use lapidary::render::plain::one_line;
use lapidary::sessions::age;
use lapidary::vocab::fleet::{FLEET_TICKETS_SCHEMA, FleetTicketList};
use lapidary::vocab::line;
use lapidary_fleet::{TicketFilter, TicketId, TicketRecord, TicketState};

use super::super::sessions::SessionsFormat;
use super::super::sessions::list::shorten_to_width;
use super::report::ticket_report;
use super::store_option::{StoreOption, block_on, store_failure};
use crate::exit::CommandExit;
use crate::failure::Failure;
use crate::printer::Printer;

/// The width where there is no terminal.
const USUAL_WIDTH: usize = 160;

/// List tickets, newest first
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  lapidary fleet list
  lapidary fleet list --state waiting --state running
  lapidary fleet list --gave-up
  lapidary fleet list --last 1000 --format json | jq -r '.tickets[] | select(.outcome == \"failed\") | .ticket'")]
pub(crate) struct Args {
    #[command(flatten)]
    store: StoreOption,
    /// Only tickets in this state: blocked, waiting, running or done; repeatable
    #[arg(long, value_name = "STATE", value_parser = parse_state)]
    state: Vec<TicketState>,
    /// Only tickets in this lane
    #[arg(long, value_name = "NAME")]
    lane: Option<String>,
    /// Only tickets that were given up after all their attempts
    #[arg(long)]
    gave_up: bool,
    /// Only tickets older than this one
    #[arg(long, value_name = "TICKET")]
    before: Option<TicketId>,
    /// Show only the newest N
    #[arg(short = 'n', long, value_name = "N", default_value_t = 50)]
    last: u32,
    /// What to print [default: text on a terminal, json when piped]
    #[arg(long, value_enum)]
    format: Option<SessionsFormat>,
}

fn parse_state(word: &str) -> Result<TicketState, String> {
    let unknown = || "use blocked, waiting, running or done".to_owned();
    TicketState::from_word(word).ok_or_else(unknown)
}

pub(crate) fn run(args: &Args, out: &mut Printer) -> Result<CommandExit, Failure> {
    let filter = TicketFilter {
        states: args.state.clone(),
        lane: args.lane.clone(),
        cause: args.gave_up.then(|| "gave_up".to_owned()),
        before: args.before.clone(),
        limit: args.last,
    };
    let (address, tickets) = block_on(async {
        let store = args.store.open_existing(&out.invocation).await?;
        let tickets = store.list(&filter).await.map_err(store_failure)?;
        Ok((store.address().to_owned(), tickets))
    })?;
    match SessionsFormat::or_usual(args.format, out.is_terminal) {
        SessionsFormat::Json => {
            let list = FleetTicketList {
                schema: FLEET_TICKETS_SCHEMA.to_owned(),
                store: address,
                tickets: tickets.iter().map(ticket_report).collect(),
            };
            line::write(out, &list)?;
        }
        SessionsFormat::Text if tickets.is_empty() => {
            out.print_note(&format!(
                "no ticket in `{address}`, or none that was asked for"
            ))?;
        }
        SessionsFormat::Text => print_table(&tickets, out)?,
    }
    Ok(CommandExit::Success)
}

fn print_table(tickets: &[TicketRecord], out: &mut Printer) -> Result<(), Failure> {
    let width = out.terminal_width().unwrap_or(USUAL_WIDTH);
    writeln!(
        out,
        "{:<20}  {:<26}  {:<14}  {:<8}  PROMPT",
        "TICKET", "STATE", "SUBMITTED", "ATTEMPTS"
    )?;
    let now = SystemTime::now();
    for ticket in tickets {
        let submitted = age(Some(ticket.created_at.as_millisecond()), now);
        let attempts = format!("{}/{}", ticket.attempts, ticket.max_attempts);
        let row = format!(
            "{:<20}  {:<26}  {submitted:<14}  {attempts:<8}  {}",
            ticket.id,
            state_words(ticket),
            one_line(&ticket.title),
        );
        writeln!(out, "{}", shorten_to_width(&row, width))?;
    }
    Ok(())
}

/// The state in a few words: how a ticket ended, or the reason why it waits.
pub(super) fn state_words(ticket: &TicketRecord) -> String {
    let cause = ticket.cause.as_deref().unwrap_or_default();
    match (ticket.state, ticket.outcome.as_deref()) {
        (TicketState::Done, Some(outcome @ ("completed" | "cancelled"))) => outcome.to_owned(),
        (TicketState::Done, Some(outcome)) => one_line(&format!("{outcome}: {cause}")),
        (TicketState::Running, _) if ticket.cancel.is_some() => "running, cancelled".to_owned(),
        (TicketState::Running, _) if ticket.open_prompts > 0 => "waiting for an answer".to_owned(),
        (state, _) => state.as_str().to_owned(),
    }
}
