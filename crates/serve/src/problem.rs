//! An error as a client gets it: `application/problem+json` (RFC 9457), with the hint that the command line gives.

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde_json::{Map, Value, json};

/// The type of all errors.
const PROBLEM_KIND: &str = "application/problem+json";

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

    /// Replaces the status `found` by `wanted`; other problems stay as they are.
    pub(crate) fn instead_of(mut self, found: StatusCode, wanted: StatusCode) -> Self {
        if self.0.status == found {
            self.0.status = wanted;
        }
        self
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

impl HttpProblem {
    /// The problem and its hint in one line, where there is no room for fields.
    pub(crate) fn to_sentence(&self) -> String {
        let Self(problem) = self;
        match &problem.hint {
            Some(hint) => format!("{}; hint: {hint}", problem.detail),
            None => problem.detail.clone(),
        }
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
        let kind = HeaderValue::from_static(PROBLEM_KIND);
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

/// The longest text of a framework's own error that is passed on.
const LONGEST_DETAIL: usize = 4096;

/// Makes a problem of an error that did not come from us, such as a path that is not UTF-8.
pub(crate) async fn as_problem(response: Response) -> Response {
    let status = response.status();
    let kind = response.headers().get(header::CONTENT_TYPE);
    let is_ours = kind.is_some_and(|kind| kind == PROBLEM_KIND || kind == "application/json");
    if is_ours || !(status.is_client_error() || status.is_server_error()) {
        return response;
    }
    let (head, body) = response.into_parts();
    let text = axum::body::to_bytes(body, LONGEST_DETAIL).await;
    let text = text.unwrap_or_default();
    let text = String::from_utf8_lossy(&text).trim().to_owned();
    let detail = match text.as_str() {
        "" => status
            .canonical_reason()
            .unwrap_or("the request failed")
            .to_owned(),
        _ => text,
    };
    let problem = HttpProblem::new(status, detail);
    let problem = problem.with_hint("`/openapi.json` describes the requests");
    let mut problem = problem.into_response();
    if let Some(allowed) = head.headers.get(header::ALLOW) {
        problem.headers_mut().insert(header::ALLOW, allowed.clone());
    }
    problem
}
