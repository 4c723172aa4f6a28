//! Definitions from front matter that fits its shape.

use serde_json::{Map, Value, json};

use super::{
    AgentCard, AgentDefinition, AgentMetadata, AgentTool, DEFAULT_MAX_TIME_MINUTES,
    DEFAULT_MAX_TURNS, HttpCredentials, INHERIT, InputConfig, LocalAgentDefinition, McpServer,
    ModelConfig, OAuthSettings, PromptConfig, RemoteAgentDefinition, RemoteAuth, RunConfig,
    ToolConfig,
};
use crate::yaml::Yaml;

/// A local agent.
pub(super) fn local_agent(header: &Yaml, body: String, metadata: AgentMetadata) -> AgentDefinition {
    let model = text_at(header, "model").filter(|model| !model.is_empty());
    let temperature = header.get("temperature").and_then(json_number);
    let servers = header.get("mcp_servers").map(map_pairs).unwrap_or_default();
    let servers = servers
        .iter()
        .map(|(name, server)| (name.clone(), mcp_server(server)));
    AgentDefinition::Local(LocalAgentDefinition {
        name: text_at(header, "name").unwrap_or_default(),
        display_name: text_at(header, "display_name"),
        description: text_at(header, "description").unwrap_or_default(),
        input_config: InputConfig::default(),
        prompt_config: PromptConfig {
            system_prompt: Some(body),
            initial_messages: Vec::new(),
            query: Some("${query}".to_owned()),
        },
        model_config: ModelConfig {
            model: Some(model.unwrap_or_else(|| INHERIT.to_owned())),
            generate_content_config: Some(json!({
                "temperature": temperature.unwrap_or_else(|| 1.into()),
                "topP": 0.95,
            })),
        },
        run_config: RunConfig {
            max_turns: Some(turn_limit(header)),
            max_time_minutes: Some(minute_limit(header)),
        },
        tool_config: texts_at(header, "tools").map(|names| ToolConfig {
            tools: names.into_iter().map(AgentTool::Name).collect(),
        }),
        mcp_servers: servers.collect(),
        include_extension_context: None,
        metadata: Some(metadata),
        ..LocalAgentDefinition::default()
    })
}

/// A remote agent.
pub(super) fn remote_agent(header: &Yaml, metadata: AgentMetadata) -> AgentDefinition {
    let card = match text_at(header, "agent_card_json") {
        Some(card) => AgentCard::Json(card),
        None => AgentCard::Url(text_at(header, "agent_card_url").unwrap_or_default()),
    };
    AgentDefinition::Remote(RemoteAgentDefinition {
        name: text_at(header, "name").unwrap_or_default(),
        display_name: text_at(header, "display_name"),
        description: text_at(header, "description").unwrap_or_default(),
        original_description: None,
        experimental: false,
        input_config: InputConfig::default(),
        card,
        auth: header.get("auth").and_then(remote_auth),
        max_time_minutes: None,
        metadata: Some(metadata),
    })
}

/// More turns than fit a `u32` are as good as no limit.
fn turn_limit(header: &Yaml) -> u32 {
    match header.get("max_turns") {
        Some(Yaml::Int(turns)) => u32::try_from(*turns).unwrap_or(u32::MAX),
        Some(Yaml::Float(turns)) => format!("{turns:.0}").parse().unwrap_or(u32::MAX),
        _ => DEFAULT_MAX_TURNS,
    }
}

fn minute_limit(header: &Yaml) -> f64 {
    let minutes = header.get("timeout_mins").and_then(json_number);
    let minutes = minutes.and_then(|minutes| minutes.as_f64());
    minutes.unwrap_or(DEFAULT_MAX_TIME_MINUTES)
}

fn remote_auth(auth: &Yaml) -> Option<RemoteAuth> {
    Some(match text_at(auth, "type")?.as_str() {
        "apiKey" => RemoteAuth::ApiKey {
            key: text_at(auth, "key")?,
            header: text_at(auth, "name"),
        },
        "http" => RemoteAuth::Http(http_credentials(auth)?),
        "google-credentials" => RemoteAuth::GoogleCredentials {
            scopes: texts_at(auth, "scopes"),
        },
        _ => RemoteAuth::OAuth2(oauth_settings(auth)),
    })
}

