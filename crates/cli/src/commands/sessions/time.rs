//! Moments as people name them.

use std::time::SystemTime;

use anyhow::anyhow;
use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use lapidary::home::sessions::Period;

use crate::failure::Failure;

/// Which end of a day is meant by a day.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    Beginning,
    End,
}

const DAY_MS: i64 = 24 * 60 * 60 * 1000;

/// A moment in milliseconds since 1970: a time, a date (in UTC, as session files have it), or how long ago.
pub(super) fn moment(given: &str, now: SystemTime, end: End) -> Result<i64, Failure> {
    let given = given.trim();
    let found = time(given)
        .or_else(|| day(given, end))
        .or_else(|| ago(given, now));
    found.ok_or_else(|| {
        let failure = Failure::usage(anyhow!("`{given}` is no time"));
        failure.with_hint("say 2026-11-16, 2026-11-16T08:00:00Z, or how long ago: 12h, 7d, 4w, 6m")
    })
}

fn time(given: &str) -> Option<i64> {
    let time: Timestamp = given.parse().ok()?;
    Some(time.as_millisecond())
}

fn day(given: &str, end: End) -> Option<i64> {
    let date: Date = given.parse().ok()?;
    let midnight = date.to_zoned(TimeZone::UTC).ok()?.timestamp();
    let more = if end == End::End { DAY_MS - 1 } else { 0 };
    Some(midnight.as_millisecond() + more)
}

/// In the grammar of the CLI's own settings.
fn ago(given: &str, now: SystemTime) -> Option<i64> {
    let period: Period = given.parse().ok()?;
    let then = now.checked_sub(period.duration())?;
    Some(Timestamp::try_from(then).ok()?.as_millisecond())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_days_and_periods_are_understood_and_nothing_else() {
        let now = SystemTime::UNIX_EPOCH + std::time::Duration::from_hours(240);
        let at = |given, end| moment(given, now, end).ok();
        assert_eq!(at("1970-01-02", End::Beginning), Some(DAY_MS));
        assert_eq!(at("1970-01-02", End::End), Some(2 * DAY_MS - 1));
        assert_eq!(at("1970-01-01T01:00:00+01:00", End::End), Some(0));
        assert_eq!(at("7d", End::End), Some(3 * DAY_MS));
        assert_eq!(at("1w", End::Beginning), Some(3 * DAY_MS));
        assert_eq!(
            at("36h", End::Beginning),
            Some(10 * DAY_MS - 36 * 3_600_000)
        );
        for odd in [
            "",
            "d",
            "-1d",
            "+1d",
            "7 d",
            "7é",
            "yesterday",
            "2026-13-01",
        ] {
            assert_eq!(at(odd, End::End), None, "{odd}");
        }
    }
}
