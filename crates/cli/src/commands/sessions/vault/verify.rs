//! `sessions vault verify`: checks the contents of the vault against their hashes.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write as _;

use lapidary::render::plain::sanitize;
use lapidary::sessions::vault::{SnapshotHistory, VaultVerdict};
use lapidary::vocab::line;
use lapidary::vocab::vault::{DamagedContent, Soundness, VaultReport};

use super::super::common::{SessionsContext, SessionsFormat};
use super::super::progress_note::ProgressNote;
use super::super::size;
use super::{counted_noun, empty_report, open_vault, vault_failure};
use crate::exit::CommandExit;
use crate::failure::Failure;
use crate::printer::Printer;

/// Read every copy in the vault and compare it with its hash
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  lapidary sessions vault verify
  lapidary sessions vault verify --format json | jq .soundness.sound

Exits with 1 if anything is damaged, missing or unreadable.")]
pub(crate) struct Args {
    /// What to print [default: text on a terminal, json when piped]
    #[arg(long, value_enum)]
    format: Option<SessionsFormat>,
}

pub(crate) fn run(args: &Args, out: &mut Printer) -> Result<CommandExit, Failure> {
    let place = SessionsContext::open(&out.invocation)?;
    let vault = open_vault(&place)?;
    let patience = ProgressNote::start_note("reading every copy in the vault", &out.invocation);
    let history = vault.log().map_err(vault_failure)?;
    let verdict = vault.verify().map_err(vault_failure)?;
    drop(patience);
    let soundness = vault_soundness(&verdict, &history);
    let is_sound = soundness.sound;
    match SessionsFormat::or_usual(args.format, out.is_terminal) {
        SessionsFormat::Json => {
            let found = VaultReport {
                soundness: Some(soundness),
                ..empty_report(&vault, "verify")
            };
            line::write(out, &found)?;
        }
        SessionsFormat::Text => print_text(&soundness, out)?,
    }
    Ok(if is_sound {
        CommandExit::Success
    } else {
        CommandExit::Internal
    })
}

fn vault_soundness(verdict: &VaultVerdict, history: &SnapshotHistory) -> Soundness {
    let mut damaged: BTreeMap<&str, bool> = BTreeMap::new();
    damaged.extend(verdict.corrupt.iter().map(|name| (name.as_str(), false)));
    damaged.extend(verdict.missing.iter().map(|name| (name.as_str(), true)));
    Soundness {
        sound: verdict.is_sound(),
        snapshots: verdict.snapshots as u64,
        contents: verdict.sound as u64,
        bytes: verdict.bytes,
        damaged: damaged
            .into_iter()
            .map(|(name, missing)| damaged_content(name, missing, history))
            .collect(),
        unreadable: verdict
            .unreadable
            .iter()
            .map(|path| path.to_string_lossy().into_owned())
            .collect(),
        unreferenced: verdict.unreferenced.len() as u64,
    }
}

/// Which files are lost with a content.
fn damaged_content(sha256: &str, missing: bool, history: &SnapshotHistory) -> DamagedContent {
    let mut files = BTreeSet::new();
    let mut session_ids = BTreeSet::new();
    for snapshot in &history.snapshots {
        for entry in &snapshot.files {
            if entry.sha256 == sha256 || entry.within.as_deref() == Some(sha256) {
                files.insert(format!("{}/{}", snapshot.project, entry.path));
                session_ids.extend(entry.session_id.clone());
            }
        }
    }
    DamagedContent {
        sha256: sha256.to_owned(),
        missing,
        files: files.into_iter().collect(),
        session_ids: session_ids.into_iter().collect(),
    }
}

fn print_text(found: &Soundness, out: &mut Printer) -> Result<(), Failure> {
    for content in &found.damaged {
        let what = if content.missing {
            "is missing"
        } else {
            "is damaged"
        };
        writeln!(out, "the copy {} {what}:", content.sha256)?;
        for file in &content.files {
            writeln!(out, "  {}", sanitize(file))?;
        }
        for id in &content.session_ids {
            writeln!(out, "  of session {}", sanitize(id))?;
        }
    }
    for path in &found.unreadable {
        writeln!(out, "the snapshot {} cannot be read", sanitize(path))?;
    }
    let count = |count: u64| usize::try_from(count).unwrap_or(usize::MAX);
    let contents = match found.contents {
        1 => "1 copy".to_owned(),
        number => format!("{number} copies"),
    };
    let snapshots = counted_noun(count(found.snapshots), "snapshot");
    let size = size::short_size(found.bytes);
    writeln!(out, "sound: {contents} in {snapshots}, {size}")?;
    if found.sound {
        return Ok(());
    }
    out.print_note("not all of the vault is sound: `lapidary sessions vault log --session ID` shows what else it has of a session; `lapidary sessions vault add` copies what is still in its place once more")?;
    Ok(())
}
