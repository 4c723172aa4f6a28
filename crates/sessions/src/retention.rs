//! How long sessions are kept: Gemini CLI's own settings, and the sessions that expire by them.
//!
//! The CLI deletes every session file at once that it cannot resume, and compares only the first eight letters of an id. Here
//! whole ids are compared, a session goes with all its files or with none, and no file goes that was written within
//! `minRetention`.

use std::collections::{BTreeMap, HashMap};
use std::time::{Duration, SystemTime};

use lapidary_vocab::removal::RemovalReason;

use super::inventory::{FileContent, InventoriedFile, SessionInventory};

mod limits;

pub use limits::{RetentionError, RetentionLimits, RetentionPeriod, RetentionRules};

/// A session or file that a rule removes, and the reason.
#[derive(Debug, Clone, Copy)]
pub struct ExpiredSession<'i> {
    /// The session or file.
    pub what: ExpiringItem<'i>,
    /// Which of the projects it belongs to.
    pub project: usize,
    /// The reason.
    pub reason: ExpiryReason,
}

/// A session with all its files, or a file that names none.
#[derive(Debug, Clone, Copy)]
pub enum ExpiringItem<'i> {
    /// A session, by its whole id.
    Session(&'i str),
    /// A file.
    File(&'i InventoriedFile),
}

/// The reason why a session or file expires.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExpiryReason {
    /// Nothing was added to it for too long.
    TooOld,
    /// There are enough newer ones.
    TooMany,
    /// It has no message that could be resumed.
    NoContent,
    /// It names no session.
    NotASession,
    /// It is empty.
    Empty,
    /// A sub-agent wrote it.
    Subagent,
}

impl From<ExpiryReason> for RemovalReason {
    fn from(why: ExpiryReason) -> Self {
        match why {
            ExpiryReason::TooOld => Self::TooOld,
            ExpiryReason::TooMany => Self::TooMany,
            ExpiryReason::NoContent => Self::NoContent,
            ExpiryReason::NotASession => Self::NotASession,
            ExpiryReason::Empty => Self::Empty,
            ExpiryReason::Subagent => Self::Subagent,
        }
    }
}

/// A session of one project: all files that name its id.
struct SessionGroup<'i> {
    id: &'i str,
    newest: SystemTime,
    is_subagents: bool,
    hides_content: bool,
}

