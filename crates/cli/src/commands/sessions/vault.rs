//! `sessions vault`: copies of sessions that no agent touches.

mod add;
pub(super) mod agents;
mod log;
mod prune;
mod restore;
mod systemd;
mod verify;
mod watch;

use lapidary::sessions::SessionInfo;
use lapidary::sessions::vault::{Snapshot, SnapshotEntry, Vault, VaultError};
use lapidary::vocab::vault::{VAULT_SCHEMA, VaultFile, VaultReport, VaultSession, VaultSnapshot};

use super::common::SessionsContext;
use crate::exit::CommandExit;
use crate::failure::Failure;
use crate::printer::Printer;
use lapidary::prepare;

/// Keep copies of sessions, look through them, bring them back
///
/// Gemini CLI 0.61 loses conversations that it resumes. The commands that start it (`run`, `connect`, `record`, `sessions resume`) copy the project's sessions into the vault before, and put missing ones back after. Sessions of Claude Code, Codex CLI and Qwen Code are copied around their runs, too, and by `add --agent all`. A copy in the vault is never changed, and `prune` never removes the last copy of a session.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  lapidary sessions vault add --all
  lapidary sessions vault add --agent all --watch
  lapidary sessions vault log
  lapidary sessions vault log --session 4f1c2b3a
  lapidary sessions vault restore 4f1c2b3a
  lapidary sessions vault verify

The vault is in `$XDG_STATE_HOME/lapidary/vault`, or where LAPIDARY_STATE_DIR says.")]
pub(crate) struct Args {
    #[command(subcommand)]
    verb: VaultVerb,
}

#[derive(Debug, clap::Subcommand)]
enum VaultVerb {
    Add(add::Args),
    Log(log::Args),
    Verify(verify::Args),
    Restore(restore::Args),
    Prune(prune::Args),
}

pub(crate) fn run(args: &Args, out: &mut Printer) -> Result<CommandExit, Failure> {
    match &args.verb {
        VaultVerb::Add(args) => add::run(args, out),
        VaultVerb::Log(args) => log::run(args, out),
        VaultVerb::Verify(args) => verify::run(args, out),
        VaultVerb::Restore(args) => restore::run(args, out),
        VaultVerb::Prune(args) => prune::run(args, out),
    }
}

/// The vault that is ours.
pub(super) fn open_vault(place: &SessionsContext) -> Result<Vault, Failure> {
    Ok(Vault::open(prepare::vault_in(&place.environment)?))
}

/// A missing session or snapshot was named wrongly; all other errors are faults of the vault or of the disk.
pub(super) fn vault_failure(error: VaultError) -> Failure {
    match error {
        VaultError::NoSession(_) | VaultError::NoSnapshot(_) | VaultError::Ambiguous(_) => {
            let hint = "`lapidary sessions vault log --all` shows what is there";
            Failure::bad_input(error).with_hint(hint)
        }
        VaultError::Missing { .. } | VaultError::Corrupt { .. } => {
            let hint = "`lapidary sessions vault verify` says what else is damaged; an older snapshot may have what is needed";
            Failure::internal(error).with_hint(hint)
        }
        _ => Failure::internal(error),
    }
}

/// A report that says nothing yet.
fn empty_report(vault: &Vault, verb: &str) -> VaultReport {
    VaultReport {
        schema: VAULT_SCHEMA.to_owned(),
        vault: vault.dir().to_string_lossy().into_owned(),
        verb: verb.to_owned(),
        applied: true,
        snapshots: Vec::new(),
        only_in_vault: Vec::new(),
        restored: Vec::new(),
        soundness: None,
        pruned: None,
        warnings: Vec::new(),
    }
}

/// A session that is in the vault only, for programs.
pub(super) fn vault_session(info: SessionInfo) -> VaultSession {
    VaultSession {
        session_id: info.id,
        display_name: info.display_name,
        last_updated: info.last_updated,
        project_id: info.project_id,
        provider: None,
        path: None,
        last_seen: None,
        missing_since: None,
    }
}

fn published_snapshot(snapshot: &Snapshot) -> VaultSnapshot {
    VaultSnapshot {
        id: snapshot.id.clone(),
        time: snapshot.time.clone(),
        reason: snapshot.reason.clone(),
        project: snapshot.project.clone(),
        files: snapshot.files.iter().map(published_file).collect(),
    }
}

fn published_file(entry: &SnapshotEntry) -> VaultFile {
    VaultFile {
        path: entry.path.clone(),
        size: entry.size,
        mtime: entry.mtime.clone(),
        sha256: entry.sha256.clone(),
        session_id: entry.session_id.clone(),
        listed: entry.listed,
    }
}

/// `1 file`, `2 files`.
pub(super) fn counted_noun(count: usize, what: &str) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{count} {what}{plural}")
}
