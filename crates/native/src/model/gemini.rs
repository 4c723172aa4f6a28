//! The Gemini API over HTTP: with an API key, or Vertex AI in express mode.

use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;

use hyper::Uri;
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::error::ModelError;
use super::quota::error_of;
use super::reader::AnswerReader;
use super::retry::{Attempt, RetryPolicy};
use super::{Content, ModelAnswer, ModelClient, ModelEvent, ModelRequest};
use crate::http::{HttpClient, HttpError};
use crate::tool::{BoxFuture, ToolDeclaration};

/// The Gemini API's own address.
const GEMINI_URL: &str = "https://generativelanguage.googleapis.com";
/// Vertex AI's, for keys of its express mode.
const VERTEX_URL: &str = "https://aiplatform.googleapis.com";

/// Where the API is, and the key for it.
#[derive(Clone, PartialEq, Eq)]
pub struct GeminiEndpoint {
    models_url: String,
    api_key: String,
}

impl fmt::Debug for GeminiEndpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut debug = f.debug_struct("GeminiEndpoint");
        debug.field("models_url", &self.models_url);
        debug.finish_non_exhaustive()
    }
}

impl GeminiEndpoint {
    /// The Gemini API with an API key; `base_url` is `GOOGLE_GEMINI_BASE_URL`.
    pub fn gemini(api_key: impl Into<String>, base_url: Option<&str>) -> Result<Self, HttpError> {
        Self::new(base_url.unwrap_or(GEMINI_URL), "v1beta/models", api_key)
    }

    /// Vertex AI in express mode with its API key; `base_url` is `GOOGLE_VERTEX_BASE_URL`.
    pub fn vertex_express(
        api_key: impl Into<String>,
        base_url: Option<&str>,
    ) -> Result<Self, HttpError> {
        let base_url = base_url.unwrap_or(VERTEX_URL);
        Self::new(base_url, "v1beta1/publishers/google/models", api_key)
    }

    fn new(base_url: &str, path: &str, api_key: impl Into<String>) -> Result<Self, HttpError> {
        check_base_url(base_url)?;
        Ok(Self {
            models_url: format!("{}/{path}", base_url.trim_end_matches('/')),
            api_key: api_key.into(),
        })
    }
}

/// A key goes out encrypted, or stays on this machine.
fn check_base_url(url: &str) -> Result<(), HttpError> {
    let invalid = |reason: &str| HttpError::InvalidRequest {
        url: url.to_owned(),
        reason: reason.to_owned(),
    };
    let uri: Uri = url.parse().map_err(|_| invalid("it is not a URL"))?;
    let host = uri.host().ok_or_else(|| invalid("it has no host"))?;
    let address = host.trim_matches(['[', ']']).parse::<IpAddr>();
    let is_local = host == "localhost" || address.is_ok_and(|address| address.is_loopback());
    match uri.scheme_str() {
        Some("https") => Ok(()),
        Some("http") if is_local => Ok(()),
        _ => Err(invalid(
            "use `https`: only this machine is reached without it",
        )),
    }
}

/// A model behind the Gemini API.
#[derive(Debug, Clone)]
pub struct GeminiApi {
    endpoint: GeminiEndpoint,
    http: Arc<HttpClient>,
    retries: RetryPolicy,
}

impl GeminiApi {
    /// The models of an endpoint.
    pub fn new(endpoint: GeminiEndpoint, http: Arc<HttpClient>, retries: RetryPolicy) -> Self {
        Self {
            endpoint,
            http,
            retries,
        }
    }
}

impl ModelClient for GeminiApi {
    fn generate<'a>(
        &'a self,
        request: &'a ModelRequest<'a>,
        listener: &'a mut (dyn FnMut(ModelEvent) + Send),
    ) -> BoxFuture<'a, Result<ModelAnswer, ModelError>> {
        let url = format!(
            "{}/{}:streamGenerateContent?alt=sse",
            self.endpoint.models_url, request.model
        );
        let request = HttpAttempt {
            api: self,
            url,
            body: request_body(request),
        };
        Box::pin(async move { self.retries.run(&request, listener).await })
    }
}

struct HttpAttempt<'a> {
    api: &'a GeminiApi,
    url: String,
    body: String,
}

impl Attempt for HttpAttempt<'_> {
    fn attempt<'a>(
        &'a self,
        listener: &'a mut (dyn FnMut(ModelEvent) + Send),
    ) -> BoxFuture<'a, Result<ModelAnswer, ModelError>> {
        Box::pin(async move {
            let headers = [("x-goog-api-key", self.api.endpoint.api_key.as_str())];
            let http = &self.api.http;
            let mut answer = http
                .post_json(&self.url, &headers, self.body.clone())
                .await?;
            if answer.status != 200 {
                let body = answer.error_body().await;
                let retry_after = answer.headers.get("retry-after");
                let retry_after = retry_after.and_then(|value| value.to_str().ok());
                return Err(error_of(answer.status, &body, retry_after));
            }
            let mut reader = AnswerReader::default();
            let broke_off = |error: HttpError| ModelError::CutStream {
                reason: error.to_string(),
            };
            while let Some(bytes) = answer.next_bytes().await.map_err(broke_off)? {
                reader.push(&bytes, listener)?;
            }
            reader.finish(listener)
        })
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct RequestBody<'a> {
    contents: &'a [Content],
    #[serde(skip_serializing_if = "Option::is_none")]
    system_instruction: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tools: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_config: Option<&'a Value>,
    #[serde(skip_serializing_if = "Map::is_empty")]
    generation_config: &'a Map<String, Value>,
}

/// The body of a request.
pub(super) fn request_body(request: &ModelRequest<'_>) -> String {
    let system = request.system_instruction;
    let body = RequestBody {
        contents: request.contents,
        system_instruction: system.map(|text| json!({"parts": [{"text": text}], "role": "user"})),
        tools: (!request.tools.is_empty()).then(|| function_declarations(request.tools)),
        tool_config: request.tool_config,
        generation_config: request.generation,
    };
    serde_json::to_string(&body).expect("texts and JSON can be written as JSON")
}

fn function_declarations(tools: &[ToolDeclaration]) -> Value {
    let declare = |tool: &ToolDeclaration| {
        json!({
            "name": tool.name,
            "description": tool.description,
            "parametersJsonSchema": tool.parameters,
        })
    };
    let declared: Vec<_> = tools.iter().map(declare).collect();
    json!([{ "functionDeclarations": declared }])
}
