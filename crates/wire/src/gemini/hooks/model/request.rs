//! Requests.

use serde_json::{Value, json};

use super::super::JsonObject;
use super::super::output::is_truthy;
use super::text_of;

/// What hooks see of a request's settings, and all that they can change.
const SETTINGS: [&str; 4] = ["temperature", "maxOutputTokens", "topP", "topK"];

/// The model of a request that names none.
const DEFAULT_MODEL: &str = "gemini-3.5-flash";

/// What hooks see of a request to the model API (`model`, `contents`, `config`).
pub fn to_request(request: &JsonObject) -> JsonObject {
    let mut seen = JsonObject::new();
    let model = request.get("model").filter(|it| is_truthy(it));
    seen.insert(
        "model".to_owned(),
        model.cloned().unwrap_or_else(|| DEFAULT_MODEL.into()),
    );
    let messages = request_contents(request)
        .into_iter()
        .filter_map(hook_message);
    seen.insert("messages".to_owned(), messages.collect());
    seen.insert(
        "config".to_owned(),
        generation_settings(request.get("config")).into(),
    );
    seen
}

/// The request after a `BeforeModel` hook has changed it. Messages replace the texts one by one; parts that are no text stay
/// where they were. `None` if the hook's answer is invalid, and then the request stays as it is.
pub fn apply_request(said: &JsonObject, request: &JsonObject) -> Option<JsonObject> {
    let mut changed = request.clone();
    if let Some(model) = said.get("model").filter(|it| !it.is_null()) {
        changed.insert("model".to_owned(), model.clone());
    }
    changed.entry("model").or_insert_with(|| "".into());
    let contents = match said.get("messages").filter(|it| is_truthy(it)) {
        None => changed.remove("contents").unwrap_or_else(|| json!([])),
        Some(messages) => Value::Array(merged_contents(
            messages.as_array()?,
            &request_contents(request),
        )?),
    };
    changed.insert("contents".to_owned(), contents);
    if let Some(config) = said.get("config").filter(|it| is_truthy(it)) {
        // Of the four settings, the hook's answer drops the ones it does not name; all other settings are kept by the sender of
        // the request.
        changed.insert(
            "config".to_owned(),
            generation_settings(Some(config)).into(),
        );
    }
    Some(changed)
}

fn request_contents(request: &JsonObject) -> Vec<&Value> {
    match request.get("contents") {
        Some(Value::Array(contents)) => contents.iter().collect(),
        Some(one) if is_truthy(one) => vec![one],
        _ => Vec::new(),
    }
}

/// What hooks see of one content: nothing, if there is no text in it.
fn hook_message(content: &Value) -> Option<Value> {
    if let Value::String(text) = content {
        return Some(json!({"role": "user", "content": text}));
    }
    let role = match content.get("role")?.as_str() {
        Some("model") => "model",
        Some("system") => "system",
        _ => "user",
    };
    let parts = content.get("parts")?;
    let parts = parts
        .as_array()
        .map_or(std::slice::from_ref(parts), Vec::as_slice);
    let text: String = parts.iter().filter_map(text_of).collect();
    (!text.is_empty()).then(|| json!({"role": role, "content": text}))
}

fn generation_settings(config: Option<&Value>) -> JsonObject {
    let known = SETTINGS.into_iter();
    let given = known.filter_map(|key| Some((key.to_owned(), config?.get(key)?.clone())));
    given.collect()
}

fn merged_contents(messages: &[Value], contents: &[&Value]) -> Option<Vec<Value>> {
    let mut messages = messages.iter();
    let mut merged = Vec::with_capacity(contents.len());
    for content in contents {
        merged.push(content_with_message(content, &mut messages)?);
    }
    for message in messages {
        merged.push(content_of(message)?);
    }
    Some(merged)
}

/// A content with the next message in place of its texts, if it has any.
fn content_with_message<'a>(
    content: &Value,
    messages: &mut impl Iterator<Item = &'a Value>,
) -> Option<Value> {
    let Value::Object(object) = content else {
        return match (content, content.as_str()) {
            (_, Some(text)) => messages.next().map_or_else(
                || Some(json!({"role": "user", "parts": [{"text": text}]})),
                content_of,
            ),
            _ => Some(json!({"role": "user", "parts": [content]})),
        };
    };
    let (Some(_), Some(parts)) = (object.get("role"), object.get("parts")) else {
        return Some(json!({"role": "user", "parts": [content]}));
    };
    let none = Vec::new();
    let parts = if parts.is_null() {
        &none
    } else {
        parts.as_array()?
    };
    let mut placed = object.clone();
    let mut kept: Vec<Value> = parts.clone();
    if parts.iter().any(|part| text_of(part).is_some())
        && let Some(message) = messages.next()
    {
        kept.retain(|part| text_of(part).is_none());
        kept.insert(0, json!({"text": message_text(message)?}));
        put_role(&mut placed, message);
    }
    placed.insert("parts".to_owned(), kept.into());
    Some(placed.into())
}

fn content_of(message: &Value) -> Option<Value> {
    let mut content = JsonObject::new();
    let text = message_text(message)?;
    put_role(&mut content, message);
    content.insert("parts".to_owned(), json!([{"text": text}]));
    Some(content.into())
}

fn put_role(content: &mut JsonObject, message: &Value) {
    match message.get("role") {
        Some(role) => content.insert("role".to_owned(), role.clone()),
        None => content.remove("role"),
    };
}

/// The text of a message; a value that is no text is converted as JavaScript does.
fn message_text(message: &Value) -> Option<String> {
    let said = |value: Option<&Value>| value.map_or_else(|| "undefined".to_owned(), as_text);
    match message {
        Value::Null => None,
        other => Some(said(other.get("content"))),
    }
}

fn as_text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Object(_) => "[object Object]".to_owned(),
        Value::Array(items) => {
            let items = items.iter().map(|item| match item {
                Value::Null => String::new(),
                other => as_text(other),
            });
            items.collect::<Vec<_>>().join(",")
        }
        other => other.to_string(),
    }
}
