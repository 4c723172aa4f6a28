//! Whether tools of a kind reach hosts.

use lapidary_vocab::event::ToolKind;

/// The hosts that a tool may reach.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum HostReach {
    /// It fetches, or searches the web.
    Fetches,
    /// Possibly any host: a command, a tool of an MCP server, a tool of no known kind.
    Unknown,
    /// It reaches no host.
    None,
}

impl HostReach {
    /// By the kind of a tool and its name: Gemini CLI calls its web search a `search`.
    pub(super) fn from_tool(kind: &ToolKind, tool: &str) -> Self {
        let by_name = lapidary_normalize::tools::kind_of_any_agent(tool);
        match (kind, by_name) {
            (ToolKind::Fetch | ToolKind::Browse, _) | (_, ToolKind::Fetch | ToolKind::Browse) => {
                Self::Fetches
            }
            (kind, _) if is_open(kind) => Self::Unknown,
            _ => Self::None,
        }
    }
}

/// Whether a tool of this kind may have any effect.
pub(super) fn is_open(kind: &ToolKind) -> bool {
    use ToolKind::{Execute, Mcp, Other, Unclassified};
    matches!(kind, Execute | Mcp | Unclassified | Other(_))
}
