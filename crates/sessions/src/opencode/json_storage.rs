//! Sessions in JSON files (opencode up to 1.1): `storage/session/<project>/<session>.json`, `storage/message/<session>/<message>.json`,
//! `storage/part/<message>/<part>.json`.

use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use lapidary_json::{Token, TokenKind};
use lapidary_normalize::opencode::{MessageRows, OpencodeRows, RowsError};
use lapidary_normalize::time::rfc3339_text;
use lapidary_vocab::session::HiddenReason;
use lapidary_wire::opencode::{OpencodeRow, is_session_file};

use super::{FoundSession, FoundSessions, given_title, store_file};
use crate::agent_summary::{AgentSummary, SkippedBecause};
use crate::listing::each_file;
use crate::store_files::{FoundFiles, NOT_FOLLOWED, StoreFile};
use crate::subagent_files::is_plain_name;

/// The largest file of a session that is read.
const LARGEST: u64 = 64 << 20;

/// The JSON files of a home.
#[derive(Debug)]
pub(super) struct JsonStorage {
    storage: PathBuf,
}

impl JsonStorage {
    pub(super) fn new(storage: PathBuf) -> Self {
        Self { storage }
    }

    /// The storage that a session's own file belongs to, and the session's id.
    pub(super) fn of_session_file(path: &Path) -> Result<(Self, String), RowsError> {
        let storage = path.ancestors().nth(3).ok_or("it is in no storage")?;
        let id = path.file_stem().unwrap_or_default().to_string_lossy();
        Ok((Self::new(storage.to_owned()), id.into_owned()))
    }

    /// Adds the sessions.
    pub(super) fn find_sessions(&self, found: &mut FoundSessions) {
        let mut files = self.found_files();
        let each: Vec<&StoreFile> = files.files.iter().collect();
        let read = each_file(&each, || (), |(), file| self.summarise(file));
        for (file, read) in files.files.iter().zip(read) {
            match read {
                Ok(session) => found.sessions.push(session),
                Err((reason, why)) => found.hidden.push(file.hidden_file(reason, why)),
            }
        }
        found.hidden.append(&mut files.hidden);
        files.warnings.retain(|it| !found.warnings.contains(it));
        found.warnings.append(&mut files.warnings);
    }

    /// The sessions' own files, and warnings.
    pub(super) fn session_files(&self) -> (Vec<PathBuf>, Vec<String>) {
        let found = self.found_files();
        let paths = found.files.into_iter().map(|file| file.path);
        (paths.collect(), found.warnings)
    }

    fn found_files(&self) -> FoundFiles {
        let mut files = FoundFiles::default();
        let place = self.storage.join("session");
        if files.reach(&place).is_none() {
            return files;
        }
        for (path, about) in files.directory_entries(&place) {
            files.hide_linked_directory(&path, &about);
            if about.is_dir() {
                files.add_directory(&path, ".json", &self.storage);
            }
        }
        files
    }

    fn summarise(&self, file: &StoreFile) -> Result<FoundSession, SkippedBecause> {
        let unreadable = |error: io::Error| {
            let why = format!("it cannot be read: {error}");
            (HiddenReason::Unreadable, why)
        };
        let text = read_plain(&file.path).map_err(unreadable)?;
        if text.trim_ascii().is_empty() {
            return Err((HiddenReason::Empty, "it is empty".to_owned()));
        }
        let session = object(&text).filter(|it| is_session_file(*it));
        let Some(session) = session else {
            return Err((HiddenReason::NotASession, "it names no session".to_owned()));
        };
        let row = OpencodeRow::from_token(session);
        let string = |key| Some(row.string(key)?.string()?.into_owned());
        let time = |key| row.get("time")?.get(key)?.u64();
        let mut summary = AgentSummary {
            directory: string("directory"),
            started: time("created").and_then(rfc3339_text),
            updated: time("updated").and_then(rfc3339_text),
            title: given_title(string("title")),
            ..AgentSummary::default()
        };
        self.count_messages(&file.id, &mut summary)
            .map_err(unreadable)?;
        if summary.messages == 0 {
            return Err((HiddenReason::NoContent, "it has no messages".to_owned()));
        }
        let mut found = store_file(file.path.clone(), file.id.clone(), time("updated"), summary);
        found.size = file.size;
        Ok(FoundSession {
            file: found,
            parent: string("parentID"),
        })
    }

