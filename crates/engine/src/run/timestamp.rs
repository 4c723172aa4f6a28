//! The time of events that are ours.

/// The time, as events carry it.
pub(crate) fn timestamp_now() -> String {
    format!("{:.3}", jiff::Timestamp::now())
}
