//! The files and directories that a call is about.

use std::collections::{BTreeSet, HashSet};
use std::path::{Path, PathBuf};

use lapidary_json::{Kind, Token};
use lapidary_vocab::event::ToolKind;
use lapidary_vocab::{Json, Text};

use super::words::word;
use super::{Deed, patch};

/// Where agents put files and directories, as [words](word).
const PATHS: [&str; 28] = [
    "path",
    "paths",
    "file",
    "files",
    "filepath",
    "filepaths",
    "filename",
    "absolutepath",
    "abspath",
    "relativepath",
    "notebookpath",
    "targetfile",
    "targetpath",
    "directory",
    "dir",
    "dirpath",
    "source",
    "sourcepath",
    "destination",
    "destinationpath",
    "oldpath",
    "newpath",
    "frompath",
    "topath",
    "movepath",
    "srcpath",
    "dstpath",
    "destpath",
];

/// Where they put a document, or the address that it has or gets.
const DOCUMENTS: [&str; 3] = ["textdocument", "olduri", "newuri"];

/// Where they put addresses, of which those of files count.
const ADDRESSES: [&str; 4] = ["uri", "uris", "fileuri", "documenturi"];

/// Where whoever moves or changes a file puts it, and others put whatever they like.
const ENDS: [&str; 6] = ["from", "to", "src", "dst", "dest", "target"];

/// Where they list what is changed: in each item there may be a file, or each goes by the name of its file.
const CHANGES: [&str; 4] = ["edits", "changes", "documentchanges", "filechanges"];

/// Where they list what is done, perhaps to files.
const STEPS: [&str; 3] = ["operations", "moves", "renames"];

/// Where they put all arguments, or those of a tool within the tool.
const WRAPPERS: [&str; 11] = [
    "input",
    "rawinput",
    "toolinput",
    "args",
    "arguments",
    "params",
    "parameters",
    "options",
    "request",
    "payload",
    "data",
];

/// Arguments that a call has beside a file only if it writes: the content, or the file's new name.
const WRITTEN: [&str; 25] = [
    "content",
    "contents",
    "filecontent",
    "filecontents",
    "newcontent",
    "newcontents",
    "filetext",
    "text",
    "newtext",
    "oldtext",
    "newstring",
    "oldstring",
    "newstr",
    "oldstr",
    "newsource",
    "inserttext",
    "replacement",
    "codeedit",
    "data",
    "destination",
    "destinationpath",
    "newpath",
    "topath",
    "movepath",
    "newuri",
];

/// Where they put patterns that may lead anywhere.
const PATTERNS: [&str; 2] = ["glob", "include"];

/// Files of one call that are looked at. A rule for all of them could not be sure of more.
const MOST_PATHS: usize = 4096;

/// How deep in lists and objects a path may stand: `{"files": [{"file": {"path": …}}]}`.
const DEEPEST: usize = 8;

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
    /// What is called `from` or `to` is a file.
    has_ends: bool,
    /// There is a diff, or a patch.
    is_shown: bool,
    /// There is something that is written to a file, if one is named.
    is_written: bool,
}

impl<'a> Paths<'a> {
    pub(super) fn new(dir: &'a Path) -> Self {
        Self {
            dir,
            found: Vec::new(),
            seen: HashSet::new(),
            is_full: false,
            has_ends: false,
            is_shown: false,
            is_written: false,
        }
    }

    /// Whether files are changed, by any sign.
    pub(super) fn is_edit(&self) -> bool {
        self.is_shown || (self.is_written && !self.found.is_empty())
    }

    /// All that were found. Where there were more, the last is the root: they may lie anywhere.
    pub(super) fn all(mut self) -> Vec<PathBuf> {
        if self.is_full {
            self.found.push(PathBuf::from("/"));
        }
        self.found
    }

