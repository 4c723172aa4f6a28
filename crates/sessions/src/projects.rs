//! Which directories hold a project's sessions.
//!
//! Since 0.29 a project's directory has a readable name, kept in `projects.json` and claimed by a `.project_root` file in the
//! directory itself. Before that its name was the SHA-256 of the project's path. The `projects/` directory is in a
//! specification only, and read as a courtesy.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Write as _};
use std::path::{Component, Path, PathBuf};

use serde_json::Value;
use sha2::{Digest as _, Sha256};

use lapidary_gemini::GeminiHome;
use lapidary_gemini::file;

/// The file that says whose directory it is in.
const MARKER: &str = ".project_root";

/// The sessions of a home.
#[derive(Debug, Clone)]
pub struct SessionStore {
    /// The home.
    pub home: GeminiHome,
}

/// A project, and where its sessions lie.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionProject {
    /// Its directory, if the registry or a mark names it.
    pub root: Option<PathBuf>,
    /// The name of its directory in `.gemini/tmp`: the one that the CLI would use now.
    pub id: String,
    /// The directory that the CLI uses, or will make.
    pub directory: PathBuf,
    /// The directories that belong to it, the one that the CLI uses first. There may be none yet.
    pub directories: Vec<PathBuf>,
    /// Oddities, a sentence each.
    pub warnings: Vec<String>,
}

impl SessionProject {
    /// Where session files may lie, in the order in which they count.
    pub fn chats(&self) -> impl Iterator<Item = PathBuf> + '_ {
        self.directories
            .iter()
            .flat_map(|directory| [directory.join("chats"), directory.clone()])
    }
}

impl SessionStore {
    /// The sessions of this home.
    pub fn new(home: GeminiHome) -> Self {
        Self { home }
    }

    /// Where everything lies that belongs to projects.
    pub fn base(&self) -> PathBuf {
        self.home.folder().join("tmp")
    }

    /// The project in a directory, which should be absolute. It need not have any sessions.
    pub fn project(&self, root: &Path) -> SessionProject {
        let root = normal_path(root);
        let registry = self.read_registry();
        let mut warnings: Vec<_> = registry.warning.iter().cloned().collect();
        warnings.extend(self.base_entries().err());
        let mut names: Vec<String> = Vec::new();
        if let Some(name) = registry.names.get(&root) {
            match self.other_owner(name, &root) {
                Some(owner) => warnings.push(format!(
                    "`projects.json` names `{name}`, but that directory belongs to `{}`",
                    owner.display()
                )),
                None => names.push(name.clone()),
            }
        }
        names.extend(self.marked_for(&root));
        let id = match names.first() {
            Some(name) => name.clone(),
            None => self.free_name(&root, &registry),
        };
        let mut directories: Vec<_> = Vec::new();
        for name in names {
            let directory = self.base().join(name);
            if !directories.contains(&directory) {
                directories.push(directory);
            }
        }
        let hash = project_hash(&root);
        directories.push(self.base().join(&hash));
        directories.push(self.home.folder().join("projects").join(&hash));
        directories.retain(|directory| directory.is_dir());
        SessionProject {
            root: Some(root),
            directory: self.base().join(&id),
            id,
            directories,
            warnings,
        }
    }

