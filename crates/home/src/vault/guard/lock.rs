//! Waiting for others, but not for ever.

use std::fs::{File, TryLockError};
use std::io;
use std::thread::sleep;
use std::time::Duration;

use super::{Action, Did};
use crate::vault::error::At as _;
use crate::vault::{Vault, VaultError};

/// How long somebody else may take.
pub(in crate::vault) const PATIENCE: Duration = Duration::from_secs(10);

const STEP: Duration = Duration::from_millis(50);

/// Tries to get a lock until it is ours. False if somebody holds it for too long.
pub(in crate::vault) fn wait(
    patience: Duration,
    mut attempt: impl FnMut() -> Result<(), TryLockError>,
) -> io::Result<bool> {
    let mut left = patience;
    loop {
        match attempt() {
            Ok(()) => return Ok(true),
            Err(TryLockError::WouldBlock) => {}
            Err(TryLockError::Error(error)) => return Err(error),
        }
        let Some(less) = left.checked_sub(STEP) else {
            return Ok(false);
        };
        left = less;
        sleep(STEP);
    }
}

/// Held by who changes session files. Whoever holds it for too long may be stopped: then it is done without.
pub(super) fn repairs(vault: &Vault) -> Result<(File, Option<Action>), VaultError> {
    vault.make()?;
    let path = vault.dir.join("repair.lock");
    let file = File::create(&path).at("open", &path)?;
    if wait(vault.patience, || file.try_lock()).at("lock", &path)? {
        return Ok((file, None));
    }
    let warning = Action {
        did: Did::Warned,
        session_id: None,
        sentence: format!(
            "`{}` is held by another process for long; sessions are looked after without waiting for it.",
            path.display()
        ),
        path,
    };
    Ok((file, Some(warning)))
}