    fn count_messages(&self, session: &str, summary: &mut AgentSummary) -> io::Result<()> {
        for path in self.files_in("message", session)? {
            let Ok(text) = read_plain(&path) else {
                continue;
            };
            let message = object(&text).map(OpencodeRow::from_token);
            let role = message.and_then(|it| it.string("role"));
            if role.is_some_and(|role| role.is("user")) {
                let id = path.file_stem().unwrap_or_default().to_string_lossy();
                summary.note_prompt(|| self.said(&id));
            } else {
                summary.messages += 1;
            }
        }
        Ok(())
    }

    /// The words of a prompt.
    fn said(&self, message: &str) -> String {
        let texts = self
            .files_in("part", message)
            .into_iter()
            .flatten()
            .filter_map(|path| {
                let text = read_plain(&path).ok()?;
                let part = OpencodeRow::from_token(object(&text)?);
                let said = part.string("text").filter(|_| !part.is_synthetic());
                Some(said?.string()?.into_owned())
            });
        texts.take(1).collect()
    }

    /// The files of a directory by name, which is their order; none for an id that is no plain name.
    fn files_in(&self, kind: &str, id: &str) -> io::Result<Vec<PathBuf>> {
        if !is_plain_name(id) {
            return Ok(Vec::new());
        }
        let directory = self.storage.join(kind).join(id);
        let is_link = directory.symlink_metadata().is_ok_and(|it| it.is_symlink());
        if is_link {
            return Err(io::Error::other(NOT_FOLLOWED));
        }
        let entries = match fs::read_dir(directory) {
            Ok(entries) => entries.flatten(),
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(error),
        };
        let mut files: Vec<_> = entries
            .filter(|entry| entry.file_type().is_ok_and(|it| it.is_file()))
            .map(|entry| entry.path())
            .filter(|path| path.extension().is_some_and(|it| it == "json"))
            .collect();
        files.sort();
        Ok(files)
    }

    /// A message with its parts. opencode may remove files of a session while it is read.
    fn message_rows(&self, path: &Path) -> MessageRows {
        let mut unread = Vec::new();
        let mut read = |path: &Path| match read_plain(path) {
            Ok(text) => Some(text),
            Err(error) => {
                unread.push(unread_sentence(path, &error));
                None
            }
        };
        let message = read(path).unwrap_or_default();
        let id = path.file_stem().unwrap_or_default().to_string_lossy();
        let parts = match self.files_in("part", &id) {
            Ok(parts) => parts.iter().filter_map(|part| read(part)).collect(),
            Err(error) => {
                let directory = self.storage.join("part").join(&*id);
                unread.push(unread_sentence(&directory, &error));
                Vec::new()
            }
        };
        MessageRows {
            message,
            parts,
            unread,
        }
    }

    fn session_file(&self, id: &str) -> Option<PathBuf> {
        let projects = fs::read_dir(self.storage.join("session")).ok()?;
        let name = is_plain_name(id).then(|| format!("{id}.json"))?;
        let mut files = projects.flatten().map(|it| it.path().join(&name));
        files.find(|path| path.is_file())
    }
}

impl OpencodeRows for JsonStorage {
    fn session(&self, id: &str) -> Result<Option<String>, RowsError> {
        let file = self.session_file(id);
        Ok(file.map(|path| read_plain(&path)).transpose()?)
    }

    fn each_message(
        &self,
        session_id: &str,
        take: &mut dyn FnMut(MessageRows),
    ) -> Result<(), RowsError> {
        for path in self.files_in("message", session_id)? {
            take(self.message_rows(&path));
        }
        Ok(())
    }
}

fn unread_sentence(path: &Path, error: &io::Error) -> String {
    format!("`{}` cannot be read: {error}", path.display())
}

fn read_plain(path: &Path) -> io::Result<String> {
    let mut bytes = Vec::new();
    File::open(path)?.take(LARGEST).read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

fn object(text: &str) -> Option<Token<'_>> {
    Token::parse(text).ok()?.if_kind(TokenKind::Object)
}
