//! An error as a client gets it: `application/problem+json` (RFC 9457), with the hint that the command line gives.

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde_json::{Map, Value, json};

/// Why a request was not carried out. In a box: most results have none.
#[derive(Debug)]
pub(crate) struct HttpProblem(Box<ProblemDetails>);

#[derive(Debug)]
struct ProblemDetails {
    status: StatusCode,
    detail: String,
    hint: Option<String>,
    fields: Map<String, Value>,
}

impl HttpProblem {
    pub(crate) fn new(status: StatusCode, detail: impl Into<String>) -> Self {
        Self(Box::new(ProblemDetails {
            status,
            detail: detail.into(),
            hint: None,
            fields: Map::new(),
        }))
    }

    pub(crate) fn bad_request(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, detail)
    }

    pub(crate) fn forbidden(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::FORBIDDEN, detail)
    }

    pub(crate) fn not_found(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::NOT_FOUND, detail)
    }

    pub(crate) fn internal(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, detail)
    }

    /// Adds the next step for the caller.
    pub(crate) fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.0.hint = Some(hint.into());
        self
    }

    /// Adds a field beside those of the RFC.
    pub(crate) fn with_field(mut self, name: &str, value: Value) -> Self {
        self.0.fields.insert(name.to_owned(), value);
        self
    }
}

impl IntoResponse for HttpProblem {
    fn into_response(self) -> Response {
        let Self(problem) = self;
        let title = problem.status.canonical_reason().unwrap_or("Error");
        let mut body = json!({
            "type": "about:blank",
            "title": title,
            "status": problem.status.as_u16(),
            "detail": problem.detail,
        });
        if let Value::Object(body) = &mut body {
            body.extend(problem.hint.map(|hint| ("hint".to_owned(), hint.into())));
            body.extend(problem.fields);
        }
        let mut response = (problem.status, body.to_string()).into_response();
        let kind = HeaderValue::from_static("application/problem+json");
        response.headers_mut().insert(header::CONTENT_TYPE, kind);
        if problem.status == StatusCode::UNAUTHORIZED {
            let scheme = HeaderValue::from_static("Bearer");
            response
                .headers_mut()
                .insert(header::WWW_AUTHENTICATE, scheme);
        }
        response
    }
}
