//! `glob`: files by the form of their path, the newest first.

use std::cmp::Ordering;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use lapidary_gemini::js;
use serde_json::{Map, Value, json};
use tokio_util::sync::CancellationToken;

use super::glob_pattern::{Case, GlobPattern, GlobState};
use super::{
    Arguments, ReadingCall, failed_output, invalid_parameters, reading_preview, tool_declaration,
};
use crate::tool::{CallKind, PreparedCall, Tool, ToolDeclaration, ToolError, ToolOutput};
use crate::workspace::{IgnoreFiles, Visitor, WalkRules, WalkedEntry, Workspace, walk_tree};

/// Directories that are never searched.
pub(super) const SKIPPED: [&str; 5] = ["node_modules", ".git", "bower_components", ".svn", ".hg"];
/// Files of this age are listed first.
const RECENT: i128 = 24 * 60 * 60 * 1_000_000_000;
/// Paths that are listed. Gemini CLI lists all, which no model can read.
const MOST_LISTED: usize = 10_000;
/// Files that are looked at before the search ends.
const MOST_FILES: usize = 5_000_000;

/// Finds files.
#[derive(Debug)]
pub struct GlobTool {
    workspace: Arc<Workspace>,
    declaration: ToolDeclaration,
}

impl GlobTool {
    /// The tool for a workspace.
    pub fn new(workspace: Arc<Workspace>) -> Self {
        let properties = json!({
            "pattern": {
                "type": "string",
                "description": "The form of the paths, such as `**/*.py` or `docs/*.md`.",
            },
            "dir_path": {
                "type": "string",
                "description": "The directory to search in. Default: the project's directory.",
            },
            "case_sensitive": {
                "type": "boolean",
                "description": "Whether capital letters matter. Default: false.",
            },
            "respect_git_ignore": {
                "type": "boolean",
                "description": "Leave out files that `.gitignore` ignores. Default: true.",
            },
            "respect_gemini_ignore": {
                "type": "boolean",
                "description": "Leave out files that `.geminiignore` ignores. Default: true.",
            },
        });
        let description = "Finds files by a glob pattern and returns their absolute paths, files changed in the last day first. Use it to find files by name; use `grep_search` to find them by content.";
        Self {
            workspace,
            declaration: tool_declaration("glob", description, &properties, &["pattern"]),
        }
    }
}

impl Tool for GlobTool {
    workspace_tool!();

    fn prepare(&self, arguments: &Map<String, Value>) -> Result<Box<dyn PreparedCall>, ToolError> {
        let arguments = Arguments::check(&self.declaration, arguments)?;
        let asked = arguments.optional_text("dir_path");
        let path = self.workspace.absolute(asked.unwrap_or("."));
        let place = self
            .workspace
            .place_by_target(&path)
            .map_err(invalid_parameters)?;
        match place.stat() {
            Ok(found) if found.is_directory() => {}
            Ok(_) => {
                return Err(invalid_parameters(format!(
                    "Search path is not a directory: {}",
                    place.path.display()
                )));
            }
            Err(_) => {
                return Err(invalid_parameters(format!(
                    "Search path does not exist {}",
                    place.path.display()
                )));
            }
        }
        let pattern = arguments.text_argument("pattern");
        if js::trim(pattern).is_empty() {
            return Err(invalid_parameters(
                "The 'pattern' parameter cannot be empty.",
            ));
        }
        let directories = if asked.is_some() {
            vec![place.path]
        } else {
            self.workspace.roots()
        };
        let preview = reading_preview(
            CallKind::Search,
            format!("Find {pattern}"),
            directories.clone(),
        );
        let search = GlobSearch {
            workspace: Arc::clone(&self.workspace),
            pattern: pattern.to_owned(),
            directories,
            case: if arguments.flag_argument("case_sensitive") == Some(true) {
                Case::Sensitive
            } else {
                Case::Ignored
            },
            files: IgnoreFiles {
                git: arguments
                    .flag_argument("respect_git_ignore")
                    .unwrap_or(true),
                gemini: arguments
                    .flag_argument("respect_gemini_ignore")
                    .unwrap_or(true),
                ..IgnoreFiles::ALL
            },
        };
        Ok(Box::new(ReadingCall {
            preview,
            work: move |cancelled: &_| search.run(cancelled),
        }))
    }
}

struct GlobSearch {
    workspace: Arc<Workspace>,
    pattern: String,
    directories: Vec<PathBuf>,
    case: Case,
    files: IgnoreFiles,
}

/// A file that was found.
struct GlobHit {
    path: PathBuf,
    modified: i128,
}

impl GlobSearch {
    fn run(&self, cancelled: &CancellationToken) -> ToolOutput {
        let (mut hits, mut ignored) = (Vec::new(), 0);
        for directory in &self.directories {
            match self.search_directory(directory, cancelled) {
                Ok(found) => {
                    hits.extend(found.hits);
                    ignored += found.ignored;
                }
                Err(error) => {
                    let words = format!("Error during glob search operation: {error}");
                    return failed_output(
                        "glob_execution_error",
                        words,
                        "Error: An unexpected error occurred.",
                    );
                }
            }
        }
        if cancelled.is_cancelled() {
            return failed_output(
                "execution_failed",
                "The search was cancelled.",
                "Cancelled.",
            );
        }
        self.search_output(hits, ignored)
    }

