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
