//! `replace`: a part of a file becomes another.

use std::fmt::Write as _;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use serde_json::{Map, Value, json};
use tokio_util::sync::CancellationToken;

use super::edit::{EditRequest, EditResult, edit_text, nearest_place_hint};
use super::error_names::{FILE_NOT_FOUND, WRITE_FAILURE};
use super::placeholder::find_placeholders;
use super::snippet::changed_snippet;
use super::{
    Arguments, display_path, failed_output, invalid_parameters, node_error, on_thread,
    tool_declaration,
};
use crate::tool::{
    BoxFuture, CallKind, CallPreview, FileChange, PreparedCall, Tool, ToolDeclaration, ToolError,
    ToolOutput,
};
use crate::workspace::{Workspace, WorkspacePlace};

const MISSING: &str = "If previous edits modified the file or you are modifying lines outside your recent read window, please use ReadFile to inspect the target lines before retrying with an exact 'old_string'.";

/// Replaces a text in a file.
#[derive(Debug)]
pub struct ReplaceTool {
    workspace: Arc<Workspace>,
    declaration: ToolDeclaration,
}

impl ReplaceTool {
    /// The tool for a workspace.
    pub fn new(workspace: Arc<Workspace>) -> Self {
        let properties = json!({
            "file_path": {
                "type": "string",
                "description": "The file to change: absolute, or relative to the project's directory.",
            },
            "instruction": {
                "type": "string",
                "description": "What the change is for, in a sentence that makes sense without the rest of the conversation.",
            },
            "old_string": {
                "type": "string",
                "description": "The text to replace, exactly as it stands in the file, with enough lines around it to occur once. Empty to create a new file.",
            },
            "new_string": {
                "type": "string",
                "description": "The text that takes its place, complete: no placeholders such as `rest of code ...`.",
            },
            "allow_multiple": {
                "type": "boolean",
                "description": "Replace every occurrence instead of exactly one. Default: false.",
            },
        });
        let description = "Replaces a text in a file, which has to occur exactly once unless `allow_multiple` is true. Read the file first. The answer shows the changed lines; if the text is not found, it names the nearest place and the first line that differs.";
        let required = ["file_path", "instruction", "old_string", "new_string"];
        Self {
            workspace,
            declaration: tool_declaration("replace", description, &properties, &required),
        }
    }

    fn requested_place(&self, asked: &str) -> Result<WorkspacePlace, String> {
        let plain = self.workspace.without_mark(asked);
        let path = PathBuf::from(&plain);
        let path = if path.is_absolute() {
            self.workspace.absolute(&plain)
        } else {
            self.workspace.corrected(&plain)
        };
        self.workspace.place_by_target(&path)
    }
}

impl Tool for ReplaceTool {
    workspace_tool!();

    fn prepare(&self, arguments: &Map<String, Value>) -> Result<Box<dyn PreparedCall>, ToolError> {
        let arguments = Arguments::check(&self.declaration, arguments)?;
        let asked = arguments.text_argument("file_path");
        if asked.is_empty() {
            return Err(invalid_parameters(
                "The 'file_path' parameter must be non-empty.",
            ));
        }
        let (old, new) = (
            arguments.text_argument("old_string"),
            arguments.text_argument("new_string"),
        );
        let place = self.requested_place(asked);
        if let Some(left_out) = new_placeholder(old, new) {
            return Err(left_out);
        }
        let place = place.map_err(invalid_parameters)?;
        let request = ReplaceRequest {
            asked,
            old: &old.replace("\r\n", "\n"),
            new: &new.replace("\r\n", "\n"),
            written: new,
            allow_multiple: arguments.flag_argument("allow_multiple") == Some(true),
        };
        let edit = request.work_out_change(&place)?;
        let name = display_path(&self.workspace, &place.path);
        let title = if edit.before.is_none() {
            format!("Create {name}")
        } else {
            format!("Edit {name}")
        };
        Ok(Box::new(ReplaceCall {
            preview: CallPreview {
                title,
                kind: CallKind::Edit,
                paths: vec![place.path.clone()],
                change: Some(FileChange {
                    path: place.path.clone(),
                    old_text: edit.before.clone(),
                    new_text: edit.after.clone(),
                }),
                command: None,
                needs_permission: true,
            },
            place,
            edit,
        }))
    }
}

/// A placeholder in the new text that is not in the old one either.
fn new_placeholder(old: &str, new: &str) -> Option<ToolError> {
    let known = find_placeholders(old);
    let is_new = |found: &String| !known.contains(found);
    let words = "`new_string` contains an omission placeholder (for example 'rest of methods ...'). Provide exact literal replacement text.";
    find_placeholders(new)
        .iter()
        .any(is_new)
        .then(|| invalid_parameters(words))
}

struct ReplaceRequest<'a> {
    asked: &'a str,
    old: &'a str,
    new: &'a str,
    /// The new text with its own line ends, for a new file.
    written: &'a str,
    allow_multiple: bool,
}

/// An edit that is worked out.
#[derive(Debug)]
struct WorkedOut {
    before: Option<String>,
    after: String,
    occurrences: usize,
    nearly: Vec<(usize, usize)>,
}

