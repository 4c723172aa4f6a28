//! The names of session files: `session-<minute>-<8 of the id>.jsonl`.

use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;

const MINUTE: &str = "%Y-%m-%dT%H-%M";

/// True for the names that the CLI looks at.
pub(crate) fn is_session(name: &str) -> bool {
    name.starts_with("session-") && session_stem(name).is_some()
}

/// A name without the ending of either format.
pub(crate) fn session_stem(name: &str) -> Option<&str> {
    name.strip_suffix(".jsonl")
        .or_else(|| name.strip_suffix(".json"))
}

/// The short id that the CLI deletes files by.
pub(crate) fn short_id(name: &str) -> Option<&str> {
    let (_, short) = session_stem(name)?.rsplit_once('-')?;
    let is_short = short.len() == 8 && short.bytes().all(|byte| byte.is_ascii_alphanumeric());
    is_short.then_some(short)
}

/// The minute that a name carries.
fn name_minute(name: &str) -> Option<DateTime> {
    let text = name.strip_prefix("session-")?.get(..16)?;
    DateTime::strptime(MINUTE, text).ok()
}

/// True if the CLI, started now or later, could give a new file this name.
pub(crate) fn may_be_taken(name: &str, now: SystemTime) -> bool {
    let now = utc_datetime(now - Duration::from_mins(1));
    name_minute(name).is_some_and(|minute| minute > now)
}

fn utc_datetime(time: SystemTime) -> DateTime {
    let time = Timestamp::try_from(time).unwrap_or(Timestamp::UNIX_EPOCH);
    TimeZone::UTC.to_datetime(time)
}

/// A name that is free, that the CLI reads, and that it will not choose itself: of a minute that is over.
pub(crate) fn free_path(folder: &Path, like: &str, id: Option<&str>, now: SystemTime) -> PathBuf {
    let last = utc_datetime(now - Duration::from_mins(1));
    let mut minute = name_minute(like).map_or(last, |minute| minute.min(last));
    let of_id: Option<String> = id.map(|id| sanitised_id(id).chars().take(8).collect());
    let of_id = of_id.filter(|id| !id.is_empty());
    let short = of_id.or_else(|| short_id(like).map(String::from));
    let short = short.unwrap_or_else(|| "unknown0".to_owned());
    // A document in a file that is named as a log would be appended to.
    let ending = if like.strip_suffix(".json").is_some() {
        "json"
    } else {
        "jsonl"
    };
    loop {
        let name = format!("session-{}-{short}.{ending}", minute.strftime(MINUTE));
        let path = folder.join(name);
        if path.symlink_metadata().is_err() {
            return path;
        }
        match minute.checked_sub(jiff::SignedDuration::from_mins(1)) {
            Ok(earlier) => minute = earlier,
            Err(_) => return path,
        }
    }
}

/// As the CLI writes an id into names: JavaScript sees two characters where one is beyond 16 bits.
pub(crate) fn sanitised_id(id: &str) -> String {
    let safe = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    let shown = |c: char| if safe(c) { c } else { '_' };
    id.chars()
        .flat_map(|c| std::iter::repeat_n(shown(c), c.len_utf16()))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_as_the_cli_reads_them() {
        assert_eq!(
            short_id("session-2026-11-16T04-44-9d94e204.jsonl"),
            Some("9d94e204")
        );
        assert_eq!(
            short_id("session-2026-11-16T04-44-9d94e204.json"),
            Some("9d94e204")
        );
        assert_eq!(short_id("session-2026-11-16T04-44-skills_l.jsonl"), None);
        assert_eq!(sanitised_id("a.\u{1f600}-é"), "a___-_");
        assert!(is_session("session-x.json"));
        assert!(!is_session("session-x.jsonl.unreadable-1"));
    }

    #[test]
    fn a_minute_that_is_not_over_may_be_taken() {
        let now: Timestamp = "2026-11-16T04:44:30Z".parse().unwrap();
        let taken = |name: &str| may_be_taken(name, now.into());
        assert!(taken("session-2026-11-16T04-44-9d94e204.jsonl"));
        assert!(taken("session-2026-11-16T04-45-9d94e204.jsonl"));
        assert!(!taken("session-2026-11-16T04-43-9d94e204.jsonl"));
        assert!(!taken("session-1731732240000-9d94e204.jsonl"));
    }

    #[test]
    fn a_free_name_is_of_a_minute_that_is_over() {
        let folder = tempfile::tempdir().unwrap();
        let now: Timestamp = "2026-11-16T04:44:30Z".parse().unwrap();
        let mut names = Vec::new();
        for _ in 0..3 {
            let like = "session-2026-11-16T04-44-9d94e204.jsonl";
            let path = free_path(folder.path(), like, None, now.into());
            std::fs::write(&path, "").unwrap();
            names.push(path.file_name().unwrap().to_string_lossy()[19..24].to_owned());
        }
        assert_eq!(names, ["04-43", "04-42", "04-41"]);
    }
}
