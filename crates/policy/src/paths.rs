//! The files and directories that a call is about.

use std::collections::{BTreeSet, HashSet};
use std::path::{Path, PathBuf};

use lapidary_json::{Token, TokenKind};
use lapidary_vocab::event::ToolKind;
use lapidary_vocab::{Json, Text};

use super::argument_names::folded_name;
use super::argument_roles::{self, ArgumentRole};
use super::patch;
use super::resolved_path;
use super::shell::{NamedFiles, expand_braces};

/// Files of one call that are looked at. A rule for all of them could not be sure of more.
const MOST_PATHS: usize = 4096;

/// From so many on, files of a call are looked up in a table.
const FEW_PATHS: usize = 8;

/// How deep in lists and objects a path may stand: `{"files": [{"file": {"path": …}}]}`.
const DEEPEST: usize = 8;

/// A longer text is not a file name.
const LONGEST_NAME: usize = 1024;

/// Directories that a command line changes to, from which its files are looked for.
const MOST_DIRECTORIES: usize = 8;

/// Patterns of a command line for which the files are looked up.
const MOST_PATTERNS: usize = 32;

/// Words of a title that may name files.
const MOST_TITLE_WORDS: usize = 64;

/// The files of a call.
#[derive(Debug, Default)]
pub(super) struct CallPaths {
    /// Files that it names as such.
    pub(super) named: Vec<PathBuf>,
    /// Files that it may be about.
    pub(super) possible: Vec<PathBuf>,
    /// Files that its command reads.
    pub(super) read: Vec<PathBuf>,
    /// There are more than are looked at.
    pub(super) has_unseen: bool,
    /// Files are changed, by any sign.
    pub(super) is_edit: bool,
}

/// Collects paths, absolute and each once.
pub(super) struct PathList<'a> {
    dir: &'a Path,
    found: Vec<PathBuf>,
    possible: Vec<PathBuf>,
    /// All of them, once they are more than a few.
    seen: HashSet<PathBuf>,
    read: Vec<PathBuf>,
    /// There are more than are looked at.
    is_full: bool,
    /// Some stand deeper than is looked.
    is_deep: bool,
    /// A member called `from` or `to` is a file.
    has_ends: bool,
    /// There is a diff, a patch, or a list of changes.
    is_shown: bool,
    /// There is a text to write to a file, if one is named.
    is_written: bool,
}

impl<'a> PathList<'a> {
    pub(super) fn new(dir: &'a Path) -> Self {
        Self {
            dir,
            found: Vec::new(),
            seen: HashSet::new(),
            possible: Vec::new(),
            read: Vec::new(),
            is_full: false,
            is_deep: false,
            has_ends: false,
            is_shown: false,
            is_written: false,
        }
    }

    /// The paths that were found. If there were too many, the last is the root: the rest may lie anywhere.
    pub(super) fn into_call_paths(mut self) -> CallPaths {
        let is_edit = self.is_shown || (self.is_written && !self.found.is_empty());
        if self.is_full || self.is_deep {
            self.found.push(PathBuf::from("/"));
        }
        CallPaths {
            has_unseen: self.is_full || self.is_deep,
            is_edit,
            named: self.found,
            possible: self.possible,
            read: self.read,
        }
    }

    pub(super) fn of_input(&mut self, input: Token<'_>, tool: &str, kind: &ToolKind) {
        let changes = [ToolKind::Edit, ToolKind::Delete, ToolKind::Move];
        self.has_ends = changes.contains(kind);
        self.of_members(input, DEEPEST);
        for path in patch::patched_files(input) {
            self.is_shown = true;
            self.add_file(&path);
        }
        if *kind == ToolKind::Search {
            let is_glob = tool.to_ascii_lowercase().contains("glob");
            let pattern = is_glob.then_some("pattern");
            for name in ["glob", "include"].into_iter().chain(pattern) {
                self.of_pattern(input.get(name).and_then(Token::string).as_deref());
            }
        }
    }

    fn of_members(&mut self, object: Token<'_>, depth: usize) {
        for (name, value) in object.members() {
            let word = folded_name(name);
            self.is_written |= argument_roles::is_written(&word) && !value.is_null();
            match argument_roles::argument_role(&word) {
                ArgumentRole::File => self.of_value(value, depth),
                ArgumentRole::End if self.has_ends => self.of_value(value, depth),
                ArgumentRole::Changes => {
                    self.is_written |= matches!(value.kind(), TokenKind::Array | TokenKind::Object);
                    self.is_shown |= inner_values(value).next().is_some();
                    self.of_steps(value, depth);
                    self.of_changes(value, depth);
                }
                ArgumentRole::Steps => self.of_steps(value, depth),
                ArgumentRole::Address => self.of_addresses(value),
                ArgumentRole::Content => self.of_inner(value, depth, false),
                ArgumentRole::Wrapper | ArgumentRole::End | ArgumentRole::Pattern => {
                    self.of_inner(value, depth, true);
                }
                ArgumentRole::Other => {
                    self.of_key(name);
                    self.of_inner(value, depth, true);
                }
            }
        }
    }

