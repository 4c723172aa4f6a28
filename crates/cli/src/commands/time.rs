//! Times as people write them on the command line.

use std::time::SystemTime;

use anyhow::anyhow;
pub(in crate::commands) use lapidary::moments::DayEnd;
use lapidary::moments::parse_moment;

use crate::failure::Failure;

/// A moment in milliseconds since 1970: a time, a day, or an age.
pub(in crate::commands) fn moment_millis(
    given: &str,
    now: SystemTime,
    end: DayEnd,
) -> Result<i64, Failure> {
    parse_moment(given, now, end).map_err(|error| Failure::usage(anyhow!(error)))
}

/// The same for an optional time.
pub(in crate::commands) fn parse_bound(
    given: Option<&str>,
    now: SystemTime,
    end: DayEnd,
) -> Result<Option<i64>, Failure> {
    given
        .map(|given| moment_millis(given, now, end))
        .transpose()
}
