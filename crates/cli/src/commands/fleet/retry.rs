//! `fleet retry`: lets a ticket that ended run again.

use anyhow::anyhow;
use lapidary_fleet::{RetryReply, TicketId};

use super::super::sessions::SessionsFormat;
use super::report::{change, print_change};
use super::store_option::{StoreOption, block_on, store_failure, unknown_ticket};
use crate::exit::CommandExit;
use crate::failure::Failure;
use crate::printer::Printer;

/// Let a ticket that ended run again, with as many attempts as it had at first
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  lapidary fleet retry 1hc8k3x9e2r7m4qz6t0w
  lapidary fleet list --gave-up --format json | jq -r '.tickets[].ticket' | xargs -n1 lapidary fleet retry

Its history stays. Tickets that ended because of it are not repeated by themselves.")]
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
    let ticket = &args.ticket;
    let address = block_on(async {
        let store = args.store.open_existing(&out.invocation).await?;
        match store.retry(ticket).await.map_err(store_failure)? {
            RetryReply::Waiting => {}
            RetryReply::NotDone(state) => {
                let error = anyhow!(
                    "ticket `{ticket}` has not ended: it is `{}`",
                    state.as_str()
                );
                return Err(Failure::bad_input(error)
                    .with_hint("end it with `lapidary fleet cancel` first"));
            }
            RetryReply::Unknown => return Err(unknown_ticket(&*store, ticket)),
        }
        store.flush().await.map_err(store_failure)?;
        Ok(store.address().to_owned())
    })?;
    let change = change(&address, Some(ticket.to_string()), "retried");
    print_change(
        &change,
        &format!("Ticket {ticket} waits again."),
        args.format,
        out,
    )?;
    Ok(CommandExit::Success)
}
