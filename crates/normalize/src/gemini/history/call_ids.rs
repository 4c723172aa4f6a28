//! Ids for calls and answers that have none, made as the CLI makes them: the same ones each time a session is loaded.

use std::fmt::Write as _;

use lapidary_json::Token;
use lapidary_vocab::{Json, Text};
use sha2::{Digest as _, Sha256};

use super::TurnRole;
use super::client::HistoryTurn;
use super::said::in_text;

/// The CLI puts a turn with its context before all others, and counts it.
const TURNS_BEFORE: usize = 1;

/// Gives each call and each answer an id. A call shares its own with the answer that follows it under its name.
pub(super) fn complete_call_ids(turns: &mut [HistoryTurn]) {
    for at in 0..turns.len() {
        for place in 0..turns[at].content.parts.len() {
            if let Some(name) = nameless_id(&turns[at].content.parts[place], "functionCall") {
                let id = synthetic_call_id("synth", &name, &turns[at], at, place);
                if let Some(answer) = answer_to(&name, turns.get_mut(at + 1)) {
                    *answer = part_with_id(answer, "functionResponse", &id);
                }
                let call = &mut turns[at].content.parts[place];
                *call = part_with_id(call, "functionCall", &id);
            }
            if let Some(name) = nameless_id(&turns[at].content.parts[place], "functionResponse") {
                let id = synthetic_call_id("synth_orph", &name, &turns[at], at, place);
                let answer = &mut turns[at].content.parts[place];
                *answer = part_with_id(answer, "functionResponse", &id);
            }
        }
    }
}

/// The tool's name, if the part is of that kind and has no id.
fn nameless_id(part: &Json, kind: &str) -> Option<String> {
    let inner = part.token().get(kind).filter(|inner| inner.is_truthy())?;
    let has_id = inner.get("id").is_some_and(Token::is_truthy);
    (!has_id).then(|| in_text(inner.get("name")).to_str().into_owned())
}

fn answer_to<'t>(name: &str, turn: Option<&'t mut HistoryTurn>) -> Option<&'t mut Json> {
    let content = &mut turn?.content;
    if content.role != TurnRole::User {
        return None;
    }
    let mut parts = content.parts.iter_mut();
    parts.find(|part| nameless_id(part, "functionResponse").as_deref() == Some(name))
}

/// The part with an id in its call or response: in the place of an old id, or else last.
fn part_with_id(part: &Json, kind: &str, id: &str) -> Json {
    let Some(inner) = part.token().get(kind) else {
        return part.clone();
    };
    let inner = object_with_member(inner, "id", &Json::from(&Text::from(id.to_owned())));
    object_with_member(part.token(), kind, &inner)
}

fn object_with_member(object: Token<'_>, name: &str, value: &Json) -> Json {
    let is_new = object.get(name).is_none();
    let added = is_new.then(|| (Json::from_value(&name), value.clone()));
    let members = object.members().map(|(key, old)| {
        let value = if key.is(name) {
            value.clone()
        } else {
            crate::own::owned_json(old)
        };
        (crate::own::owned_json(key), value)
    });
    let mut text = String::from("{");
    for (key, value) in members.chain(added) {
        let comma = if text.len() > 1 { "," } else { "" };
        let _ = write!(text, "{comma}{}:{}", key.as_str(), value.as_str());
    }
    text.push('}');
    Token::parse(&text).map_or_else(|_| value.clone(), crate::own::owned_json)
}

fn synthetic_call_id(
    word: &str,
    name: &str,
    turn: &HistoryTurn,
    at: usize,
    place: usize,
) -> String {
    let turn_id = turn.id.as_ref().map(|id| id.to_str().into_owned());
    let mut sources = [
        turn_id.unwrap_or_default(),
        (at + TURNS_BEFORE).to_string(),
        place.to_string(),
    ];
    // JavaScript's order of texts.
    sources.sort_by_cached_key(|source| source.encode_utf16().collect::<Vec<_>>());
    let hash = Sha256::digest(sources.join("|").as_bytes());
    let mut id = format!("{word}_{name}_");
    for byte in &hash[..16] {
        let _ = write!(id, "{byte:02x}");
    }
    id
}