    /// The project in a directory, whose own directory is made if there is none. Its marker is all that Gemini CLI needs to
    /// find it: the registry is mended from markers.
    pub(crate) fn claim_project(&self, root: &Path) -> io::Result<SessionProject> {
        let project = self.project(root);
        fs::create_dir_all(&project.directory)?;
        let marker = project.directory.join(MARKER);
        let root = project.root.as_deref().unwrap_or(root);
        match fs::OpenOptions::new()
            .write(true)
            .create_new(true)
            .open(marker)
        {
            Ok(mut file) => file.write_all(root.as_os_str().as_encoded_bytes())?,
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
        match self.other_owner(&project.id, root) {
            None => Ok(project),
            // Another project took the name at the same moment.
            Some(_) => Err(io::Error::from(io::ErrorKind::AlreadyExists)),
        }
    }

    /// Every project with a recorded session, by the names of their directories.
    pub fn projects(&self) -> Vec<SessionProject> {
        let registry = self.read_registry();
        let marked: BTreeMap<_, _> = self.marked_directories().into_iter().collect();
        let mut roots: BTreeMap<String, PathBuf> = BTreeMap::new();
        for (root, name) in &registry.names {
            roots.entry(name.clone()).or_insert_with(|| root.clone());
        }
        // The directory itself knows best whose it is.
        roots.extend(marked);
        let hashes: BTreeMap<String, PathBuf> = roots
            .values()
            .map(|root| (project_hash(root), root.clone()))
            .collect();
        let mut projects: BTreeMap<PathBuf, SessionProject> = BTreeMap::new();
        for base in [self.base(), self.home.folder().join("projects")] {
            for name in directories_in(&base) {
                let root = roots.get(&name).or_else(|| hashes.get(&name)).cloned();
                let key = root.clone().unwrap_or_else(|| base.join(&name));
                let project = projects.entry(key).or_insert_with(|| SessionProject {
                    root,
                    id: name.clone(),
                    directory: base.join(&name),
                    directories: Vec::new(),
                    warnings: Vec::new(),
                });
                project.add_directory(base.join(&name), &name, &hashes);
            }
        }
        let mut projects: Vec<_> = projects.into_values().collect();
        projects.sort_by(|one, other| one.id.cmp(&other.id));
        let mut warnings: Vec<_> = registry.warning.into_iter().collect();
        warnings.extend(self.not_looked_into());
        match projects.first_mut() {
            Some(first) => first.warnings.append(&mut warnings),
            // An empty list needs the warnings too, so they get a project of their own.
            None if !warnings.is_empty() => projects.push(SessionProject {
                root: None,
                id: String::new(),
                directory: PathBuf::new(),
                directories: Vec::new(),
                warnings,
            }),
            None => {}
        }
        projects
    }

    /// Links that may lead to sessions and are not followed, a sentence each.
    fn not_looked_into(&self) -> Vec<String> {
        let entries = match self.base_entries() {
            Ok(entries) => entries,
            Err(warning) => return vec![warning],
        };
        let entries = entries.into_iter().flatten().filter_map(Result::ok);
        let links = entries.filter(|entry| {
            let is_link = entry.file_type().is_ok_and(|kind| kind.is_symlink());
            is_link && entry.path().is_dir()
        });
        links
            .map(|entry| {
                format!(
                    "`{}` is a link, which is not followed",
                    entry.path().display()
                )
            })
            .collect()
    }

    /// The entries of the directory with those of projects; none if it cannot be reached: then the registry cannot be, either, and
    /// has the warning. The error is a sentence.
    fn base_entries(&self) -> Result<Option<fs::ReadDir>, String> {
        let base = self.base();
        match fs::read_dir(&base) {
            Ok(entries) => Ok(Some(entries)),
            Err(_) if base.symlink_metadata().is_err() => Ok(None),
            Err(error) => Err(format!("cannot look into `{}`: {error}", base.display())),
        }
    }

    /// Reads `projects.json`. A file without usable content counts as empty, as for the CLI: the markers in the directories
    /// hold the same facts.
    fn read_registry(&self) -> ProjectRegistry {
        let path = self.home.folder().join("projects.json");
        let read = match file::object(&path) {
            Ok(None) => return ProjectRegistry::default(),
            Ok(Some(object)) => object,
            Err(error) => {
                let warning = match path.symlink_metadata() {
                    Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                        let closed = nearest_visible(&path).display();
                        format!("cannot look into `{closed}`: {error}")
                    }
                    _ => format!("`{}` {error}", path.display()),
                };
                return ProjectRegistry {
                    warning: Some(warning),
                    ..ProjectRegistry::default()
                };
            }
        };
        let Some(Value::Object(projects)) = read.get("projects") else {
            return ProjectRegistry {
                warning: Some(format!("`{}` names no projects", path.display())),
                ..ProjectRegistry::default()
            };
        };
        let sound = projects.iter().filter_map(|(root, name)| {
            // The file may hold any text: a name must be one name, not a way out of the directory.
            let name = name.as_str().filter(|name| is_name(name))?;
            Some((PathBuf::from(root), name.to_owned()))
        });
        let names: BTreeMap<_, _> = sound.collect();
        let left_out = projects.len() - names.len();
        let warning = (left_out > 0).then(|| {
            let entries = match left_out {
                1 => "1 entry that is not a directory name".to_owned(),
                count => format!("{count} entries that are not directory names"),
            };
            format!("`{}` has {entries}", path.display())
        });
        ProjectRegistry { names, warning }
    }

