//! Which MCP server a tool belongs to.
//!
//! Some agents say it in the tool's name (`mcp__server__tool`), others only put the server's name before it (opencode: `server_tool`),
//! which is understood for servers that the client passed.

use lapidary_json::Token;
use lapidary_vocab::Json;

use super::wildcard::wildcard_matches;

/// How many servers are remembered.
const MOST_SERVERS: usize = 1024;

/// Where agents put the server of a call among its arguments.
const ARGUMENTS: [&str; 4] = ["server", "serverName", "server_name", "mcpServer"];

/// The MCP servers that were passed to an agent.
#[derive(Debug, Clone, Default)]
pub(super) struct McpServers(Vec<String>);

impl McpServers {
    /// Takes in servers of a session: objects with a `name`.
    pub(super) fn add_session_servers(&mut self, servers: &[Json]) {
        for server in servers {
            let name = server.token().get("name").and_then(Token::string);
            let name = name.filter(|name| !name.is_empty() && self.0.len() < MOST_SERVERS);
            if let Some(name) = name.filter(|name| !self.0.iter().any(|known| known == name)) {
                self.0.push(name.into_owned());
            }
        }
    }

    /// The server of a call: as the tool's name says, else a server that was passed and whose name the tool or an argument begins with.
    pub(super) fn of_call(&self, tool: &str, input: Token<'_>) -> Option<String> {
        let named = || self.of_name(tool).or_else(|| self.of_input(input));
        let passed = || (!self.0.is_empty()).then(named).flatten();
        server_of(tool).or_else(|| passed().cloned())
    }

    /// The longest name that fits: `my_server` rather than `my`.
    fn of_name(&self, tool: &str) -> Option<&String> {
        let tool = folded_server_name(tool);
        let is_before = |server: &&String| {
            let rest = tool.strip_prefix(&folded_server_name(server));
            rest.is_some_and(|rest| rest.starts_with('_'))
        };
        self.0
            .iter()
            .filter(is_before)
            .max_by_key(|name| name.len())
    }

    /// Codex has `{"server": …, "tool": …}`, or the same under `invocation`.
    fn of_input(&self, input: Token<'_>) -> Option<&String> {
        let inner = input.get("invocation");
        let values = [Some(input), inner].into_iter().flatten();
        let mut values = values.flat_map(|object| ARGUMENTS.map(|name| object.get(name)));
        values.find_map(|value| {
            let value = value?.string()?;
            self.0.iter().find(|server| **server == *value)
        })
    }
}

/// A name as agents change it for models: only letters and digits are kept.
fn folded_server_name(name: &str) -> String {
    name.chars().map(folded_letter).collect()
}

fn folded_letter(letter: char) -> char {
    match letter {
        letter if letter.is_ascii_alphanumeric() => letter.to_ascii_lowercase(),
        _ => '_',
    }
}

/// Whether a rule with this pattern may be about the server of a tool, whose name is the rest after `mcp_` or the server's own. Agents
/// change names for models: `my server` is `my_server`, and of a long name the middle is missing.
pub(super) fn may_name_server(pattern: &str, name: ServerSpelling<'_>) -> bool {
    let fold = |letter: char| match letter {
        '*' | '?' => letter,
        letter => folded_letter(letter),
    };
    let pattern: String = pattern.chars().map(fold).collect();
    match name {
        ServerSpelling::Whole(name) => wildcard_matches(&pattern, &folded_server_name(name)),
        ServerSpelling::BeforeTool(rest) => {
            let mut ends = rest.match_indices('_').map(|(end, _)| &rest[..end]);
            ends.any(|name| wildcard_matches(&pattern, &folded_server_name(name)))
                || beginning_of_cut(rest).is_some_and(|start| may_begin_with(&pattern, start))
        }
    }
}

