//! The files and directories that a call is about.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use lapidary_json::{Kind, Token};
use lapidary_vocab::event::ToolKind;
use lapidary_vocab::{Json, Text};

use super::Deed;

/// Where agents put files and directories.
const PATHS: [&str; 24] = [
    "path",
    "paths",
    "file",
    "files",
    "file_path",
    "filePath",
    "file_paths",
    "absolute_path",
    "abs_path",
    "notebook_path",
    "target_file",
    "directory",
    "dir",
    "dir_path",
    "source",
    "source_path",
    "destination",
    "destination_path",
    "old_path",
    "new_path",
    "oldPath",
    "newPath",
    "from_path",
    "to_path",
];

/// Where they put patterns that may lead anywhere.
const PATTERNS: [&str; 2] = ["glob", "include"];

/// Files of one call that are looked at. A rule for all of them could not be sure of more.
const MOST_PATHS: usize = 4096;

/// How deep in lists and objects a path may stand: `{"files": [{"file": {"path": …}}]}`.
const DEEPEST: usize = 4;

impl Deed {
    /// True if it is about more files than are looked at. Then nobody can be sure of it, and any of them may be meant.
    pub(super) fn has_unseen_paths(&self) -> bool {
        self.paths.len() > MOST_PATHS
    }
}

/// Collects paths, absolute and each once.
pub(super) struct Paths<'a> {
    dir: &'a Path,
    found: Vec<PathBuf>,
    seen: HashSet<PathBuf>,
    /// There are more than are looked at.
    is_full: bool,
    /// There is a diff.
    pub(super) is_shown: bool,
}

impl<'a> Paths<'a> {
    pub(super) fn new(dir: &'a Path) -> Self {
        Self {
            dir,
            found: Vec::new(),
            seen: HashSet::new(),
            is_full: false,
            is_shown: false,
        }
    }

    /// All that were found. Where there were more, the last is the root: they may lie anywhere.
    pub(super) fn all(mut self) -> Vec<PathBuf> {
        if self.is_full {
            self.found.push(PathBuf::from("/"));
        }
        self.found
    }

    pub(super) fn of_input(&mut self, input: Token<'_>, tool: &str, kind: &ToolKind) {
        self.of_members(input, DEEPEST);
        if *kind == ToolKind::Search {
            let pattern = tool
                .to_ascii_lowercase()
                .contains("glob")
                .then_some("pattern");
            for name in PATTERNS.into_iter().chain(pattern) {
                self.of_pattern(input.get(name).and_then(Token::string).as_deref());
            }
        }
    }

    fn of_members(&mut self, object: Token<'_>, depth: usize) {
        for (name, value) in object.members() {
            if PATHS.iter().any(|known| name.is(known)) {
                self.of_value(value, depth);
            }
        }
    }

    fn of_value(&mut self, value: Token<'_>, depth: usize) {
        match (value.kind(), depth.checked_sub(1)) {
            (Kind::String, _) => self.add(&value.string().unwrap_or_default()),
            (Kind::Object, Some(depth)) => self.of_members(value, depth),
            (Kind::Array, Some(depth)) => {
                for item in value.elements() {
                    if self.is_full {
                        return;
                    }
                    self.of_value(item, depth);
                }
            }
            // What stands deeper than that may be anywhere.
            (Kind::Object | Kind::Array, None) => self.add("/"),
            _ => {}
        }
    }

    pub(super) fn of_texts(&mut self, texts: &[Text]) {
        for text in texts {
            self.add(&text.to_str());
        }
    }

    /// The files that diffs are about: of a list, or of a piece of one.
    pub(super) fn of_content(&mut self, content: Option<&Json>) {
        let content = content.map(Json::token);
        let piece = content.filter(|content| content.kind() == Kind::Object);
        let items = content.into_iter().flat_map(Token::elements);
        for item in items.chain(piece) {
            if item.get("type").is_some_and(|kind| kind.is("diff")) {
                self.is_shown = true;
                item.get("path")
                    .into_iter()
                    .for_each(|path| self.of_value(path, DEEPEST));
            }
        }
    }

    /// A pattern that leads out of the directory: as far as it is no pattern.
    fn of_pattern(&mut self, pattern: Option<&str>) {
        let Some(pattern) = pattern else { return };
        if pattern.starts_with(['/', '~']) || pattern.split('/').any(|part| part == "..") {
            let plain = pattern
                .split('/')
                .take_while(|part| !part.contains(['*', '?', '{', '[']));
            let plain = plain.collect::<Vec<_>>().join("/");
            self.add(if plain.is_empty() { "/" } else { &plain });
        }
    }

    fn add(&mut self, path: &str) {
        let path = path.strip_prefix("file://").unwrap_or(path);
        if path.is_empty() || self.is_full {
            return;
        }
        // A home that is not known lies outside of everything.
        let path = match path.strip_prefix('~') {
            Some(_) => Path::new("/").join(path),
            None => self.dir.join(path),
        };
        if self.seen.contains(&path) {
            return;
        }
        if self.found.len() >= MOST_PATHS {
            self.is_full = true;
            return;
        }
        self.seen.insert(path.clone());
        self.found.push(path);
    }
}
