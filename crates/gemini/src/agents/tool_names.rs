//! The names of tools that a definition may list.

use lapidary_wire::gemini::BUILT_IN_TOOLS;

use crate::hooks::nearest;

/// The older name of `grep_search`.
const LEGACY: &str = "search_file_content";

/// The beginning of a name that a discovery command gave.
const DISCOVERED: &str = "discovered_tool_";
/// The beginning of a name of an MCP server's tool.
const MCP: &str = "mcp_";

/// Whether a definition may list the name: a built-in tool, an older name, a discovered tool, `*`, `mcp_*`, `mcp_<server>_*` or
/// `mcp_<server>_<tool>`. Whether the tool is there is another question.
///
/// ```
/// use lapidary_gemini::agents::is_valid_tool_name;
///
/// assert!(is_valid_tool_name("read_file") && is_valid_tool_name("mcp_github_*"));
/// assert!(!is_valid_tool_name("Read") && !is_valid_tool_name("mcp__x"));
/// ```
pub fn is_valid_tool_name(name: &str) -> bool {
    BUILT_IN_TOOLS.contains(&name)
        || name == LEGACY
        || name.starts_with(DISCOVERED)
        || name == "*"
        || name.strip_prefix(MCP).is_some_and(is_mcp_pattern)
}

/// The built-in tool whose name is nearest to a word.
pub(super) fn nearest_tool(word: &str) -> Option<&'static str> {
    nearest(word, BUILT_IN_TOOLS.into_iter())
}

fn is_mcp_pattern(rest: &str) -> bool {
    if rest == "*" {
        return true;
    }
    let Some((server, tool)) = rest.split_once('_') else {
        return false;
    };
    let is_slug = |text: &str| {
        let fits = |letter: u8| letter.is_ascii_alphanumeric() || b"_.:-".contains(&letter);
        !text.is_empty() && text.bytes().all(fits)
    };
    let is_only_underscores = tool.bytes().all(|letter| letter == b'_');
    is_slug(server) && (tool == "*" || (is_slug(tool) && !is_only_underscores))
}
