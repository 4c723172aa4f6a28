//! Errors of the API, in the shape Google gives them.

use std::time::Duration;

use serde_json::{Map, Value, json};

/// An answer that is an HTTP error.
#[derive(Debug, Clone, PartialEq)]
pub struct ApiError {
    pub(super) status: u16,
    message: Option<String>,
    /// Members of `error` that are added to the usual ones, or take their place.
    members: Map<String, Value>,
}

impl ApiError {
    /// An error of this HTTP status.
    pub fn new(status: u16) -> Self {
        Self {
            status,
            message: None,
            members: Map::new(),
        }
    }

    /// Too many requests: the same one will be answered after a while.
    pub fn rate_limited(retry_after: Duration) -> Self {
        let delay = format!("{}s", retry_after.as_secs_f64());
        Self::new(429)
            .message("Resource exhausted.")
            .detail(json!({ "@type": type_url("RetryInfo"), "retryDelay": delay }))
    }

    /// The quota of the day is used up: nothing will be answered today.
    pub fn daily_quota_exhausted() -> Self {
        let violation = json!({
            "quotaMetric": "generativelanguage.googleapis.com/generate_content_free_tier_requests",
            "quotaId": "GenerateRequestsPerDayPerProjectPerModel-FreeTier",
        });
        Self::new(429)
            .message("You exceeded your current quota.")
            .detail(json!({ "@type": type_url("QuotaFailure"), "violations": [violation] }))
    }

    /// The API key is not valid.
    pub fn invalid_key() -> Self {
        Self::new(400)
            .message("API key not valid. Please pass a valid API key.")
            .detail(json!({
                "@type": type_url("ErrorInfo"),
                "reason": "API_KEY_INVALID",
                "domain": "googleapis.com",
            }))
    }

    /// Says what went wrong.
    pub fn message(mut self, message: impl Into<String>) -> Self {
        self.message = Some(message.into());
        self
    }

    /// Adds one of Google's error details, such as a `google.rpc.RetryInfo`.
    pub fn detail(mut self, detail: Value) -> Self {
        let details = self.members.entry("details").or_insert_with(|| json!([]));
        if let Value::Array(details) = details {
            details.push(detail);
        }
        self
    }

    /// The body of the answer.
    pub(super) fn object(&self) -> Value {
        let message = match &self.message {
            Some(message) => message.clone(),
            None => format!("error {} of the stand-in", self.status),
        };
        let mut error = Map::new();
        error.insert("code".into(), self.status.into());
        error.insert("message".into(), message.into());
        error.insert("status".into(), status_name(self.status).into());
        error.extend(self.members.clone());
        json!({ "error": error })
    }
}

fn type_url(name: &str) -> String {
    format!("type.googleapis.com/google.rpc.{name}")
}

/// Google's word for an HTTP status.
fn status_name(status: u16) -> &'static str {
    match status {
        400 => "INVALID_ARGUMENT",
        401 => "UNAUTHENTICATED",
        403 => "PERMISSION_DENIED",
        404 => "NOT_FOUND",
        409 => "ABORTED",
        429 => "RESOURCE_EXHAUSTED",
        499 => "CANCELLED",
        500 => "INTERNAL",
        501 => "UNIMPLEMENTED",
        503 => "UNAVAILABLE",
        408 | 504 => "DEADLINE_EXCEEDED",
        _ => "UNKNOWN",
    }
}
