//! Work instead of time: a clock only tells how busy the machine is.

use std::time::Duration;

use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeValLike as _;

/// How much larger the large input of [`assert_linear`] is.
const TIMES: usize = 8;

/// Runs of each size; the least counts, since other programs only ever add to the time of a run.
const RUNS: usize = 5;

/// The CPU time that this thread has used so far.
///
/// # Panics
/// If the kernel does not say.
pub fn cpu_time() -> Duration {
    let used = getrusage(UsageWho::RUSAGE_THREAD).expect("the kernel keeps accounts");
    let sum = used.user_time() + used.system_time();
    Duration::from_micros(sum.num_microseconds().try_into().unwrap_or_default())
}

/// The CPU time that this thread spends in a function.
pub fn cost<T>(work: impl FnOnce() -> T) -> Duration {
    let before = cpu_time();
    drop(work());
    cpu_time().saturating_sub(before)
}

/// Asserts that the cost of work grows with its input and no faster. `cost_of` makes an input of a size and returns what [`cost`]
/// says of the work alone. Eight times the input may cost three times eight as much: quadratic work costs sixty-four times as much.
///
/// # Panics
/// If the cost grows faster than that.
#[track_caller]
pub fn assert_linear(size: usize, cost_of: impl Fn(usize) -> Duration) {
    // Less than this is noise: caches, page faults, and kernels that count CPU time in ticks of some milliseconds.
    const LEAST: Duration = Duration::from_millis(10);
    let least = |size: usize| (0..RUNS).map(|_| cost_of(size)).min().unwrap_or_default();
    let (small, large) = (least(size).max(LEAST), least(TIMES * size));
    assert!(
        large < small * 24,
        "{size}: {small:?}, {TIMES} times as much: {large:?}"
    );
}

#[cfg(test)]
mod tests {
    use std::hint::black_box;

    use super::*;

    fn compare(count: usize) -> Duration {
        let items: Vec<usize> = (0..count).collect();
        cost(|| {
            let earlier = |at: usize| {
                items[..at]
                    .iter()
                    .filter(|it| **black_box(it) == at)
                    .count()
            };
            (0..items.len()).map(earlier).sum::<usize>()
        })
    }

    #[test]
    fn linear_work_passes_the_check() {
        assert_linear(200_000, |count| {
            cost(|| (0..count).map(black_box).sum::<usize>())
        });
    }

    #[test]
    #[should_panic(expected = "8 times as much")]
    fn quadratic_work_fails_the_check() {
        assert_linear(2_000, compare);
    }
}
