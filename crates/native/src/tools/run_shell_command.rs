//! `run_shell_command`: a command line, in a process tree that ends with the call.

mod command_line;
mod output;
#[cfg(unix)]
mod process;

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use lapidary_gemini::js;
use lapidary_process::Supervisor;
use serde_json::{Map, Value, json};
use tokio_util::sync::CancellationToken;

use super::{Arguments, invalid_parameters, tool_declaration};
use crate::tool::{
    BoxFuture, CallKind, CallPreview, PreparedCall, Tool, ToolDeclaration, ToolError, ToolOutput,
    WorkspaceScope,
};
use crate::workspace::Workspace;

/// How commands are run.
#[derive(Debug, Clone)]
pub struct ShellSettings {
    /// The program that supervises them.
    pub supervisor: Supervisor,
    /// Their environment, exactly.
    pub environment: Vec<(OsString, OsString)>,
    /// The shell: `bash`, or where there is none `sh`, by its path.
    pub shell: PathBuf,
    /// A command that writes nothing for so long is ended.
    pub silence: Duration,
    /// Letters of an answer. A longer one is cut, and a file has it whole.
    pub most_letters: usize,
}

impl ShellSettings {
    /// The settings of Gemini CLI: five minutes of silence, 40,000 letters.
    pub fn new(supervisor: Supervisor, environment: Vec<(OsString, OsString)>) -> Self {
        let shells = [
            "/bin/bash",
            "/usr/bin/bash",
            "/usr/local/bin/bash",
            "/bin/sh",
        ];
        let shell = shells
            .into_iter()
            .map(PathBuf::from)
            .find(|shell| shell.exists());
        Self {
            supervisor,
            environment,
            shell: shell.unwrap_or_else(|| PathBuf::from("/bin/sh")),
            silence: Duration::from_mins(5),
            most_letters: 40_000,
        }
    }
}

/// Runs commands.
#[derive(Debug)]
pub struct RunShellCommandTool {
    workspace: Arc<Workspace>,
    settings: Arc<ShellSettings>,
    declaration: ToolDeclaration,
}

impl RunShellCommandTool {
    /// The tool for a workspace.
    pub fn new(workspace: Arc<Workspace>, settings: ShellSettings) -> Self {
        let properties = json!({
            "command": {
                "type": "string",
                "description": "The command line, run as `bash -c COMMAND`.",
            },
            "description": {
                "type": "string",
                "description": "What the command does, in a short sentence for the user.",
            },
            "dir_path": {
                "type": "string",
                "description": "The directory to run in, which must exist. Default: the project's directory.",
            },
        });
        let description = "Runs a command line in a shell and returns its output, its exit code if that is not 0, and its process group. The command has no terminal and no input. Processes that it leaves behind are ended with the call.";
        Self {
            workspace,
            settings: Arc::new(settings),
            declaration: tool_declaration(
                "run_shell_command",
                description,
                &properties,
                &["command"],
            ),
        }
    }
}

impl Tool for RunShellCommandTool {
    fn declaration(&self) -> &ToolDeclaration {
        &self.declaration
    }

    fn in_scope(&self, scope: &mut WorkspaceScope<'_>) -> Option<Arc<dyn Tool>> {
        Some(Arc::new(Self {
            workspace: scope(&self.workspace),
            settings: Arc::clone(&self.settings),
            declaration: self.declaration.clone(),
        }))
    }

    fn prepare(&self, arguments: &Map<String, Value>) -> Result<Box<dyn PreparedCall>, ToolError> {
        let arguments = Arguments::check(&self.declaration, arguments)?;
        let command = arguments.text_argument("command");
        if js::trim(command).is_empty() {
            return Err(invalid_parameters("Command cannot be empty."));
        }
        if arguments.flag_argument("is_background") == Some(true) {
            return Err(invalid_parameters(
                "A command cannot run in the background: everything that it starts ends with the call. Run it without `is_background`.",
            ));
        }
        let directory = self
            .workspace
            .absolute(arguments.optional_text("dir_path").unwrap_or("."));
        let place = self
            .workspace
            .place(&directory)
            .map_err(invalid_parameters)?;
        Ok(Box::new(ShellCall {
            preview: CallPreview {
                title: command.to_owned(),
                kind: CallKind::Execute,
                paths: vec![place.path.clone()],
                change: None,
                command: Some(command.to_owned()),
                needs_permission: true,
            },
            command: complete_line(js::trim(command)),
            directory: place.path,
            settings: Arc::clone(&self.settings),
            temporary: self.workspace.temporary().to_owned(),
        }))
    }
}

/// A command line whose last letter escapes no line end.
fn complete_line(command: &str) -> String {
    let space = if command.ends_with('\\') { " " } else { "" };
    format!("{command}{space}")
}

/// A command that is about to run.
#[derive(Debug)]
struct ShellCall {
    preview: CallPreview,
    command: String,
    directory: PathBuf,
    settings: Arc<ShellSettings>,
    temporary: PathBuf,
}

impl PreparedCall for ShellCall {
    fn preview(&self) -> &CallPreview {
        &self.preview
    }

    fn run(self: Box<Self>, cancelled: CancellationToken) -> BoxFuture<'static, ToolOutput> {
        Box::pin(async move {
            if command_line::has_substitution(&self.command) {
                let mut output = ToolOutput::from_text(command_line::BLOCKED);
                output.display =
                    Some("Blocked: command substitution detected in shell command.".to_owned());
                return output;
            }
            if cancelled.is_cancelled() {
                let mut output =
                    ToolOutput::from_text("Command was cancelled by user before it could start.");
                output.display = Some("Command cancelled by user.".to_owned());
                return output;
            }
            self.run_command(&cancelled).await
        })
    }
}

#[cfg(not(unix))]
impl ShellCall {
    async fn run_command(self, _cancelled: &CancellationToken) -> ToolOutput {
        super::failure(
            "shell_execute_error",
            "commands run on Unix only",
            "Command failed.",
        )
    }
}
