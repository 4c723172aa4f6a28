//! A session in the list. Its printed texts are made of the file's summary on demand: a dozen texts for each of tens of thousands
//! of sessions would take most of the memory.

use std::borrow::Cow;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::SystemTime;

use lapidary_vocab::event::Provider;
use lapidary_vocab::line::SessionRow;
use lapidary_vocab::session::{SessionInfo, UnlistedPlace};

use crate::age::age;
use crate::candidates::{CandidateName, SessionCandidate};
use crate::projects::SessionProject;
use crate::scan::CompactSummary;
use crate::times::epoch_ms;

/// A session in the list.
#[derive(Debug, Clone)]
pub struct ListedSession {
    /// Where its file is.
    pub path: PathBuf,
    /// Which of the projects that were asked about it belongs to.
    pub project: usize,
    /// When the file was last written.
    pub modified: SystemTime,
    /// When it began, in milliseconds since 1970, if that can be read.
    pub started_ms: Option<i64>,
    /// The time of the last addition, likewise.
    pub updated_ms: Option<i64>,
    source: InfoSource,
}

/// Where the [`SessionInfo`] of a session comes from. Both are in boxes: a list of tens of thousands is sorted, and they are large to
/// move.
#[derive(Debug, Clone)]
enum InfoSource {
    Info(Box<SessionInfo>),
    File(Box<SummarisedFile>),
}

/// The facts of a session file, without any that can be derived.
#[derive(Debug, Clone)]
struct SummarisedFile {
    name: CandidateName,
    size: u64,
    summary: CompactSummary,
    index: u64,
    is_older: bool,
    project: Arc<SharedByProject>,
    /// Made once it was asked for.
    info: OnceLock<Box<SessionInfo>>,
}

/// The facts that all sessions of a project share.
#[derive(Debug)]
pub(super) struct SharedByProject {
    /// The time of the list.
    now: String,
    /// The same in milliseconds since 1970.
    now_ms: Option<i64>,
    root: Option<String>,
    id: String,
    /// The directory that the CLI uses, if there is an older one beside it. The CLI copies sessions from the older one only when
    /// it makes its own.
    used_beside_older: Option<PathBuf>,
}

impl SharedByProject {
    pub(super) fn new(project: &SessionProject, now: &str) -> Arc<Self> {
        let used = &project.directory;
        let has_older = project.directories.len() > 1 && project.directories.contains(used);
        Arc::new(Self {
            now: now.to_owned(),
            now_ms: epoch_ms(now),
            root: project
                .root
                .as_deref()
                .map(|root| root.to_string_lossy().into_owned()),
            id: project.id.clone(),
            used_beside_older: has_older.then(|| used.clone()),
        })
    }

    /// True for a file in a directory that the CLI does not use.
    fn is_older(&self, path: &Path) -> bool {
        let used = self.used_beside_older.as_ref();
        used.is_some_and(|used| !path.starts_with(used))
    }
}

impl ListedSession {
    /// A session that is in no file of Gemini CLI, of the first project, with the times of `info`.
    pub fn new(info: SessionInfo, path: PathBuf) -> Self {
        Self {
            path,
            project: 0,
            modified: SystemTime::UNIX_EPOCH,
            started_ms: epoch_ms(&info.start_time),
            updated_ms: epoch_ms(&info.last_updated),
            source: InfoSource::Info(Box::new(info)),
        }
    }

    /// The session of a file.
    pub(super) fn of_file(
        file: SessionCandidate,
        summary: CompactSummary,
        project: &Arc<SharedByProject>,
    ) -> Self {
        let (started_ms, updated_ms) = times_ms(&summary, project.now_ms);
        Self {
            started_ms,
            updated_ms,
            project: file.project,
            modified: file.modified,
            source: InfoSource::File(Box::new(SummarisedFile {
                is_older: project.is_older(&file.path),
                name: file.name,
                size: file.size,
                summary,
                index: 0,
                project: Arc::clone(project),
                info: OnceLock::new(),
            })),
            path: file.path,
        }
    }

    /// The entry of a list about it. The session keeps it from then on; [`ListedSession::row`] does not.
    pub fn info(&self) -> &SessionInfo {
        match &self.source {
            InfoSource::Info(info) => info,
            InfoSource::File(file) => {
                let info = || Box::new(file.session_row(&self.path).into_info());
                file.info.get_or_init(info)
            }
        }
    }

