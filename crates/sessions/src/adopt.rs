//! Sessions of an older version's directory, copied to where Gemini CLI looks for them.

use std::fs;
use std::io::{self, Write as _};
use std::path::PathBuf;
use std::time::SystemTime;

use super::listing::{ListedSession, SessionListing};
use super::projects::SessionProject;

/// Copies the file of a session, named by its whole id, into the directory that the CLI uses, and returns the copy. None if the
/// CLI lists the session, or if there is no such session.
pub fn adopt(
    projects: &[SessionProject],
    id: &str,
    now: SystemTime,
) -> io::Result<Option<PathBuf>> {
    if projects.iter().all(|project| project.directories.len() < 2) {
        return Ok(None);
    }
    let listing = SessionListing::read(projects, now);
    let is_meant = |it: &&ListedSession| it.id() == id && !it.is_cli_listed();
    let Some(session) = listing.sessions.iter().find(is_meant) else {
        return Ok(None);
    };
    let chats = projects[session.project].directory.join("chats");
    fs::create_dir_all(&chats)?;
    let path = chats.join(&session.info().file_name);
    let bytes = fs::read(&session.path)?;
    let mut temp = tempfile::Builder::new()
        .prefix(".tmp-")
        .tempfile_in(&chats)?;
    temp.write_all(&bytes)?;
    temp.as_file().sync_all()?;
    temp.persist_noclobber(&path)
        .map_err(|refused| refused.error)?;
    Ok(Some(path))
}
