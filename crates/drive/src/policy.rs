//! What an agent may do, and who says so.
//!
//! An agent that wants to do something asks. What it wants is a [`Deed`]; a [`Policy`] says what becomes of it.

use std::path::PathBuf;

use lapidary_vocab::event::{DecidedBy, ToolKind};

/// Something that an agent wants to do.
#[derive(Debug, Clone, PartialEq)]
pub struct Deed {
    /// What sort of thing.
    pub kind: ToolKind,
    /// The tool's name, as far as it is known: the agent's own, or the method of the protocol.
    pub tool: Option<String>,
    /// What it calls the call.
    pub title: Option<String>,
    /// The command, if it runs one.
    pub command: Option<String>,
    /// The files and directories that it is about, absolute.
    pub paths: Vec<PathBuf>,
    /// The MCP server that the tool belongs to.
    pub mcp_server: Option<String>,
}

/// What becomes of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    /// It may.
    Allow,
    /// It may not.
    Deny,
    /// Somebody has to be asked.
    Ask,
}

/// What was decided, by what, and why.
#[derive(Debug, Clone, PartialEq)]
pub struct Decision {
    /// What becomes of it.
    pub effect: Effect,
    /// Who decided.
    pub by: DecidedBy,
    /// The rule that decided, named by where it stands, such as `lapidary.toml:12`.
    pub rule: Option<String>,
    /// Why, in words for the agent and for people.
    pub reason: String,
}

// STUB
use crate::config::PermissionMode;
#[derive(Debug, Clone, Default)]
pub struct Policy {
    mode: PermissionMode,
}
impl Policy {
    pub fn of(mode: PermissionMode) -> Self {
        Self { mode }
    }
    pub fn mode(&self) -> PermissionMode {
        self.mode
    }
    pub fn set_mode(&mut self, mode: PermissionMode) {
        self.mode = mode
    }
    pub fn decide(&self, deed: &Deed) -> Decision {
        let effect = match (self.mode, &deed.kind) {
            (PermissionMode::BypassPermissions, _) => Effect::Allow,
            (_, ToolKind::Read) => Effect::Allow,
            _ => Effect::Ask,
        };
        Decision {
            effect,
            by: DecidedBy::Mode,
            rule: None,
            reason: "stub".into(),
        }
    }
}
impl Decision {
    pub fn unattended(mut self) -> Self {
        self.effect = Effect::Deny;
        self
    }
}
impl Deed {
    pub fn of_call(call: &lapidary_vocab::event::ToolInvocation) -> Self {
        Self {
            kind: call.kind.clone(),
            tool: Some(call.tool_name.to_string()),
            title: None,
            command: None,
            paths: vec![],
            mcp_server: None,
        }
    }
    pub fn of_request(call: &lapidary_vocab::event::PermissionRequest) -> Self {
        Self {
            kind: call.tool_kind.clone(),
            tool: Some(call.tool_name.to_string()),
            title: None,
            command: None,
            paths: vec![],
            mcp_server: None,
        }
    }
}
pub struct Choice {
    pub option_id: lapidary_vocab::Text,
    pub note: Option<&'static str>,
}
pub fn choose(options: &lapidary_vocab::Json, effect: Effect) -> Option<Choice> {
    let kind = if effect == Effect::Allow {
        "allow_once"
    } else {
        "reject_once"
    };
    let o = options
        .token()
        .elements()
        .find(|o| o.get("kind").is_some_and(|k| k.is(kind)))?;
    Some(Choice {
        option_id: lapidary_vocab::Text::from(o.get("optionId")?.string()?.into_owned()),
        note: None,
    })
}
#[derive(Debug, Clone, Default)]
pub struct Rules;
impl Rules {
    pub fn is_empty(&self) -> bool {
        true
    }
}