    /// A value whose name is not that of a file. Texts in it may be files.
    fn of_inner(&mut self, value: Token<'_>, depth: usize, may_be_file: bool) {
        match (value.kind(), depth.checked_sub(1)) {
            _ if self.is_full => {}
            (TokenKind::String, _) if may_be_file => self.of_text(value),
            (TokenKind::Object, Some(depth)) => self.of_members(value, depth),
            (TokenKind::Array, Some(depth)) => {
                let items = value.elements();
                items.for_each(|item| self.of_inner(item, depth, may_be_file));
            }
            (TokenKind::Object | TokenKind::Array, None) => self.is_deep = true,
            _ => {}
        }
    }

    /// A name of an argument that looks like that of a file: `{"src/a.rs": "…"}`.
    fn of_key(&mut self, name: Token<'_>) {
        let text = name.string().unwrap_or_default();
        if text.contains(['.', '/']) {
            self.of_text(name);
        }
    }

    fn of_text(&mut self, text: Token<'_>) {
        if text.as_str().len() <= LONGEST_NAME {
            self.add_possible(&text.string().unwrap_or_default());
        }
    }

    /// Words of the title that look like files.
    pub(super) fn of_title(&mut self, title: &str) {
        let words = title.split_whitespace().take(MOST_TITLE_WORDS);
        for word in words.filter(|word| word.contains(['.', '/'])) {
            let is_around = |letter: char| "`'\"()[]<>,:;!?".contains(letter);
            let word = word.trim_matches(is_around);
            self.add_possible(word);
            self.add_possible(word.trim_end_matches('.'));
        }
    }

    /// Adds the files that a shell would replace a pattern by.
    fn add_matches(&mut self, pattern: &str) {
        for pattern in expand_braces(pattern) {
            if !pattern.contains(['*', '?', '[']) {
                self.add_possible(&pattern);
                continue;
            }
            let (files, is_all) = resolved_path::matches(self.dir, &pattern);
            self.is_full |= !is_all;
            for file in files {
                self.add_possible(&file.to_string_lossy());
            }
        }
    }

    /// The files that a command line names.
    pub(super) fn of_command(&mut self, line: &str) {
        let files = NamedFiles::find_in_line(line);
        let directories = files.directories.iter().take(MOST_DIRECTORIES);
        let mut all = vec![String::new()];
        all.extend(directories.map(|directory| format!("{directory}/")));
        let (mut read, mut any) = (Vec::new(), Vec::new());
        for directory in &all {
            let is_here = |file: &&String| directory.is_empty() || !file.starts_with(['/', '~']);
            let from_here = |file: &String| format!("{directory}{file}");
            read.extend(files.read.iter().filter(is_here).map(from_here));
            any.extend(files.any.iter().filter(is_here).map(from_here));
        }
        for file in &any {
            self.add_possible(file);
        }
        self.is_full |= files.patterns.len() > MOST_PATTERNS;
        for pattern in files.patterns.iter().take(MOST_PATTERNS) {
            for directory in &all {
                self.add_matches(&format!("{directory}{pattern}"));
            }
        }
        for file in read.iter().take(MOST_PATHS) {
            self.read.extend(possible_paths(file, self.dir));
        }
    }

    fn of_steps(&mut self, steps: Token<'_>, depth: usize) {
        for step in steps.elements() {
            match depth.checked_sub(1) {
                _ if self.is_full => return,
                Some(depth) => self.of_members(step, depth),
                None => self.is_deep = true,
            }
        }
    }

    /// Changes under the names of the files that are changed.
    fn of_changes(&mut self, changes: Token<'_>, depth: usize) {
        for (name, change) in changes.members() {
            if self.is_full {
                return;
            }
            self.add_file(&name.string().unwrap_or_default());
            if let Some(depth) = depth.checked_sub(1) {
                self.of_members(change, depth);
            }
        }
    }

    fn of_addresses(&mut self, value: Token<'_>) {
        for address in std::iter::once(value).chain(value.elements()) {
            let address = address.string().unwrap_or_default();
            // `C:` is no scheme, and the address of a web page names no file.
            let is_elsewhere = address.contains("://") && file_of(&address).is_none();
            if !is_elsewhere {
                self.add_file(&address);
            }
        }
    }

