//! The model client that the environment asks for, with the variables that Gemini CLI reads.

use std::path::PathBuf;
use std::sync::Arc;

use lapidary_native::http::{HttpClient, HttpError, HttpSettings};
use lapidary_native::model::{GeminiApi, GeminiEndpoint, RetryPolicy};

/// Why there is no model client.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ModelSetupError {
    /// There is no API key.
    #[error("no API key for the Gemini API")]
    NoApiKey,
    /// An address, a proxy or a header cannot be used.
    #[error(transparent)]
    Http(#[from] HttpError),
}

impl ModelSetupError {
    /// The next step for the user.
    pub fn hint(&self) -> &'static str {
        match self {
            Self::NoApiKey => {
                "set `GEMINI_API_KEY`, or `GOOGLE_API_KEY` with `GOOGLE_GENAI_USE_VERTEXAI=true`"
            }
            Self::Http(_) => "check `GOOGLE_GEMINI_BASE_URL`, `HTTPS_PROXY` and `HTTP_PROXY`",
        }
    }
}

/// The Gemini API with the key and the address that the variables name.
///
/// `GEMINI_API_KEY` with `GOOGLE_GEMINI_BASE_URL`; with `GOOGLE_GENAI_USE_VERTEXAI=true`, `GOOGLE_API_KEY` with
/// `GOOGLE_VERTEX_BASE_URL`. Proxies and certificates are those of [`http_settings`].
pub fn gemini_model(
    variable: &dyn Fn(&str) -> Option<String>,
) -> Result<GeminiApi, ModelSetupError> {
    let variable = |name: &str| variable(name).filter(|value| !value.trim().is_empty());
    let is_vertex =
        variable("GOOGLE_GENAI_USE_VERTEXAI").is_some_and(|it| it == "true" || it == "1");
    let endpoint = if is_vertex {
        let key = variable("GOOGLE_API_KEY").ok_or(ModelSetupError::NoApiKey)?;
        let base_url = variable("GOOGLE_VERTEX_BASE_URL");
        GeminiEndpoint::vertex_express(key, base_url.as_deref())?
    } else {
        let key = variable("GEMINI_API_KEY").ok_or(ModelSetupError::NoApiKey)?;
        let base_url = variable("GOOGLE_GEMINI_BASE_URL");
        GeminiEndpoint::gemini(key, base_url.as_deref())?
    };
    let http = HttpClient::new(http_settings(&variable))?;
    Ok(GeminiApi::new(
        endpoint,
        Arc::new(http),
        RetryPolicy::default(),
    ))
}

/// Proxies and certificates as `HTTPS_PROXY`, `HTTP_PROXY`, `NO_PROXY`, `SSL_CERT_FILE` and `NODE_EXTRA_CA_CERTS` have them. Names in
/// lower case come first, as curl has it.
pub fn http_settings(variable: &dyn Fn(&str) -> Option<String>) -> HttpSettings {
    let either = |name: &str| variable(&name.to_lowercase()).or_else(|| variable(name));
    HttpSettings {
        https_proxy: either("HTTPS_PROXY"),
        http_proxy: either("HTTP_PROXY"),
        no_proxy: either("NO_PROXY"),
        certificate_file: variable("SSL_CERT_FILE").map(PathBuf::from),
        extra_certificates: variable("NODE_EXTRA_CA_CERTS")
            .map(PathBuf::from)
            .into_iter()
            .collect(),
        ..HttpSettings::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn model(pairs: &[(&str, &str)]) -> Result<String, ModelSetupError> {
        let variable = |name: &str| {
            let found = pairs.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| (*value).to_owned())
        };
        gemini_model(&variable).map(|model| format!("{model:?}"))
    }

    #[test]
    fn the_variables_choose_the_api() {
        let gemini = model(&[("GEMINI_API_KEY", "k")]).unwrap();
        assert!(gemini.contains("https://generativelanguage.googleapis.com/v1beta/models"));
        let local = [
            ("GEMINI_API_KEY", "k"),
            ("GOOGLE_GEMINI_BASE_URL", "http://127.0.0.1:1/"),
        ];
        assert!(
            model(&local)
                .unwrap()
                .contains("\"http://127.0.0.1:1/v1beta/models\"")
        );
        let vertex = [
            ("GOOGLE_API_KEY", "k"),
            ("GOOGLE_GENAI_USE_VERTEXAI", "true"),
        ];
        assert!(model(&vertex).unwrap().contains("publishers/google/models"));
        assert!(!gemini.contains("\"k\""), "the key is not shown");
    }

    #[test]
    fn a_missing_key_and_a_bad_proxy_are_errors_with_a_hint() {
        assert!(matches!(
            model(&[("GEMINI_API_KEY", " ")]),
            Err(ModelSetupError::NoApiKey)
        ));
        let proxy = model(&[("GEMINI_API_KEY", "k"), ("https_proxy", "ftp://x")]).unwrap_err();
        assert_eq!(proxy.to_string(), "invalid proxy `ftp://x`");
        assert!(proxy.hint().contains("HTTPS_PROXY"));
    }
}
