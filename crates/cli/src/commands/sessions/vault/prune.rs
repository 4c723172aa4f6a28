//! `sessions vault prune`: makes the vault smaller.

use std::io::Write as _;
use std::time::Duration;

use lapidary::sessions::RetentionPeriod;
use lapidary::sessions::vault::{PruneRequest, PruneResult};
use lapidary::vocab::line;
use lapidary::vocab::vault::{PrunedContents, VaultReport};

use super::super::common::{SessionsContext, SessionsFormat};
use super::super::progress_note::ProgressNote;
use super::super::size;
use super::{counted_noun, empty_report, open_vault, vault_failure};
use crate::exit::CommandExit;
use crate::failure::Failure;
use crate::printer::Printer;

/// Remove copies from the vault that are not needed
///
/// A copy with which a newer copy of the same session begins is always removed: it can still be restored, from the newer one. By age or size others are removed, the oldest first, but never the newest copy of a session, nor its newest that can be resumed. Shows what it would remove, and removes it only with --apply.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  lapidary sessions vault prune
  lapidary sessions vault prune --older-than 90d --apply
  lapidary sessions vault prune --max-size 2GB --apply

A period is a number and one of h (hours), d (days), w (weeks) and m (months of 30 days). A size is a number and one of B, kB, MB, GB and TB.")]
pub(crate) struct Args {
    /// Remove copies that no snapshot of this period has
    #[arg(long, value_name = "PERIOD", value_parser = parse_period)]
    older_than: Option<Duration>,
    /// Remove the oldest copies until no more than this is left
    #[arg(long, value_name = "SIZE", value_parser = parse_bytes)]
    max_size: Option<u64>,
    /// Really remove them
    #[arg(long, visible_alias = "yes", short_alias = 'y')]
    apply: bool,
    /// What to print [default: text on a terminal, json when piped]
    #[arg(long, value_enum)]
    format: Option<SessionsFormat>,
}

pub(crate) fn run(args: &Args, out: &mut Printer) -> Result<CommandExit, Failure> {
    let place = SessionsContext::open(&out.invocation)?;
    let vault = open_vault(&place)?;
    let patience = ProgressNote::start_note("comparing copies", &out.invocation);
    // A vault that cannot be read is not an empty one.
    vault.log().map_err(vault_failure)?;
    let request = PruneRequest {
        older_than: args.older_than,
        max_bytes: args.max_size,
        dry_run: !args.apply,
        now: place.now,
    };
    let pruned = vault.prune(&request).map_err(vault_failure)?;
    drop(patience);
    let warnings: Vec<_> = pruned
        .unreadable
        .iter()
        .map(|path| {
            let path = path.display();
            format!(
                "nothing can go while the snapshot `{path}` cannot be read: it may name anything"
            )
        })
        .collect();
    match SessionsFormat::or_usual(args.format, out.is_terminal) {
        SessionsFormat::Json => {
            let done = VaultReport {
                applied: args.apply && warnings.is_empty(),
                pruned: Some(pruned_contents(&pruned)),
                warnings: warnings.clone(),
                ..empty_report(&vault, "prune")
            };
            line::write(out, &done)?;
        }
        SessionsFormat::Text => print_text(args, &pruned, &warnings, out)?,
    }
    Ok(if args.apply && !warnings.is_empty() {
        CommandExit::Internal
    } else {
        CommandExit::Success
    })
}

fn pruned_contents(pruned: &PruneResult) -> PrunedContents {
    PrunedContents {
        contained: pruned.contained as u64,
        dropped: pruned.dropped as u64,
        unreferenced: pruned.unreferenced as u64,
        snapshots: pruned.snapshots as u64,
        freed: pruned.freed,
        left: pruned.left,
    }
}

fn print_text(
    args: &Args,
    pruned: &PruneResult,
    warnings: &[String],
    out: &mut Printer,
) -> Result<(), Failure> {
    for warning in warnings {
        out.print_message(&format!("warning: {warning}"));
    }
    let rows = [
        (
            pruned.contained,
            "that a newer copy begins with, and that can still be restored",
        ),
        (pruned.dropped, "too old or too many"),
        (pruned.unreferenced, "that no snapshot names"),
    ];
    for (count, why) in rows.into_iter().filter(|row| row.0 > 0) {
        writeln!(out, "{count:>6}  {why}")?;
    }
    if pruned.snapshots > 0 {
        let snapshots = counted_noun(pruned.snapshots, "snapshot");
        writeln!(out, "        and {snapshots} of which nothing is left")?;
    }
    let (freed, left) = (
        size::short_size(pruned.freed),
        size::short_size(pruned.left),
    );
    let (goes, stays) = if args.apply {
        ("freed", "is left")
    } else {
        ("would be freed", "would be left")
    };
    writeln!(out, "{freed} {goes}, {left} {stays}")?;
    let is_something = pruned.freed > 0 || pruned.snapshots > 0;
    if !args.apply && is_something {
        out.print_note("nothing was removed; --apply removes it")?;
    }
    Ok(())
}

fn parse_period(text: &str) -> Result<Duration, String> {
    let period = text.parse::<RetentionPeriod>();
    period
        .map(RetentionPeriod::duration)
        .map_err(|error| error.to_string())
}

/// A number of bytes: `2GB`, `1.5 GB`, `500 MiB`, `1000`.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "it is not negative, and saturates"
)]
pub(super) fn parse_bytes(text: &str) -> Result<u64, String> {
    let digits = text.find(|c: char| !c.is_ascii_digit() && c != '.');
    let (number, unit) = text.split_at(digits.unwrap_or(text.len()));
    let factor = match unit.trim().to_ascii_lowercase().as_str() {
        "" | "b" => 1.0,
        "k" | "kb" => 1e3,
        "m" | "mb" => 1e6,
        "g" | "gb" => 1e9,
        "t" | "tb" => 1e12,
        "kib" => 1024.0,
        "mib" => 1024.0 * 1024.0,
        "gib" => 1024.0 * 1024.0 * 1024.0,
        "tib" => 1024.0 * 1024.0 * 1024.0 * 1024.0,
        _ => return Err("a size is wanted, such as 2GB".to_owned()),
    };
    let number: f64 = number
        .parse()
        .map_err(|_| "a size is wanted, such as 2GB".to_owned())?;
    Ok((number * factor) as u64)
}

#[cfg(test)]
mod tests {
    use super::parse_bytes;

    #[test]
    fn a_size_is_a_number_and_a_unit() {
        assert_eq!(parse_bytes("2GB"), Ok(2_000_000_000));
        assert_eq!(parse_bytes("1.5 kB"), Ok(1500));
        assert_eq!(parse_bytes("1 MiB"), Ok(1 << 20));
        assert_eq!(parse_bytes("0"), Ok(0));
        for bad in ["", "GB", "-1GB", "1 YB", "1..2GB", "2 GB x", "é"] {
            assert!(parse_bytes(bad).is_err(), "{bad}");
        }
    }
}
