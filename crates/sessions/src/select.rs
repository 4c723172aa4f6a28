//! Selecting a session by id, beginning of an id, number or `latest`.

use std::path::PathBuf;

use super::listing::{ListedSession, SessionListing};

/// How generously a session may be named.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SelectionMode {
    /// As the CLI has it: `latest`, a whole id, or a number that is written as one.
    Strict,
    /// Also the beginning of an id, if only one session's begins so.
    Generous,
}

/// The shortest beginning of an id that consists of digits only: a shorter number is a place in the list.
const SHORTEST_NUMERIC_PREFIX: usize = 4;

/// True if a text may stand for an id that begins so.
pub fn is_id_prefix(text: &str) -> bool {
    let is_number = text.bytes().all(|byte| byte.is_ascii_digit());
    !text.is_empty() && (!is_number || text.len() >= SHORTEST_NUMERIC_PREFIX)
}

/// Why no session was found.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SelectError {
    /// There is none at all.
    #[error("no sessions were recorded for this project")]
    NoSessions,
    /// None is called so.
    #[error("there is no session `{identifier}`")]
    Invalid {
        /// The text that was to name a session.
        identifier: String,
        /// The directories that were searched.
        searched: Vec<PathBuf>,
    },
    /// Several projects have a session with that number.
    #[error("{} projects have a session {number}: {}", .candidates.len(), .candidates.join(", "))]
    SeveralProjects {
        /// The number.
        number: u64,
        /// Whole ids.
        candidates: Vec<String>,
    },
    /// It is the beginning of one id, where only whole ids count.
    #[error("`{identifier}` is not a whole id: the session is `{id}`")]
    NotWhole {
        /// The text that was to name a session.
        identifier: String,
        /// The whole id.
        id: String,
    },
    /// Several begin so.
    #[error("{} sessions begin with `{identifier}`: {}", .candidates.len(), .candidates.join(", "))]
    Ambiguous {
        /// The text that was to name a session.
        identifier: String,
        /// Whole ids.
        candidates: Vec<String>,
    },
}

impl SelectError {
    /// The code by which the specification knows it.
    pub fn code(&self) -> &'static str {
        match self {
            Self::NoSessions => "NO_SESSIONS_FOUND",
            Self::Invalid { .. }
            | Self::SeveralProjects { .. }
            | Self::NotWhole { .. }
            | Self::Ambiguous { .. } => "INVALID_SESSION_IDENTIFIER",
        }
    }
}

/// Finds a session: `latest` is the one that began last, as `--resume latest` has it; then whole ids, then numbers, then
/// beginnings of ids. A number that several projects have names none of them.
pub fn select<'l>(
    listing: &'l SessionListing,
    identifier: &str,
    selection: SelectionMode,
) -> Result<&'l ListedSession, SelectError> {
    let identifier = identifier.trim();
    let sessions = &listing.sessions;
    if sessions.is_empty() {
        return Err(SelectError::NoSessions);
    }
    if identifier == "latest" {
        let latest = sessions
            .iter()
            .max_by_key(|session| (session.is_cli_listed(), session.started_ms));
        return latest.ok_or(SelectError::NoSessions);
    }
    let by_id = sessions.iter().find(|session| session.id() == identifier);
    if let Some(found) = by_id {
        return Ok(found);
    }
    if let Some(found) = by_number(sessions, identifier)? {
        return Ok(found);
    }
    if is_id_prefix(identifier) {
        let begins: Vec<_> = sessions
            .iter()
            .filter(|session| session.id().starts_with(identifier))
            .collect();
        match begins[..] {
            [] => {}
            [only] if selection == SelectionMode::Generous => return Ok(only),
            [only] => {
                return Err(SelectError::NotWhole {
                    identifier: identifier.to_owned(),
                    id: only.id().to_owned(),
                });
            }
            _ => {
                return Err(SelectError::Ambiguous {
                    identifier: identifier.to_owned(),
                    candidates: begins
                        .iter()
                        .map(|session| session.id().to_owned())
                        .collect(),
                });
            }
        }
    }
    let mut searched: Vec<_> = sessions
        .iter()
        .filter_map(|session| session.path.parent())
        .map(ToOwned::to_owned)
        .collect();
    searched.dedup();
    Err(SelectError::Invalid {
        identifier: identifier.to_owned(),
        searched,
    })
}

/// The session with that number in the list, if it is written as one.
fn by_number<'l>(
    sessions: &'l [ListedSession],
    identifier: &str,
) -> Result<Option<&'l ListedSession>, SelectError> {
    let number = identifier.parse::<u64>().ok();
    let Some(number) = number.filter(|number| number.to_string() == identifier) else {
        return Ok(None);
    };
    let numbered = sessions.iter();
    let numbered: Vec<_> = numbered
        .filter(|session| session.index() == number)
        .collect();
    match numbered[..] {
        [] => Ok(None),
        [only] => Ok(Some(only)),
        _ => Err(SelectError::SeveralProjects {
            number,
            candidates: numbered
                .iter()
                .map(|session| session.id().to_owned())
                .collect(),
        }),
    }
}

impl SessionListing {
    /// The session with the latest update.
    pub fn most_recent(&self) -> Option<&ListedSession> {
        self.sessions
            .iter()
            .max_by_key(|session| session.updated_ms)
    }
}
