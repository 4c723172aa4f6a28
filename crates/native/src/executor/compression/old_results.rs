//! Old results of tools, which go first: the model can call the tool again.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::BYTES_PER_TOKEN;
use crate::model::{Content, ContentRole};

/// The tokens of the newest results, which stay.
const KEPT_RESULT_TOKENS: usize = 50_000;
/// The tool whose results stay: they are instructions.
const ACTIVATE_SKILL: &str = "activate_skill";
/// The tool whose later result says all that an earlier one of the same file said.
const READ_FILE: &str = "read_file";

/// The history without results that are superseded, or beyond the newest ones.
pub(super) fn without_old_results(history: &[Content]) -> Vec<Content> {
    let mut shorter = history.to_vec();
    let (mut kept, mut read) = (0, BTreeSet::new());
    for at in (1..history.len()).rev() {
        let calls = calls_of(&history[at - 1]);
        let mut values: Vec<Value> = history[at].parts.iter().map(|it| part_value(it)).collect();
        let responses = values.iter_mut().enumerate();
        let responses = responses.filter(|(_, part)| part.get("functionResponse").is_some());
        let responses: Vec<_> = responses.collect();
        // Responses stand in the order of the calls.
        for ((place, part), call) in responses.into_iter().zip(calls).rev() {
            let length = history[at].parts[place].get().len();
            let is_superseded = call.get("name").is_some_and(|name| name == READ_FILE)
                && !read.insert(call["args"].to_string());
            kept += length / BYTES_PER_TOKEN;
            let is_old = is_superseded || kept > KEPT_RESULT_TOKENS;
            if is_old && call.get("name").is_none_or(|name| name != ACTIVATE_SKILL) {
                replace_result(&mut shorter[at], place, part, length);
            }
        }
    }
    shorter
}

/// Puts a sentence in the place of a result, if that is shorter.
fn replace_result(content: &mut Content, place: usize, part: &mut Value, length: usize) {
    let sentence = format!(
        "[This result ({length} characters) was removed to make room. Call the tool again if you need it.]"
    );
    part["functionResponse"]["response"] = json!({ "output": sentence });
    let [replaced] = &Content::user([part.clone()]).parts[..] else {
        return;
    };
    if replaced.get().len() < length {
        content.parts[place] = replaced.clone();
    }
}

fn calls_of(content: &Content) -> Vec<Value> {
    if content.role != ContentRole::Model {
        return Vec::new();
    }
    let parts = content.parts.iter().map(|part| part_value(part));
    let calls = parts.filter_map(|part| part.get("functionCall").cloned());
    calls.collect()
}

fn part_value(part: &serde_json::value::RawValue) -> Value {
    serde_json::from_str(part.get()).unwrap_or_default()
}