    /// The same for a caller that needs it once, as printing a long list does.
    pub fn row(&self) -> SessionRow<'_> {
        match &self.source {
            InfoSource::Info(info) => SessionRow::from(&**info),
            InfoSource::File(file) => file.session_row(&self.path),
        }
    }

    /// The same, without the session.
    pub fn into_info(self) -> SessionInfo {
        match self.source {
            InfoSource::Info(info) => *info,
            InfoSource::File(file) => file.session_row(&self.path).into_info(),
        }
    }

    /// The entry of a list about it, to be changed.
    pub fn info_mut(&mut self) -> &mut SessionInfo {
        if let InfoSource::File(file) = &self.source {
            let info = file.session_row(&self.path).into_info();
            self.source = InfoSource::Info(Box::new(info));
        }
        match &mut self.source {
            InfoSource::Info(info) => info,
            InfoSource::File(_) => unreachable!("it was replaced just before"),
        }
    }

    /// The session's id, whole.
    pub fn id(&self) -> &str {
        match &self.source {
            InfoSource::Info(info) => &info.id,
            InfoSource::File(file) => file.summary.id(),
        }
    }

    /// Its number in the project's list, or 0.
    pub fn index(&self) -> u64 {
        match &self.source {
            InfoSource::Info(info) => info.index,
            InfoSource::File(file) => file.index,
        }
    }

    pub(crate) fn set_index(&mut self, index: u64) {
        match &mut self.source {
            InfoSource::Info(info) => info.index = index,
            InfoSource::File(file) => {
                file.index = index;
                file.info.take();
            }
        }
    }

    /// The name of its file.
    pub(super) fn file_name(&self) -> &str {
        match &self.source {
            InfoSource::Info(info) => &info.file_name,
            InfoSource::File(file) => file.name.in_path(&self.path),
        }
    }

    /// The agent's family.
    pub fn provider(&self) -> &Provider {
        match &self.source {
            InfoSource::Info(info) => &info.provider,
            InfoSource::File(_) => &Provider::Gemini,
        }
    }

    /// Where it is, if Gemini CLI does not list it.
    pub fn unlisted(&self) -> Option<&UnlistedPlace> {
        match &self.source {
            InfoSource::Info(info) => info.unlisted.as_ref(),
            InfoSource::File(file) => file.is_older.then_some(&UnlistedPlace::OlderDirectory),
        }
    }

    /// True if Gemini CLI lists it.
    pub fn is_cli_listed(&self) -> bool {
        self.unlisted().is_none()
    }

    /// How many records of messages its file has. None for a recording, which is not read for a list.
    pub fn message_count(&self) -> Option<u64> {
        match &self.source {
            InfoSource::Info(info) if info.run.is_some() => None,
            InfoSource::Info(info) => Some(info.message_count),
            InfoSource::File(file) => Some(file.summary.message_count()),
        }
    }

    /// What to call it: the summary, or else the first message on one line, in its own letters.
    pub fn display_name(&self) -> &str {
        match &self.source {
            InfoSource::Info(info) => &info.display_name,
            InfoSource::File(file) => file.summary.display_name(),
        }
    }

    /// True for the session that the list was asked for in.
    pub fn is_current(&self) -> bool {
        match &self.source {
            InfoSource::Info(info) => info.is_current_session,
            InfoSource::File(_) => false,
        }
    }

    /// True if Gemini CLI's next start deletes it.
    pub fn is_endangered(&self) -> bool {
        match &self.source {
            InfoSource::Info(info) => info.endangered_by.is_some(),
            InfoSource::File(_) => false,
        }
    }

    /// Says whether it is the session that is running.
    pub(super) fn set_current(&mut self, is_current: bool) {
        if is_current != self.is_current() {
            self.info_mut().is_current_session = is_current;
        }
    }

    /// The session in one line, as Gemini CLI shows which one it resumes: `Session 3: fix the tests (12 messages, 2 days ago)`.
    pub fn display_info(&self, now: SystemTime) -> String {
        let info = self.info();
        let (index, title, count) = (info.index, &info.first_user_message, info.message_count);
        let age = age(self.updated_ms, now);
        format!("Session {index}: {title} ({count} messages, {age})")
    }
}

impl SummarisedFile {
    fn session_row<'s>(&'s self, path: &'s Path) -> SessionRow<'s> {
        let summary = &self.summary;
        let file_name = self.name.in_path(path);
        let (start_time, last_updated) = session_times(summary, &self.project.now);
        SessionRow {
            provider: &Provider::Gemini,
            run: None,
            file: session_file_stem(file_name),
            path: path_text(path),
            start_time,
            last_updated,
            message_count: summary.message_count(),
            user_message_count: summary.facts.user_message_count,
            display_name: summary.display_name(),
            first_user_message: summary.first_user_message(),
            is_current_session: false,
            index: self.index,
            unlisted: self.is_older.then_some(&UnlistedPlace::OlderDirectory),
            summary: summary.summary(),
            project: self.project.root.as_deref(),
            project_id: &self.project.id,
            size: self.size,
            endangered_by: None,
            id: summary.id(),
            file_name,
        }
    }
}

/// A file's name without the extension of its format.
fn session_file_stem(file_name: &str) -> &str {
    let mut stem = file_name.strip_suffix(".jsonl").unwrap_or(file_name);
    // Not by `trim_end_matches`, which prepares for texts of any length.
    while let Some(shorter) = stem.strip_suffix(".json") {
        stem = shorter;
    }
    stem
}

