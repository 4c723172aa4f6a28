//! How a client authenticates to a remote agent. Values may be `$VARIABLE` or `!command`; they are resolved by the client.

use std::fmt;

/// The `auth` of a remote agent.
#[derive(Clone, PartialEq, Eq)]
pub enum RemoteAuth {
    /// A key in a header.
    ApiKey {
        /// The key, as it is written.
        key: String,
        /// The header; without it `X-API-Key`.
        header: Option<String>,
    },
    /// The header `Authorization`.
    Http(HttpCredentials),
    /// Google's application default credentials.
    GoogleCredentials {
        /// The scopes to ask for.
        scopes: Option<Vec<String>>,
    },
    /// OAuth 2.
    OAuth2(OAuthSettings),
}

impl RemoteAuth {
    /// The type as Gemini CLI calls it.
    pub fn type_name(&self) -> &'static str {
        match self {
            Self::ApiKey { .. } => "apiKey",
            Self::Http(_) => "http",
            Self::GoogleCredentials { .. } => "google-credentials",
            Self::OAuth2(_) => "oauth2",
        }
    }
}

/// Debug output ends in logs: it has no secrets.
impl fmt::Debug for RemoteAuth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RemoteAuth({})", self.type_name())
    }
}

/// The credentials in the header `Authorization`.
#[derive(Clone, PartialEq, Eq)]
pub enum HttpCredentials {
    /// `Bearer` and a token.
    Bearer {
        /// The token, as it is written.
        token: String,
    },
    /// `Basic` and two texts.
    Basic {
        /// The user, as it is written.
        username: String,
        /// The password, as it is written.
        password: String,
    },
    /// Any scheme and its value.
    Raw {
        /// The scheme.
        scheme: String,
        /// The text behind the scheme, as it is written.
        value: String,
    },
}

impl fmt::Debug for HttpCredentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scheme = match self {
            Self::Bearer { .. } => "Bearer",
            Self::Basic { .. } => "Basic",
            Self::Raw { scheme, .. } => scheme,
        };
        write!(f, "HttpCredentials({scheme})")
    }
}

/// The OAuth settings of an agent file. Absent addresses are discovered.
#[derive(Clone, PartialEq, Eq, Default)]
pub struct OAuthSettings {
    /// The client's id.
    pub client_id: Option<String>,
    /// The client's secret, as it is written.
    pub client_secret: Option<String>,
    /// The scopes to ask for.
    pub scopes: Option<Vec<String>>,
    /// Where the user is sent.
    pub authorization_url: Option<String>,
    /// Where tokens come from.
    pub token_url: Option<String>,
    /// The issuer.
    pub issuer: Option<String>,
    /// The audiences to ask for.
    pub audiences: Option<Vec<String>>,
    /// Where the user comes back to.
    pub redirect_uri: Option<String>,
    /// The query parameter that carries the token.
    pub token_param_name: Option<String>,
    /// Where a client registers itself.
    pub registration_url: Option<String>,
}

impl fmt::Debug for OAuthSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OAuthSettings")
            .field("client_id", &self.client_id)
            .field("issuer", &self.issuer)
            .finish_non_exhaustive()
    }
}
