//! `fleet archive`: a ticket as files, and out of the store.

use std::fs::File;
use std::io::{self, BufWriter, Write as _};
use std::path::{Path, PathBuf};

use anyhow::anyhow;
use lapidary::engine::recording::private_directories;
use lapidary_fleet::{FleetStore, TicketId, TicketRecord, TicketState};

use super::super::sessions::SessionsFormat;
use super::follow::{FollowScope, LogFollower};
use super::patch::write_artifact;
use super::report::{change, print_change};
use super::show::make_report;
use super::store_option::{StoreOption, block_on, find_ticket, store_failure};
use crate::exit::CommandExit;
use crate::failure::Failure;
use crate::printer::Printer;

/// Write a ticket that ended as files, and remove it from the store if asked to
///
/// `DIR/TICKET/` gets `ticket.json` (as `fleet show` prints it) and for each attempt `RUN/events.jsonl` and the files that it left.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  lapidary fleet archive 1hc8k3x9e2r7m4qz6t0w --to archive
  lapidary fleet archive 1hc8k3x9e2r7m4qz6t0w --to archive --remove")]
pub(crate) struct Args {
    /// The ticket's id
    #[arg(value_name = "TICKET")]
    ticket: TicketId,
    /// The directory that gets a directory for the ticket
    #[arg(long, value_name = "DIR")]
    to: PathBuf,
    /// Remove the ticket from the store once everything is written
    #[arg(long)]
    remove: bool,
    #[command(flatten)]
    store: StoreOption,
    /// What to print [default: text on a terminal, json when piped]
    #[arg(long, value_enum)]
    format: Option<SessionsFormat>,
}

pub(crate) fn run(args: &Args, out: &mut Printer) -> Result<CommandExit, Failure> {
    let ticket = &args.ticket;
    let directory = args.to.join(ticket.as_str());
    let address = block_on(async {
        let store = args.store.open_existing(&out.invocation).await?;
        let record = find_ticket(&*store, ticket).await?;
        if record.state != TicketState::Done {
            let error = anyhow!(
                "ticket `{ticket}` has not ended: it is `{}`",
                record.state.as_str()
            );
            return Err(
                Failure::bad_input(error).with_hint("end it with `lapidary fleet cancel` first")
            );
        }
        if directory.exists() {
            let error = anyhow!("`{}` exists already", directory.display());
            return Err(Failure::bad_input(error).with_hint("name another directory with `--to`"));
        }
        write_ticket(&*store, &record, &directory).await?;
        if args.remove && !store.remove(ticket).await.map_err(store_failure)? {
            let error =
                anyhow!("ticket `{ticket}` was not removed: it waits or runs again, or is gone");
            let hint = format!("what it was is in `{}`", directory.display());
            return Err(Failure::bad_input(error).with_hint(hint));
        }
        Ok(store.address().to_owned())
    })?;
    let what = if args.remove { "removed" } else { "archived" };
    let mut change = change(&address, Some(ticket.to_string()), what);
    change.directory = Some(directory.display().to_string());
    let sentence = format!("Ticket {ticket} is in {}.", directory.display());
    print_change(&change, &sentence, args.format, out)?;
    Ok(CommandExit::Success)
}

async fn write_ticket(
    store: &dyn FleetStore,
    record: &TicketRecord,
    directory: &Path,
) -> Result<(), Failure> {
    for attempt in &record.attempt_records {
        let folder = directory.join(attempt.run.as_str());
        let made = private_directories(&folder);
        made.map_err(|error| write_failure(&folder, error))?;
        let scope = FollowScope::Attempt(attempt.number);
        let mut log = LogFollower::new(store, record.id.clone(), scope, 0, false);
        let mut file = new_file(&folder.join("events.jsonl"))?;
        while let Some(lines) = log.next_lines().await? {
            file.write_all(&lines)?;
        }
        close(file)?;
        let artifacts = store.artifacts(&attempt.run).await.map_err(store_failure)?;
        for artifact in &artifacts {
            // A worker chose the name.
            let name = Path::new(&artifact.name).file_name();
            let name = name.ok_or_else(|| {
                Failure::bad_input(anyhow!("`{}` is not a file name", artifact.name))
            })?;
            let mut file = new_file(&folder.join(name))?;
            write_artifact(store, &attempt.run, artifact, &mut file).await?;
            close(file)?;
        }
    }
    // Last: a directory that has it is whole.
    private_directories(directory).map_err(|error| write_failure(directory, error))?;
    let report = make_report(store, record).await?;
    let text =
        serde_json::to_vec_pretty(&report).map_err(|error| Failure::internal(anyhow!(error)))?;
    let path = directory.join("ticket.json");
    let mut file = new_file(&path)?;
    let written = file.write_all(&text);
    written.map_err(|error| write_failure(&path, error))?;
    close(file)
}

fn new_file(path: &Path) -> Result<BufWriter<File>, Failure> {
    let file = File::create_new(path);
    let file = file.map_err(|error| write_failure(path, error))?;
    Ok(BufWriter::new(file))
}

/// Everything is on the disk before a ticket is removed.
fn close(file: BufWriter<File>) -> Result<(), Failure> {
    let file = file.into_inner().map_err(io::IntoInnerError::into_error)?;
    Ok(file.sync_all()?)
}

fn write_failure(path: &Path, error: io::Error) -> Failure {
    let context = format!("cannot write `{}`", path.display());
    Failure::internal(anyhow::Error::new(error).context(context))
}
