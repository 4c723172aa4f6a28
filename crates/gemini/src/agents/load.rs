//! Agent files: one text, one file, a directory of them.

use std::fmt::Write as _;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use sha2::{Digest as _, Sha256};

use super::convert;
use super::failure::{AgentLoadError, LoadProblem};
use super::frontmatter::{self, Frontmatter};
use super::{AgentDefinition, AgentMetadata};
use crate::file;

/// The agents of a directory.
#[derive(Debug, Default)]
pub struct LoadedAgents {
    /// The definitions, by file name.
    pub agents: Vec<AgentDefinition>,
    /// The files that are none.
    pub errors: Vec<AgentLoadError>,
    /// Entries that Gemini CLI passes over, and why, as far as they could be meant as agents.
    pub ignored: Vec<IgnoredFile>,
}

/// An entry of a directory of agents that is passed over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IgnoredFile {
    /// The entry.
    pub path: PathBuf,
    /// Why, as the rest of a sentence about it.
    pub reason: &'static str,
}

/// Reads the text of an agent file. A list of remote agents gives several.
///
/// ```
/// use std::path::Path;
/// use lapidary_gemini::agents::parse_agents;
///
/// let text = "---\nname: reviewer\ndescription: Reviews changes\ntools: [read_file]\n---\nLook for bugs.\n";
/// let agents = parse_agents(Path::new("reviewer.md"), text).expect("this is an agent");
/// assert_eq!(agents[0].name(), "reviewer");
/// let error = parse_agents(Path::new("x.md"), "---\nname: A B\ndescription: x\n---\n").unwrap_err();
/// assert!(error.to_string().ends_with("name: Name must be a valid slug"));
/// ```
pub fn parse_agents(path: &Path, text: &str) -> Result<Vec<AgentDefinition>, AgentLoadError> {
    let metadata = AgentMetadata {
        hash: Some(sha256_hex(text)),
        file_path: Some(path.to_owned()),
    };
    let read = frontmatter::read_frontmatter(text).map_err(|problem| AgentLoadError {
        path: path.to_owned(),
        problem,
    })?;
    Ok(match read {
        Frontmatter::Local { header, body } => vec![convert::local_agent(&header, body, metadata)],
        Frontmatter::Remote(headers) => {
            let headers = headers.iter();
            headers
                .map(|header| convert::remote_agent(header, metadata.clone()))
                .collect()
        }
    })
}

/// Reads one agent file.
pub fn load_agent_file(path: &Path) -> Result<Vec<AgentDefinition>, AgentLoadError> {
    let unreadable = |problem| AgentLoadError {
        path: path.to_owned(),
        problem: LoadProblem::Unreadable(problem),
    };
    let text = file::text(path).map_err(unreadable)?;
    let text = text.ok_or_else(|| unreadable(io::Error::from(io::ErrorKind::NotFound).into()))?;
    parse_agents(path, &text)
}

/// Reads the agent files of a directory: regular files whose names end in `.md` and do not begin with `_`, no deeper, by name.
pub fn load_agents(directory: &Path) -> LoadedAgents {
    let mut loaded = LoadedAgents::default();
    let entries = match fs::read_dir(directory) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return loaded,
        Err(error) => {
            loaded.errors.push(AgentLoadError {
                path: directory.to_owned(),
                problem: LoadProblem::Directory(error),
            });
            return loaded;
        }
    };
    let mut entries: Vec<_> = entries.filter_map(Result::ok).collect();
    entries.sort_by_key(fs::DirEntry::file_name);
    for entry in entries {
        match why_ignored(&entry) {
            Some(reason) => loaded.ignored.push(IgnoredFile {
                path: entry.path(),
                reason,
            }),
            None => match load_agent_file(&entry.path()) {
                Ok(agents) => loaded.agents.extend(agents),
                Err(error) => loaded.errors.push(error),
            },
        }
    }
    loaded
}

fn why_ignored(entry: &fs::DirEntry) -> Option<&'static str> {
    let name = entry.file_name();
    let name = name.as_encoded_bytes();
    let kind = entry.file_type().ok();
    if kind.is_some_and(|kind| kind.is_symlink()) {
        Some("is a link, which Gemini CLI does not follow here")
    } else if kind.is_some_and(|kind| kind.is_dir()) {
        Some("is a directory: agents are looked for no deeper")
    } else if !name.ends_with(b".md") {
        Some("does not end in `.md`")
    } else if name.starts_with(b"_") {
        Some("begins with `_`")
    } else if !kind.is_some_and(|kind| kind.is_file()) {
        Some("is not a regular file")
    } else {
        None
    }
}

/// The SHA-256 of a text, in hexadecimal.
pub(super) fn sha256_hex(text: &str) -> String {
    let mut hexadecimal = String::with_capacity(64);
    for byte in Sha256::digest(text.as_bytes()) {
        // Writing to a text cannot fail.
        let _ = write!(hexadecimal, "{byte:02x}");
    }
    hexadecimal
}
