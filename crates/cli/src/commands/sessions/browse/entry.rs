//! A row of the list: a session, or a file that is none and why.

use std::path::PathBuf;
use std::time::SystemTime;

use lapidary::render::live::MarkSet;
use lapidary::sessions::{
    HiddenFile, ListedSession, OtherSession, OtherSessions, SessionAbility, SessionListing,
    UnlistedPlace,
};

use super::text::one_line;
use super::title_terms::{TitleTerm, TitleText};

/// How many bytes of a title or a first message are used.
const LONGEST: usize = 2048;

/// The facts about a file in the list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct BrowseEntry {
    /// Its number, if it is a session of Gemini CLI.
    pub(super) number: Option<u64>,
    /// The operations that the provider of the session refuses, if that is not Gemini CLI.
    pub(super) refusals: Option<EntryRefusals>,
    /// The session's id, if it has one.
    pub(super) id: String,
    /// Its title: filtered, one line.
    pub(super) title: String,
    /// How many messages it has, if they are counted.
    pub(super) messages: Option<u64>,
    /// Its agent, if that is not Gemini CLI: filtered, one line.
    pub(super) agent: Option<String>,
    /// True for a session that only a recording has.
    pub(super) is_recorded: bool,
    pub(super) updated_ms: Option<i64>,
    pub(super) path: PathBuf,
    pub(super) size: u64,
    /// The directory of its project, if that is known.
    pub(super) root: Option<PathBuf>,
    /// The name of its project: filtered, one line.
    pub(super) project: String,
    /// The name of the file for which Gemini CLI's next start deletes it, if there is one: harmless, one line.
    pub(super) endangered_by: Option<String>,
    /// Title, id, first message and project, for searching.
    words: TitleText,
}

/// Why operations on a session are refused, a sentence each: harmless, one line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct EntryRefusals {
    pub(super) resume: Option<String>,
    pub(super) delete: Option<String>,
}

impl EntryRefusals {
    fn of_other_session(session: &OtherSession<'_>, marks: MarkSet) -> Self {
        let why = |ability: SessionAbility| {
            let refused = ability.check(session.listed).err()?;
            let sentence = format!("it {}: {}", refused.reason, refused.hint);
            Some(one_line(&sentence, marks))
        };
        let capabilities = session.capabilities();
        Self {
            resume: why(capabilities.resume),
            delete: why(capabilities.delete),
        }
    }
}

impl BrowseEntry {
    /// The entries of a listing: first the sessions, those of other providers last, then the files that are none.
    pub(super) fn all_entries(
        listing: &SessionListing,
        others: &OtherSessions,
        marks: MarkSet,
    ) -> Vec<Self> {
        let sessions = listing
            .sessions
            .iter()
            .map(|one| Self::session_entry(one, marks));
        let others = others.iter().map(|one| Self::other_entry(&one, marks));
        let hidden = listing
            .hidden
            .iter()
            .map(|one| Self::hidden_entry(one, marks));
        sessions.chain(others).chain(hidden).collect()
    }

    fn other_entry(session: &OtherSession<'_>, marks: MarkSet) -> Self {
        let agent = session.listed.provider().as_str();
        Self {
            number: None,
            refusals: Some(EntryRefusals::of_other_session(session, marks)),
            agent: Some(one_line(start_of(agent), marks)),
            is_recorded: session.listed.unlisted() == Some(&UnlistedPlace::Recording),
            ..Self::session_entry(session.listed, marks)
        }
    }

    fn session_entry(listed: &ListedSession, marks: MarkSet) -> Self {
        let info = listed.info();
        let title = one_line(start_of(&info.display_name), marks);
        let root = info.project.as_ref().map(PathBuf::from);
        let project = project_name(info.project.as_deref(), &info.project_id, marks);
        let first = start_of(&info.first_user_message);
        let words = TitleText::new(&[&title, start_of(&info.id), first, &project]);
        Self {
            number: Some(info.index),
            refusals: None,
            id: info.id.clone(),
            title,
            messages: listed.message_count(),
            agent: None,
            is_recorded: false,
            updated_ms: listed.updated_ms,
            path: listed.path.clone(),
            size: info.size,
            root,
            project,
            endangered_by: info
                .endangered_by
                .as_deref()
                .map(|name| one_line(start_of(name), marks)),
            words,
        }
    }

