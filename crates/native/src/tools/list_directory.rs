//! `list_directory`: the names in one directory, directories first.

use std::fmt::Write as _;
use std::path::Path;
use std::sync::Arc;

use lapidary_gemini::js;
use serde_json::{Map, Value, json};

use super::{
    Arguments, ReadingCall, display_path, failed_output, invalid_parameters, node_error,
    reading_preview, tool_declaration,
};
use crate::tool::{CallKind, PreparedCall, Tool, ToolDeclaration, ToolError, ToolOutput};
use crate::workspace::{EntryKind, IgnoreFiles, Workspace, followed_path};

/// The entries of a directory that are looked at. Behind them a listing says that it is cut.
const MOST_ENTRIES: usize = 100_000;

/// Lists a directory.
#[derive(Debug)]
pub struct ListDirectoryTool {
    workspace: Arc<Workspace>,
    declaration: ToolDeclaration,
}

impl ListDirectoryTool {
    /// The tool for a workspace.
    pub fn new(workspace: Arc<Workspace>) -> Self {
        let properties = json!({
            "dir_path": {
                "type": "string",
                "description": "The directory to list: absolute, or relative to the project's directory.",
            },
            "ignore": {
                "type": "array",
                "items": { "type": "string" },
                "description": "Patterns of names to leave out; `*` and `?` are wildcards.",
            },
            "file_filtering_options": {
                "type": "object",
                "description": "Which ignore files count.",
                "properties": {
                    "respect_git_ignore": {
                        "type": "boolean",
                        "description": "Leave out names that `.gitignore` ignores. Default: true.",
                    },
                    "respect_gemini_ignore": {
                        "type": "boolean",
                        "description": "Leave out names that `.geminiignore` ignores. Default: true.",
                    },
                },
            },
        });
        let description = "Lists the files and directories directly inside one directory, with the size of each file. Ignored names are left out and counted.";
        Self {
            workspace,
            declaration: tool_declaration(
                "list_directory",
                description,
                &properties,
                &["dir_path"],
            ),
        }
    }
}

impl Tool for ListDirectoryTool {
    workspace_tool!();

    fn prepare(&self, arguments: &Map<String, Value>) -> Result<Box<dyn PreparedCall>, ToolError> {
        let arguments = Arguments::check(&self.declaration, arguments)?;
        let path = self.workspace.absolute(arguments.text_argument("dir_path"));
        self.workspace.place(&path).map_err(invalid_parameters)?;
        let title = format!("List {}", display_path(&self.workspace, &path));
        let preview = reading_preview(CallKind::Read, title, vec![path.clone()]);
        let options = arguments.argument_value("file_filtering_options");
        let option = |name: &str| {
            options
                .and_then(|all| all.get(name))
                .and_then(Value::as_bool)
        };
        let left_out = arguments.argument_value("ignore").and_then(Value::as_array);
        let left_out = left_out.into_iter().flatten().filter_map(Value::as_str);
        let listing = Listing {
            workspace: Arc::clone(&self.workspace),
            left_out: left_out.map(str::to_owned).collect(),
            files: IgnoreFiles {
                git: option("respect_git_ignore").unwrap_or(true),
                gemini: option("respect_gemini_ignore").unwrap_or(true),
                ..IgnoreFiles::ALL
            },
        };
        Ok(Box::new(ReadingCall {
            preview,
            work: move |_: &_| listing.list_directory(&path),
        }))
    }
}

struct Listing {
    workspace: Arc<Workspace>,
    left_out: Vec<String>,
    files: IgnoreFiles,
}

struct Listed {
    name: String,
    is_directory: bool,
    size: u64,
}

impl Listing {
    fn list_directory(&self, path: &Path) -> ToolOutput {
        let shown = path.display();
        let place = match self.workspace.place(path) {
            Ok(place) => place,
            Err(words) => {
                return failed_output("path_not_in_workspace", words, "Path not in workspace.");
            }
        };
        match place.stat() {
            Ok(found) if !found.is_directory() => failed_output(
                "path_is_not_a_directory",
                format!("Error: Path is not a directory: {shown}"),
                "Error: Path is not a directory.",
            ),
            Ok(_) => match place.list(MOST_ENTRIES) {
                Ok(entries) => self.listing_output(path, &entries),
                Err(error) => failed_listing(&error, "scandir", path),
            },
            Err(error) => failed_listing(&error, "stat", path),
        }
    }

