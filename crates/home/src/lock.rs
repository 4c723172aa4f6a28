//! Waiting for others, but not for ever.

use std::fs::TryLockError;
use std::io;
use std::thread::sleep;
use std::time::Duration;

/// How long somebody else may take.
pub(crate) const PATIENCE: Duration = Duration::from_secs(10);

const STEP: Duration = Duration::from_millis(50);

/// Tries to get a lock until it is ours. False if somebody holds it for too long.
pub(crate) fn wait(
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
