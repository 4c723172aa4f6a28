//! The variables that point each agent to a mock model: its address, and credentials that make the agent accept it. This is data.

/// Placeholder for the address in the rows below, `http://127.0.0.1:PORT`.
const URL: &str = "{url}";

const NO_KEY: &str = "not-a-key";
const ON: &str = "1";

/// The variables of an agent.
type ApiVariables = (&'static str, &'static [(&'static str, &'static str)]);

const ROWS: &[ApiVariables] = &[
    (
        "gemini",
        &[
            ("GOOGLE_GEMINI_BASE_URL", URL),
            ("GEMINI_API_KEY", NO_KEY),
            ("GEMINI_CLI_TRUST_WORKSPACE", "true"),
        ],
    ),
    (
        "claude",
        &[
            ("ANTHROPIC_BASE_URL", URL),
            ("ANTHROPIC_API_KEY", NO_KEY),
            ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", ON),
            ("DISABLE_AUTOUPDATER", ON),
            ("DISABLE_ERROR_REPORTING", ON),
            ("DISABLE_TELEMETRY", ON),
        ],
    ),
    ("codex", &[("CODEX_CONFIG", CODEX), ("NO_BROWSER", ON)]),
    (
        "qwen",
        &[
            ("OPENAI_BASE_URL", "{url}/v1"),
            ("OPENAI_API_KEY", NO_KEY),
            ("OPENAI_MODEL", "model"),
        ],
    ),
    (
        "goose",
        &[
            ("GOOSE_PROVIDER", "openai"),
            ("GOOSE_MODEL", "model"),
            ("GOOSE_DISABLE_KEYRING", ON),
            ("OPENAI_HOST", URL),
            ("OPENAI_API_KEY", NO_KEY),
        ],
    ),
    (
        "opencode",
        &[
            ("OPENCODE_CONFIG_CONTENT", OPENCODE),
            ("OPENCODE_DISABLE_AUTOUPDATE", ON),
            ("OPENCODE_DISABLE_DEFAULT_PLUGINS", ON),
            ("OPENCODE_DISABLE_LSP_DOWNLOAD", ON),
            ("OPENCODE_DISABLE_MODELS_FETCH", ON),
            ("OPENCODE_DISABLE_SHARE", ON),
            ("OPENCODE_EXPERIMENTAL_DISABLE_FILEWATCHER", ON),
            ("OPENCODE_PURE", ON),
        ],
    ),
];

/// A provider of its own, with a model whose tools Codex knows.
const CODEX: &str = r#"{
"model": "gpt-5.5",
"model_provider": "stand-in",
"model_providers": {"stand-in": {"name": "Stand-in", "base_url": "{url}/v1", "wire_api": "responses"}}
}"#;

/// A provider of its own. The agent's own permissions stay as they are. A denial does not end the turn, so that one turn is
/// enough for several attempts.
const OPENCODE: &str = r#"{
"model": "stand-in/model",
"enabled_providers": ["stand-in"],
"provider": {"stand-in": {
  "npm": "@ai-sdk/openai-compatible",
  "name": "Stand-in",
  "options": {"baseURL": "{url}/v1", "apiKey": "not-a-key"},
  "models": {"model": {"name": "Model"}}
}},
"experimental": {"continue_loop_on_deny": true},
"autoupdate": false, "share": "disabled", "snapshot": false, "lsp": false, "formatter": false
}"#;

/// The variables that point the agent of this name to a model at this address. An agent without a row gets the variables of all
/// rows: one of them may be its own.
pub fn model_variables(agent: &str, url: &str) -> Vec<(&'static str, String)> {
    let own = ROWS.iter().find(|(name, _)| *name == agent);
    let rows = own.map_or(ROWS, std::slice::from_ref);
    let variables = rows.iter().flat_map(|(_, variables)| variables.iter());
    variables
        .map(|(name, value)| (*name, value.replace(URL, url)))
        .collect()
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    #[test]
    fn a_known_agent_gets_the_model_api_through_its_own_variables() {
        let told = model_variables("qwen", "http://127.0.0.1:1");
        let told: Vec<_> = told
            .iter()
            .map(|(name, value)| (*name, value.as_str()))
            .collect();
        assert_eq!(
            told,
            [
                ("OPENAI_BASE_URL", "http://127.0.0.1:1/v1"),
                ("OPENAI_API_KEY", "not-a-key"),
                ("OPENAI_MODEL", "model"),
            ]
        );
    }

    #[test]
    fn an_unknown_agent_gets_the_model_variables_of_every_agent() {
        let told = model_variables("nobody", "http://127.0.0.1:1");
        for (name, _) in ROWS {
            let own = model_variables(name, "http://127.0.0.1:1");
            assert!(own.iter().all(|variable| told.contains(variable)), "{name}");
        }
    }

    #[test]
    fn a_configuration_that_is_text_is_json_with_the_address_in_it() {
        let told = model_variables("opencode", "http://127.0.0.1:1");
        let config: Value = serde_json::from_str(&told[0].1).unwrap();
        let url = &config["provider"]["stand-in"]["options"]["baseURL"];
        assert_eq!(url, "http://127.0.0.1:1/v1");
        let told = model_variables("codex", "http://127.0.0.1:1");
        let config: Value = serde_json::from_str(&told[0].1).unwrap();
        let url = &config["model_providers"]["stand-in"]["base_url"];
        assert_eq!(url, "http://127.0.0.1:1/v1");
    }

    #[test]
    fn every_agent_in_it_is_one_of_the_registry() {
        for (name, _) in ROWS {
            assert!(crate::agents::AgentSpec::named(name).is_some(), "{name}");
        }
    }
}
