//! A list of sessions as JSON, row by row: a list of tens of thousands is printed without copying the texts that its rows borrow.

use std::borrow::Cow;
use std::io::{self, Write};

use super::write_string;
use crate::event::Provider;
use crate::session::{SessionInfo, SessionList, UnlistedPlace};

/// A [`SessionInfo`] that borrows its texts. Its fields are those of a `SessionInfo`.
#[derive(Debug, Clone)]
#[expect(missing_docs, reason = "each field is the one of `SessionInfo`")]
pub struct SessionRow<'s> {
    pub id: &'s str,
    pub provider: &'s Provider,
    pub run: Option<&'s str>,
    pub file: &'s str,
    pub file_name: &'s str,
    pub path: Cow<'s, str>,
    pub start_time: &'s str,
    pub last_updated: &'s str,
    pub message_count: u64,
    pub user_message_count: u64,
    pub display_name: &'s str,
    pub first_user_message: &'s str,
    pub is_current_session: bool,
    pub index: u64,
    pub unlisted: Option<&'s UnlistedPlace>,
    pub summary: Option<&'s str>,
    pub project: Option<&'s str>,
    pub project_id: &'s str,
    pub size: u64,
    pub endangered_by: Option<&'s str>,
}

impl<'s> From<&'s SessionInfo> for SessionRow<'s> {
    fn from(info: &'s SessionInfo) -> Self {
        Self {
            id: &info.id,
            provider: &info.provider,
            run: info.run.as_deref(),
            file: &info.file,
            file_name: &info.file_name,
            path: Cow::Borrowed(&info.path),
            start_time: &info.start_time,
            last_updated: &info.last_updated,
            message_count: info.message_count,
            user_message_count: info.user_message_count,
            display_name: &info.display_name,
            first_user_message: &info.first_user_message,
            is_current_session: info.is_current_session,
            index: info.index,
            unlisted: info.unlisted.as_ref(),
            summary: info.summary.as_deref(),
            project: info.project.as_deref(),
            project_id: &info.project_id,
            size: info.size,
            endangered_by: info.endangered_by.as_deref(),
        }
    }
}

impl SessionRow<'_> {
    /// The same with texts of its own.
    pub fn into_info(self) -> SessionInfo {
        SessionInfo {
            id: self.id.to_owned(),
            provider: self.provider.clone(),
            run: self.run.map(str::to_owned),
            file: self.file.to_owned(),
            file_name: self.file_name.to_owned(),
            path: self.path.into_owned(),
            start_time: self.start_time.to_owned(),
            last_updated: self.last_updated.to_owned(),
            message_count: self.message_count,
            user_message_count: self.user_message_count,
            display_name: self.display_name.to_owned(),
            first_user_message: self.first_user_message.to_owned(),
            is_current_session: self.is_current_session,
            index: self.index,
            unlisted: self.unlisted.cloned(),
            summary: self.summary.map(str::to_owned),
            project: self.project.map(str::to_owned),
            project_id: self.project_id.to_owned(),
            size: self.size,
            endangered_by: self.endangered_by.map(str::to_owned),
        }
    }
}

/// Writes a list of sessions and a newline: the same bytes as [`write()`](super::write()) of a [`SessionList`] with these sessions, faster, and
/// without a copy of them.
pub fn write_sessions<'s>(
    out: &mut impl Write,
    list: &SessionList,
    sessions: impl Iterator<Item = SessionRow<'s>>,
) -> io::Result<()> {
    let SessionList {
        schema,
        sessions: _,
        hidden_count,
        hidden,
        agents,
        warnings,
    } = list;
    out.write_all(b"{\"schema\":")?;
    write_string(out, schema)?;
    out.write_all(b",\"sessions\":[")?;
    let (mut project, mut row) = (ProjectMembers::default(), Vec::<u8>::new());
    for (place, session) in sessions.enumerate() {
        row.clear();
        row.extend_from_slice(if place == 0 { b"" } else { b"," });
        write_session(&mut row, &session, &mut project)?;
        out.write_all(&row)?;
    }
    write!(out, "],\"hiddenCount\":{hidden_count}")?;
    if !hidden.is_empty() {
        out.write_all(b",\"hidden\":")?;
        serde_json::to_writer(&mut *out, hidden)?;
    }
    if !agents.is_empty() {
        out.write_all(b",\"agents\":")?;
        serde_json::to_writer(&mut *out, agents)?;
    }
    if !warnings.is_empty() {
        out.write_all(b",\"warnings\":")?;
        serde_json::to_writer(&mut *out, warnings)?;
    }
    out.write_all(b"}\n")
}

