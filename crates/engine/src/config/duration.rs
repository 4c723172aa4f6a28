//! Durations as people write them: `500ms`, `30s`, `5m`, `1h30m`, `2d`.

use std::time::Duration;

/// The units and their seconds. `m` is minutes; dates and ages of sessions have a grammar of their own.
const UNITS: [(&str, f64); 9] = [
    ("ms", 0.001),
    ("s", 1.0),
    ("sec", 1.0),
    ("m", 60.0),
    ("min", 60.0),
    ("h", 3_600.0),
    ("hr", 3_600.0),
    ("d", 86_400.0),
    ("day", 86_400.0),
];

/// Reads a duration: numbers, each with its unit, the largest unit first. A number without a unit is seconds if it stands alone.
///
/// ```
/// use std::time::Duration;
/// use lapidary_engine::config::parse_duration;
///
/// assert_eq!(parse_duration("5m"), Some(Duration::from_secs(300)));
/// assert_eq!(parse_duration("1h 30m"), Some(Duration::from_secs(5_400)));
/// assert_eq!(parse_duration("90"), Some(Duration::from_secs(90)));
/// assert_eq!(parse_duration("5 parsecs"), None);
/// ```
pub fn parse_duration(text: &str) -> Option<Duration> {
    let text = text.trim();
    let seconds = match text.parse::<f64>() {
        Ok(seconds) => seconds,
        Err(_) => with_units(text)?,
    };
    Duration::try_from_secs_f64(seconds).ok()
}

/// The seconds of a text in which every number has its unit.
pub(super) fn with_units(text: &str) -> Option<f64> {
    let mut rest = text.trim();
    let mut sum = 0.0;
    let mut last = f64::INFINITY;
    while !rest.is_empty() {
        let digits = rest.find(|letter: char| !letter.is_ascii_digit() && letter != '.')?;
        let (number, behind) = rest.split_at(digits);
        let behind = behind.trim_start();
        let letters = behind.find(|letter: char| !letter.is_ascii_alphabetic());
        let (unit, behind) = behind.split_at(letters.unwrap_or(behind.len()));
        let (_, seconds) = UNITS.into_iter().find(|(name, _)| *name == unit)?;
        // `30m1h` and `5m5m` are slips, not sums.
        if seconds >= last {
            return None;
        }
        last = seconds;
        sum += number.parse::<f64>().ok()? * seconds;
        rest = behind.trim_start();
    }
    (last < f64::INFINITY).then_some(sum)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_read_as_people_write_them() {
        for (text, millis) in [
            ("500ms", 500),
            ("30s", 30_000),
            ("5m", 300_000),
            ("5 min", 300_000),
            ("1.5h", 5_400_000),
            ("1h30m", 5_400_000),
            (" 1h 30m ", 5_400_000),
            ("2d", 172_800_000),
            ("90", 90_000),
            ("0.25", 250),
            ("0s", 0),
        ] {
            let expected = Some(Duration::from_millis(millis));
            assert_eq!(parse_duration(text), expected, "{text}");
        }
        for text in [
            "",
            " ",
            "m",
            "5x",
            "5mm",
            "-5m",
            "5m-",
            "1h30",
            "30m1h",
            "5m5m",
            "1..5h",
            "5M",
            "5é",
            "nan",
            "-1",
            "1e400",
            "99999999999999999999d",
        ] {
            assert_eq!(parse_duration(text), None, "{text}");
        }
    }
}
