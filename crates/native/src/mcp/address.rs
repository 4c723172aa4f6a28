//! The address of an MCP server: its URL, its transport, and the headers of every request.

use std::ffi::OsString;

use lapidary_gemini::agents::McpServer;

use super::McpError;
use crate::http::UrlOrigin;

/// The address of a server.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct ServerAddress {
    pub(super) url: String,
    pub(super) origin: UrlOrigin,
    pub(super) transport: AddressTransport,
    /// Headers of the definition, which may be credentials.
    pub(super) headers: Vec<(String, String)>,
}

impl std::fmt::Debug for ServerAddress {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut debug = f.debug_struct("ServerAddress");
        debug.field("url", &self.url).finish_non_exhaustive()
    }
}

/// How a server behind a URL is spoken to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AddressTransport {
    /// A POST for each message.
    StreamableHttp,
    /// One stream of events, and a POST for each message to the URL that it names: the transport of 2024.
    EventStream,
    /// The first, and if the server does not take it, the second, as Gemini CLI does for a `url` without a `type`.
    Either,
}

impl ServerAddress {
    /// The address in a definition; none if it has none.
    pub(super) fn from_definition(
        definition: &McpServer,
        environment: &[(OsString, OsString)],
    ) -> Result<Option<Self>, McpError> {
        let (url, transport) = match (&definition.http_url, &definition.url) {
            (Some(url), _) => (url, AddressTransport::StreamableHttp),
            (None, Some(url)) => (url, url_transport(definition)),
            (None, None) => return Ok(None),
        };
        if definition.oauth.is_some() || definition.auth_provider_type.is_some() {
            return Err(McpError::LoginWanted);
        }
        let origin = UrlOrigin::parse(url).ok_or(McpError::InvalidUrl)?;
        if !origin.is_https() && !origin.is_loopback() {
            return Err(McpError::PlainHttp);
        }
        let headers = definition.headers.iter().flatten();
        let headers = headers.filter_map(|(name, value)| {
            let value = value.as_str()?;
            Some((name.clone(), with_variables(value, environment)))
        });
        Ok(Some(Self {
            url: url.clone(),
            origin,
            transport,
            headers: headers.collect(),
        }))
    }

    /// The URL that a server names, from this one. None if it is of another origin.
    pub(super) fn resolve(&self, named: &str) -> Option<String> {
        let url = if named.contains("://") {
            named.to_owned()
        } else if named.starts_with('/') {
            format!("{}{named}", self.origin)
        } else {
            let path = self.url.split(['?', '#']).next().unwrap_or_default();
            let (directory, _) = path.rsplit_once('/')?;
            format!("{directory}/{named}")
        };
        (UrlOrigin::parse(&url).as_ref() == Some(&self.origin)).then_some(url)
    }
}

fn url_transport(definition: &McpServer) -> AddressTransport {
    match definition.transport.as_deref() {
        Some("sse") => AddressTransport::EventStream,
        Some("http") => AddressTransport::StreamableHttp,
        _ => AddressTransport::Either,
    }
}

/// A value with its variables: `$NAME`, `${NAME}` and `${NAME:-default}`, as in Gemini CLI. One that is not set is empty.
fn with_variables(value: &str, environment: &[(OsString, OsString)]) -> String {
    let mut text = String::new();
    let mut rest = value;
    while let Some((before, behind)) = rest.split_once('$') {
        text += before;
        let (name, default, behind) = variable_at(behind);
        if name.is_empty() {
            text.push('$');
        } else {
            let found = environment.iter().find(|(known, _)| known == name);
            let found = found.and_then(|(_, value)| value.to_str());
            text += found.filter(|it| !it.is_empty()).unwrap_or(default);
        }
        rest = behind;
    }
    text + rest
}

/// The name behind a dollar sign, its default, and the text behind both. The name is empty if there is none.
fn variable_at(text: &str) -> (&str, &str, &str) {
    if let Some((inside, behind)) = text.strip_prefix('{').and_then(|it| it.split_once('}')) {
        let (name, default) = inside.split_once(":-").unwrap_or((inside, ""));
        return (name, default, behind);
    }
    let is_name = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
    let end = text.find(|letter| !is_name(letter)).unwrap_or(text.len());
    (&text[..end], "", &text[end..])
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn address(definition: Value) -> Result<Option<ServerAddress>, String> {
        let definition: McpServer = serde_json::from_value(definition).unwrap();
        let environment = [("TEAM".into(), "blue".into())];
        ServerAddress::from_definition(&definition, &environment).map_err(|it| it.to_string())
    }

    #[test]
    fn an_address_is_https_or_on_this_machine() {
        assert_eq!(address(json!({"command": "x"})), Ok(None));
        for (url, expected) in [
            ("https://mcp.example.com/mcp", None),
            ("http://127.0.0.1:1/mcp", None),
            (
                "http://mcp.example.com/mcp",
                Some("plain `http` is for servers on this machine only"),
            ),
            (
                "ftp://mcp.example.com",
                Some("its address is not a usable URL"),
            ),
            (
                "https://me:secret@mcp.example.com/",
                Some("its address is not a usable URL"),
            ),
        ] {
            let error = address(json!({ "url": url })).err();
            assert_eq!(error.as_deref(), expected, "{url}");
        }
        let wants = json!({"url": "https://mcp.example.com", "oauth": {"enabled": true}});
        assert!(address(wants).unwrap_err().starts_with("it wants a login"));
    }

    #[test]
    fn a_url_without_a_type_is_tried_both_ways() {
        for (definition, expected) in [
            (
                json!({"httpUrl": "https://a.b/x"}),
                AddressTransport::StreamableHttp,
            ),
            (
                json!({"url": "https://a.b/x", "type": "http"}),
                AddressTransport::StreamableHttp,
            ),
            (
                json!({"url": "https://a.b/x", "type": "sse"}),
                AddressTransport::EventStream,
            ),
            (json!({"url": "https://a.b/x"}), AddressTransport::Either),
        ] {
            let found = address(definition.clone()).unwrap().unwrap();
            assert_eq!(found.transport, expected, "{definition}");
        }
    }

    #[test]
    fn headers_have_variables_and_a_server_names_urls_of_its_own_origin_only() {
        let headers = json!({"a": "$TEAM-${TEAM}", "b": "${NONE:-x}$NONE", "c": "1$"});
        let found = address(json!({"url": "https://a.b/v/sse?x", "headers": headers}));
        let found = found.unwrap().unwrap();
        let values: Vec<_> = found
            .headers
            .iter()
            .map(|(_, value)| value.as_str())
            .collect();
        assert_eq!(values, ["blue-blue", "x", "1$"]);
        for (named, expected) in [
            ("/messages?s=1", Some("https://a.b/messages?s=1")),
            ("messages", Some("https://a.b/v/messages")),
            ("https://a.b/m", Some("https://a.b/m")),
            ("https://evil.example/m", None),
            ("//evil.example/m", Some("https://a.b//evil.example/m")),
        ] {
            assert_eq!(found.resolve(named).as_deref(), expected, "{named}");
        }
    }
}
