//! Answers.

use serde_json::{Value, json};

use super::super::JsonObject;
use super::super::output::{is_truthy, said};
use super::text_of;

const USAGE: [&str; 3] = [
    "promptTokenCount",
    "candidatesTokenCount",
    "totalTokenCount",
];

/// What hooks see of an answer of the model API, or of a chunk of one.
pub fn to_response(response: &JsonObject) -> JsonObject {
    let mut seen = JsonObject::new();
    let candidates = response.get("candidates").and_then(Value::as_array);
    let candidates = candidates.map_or(&[][..], Vec::as_slice);
    if let Some(text) = candidates.first().and_then(candidate_text) {
        seen.insert("text".to_owned(), text.into());
    }
    let candidates = candidates.iter().map(hook_candidate);
    seen.insert("candidates".to_owned(), candidates.collect());
    if let Some(usage) = response.get("usageMetadata").filter(|it| is_truthy(it)) {
        seen.insert("usageMetadata".to_owned(), some_of(usage, &USAGE).into());
    }
    seen
}

/// The answer of the model API that a hook gave in its place. `None` if the hook's answer is invalid.
pub fn from_response(said: &JsonObject) -> Option<JsonObject> {
    let mut response = some_of(&Value::Object(said.clone()), &["text"]);
    let candidates = said
        .get("candidates")?
        .as_array()?
        .iter()
        .map(candidate_back);
    let candidates: Option<Vec<Value>> = candidates.collect();
    response.insert("candidates".to_owned(), candidates?.into());
    if let Some(usage) = said.get("usageMetadata") {
        response.insert("usageMetadata".to_owned(), usage.clone());
    }
    Some(response)
}

/// The text of a candidate without its thoughts; none if it has no parts.
fn candidate_text(candidate: &Value) -> Option<String> {
    let parts = candidate_parts(candidate).filter(|parts| !parts.is_empty())?;
    let spoken = parts
        .iter()
        .filter(|part| !part.get("thought").is_some_and(is_truthy));
    Some(spoken.filter_map(text_of).collect())
}

fn candidate_parts(candidate: &Value) -> Option<&Vec<Value>> {
    candidate.get("content")?.get("parts")?.as_array()
}

fn hook_candidate(candidate: &Value) -> Value {
    let parts = candidate_parts(candidate).map_or(&[][..], Vec::as_slice);
    let texts: Vec<&str> = parts.iter().filter_map(text_of).collect();
    let mut seen = JsonObject::new();
    seen.insert(
        "content".to_owned(),
        json!({"role": "model", "parts": texts}),
    );
    seen.extend(some_of(candidate, &["finishReason", "index"]));
    if let Some(ratings) = candidate.get("safetyRatings").and_then(Value::as_array) {
        let ratings = ratings.iter().map(hook_rating);
        seen.insert("safetyRatings".to_owned(), ratings.collect());
    }
    seen.into()
}

fn hook_rating(rating: &Value) -> Value {
    let word = |key: &str| {
        let value = rating.get(key).filter(|it| is_truthy(it));
        value.map(said).unwrap_or_default()
    };
    json!({"category": word("category"), "probability": word("probability")})
}

fn candidate_back(candidate: &Value) -> Option<Value> {
    let parts = candidate_parts(candidate)?.iter();
    let parts: Vec<Value> = parts.map(|part| json!({"text": part})).collect();
    let mut back = JsonObject::new();
    back.insert(
        "content".to_owned(),
        json!({"role": "model", "parts": parts}),
    );
    back.extend(some_of(
        candidate,
        &["finishReason", "index", "safetyRatings"],
    ));
    Some(back.into())
}

fn some_of(value: &Value, keys: &[&str]) -> JsonObject {
    let given = keys
        .iter()
        .filter_map(|key| Some(((*key).to_owned(), value.get(key)?.clone())));
    given.collect()
}
