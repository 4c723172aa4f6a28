//! Waiting for others, but not for ever.

use std::fs::TryLockError;
use std::io;
use std::thread::sleep;
use std::time::Duration;

/// How long another process may hold a lock.
pub const PATIENCE: Duration = Duration::from_secs(10);

const STEP: Duration = Duration::from_millis(50);

/// Tries to get a lock until it is ours. False if another process holds it for too long.
pub fn wait(
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_that_is_held_for_too_long_is_given_up() {
        let attempts = |free_at: usize| {
            let mut count = 0;
            let got = wait(2 * STEP, || {
                count += 1;
                if count == free_at {
                    Ok(())
                } else {
                    Err(TryLockError::WouldBlock)
                }
            });
            (got.unwrap(), count)
        };
        assert_eq!(attempts(1), (true, 1));
        assert_eq!(attempts(3), (true, 3));
        assert_eq!(attempts(4), (false, 3));
        let broken = wait(STEP, || {
            Err(TryLockError::Error(io::ErrorKind::Other.into()))
        });
        assert!(broken.is_err());
    }
}
