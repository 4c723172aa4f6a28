//! `fleet patch`: the changes of an attempt, as a patch.

use anyhow::anyhow;
use lapidary_fleet::{ArtifactRecord, FleetStore, PATCH_ARTIFACT, RunId, TicketId};

use super::store_option::{StoreOption, block_on, find_ticket, store_failure};
use crate::exit::CommandExit;
use crate::failure::Failure;
use crate::printer::Printer;

/// Print the changes of a ticket as a patch, or another file that it left
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  lapidary fleet patch 1hc8k3x9e2r7m4qz6t0w | git apply --index
  lapidary fleet patch 1hc8k3x9e2r7m4qz6t0w --file commits.bundle > commits.bundle")]
pub(crate) struct Args {
    /// The ticket's id
    #[arg(value_name = "TICKET")]
    ticket: TicketId,
    /// The number of the attempt [default: the last one that left the file]
    #[arg(long, value_name = "N")]
    attempt: Option<u32>,
    /// The file: `lapidary fleet show` lists them
    #[arg(long, value_name = "NAME", default_value = PATCH_ARTIFACT)]
    file: String,
    #[command(flatten)]
    store: StoreOption,
}

pub(crate) fn run(args: &Args, out: &mut Printer) -> Result<CommandExit, Failure> {
    block_on(async {
        let store = args.store.open_existing(&out.invocation).await?;
        let ticket = find_ticket(&*store, &args.ticket).await?;
        let attempts = ticket.attempt_records.iter().rev();
        let attempts = attempts.filter(|it| args.attempt.is_none_or(|number| number == it.number));
        for attempt in attempts {
            let artifacts = store.artifacts(&attempt.run).await.map_err(store_failure)?;
            let Some(artifact) = artifacts.iter().find(|it| it.name == args.file) else {
                continue;
            };
            let mut out = out.foreign_bytes();
            write_artifact(&*store, &attempt.run, artifact, &mut out).await?;
            return Ok(out.finish()?);
        }
        let error = anyhow!(
            "no attempt of ticket `{}` left `{}`",
            args.ticket,
            args.file
        );
        let hint =
            "`lapidary fleet show` lists the files; only tickets with `--repo` leave a patch";
        Err(Failure::bad_input(error).with_hint(hint))
    })?;
    Ok(CommandExit::Success)
}

/// Writes an artifact, part by part.
pub(super) async fn write_artifact(
    store: &dyn FleetStore,
    run: &RunId,
    artifact: &ArtifactRecord,
    out: &mut dyn std::io::Write,
) -> Result<(), Failure> {
    for part in 0..artifact.parts {
        let body = store.artifact_part(run, &artifact.name, part).await;
        let body = body.map_err(store_failure)?;
        let body = body.ok_or_else(|| {
            Failure::internal(anyhow!("part {part} of `{}` is missing", artifact.name))
        })?;
        out.write_all(&body)?;
    }
    Ok(())
}
