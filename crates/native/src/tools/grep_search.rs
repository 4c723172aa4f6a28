//! `grep_search`: lines of files by a regular expression.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fmt::Write as _;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use lapidary_gemini::js;
use serde_json::{Map, Value, json};
use tokio_util::sync::CancellationToken;

use super::file_text::text_lines;
use super::glob::SKIPPED;
use super::glob_pattern::{Case, GlobPattern};
use super::line_pattern::{LineEnd, LinePattern};
use super::{
    Arguments, ReadingCall, failed_output, invalid_parameters, reading_preview, tool_declaration,
};
use crate::tool::{CallKind, PreparedCall, Tool, ToolDeclaration, ToolError, ToolOutput};
use crate::workspace::{
    IgnoreFiles, MOST_BYTES, Visitor, WalkRules, WalkedEntry, Workspace, is_blocked, walk_tree,
};

/// Matches that are returned if the call names no number.
const DEFAULT_MATCHES: usize = 100;
/// Letters of a line that are shown.
const LONGEST_LINE: usize = 2000;
/// A file with a NUL among these bytes is binary, as Git has it.
const SNIFFED: usize = 8000;
const MOST_TIME: Duration = Duration::from_secs(30);
/// Lines around the only match, and around each of two or three.
const AROUND_ONE: usize = 50;
const AROUND_FEW: usize = 15;

/// Searches files.
#[derive(Debug)]
pub struct GrepSearchTool {
    workspace: Arc<Workspace>,
    declaration: ToolDeclaration,
}

impl GrepSearchTool {
    /// The tool for a workspace.
    pub fn new(workspace: Arc<Workspace>) -> Self {
        let properties = json!({
            "pattern": {
                "type": "string",
                "description": "The regular expression to search for in each line. Capital letters do not matter.",
            },
            "dir_path": {
                "type": "string",
                "description": "The directory to search in. Default: the project's directory.",
            },
            "include_pattern": {
                "type": "string",
                "description": "A glob pattern for the files to search, such as `*.js`, `*.{ts,tsx}` or `src/**`.",
            },
            "exclude_pattern": {
                "type": "string",
                "description": "A regular expression: lines that match it are left out.",
            },
            "names_only": {
                "type": "boolean",
                "description": "Return the paths of files with a match instead of the lines.",
            },
            "max_matches_per_file": {
                "type": "integer",
                "minimum": 1,
                "description": "The most matches to return of one file.",
            },
            "total_max_matches": {
                "type": "integer",
                "minimum": 1,
                "description": "The most matches to return. Default: 100.",
            },
        });
        let description = "Searches the lines of files for a regular expression and returns them with their files and numbers; up to three matches come with the lines around them. Ignored and binary files are not searched.";
        Self {
            workspace,
            declaration: tool_declaration("grep_search", description, &properties, &["pattern"]),
        }
    }

    /// Gemini CLI asks `git grep` in a repository, for which a carriage return is a letter.
    fn line_end(&self) -> LineEnd {
        if self.workspace.rules().is_repository() {
            LineEnd::Lf
        } else {
            LineEnd::CrLf
        }
    }

    fn search_directories(&self, asked: Option<&str>) -> Result<Vec<PathBuf>, ToolError> {
        let Some(asked) = asked else {
            return Ok(self.workspace.roots());
        };
        let path = self.workspace.absolute(asked);
        let place = self
            .workspace
            .place_by_target(&path)
            .map_err(invalid_parameters)?;
        let shown = place.path.display();
        match place.stat() {
            Ok(found) if found.is_directory() => Ok(vec![place.path]),
            Ok(_) => Err(invalid_parameters(format!(
                "Path is not a directory: {shown}"
            ))),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                Err(invalid_parameters(format!("Path does not exist: {shown}")))
            }
            Err(error) => {
                let words = super::node_error::error_sentence(&error, "stat", &place.path);
                Err(invalid_parameters(format!(
                    "Failed to access path stats for {shown}: {words}"
                )))
            }
        }
    }
}

impl Tool for GrepSearchTool {
    workspace_tool!();