    pub(super) fn of_input(&mut self, input: Token<'_>, tool: &str, kind: &ToolKind) {
        let changes = [ToolKind::Edit, ToolKind::Delete, ToolKind::Move];
        self.has_ends = changes.contains(kind);
        self.of_members(input, DEEPEST);
        for path in patch::files(input) {
            self.is_shown = true;
            self.add(&path);
        }
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
            let name = word(name);
            let is_one_of = |names: &[&str]| names.contains(&name.as_str());
            self.is_written |= is_one_of(&WRITTEN) && !value.is_null();
            if is_one_of(&PATHS) || is_one_of(&DOCUMENTS) || (self.has_ends && is_one_of(&ENDS)) {
                self.of_value(value, depth);
            } else if is_one_of(&CHANGES) {
                self.is_written |= matches!(value.kind(), Kind::Array | Kind::Object);
                self.of_steps(value, depth);
                self.of_changes(value, depth);
            } else if is_one_of(&STEPS) {
                self.of_steps(value, depth);
            } else if is_one_of(&ADDRESSES) {
                self.of_addresses(value);
            } else if is_one_of(&WRAPPERS) {
                self.of_wrapped(value, depth);
            }
        }
    }

    fn of_wrapped(&mut self, value: Token<'_>, depth: usize) {
        match (value.kind(), depth.checked_sub(1)) {
            _ if self.is_full => {}
            (Kind::Object, Some(depth)) => self.of_members(value, depth),
            (Kind::Array, Some(depth)) => {
                let items = value.elements();
                items.for_each(|item| self.of_wrapped(item, depth));
            }
            (Kind::Object | Kind::Array, None) => self.add("/"), // as below
            _ => {}
        }
    }

    fn of_steps(&mut self, steps: Token<'_>, depth: usize) {
        for step in steps.elements() {
            match depth.checked_sub(1) {
                _ if self.is_full => return,
                Some(depth) => self.of_members(step, depth),
                None => self.add("/"), // as below
            }
        }
    }

    /// Changes under the names of the files that are changed.
    fn of_changes(&mut self, changes: Token<'_>, depth: usize) {
        for (name, change) in changes.members() {
            if self.is_full {
                return;
            }
            self.add(&name.string().unwrap_or_default());
            if let Some(depth) = depth.checked_sub(1) {
                self.of_members(change, depth);
            }
        }
    }

    fn of_addresses(&mut self, value: Token<'_>) {
        for address in std::iter::once(value).chain(value.elements()) {
            let address = address.string().unwrap_or_default();
            // `C:` is no scheme, and nobody opens a file by the name of a web page.
            let is_elsewhere = address.contains("://") && file_of(&address).is_none();
            if !is_elsewhere {
                self.add(&address);
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

    /// A file, by its path or by its address: whoever reads an address resolves its escapes, or does not.
    fn add(&mut self, path: &str) {
        let Some(named) = file_of(path) else {
            return self.add_path(path);
        };
        let plain = named.split(['?', '#']).next().unwrap_or_default();
        for path in [&unescaped(plain), &unescaped(named), named] {
            self.add_path(path); // each once
        }
    }

    fn add_path(&mut self, path: &str) {
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

/// Adds the files that a call was about before. Agents tell a path bit by bit: what was only the beginning of one of these is over.
pub(super) fn add_before(paths: &mut Vec<PathBuf>, before: &[PathBuf]) {
    if *paths == before {
        return;
    }
    let now: BTreeSet<&[u8]> = paths.iter().map(|path| bytes(path)).collect();
    let is_over = |path: &Path| {
        let mut behind = now.range(bytes(path)..);
        behind
            .next()
            .is_some_and(|longer| longer.starts_with(bytes(path)))
    };
    let more: Vec<_> = before
        .iter()
        .filter(|path| !is_over(path))
        .cloned()
        .collect();
    paths.extend(more);
    if paths.len() > MOST_PATHS {
        paths.truncate(MOST_PATHS);
        paths.push(PathBuf::from("/")); // as in `all`
    }
}

fn bytes(path: &Path) -> &[u8] {
    path.as_os_str().as_encoded_bytes()
}

/// The path in the address of a file: `file:///a`, `file://localhost/a`, `FILE:/a`.
fn file_of(address: &str) -> Option<&str> {
    let (scheme, rest) = address.split_once(':')?;
    if !scheme.eq_ignore_ascii_case("file") {
        return None;
    }
    Some(match rest.strip_prefix("//") {
        Some(rest) if !rest.starts_with('/') => rest
            .strip_prefix("localhost")
            .filter(|path| path.starts_with('/'))
            .unwrap_or(rest),
        Some(rest) => rest,
        None => rest,
    })
}

/// What `%2e` and the like stand for.
fn unescaped(path: &str) -> String {
    let mut bytes = Vec::with_capacity(path.len());
    let mut rest = path.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        let digits = after.get(..2).filter(|_| *first == b'%');
        let digits = digits.and_then(|digits| std::str::from_utf8(digits).ok());
        let byte = digits.and_then(|digits| u8::from_str_radix(digits, 16).ok());
        bytes.push(byte.unwrap_or(*first));
        rest = if byte.is_some() { &after[2..] } else { after };
    }
    String::from_utf8_lossy(&bytes).into_owned()
}
