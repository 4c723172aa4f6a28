//! Waiting in tests for a condition, however busy the machine is.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// Ends a test that waits in vain. It says nothing about speed: it is longer than any wait on a busy machine, and shorter than a
/// developer waits for a test run that hangs.
pub const HANG: Duration = Duration::from_mins(5);

/// The longest deadline in seconds that [`again_with_more_time`] tries: what fails then does not fail for want of time.
const LONGEST_DEADLINE: f64 = 16.0;

/// Waits until a condition holds.
///
/// # Panics
/// If it never is.
#[track_caller]
pub fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    let started = Instant::now();
    while !is_so() {
        assert!(started.elapsed() < HANG, "never: {what}");
        sleep(Duration::from_millis(2));
    }
}

/// Tries an action with a deadline that has to be long enough for the steps before it and short enough for the test: with twice the
/// time whenever `attempt` says that the machine was too busy, by returning nothing.
///
/// # Panics
/// If no time is long enough.
#[track_caller]
pub fn with_enough_time<T>(seconds: f64, attempt: impl FnMut(f64) -> Option<T>) -> T {
    let times = std::iter::successors(Some(seconds), |seconds| Some(seconds * 2.0));
    let mut times = times.take_while(|seconds| *seconds < HANG.as_secs_f64());
    let found = times.find_map(attempt);
    found.expect("some time is long enough")
}

/// The same for an attempt that panics when the machine was too busy: the last panic counts.
pub fn again_with_more_time(seconds: f64, attempt: impl Fn(f64)) {
    let tried = catch_unwind(AssertUnwindSafe(|| attempt(seconds)));
    match tried {
        Ok(()) => {}
        Err(panic) if seconds >= LONGEST_DEADLINE => resume_unwind(panic),
        Err(_) => again_with_more_time(seconds * 2.0, attempt),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failed_attempt_is_repeated_with_twice_the_time() {
        let tried = std::cell::RefCell::new(Vec::new());
        again_with_more_time(0.5, |seconds| {
            tried.borrow_mut().push(seconds);
            assert!(seconds > 1.5);
        });
        assert_eq!(tried.into_inner(), [0.5, 1.0, 2.0]);
    }

    #[test]
    #[should_panic(expected = "never")]
    fn an_attempt_that_always_fails_fails() {
        again_with_more_time(1.0, |_| panic!("never"));
    }

    #[test]
    fn time_is_doubled_until_it_is_enough() {
        let mut tried = Vec::new();
        let found = with_enough_time(0.5, |seconds| {
            tried.push(seconds);
            (seconds > 1.5).then_some("here")
        });
        assert_eq!((found, tried), ("here", vec![0.5, 1.0, 2.0]));
    }
}
