//! Resolves the name of a session that need not be in the list: it may be hidden, or in the vault only.

use std::collections::BTreeSet;

use anyhow::anyhow;
use lapidary::sessions::vault::SnapshotHistory;
use lapidary::sessions::{SelectError, SelectionMode, SessionListing, is_id_prefix, select};

use crate::failure::Failure;

/// The ids of all sessions in the vault.
pub(super) fn kept_ids(history: &SnapshotHistory) -> BTreeSet<&str> {
    let files = history.snapshots.iter().flat_map(|it| &it.files);
    files
        .filter_map(|file| file.session_id.as_deref())
        .collect()
}

/// The whole id of a session: as `select` has it, or that of a hidden file, or one that only the vault knows.
pub(super) fn whole_id(
    named: &str,
    listing: &SessionListing,
    kept: &BTreeSet<&str>,
) -> Result<String, Failure> {
    let hidden = listing.hidden.iter();
    let mut others: BTreeSet<&str> = hidden.filter_map(|it| it.session_id.as_deref()).collect();
    others.extend(kept);
    if others.contains(named) {
        return Ok(named.to_owned());
    }
    let error = match select(listing, named, SelectionMode::Generous) {
        Ok(found) => return Ok(found.id().to_owned()),
        Err(error @ SelectError::Ambiguous { .. }) => return Err(not_found(error)),
        Err(error) => error,
    };
    match beginning_with(named, &others)?.as_slice() {
        [only] => Ok((*only).to_owned()),
        _ => Err(not_found(error)),
    }
}

/// The one id that begins so, or none; several are an error.
pub(super) fn beginning_with<'i>(
    named: &str,
    ids: &BTreeSet<&'i str>,
) -> Result<Vec<&'i str>, Failure> {
    let is_prefix = is_id_prefix(named);
    let begins = ids.iter().filter(|id| is_prefix && id.starts_with(named));
    let begins: Vec<&str> = begins.copied().collect();
    if begins.len() < 2 {
        return Ok(begins);
    }
    let count = begins.len();
    let error = anyhow!(
        "{count} sessions begin with `{named}`: {}",
        begins.join(", ")
    );
    Err(Failure::bad_input(error).with_hint("write more of the id"))
}

/// The failure of a name that no session has, with a hint.
#[expect(clippy::needless_pass_by_value, reason = "`map_err` hands it over")]
pub(super) fn not_found(error: SelectError) -> Failure {
    let hint = match &error {
        SelectError::NoSessions => "`lapidary sessions list --all` shows those of other projects",
        SelectError::NotWhole { .. } => {
            "give the whole id, or the number in `lapidary sessions list`"
        }
        SelectError::Ambiguous { .. } => "write more of the id",
        _ => {
            "`lapidary sessions list` prints numbers and ids, and `--all` finds those of other projects; the beginning of an id is enough, except to delete"
        }
    };
    let code = error.code();
    Failure::bad_input(anyhow!("{error} ({code})")).with_hint(hint)
}
