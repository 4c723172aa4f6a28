//! How long ago, in the words of Gemini CLI.

use std::time::SystemTime;

const MINUTE: i64 = 60;
const HOUR: i64 = 60 * MINUTE;
const DAY: i64 = 24 * HOUR;

/// How long ago a time was: `2 days ago`, `Just now`; a time yet to come says so.
pub fn age(then_ms: Option<i64>, now: SystemTime) -> String {
    let Some(then_ms) = then_ms else {
        return "at an unknown time".to_owned();
    };
    let now_ms = now
        .duration_since(SystemTime::UNIX_EPOCH)
        .map_or(0, |since| {
            i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
        });
    let seconds = now_ms.saturating_sub(then_ms).div_euclid(1000);
    match seconds {
        i64::MIN..=-60 => "in the future".to_owned(),
        DAY.. => ago_text(seconds / DAY, "day"),
        HOUR.. => ago_text(seconds / HOUR, "hour"),
        MINUTE.. => ago_text(seconds / MINUTE, "minute"),
        _ => "Just now".to_owned(),
    }
}

fn ago_text(count: i64, unit: &str) -> String {
    // Not by `format!`: a list of tens of thousands asks for each.
    let mut text = count.to_string();
    for part in [" ", unit, if count == 1 { "" } else { "s" }, " ago"] {
        text.push_str(part);
    }
    text
}