impl RetentionRules {
    /// The sessions and files of a project that expire by these limits.
    pub fn expired<'i>(
        &self,
        inventory: &'i SessionInventory,
        project: usize,
        now: SystemTime,
    ) -> Vec<ExpiredSession<'i>> {
        let groups = session_groups(inventory, project);
        let mut expired = self.expired_sessions(inventory, project, &groups, now);
        let listed: HashMap<_, _> = listed_sessions(inventory, project).collect();
        for group in groups.values() {
            let Some(reason) = self.unlisted_expiry(group, now) else {
                continue;
            };
            if !listed.contains_key(group.id) && self.is_past_minimum(group.newest, now) {
                let what = ExpiringItem::Session(group.id);
                expired.push(ExpiredSession {
                    what,
                    project,
                    reason,
                });
            }
        }
        let files = inventory
            .files
            .iter()
            .filter(|file| file.project == project);
        expired.extend(files.filter_map(|file| {
            let reason = self.unnamed_expiry(file, now)?;
            let what = ExpiringItem::File(file);
            Some(ExpiredSession {
                what,
                project,
                reason,
            })
        }));
        expired
    }

    /// The sessions that are in the list, the newest first: too old, or one too many.
    fn expired_sessions<'i>(
        &self,
        inventory: &'i SessionInventory,
        project: usize,
        groups: &BTreeMap<&str, SessionGroup<'i>>,
        now: SystemTime,
    ) -> Vec<ExpiredSession<'i>> {
        let mut newest_first: Vec<_> = listed_sessions(inventory, project).collect();
        // A session whose time cannot be read counts as new, so that it does not expire.
        newest_first.sort_by_key(|(_, updated)| std::cmp::Reverse(updated.unwrap_or(i64::MAX)));
        let gone = newest_first
            .into_iter()
            .enumerate()
            .filter_map(|(place, (id, updated))| {
                let updated = updated.map(time_from_ms);
                let is_old =
                    |limit: Duration| updated.is_some_and(|then| is_older(then, limit, now));
                let reason = if self.max_age.is_some_and(|age| is_old(age.duration())) {
                    ExpiryReason::TooOld
                } else if self.max_count.is_some_and(|most| place as u64 >= most) {
                    ExpiryReason::TooMany
                } else {
                    return None;
                };
                let written = groups
                    .get(id)
                    .is_none_or(|group| self.is_past_minimum(group.newest, now));
                let what = ExpiringItem::Session(id);
                (written && is_old(self.min_retention.duration())).then_some(ExpiredSession {
                    what,
                    project,
                    reason,
                })
            });
        gone.collect()
    }

    /// The reason why a session expires that is not in the list. One with recoverable content is kept as long as a listed
    /// session.
    fn unlisted_expiry(&self, group: &SessionGroup<'_>, now: SystemTime) -> Option<ExpiryReason> {
        if group.is_subagents {
            return Some(ExpiryReason::Subagent);
        }
        if !group.hides_content {
            return Some(ExpiryReason::NoContent);
        }
        let is_old = |age: RetentionPeriod| is_older(group.newest, age.duration(), now);
        self.max_age
            .is_some_and(is_old)
            .then_some(ExpiryReason::TooOld)
    }

    /// The reason why a file expires that names no session. Its content may be recoverable, so it is kept as long as a session.
    fn unnamed_expiry(&self, file: &InventoriedFile, now: SystemTime) -> Option<ExpiryReason> {
        let (reason, age) = match file.content {
            FileContent::Nothing => (ExpiryReason::Empty, self.min_retention),
            FileContent::NoSession => (
                ExpiryReason::NotASession,
                self.max_age.unwrap_or(self.min_retention),
            ),
            _ => return None,
        };
        let is_due = is_older(file.modified, age.duration(), now);
        (is_due && self.is_past_minimum(file.modified, now)).then_some(reason)
    }

    fn is_past_minimum(&self, written: SystemTime, now: SystemTime) -> bool {
        is_older(written, self.min_retention.duration(), now)
    }
}

/// True if a time lies further back than that. One that is yet to come does not.
fn is_older(then: SystemTime, age: Duration, now: SystemTime) -> bool {
    now.duration_since(then).is_ok_and(|passed| passed > age)
}

fn time_from_ms(ms: i64) -> SystemTime {
    let since = Duration::from_millis(ms.unsigned_abs());
    let epoch = SystemTime::UNIX_EPOCH;
    let time = if ms < 0 {
        epoch.checked_sub(since)
    } else {
        epoch.checked_add(since)
    };
    time.unwrap_or(epoch)
}

fn listed_sessions(
    inventory: &SessionInventory,
    project: usize,
) -> impl Iterator<Item = (&str, Option<i64>)> {
    let sessions = inventory.listing.sessions.iter();
    sessions
        .filter(move |session| session.project == project)
        .map(|session| (session.id(), session.updated_ms))
}

fn session_groups(
    inventory: &SessionInventory,
    project: usize,
) -> BTreeMap<&str, SessionGroup<'_>> {
    let mut groups = BTreeMap::new();
    for file in inventory
        .files
        .iter()
        .filter(|file| file.project == project)
    {
        let Some(id) = file.content.id() else {
            continue;
        };
        let group = groups.entry(id).or_insert(SessionGroup {
            id,
            newest: file.modified,
            is_subagents: false,
            hides_content: false,
        });
        group.hides_content |= file.hides_content;
        group.newest = group.newest.max(file.modified);
        group.is_subagents |= matches!(file.content, FileContent::Subagent(_));
    }
    groups
}