    /// The directories that markers give to a project, here or among the histories, which have markers of their own.
    fn marked_for<'s>(&'s self, root: &'s Path) -> impl Iterator<Item = String> + 's {
        let named = |base: PathBuf| {
            directories_in(&base)
                .into_iter()
                .map(move |name| (base.clone(), name))
        };
        let all = self.base_directories().into_iter().flat_map(named);
        all.filter(move |(base, name)| owner_of(base, name).is_some_and(|owner| owner == root))
            .map(|(_, name)| name)
            .filter(move |name| self.other_owner(name, root).is_none())
    }

    /// The name that the CLI would give a project that has none: the first that no other project uses.
    fn free_name(&self, root: &Path, registry: &ProjectRegistry) -> String {
        let slug = slug(root);
        let is_free = |name: &String| {
            !registry.names.values().any(|taken| taken == name)
                && self.other_owner(name, root).is_none()
        };
        let numbered = (1..).map(|number: u64| format!("{slug}-{number}"));
        let mut names = std::iter::once(slug.clone()).chain(numbered);
        names.find(is_free).unwrap_or(slug)
    }

    /// The other project that a directory belongs to, if there is one.
    fn other_owner(&self, name: &str, root: &Path) -> Option<PathBuf> {
        let owners = self.base_directories().map(|base| owner_of(&base, name));
        owners.into_iter().flatten().find(|owner| owner != root)
    }

    /// Where directories have markers.
    fn base_directories(&self) -> [PathBuf; 2] {
        [self.base(), self.home.folder().join("history")]
    }

    fn marked_directories(&self) -> Vec<(String, PathBuf)> {
        let names = directories_in(&self.base());
        let marked = names.into_iter().filter_map(|name| {
            let owner = owner_of(&self.base(), &name)?;
            Some((name, owner))
        });
        marked.collect()
    }
}

impl SessionProject {
    /// A directory of the project's. That with a readable name is the one in use.
    fn add_directory(
        &mut self,
        directory: PathBuf,
        name: &str,
        hashes: &BTreeMap<String, PathBuf>,
    ) {
        if hashes.contains_key(name) {
            self.directories.push(directory);
        } else {
            name.clone_into(&mut self.id);
            self.directory.clone_from(&directory);
            self.directories.insert(0, directory);
        }
    }
}

#[derive(Debug, Default)]
struct ProjectRegistry {
    names: BTreeMap<PathBuf, String>,
    warning: Option<String>,
}

/// The name of a project's directory before 0.29, and of the project in every session file since.
pub fn project_hash(root: &Path) -> String {
    use std::fmt::Write as _;
    let digest = Sha256::digest(root.as_os_str().as_encoded_bytes());
    digest.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// The name that the CLI would give a project's directory, were it the first of that name.
pub fn slug(root: &Path) -> String {
    let name = root.file_name().unwrap_or_default().to_string_lossy();
    let mut slug = String::new();
    for letter in name.to_lowercase().chars() {
        if letter.is_ascii_lowercase() || letter.is_ascii_digit() {
            slug.push(letter);
        } else if !slug.ends_with('-') {
            slug.push('-');
        }
    }
    let slug = slug.trim_matches('-');
    if slug.is_empty() { "project" } else { slug }.to_owned()
}

/// A path as Node's `resolve` leaves it: without `.`, `..` and a slash at its end. Links stay.
fn normal_path(path: &Path) -> PathBuf {
    let mut normal = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                normal.pop();
            }
            other => normal.push(other),
        }
    }
    normal
}

/// The project of a directory, from its marker.
fn owner_of(base: &Path, name: &str) -> Option<PathBuf> {
    let text = file::text(&base.join(name).join(MARKER)).ok()??;
    let text = text.trim();
    (!text.is_empty()).then(|| normal_path(Path::new(text)))
}

fn is_name(name: &str) -> bool {
    let mut parts = Path::new(name).components();
    matches!((parts.next(), parts.next()), (Some(Component::Normal(only)), None) if only == name)
}

/// The directories in a directory, by name. Links are none: they may lead anywhere.
pub(super) fn directories_in(base: &Path) -> Vec<String> {
    let Ok(entries) = fs::read_dir(base) else {
        return Vec::new();
    };
    let mut names: Vec<_> = entries
        .filter_map(Result::ok)
        .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()))
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}

/// A path, or the nearest directory above it that can be seen: the one that has to be opened to get to the path.
pub(crate) fn nearest_visible(path: &Path) -> &Path {
    let mut ancestors = path.ancestors();
    let visible = ancestors.find(|it| it.symlink_metadata().is_ok());
    visible.unwrap_or(path)
}
