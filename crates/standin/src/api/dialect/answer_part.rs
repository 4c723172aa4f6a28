//! The content of one part of an answer.

use serde_json::Value;

/// A part of an answer that every dialect has a word for.
#[derive(Debug, Clone, Copy)]
pub(super) enum AnswerPart<'a> {
    Text(&'a str),
    Thought(&'a str),
    Call(AnswerCall<'a>),
}

/// A tool call.
#[derive(Debug, Clone, Copy)]
pub(super) struct AnswerCall<'a> {
    pub(super) name: &'a str,
    pub(super) args: &'a Value,
    id: Option<&'a str>,
}

impl<'a> AnswerPart<'a> {
    /// Reads a part in Gemini's words. Of other kinds, such as `inlineData`, nothing is said.
    pub(super) fn read(part: &'a Value) -> Option<Self> {
        if let Some(call) = part.get("functionCall") {
            return Some(Self::Call(AnswerCall {
                name: call["name"].as_str()?,
                args: &call["args"],
                id: call["id"].as_str(),
            }));
        }
        let text = part["text"].as_str()?;
        let is_thought = part["thought"] == true;
        Some(if is_thought {
            Self::Thought(text)
        } else {
            Self::Text(text)
        })
    }
}

impl AnswerCall<'_> {
    /// Its id, or one that no other call has.
    pub(super) fn id(&self, answer: &str, number: usize) -> String {
        match self.id {
            Some(id) => id.to_owned(),
            None => format!("call-{answer}-{number}"),
        }
    }
}
