//! `write_file`: a file, whole.

use std::io;
use std::sync::Arc;

use serde_json::{Map, Value, json};
use tokio_util::sync::CancellationToken;

use super::error_names::WRITE_FAILURE;
use super::placeholder::find_placeholders;
use super::replace::with_crlf;
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

/// Writes a file.
#[derive(Debug)]
pub struct WriteFileTool {
    workspace: Arc<Workspace>,
    declaration: ToolDeclaration,
}

impl WriteFileTool {
    /// The tool for a workspace.
    pub fn new(workspace: Arc<Workspace>) -> Self {
        let properties = json!({
            "file_path": {
                "type": "string",
                "description": "The file to write: absolute, or relative to the project's directory. Missing directories are made.",
            },
            "content": {
                "type": "string",
                "description": "The whole content of the file: no placeholders such as `rest of code ...`.",
            },
        });
        let description = "Writes a file with the given content. A file that is there already is replaced whole; its line ends are kept.";
        Self {
            workspace,
            declaration: tool_declaration(
                "write_file",
                description,
                &properties,
                &["file_path", "content"],
            ),
        }
    }
}

impl Tool for WriteFileTool {
    workspace_tool!();

    fn prepare(&self, arguments: &Map<String, Value>) -> Result<Box<dyn PreparedCall>, ToolError> {
        let arguments = Arguments::check(&self.declaration, arguments)?;
        let asked = arguments.text_argument("file_path");
        if asked.is_empty() {
            return Err(invalid_parameters("Missing or empty \"file_path\""));
        }
        let named = self.workspace.absolute(&self.workspace.without_mark(asked));
        let place = self
            .workspace
            .place_by_target(&named)
            .map_err(invalid_parameters)?;
        if place.stat().is_ok_and(|found| found.is_directory()) {
            let words = format!("Path is a directory, not a file: {}", place.path.display());
            return Err(invalid_parameters(words));
        }
        let content = arguments.text_argument("content");
        if !find_placeholders(content).is_empty() {
            return Err(invalid_parameters(
                "`content` contains an omission placeholder (for example 'rest of methods ...'). Provide complete file content.",
            ));
        }
        let before = text_before(&place).map_err(|error| unreadable_error(&place, &error))?;
        let has_crlf = before.as_ref().is_some_and(|text| text.contains("\r\n"));
        let after = if has_crlf {
            with_crlf(content)
        } else {
            content.to_owned()
        };
        let name = display_path(&self.workspace, &place.path);
        Ok(Box::new(WriteCall {
            preview: CallPreview {
                title: format!("Write {name}"),
                kind: CallKind::Edit,
                paths: vec![place.path.clone()],
                change: Some(FileChange {
                    path: place.path.clone(),
                    old_text: before.clone(),
                    new_text: after.clone(),
                }),
                command: None,
                needs_permission: true,
            },
            place,
            before,
            after,
        }))
    }
}

/// The text of the file that is replaced, none if there is no file.
fn text_before(place: &WorkspacePlace) -> io::Result<Option<String>> {
    match place.read() {
        Ok(bytes) => Ok(Some(String::from_utf8_lossy(&bytes).into_owned())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

fn unreadable_error(place: &WorkspacePlace, error: &io::Error) -> ToolError {
    let (code, _) = node_error::code_of(error);
    let words = node_error::error_sentence(error, "open", &place.path);
    let path = place.path.display();
    let words = format!("Error checking existing file '{path}': {words} ({code})");
    ToolError::new(WRITE_FAILURE, words)
}

#[derive(Debug)]
struct WriteCall {
    preview: CallPreview,
    place: WorkspacePlace,
    before: Option<String>,
    after: String,
}

impl PreparedCall for WriteCall {
    fn preview(&self) -> &CallPreview {
        &self.preview
    }

    fn run(self: Box<Self>, _cancelled: CancellationToken) -> BoxFuture<'static, ToolOutput> {
        Box::pin(on_thread(move || self.write_content()))
    }
}

impl WriteCall {
    /// Writes exactly the permitted text: a file that has changed since is not touched.
    fn write_content(self) -> ToolOutput {
        let path = self.place.path.display();
        if text_before(&self.place).ok() != Some(self.before.clone()) {
            let words = format!(
                "Error writing to file: `{path}` has changed since the call was prepared. Read it again."
            );
            return failed_output(WRITE_FAILURE, words.clone(), words);
        }
        if let Err(error) = self.place.write(self.after.as_bytes()) {
            return self.failed_write(&error);
        }
        let text = match &self.before {
            None => format!("Successfully created and wrote to new file: {path}."),
            Some(_) => format!("Successfully overwrote file: {path}."),
        };
        let snippet = changed_snippet(self.before.as_deref().unwrap_or_default(), &self.after);
        ToolOutput {
            text: format!("{text} Here is the updated code:\n{snippet}"),
            display: Some(self.preview.title.clone()),
            change: self.preview.change,
            ..ToolOutput::default()
        }
    }

    fn failed_write(&self, error: &io::Error) -> ToolOutput {
        let path = self.place.path.display();
        let (code, _) = node_error::code_of(error);
        let (kind, words) = match code {
            "EACCES" => (
                "permission_denied",
                format!("Permission denied writing to file: {path} ({code})"),
            ),
            "ENOSPC" => (
                "no_space_left",
                format!("No space left on device: {path} ({code})"),
            ),
            "EISDIR" => (
                "target_is_directory",
                format!("Target is a directory, not a file: {path} ({code})"),
            ),
            _ => {
                let words = node_error::error_sentence(error, "open", &self.place.path);
                (
                    WRITE_FAILURE,
                    format!("Error writing to file '{path}': {words} ({code})"),
                )
            }
        };
        failed_output(kind, words.clone(), words)
    }
}
