//! Ids and thought signatures of calls, as the API wants them back.

use std::borrow::Cow;
use std::sync::Arc;

use lapidary_json::Token;
use serde_json::value::RawValue;

use crate::model::{Content, ContentRole, ModelPart, PartKind};

/// The signature of a call that came without one. The API refuses a call without any signature, and takes this word for one.
const SYNTHETIC_SIGNATURE: &str = "skip_thought_signature_validator";

/// The history with a signature on the first call of each model content since the user last said a text. Earlier ones are not checked.
pub(super) fn with_signatures(history: &[Content]) -> Cow<'_, [Content]> {
    let is_text = |part: &Arc<RawValue>| part_member(part, "text").is_some_and(Token::is_truthy);
    let says_text =
        |content: &Content| content.role == ContentRole::User && content.parts.iter().any(is_text);
    let mut contents = Cow::Borrowed(history);
    let Some(start) = history.iter().rposition(says_text) else {
        return contents;
    };
    for (at, content) in history.iter().enumerate().skip(start) {
        let is_call = |part: &Arc<RawValue>| part_member(part, "functionCall").is_some();
        let Some(first) = content.parts.iter().position(is_call) else {
            continue;
        };
        let part = &content.parts[first];
        let is_unsigned = !part_member(part, "thoughtSignature").is_some_and(Token::is_truthy);
        if content.role == ContentRole::Model && is_unsigned {
            contents.to_mut()[at].parts[first] = with_signature(part);
        }
    }
    contents
}

/// The part with our signature as its last member. Its other tokens stay.
fn with_signature(part: &RawValue) -> Arc<RawValue> {
    let text = part.get().trim_end();
    let text = text.strip_suffix('}').unwrap_or(text);
    let signed = format!("{text},\"thoughtSignature\":\"{SYNTHETIC_SIGNATURE}\"}}");
    raw_part(signed).unwrap_or_else(|| Arc::from(part.to_owned()))
}

/// Puts the name of its tool before the id that the API gave to a call, as Gemini CLI does (0.61): some servers count calls per tool,
/// and give the same id twice.
pub(super) fn prefix_call_ids(parts: &mut [ModelPart]) {
    for part in parts {
        let PartKind::Call(call) = &mut part.kind else {
            continue;
        };
        let name = match call.name.trim() {
            "" => "generic_tool",
            name => name,
        };
        let prefix = format!("{name}__");
        if let Some(id) = call.id.as_mut().filter(|id| !id.starts_with(&prefix)) {
            id.insert_str(0, &prefix);
            if let Some(raw) = with_id(&part.raw, id) {
                part.raw = raw;
            }
        }
    }
}

/// The part of a call with another id. Its other tokens stay.
fn with_id(part: &RawValue, id: &str) -> Option<Arc<RawValue>> {
    let text = part.get();
    let old = Token::parse(text).ok()?.get("functionCall")?.get("id")?;
    let at = old.as_str().as_ptr().addr() - text.as_ptr().addr();
    let new = serde_json::to_string(id).ok()?;
    let (before, after) = (&text[..at], &text[at + old.as_str().len()..]);
    raw_part(format!("{before}{new}{after}"))
}

fn part_member<'a>(part: &'a RawValue, name: &str) -> Option<Token<'a>> {
    Token::parse(part.get()).ok()?.get(name)
}

fn raw_part(text: String) -> Option<Arc<RawValue>> {
    RawValue::from_string(text).ok().map(Arc::from)
}
