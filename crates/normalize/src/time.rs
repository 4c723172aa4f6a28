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