    fn listing_output(
        &self,
        path: &Path,
        entries: &[crate::workspace::DirectoryEntry],
    ) -> ToolOutput {
        if entries.is_empty() {
            let mut output =
                ToolOutput::from_text(format!("Directory {} is empty.", path.display()));
            output.display = Some("Directory is empty.".to_owned());
            return output;
        }
        let (mut listed, mut ignored) = (Vec::new(), 0);
        for entry in entries {
            let name = entry.name.to_string_lossy().into_owned();
            let full = path.join(&entry.name);
            if self.is_ignored(&full, entry.kind) {
                ignored += 1;
            } else if !self.is_left_out(&name) {
                listed.extend(self.listed_entry(name, &full));
            }
        }
        listed.sort_by(|one, other| {
            let by_kind = other.is_directory.cmp(&one.is_directory);
            by_kind.then_with(|| js::locale_compare(&one.name, &other.name))
        });
        let lines: Vec<_> = listed.iter().map(Listed::entry_line).collect();
        let mut text = format!(
            "Directory listing for {}:\n{}",
            path.display(),
            lines.join("\n")
        );
        let mut display = format!("Found {} item(s).", listed.len());
        if ignored > 0 {
            let _ = write!(text, "\n\n({ignored} ignored)");
            let _ = write!(display, " ({ignored} ignored)");
        }
        if entries.len() == MOST_ENTRIES {
            let _ = write!(text, "\n\n(only {MOST_ENTRIES} entries were read)");
        }
        let mut output = ToolOutput::from_text(text);
        output.display = Some(display);
        output
    }

    /// Gemini CLI asks of every entry as of a file: a pattern that ends with `/` leaves a directory in the listing.
    fn is_ignored(&self, full: &Path, kind: EntryKind) -> bool {
        let rules = self.workspace.rules();
        if rules.is_ignored(full, false, self.files) {
            return true;
        }
        if kind != EntryKind::Link {
            return false;
        }
        let Ok(target) = followed_path(full) else {
            return false;
        };
        let Ok(root) = followed_path(self.workspace.target()) else {
            return false;
        };
        let is_directory = std::fs::metadata(&target).is_ok_and(|found| found.is_dir());
        !target.starts_with(root) || rules.is_ignored(&target, is_directory, self.files)
    }

    fn is_left_out(&self, name: &str) -> bool {
        self.left_out.iter().any(|pattern| has_form(pattern, name))
    }

    /// A link is listed as its target, if the target is inside.
    fn listed_entry(&self, name: String, full: &Path) -> Option<Listed> {
        let found = self.workspace.place(full).ok()?.stat().ok()?;
        Some(Listed {
            name,
            is_directory: found.is_directory(),
            size: found.size,
        })
    }
}

impl Listed {
    fn entry_line(&self) -> String {
        if self.is_directory {
            format!("[DIR] {}", self.name)
        } else {
            format!("{} ({} bytes)", self.name, self.size)
        }
    }
}

fn failed_listing(error: &std::io::Error, call: &str, path: &Path) -> ToolOutput {
    let words = node_error::error_sentence(error, call, path);
    failed_output(
        "ls_execution_error",
        format!("Error listing directory: {words}"),
        "Error: Failed to list directory.",
    )
}

/// Whether a name has the form of a pattern, where `*` is any letters and `?` any one. Neither is a line end.
fn has_form(pattern: &str, name: &str) -> bool {
    let pattern: Vec<char> = pattern.chars().collect();
    let name: Vec<char> = name.chars().collect();
    let is_line_end = |letter: char| matches!(letter, '\n' | '\r' | '\u{2028}' | '\u{2029}');
    let (mut p, mut n) = (0, 0);
    let mut star: Option<(usize, usize)> = None;
    while n < name.len() {
        match pattern.get(p) {
            Some('*') => {
                star = Some((p, n));
                p += 1;
                continue;
            }
            Some('?') if !is_line_end(name[n]) => {
                p += 1;
                n += 1;
                continue;
            }
            Some(letter) if *letter == name[n] && *letter != '?' => {
                p += 1;
                n += 1;
                continue;
            }
            _ => {}
        }
        match star {
            Some((at, from)) if !is_line_end(name[from]) => {
                star = Some((at, from + 1));
                p = at + 1;
                n = from + 1;
            }
            _ => return false,
        }
    }
    pattern[p..].iter().all(|letter| *letter == '*')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wildcards_are_those_of_gemini_cli() {
        let check = |pattern: &str, name: &str, expected: bool| {
            assert_eq!(has_form(pattern, name), expected, "{pattern} on {name}");
        };
        check("*.log", "a.log", true);
        check("*.log", "a.logs", false);
        check("a?c", "abc", true);
        check("a?c", "ac", false);
        check("*", "", true);
        check("", "", true);
        check("", "a", false);
        check("a*b*c", "aXbYbZc", true);
        check("[ab]", "a", false);
        check("[ab]", "[ab]", true);
        check("*", "a\nb", false);
    }
}