    fn search_directory(
        &self,
        directory: &Path,
        cancelled: &CancellationToken,
    ) -> std::io::Result<GlobFound> {
        let is_path =
            std::fs::metadata(directory.join(self.pattern.trim_start_matches('/'))).is_ok();
        let pattern = self.pattern.as_str();
        let below = Path::new(pattern)
            .strip_prefix(directory)
            .ok()
            .and_then(Path::to_str);
        let pattern = match below.unwrap_or(pattern) {
            pattern if pattern.starts_with('/') => return Ok(GlobFound::default()),
            pattern if is_path => GlobPattern::from_literal_path(pattern, self.case),
            pattern => GlobPattern::new(pattern, self.case),
        };
        let rules = self.workspace.rules().walk_rules(directory, self.files);
        let first = (pattern.start_state(), rules);
        let finder = GlobFinder {
            search: self,
            directory,
            pattern,
            found: Mutex::new(GlobFound::default()),
        };
        walk_tree(directory, &finder, first, cancelled)?;
        Ok(finder
            .found
            .into_inner()
            .unwrap_or_else(PoisonError::into_inner))
    }

    fn search_output(&self, mut hits: Vec<GlobHit>, ignored: usize) -> ToolOutput {
        let pattern = &self.pattern;
        let (one, count) = (self.directories.first(), self.directories.len());
        let within = one
            .filter(|_| count == 1)
            .map(|one| format!(" within {}", one.display()));
        if hits.is_empty() {
            let within = within.unwrap_or_else(|| format!(" within {count} workspace directories"));
            let more = if ignored > 0 {
                format!(" ({ignored} files were ignored)")
            } else {
                String::new()
            };
            let mut output = ToolOutput::from_text(format!(
                "No files found matching pattern \"{pattern}\"{within}{more}"
            ));
            output.display = Some("No files found".to_owned());
            return output;
        }
        sort_hits(&mut hits);
        let within = within.unwrap_or_else(|| format!(" across {count} workspace directories"));
        let more = if ignored > 0 {
            format!(" ({ignored} additional files were ignored)")
        } else {
            String::new()
        };
        let total = hits.len();
        let listed: Vec<_> = hits
            .iter()
            .take(MOST_LISTED)
            .map(|hit| hit.path.to_string_lossy())
            .collect();
        let mut text = format!(
            "Found {total} file(s) matching \"{pattern}\"{within}{more}, sorted by modification time (newest first):\n{}",
            listed.join("\n")
        );
        if total > MOST_LISTED {
            let _ = write!(
                text,
                "\n... and {} more: use a narrower pattern.",
                total - MOST_LISTED
            );
        }
        let mut output = ToolOutput::from_text(text);
        output.display = Some(format!("Found {total} matching file(s)"));
        output
    }
}

/// Files of the last day first, the newest before; then the others by path.
fn sort_hits(hits: &mut [GlobHit]) {
    let now = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    let now = i128::try_from(now.as_nanos()).unwrap_or(i128::MAX);
    let is_recent = |hit: &GlobHit| now - hit.modified < RECENT;
    hits.sort_by(|one, other| match (is_recent(one), is_recent(other)) {
        (true, true) => other
            .modified
            .cmp(&one.modified)
            .then_with(|| one.path.cmp(&other.path)),
        (true, false) => Ordering::Less,
        (false, true) => Ordering::Greater,
        (false, false) => {
            js::locale_compare(&one.path.to_string_lossy(), &other.path.to_string_lossy())
        }
    });
}

#[derive(Default)]
struct GlobFound {
    hits: Vec<GlobHit>,
    ignored: usize,
}

struct GlobFinder<'a> {
    search: &'a GlobSearch,
    directory: &'a Path,
    pattern: GlobPattern,
    found: Mutex<GlobFound>,
}

impl Visitor for GlobFinder<'_> {
    type State = (GlobState, WalkRules);

    fn directory(&self, above: &Self::State, name: &str, relative: &Path) -> Option<Self::State> {
        if SKIPPED.contains(&name) {
            return None;
        }
        let (state, rules) = above;
        let state = self.pattern.enter_directory(state, name)?;
        // An ignored directory is walked, too: its files are counted.
        let path = self.directory.join(relative);
        let below = self.search.workspace.rules().walk_rules_below(rules, &path);
        Some((state, below))
    }

    fn file(&self, (state, rules): &Self::State, entry: &WalkedEntry<'_>) {
        if !self.pattern.matches_file(state, entry.name) {
            return;
        }
        let path = self.directory.join(entry.relative_path());
        let all = self.search.workspace.rules();
        let is_ignored = all.is_walked_ignored(rules, &path);
        let stat = if is_ignored {
            None
        } else {
            entry.file_stat().ok()
        };
        let mut found = self.found.lock().unwrap_or_else(PoisonError::into_inner);
        if is_ignored {
            found.ignored += 1;
        } else if let Some(stat) = stat
            && found.hits.len() < MOST_FILES
        {
            found.hits.push(GlobHit {
                path,
                modified: stat.modified,
            });
        }
    }
}