    fn of_value(&mut self, value: Token<'_>, depth: usize) {
        match (value.kind(), depth.checked_sub(1)) {
            (TokenKind::String, _) => self.add_file(&value.string().unwrap_or_default()),
            (TokenKind::Object, Some(depth)) => self.of_members(value, depth),
            (TokenKind::Array, Some(depth)) => {
                for item in value.elements() {
                    if self.is_full {
                        return;
                    }
                    self.of_value(item, depth);
                }
            }
            (TokenKind::Object | TokenKind::Array, None) => self.is_deep = true,
            _ => {}
        }
    }

    pub(super) fn of_texts(&mut self, texts: &[Text]) {
        for text in texts {
            self.add_file(&text.to_str());
        }
    }

    /// The files that diffs are about: of a list, or of a piece of one.
    pub(super) fn of_content(&mut self, content: Option<&Json>) {
        let content = content.map(Json::token);
        let piece = content.filter(|content| content.kind() == TokenKind::Object);
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
            self.add_file(if plain.is_empty() { "/" } else { &plain });
        }
    }

    /// A file, by its path or by its address: some programs resolve the escapes of an address, others do not.
    fn add_file(&mut self, path: &str) {
        let Some(named) = file_of(path) else {
            return self.add_path(path);
        };
        let plain = named.split(['?', '#']).next().unwrap_or_default();
        for path in [&percent_decoded(plain), &percent_decoded(named), named] {
            self.add_path(path); // each once
        }
    }

    /// A text that may be the name of a file.
    fn add_possible(&mut self, text: &str) {
        for path in possible_paths(text, self.dir) {
            self.is_full |= self.possible.len() >= MOST_PATHS;
            if !self.is_full && self.insert_path(&path) {
                self.possible.push(path);
            }
        }
    }

    fn add_path(&mut self, path: &str) {
        if path.is_empty() || self.is_full {
            return;
        }
        let path = absolute_path(path, self.dir);
        if !self.insert_path(&path) {
            return;
        }
        if self.found.len() >= MOST_PATHS {
            self.is_full = true;
            return;
        }
        self.found.push(path);
    }

    /// True the first time. Most calls are about one file, and a few are compared faster than hashed.
    fn insert_path(&mut self, path: &Path) -> bool {
        let known = self.found.iter().chain(&self.possible);
        if self.found.len() + self.possible.len() < FEW_PATHS {
            return !known.into_iter().any(|it| it == path);
        }
        if self.seen.is_empty() {
            self.seen.extend(known.cloned());
        }
        self.seen.insert(path.to_owned())
    }
}

fn inner_values(value: Token<'_>) -> impl Iterator<Item = Token<'_>> {
    let members = value.members().map(|(_, inner)| inner);
    value.elements().chain(members)
}

/// The path from a directory.
fn absolute_path(path: &str, dir: &Path) -> PathBuf {
    let dir = match path.strip_prefix('~') {
        Some(_) => Path::new("/"), // a home that is not known lies outside of everything
        None => dir,
    };
    let mut absolute = PathBuf::with_capacity(dir.as_os_str().len() + 1 + path.len());
    absolute.push(dir);
    absolute.push(path);
    absolute
}

/// The files that a text may name.
fn possible_paths(text: &str, dir: &Path) -> Vec<PathBuf> {
    let is_file = !text.is_empty() && text.len() <= LONGEST_NAME && !text.contains(['\n', '\0']);
    match file_of(text) {
        _ if !is_file => Vec::new(),
        Some(named) => [percent_decoded(named), named.to_owned()]
            .map(|path| absolute_path(&path, dir))
            .to_vec(),
        None if text.contains("://") => Vec::new(),
        None => vec![absolute_path(text, dir)],
    }
}

/// Adds the files that a call was about before. Agents stream a path bit by bit: an earlier path that is the beginning of a
/// present one is dropped.
pub(super) fn add_before(paths: &mut Vec<PathBuf>, before: &[PathBuf]) {
    if *paths == before {
        return;
    }
    let now: BTreeSet<&[u8]> = paths.iter().map(|path| path_bytes(path)).collect();
    let is_over = |path: &Path| {
        let mut behind = now.range(path_bytes(path)..);
        behind
            .next()
            .is_some_and(|longer| longer.starts_with(path_bytes(path)))
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

/// Whether so many files are more than are looked at.
pub(super) fn is_too_many(paths: &[PathBuf]) -> bool {
    paths.len() > MOST_PATHS
}

fn path_bytes(path: &Path) -> &[u8] {
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

/// Resolves `%2e` and the like.
fn percent_decoded(path: &str) -> String {
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
