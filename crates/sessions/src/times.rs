//! Times as session files have them.

use std::time::SystemTime;

use jiff::Timestamp;
use jiff::civil::Date;

/// A time as the CLI writes them.
pub(crate) fn now_text(now: SystemTime) -> String {
    Timestamp::try_from(now).map_or_else(|_| String::new(), |now| format!("{now:.3}"))
}

/// A time in milliseconds since 1970. A date alone is its midnight, as in JavaScript.
pub(crate) fn epoch_ms(time: &str) -> Option<i64> {
    if let Some(time) = usual_epoch_ms(time.as_bytes()) {
        return Some(time);
    }
    let parsed = time.parse::<Timestamp>().map(Timestamp::as_millisecond);
    let midnight = || {
        let date: Date = time.parse().ok()?;
        let midnight = date.to_zoned(jiff::tz::TimeZone::UTC).ok()?;
        Some(midnight.timestamp().as_millisecond())
    };
    parsed.ok().or_else(midnight)
}

/// Reads a time in the CLI's own format, `2026-11-01T08:00:00.000Z`. Lists read two of each session, and a full parser spends
/// most of its time on parts that are absent here. None for any other format.
fn usual_epoch_ms(time: &[u8]) -> Option<i64> {
    let time: &[u8; 24] = time.try_into().ok()?;
    let signs = [
        (4, b'-'),
        (7, b'-'),
        (10, b'T'),
        (13, b':'),
        (16, b':'),
        (19, b'.'),
        (23, b'Z'),
    ];
    if signs.iter().any(|&(at, sign)| time[at] != sign) {
        return None;
    }
    let number = |from: usize, to: usize| {
        time[from..to].iter().try_fold(0_i64, |number, digit| {
            digit
                .is_ascii_digit()
                .then(|| number * 10 + i64::from(digit - b'0'))
        })
    };
    let (year, month, day) = (number(0, 4)?, number(5, 7)?, number(8, 10)?);
    let (hour, minute, second) = (number(11, 13)?, number(14, 16)?, number(17, 19)?);
    let is_plain = (1970..=9999).contains(&year)
        && (1..=12).contains(&month)
        && (1..=28).contains(&day)
        && hour < 24
        && minute < 60
        && second < 60;
    if !is_plain {
        return None;
    }
    // Days since 1970, with years that begin in March.
    let (year, month) = if month > 2 {
        (year, month - 3)
    } else {
        (year - 1, month + 9)
    };
    let days = year * 365 + year / 4 - year / 100 + year / 400 + (month * 153 + 2) / 5 + day;
    let seconds = ((days - 719_469) * 24 + hour) * 3600 + minute * 60 + second;
    Some(seconds * 1000 + number(20, 23)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    proptest::proptest! {
        #[test]
        fn a_time_as_the_cli_writes_it_is_what_a_full_parser_reads(ms in 0_i64..4_102_444_800_000) {
            let text = format!("{:.3}", Timestamp::from_millisecond(ms).unwrap());
            let is_late = text[8..10].parse::<u32>().unwrap() > 28;
            proptest::prop_assert_eq!(usual_epoch_ms(text.as_bytes()), (!is_late).then_some(ms));
            proptest::prop_assert_eq!(epoch_ms(&text), Some(ms));
        }
    }

    #[test]
    fn other_times_are_left_to_the_full_parser() {
        for other in [
            "2026-11-01T08:00:00Z",
            "2026-11-01T08:00:00.000+",
            "2026-13-01T08:00:00.000Z",
            "2026-11-01T24:00:00.000Z",
            "2026-11-0xT08:00:00.000Z",
        ] {
            assert_eq!(usual_epoch_ms(other.as_bytes()), None, "{other}");
        }
    }
}
