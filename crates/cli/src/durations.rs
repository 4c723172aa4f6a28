//! Times on the command line, for options that no configuration knows.

use std::time::Duration;

use lapidary::engine::config::parse_duration;

/// A time such as `20`, `30s` or `5m`, and more than nothing.
pub(crate) fn parse_time(text: &str) -> Result<Duration, String> {
    let time = parse_duration(text).filter(|time| !time.is_zero());
    time.ok_or_else(|| "use seconds (`90`) or a time with units (`30s`, `5m`, `1h30m`)".to_owned())
}

/// The same, or 0.
pub(crate) fn time_or_zero(text: &str) -> Result<Duration, String> {
    match parse_duration(text) {
        Some(time) => Ok(time),
        None => self::parse_time(text),
    }
}

/// The same, up to an hour.
pub(crate) fn time_up_to_an_hour(text: &str) -> Result<Duration, String> {
    let time = parse_time(text)?;
    if time > Duration::from_hours(1) {
        return Err("it must be at most 1h".to_owned());
    }
    Ok(time)
}
