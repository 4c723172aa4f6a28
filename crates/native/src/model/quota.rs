//! Errors of the Gemini API: which of them pass, and after how long.

use std::time::Duration;

use serde_json::Value;

use super::error::ModelError;

/// A wait longer than this is none: the quota counts as used up. As in Gemini CLI 0.61.
const LONGEST_DELAY: Duration = Duration::from_mins(5);
/// The wait for a quota per minute whose error names none.
const MINUTE_QUOTA_DELAY: Duration = Duration::from_mins(1);
/// How much of a body that is no JSON becomes the message.
const MESSAGE_CHARS: usize = 300;

/// The error that an answer of this status and body is.
pub(super) fn error_of(status: u16, body: &[u8], retry_after: Option<&str>) -> ModelError {
    let value: Value = serde_json::from_slice(body).unwrap_or(Value::Null);
    // A stream that was asked for without `alt=sse` answers with an array.
    let error = value.get(0).unwrap_or(&value).get("error");
    let message = error
        .and_then(|error| error.get("message"))
        .and_then(Value::as_str);
    let message = message.map_or_else(|| message_beginning(body), str::to_owned);
    let details = error.and_then(|error| error.get("details"));
    let details = details.and_then(Value::as_array).map_or(&[][..], |it| it);
    match status {
        400 if has_reason(details, "API_KEY_INVALID") => ModelError::Auth { status, message },
        401 | 403 => ModelError::Auth { status, message },
        429 => quota_error(message, details, retry_after),
        499 | 500.. => ModelError::Server { status, message },
        _ => ModelError::BadRequest { status, message },
    }
}

fn quota_error(message: String, details: &[Value], retry_after: Option<&str>) -> ModelError {
    let delay = retry_delay(details)
        .or_else(|| retry_after.and_then(|text| parse_seconds(text.trim())))
        .or_else(|| delay_in_words(&message));
    let is_of_a_day = quota_ids(details).any(|id| id.contains("PerDay") || id.contains("Daily"));
    let is_of_a_minute = quota_ids(details).any(|id| id.contains("PerMinute"));
    if is_of_a_day || delay.is_some_and(|delay| delay > LONGEST_DELAY) {
        return ModelError::QuotaTerminal { message };
    }
    let delay = delay.or_else(|| is_of_a_minute.then_some(MINUTE_QUOTA_DELAY));
    ModelError::QuotaRetryable { message, delay }
}

fn is_detail(detail: &Value, name: &str) -> bool {
    let kind = detail.get("@type").and_then(Value::as_str);
    kind.is_some_and(|kind| kind.rsplit('.').next() == Some(name))
}

fn has_reason(details: &[Value], reason: &str) -> bool {
    let mut reasons = details.iter().filter_map(|detail| detail.get("reason"));
    reasons.any(|one| one == reason)
}

/// The ids of the quotas that are exceeded, and the limits that an `ErrorInfo` names.
fn quota_ids(details: &[Value]) -> impl Iterator<Item = &str> {
    let violations = details.iter().filter(|one| is_detail(one, "QuotaFailure"));
    let violations = violations.filter_map(|one| one.get("violations")?.as_array());
    let ids = violations.flatten().filter_map(|one| one.get("quotaId"));
    let limits = details
        .iter()
        .filter_map(|detail| detail.get("metadata")?.get("quota_limit"));
    ids.chain(limits).filter_map(Value::as_str)
}

fn retry_delay(details: &[Value]) -> Option<Duration> {
    let info = details.iter().find(|one| is_detail(one, "RetryInfo"))?;
    parse_delay(info.get("retryDelay")?.as_str()?)
}

/// `Please retry in 3.5s.`, as the message has it.
fn delay_in_words(message: &str) -> Option<Duration> {
    let after = message.split("retry in ").nth(1)?;
    let end = after.find(|c: char| !c.is_ascii_alphanumeric() && c != '.');
    parse_delay(after[..end.unwrap_or(after.len())].trim_end_matches('.'))
}

/// `3.5s` or `250ms`.
fn parse_delay(text: &str) -> Option<Duration> {
    match text.strip_suffix("ms") {
        Some(millis) => parse_seconds(millis).map(|delay| delay / 1000),
        None => parse_seconds(text.strip_suffix('s')?),
    }
}

fn parse_seconds(text: &str) -> Option<Duration> {
    Duration::try_from_secs_f64(text.parse().ok()?).ok()
}

fn message_beginning(body: &[u8]) -> String {
    let text = String::from_utf8_lossy(body);
    match text.trim() {
        "" => "no message".to_owned(),
        text => text.chars().take(MESSAGE_CHARS).collect(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// `in 3.5s`, `later` without a delay, `never`.
    fn retry_of(error: &Value, header: Option<&str>) -> String {
        let body = json!({ "error": error }).to_string();
        match error_of(429, body.as_bytes(), header) {
            ModelError::QuotaRetryable { delay: None, .. } => "later".to_owned(),
            ModelError::QuotaRetryable {
                delay: Some(delay), ..
            } => format!("in {delay:?}"),
            ModelError::QuotaTerminal { .. } => "never".to_owned(),
            other => panic!("{other:?}"),
        }
    }

    fn with_detail(name: &str, members: Value) -> Value {
        let mut detail = members;
        detail["@type"] = format!("type.googleapis.com/google.rpc.{name}").into();
        json!({"message": "no", "details": [detail]})
    }

    #[test]
    fn a_quota_error_has_the_delay_that_it_names() {
        let info = |delay: &str| with_detail("RetryInfo", json!({ "retryDelay": delay }));
        assert_eq!(retry_of(&info("3.5s"), None), "in 3.5s");
        assert_eq!(retry_of(&info("250ms"), None), "in 250ms");
        assert_eq!(retry_of(&json!({}), Some("7")), "in 7s");
        let words = json!({"message": "Quota exceeded. Please retry in 12.5s."});
        assert_eq!(retry_of(&words, None), "in 12.5s");
        assert_eq!(retry_of(&json!({"message": "no"}), None), "later");
    }

    #[test]
    fn the_quota_of_a_day_and_a_wait_of_more_than_five_minutes_are_terminal() {
        let of = |id: &str| with_detail("QuotaFailure", json!({"violations": [{"quotaId": id}]}));
        assert_eq!(retry_of(&of("RequestsPerDayPerProject"), None), "never");
        assert_eq!(retry_of(&of("RequestsPerMinutePerProject"), None), "in 60s");
        assert_eq!(retry_of(&json!({}), Some("301")), "never");
    }

    #[test]
    fn each_status_has_its_kind_of_error() {
        let kind = |status| format!("{:?}", error_of(status, b"<html>no</html>", None));
        assert!(kind(401).starts_with("Auth"), "{}", kind(401));
        assert!(kind(403).starts_with("Auth"));
        assert!(kind(404).starts_with("BadRequest"));
        assert!(kind(503).starts_with("Server"));
        assert!(kind(400).contains("<html>no</html>"));
        let invalid = with_detail("ErrorInfo", json!({"reason": "API_KEY_INVALID"}));
        let invalid = json!({ "error": invalid }).to_string();
        let invalid = error_of(400, invalid.as_bytes(), None);
        assert!(matches!(invalid, ModelError::Auth { status: 400, .. }));
    }
}