impl ReplaceRequest<'_> {
    fn work_out_change(&self, place: &WorkspacePlace) -> Result<WorkedOut, ToolError> {
        let path = place.path.display();
        let before = match bytes_at(place) {
            Ok(bytes) => bytes,
            Err(words) => {
                return Err(ToolError::new("edit_preparation_failure", words));
            }
        };
        let Some(bytes) = before else {
            if self.old.is_empty() {
                return Ok(WorkedOut {
                    before: None,
                    after: self.written.to_owned(),
                    occurrences: 1,
                    nearly: Vec::new(),
                });
            }
            return Err(ToolError::new(
                FILE_NOT_FOUND,
                format!("File not found: {path}"),
            ));
        };
        if self.old.is_empty() {
            let words = format!("File already exists, cannot create: {path}");
            return Err(ToolError::new("attempt_to_create_existing_file", words));
        }
        match String::from_utf8(bytes) {
            Ok(before) => self.edit_existing_text(before),
            // Writing the file would destroy its other bytes. A text that does not occur is still reported as such.
            Err(error) => {
                let _ = self
                    .edit_existing_text(String::from_utf8_lossy(error.as_bytes()).into_owned())?;
                let words = format!("Error preparing edit: `{path}` is not UTF-8 text");
                Err(ToolError::new("edit_preparation_failure", words))
            }
        }
    }

    fn edit_existing_text(&self, before: String) -> Result<WorkedOut, ToolError> {
        let has_crlf = before.contains("\r\n");
        let plain = before.replace("\r\n", "\n");
        let result = edit_text(EditRequest {
            text: &plain,
            old: self.old,
            new: self.new,
            allow_multiple: self.allow_multiple,
        });
        match result {
            EditResult::Edited {
                text,
                occurrences,
                nearly,
            } => Ok(WorkedOut {
                after: if has_crlf { with_crlf(&text) } else { text },
                before: Some(before),
                occurrences,
                nearly,
            }),
            other => Err(self.edit_error(&plain, &other)),
        }
    }

    fn edit_error(&self, text: &str, result: &EditResult) -> ToolError {
        let asked = self.asked;
        let missing =
            format!("Could not find an exact match for 'old_string' in '{asked}'. {MISSING}");
        match result {
            EditResult::Ambiguous(count) => ToolError::new(
                "edit_expected_occurrence_mismatch",
                format!(
                    "Failed to edit, Expected 1 occurrence but found {count} for old_string in file: {asked}. If you intended to replace multiple occurrences, set 'allow_multiple' to true."
                ),
            ),
            EditResult::Unchanged => ToolError::new(
                "edit_no_change",
                format!(
                    "No changes to apply. The old_string and new_string are identical in file: {asked}"
                ),
            ),
            EditResult::Unclear {
                lines: (first, last),
                why,
            } => ToolError::new("edit_no_occurrence_found", missing).with_hint(Some(format!(
                "Lines {first}-{last} are nearly the same, but {why}."
            ))),
            EditResult::Missing | EditResult::Edited { .. } => {
                let nearest = nearest_place_hint(text, self.old);
                ToolError::new("edit_no_occurrence_found", missing).with_hint(nearest)
            }
        }
    }
}

/// The bytes of a file, none if there is no file.
fn bytes_at(place: &WorkspacePlace) -> Result<Option<Vec<u8>>, String> {
    match place.read() {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => {
            // Node opens a directory, and fails when it reads.
            let (code, words) = node_error::code_of(&error);
            if code == "EISDIR" {
                return Err(format!("{code}: {words}, read"));
            }
            Err(node_error::error_sentence(&error, "open", &place.path))
        }
    }
}

/// A text whose lines all end with CR LF.
pub(super) fn with_crlf(text: &str) -> String {
    text.replace("\r\n", "\n").replace('\n', "\r\n")
}

#[derive(Debug)]
struct ReplaceCall {
    preview: CallPreview,
    place: WorkspacePlace,
    edit: WorkedOut,
}

impl PreparedCall for ReplaceCall {
    fn preview(&self) -> &CallPreview {
        &self.preview
    }

    fn run(self: Box<Self>, _cancelled: CancellationToken) -> BoxFuture<'static, ToolOutput> {
        Box::pin(on_thread(move || self.write_change()))
    }
}

impl ReplaceCall {
    /// Writes exactly the permitted change: a file that has changed since is not touched.
    fn write_change(self) -> ToolOutput {
        let path = self.place.path.display();
        let before = self.edit.before.clone().map(String::into_bytes);
        if bytes_at(&self.place).ok() != Some(before) {
            let words = format!(
                "Error executing edit: `{path}` has changed since the edit was prepared. Read it again."
            );
            return failed_output(WRITE_FAILURE, words.clone(), words);
        }
        if let Err(error) = self.place.write(self.edit.after.as_bytes()) {
            let words = node_error::error_sentence(&error, "open", &self.place.path);
            return failed_output(
                WRITE_FAILURE,
                words.clone(),
                format!("Error writing file: {words}"),
            );
        }
        let mut text = match &self.edit.before {
            None => format!("Created new file: {path} with provided content."),
            Some(_) => format!(
                "Successfully modified file: {path} ({} replacements).",
                self.edit.occurrences
            ),
        };
        let before = self
            .edit
            .before
            .as_deref()
            .unwrap_or_default()
            .replace("\r\n", "\n");
        let _ = write!(
            text,
            " Here is the updated code:\n{}",
            changed_snippet(&before, &self.edit.after)
        );
        text += &near_match_note(&self.edit.nearly);
        ToolOutput {
            text,
            display: Some(self.preview.title.clone()),
            change: self.preview.change,
            ..ToolOutput::default()
        }
    }
}

/// A sentence about places that were only nearly the same.
fn near_match_note(nearly: &[(usize, usize)]) -> String {
    if nearly.is_empty() {
        return String::new();
    }
    let one = |(start, end): &(usize, usize)| {
        if start == end {
            start.to_string()
        } else {
            format!("{start}-{end}")
        }
    };
    let all: Vec<_> = nearly.iter().map(one).collect();
    let plural = if all.len() > 1 { "s" } else { "" };
    format!(" Applied fuzzy match at line{plural} {}.", all.join(", "))
}
