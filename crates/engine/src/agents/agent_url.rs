//! The address of a remote agent: `wss://`, `ws://`, `https://` or `http://`.
//!
//! An address is shown, recorded and passed on the command line, so it must not contain credentials. Errors do not repeat the
//! text for the same reason.

use std::net::IpAddr;

/// Names of parameters that carry credentials.
const SECRET_PARAMETERS: [&str; 16] = [
    "access_token",
    "api-key",
    "api_key",
    "apikey",
    "auth",
    "authorization",
    "bearer",
    "code",
    "credential",
    "jwt",
    "key",
    "password",
    "secret",
    "sig",
    "signature",
    "token",
];

/// Why an address cannot be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AgentUrlError {
    /// It has another scheme.
    #[error("an agent's URL begins with wss://, ws://, https:// or http://")]
    Scheme,
    /// It has no host, or a port that is none.
    #[error("the agent's URL has no valid host and port")]
    Host,
    /// It has characters that a URL cannot have.
    #[error("the agent's URL has characters that must be percent-encoded")]
    Characters,
    /// It has a name or a password before the host.
    #[error(
        "the agent's URL contains credentials before its host, which would be shown and recorded"
    )]
    UserInfo,
    /// It has a parameter that carries credentials.
    #[error("the agent's URL contains the parameter `{0}`, which would be shown and recorded")]
    SecretParameter(&'static str),
    /// It has a part behind `#`, which is never sent.
    #[error("the agent's URL has a part behind `#`, which is never sent")]
    Fragment,
}

impl AgentUrlError {
    /// A step that the user can take.
    pub fn hint(self) -> &'static str {
        match self {
            Self::UserInfo | Self::SecretParameter(_) => {
                "name the token with `token_file`, `token_env` or `token_command` below `[agents.NAME]` in lapidary.toml"
            }
            Self::Scheme | Self::Host | Self::Characters | Self::Fragment => {
                "an agent's URL is such as wss://agents.example/acp"
            }
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum UrlScheme {
    Ws,
    Wss,
    Http,
    Https,
}

/// The address of a remote agent. It contains no credentials that we could know of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentUrl {
    scheme: UrlScheme,
    host: String,
    /// All of it behind the scheme.
    rest: String,
}

impl AgentUrl {
    /// Whether a text is meant as an address and not as a command.
    ///
    /// ```
    /// use lapidary_engine::agents::AgentUrl;
    ///
    /// assert!(AgentUrl::is_url("wss://agents.example/acp"));
    /// assert!(!AgentUrl::is_url("node agent.js --at=https://x"));
    /// ```
    pub fn is_url(text: &str) -> bool {
        let scheme = text.split_once("://").map(|(scheme, _)| scheme);
        scheme.is_some_and(|scheme| {
            let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"+.-".contains(&byte);
            scheme.starts_with(|first: char| first.is_ascii_alphabetic())
                && scheme.bytes().all(is_plain)
        })
    }

    /// Reads an address.
    pub fn parse(text: &str) -> Result<Self, AgentUrlError> {
        let (scheme, rest) = text.split_once("://").ok_or(AgentUrlError::Scheme)?;
        let scheme = match scheme.to_ascii_lowercase().as_str() {
            "ws" => UrlScheme::Ws,
            "wss" => UrlScheme::Wss,
            "http" => UrlScheme::Http,
            "https" => UrlScheme::Https,
            _ => return Err(AgentUrlError::Scheme),
        };
        let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
        if authority.contains('@') {
            return Err(AgentUrlError::UserInfo);
        }
        if let Some(name) = secret_parameter(rest) {
            return Err(AgentUrlError::SecretParameter(name));
        }
        if rest.contains('#') {
            return Err(AgentUrlError::Fragment);
        }
        if !rest
            .bytes()
            .all(|byte| byte.is_ascii_graphic() && !b"\"<>\\^`{|}".contains(&byte))
        {
            return Err(AgentUrlError::Characters);
        }
        let host = host_of(authority).ok_or(AgentUrlError::Host)?;
        Ok(Self {
            scheme,
            host: host.to_owned(),
            rest: rest.to_owned(),
        })
    }

    /// The address as it is requested, as HTTP.
    pub fn http_url(&self) -> String {
        let scheme = if self.is_encrypted() { "https" } else { "http" };
        format!("{scheme}://{}", self.rest)
    }

    /// The address without its query, for messages and recordings.
    pub fn shown(&self) -> String {
        let scheme = match self.scheme {
            UrlScheme::Ws => "ws",
            UrlScheme::Wss => "wss",
            UrlScheme::Http => "http",
            UrlScheme::Https => "https",
        };
        let path = self.rest.split('?').next().unwrap_or_default();
        format!("{scheme}://{path}")
    }