    fn prepare(&self, arguments: &Map<String, Value>) -> Result<Box<dyn PreparedCall>, ToolError> {
        let arguments = Arguments::check(&self.declaration, arguments)?;
        let source = arguments.text_argument("pattern");
        let wrong = |what: &str, source: &str, why: String| {
            invalid_parameters(format!(
                "Invalid {what}pattern provided: {source}. Error: {why}"
            ))
        };
        let line_end = self.line_end();
        let pattern = LinePattern::new(source, line_end)
            .map_err(|why| wrong("regular expression ", source, why))?;
        let exclude = arguments.optional_text("exclude_pattern").map(|source| {
            LinePattern::new(source, LineEnd::CrLf)
                .map_err(|why| wrong("exclude regular expression ", source, why))
        });
        let exclude = exclude.transpose()?;
        let asked = arguments.optional_text("dir_path");
        let directories = self.search_directories(asked)?;
        let place = match asked {
            Some(asked) => format!("in path \"{asked}\""),
            None if directories.len() > 1 => {
                format!("across {} workspace directories", directories.len())
            }
            None => "in the workspace directory".to_owned(),
        };
        let include = arguments.optional_text("include_pattern");
        let search = GrepSearch {
            workspace: Arc::clone(&self.workspace),
            pattern,
            line_end,
            exclude,
            include: include.map(include_filter),
            per_file: arguments
                .count_argument("max_matches_per_file")
                .unwrap_or(usize::MAX),
            most: arguments
                .count_argument("total_max_matches")
                .unwrap_or(DEFAULT_MATCHES),
            words: GrepWords {
                source: source.to_owned(),
                place,
                filter: include
                    .map(|include| format!(" (filter: \"{include}\")"))
                    .unwrap_or_default(),
                names_only: arguments.flag_argument("names_only") == Some(true),
            },
            directories: directories.clone(),
        };
        let preview = reading_preview(CallKind::Search, format!("Search {source}"), directories);
        Ok(Box::new(ReadingCall {
            preview,
            work: move |cancelled: &_| search.run(cancelled),
        }))
    }
}

/// A filter for files: without a slash it is for names in any directory, as Git and ripgrep have it.
fn include_filter(pattern: &str) -> GlobPattern {
    let anywhere = if pattern.contains('/') {
        pattern.to_owned()
    } else {
        format!("**/{pattern}")
    };
    GlobPattern::new(&anywhere, Case::Sensitive)
}

struct GrepSearch {
    workspace: Arc<Workspace>,
    pattern: LinePattern,
    line_end: LineEnd,
    exclude: Option<LinePattern>,
    include: Option<GlobPattern>,
    per_file: usize,
    most: usize,
    words: GrepWords,
    directories: Vec<PathBuf>,
}

/// The parts of the call that the answer repeats.
struct GrepWords {
    source: String,
    place: String,
    filter: String,
    names_only: bool,
}

/// The matches of a file: the numbers of lines, from 1, and their text.
type FileMatches = Vec<(usize, String)>;

/// Files with matches, by their path. The order is that of its bytes, as `git grep` has it.
#[derive(Default)]
struct GrepFound {
    files: BTreeMap<OsString, FileMatches>,
}

impl GrepSearch {
    fn run(&self, cancelled: &CancellationToken) -> ToolOutput {
        let started = Instant::now();
        let mut all: Vec<(String, PathBuf, FileMatches)> = Vec::new();
        for directory in &self.directories {
            let finder = GrepFinder {
                search: self,
                directory,
                cancelled,
                started,
                count: AtomicUsize::new(0),
                found: Mutex::new(GrepFound::default()),
            };
            let rules = self
                .workspace
                .rules()
                .walk_rules(directory, self.ignore_files());
            if let Err(error) = walk_tree(directory, &finder, rules, cancelled) {
                let words = error.to_string();
                return failed_output(
                    "grep_execution_error",
                    words.clone(),
                    format!("Error: {words}"),
                );
            }
            let found = finder
                .found
                .into_inner()
                .unwrap_or_else(PoisonError::into_inner);
            let prefix = directory.file_name().filter(|_| self.directories.len() > 1);
            for (relative, matches) in found.files {
                let shown = prefix
                    .map(PathBuf::from)
                    .unwrap_or_default()
                    .join(&relative);
                all.push((
                    shown.to_string_lossy().into_owned(),
                    directory.join(relative),
                    matches,
                ));
            }
        }
        if cancelled.is_cancelled() {
            return failed_output(
                "execution_failed",
                "The search was cancelled.",
                "Cancelled.",
            );
        }
        if started.elapsed() > MOST_TIME {
            let words = format!(
                "Operation timed out after {}ms. In large repositories, consider narrowing your search scope by specifying a 'dir_path' or an 'include_pattern'.",
                MOST_TIME.as_millis()
            );
            return failed_output(
                "grep_execution_error",
                words.clone(),
                format!("Error: {words}"),
            );
        }
        self.search_output(&limit_matches(all, self.most))
    }

