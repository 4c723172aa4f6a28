//! Timestamps.

/// Milliseconds since 1970 of an RFC 3339 timestamp; none if it is not one.
///
/// ```
/// assert_eq!(lapidary_normalize::time::epoch_ms("2026-11-15T18:15:22.327Z"), Some(1794766522327));
/// assert_eq!(lapidary_normalize::time::epoch_ms("yesterday"), None);
/// ```
pub fn epoch_ms(timestamp: &str) -> Option<i64> {
    let parsed: jiff::Timestamp = timestamp.parse().ok()?;
    Some(parsed.as_millisecond())
}

/// A time in milliseconds since 1970 as RFC 3339, in UTC; none beyond the year 9999.
///
/// ```
/// let text = lapidary_normalize::time::rfc3339_text(1794766522327);
/// assert_eq!(text.as_deref(), Some("2026-11-15T18:15:22.327Z"));
/// ```
pub fn rfc3339_text(epoch_ms: u64) -> Option<String> {
    let time = jiff::Timestamp::from_millisecond(i64::try_from(epoch_ms).ok()?).ok()?;
    Some(format!("{time:.3}"))
}
