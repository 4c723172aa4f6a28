//! `fleet events`: the events of a ticket's attempts, as `run` prints them.

use std::io::Write as _;

use anyhow::anyhow;
use lapidary::vocab::event::Event;
use lapidary_fleet::{FleetStore, TicketId, TicketState};

use super::super::sink::{EventSink, OutputFormat};
use super::follow::{FollowScope, LogFollower};
use super::store_option::{StoreOption, block_on, find_ticket};
use crate::exit::CommandExit;
use crate::failure::Failure;
use crate::printer::Printer;

/// Print the events of a ticket, the same as `run` prints; a running ticket is followed
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  lapidary fleet events 1hc8k3x9e2r7m4qz6t0w
  lapidary fleet events 1hc8k3x9e2r7m4qz6t0w --format events | jq -c 'select(.event == \"tool_invocation\")'
  lapidary fleet events 1hc8k3x9e2r7m4qz6t0w --attempt 1 --from 120 --no-follow")]
pub(crate) struct Args {
    /// The ticket's id
    #[arg(value_name = "TICKET")]
    ticket: TicketId,
    /// The number of an attempt [default: the last, and those after it]
    #[arg(long, value_name = "N")]
    attempt: Option<u32>,
    /// Begin with the event of this `seq`
    #[arg(long, value_name = "SEQ", default_value_t = 0)]
    from: u64,
    /// Print only what is there already
    #[arg(long)]
    no_follow: bool,
    /// What to print [default: text on a terminal, events when piped]
    #[arg(long, value_enum)]
    format: Option<OutputFormat>,
    #[command(flatten)]
    store: StoreOption,
}

pub(crate) fn run(args: &Args, out: &mut Printer) -> Result<CommandExit, Failure> {
    let usual = if out.is_terminal {
        OutputFormat::Text
    } else {
        OutputFormat::Events
    };
    let format = args.format.unwrap_or(usual);
    let scope = args.attempt.map_or(FollowScope::Last, FollowScope::Attempt);
    block_on(async {
        let store = args.store.open_existing(&out.invocation).await?;
        check_attempt(args, &*store, out).await?;
        let ticket = args.ticket.clone();
        let mut log = LogFollower::new(&*store, ticket, scope, args.from, !args.no_follow);
        let mut sink = EventSink::new(format, args.ticket.as_str(), false, out);
        while let Some(lines) = log.next_lines().await? {
            match format {
                // Printed as they are stored: a worker may have stored a line that is no JSON.
                OutputFormat::Events => {
                    let mut stored = out.foreign_bytes();
                    stored.write_all(&lines)?;
                    stored.finish()?;
                }
                _ => take_lines(&mut sink, &lines, out)?,
            }
            out.flush()?;
        }
        sink.finish(out)?;
        Ok(())
    })?;
    Ok(CommandExit::Success)
}

/// Refuses an attempt that the ticket will not have. Says why a ticket that is followed has no events yet.
async fn check_attempt(
    args: &Args,
    store: &dyn FleetStore,
    out: &mut Printer,
) -> Result<(), Failure> {
    let ticket = find_ticket(store, &args.ticket).await?;
    let is_final = args.no_follow || ticket.state == TicketState::Done;
    let has_it = |number: u32| (1..=ticket.attempts).contains(&number);
    if let Some(number) = args.attempt
        && !has_it(number)
        && (is_final || number == 0)
    {
        let count = ticket.attempts;
        let error = anyhow!(
            "ticket `{}` has no attempt {number}: there were {count}",
            args.ticket
        );
        return Err(Failure::bad_input(error).with_hint("`lapidary fleet show` lists them"));
    }
    if !args.no_follow && ticket.attempts == 0 {
        match ticket.state {
            TicketState::Waiting => {
                out.print_note("the ticket waits for a worker: `lapidary fleet work` runs it")?;
            }
            TicketState::Blocked => out.print_note("the ticket waits for those of `--after`")?,
            TicketState::Running | TicketState::Done => {}
        }
    }
    Ok(())
}

fn take_lines(sink: &mut EventSink, lines: &[u8], out: &mut Printer) -> Result<(), Failure> {
    let lines = lines.split(|byte| *byte == b'\n');
    let mut events: Vec<Event> = lines
        .filter_map(|line| Event::from_json(std::str::from_utf8(line).ok()?).ok())
        .collect();
    sink.take_events(&mut events, out)
}