    /// Gemini CLI asks `git grep` in a repository, which reads ignore files its own way.
    fn ignore_files(&self) -> IgnoreFiles {
        if self.workspace.rules().is_repository() {
            IgnoreFiles::ALL_AS_GIT
        } else {
            IgnoreFiles::ALL
        }
    }

    /// What tools must not read is not searched either. Outside of repositories, some directories are skipped as well.
    fn is_skipped(&self, name: &str) -> bool {
        is_blocked(Path::new(name))
            || !self.workspace.rules().is_repository() && SKIPPED.contains(&name)
    }

    fn search_output(&self, all: &[(String, PathBuf, FileMatches)]) -> ToolOutput {
        let GrepWords {
            source,
            place,
            filter,
            names_only,
        } = &self.words;
        let count: usize = all.iter().map(|(_, _, matches)| matches.len()).sum();
        if count == 0 {
            let mut output = ToolOutput::from_text(format!(
                "No matches found for pattern \"{source}\" {place}{filter}."
            ));
            output.display = Some("No matches found".to_owned());
            return output;
        }
        let is_limited = count >= self.most;
        let limited = if is_limited {
            format!(
                " (results limited to {} matches for performance)",
                self.most
            )
        } else {
            String::new()
        };
        let shortly = if is_limited { " (limited)" } else { "" };
        if *names_only {
            let mut names: Vec<_> = all.iter().map(|(shown, ..)| shown.as_str()).collect();
            names.sort_by(|one, other| one.encode_utf16().cmp(other.encode_utf16()));
            let files = names.len();
            let text = format!(
                "Found {files} files with matches for pattern \"{source}\" {place}{filter}{limited}:\n{}",
                names.join("\n")
            );
            let mut output = ToolOutput::from_text(js::trim(&text));
            output.display = Some(format!("Found {files} files{shortly}"));
            return output;
        }
        let term = if count == 1 { "match" } else { "matches" };
        let mut text = format!(
            "Found {count} {term} for pattern \"{source}\" {place}{filter}{limited}:\n---\n"
        );
        for (shown, path, matches) in all {
            let _ = writeln!(text, "File: {shown}");
            match self.context_lines(path, matches, count) {
                Some(lines) => text += &lines,
                None => matches
                    .iter()
                    .for_each(|(number, line)| text += &numbered_line(*number, ':', line)),
            }
            text += "---\n";
        }
        let mut output = ToolOutput::from_text(js::trim(&text));
        output.display = Some(format!("Found {count} {term}{shortly}"));
        output
    }

    /// Up to three matches come with the lines around them: that saves reading the file.
    fn context_lines(&self, path: &Path, matches: &FileMatches, count: usize) -> Option<String> {
        let around = match count {
            1 => AROUND_ONE,
            2 | 3 => AROUND_FEW,
            _ => return None,
        };
        let bytes = self.workspace.place(path).ok()?.read().ok()?;
        let text = String::from_utf8_lossy(&bytes);
        let lines = text_lines(&text);
        let mut shown = String::new();
        let mut next = 0;
        for (number, _) in matches {
            let start = (number - 1).saturating_sub(around).max(next);
            let end = lines.len().min(number + around);
            for (place, line) in lines.iter().enumerate().take(end).skip(start) {
                let is_match = matches.iter().any(|(number, _)| *number == place + 1);
                shown += &numbered_line(place + 1, if is_match { ':' } else { '-' }, line);
            }
            next = next.max(end);
        }
        Some(shown)
    }
}

/// The first matches, file by file.
fn limit_matches(
    mut all: Vec<(String, PathBuf, FileMatches)>,
    most: usize,
) -> Vec<(String, PathBuf, FileMatches)> {
    let mut room = most;
    all.retain_mut(|(_, _, matches)| {
        matches.truncate(room);
        room -= matches.len();
        !matches.is_empty()
    });
    all
}

fn numbered_line(number: usize, mark: char, line: &str) -> String {
    let line = line.trim_end_matches(js::is_space);
    let cut = line
        .char_indices()
        .nth(LONGEST_LINE)
        .map(|(place, _)| &line[..place]);
    match cut {
        Some(cut) => format!("L{number}{mark} {cut}... [truncated]\n"),
        None => format!("L{number}{mark} {line}\n"),
    }
}

