//! Held files that were deleted or replaced during a run, and whose names other files have by now.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use super::SeenFile;
use crate::content_facts::ContentFacts;
use crate::names;
use crate::vault::held::{self, HeldFile, HeldFiles};
use crate::vault::replay::{LogReplay, ReadingDepth, lossy_utf8};

/// Such a file.
pub(super) struct LostFile {
    /// The session that it belongs to, by its own header or by that of another file of its name.
    pub(super) session_id: Option<String>,
    /// The name that it had.
    pub(super) path: PathBuf,
    /// Its text, as the CLI reads it.
    pub(super) bytes: Vec<u8>,
    /// Not a subagent's, by its place.
    pub(super) is_main: bool,
    modified: SystemTime,
}

impl LostFile {
    pub(super) fn is_of(&self, id: &str) -> bool {
        self.session_id.as_deref() == Some(id)
    }
}

/// The lost files with messages, in the order in which they were written; and the lost files that have the header that the
/// present file of their name lacks, because the CLI continues in a new file when its own was deleted.
pub(super) fn lost_files(chats: &Path, before: &[SeenFile], after: &[SeenFile]) -> Vec<LostFile> {
    let held = HeldFiles::open(chats).held_files().into_iter();
    let gone = held.filter(|it| it.is_gone);
    let mut lost: Vec<LostFile> = gone.filter_map(|file| lost_file(&file, chats)).collect();
    // Clocks of files tick every few milliseconds: of two the one with the header was first.
    lost.sort_by_key(|it| (it.modified, it.session_id.is_none()));
    // One that was there before the run is seen to with the other files that have lost their beginning.
    let lacks_header = |path: &Path| {
        let mut files = after.iter().filter(|it| it.path == path);
        files.any(|it| it.facts.session_id.is_none()) && before.iter().all(|it| it.path != path)
    };
    lost.retain(|it| {
        held::has_content(&it.bytes) || (it.session_id.is_some() && lacks_header(&it.path))
    });
    let ids: Vec<_> = lost
        .iter()
        .map(|it| {
            it.session_id
                .clone()
                .or_else(|| named_so(&it.path, &lost, before, after))
        })
        .collect();
    for (lost, id) in lost.iter_mut().zip(ids) {
        lost.session_id = id;
    }
    lost
}

fn lost_file(file: &HeldFile, chats: &Path) -> Option<LostFile> {
    let bytes = lossy_utf8(&file.read().ok()?).into_owned();
    Some(LostFile {
        session_id: ContentFacts::read(&bytes).session_id,
        is_main: file.path.parent() == Some(chats),
        path: file.path.clone(),
        modified: file.modified,
        bytes,
    })
}

/// The session of another file that has, or had, this path; else the only one with its eight characters.
fn named_so(
    path: &Path,
    lost: &[LostFile],
    before: &[SeenFile],
    after: &[SeenFile],
) -> Option<String> {
    let seen = before.iter().chain(after);
    let seen = seen.map(|it| (it.path.as_path(), &it.facts.session_id));
    let all = seen.chain(lost.iter().map(|it| (it.path.as_path(), &it.session_id)));
    let all: Vec<_> = all
        .filter_map(|(path, id)| Some((path, id.as_deref()?)))
        .collect();
    if let Some((_, id)) = all.iter().find(|it| it.0 == path) {
        return Some((*id).to_owned());
    }
    let short_of = |path: &Path| {
        let name = path.file_name()?.to_string_lossy().into_owned();
        names::short_id(&name).map(String::from)
    };
    let short = short_of(path)?;
    let namesakes = all
        .iter()
        .filter(|it| short_of(it.0).as_ref() == Some(&short));
    let mut ids: Vec<_> = namesakes.map(|it| it.1).collect();
    ids.sort_unstable();
    ids.dedup();
    (ids.len() == 1).then(|| ids[0].to_owned())
}

/// True if the file that has the name now, or another one of its session, has every message.
pub(super) fn is_in_place(file: &HeldFile, bytes: &[u8]) -> bool {
    let ours = lossy_utf8(bytes);
    let ours = LogReplay::from_bytes(&ours, ReadingDepth::Hidden);
    let there = fs::read(&file.path).unwrap_or_default();
    let there = lossy_utf8(&there);
    held::has_all(
        &LogReplay::from_bytes(&there, ReadingDepth::Everything),
        &ours,
    ) || held::is_elsewhere(&file.path, bytes)
}