fn http_credentials(auth: &Yaml) -> Option<HttpCredentials> {
    let scheme = text_at(auth, "scheme")?;
    if let Some(value) = text_at(auth, "value") {
        return Some(HttpCredentials::Raw { scheme, value });
    }
    Some(match scheme.as_str() {
        "Bearer" => HttpCredentials::Bearer {
            token: text_at(auth, "token")?,
        },
        _ => HttpCredentials::Basic {
            username: text_at(auth, "username")?,
            password: text_at(auth, "password")?,
        },
    })
}

fn oauth_settings(auth: &Yaml) -> OAuthSettings {
    OAuthSettings {
        client_id: text_at(auth, "client_id"),
        client_secret: text_at(auth, "client_secret"),
        scopes: texts_at(auth, "scopes"),
        authorization_url: text_at(auth, "authorization_url"),
        token_url: text_at(auth, "token_url"),
        issuer: text_at(auth, "issuer"),
        audiences: texts_at(auth, "audiences"),
        redirect_uri: text_at(auth, "redirect_uri"),
        token_param_name: text_at(auth, "token_param_name"),
        registration_url: text_at(auth, "registration_url"),
    }
}

fn mcp_server(server: &Yaml) -> McpServer {
    let (oauth, auth_provider_type) = match server.get("auth") {
        Some(auth) => mcp_auth(auth),
        None => (None, None),
    };
    McpServer {
        command: text_at(server, "command"),
        args: texts_at(server, "args"),
        env: record_at(server, "env"),
        cwd: text_at(server, "cwd"),
        url: text_at(server, "url"),
        http_url: text_at(server, "http_url"),
        headers: record_at(server, "headers"),
        tcp: text_at(server, "tcp"),
        transport: text_at(server, "type"),
        timeout: server
            .get("timeout")
            .and_then(json_number)
            .and_then(|it| it.as_f64()),
        trust: match server.get("trust") {
            Some(Yaml::Bool(trust)) => Some(*trust),
            _ => None,
        },
        description: text_at(server, "description"),
        include_tools: texts_at(server, "include_tools"),
        exclude_tools: texts_at(server, "exclude_tools"),
        oauth,
        auth_provider_type,
    }
}

/// Settings for OAuth under the names of Gemini CLI's settings, and the provider.
fn mcp_auth(auth: &Yaml) -> (Option<Value>, Option<String>) {
    let mut settings = Map::from_iter([("enabled".to_owned(), Value::Bool(true))]);
    let is_google = text_at(auth, "type").as_deref() == Some("google-credentials");
    let names: &[(&str, &str)] = if is_google {
        &[("scopes", "scopes")]
    } else {
        &[
            ("client_id", "clientId"),
            ("client_secret", "clientSecret"),
            ("scopes", "scopes"),
            ("authorization_url", "authorizationUrl"),
            ("token_url", "tokenUrl"),
            ("issuer", "issuer"),
            ("audiences", "audiences"),
            ("redirect_uri", "redirectUri"),
            ("token_param_name", "tokenParamName"),
            ("registration_url", "registrationUrl"),
        ]
    };
    for (theirs, ours) in names {
        let value = text_at(auth, theirs).map(Value::from);
        let value = value.or_else(|| texts_at(auth, theirs).map(Value::from));
        settings.extend(value.map(|value| ((*ours).to_owned(), value)));
    }
    let provider = is_google.then(|| "google_credentials".to_owned());
    (Some(Value::Object(settings)), provider)
}

fn text_at(value: &Yaml, key: &str) -> Option<String> {
    value.get(key)?.as_text().map(str::to_owned)
}

fn texts_at(value: &Yaml, key: &str) -> Option<Vec<String>> {
    let Yaml::List(items) = value.get(key)? else {
        return None;
    };
    Some(
        items
            .iter()
            .filter_map(|item| item.as_text().map(str::to_owned))
            .collect(),
    )
}

fn record_at(value: &Yaml, key: &str) -> Option<Map<String, Value>> {
    let found = map_pairs(value.get(key)?);
    let text = |(name, value): &(String, Yaml)| Some((name.clone(), value.as_text()?.into()));
    Some(found.iter().filter_map(text).collect())
}

fn map_pairs(value: &Yaml) -> &[(String, Yaml)] {
    match value {
        Yaml::Map(pairs) => pairs,
        _ => &[],
    }
}

fn json_number(value: &Yaml) -> Option<serde_json::Number> {
    match value {
        Yaml::Int(number) => Some((*number).into()),
        Yaml::Float(number) => serde_json::Number::from_f64(*number),
        _ => None,
    }
}
