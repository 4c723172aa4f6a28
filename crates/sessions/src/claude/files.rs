//! The files among which the sessions of Claude Code are.

use std::fs::{self, Metadata};
use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use lapidary_vocab::session::{HiddenFile, HiddenReason};

use crate::provider::{ProjectReach, ProviderScope};

/// How much of a long path is in the name of its directory; a hash follows (2.1.312).
const LONGEST_NAME: usize = 200;

/// A file that is called like a session.
#[derive(Debug)]
pub(super) struct ClaudeFile {
    pub(super) path: PathBuf,
    /// The session's id: the file's name without its ending, which is what `claude --resume` takes.
    pub(super) id: String,
    pub(super) size: u64,
    pub(super) modified: SystemTime,
}

/// The files of a scope.
#[derive(Debug, Default)]
pub(super) struct FoundFiles {
    pub(super) files: Vec<ClaudeFile>,
    pub(super) hidden: Vec<HiddenFile>,
    pub(super) warnings: Vec<String>,
}

impl FoundFiles {
    /// Looks in the directories of the scope's projects. A home without Claude Code has none.
    pub(super) fn find_in_scope(projects: &Path, scope: &ProviderScope<'_>) -> Self {
        let mut found = Self::default();
        for directory in found.wanted_directories(projects, scope) {
            // Links lead to places inside, which it is compared with.
            let inside = projects.canonicalize().unwrap_or_default();
            found.add_directory(&directory, &inside);
        }
        found
    }

    /// The directories of the scope's projects, and a sentence for each that cannot be read.
    pub(super) fn project_directories(
        projects: &Path,
        scope: &ProviderScope<'_>,
    ) -> (Vec<PathBuf>, Vec<String>) {
        let mut found = Self::default();
        let directories = found.wanted_directories(projects, scope);
        (directories, found.warnings)
    }

    fn wanted_directories(&mut self, projects: &Path, scope: &ProviderScope<'_>) -> Vec<PathBuf> {
        let Ok(inside) = projects.canonicalize() else {
            return Vec::new();
        };
        let mut directories = Vec::new();
        for (path, about) in self.directory_entries(&inside) {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            if !is_wanted(&name, scope) {
                continue;
            }
            match metadata_within(&path, &about, &inside) {
                Ok(about) if about.is_dir() => directories.push(path),
                Ok(_) => {}
                Err(why) => self.hide_file(&path, &about, HiddenReason::LinkOutside, why),
            }
        }
        directories
    }

    fn add_directory(&mut self, directory: &Path, inside: &Path) {
        for (path, about) in self.directory_entries(directory) {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            let Some(id) = name.strip_suffix(".jsonl") else {
                continue; // directories of sub-agents and of tools' results, and other files
            };
            match metadata_within(&path, &about, inside) {
                Err(why) => self.hide_file(&path, &about, HiddenReason::LinkOutside, why),
                Ok(about) if !about.is_file() => {
                    let why = "it is not a file".to_owned();
                    self.hide_file(&path, &about, HiddenReason::NotAFile, why);
                }
                Ok(about) if id.starts_with("agent-") => {
                    let why = "a sub-agent wrote it".to_owned();
                    self.hide_file(&path, &about, HiddenReason::Subagent, why);
                }
                Ok(about) => self.files.push(ClaudeFile {
                    id: id.to_owned(),
                    size: about.len(),
                    modified: about.modified().unwrap_or(SystemTime::UNIX_EPOCH),
                    path,
                }),
            }
        }
    }

    /// The entries of a directory, by name. A directory that cannot be read is a warning.
    fn directory_entries(&mut self, directory: &Path) -> Vec<(PathBuf, Metadata)> {
        let read = || -> io::Result<Vec<_>> {
            let mut entries = Vec::new();
            for entry in fs::read_dir(directory)? {
                let entry = entry?;
                // One that is gone since is none.
                entries.extend(entry.metadata().ok().map(|about| (entry.path(), about)));
            }
            entries.sort_by(|(one, _), (other, _)| one.cmp(other));
            Ok(entries)
        };
        read().unwrap_or_else(|error| {
            let directory = directory.display();
            let warning = format!("sessions in `{directory}` are not listed: {error}");
            self.warnings.push(warning);
            Vec::new()
        })
    }

    fn hide_file(
        &mut self,
        path: &Path,
        about: &Metadata,
        reason: HiddenReason,
        explanation: String,
    ) {
        self.hidden.push(HiddenFile {
            path: path.to_string_lossy().into_owned(),
            project_id: String::new(),
            reason,
            explanation,
            session_id: None,
            size: about.len(),
        });
    }
}

/// The facts of an entry, or of the place in the store that a link leads to.
fn metadata_within(path: &Path, about: &Metadata, inside: &Path) -> Result<Metadata, String> {
    if !about.is_symlink() {
        return Ok(about.clone());
    }
    let target = path.canonicalize();
    let target = target.map_err(|error| format!("it is a link that leads nowhere: {error}"))?;
    if !target.starts_with(inside) {
        return Err("it is a link to a place outside".to_owned());
    }
    fs::metadata(&target).map_err(|error| format!("it is a link that leads nowhere: {error}"))
}

/// Whether a directory may have sessions of the scope. The name does not tell for sure: `/a-b` and `/a/b` share one. So the
/// sessions in it are asked, too.
fn is_wanted(name: &str, scope: &ProviderScope<'_>) -> bool {
    let mut roots = scope.projects.iter().filter_map(|it| it.root.as_deref());
    scope.reach == ProjectReach::Everywhere || roots.any(|root| is_name_of(name, root))
}

/// Whether a directory of the store is called like a project: every character but ASCII letters and digits is a `-`.
fn is_name_of(name: &str, project: &Path) -> bool {
    let project = project.to_string_lossy();
    let plain = |unit: u16| {
        let letter = char::from(u8::try_from(unit).unwrap_or(b'-'));
        if letter.is_ascii_alphanumeric() {
            letter
        } else {
            '-'
        }
    };
    let wanted: String = project.encode_utf16().map(plain).collect();
    match wanted.get(..LONGEST_NAME) {
        Some(start) if wanted.len() > LONGEST_NAME => name.starts_with(start),
        _ => name == wanted,
    }
}

#[cfg(test)]
mod tests {
    use super::is_name_of;

    #[test]
    fn a_directory_is_named_as_claude_code_names_it() {
        let long = format!("/tmp/{}", "x".repeat(300));
        let cut = format!("-tmp-{}-1c1fbj", "x".repeat(195));
        let cases = [
            ("-tmp-project", "/tmp/project", true),
            (
                "-tmp-slugs-pro-ject-x-----",
                "/tmp/slugs/pro_ject.x ü(日)",
                true,
            ),
            ("-tmp-project", "/tmp/projec", false),
            ("-tmp-project-2", "/tmp/project", false),
            (&cut, &long, true),
        ];
        for (name, project, expected) in cases {
            assert_eq!(
                is_name_of(name, project.as_ref()),
                expected,
                "{name} {project}"
            );
        }
    }
}