/// The members of a row that neighbours in a list share, as they were last written.
#[derive(Debug, Default)]
struct ProjectMembers {
    project: Option<String>,
    project_id: String,
    json: Vec<u8>,
}

impl ProjectMembers {
    /// The members of this project.
    fn of(&mut self, project: Option<&str>, project_id: &str) -> io::Result<&[u8]> {
        let is_written = !self.json.is_empty();
        if is_written && self.project.as_deref() == project && self.project_id == project_id {
            return Ok(&self.json);
        }
        self.json.clear();
        if let Some(project) = project {
            write_member(&mut self.json, b",\"project\":", project)?;
        }
        write_member(&mut self.json, b",\"projectId\":", project_id)?;
        self.project = project.map(str::to_owned);
        project_id.clone_into(&mut self.project_id);
        Ok(&self.json)
    }
}

/// Not generic, as in [`push_event`](super::push_event).
fn write_session(
    out: &mut Vec<u8>,
    session: &SessionRow<'_>,
    members: &mut ProjectMembers,
) -> io::Result<()> {
    let SessionRow {
        id,
        provider,
        run,
        file,
        file_name,
        path,
        start_time,
        last_updated,
        message_count,
        user_message_count,
        display_name,
        first_user_message,
        is_current_session,
        index,
        unlisted,
        summary,
        project,
        project_id,
        size,
        endangered_by,
    } = session;
    write_member(out, b"{\"id\":", id)?;
    write_member(out, b",\"provider\":", provider.as_str())?;
    if let Some(run) = run {
        write_member(out, b",\"run\":", run)?;
    }
    file_members(out, file, file_name, path)?;
    write_member(out, b",\"startTime\":", start_time)?;
    write_member(out, b",\"lastUpdated\":", last_updated)?;
    write_count(out, b",\"messageCount\":", *message_count)?;
    write_count(out, b",\"userMessageCount\":", *user_message_count)?;
    title_members(out, display_name, first_user_message)?;
    out.write_all(if *is_current_session {
        b",\"isCurrentSession\":true"
    } else {
        b",\"isCurrentSession\":false".as_slice()
    })?;
    write_count(out, b",\"index\":", *index)?;
    if let Some(unlisted) = unlisted {
        write_member(out, b",\"unlisted\":", unlisted.as_str())?;
    }
    if let Some(summary) = summary {
        write_member(out, b",\"summary\":", summary)?;
    }
    out.write_all(members.of(*project, project_id)?)?;
    write_count(out, b",\"size\":", *size)?;
    if let Some(endangered_by) = endangered_by {
        write_member(out, b",\"endangeredBy\":", endangered_by)?;
    }
    out.write_all(b"}")
}

fn write_member(out: &mut impl Write, key: &[u8], text: &str) -> io::Result<()> {
    out.write_all(key)?;
    write_string(out, text)
}

/// A name mostly stands in its path, and needs no escape if the path needs none.
fn file_members(out: &mut impl Write, file: &str, file_name: &str, path: &str) -> io::Result<()> {
    let is_in_path = path.ends_with(file_name) && file_name.starts_with(file);
    if !is_in_path || lapidary_json::needs_escape(path) {
        write_member(out, b",\"file\":", file)?;
        write_member(out, b",\"fileName\":", file_name)?;
        return write_member(out, b",\"path\":", path);
    }
    plain_member(out, b",\"file\":\"", file)?;
    plain_member(out, b",\"fileName\":\"", file_name)?;
    plain_member(out, b",\"path\":\"", path)
}

/// Both titles are mostly the same text, which is escaped once.
fn title_members(out: &mut impl Write, name: &str, first_message: &str) -> io::Result<()> {
    if name != first_message {
        write_member(out, b",\"displayName\":", name)?;
        return write_member(out, b",\"firstUserMessage\":", first_message);
    }
    if !lapidary_json::needs_escape(name) {
        plain_member(out, b",\"displayName\":\"", name)?;
        return plain_member(out, b",\"firstUserMessage\":\"", name);
    }
    let json = serde_json::to_vec(name)?;
    out.write_all(b",\"displayName\":")?;
    out.write_all(&json)?;
    out.write_all(b",\"firstUserMessage\":")?;
    out.write_all(&json)
}

/// A text that needs no escape, behind its key and a quote.
fn plain_member(out: &mut impl Write, key_and_quote: &[u8], text: &str) -> io::Result<()> {
    out.write_all(key_and_quote)?;
    out.write_all(text.as_bytes())?;
    out.write_all(b"\"")
}

/// A number. Not by `write!`, which takes as long for one as for three texts.
fn write_count(out: &mut impl Write, key: &[u8], number: u64) -> io::Result<()> {
    out.write_all(key)?;
    Ok(serde_json::to_writer(out, &number)?)
}
