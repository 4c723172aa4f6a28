//! The tools of Gemini CLI 0.61: the same names, parameters and result texts, which models and tests know.
//!
//! One file per tool. Each is compared with the real tool on generated cases; `tests/it/oracle.rs` names every deviation.

/// The members of a tool that is made for a workspace and has nothing else.
macro_rules! workspace_tool {
    () => {
        fn declaration(&self) -> &$crate::tool::ToolDeclaration {
            &self.declaration
        }

        fn in_scope(
            &self,
            scope: &mut $crate::tool::WorkspaceScope<'_>,
        ) -> Option<::std::sync::Arc<dyn $crate::tool::Tool>> {
            Some(::std::sync::Arc::new(Self::new(scope(&self.workspace))))
        }
    };
}

mod activate_skill;
mod edit;
mod file_text;
mod get_internal_docs;
mod glob;
mod glob_pattern;
mod grep_search;
mod line_pattern;
mod list_directory;
mod node_error;
mod placeholder;
mod read_file;
mod replace;
mod run_shell_command;
mod snippet;
mod write_file;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::{Map, Value};
use tokio_util::sync::CancellationToken;

use crate::schema;
use crate::tool::{
    BoxFuture, CallKind, CallPreview, PreparedCall, Tool, ToolDeclaration, ToolError, ToolOutput,
};
use crate::workspace::Workspace;

pub use activate_skill::{ActivateSkillTool, SharedSkills};
pub use get_internal_docs::GetInternalDocsTool;
pub use glob::GlobTool;
pub use grep_search::GrepSearchTool;
pub use list_directory::ListDirectoryTool;
pub use read_file::ReadFileTool;
pub use replace::ReplaceTool;
pub use run_shell_command::{RunShellCommandTool, ShellSettings};
pub use write_file::WriteFileTool;

/// The tools that read, search and change files of a workspace.
pub fn file_tools(workspace: &Arc<Workspace>) -> Vec<Arc<dyn Tool>> {
    vec![
        Arc::new(ListDirectoryTool::new(Arc::clone(workspace))),
        Arc::new(ReadFileTool::new(Arc::clone(workspace))),
        Arc::new(GrepSearchTool::new(Arc::clone(workspace))),
        Arc::new(GlobTool::new(Arc::clone(workspace))),
        Arc::new(ReplaceTool::new(Arc::clone(workspace))),
        Arc::new(WriteFileTool::new(Arc::clone(workspace))),
    ]
}

/// Error names of Gemini CLI that more than one tool uses.
mod error_names {
    pub(super) const FILE_NOT_FOUND: &str = "file_not_found";
    pub(super) const INVALID_PARAMETERS: &str = "invalid_tool_params";
    pub(super) const READ_FAILURE: &str = "read_content_failure";
    pub(super) const WRITE_FAILURE: &str = "file_write_failure";
}

/// A call that reads on a thread of its own, and needs no permission.
struct ReadingCall<F> {
    preview: CallPreview,
    work: F,
}

impl<F> std::fmt::Debug for ReadingCall<F> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ReadingCall")
            .field("preview", &self.preview)
            .finish_non_exhaustive()
    }
}

impl<F> PreparedCall for ReadingCall<F>
where
    F: FnOnce(&CancellationToken) -> ToolOutput + Send + 'static,
{
    fn preview(&self) -> &CallPreview {
        &self.preview
    }

    fn run(self: Box<Self>, cancelled: CancellationToken) -> BoxFuture<'static, ToolOutput> {
        let work = self.work;
        Box::pin(on_thread(move || work(&cancelled)))
    }
}

/// Does work that waits for the disk where it holds up no other task. The work watches its own cancellation.
async fn on_thread(work: impl FnOnce() -> ToolOutput + Send + 'static) -> ToolOutput {
    match tokio::task::spawn_blocking(work).await {
        Ok(output) => output,
        Err(error) => ToolOutput::from_error(ToolError::new(
            "unhandled_exception",
            format!("the tool failed: {error}"),
        )),
    }
}

/// The preview of a call that only reads.
fn reading_preview(kind: CallKind, title: String, paths: Vec<PathBuf>) -> CallPreview {
    CallPreview {
        title,
        kind,
        paths,
        change: None,
        command: None,
        needs_permission: false,
    }
}

/// A path as it is shown: from the project's directory, if it is in there.
fn display_path(workspace: &Workspace, path: &Path) -> String {
    let relative = path.strip_prefix(workspace.target()).unwrap_or(path);
    if relative.as_os_str().is_empty() {
        return ".".to_owned();
    }
    relative.to_string_lossy().into_owned()
}

fn invalid_parameters(message: impl Into<String>) -> ToolError {
    ToolError::new(error_names::INVALID_PARAMETERS, message)
}

/// A failure: the sentence for the model, and the one for a person.
fn failed_output(
    kind: &'static str,
    message: impl Into<String>,
    display: impl Into<String>,
) -> ToolOutput {
    let mut output = ToolOutput::from_error(ToolError::new(kind, message));
    output.display = Some(display.into());
    output
}

/// A declaration, whose parameters are the properties of an object.
fn tool_declaration(
    name: &str,
    description: &str,
    properties: &Value,
    required: &[&str],
) -> ToolDeclaration {
    ToolDeclaration {
        name: name.to_owned(),
        description: description.to_owned(),
        parameters: serde_json::json!({
            "type": "object",
            "properties": properties,
            "required": required,
        }),
    }
}

/// Arguments that fit the declaration.
struct Arguments<'a>(&'a Map<String, Value>);

impl<'a> Arguments<'a> {
    fn check(
        declaration: &ToolDeclaration,
        all: &'a Map<String, Value>,
    ) -> Result<Self, ToolError> {
        let arguments = Value::Object(all.clone());
        schema::check(&declaration.parameters, &arguments)
            .map_err(|violations| invalid_parameters(schema::sentence("params", &violations)))?;
        Ok(Self(all))
    }

    fn text_argument(&self, name: &str) -> &'a str {
        self.0.get(name).and_then(Value::as_str).unwrap_or_default()
    }

    /// A text that is not empty, if there is one: an empty one counts as none, as in JavaScript.
    fn optional_text(&self, name: &str) -> Option<&'a str> {
        Some(self.text_argument(name)).filter(|text| !text.is_empty())
    }

    fn flag_argument(&self, name: &str) -> Option<bool> {
        self.0.get(name).and_then(Value::as_bool)
    }

    fn count_argument(&self, name: &str) -> Option<usize> {
        let number = self.0.get(name)?.as_f64()?;
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "the schema admits whole numbers from 0; larger ones than fit are the largest"
        )]
        Some(number as usize)
    }

    fn argument_value(&self, name: &str) -> Option<&'a Value> {
        self.0.get(name)
    }
}
