//! Moments as people write them: a time, a day, or an age.

use std::time::SystemTime;

use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use lapidary_sessions::RetentionPeriod;

/// The end of a day that a date stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DayEnd {
    /// Its first millisecond.
    First,
    /// Its last millisecond.
    Last,
}

/// A time that was given in no known form.
#[derive(Debug, thiserror::Error)]
#[error("invalid time `{given}`: use a date (`2026-11-01`), an age (`7d`) or `yesterday`")]
pub struct InvalidMoment {
    /// The text.
    given: String,
}

const DAY_MS: i64 = 24 * 60 * 60 * 1000;

/// A moment in milliseconds since 1970. Days are those of UTC, as in session files.
///
/// # Errors
/// The text has no known form.
pub fn parse_moment(given: &str, now: SystemTime, end: DayEnd) -> Result<i64, InvalidMoment> {
    let given = given.trim();
    let found = parse_timestamp(given)
        .or_else(|| parse_day(given, now, end))
        .or_else(|| parse_age(given, now));
    found.ok_or_else(|| InvalidMoment {
        given: given.to_owned(),
    })
}

fn parse_timestamp(given: &str) -> Option<i64> {
    let time: Timestamp = given.parse().ok()?;
    Some(time.as_millisecond())
}

fn parse_day(given: &str, now: SystemTime, end: DayEnd) -> Option<i64> {
    let today = || {
        let now = Timestamp::try_from(now).ok()?;
        Some(TimeZone::UTC.to_datetime(now).date())
    };
    let date: Date = match given {
        "today" => today()?,
        "yesterday" => today()?.yesterday().ok()?,
        given => given.parse().ok()?,
    };
    let midnight = date.to_zoned(TimeZone::UTC).ok()?.timestamp();
    let more = if end == DayEnd::Last { DAY_MS - 1 } else { 0 };
    Some(midnight.as_millisecond() + more)
}

/// In the grammar of the CLI's own settings.
fn parse_age(given: &str, now: SystemTime) -> Option<i64> {
    let period: RetentionPeriod = given.parse().ok()?;
    let then = now.checked_sub(period.duration())?;
    Some(Timestamp::try_from(then).ok()?.as_millisecond())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_days_and_periods_are_understood_and_nothing_else() {
        let now = SystemTime::UNIX_EPOCH + std::time::Duration::from_hours(240);
        let at = |given, end| parse_moment(given, now, end).ok();
        assert_eq!(at("1970-01-02", DayEnd::First), Some(DAY_MS));
        assert_eq!(at("1970-01-02", DayEnd::Last), Some(2 * DAY_MS - 1));
        assert_eq!(at("1970-01-01T01:00:00+01:00", DayEnd::Last), Some(0));
        assert_eq!(at("today", DayEnd::First), Some(10 * DAY_MS));
        assert_eq!(at("yesterday", DayEnd::First), Some(9 * DAY_MS));
        assert_eq!(at("yesterday", DayEnd::Last), Some(10 * DAY_MS - 1));
        assert_eq!(at("7d", DayEnd::Last), Some(3 * DAY_MS));
        assert_eq!(at("1w", DayEnd::First), Some(3 * DAY_MS));
        assert_eq!(at("36h", DayEnd::First), Some(10 * DAY_MS - 36 * 3_600_000));
        for odd in [
            "",
            "d",
            "-1d",
            "+1d",
            "7 d",
            "7é",
            "next week",
            "2026-13-01",
        ] {
            assert_eq!(at(odd, DayEnd::Last), None, "{odd}");
        }
    }
}
