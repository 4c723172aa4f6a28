//! Waiting for others, but not for ever.

use std::fs::File;

use super::{GuardAction, RepairKind};
use crate::vault::error::ErrorContext as _;
use crate::vault::{Vault, VaultError};

pub(in crate::vault) use lapidary_gemini::lock::{PATIENCE, wait};

/// Takes the lock for changing session files. A process that holds it for too long may be stopped: then the caller continues
/// without it.
pub(super) fn lock_repairs(vault: &Vault) -> Result<(File, Option<GuardAction>), VaultError> {
    vault.make_directories()?;
    let path = vault.dir.join("repair.lock");
    let file = File::create(&path).at("open", &path)?;
    if wait(vault.patience, || file.try_lock()).at("lock", &path)? {
        return Ok((file, None));
    }
    let warning = GuardAction {
        did: RepairKind::Warned,
        session_id: None,
        sentence: format!(
            "`{}` is held by another process for long; sessions are looked after without waiting for it.",
            path.display()
        ),
        path,
    };
    Ok((file, Some(warning)))
}
