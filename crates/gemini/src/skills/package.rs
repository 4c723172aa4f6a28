//! A package to install: a directory, as it is or out of an archive, and the skills in it.

use std::collections::VecDeque;
use std::fs;
use std::path::{Component, Path, PathBuf};

use super::discover::{RefusedSkill, discover, is_passed_over};
use super::{DiscoveryTier, FILE, SkillDefinition};

/// How deep to look for skills to suggest, where the named directory has none.
const DEEPEST: usize = 4;
/// How many directories are looked at for them.
const MOST: usize = 2000;

/// How many skills a package may have.
pub const MOST_SKILLS: usize = 1000;
/// How many bytes their instructions may have together: 64 MiB. They are all read.
const MOST_READ: u64 = 64 * 1024 * 1024;

/// Skills to install or link.
#[derive(Debug)]
pub struct SkillPackage {
    /// The directory that they are in.
    pub directory: PathBuf,
    /// The skills.
    pub skills: Vec<SkillDefinition>,
    /// Files that should be skills and are not.
    pub refused: Vec<RefusedSkill>,
}

/// Why there is nothing to install.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PackageError {
    /// The path leads out of the unpacked archive or the clone.
    #[error("Invalid path: Directory traversal not allowed.")]
    LeadsOut,
    /// A link leads out of the unpacked archive or the clone: its target is not even read.
    #[error("`{0}` is behind a link that points outside {1}")]
    LinkLeadsOut(PathBuf, String),
    /// There are too many skills, or they are too long.
    #[error("{0} has more than {MOST_SKILLS} skills, or more than 64 MiB of instructions in them")]
    TooMuch(String),
    /// There is no such directory in it.
    #[error("there is no directory `{path}` in {source_name}")]
    NoDirectory {
        /// The package, as the user named it.
        source_name: String,
        /// The path in it, as the user named it.
        path: String,
        /// Whether it is there, as a file.
        is_file: bool,
        /// Directories that have skills, and how many.
        below: Vec<(PathBuf, usize)>,
    },
    /// There is no skill.
    #[error(
        "No valid skills found in {source_name}{}. Ensure a SKILL.md file exists with valid frontmatter.",
        path_clause(path.as_deref())
    )]
    NoSkills {
        /// The package, as the user named it.
        source_name: String,
        /// Which directory of it, if one was named.
        path: Option<String>,
        /// Files that should be skills and are not.
        refused: Vec<RefusedSkill>,
        /// Directories further down that have skills, and how many.
        below: Vec<(PathBuf, usize)>,
    },
}

fn path_clause(path: Option<&str>) -> String {
    path.map(|path| format!(r#" at path "{path}""#))
        .unwrap_or_default()
}

impl SkillPackage {
    /// The skills of a directory, or of one in it.
    pub fn find(request: &PackageRequest<'_>) -> Result<Self, PackageError> {
        let directory = request.package_directory()?;
        if let Some(path) = request.path.filter(|_| !directory.is_dir()) {
            return Err(PackageError::NoDirectory {
                source_name: request.name.to_owned(),
                path: path.to_owned(),
                is_file: directory.is_file(),
                below: request.skill_directories(request.root),
            });
        }
        if is_too_much(&directory) {
            return Err(PackageError::TooMuch(request.name.to_owned()));
        }
        if let Some(path) = request.leads_out(&directory) {
            let path = path.strip_prefix(request.root).unwrap_or(&path).to_owned();
            return Err(PackageError::LinkLeadsOut(path, request.name.to_owned()));
        }
        let found = discover(&directory, DiscoveryTier::User);
        if found.skills.is_empty() {
            return Err(PackageError::NoSkills {
                source_name: request.name.to_owned(),
                path: request.path.map(str::to_owned),
                refused: found.refused,
                below: request.skill_directories(&directory),
            });
        }
        Ok(Self {
            directory,
            skills: found.skills,
            refused: found.refused,
        })
    }
}

/// Where to look for skills.
#[derive(Debug)]
pub struct PackageRequest<'a> {
    /// The directory.
    pub root: &'a Path,
    /// A directory in it.
    pub path: Option<&'a str>,
    /// The name that the user gave.
    pub name: &'a str,
    /// Whether it was unpacked or cloned: then nothing outside it counts.
    pub is_foreign: bool,
}

impl PackageRequest<'_> {
    fn package_directory(&self) -> Result<PathBuf, PackageError> {
        let Some(path) = self.path else {
            return Ok(self.root.to_owned());
        };
        let directory = normalized(&self.root.join(path));
        if !self.is_foreign {
            return Ok(directory);
        }
        // A link may lead out as well as dots may.
        let real = directory.canonicalize();
        let is_inside = match (&real, self.root.canonicalize()) {
            (Ok(real), Ok(root)) => real.starts_with(root),
            _ => directory.starts_with(self.root),
        };
        if is_inside {
            Ok(directory)
        } else {
            Err(PackageError::LeadsOut)
        }
    }
}