struct GrepFinder<'a> {
    search: &'a GrepSearch,
    directory: &'a Path,
    cancelled: &'a CancellationToken,
    started: Instant,
    /// Files with matches so far: when many more than can be shown have them, the rest is not read.
    count: AtomicUsize,
    found: Mutex<GrepFound>,
}

/// Matches are kept in the order of paths, and threads come by them in any order. So the search goes on until all files are read, unless
/// there are this many times more matches than can be shown.
const ENOUGH: usize = 1000;

impl Visitor for GrepFinder<'_> {
    type State = WalkRules;

    fn directory(&self, above: &WalkRules, name: &str, relative: &Path) -> Option<WalkRules> {
        if self.search.is_skipped(name) || self.is_over() {
            return None;
        }
        let rules = self.search.workspace.rules();
        let below = rules.walk_rules_below(above, &self.directory.join(relative));
        (!below.is_directory_ignored()).then_some(below)
    }

    fn file(&self, rules: &WalkRules, entry: &WalkedEntry<'_>) {
        let search = self.search;
        if self.is_over() || is_blocked(Path::new(entry.name)) {
            return;
        }
        let relative = entry.relative_path();
        if !self.is_included(&relative) {
            return;
        }
        let path = self.directory.join(&relative);
        if search.workspace.rules().is_walked_ignored(rules, &path) {
            return;
        }
        let matches = with_text(entry, |text| self.find_matches(text)).unwrap_or_default();
        if !matches.is_empty() {
            self.count.fetch_add(matches.len(), Ordering::Relaxed);
            let mut found = self.found.lock().unwrap_or_else(PoisonError::into_inner);
            found.files.insert(relative.into_os_string(), matches);
        }
    }
}

impl GrepFinder<'_> {
    fn is_over(&self) -> bool {
        self.cancelled.is_cancelled()
            || self.started.elapsed() > MOST_TIME
            || self.count.load(Ordering::Relaxed) > self.search.most.saturating_mul(ENOUGH)
    }

    fn is_included(&self, relative: &Path) -> bool {
        let include = self.search.include.as_ref();
        include.is_none_or(|include| include.matches_path(&relative.to_string_lossy()))
    }

    fn find_matches(&self, text: &[u8]) -> FileMatches {
        let search = self.search;
        let mut matches = Vec::new();
        let (mut at, mut number, mut counted) = (0, 1, 0);
        while matches.len() < search.per_file.min(search.most)
            && let Some(found) = search.pattern.next_candidate(text, at)
        {
            let start = memchr::memrchr(b'\n', &text[..found]).map_or(0, |place| place + 1);
            let end =
                memchr::memchr(b'\n', &text[found..]).map_or(text.len(), |place| found + place);
            number += memchr::memchr_iter(b'\n', &text[counted..start]).count();
            counted = start;
            let line = text[start..end]
                .strip_suffix(b"\r")
                .unwrap_or(&text[start..end]);
            let is_match = search.pattern.matches_line(match search.line_end {
                LineEnd::CrLf => line,
                LineEnd::Lf => &text[start..end],
            });
            let is_excluded = || {
                search
                    .exclude
                    .as_ref()
                    .is_some_and(|exclude| exclude.matches_line(line))
            };
            if is_match && !is_excluded() {
                matches.push((number, String::from_utf8_lossy(line).into_owned()));
            }
            at = end + 1;
            if at > text.len() {
                break;
            }
        }
        matches
    }
}

/// A buffer that becomes larger than this is not kept for the next file.
const LARGE_BUFFER: usize = 1024 * 1024;

thread_local! {
    /// The text of the file that the thread is at. Most files are small, and a buffer of its own for each costs more than reading it.
    static BUFFER: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// Calls `work` with the bytes of a text file that is not too large. A byte order mark stays, as it does in Git.
fn with_text<T>(entry: &WalkedEntry<'_>, work: impl FnOnce(&[u8]) -> T) -> Option<T> {
    BUFFER.with_borrow_mut(|buffer| {
        buffer.clear();
        buffer.shrink_to(LARGE_BUFFER);
        buffer.reserve(64 * 1024);
        let mut file = entry.open().ok()?.take(MOST_BYTES + 1);
        file.read_to_end(buffer).ok()?;
        let is_binary = memchr::memchr(0, &buffer[..buffer.len().min(SNIFFED)]).is_some();
        (!is_binary && buffer.len() as u64 <= MOST_BYTES).then(|| work(buffer))
    })
}