/// A path as text. Nearly every path is text, which is found out faster than it is read lossily.
fn path_text(path: &Path) -> Cow<'_, str> {
    let text = simdutf8::basic::from_utf8(path.as_os_str().as_encoded_bytes());
    text.map_or_else(|_| path.to_string_lossy(), Cow::Borrowed)
}

/// The times of a session's start and of its last addition. Older files have one of both, and no hash of their project; a file
/// with neither began now.
fn session_times<'s>(summary: &'s CompactSummary, now: &'s str) -> (&'s str, &'s str) {
    either_time(summary, summary.start_time(), summary.last_updated(), now)
}

/// The same in milliseconds since 1970, of times that can be read.
fn times_ms(summary: &CompactSummary, now: Option<i64>) -> (Option<i64>, Option<i64>) {
    let start = summary
        .start_time()
        .map(|_| summary.facts.started.unix_ms());
    let last = summary
        .last_updated()
        .map(|_| summary.facts.updated.unix_ms());
    either_time(summary, start, last, now)
}

fn either_time<T: Copy>(
    summary: &CompactSummary,
    start: Option<T>,
    last: Option<T>,
    now: T,
) -> (T, T) {
    if summary.facts.has_project_hash {
        return (start.unwrap_or(now), last.unwrap_or(now));
    }
    let start_or_last = start.or(last).unwrap_or(now);
    (start_or_last, last.or(start).unwrap_or(now))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scan::FileSummary;

    fn listed(summary: FileSummary) -> ListedSession {
        let file = SessionCandidate {
            path: "/tmp/p/chats/session-1.jsonl".into(),
            name: CandidateName::InPath("/tmp/p/chats/".len()),
            project: 0,
            size: 7,
            modified: SystemTime::UNIX_EPOCH,
            inode: 1,
            refused: None,
        };
        let project = Arc::new(SharedByProject {
            now: "now".to_owned(),
            now_ms: None,
            root: Some("/work".to_owned()),
            id: "p".to_owned(),
            used_beside_older: Some("/tmp/other".into()),
        });
        ListedSession::of_file(file, summary.into(), &project)
    }

    fn said(message: &str, summary: Option<&str>) -> FileSummary {
        FileSummary {
            id: "id".to_owned(),
            message_count: 3,
            first_user_message: Some(message.to_owned()),
            summary: summary.map(str::to_owned),
            ..FileSummary::default()
        }
    }

    /// What is known without the info, and the same from the info.
    fn check(session: &ListedSession) {
        let info = session.row().into_info();
        let known = (session.id(), session.index(), session.file_name());
        assert_eq!(known, (&*info.id, info.index, &*info.file_name));
        assert_eq!(session.display_name(), info.display_name);
        assert_eq!(session.message_count(), Some(info.message_count));
        assert_eq!(session.provider(), &info.provider);
        assert_eq!(session.unlisted(), info.unlisted.as_ref());
        assert_eq!(session.is_endangered(), info.endangered_by.is_some());
        assert_eq!(session.is_current(), info.is_current_session);
        assert_eq!(session.info(), &info);
    }

    #[test]
    fn a_listed_session_agrees_with_its_info() {
        for (message, summary) in [
            ("fix  the tests", None),
            ("日本語の\nテスト", None),
            ("fix", Some("a\u{1b}[31m summary")),
        ] {
            let mut session = listed(said(message, summary));
            check(&session);
            session.set_index(4);
            assert_eq!(session.info().index, 4, "made anew");
            check(&session);
            session.info_mut().endangered_by = Some("session-2.jsonl".to_owned());
            session.set_current(true);
            check(&session);
            session.set_current(false);
            check(&session);
            assert_eq!(session.info().clone(), session.into_info());
        }
    }

    #[test]
    fn a_session_without_a_time_began_now_and_an_early_one_has_one_time_for_both() {
        let times = |start: Option<&str>, last: Option<&str>, has_project_hash| {
            let info = listed(FileSummary {
                start_time: start.map(str::to_owned),
                last_updated: last.map(str::to_owned),
                has_project_hash,
                ..said("x", None)
            });
            let info = info.into_info();
            [info.start_time, info.last_updated]
        };
        for has_hash in [true, false] {
            assert_eq!(times(Some("1"), Some("2"), has_hash), ["1", "2"]);
            assert_eq!(times(None, None, has_hash), ["now", "now"]);
        }
        assert_eq!(times(Some("1"), None, false), ["1", "1"]);
        assert_eq!(times(None, Some("2"), false), ["2", "2"]);
        assert_eq!(times(Some("1"), None, true), ["1", "now"]);
        assert_eq!(times(None, Some("2"), true), ["now", "2"]);
    }
}
