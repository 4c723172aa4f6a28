//! The context of hooks: the input that all of them share, and their environment.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use lapidary_gemini::setup::Setup;
use lapidary_sessions::SessionStore;
use lapidary_wire::gemini::hooks::{EventDetails, HookInput, HookInputBase};
use serde_json::Value;

use super::ActiveHooks;
use super::environment::VariableRedaction;
use super::expand::{NameTable, NameValue, expand_names};
use super::shell::{AFTER, SHELL, shell};
use crate::acp::OpenedSession;
use crate::process::Command;
use lapidary_gemini::hooks::Hook;

/// Where hooks run.
#[derive(Debug, Clone, Default)]
pub struct HookContext {
    /// The project's directory, in which they run.
    pub cwd: PathBuf,
    /// The directory of the session, if that is not the project's directory: the `cwd` of the input.
    pub session_cwd: Option<PathBuf>,
    /// The session.
    pub session_id: String,
    /// The file that tells the session so far; empty if there is none.
    pub transcript_path: String,
    /// Where plans are kept.
    pub plans_dir: PathBuf,
    /// The variables that hooks may inherit.
    pub variables: Vec<(OsString, OsString)>,
    /// The variables among these that hooks do not get.
    pub redaction: VariableRedaction,
    /// Whether the project is trusted. If not, none of its hooks run.
    pub is_trusted: bool,
    /// Whether the arguments of a tool cannot be changed. Then a hook does not get the changes of the hook before it.
    pub arguments_are_fixed: bool,
    /// The hooks that run right now.
    pub running: ActiveHooks,
}

impl HookContext {
    /// The context of a session in a workspace.
    pub fn from_setup(
        setup: &Setup,
        session_id: &str,
        variables: Vec<(OsString, OsString)>,
    ) -> Self {
        Self {
            cwd: setup.workspace.clone(),
            session_cwd: None,
            session_id: session_id.to_owned(),
            transcript_path: String::new(),
            plans_dir: plans_directory(setup, Some(session_id)),
            variables,
            redaction: VariableRedaction::from_setup(setup),
            is_trusted: setup.is_trusted(),
            arguments_are_fixed: false,
            running: ActiveHooks::default(),
        }
    }

    /// The input of a hook for an event now.
    pub fn input(&self, details: EventDetails) -> HookInput {
        let base = HookInputBase {
            session_id: self.session_id.clone(),
            transcript_path: self.transcript_path.clone(),
            cwd: lossy_path(self.session_cwd.as_ref().unwrap_or(&self.cwd)),
            timestamp: format!("{:.3}", Timestamp::now()),
        };
        HookInput { base, details }
    }

    /// The command that runs a hook.
    pub(super) fn hook_command(&self, hook: &Hook, base: &HookInputBase) -> Command {
        let plans = lossy_path(&self.plans_dir);
        let project = match self.session_cwd {
            Some(_) => lossy_path(&self.cwd),
            None => base.cwd.clone(), // the caller may have changed it in the input
        };
        let session = plain_session_id(&base.session_id);
        let places = NameTable {
            project: NameValue::Own(&project),
            cwd: match self.session_cwd {
                Some(_) => NameValue::Foreign(&base.cwd),
                None => NameValue::Own(&base.cwd),
            },
            plans: NameValue::Own(&plans),
            session: NameValue::Foreign(&session),
        };
        let mut variables = self.redaction.apply(&self.variables);
        let ours = [
            ("GEMINI_PROJECT_DIR", places.project),
            ("GEMINI_PLANS_DIR", places.plans),
            ("GEMINI_CWD", places.cwd),
            ("GEMINI_SESSION_ID", places.session),
            ("CLAUDE_PROJECT_DIR", places.project),
        ];
        variables.extend(ours.map(|(name, value)| (name.into(), value.value_text().into())));
        let own = hook.env.iter();
        variables.extend(own.map(|(name, value)| (name.into(), value.into())));
        let (program, before) = shell(&variables);
        let command = expand_names(&hook.command, places) + AFTER;
        let mut told = Command::new(program, &self.cwd);
        told.called(SHELL).args(before).args([command]);
        told.envs(variables);
        told
    }
}

/// A session's id in a form that is plain text to shells, file systems and JSON: agents choose it, and hooks put it into all of
/// these. Each byte that is not a letter, a digit or an inner sign is percent-encoded.
fn plain_session_id(id: &str) -> String {
    let id = &id[..id.floor_char_boundary(OpenedSession::LONGEST_ID)];
    let letters = id.bytes().enumerate().map(|(place, byte)| match byte {
        b'-' | b'.' | b':' | b'@' | b'+' if place > 0 => char::from(byte).to_string(),
        b'_' | b'0'..=b'9' | b'a'..=b'z' | b'A'..=b'Z' => char::from(byte).to_string(),
        _ => format!("%{byte:02X}"),
    });
    letters.collect()
}

fn lossy_path(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

/// The directory of plans: the one that the settings name, if it is inside the project; else that of the session, or of all sessions
/// of the project.
pub fn plans_directory(setup: &Setup, session_id: Option<&str>) -> PathBuf {
    let named = setup.get(&["general", "plan", "directory"]);
    let named = named.and_then(Value::as_str).filter(|it| !it.is_empty());
    let named = named.map(|named| crate::policy::lexical(&setup.workspace.join(named)));
    if let Some(named) = named.filter(|named| named.starts_with(&setup.workspace)) {
        return named;
    }
    let store = SessionStore::new(setup.home.clone());
    let project = store.base().join(store.project(&setup.workspace).id);
    let owner = session_id.map_or(project.clone(), |id| project.join(id));
    owner.join("plans")
}