/// A server's name, as far as a call shows it.
#[derive(Debug, Clone, Copy)]
pub(super) enum ServerSpelling<'a> {
    /// All of it.
    Whole(&'a str),
    /// It stands before the tool's name, behind any of the `_`.
    BeforeTool(&'a str),
}

/// The first part of a name that was too long for a model: Gemini CLI and our own agents keep 30 letters at each end.
fn beginning_of_cut(rest: &str) -> Option<&str> {
    const KEPT: usize = 30 - "mcp_".len();
    let is_cut = rest.len() == 63 - "mcp_".len() && rest.get(KEPT..KEPT + 3) == Some("...");
    rest.get(..KEPT).filter(|_| is_cut)
}

/// Whether a text that the pattern matches begins with this one.
fn may_begin_with(pattern: &str, start: &str) -> bool {
    let start = folded_server_name(start);
    let mut ends = pattern
        .char_indices()
        .map(|(at, sign)| at + sign.len_utf8());
    ends.any(|end| wildcard_matches(&pattern[..end], &start))
}

/// The server that a tool's name begins with, as `mcp__server__tool` or `mcp_server_tool`.
fn server_of(tool: &str) -> Option<String> {
    if let Some(rest) = tool.strip_prefix("mcp__") {
        let server = rest.split_once("__").map_or(rest, |(server, _)| server);
        return Some(server.to_owned());
    }
    let rest = ambiguous_server(tool)?;
    let server = rest.split_once('_').map_or(rest, |(server, _)| server);
    Some(server.to_owned())
}

/// The rest after `mcp_`, in a name that does not show where the server's name ends.
pub(super) fn ambiguous_server(tool: &str) -> Option<&str> {
    let rest = tool.strip_prefix("mcp_")?;
    (!rest.starts_with('_')).then_some(rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rule_that_refuses_knows_a_server_whose_name_was_changed_for_a_model() {
        use ServerSpelling::{BeforeTool, Whole};
        let cut = format!("a-server-with-a-very-long-...{}", "x".repeat(30));
        for (pattern, name, expected) in [
            ("my server", BeforeTool("my_server_leak"), true),
            ("My.Server", BeforeTool("my_server_leak"), true),
            ("my*", BeforeTool("my_server_leak"), true),
            ("my serve", BeforeTool("my_server_leak"), false),
            ("my server", Whole("my_server"), true),
            ("my server", Whole("server"), false),
            ("a-server-with-a-very-long-name", BeforeTool(&cut), true),
            ("*-long-name", BeforeTool(&cut), true),
            ("a-server-with-a-very-long", BeforeTool(&cut), false),
            ("another", BeforeTool(&cut), false),
        ] {
            assert_eq!(
                may_name_server(pattern, name),
                expected,
                "{pattern} {name:?}"
            );
        }
    }

    #[test]
    fn a_server_that_was_passed_is_known_by_the_names_of_its_tools() {
        let mut servers = McpServers::default();
        let passed = |name: &str| Json::object([("name", Json::from_value(&name))]);
        servers.add_session_servers(&[passed("vault"), passed("my"), passed("my server")]);
        for (tool, input, expected) in [
            ("vault_leak", "{}", Some("vault")),
            ("vault__leak", "{}", Some("vault")),
            ("Vault/leak", "{}", Some("vault")),
            ("my_server_leak", "{}", Some("my server")),
            ("vaults_leak", "{}", None),
            ("leak", "{}", None),
            ("leak", r#"{"server":"vault"}"#, Some("vault")),
            (
                "leak",
                r#"{"invocation":{"server":"vault","tool":"leak"}}"#,
                Some("vault"),
            ),
            ("leak", r#"{"server":"prod"}"#, None),
            ("mcp__vault__leak", "{}", Some("vault")),
            ("mcp_vault_leak", "{}", Some("vault")),
        ] {
            let input = Token::parse(input).unwrap();
            assert_eq!(servers.of_call(tool, input).as_deref(), expected, "{tool}");
        }
    }
}
