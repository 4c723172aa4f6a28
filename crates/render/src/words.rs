//! Numbers, times and lengths in words.

use std::time::Duration;

use jiff::Timestamp;

/// A whole number with thousands set apart: `1,234,567`.
pub(crate) fn grouped_number(value: u64) -> String {
    let digits = value.to_string();
    let mut text = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A count and its noun: `1 line`, `2 lines`.
pub(crate) fn counted_noun(value: u64, noun: &str) -> String {
    let plural = if value == 1 { "" } else { "s" };
    format!("{} {noun}{plural}", grouped_number(value))
}

/// Pieces one after the other.
pub(crate) fn joined_pieces(pieces: impl IntoIterator<Item = String>) -> String {
    pieces
        .into_iter()
        .fold(String::new(), |text, piece| text + &piece)
}

/// A length of time as people say it: `35 ms`, `0.6 s`, `12 s`, `2 min 5 s`, `1 h 3 min`.
pub(crate) fn spoken_duration(millis: u64) -> String {
    let seconds = (millis + 500) / 1000;
    match millis {
        0..100 => format!("{millis} ms"),
        100..9950 => format!("{}.{} s", (millis + 50) / 1000, (millis + 50) % 1000 / 100),
        9950..59_500 => format!("{seconds} s"),
        59_500..3_599_500 => two_units(seconds, 60, "min", "s"),
        _ => two_units((seconds + 30) / 60, 60, "h", "min"),
    }
}

/// A time that is running, in whole seconds: `0 s`, `12 s`, `2 min 5 s`.
pub(crate) fn running_clock(running: Duration) -> String {
    match running.as_secs() {
        seconds @ 0..10 => format!("{seconds} s"),
        seconds => spoken_duration(seconds.saturating_mul(1000)),
    }
}

fn two_units(value: u64, per: u64, large: &str, small: &str) -> String {
    match value % per {
        0 => format!("{} {large}", value / per),
        rest => format!("{} {large} {rest} {small}", value / per),
    }
}

/// The time between two timestamps, if both can be read and the second is later.
pub(crate) fn millis_between(from: &str, to: &str) -> Option<u64> {
    let (from, to): (Timestamp, Timestamp) = (from.parse().ok()?, to.parse().ok()?);
    u64::try_from(to.as_millisecond() - from.as_millisecond())
        .ok()
        .filter(|millis| *millis > 0)
}

/// A timestamp for people, in UTC: `15 November 2026, 18:15 UTC`. One that cannot be read stays as it is.
pub(crate) fn spoken_moment(timestamp: &str) -> String {
    match timestamp.parse::<Timestamp>() {
        Ok(time) => time.strftime("%-d %B %Y, %H:%M UTC").to_string(),
        Err(_) => crate::plain::first_line(timestamp, 40),
    }
}

/// The time of day in UTC, with the day unless `shown` is on the same one. None if it is no timestamp.
pub(crate) fn time_after(timestamp: &str, shown: Option<&str>) -> Option<String> {
    let today = spoken_day(timestamp)?;
    if shown.and_then(spoken_day) == Some(today) {
        return Some(format!("{} UTC", time_of_day(timestamp)?));
    }
    Some(spoken_moment(timestamp))
}

/// The day in UTC of a timestamp that can be read: `Sunday, 15 November 2026`.
pub(crate) fn spoken_day(timestamp: &str) -> Option<String> {
    let time: Timestamp = timestamp.parse().ok()?;
    Some(time.strftime("%A, %-d %B %Y").to_string())
}

/// A thought without the marks around a title that is empty: Gemini CLI writes `**title**` above it, session files `title: ` before it.
pub(crate) fn without_empty_title(thought: &str) -> &str {
    let rest = thought
        .strip_prefix("****\n")
        .or_else(|| thought.strip_prefix(": "));
    rest.unwrap_or(thought)
}

/// A sentence's beginning.
pub(crate) fn capitalised_text(text: &str) -> String {
    let mut chars = text.chars();
    let first = chars.next().map(char::to_uppercase);
    first.into_iter().flatten().chain(chars).collect()
}

/// Money: cents, or four decimals for less than a cent.
pub(crate) fn dollar_amount(amount: f64) -> String {
    if amount > 0.0 && amount < 0.01 {
        format!("${amount:.4}")
    } else {
        format!("${amount:.2}")
    }
}

/// The same of an estimate: one that is not zero is not shown as zero.
pub(crate) fn least_dollars(amount: f64) -> String {
    let least = if amount > 0.0 { 0.0001 } else { 0.0 };
    dollar_amount(amount.max(least))
}

/// The time of day in UTC, `18:15`, of a timestamp that can be read.
pub(crate) fn time_of_day(timestamp: &str) -> Option<String> {
    let time: Timestamp = timestamp.parse().ok()?;
    Some(time.strftime("%H:%M").to_string())
}

/// Input that no person typed in this run, as one line: the agent's own context, or input of an earlier run that the agent repeats.
/// At most `limit` characters of it are shown.
pub(crate) fn folded_input(text: &str, is_replayed: bool, limit: usize) -> String {
    let lines = counted_noun(text.lines().count() as u64, "line");
    let what = if is_replayed { "earlier" } else { "context" };
    format!(
        "> ({what}, {lines}) {}",
        crate::plain::first_line(text, limit)
    )
}

/// Day and time in UTC, short enough for a list: `15 Nov, 18:15`.
pub(crate) fn day_and_time(timestamp: &str) -> Option<String> {
    let time: Timestamp = timestamp.parse().ok()?;
    Some(time.strftime("%-d %b, %H:%M").to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_durations_read_well() {
        assert_eq!(grouped_number(0), "0");
        assert_eq!(grouped_number(1_234_567), "1,234,567");
        assert_eq!(counted_noun(1, "tool call"), "1 tool call");
        for (millis, expected) in [
            (35, "35 ms"),
            (566, "0.6 s"),
            (960, "1.0 s"),
            (1260, "1.3 s"),
            (12_400, "12 s"),
            (60_000, "1 min"),
            (125_000, "2 min 5 s"),
            (3_780_000, "1 h 3 min"),
        ] {
            assert_eq!(spoken_duration(millis), expected);
        }
    }

    #[test]
    fn times_are_read_or_left_alone() {
        assert_eq!(
            spoken_moment("2026-11-15T18:15:22.327Z"),
            "15 November 2026, 18:15 UTC"
        );
        assert_eq!(spoken_moment("yesterday"), "yesterday");
        assert_eq!(
            millis_between("2026-11-15T18:15:22.899Z", "2026-11-15T18:15:23.465Z"),
            Some(566)
        );
        assert_eq!(
            millis_between("2026-11-15T18:15:22Z", "2026-11-15T18:15:22Z"),
            None
        );
        assert_eq!(millis_between("then", "now"), None);
    }
}