    /// Whether the agent is behind a WebSocket, and not behind streamable HTTP.
    pub fn is_websocket(&self) -> bool {
        matches!(self.scheme, UrlScheme::Ws | UrlScheme::Wss)
    }

    /// Whether the connection is encrypted.
    pub fn is_encrypted(&self) -> bool {
        matches!(self.scheme, UrlScheme::Wss | UrlScheme::Https)
    }

    /// Whether the agent is on this machine.
    pub fn is_loopback(&self) -> bool {
        let host = self.host.trim_start_matches('[').trim_end_matches(']');
        let address = host.parse::<IpAddr>();
        host.eq_ignore_ascii_case("localhost") || address.is_ok_and(|address| address.is_loopback())
    }

    /// Whether the traffic is private: encrypted, or within this machine.
    pub fn is_protected(&self) -> bool {
        self.is_encrypted() || self.is_loopback()
    }
}

/// The host of `host:port`.
fn host_of(authority: &str) -> Option<&str> {
    let (host, port) = match authority.strip_prefix('[') {
        Some(behind) => {
            let end = behind.find(']')?;
            let address: IpAddr = behind[..end].parse().ok()?;
            let port = &behind[end + 1..];
            address.is_ipv6().then_some(&authority[..end + 2])?;
            (&authority[..end + 2], port)
        }
        None => authority.split_at(authority.find(':').unwrap_or(authority.len())),
    };
    let port = match port.strip_prefix(':') {
        Some(digits) => digits.parse::<u16>().is_ok_and(|port| port != 0),
        None => port.is_empty(),
    };
    (port && !host.is_empty()).then_some(host)
}

/// The first parameter of the query that carries credentials.
fn secret_parameter(rest: &str) -> Option<&'static str> {
    let (_, query) = rest.split_once('?')?;
    let names = query.split(['&', ';', '#']);
    let names = names.map(|pair| pair.split('=').next().unwrap_or_default());
    let mut known = names.filter_map(|name| {
        let name = name
            .to_ascii_lowercase()
            .replace("%5f", "_")
            .replace("%2d", "-");
        SECRET_PARAMETERS.into_iter().find(|secret| *secret == name)
    });
    known.next()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_says_how_its_agent_is_reached() {
        for (text, http, is_websocket, is_protected) in [
            ("wss://a.example/acp", "https://a.example/acp", true, true),
            ("WSS://a.example:8443", "https://a.example:8443", true, true),
            (
                "ws://127.0.0.1:7331/acp",
                "http://127.0.0.1:7331/acp",
                true,
                true,
            ),
            ("ws://[::1]:7331/acp", "http://[::1]:7331/acp", true, true),
            (
                "http://localhost/acp?team=a",
                "http://localhost/acp?team=a",
                false,
                true,
            ),
            ("http://a.example/acp", "http://a.example/acp", false, false),
            (
                "ws://localhost.a.example/",
                "http://localhost.a.example/",
                true,
                false,
            ),
            ("https://a.example", "https://a.example", false, true),
        ] {
            let url = AgentUrl::parse(text).unwrap();
            let told = (url.is_websocket(), url.is_protected());
            assert_eq!(
                (url.http_url().as_str(), told),
                (http, (is_websocket, is_protected))
            );
        }
        let url = AgentUrl::parse("https://a.example/acp?team=a").unwrap();
        assert_eq!(url.shown(), "https://a.example/acp");
    }

    #[test]
    fn an_address_with_credentials_or_without_a_host_is_refused_and_not_repeated() {
        let secret = "hunter2";
        for (text, error) in [
            ("wss://me:hunter2@a.example/", AgentUrlError::UserInfo),
            ("wss://hunter2@a.example/", AgentUrlError::UserInfo),
            (
                "wss://a.example/?token=hunter2",
                AgentUrlError::SecretParameter("token"),
            ),
            (
                "wss://a.example/?a=1&Access%5FToken=hunter2",
                AgentUrlError::SecretParameter("access_token"),
            ),
            ("https://a.example/#hunter2", AgentUrlError::Fragment),
            ("https://a.example/{hunter2}", AgentUrlError::Characters),
            ("https://a.example/ hunter2", AgentUrlError::Characters),
            ("ftp://a.example/", AgentUrlError::Scheme),
            ("wss:///acp", AgentUrlError::Host),
            ("wss://a.example:0/", AgentUrlError::Host),
            ("wss://a.example:99999/", AgentUrlError::Host),
            ("wss://[a]/", AgentUrlError::Host),
        ] {
            let refused = AgentUrl::parse(text).unwrap_err();
            assert_eq!(refused, error, "{text}");
            assert!(!format!("{refused} {refused:?} {}", refused.hint()).contains(secret));
        }
    }
}
