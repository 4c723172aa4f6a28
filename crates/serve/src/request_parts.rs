//! Parts of a request that handlers take: the query, and a body of JSON. An invalid part is refused, with the reason.

use std::time::Duration;

use axum::body::Bytes;
use axum::extract::{FromRequest, FromRequestParts, Query, Request};
use axum::http::request::Parts;
use axum::http::{HeaderMap, StatusCode, header};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use tokio::time::timeout;

use crate::problem::HttpProblem;

/// The longest body of a request, and message of an ACP client, in bytes.
pub(crate) const LONGEST_BODY: usize = 8 << 20;

/// A client has to send its body within this time.
const BODY_TIME: Duration = Duration::from_secs(30);

/// The parameters of the query. Its type refuses unknown ones.
#[derive(Debug)]
pub(crate) struct StrictQuery<T>(pub(crate) T);

impl<S: Sync, T: DeserializeOwned> FromRequestParts<S> for StrictQuery<T> {
    type Rejection = HttpProblem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Self::Rejection> {
        match Query::try_from_uri(&parts.uri) {
            Ok(Query(query)) => Ok(Self(query)),
            Err(rejection) => Err(HttpProblem::bad_request(rejection.body_text())
                .with_hint("`/openapi.json` lists the parameters of each path")),
        }
    }
}

/// The query of a path that takes no parameters.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct NoParameters {}

/// A body of JSON, as its bytes.
#[derive(Debug)]
pub(crate) struct JsonBody(pub(crate) Bytes);

impl<S: Send + Sync> FromRequest<S> for JsonBody {
    type Rejection = HttpProblem;

    async fn from_request(request: Request, state: &S) -> Result<Self, Self::Rejection> {
        check_json(request.headers())?;
        match timeout(BODY_TIME, Bytes::from_request(request, state)).await {
            Ok(Ok(bytes)) => Ok(Self(bytes)),
            Ok(Err(rejection)) if rejection.status() == StatusCode::PAYLOAD_TOO_LARGE => {
                let detail = "the body is longer than 8 MiB";
                Err(HttpProblem::new(StatusCode::PAYLOAD_TOO_LARGE, detail)
                    .with_hint("name files in the prompt: the agent reads them"))
            }
            Ok(Err(rejection)) => Err(HttpProblem::bad_request(rejection.body_text())),
            Err(_) => {
                let detail = format!("the body did not come within {} s", BODY_TIME.as_secs());
                Err(HttpProblem::new(StatusCode::REQUEST_TIMEOUT, detail)
                    .with_hint("send the body at once, with its `Content-Length`"))
            }
        }
    }
}

impl JsonBody {
    /// The body as `what`, such as `a run`.
    pub(crate) fn parse<T: DeserializeOwned>(&self, what: &str) -> Result<T, HttpProblem> {
        serde_json::from_slice(&self.0).map_err(|error| {
            HttpProblem::bad_request(format!("the body is not {what}: {error}"))
                .with_hint("`/openapi.json` has the schema of each body")
        })
    }
}

/// A body of another type may come from a form of a foreign page.
fn check_json(headers: &HeaderMap) -> Result<(), HttpProblem> {
    let kind = headers.get(header::CONTENT_TYPE);
    let kind = kind.and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    let kind = kind.split(';').next().unwrap_or_default().trim();
    if kind.eq_ignore_ascii_case("application/json") {
        return Ok(());
    }
    let detail = "the body has to be `application/json`";
    Err(HttpProblem::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, detail)
        .with_hint("send the header `Content-Type: application/json`"))
}
