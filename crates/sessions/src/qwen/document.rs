//! Session files of Qwen Code before 0.5: one JSON document each, in a directory that is named by a hash of the project.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::Path;

use lapidary_json::{Token, TokenKind};
use lapidary_vocab::session::HiddenReason;
use lapidary_wire::gemini::session::{MessageRecord, ReplayedLog};

use crate::agent_summary::{AgentSummary, IdentifiedSummary, SkippedBecause};
use crate::message_text::says;
use crate::projects::project_hash;
use crate::provider_scope::{ProjectReach, ProviderScope};
use crate::store_files::FoundFiles;

/// The largest document that is read. A document has to be held whole.
const LARGEST: u64 = 64 << 20;

/// Whether a file is of this generation.
pub(super) fn is_document(path: &Path) -> bool {
    path.extension().is_some_and(|ending| ending == "json")
}

/// Adds the documents of the scope's projects.
pub(super) fn add_documents(found: &mut FoundFiles, tmp: &Path, scope: &ProviderScope<'_>) {
    if found.reach(tmp).is_none() {
        return;
    }
    for (path, about) in found.directory_entries(tmp) {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let is_wanted = scope.reach == ProjectReach::Everywhere || is_of_project(&name, scope);
        if !is_wanted {
            continue;
        }
        found.hide_linked_directory(&path, &about);
        let chats = path.join("chats");
        if about.is_dir() && found.accept_directory(&chats, tmp) {
            found.add_directory(&chats, ".json", tmp);
        }
    }
}

/// The bytes of a document.
pub(super) fn read_document(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    File::open(path)?.take(LARGEST).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// The facts of a document that a list needs.
pub(super) fn summarise(path: &Path) -> Result<IdentifiedSummary, SkippedBecause> {
    let cause = |reason, why: &str| (reason, why.to_owned());
    let bytes = read_document(path).map_err(|error| {
        (
            HiddenReason::Unreadable,
            format!("it cannot be read: {error}"),
        )
    })?;
    if bytes.len() as u64 == LARGEST {
        return Err(cause(HiddenReason::TooLarge, "it is larger than 64 MiB"));
    }
    let log = ReplayedLog::read(&bytes);
    let text = |key| Some(log.get(key)?.string()?.into_owned());
    let id = match text("sessionId") {
        Some(id) => id,
        None if bytes.trim_ascii().is_empty() => {
            return Err(cause(HiddenReason::Empty, "it is empty"));
        }
        None => return Err(cause(HiddenReason::NotASession, "it names no session")),
    };
    // The project is known by its hash only. Unless it is one that was named, the directory of the store stands for it.
    let stored = path.parent().and_then(Path::parent);
    let mut summary = AgentSummary {
        directory: stored.map(|it| it.to_string_lossy().into_owned()),
        directory_hash: text("projectHash"),
        started: text("startTime"),
        updated: text("lastUpdated"),
        ..AgentSummary::default()
    };
    log.messages().for_each(|it| add_message(it, &mut summary));
    if summary.messages == 0 {
        return Err(cause(HiddenReason::NoContent, "it has no messages"));
    }
    Ok((id, summary))
}

fn add_message(record: Token<'_>, summary: &mut AgentSummary) {
    let message = MessageRecord::from_token(record);
    let kind = message.kind.and_then(|it| it.if_kind(TokenKind::String));
    if kind.is_some_and(|kind| kind.is("user")) {
        let said = record.get("content").map(says).unwrap_or_default();
        summary.note_prompt(|| said.into_owned());
    } else if kind.is_some_and(|kind| kind.is("qwen")) {
        summary.messages += 1;
    }
}

/// Whether this is the hash of a directory of the scope.
fn is_of_project(hash: &str, scope: &ProviderScope<'_>) -> bool {
    let mut roots = scope.projects.iter().filter_map(|it| it.root.as_deref());
    roots.any(|root| project_hash(root) == hash)
}
