//! Which family an agent belongs to, by the name that it gives itself.

use lapidary_vocab::event::Provider;

/// A word in the names of its agents, which is also the name of the family.
const FAMILIES: &[&str] = &[
    "gemini", "claude", "codex", "qwen", "opencode", "goose", "copilot", "cline", "auggie", "kimi",
    "vibe", "hermes",
];

/// The family of an agent that calls itself so, such as `@agentclientprotocol/claude-agent-acp`. `None` for an unknown name.
pub(super) fn provider_family(name: &str) -> Option<Provider> {
    let name = name.to_ascii_lowercase();
    let own = name.rsplit('/').next().unwrap_or_default();
    let mut words = own.split(|c: char| !c.is_ascii_alphanumeric());
    words.find_map(|word| {
        let known = FAMILIES.contains(&word);
        known.then(|| Provider::from(word))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_agents_name_gives_its_family() {
        for (name, expected) in [
            ("gemini-cli", Some("gemini")),
            ("@agentclientprotocol/claude-agent-acp", Some("claude")),
            ("@zed-industries/claude-code-acp", Some("claude")),
            ("codex-acp", Some("codex")),
            ("OpenCode", Some("opencode")),
            ("qwen-code", Some("qwen")),
            ("goose", Some("goose")),
            ("example-agent", None),
            ("@gemini/example", None),
            ("mongoose", None),
            ("", None),
        ] {
            let found = provider_family(name);
            assert_eq!(found.as_ref().map(Provider::as_str), expected, "{name}");
        }
    }
}
