//! `fleet cancel`: ends a ticket, wherever it runs.

use anyhow::anyhow;
use lapidary_fleet::{CancelReply, CancelRequest, TicketId};

use super::super::sessions::SessionsFormat;
use super::report::{change, print_change};
use super::store_option::{StoreOption, block_on, store_failure, unknown_ticket, user_name};
use crate::exit::CommandExit;
use crate::failure::Failure;
use crate::printer::Printer;

/// End a ticket: at once if it waits, by its worker if it runs
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  lapidary fleet cancel 1hc8k3x9e2r7m4qz6t0w --why 'not needed any more'
  lapidary fleet cancel 1hc8k3x9e2r7m4qz6t0w --now

A ticket that ended is left as it is, and the command exits with 13.")]
pub(crate) struct Args {
    /// The ticket's id
    #[arg(value_name = "TICKET")]
    ticket: TicketId,
    /// The reason, for people
    #[arg(long, value_name = "TEXT")]
    why: Option<String>,
    /// Kill the agent without the time to end by itself
    #[arg(long)]
    now: bool,
    #[command(flatten)]
    store: StoreOption,
    /// What to print [default: text on a terminal, json when piped]
    #[arg(long, value_enum)]
    format: Option<SessionsFormat>,
}

pub(crate) fn run(args: &Args, out: &mut Printer) -> Result<CommandExit, Failure> {
    let request = CancelRequest {
        by: user_name(&out.invocation),
        why: args.why.clone(),
        now: args.now,
    };
    let ticket = &args.ticket;
    let (address, what, sentence) = block_on(async {
        let store = args.store.open_existing(&out.invocation).await?;
        let reply = store
            .cancel(ticket, &request)
            .await
            .map_err(store_failure)?;
        let (what, sentence) = match reply {
            CancelReply::Done => ("cancelled", format!("Ticket {ticket} is cancelled.")),
            CancelReply::Ordered => (
                "cancel_ordered",
                format!("The worker of ticket {ticket} is told to end it."),
            ),
            CancelReply::AlreadyDone { outcome } => {
                let error = anyhow!("ticket `{ticket}` has ended already (`{outcome}`)");
                return Err(Failure::bad_input(error));
            }
            CancelReply::Unknown => return Err(unknown_ticket(&*store, ticket)),
        };
        store.flush().await.map_err(store_failure)?;
        Ok((store.address().to_owned(), what, sentence))
    })?;
    let change = change(&address, Some(ticket.to_string()), what);
    print_change(&change, &sentence, args.format, out)?;
    Ok(CommandExit::Success)
}