impl PackageRequest<'_> {
    /// The first `SKILL.md` to read that lies outside the unpacked archive or the clone, if there is one.
    fn leads_out(&self, directory: &Path) -> Option<PathBuf> {
        if !self.is_foreign {
            return None;
        }
        let root = self.root.canonicalize().ok()?;
        let entries = fs::read_dir(directory).into_iter().flatten().flatten();
        let names = entries.map(|entry| entry.file_name());
        let inner = names.filter(|name| !is_passed_over(name));
        let inner = inner.map(|name| directory.join(name).join(FILE));
        let mut files = inner.chain([directory.join(FILE)]);
        files.find(|file| file.canonicalize().is_ok_and(|it| !it.starts_with(&root)))
    }

    /// Directories further down that hold skills, relative to the root of the package, with how many each holds.
    fn skill_directories(&self, directory: &Path) -> Vec<(PathBuf, usize)> {
        let mut found = Vec::new();
        let mut left = MOST;
        let mut waiting = VecDeque::from([(directory.to_owned(), 0)]);
        while let Some((path, depth)) = waiting.pop_front() {
            let mut inner: Vec<PathBuf> = fs::read_dir(&path)
                .into_iter()
                .flatten()
                .filter_map(|entry| Some(entry.ok()?.path()))
                .filter(|path| {
                    path.is_dir() && !path.is_symlink() && path.file_name() != Some(".git".as_ref())
                })
                .take(left)
                .collect();
            left -= inner.len();
            inner.sort();
            let has_skill = |path: &PathBuf| path.join(FILE).is_file();
            let is_candidate = has_skill(&path) || inner.iter().any(has_skill);
            let count = if is_candidate && !is_too_much(&path) && self.leads_out(&path).is_none() {
                discover(&path, DiscoveryTier::User).skills.len()
            } else {
                0
            };
            if count > 0 {
                let path = path.strip_prefix(self.root).unwrap_or(&path);
                found.push((path.to_owned(), count));
            } else if depth < DEEPEST {
                waiting.extend(inner.into_iter().map(|path| (path, depth + 1)));
            }
        }
        found
    }
}

/// Whether a directory exceeds the limit on skills or on bytes of instructions: links can multiply one skill.
fn is_too_much(directory: &Path) -> bool {
    let (mut count, mut bytes) = (0, 0);
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    let names = entries.map(|entry| entry.file_name());
    for name in names.filter(|name| !is_passed_over(name)) {
        let Ok(about) = directory.join(name).join(FILE).metadata() else {
            continue;
        };
        count += 1;
        bytes += about.len();
        if count > MOST_SKILLS || bytes > MOST_READ {
            return true;
        }
    }
    false
}

/// A path without `.` and `..`, lexically, as Gemini CLI treats path arguments.
pub fn normalized(path: &Path) -> PathBuf {
    let mut clean = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                clean.pop();
            }
            part => clean.push(part),
        }
    }
    clean
}
