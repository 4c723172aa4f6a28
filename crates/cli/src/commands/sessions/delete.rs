//! `sessions delete`: sessions go, with all that belongs to them.

use std::collections::HashSet;
use std::path::PathBuf;

use anyhow::anyhow;
use lapidary::sessions::{OtherSession, SelectError, SessionInventory};
use lapidary::vocab::removal::RemovalReason;

use super::common::{ProjectScope, SessionsContext, SessionsFormat, unsupported_failure};
use super::identify::not_found;
use super::removal::{self, RemovalPlan};
use crate::exit::CommandExit;
use crate::failure::Failure;
use crate::printer::Printer;

/// Delete sessions, with all that belongs to them
///
/// A session is named by its whole id or by its number in `sessions list`, and nothing else. All of its files go: every one in which its whole id stands, and the outputs of its tools, its log, its plans and its sub-agents. Sessions whose ids only begin alike stay. Its files are copied to the vault first, unless you say --no-vault.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  lapidary sessions delete 3
  lapidary sessions delete 3 --dry-run
  lapidary sessions delete 4f1c2b3a-5d6e-4f70-8192-a3b4c5d6e7f8 --yes

On a terminal it shows what it would delete, and asks. Without a terminal it needs --yes.")]
pub(crate) struct Args {
    /// Numbers of the list, or whole ids
    #[arg(value_name = "SESSION", required = true)]
    sessions: Vec<String>,
    /// The project's directory [default: here]
    #[arg(short = 'C', long, value_name = "DIR")]
    project: Option<PathBuf>,
    /// Do not ask
    #[arg(short, long)]
    yes: bool,
    /// Keep no copy of the deleted files in the vault
    ///
    /// Nothing brings it back then. Copies that the vault has from earlier runs stay there.
    #[arg(long)]
    no_vault: bool,
    /// Only show what would be deleted
    #[arg(short = 'n', long, conflicts_with = "yes")]
    dry_run: bool,
    /// What to print [default: text on a terminal, json when piped]
    #[arg(long, value_enum)]
    format: Option<SessionsFormat>,
}

pub(crate) fn run(args: &Args, out: &mut Printer) -> Result<CommandExit, Failure> {
    let place = SessionsContext::open(&out.invocation)?;
    let format = SessionsFormat::or_usual(args.format, out.is_terminal);
    let inventory = SessionInventory::read(place.scope_projects(&project_scope(args))?, place.now);
    let going = match removal_plan(args, &inventory) {
        Err(failure) => {
            let refused = of_another_provider(args, &inventory, &place);
            return Err(refused.unwrap_or(failure));
        }
        Ok(going) => going,
    };
    if args.dry_run {
        going.print_preview(format, &place, out)?;
        return Ok(CommandExit::Success);
    }
    if !args.yes && !confirm_deletion(&going, &place)? {
        out.print_note("nothing was deleted")?;
        return Ok(CommandExit::Cancelled);
    }
    going.carry_out(format, &place, out)
}

fn project_scope(args: &Args) -> ProjectScope {
    ProjectScope {
        project: args.project.clone(),
        all: false,
        no_index: true,
    }
}

/// Resolves all names before the first deletion: deletions change the numbers.
fn removal_plan<'i>(
    args: &Args,
    inventory: &'i SessionInventory,
) -> Result<RemovalPlan<'i>, Failure> {
    let mut named = HashSet::new();
    for identifier in &args.sessions {
        named.insert(named_by(inventory, identifier)?);
    }
    let deletions = inventory.deletions(&named);
    Ok(RemovalPlan {
        inventory,
        deletions: deletions
            .into_iter()
            .map(|deletion| (deletion, RemovalReason::Asked))
            .collect(),
        warnings: inventory.listing.warnings.clone(),
        keeps_copies: !args.no_vault,
    })
}

fn confirm_deletion(going: &RemovalPlan<'_>, place: &SessionsContext) -> Result<bool, Failure> {
    if !place.invocation.can_ask() {
        let failure = Failure::usage(anyhow!("cannot ask for confirmation without a terminal"));
        return Err(failure.with_hint("add --yes, or --dry-run to see what would be deleted"));
    }
    going.list_deletions(place, &mut place.invocation.stderr_writer())?;
    Ok(removal::confirm_on_terminal(
        &place.invocation,
        &format!("delete {}?", going.sum_text()),
    )?)
}

/// Only a number or a whole id names a session to delete: `latest` and beginnings of ids do not.
fn named_by(inventory: &SessionInventory, identifier: &str) -> Result<(usize, String), Failure> {
    inventory.named(identifier).map_err(|error| {
        let is_none_like_it = matches!(error, SelectError::Invalid { .. });
        let failure = not_found(error);
        if is_none_like_it {
            let hint = "`lapidary sessions list` shows them: take a number or a whole id";
            return failure.with_hint(hint);
        }
        failure
    })
}

/// The failure to delete a session that no file has and another provider does.
fn of_another_provider(
    args: &Args,
    inventory: &SessionInventory,
    place: &SessionsContext,
) -> Option<Failure> {
    let others = place.other_sessions(&project_scope(args), &inventory.projects);
    let is_meant = |it: &OtherSession<'_>| {
        let id = it.listed.id();
        args.sessions.iter().any(|named| named == id) && inventory.named(id).is_err()
    };
    let session = others.iter().find(is_meant)?;
    let refused = session.capabilities().delete.check(session.listed);
    refused.err().map(unsupported_failure)
}
