//! Waiting for others, but not for ever.

use std::fs::TryLockError;
use std::io;
use std::thread::sleep;
use std::time::Duration;

/// How long, in this many steps, somebody else may take: ten seconds.
const STEP: Duration = Duration::from_millis(50);
const STEPS: usize = 200;

/// Tries to get a lock until it is ours. False if somebody holds it for too long.
pub(crate) fn wait(mut attempt: impl FnMut() -> Result<(), TryLockError>) -> io::Result<bool> {
    for _ in 0..STEPS {
        match attempt() {
            Ok(()) => return Ok(true),
            Err(TryLockError::WouldBlock) => sleep(STEP),
            Err(TryLockError::Error(error)) => return Err(error),
        }
    }
    Ok(false)
}