    fn hidden_entry(file: &HiddenFile, marks: MarkSet) -> Self {
        let path = PathBuf::from(&file.path);
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let title = one_line(start_of(&format!("{name}: {}", file.explanation)), marks);
        let project = project_name(None, &file.project_id, marks);
        Self {
            number: None,
            refusals: None,
            id: file.session_id.clone().unwrap_or_default(),
            words: TitleText::new(&[&title, &project]),
            title,
            messages: None,
            agent: None,
            is_recorded: false,
            updated_ms: None,
            path,
            size: file.size,
            root: None,
            project,
            endangered_by: None,
        }
    }

    /// True for a session. The files that are none are hidden.
    pub(super) fn is_session(&self) -> bool {
        self.number.is_some() || self.refusals.is_some()
    }

    /// Whether its text in the list has each of these terms.
    pub(super) fn has_terms(&self, terms: &[TitleTerm]) -> bool {
        terms.iter().all(|term| self.words.has_term(term))
    }

    /// The time since the last update, in few letters: `now`, `5m`, `3h`, `12d`, `2y`.
    pub(super) fn age_text(&self, now: SystemTime) -> String {
        const MINUTE: i64 = 60;
        const HOUR: i64 = 60 * MINUTE;
        const DAY: i64 = 24 * HOUR;
        const YEAR: i64 = 365 * DAY;
        let now = now.duration_since(SystemTime::UNIX_EPOCH);
        let now = now.map_or(0, |since| {
            i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
        });
        let Some(then) = self.updated_ms else {
            return String::new();
        };
        match now.saturating_sub(then).div_euclid(1000) {
            i64::MIN..=-60 => "future".to_owned(),
            seconds @ YEAR.. => format!("{}y", seconds / YEAR),
            seconds @ DAY.. => format!("{}d", seconds / DAY),
            seconds @ HOUR.. => format!("{}h", seconds / HOUR),
            seconds @ MINUTE.. => format!("{}m", seconds / MINUTE),
            _ => "now".to_owned(),
        }
    }
}

/// The last part of the project's path, or the name of its directory in the home.
fn project_name(root: Option<&str>, id: &str, marks: MarkSet) -> String {
    let name = root.and_then(|root| root.rsplit(std::path::is_separator).next());
    let name = name.filter(|name| !name.is_empty()).unwrap_or(id);
    one_line(start_of(name), marks)
}

fn start_of(text: &str) -> &str {
    &text[..text.floor_char_boundary(LONGEST)]
}

#[cfg(test)]
impl BrowseEntry {
    /// A sample session for tests.
    pub(super) fn sample_entry(number: u64, title: &str, messages: u64, updated_ms: i64) -> Self {
        let id = format!("{number:08x}-0000-4000-8000-000000000000");
        Self {
            number: Some(number),
            refusals: None,
            words: TitleText::new(&[title, &id, "project"]),
            title: one_line(title, MarkSet::Unicode),
            messages: Some(messages),
            agent: None,
            is_recorded: false,
            updated_ms: Some(updated_ms),
            path: PathBuf::from(format!("/chats/session-{id}.jsonl")),
            size: 1000,
            root: Some(PathBuf::from("/home/somebody/project")),
            project: "project".to_owned(),
            endangered_by: None,
            id,
        }
    }

    /// A session of another provider, which neither resumes nor deletes it.
    pub(super) fn sample_other(title: &str, updated_ms: i64) -> Self {
        let refused = |hint: &str| Some(format!("it is in a recording only: {hint}"));
        Self {
            number: None,
            refusals: Some(EntryRefusals {
                resume: refused("show it"),
                delete: refused("delete the run"),
            }),
            messages: None,
            agent: Some("qwen".to_owned()),
            is_recorded: true,
            ..Self::sample_entry(9, title, 0, updated_ms)
        }
    }

    /// A file that is no session.
    pub(super) fn sample_hidden(title: &str) -> Self {
        Self {
            number: None,
            id: String::new(),
            ..Self::sample_entry(0, title, 0, 0)
        }
    }
}
