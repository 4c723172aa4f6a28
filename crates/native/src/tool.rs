//! A tool that a model can call: declared, prepared, permitted, then run.
//!
//! A call takes three steps, so that a person or a rule can judge it between the second and the third:
//!
//! 1. [`Tool::prepare`] checks the arguments and works out the effect of the call. It changes nothing.
//! 2. The executor shows the [`CallPreview`] to the [`PermissionGate`].
//! 3. [`PreparedCall::run`] does it. Its [`ToolOutput`] goes back to the model.

use std::fmt;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::Arc;

use serde_json::{Map, Value};
use tokio_util::sync::CancellationToken;

use crate::workspace::Workspace;

/// Makes another workspace of the one that a tool works in.
pub type WorkspaceScope<'a> = dyn FnMut(&Arc<Workspace>) -> Arc<Workspace> + 'a;

/// A future that can be sent between threads.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// A tool that a model can call.
pub trait Tool: fmt::Debug + Send + Sync {
    /// The declaration for the model.
    fn declaration(&self) -> &ToolDeclaration;

    /// Text that belongs to the system instruction of an agent with this tool, such as a list of skills; none for most tools.
    fn instruction(&self) -> Option<String> {
        None
    }

    /// The same tool in the workspace that `scope` makes of its own; none for a tool that reaches no files.
    fn in_scope(&self, _scope: &mut WorkspaceScope<'_>) -> Option<Arc<dyn Tool>> {
        None
    }

    /// Checks a call and works out its effect without causing it.
    ///
    /// # Errors
    /// The arguments do not fit, or name a file out of reach: the error's text is the model's answer.
    fn prepare(&self, arguments: &Map<String, Value>) -> Result<Box<dyn PreparedCall>, ToolError>;
}

/// A call whose arguments are valid, and that has not happened yet.
pub trait PreparedCall: fmt::Debug + Send {
    /// The preview for a person or a rule.
    fn preview(&self) -> &CallPreview;

    /// Does it. Ends early, and leaves nothing running, when `cancelled` is.
    fn run(self: Box<Self>, cancelled: CancellationToken) -> BoxFuture<'static, ToolOutput>;
}

/// The declaration of a tool, as the model gets it.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolDeclaration {
    /// The name that the model calls.
    pub name: String,
    /// When to call it, for the model.
    pub description: String,
    /// The parameters, as a JSON Schema of type `object`.
    pub parameters: Value,
}

/// What kind of effect a call has, in the words of ACP.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CallKind {
    /// Reads files or directories.
    Read,
    /// Changes files.
    Edit,
    /// Searches files.
    Search,
    /// Runs a command.
    Execute,
    /// Sends a request to another host.
    Fetch,
    /// Hands work to an agent, or ends the task.
    Think,
    /// None of these.
    Other,
}

/// The effect of a call, for a person or a rule to judge.
#[derive(Debug, Clone, PartialEq)]
pub struct CallPreview {
    /// One line: `Read src/main.rs`.
    pub title: String,
    /// The kind of its effect.
    pub kind: CallKind,
    /// The files that it concerns.
    pub paths: Vec<PathBuf>,
    /// The change of a file, for an edit.
    pub change: Option<FileChange>,
    /// The command line, for a command.
    pub command: Option<String>,
    /// Whether the gate has to be asked. Reading inside the workspace needs no permission.
    pub needs_permission: bool,
}

/// A file before and after an edit.
#[derive(Debug, Clone, PartialEq)]
pub struct FileChange {
    /// The file.
    pub path: PathBuf,
    /// Its text before; none for a new file.
    pub old_text: Option<String>,
    /// Its text after.
    pub new_text: String,
}

/// The result of a call.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ToolOutput {
    /// The text for the model.
    pub text: String,
    /// Help beside the text, such as the nearest place of a text that is nowhere. The model gets it in a field of its own, so that the
    /// text stays Gemini CLI's.
    pub hint: Option<String>,
    /// Parts beside the text, such as `inlineData` of an image, as the API wants them.
    pub parts: Vec<Value>,
    /// The text for a person, if it differs.
    pub display: Option<String>,
    /// Why the call failed. Its text is `text` then.
    pub error: Option<ToolErrorKind>,
    /// The change that the call made.
    pub change: Option<FileChange>,
}

/// A call that cannot be made. Its text is the model's answer.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolError {
    /// The error's name in Gemini CLI.
    pub kind: ToolErrorKind,
    /// The sentence for the model.
    pub message: String,
    /// Help beside the sentence.
    pub hint: Option<String>,
}

/// The name of an error in Gemini CLI, such as `file_not_found`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ToolErrorKind(pub &'static str);

/// Decides whether a call may happen. There is no executor without one.
pub trait PermissionGate: fmt::Debug + Send + Sync {
    /// Asks about one call. The gate answers at the latest when the run is cancelled.
    fn ask<'a>(
        &'a self,
        call_id: &'a str,
        tool: &'a str,
        preview: &'a CallPreview,
    ) -> BoxFuture<'a, GateAnswer>;
}

/// The calls that a [`PermissionGate`] is asked about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum AskScope {
    /// The calls that need permission by themselves.
    #[default]
    NeedsPermission,
    /// Every call: a rule behind the gate may deny what needs no permission otherwise.
    EveryCall,
}

/// The answer to a permission request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GateAnswer {
    /// The call may happen.
    Allowed,
    /// The call must not happen; the agent goes on.
    Denied {
        /// Why, if that is known.
        reason: Option<String>,
    },
    /// The task is cancelled.
    Cancelled,
}

impl ToolError {
    /// An error by its name and sentence.
    pub fn new(kind: &'static str, message: impl Into<String>) -> Self {
        Self {
            kind: ToolErrorKind(kind),
            message: message.into(),
            hint: None,
        }
    }

    /// The same error with help beside its sentence.
    #[must_use]
    pub fn with_hint(mut self, hint: Option<String>) -> Self {
        self.hint = hint;
        self
    }
}

impl ToolOutput {
    /// A success with one text.
    pub fn from_text(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            ..Self::default()
        }
    }

    /// A failure with one text.
    pub fn from_error(error: ToolError) -> Self {
        Self {
            text: error.message,
            hint: error.hint,
            error: Some(error.kind),
            ..Self::default()
        }
    }
}
