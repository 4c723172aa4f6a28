//! The turns that the CLI sends to the model when it continues a session.

use lapidary_json::{Token, TokenKind};
use lapidary_vocab::{Json, Text};
use lapidary_wire::gemini::session::ReplayedLog;
use serde::Serialize;

use super::call_ids;
use super::said::{content_text, in_text, is_ignored};
use super::{loaded_messages, message_list};
use crate::own::{owned_json, owned_text};

/// One turn of the conversation, as the model's API takes it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ModelContent {
    /// The role of the turn.
    pub role: TurnRole,
    /// The parts of the turn.
    pub parts: Vec<Json>,
}

/// The role of the turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
#[expect(missing_docs, reason = "the names are Gemini's own")]
pub enum TurnRole {
    User,
    Model,
}

/// A turn with the id of the message that it was made of: ids of calls that have none are made from it.
#[derive(Debug)]
pub(super) struct HistoryTurn {
    pub(super) id: Option<Text>,
    pub(super) content: ModelContent,
}

/// The turns of a session's final state.
///
/// Records that the model never saw are omitted: notes, errors and warnings, commands (`/…`, `?…`), and the context that the CLI
/// itself puts first, since it makes a new one. The results of calls stand in the turn after them; a file that keeps them as
/// messages of the user as well has them twice, and so has the CLI.
pub fn client_history(log: &ReplayedLog<'_>) -> Vec<ModelContent> {
    let mut turns = Vec::new();
    for message in loaded_messages(log) {
        let kind = message.get("type").and_then(Token::string);
        match kind.as_deref() {
            Some("user") => turns.extend(user_turn(message)),
            Some("gemini") => turns.extend(model_turns(message)),
            _ => {}
        }
    }
    call_ids::complete_call_ids(&mut turns);
    turns.into_iter().map(|turn| turn.content).collect()
}

fn user_turn(message: Token<'_>) -> Option<HistoryTurn> {
    let content = message.get("content")?;
    if is_ignored(&content_text(content).to_str()) {
        return None;
    }
    let parts = part_list(content).collect();
    Some(history_turn(message_id(message), TurnRole::User, parts))
}

/// The model's turn, and the one that answers its calls.
fn model_turns(message: Token<'_>) -> Vec<HistoryTurn> {
    let parts = model_parts(message);
    if parts.is_empty() {
        return Vec::new();
    }
    let id = message_id(message);
    let answers: Vec<_> = message_list(message, "toolCalls")
        .flat_map(result_parts)
        .collect();
    let answer_id = Text::concat(&[
        id.clone().unwrap_or(Text::from("undefined")),
        Text::from("_response"),
    ]);
    let mut turns = vec![history_turn(id, TurnRole::Model, parts)];
    if !answers.is_empty() {
        turns.push(history_turn(Some(answer_id), TurnRole::User, answers));
    }
    turns
}

/// The content alone, if it holds calls or thoughts: then it is the model's own answer, to the letter. Otherwise it is put
/// together.
fn model_parts(message: Token<'_>) -> Vec<Json> {
    let content = message.get("content").filter(|content| content.is_truthy());
    let parts: Vec<_> = content.into_iter().flat_map(part_list).collect();
    let is_complete = parts.iter().any(|part| {
        let has = |name| part.token().get(name).is_some_and(Token::is_truthy);
        has("functionCall") || has("thought")
    });
    if is_complete {
        return parts;
    }
    let thoughts = message_list(message, "thoughts").map(thought_part);
    let calls = message_list(message, "toolCalls").map(call_part);
    thoughts.chain(parts).chain(calls).collect()
}

/// The parts of a content; a string is one.
fn part_list(content: Token<'_>) -> impl Iterator<Item = Json> {
    let (list, single) = match content.kind() {
        TokenKind::Array => (Some(content.elements()), None),
        _ => (None, Some(content)),
    };
    list.into_iter().flatten().chain(single).map(content_part)
}

fn content_part(part: Token<'_>) -> Json {
    match part.kind() {
        TokenKind::String => Json::object([("text", owned_json(part))]),
        _ => owned_json(part),
    }
}

fn thought_part(thought: Token<'_>) -> Json {
    let subject = thought.get("subject").filter(|value| value.is_truthy());
    let description = thought.get("description");
    let said = match subject {
        Some(subject) => Some(Json::from(&Text::concat(&[
            Text::from("**"),
            owned_text(subject),
            Text::from("** "),
            in_text(description),
        ]))),
        None => description.map(owned_json),
    };
    let said = said.map(|said| ("text", said));
    Json::object(
        said.into_iter()
            .chain([("thought", Json::from_value(&true))]),
    )
}

fn call_part(call: Token<'_>) -> Json {
    let members = ["id", "name", "args"];
    let members = members.map(|name| Some((name, owned_json(call.get(name)?))));
    Json::object([("functionCall", Json::object(members.into_iter().flatten()))])
}

/// The result of a call, as parts.
fn result_parts(call: Token<'_>) -> Vec<Json> {
    let Some(result) = call.get("result").filter(|result| result.is_truthy()) else {
        return Vec::new();
    };
    match result.kind() {
        TokenKind::Array => part_list(result).collect(),
        TokenKind::String => vec![function_response(call, result)],
        _ => vec![owned_json(result)],
    }
}

fn function_response(call: Token<'_>, output: Token<'_>) -> Json {
    let members = ["id", "name"].map(|name| Some((name, owned_json(call.get(name)?))));
    let response = Json::object([("output", owned_json(output))]);
    let members = members.into_iter().flatten();
    let members = members.chain([("response", response)]);
    Json::object([("functionResponse", Json::object(members))])
}

fn message_id(message: Token<'_>) -> Option<Text> {
    message.get("id").map(owned_text)
}

fn history_turn(id: Option<Text>, role: TurnRole, parts: Vec<Json>) -> HistoryTurn {
    let content = ModelContent { role, parts };
    HistoryTurn { id, content }
}
