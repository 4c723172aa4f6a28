//! The meaning of a hook's output, as observed with Gemini CLI (0.61), with one deviation: exit code 2 always blocks.

use lapidary_json::{Token, TokenKind};
use lapidary_wire::gemini::hooks::{HookOutput, JsonObject, is_truthy};
use serde_json::Value;

use super::shell::is_space;
use crate::process::Exit;

/// The exit code that blocks, with any output.
const BLOCKS: i32 = 2;

/// How many characters of a flood are a reason.
const MOST_REASON: usize = 1000;

/// The parsed output of a hook.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct HookAnswer {
    /// Its answer, if it has one.
    pub output: Option<HookOutput>,
    /// How it said so.
    pub format: Option<AnswerFormat>,
    /// Whether Gemini CLI (0.61) would not have taken it for a refusal: it exited with 2 without a decision in its output.
    pub is_stricter: bool,
}

/// The format of a hook's answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AnswerFormat {
    /// As JSON.
    Json,
    /// The output as text: the exit code decides its meaning.
    Text,
}

/// Parses the output and the exit code of a hook.
///
/// Stdout counts, and stderr only where stdout is empty. JSON is taken literally, with any exit code; a JSON string is parsed
/// once more; any other text allows with code 0, allows with a warning with 1, and refuses with any other code. A hook killed by
/// a signal has no exit code, which counts as 0 here.
pub fn answer(stdout: &str, stderr: &str, exit: Option<Exit>) -> HookAnswer {
    let (said, complaint) = (trim_as_javascript(stdout), trim_as_javascript(stderr));
    let heard = if said.is_empty() { complaint } else { said };
    let code = code_of(exit);
    let mut answer = if heard.is_empty() {
        HookAnswer::default()
    } else {
        read_answer(heard, code)
    };
    if code == BLOCKS {
        answer.block_with_complaint(complaint);
    }
    answer
}

fn read_answer(heard: &str, code: i32) -> HookAnswer {
    let json = |object| HookAnswer {
        output: Some(HookOutput(object)),
        format: Some(AnswerFormat::Json),
        is_stricter: false,
    };
    match AnswerValue::parse(heard).and_then(AnswerValue::parse_again) {
        Some(AnswerValue::Object(object)) => json(object),
        Some(AnswerValue::Array) => json(JsonObject::new()),
        Some(AnswerValue::Text(_) | AnswerValue::Other) => HookAnswer::default(),
        None => HookAnswer {
            output: Some(of_text(heard, code)),
            format: Some(AnswerFormat::Text),
            is_stricter: false,
        },
    }
}

/// Reads the beginning of an output that is too long to keep. Whether it was JSON is unknown, but an exit code that refuses
/// counts.
pub(super) fn read_flooded_answer(stdout: &str, exit: Option<Exit>) -> HookAnswer {
    let code = code_of(exit);
    if (0..=1).contains(&code) {
        return HookAnswer::default();
    }
    let beginning: String = trim_as_javascript(stdout)
        .chars()
        .take(MOST_REASON)
        .collect();
    HookAnswer {
        output: Some(of_text(&beginning, code)),
        format: Some(AnswerFormat::Text),
        is_stricter: false,
    }
}

/// The exit code. A hook killed by a signal has none, which counts as 0.
fn code_of(exit: Option<Exit>) -> i32 {
    match exit {
        Some(Exit::Code(code)) => code,
        Some(Exit::Signal(_)) | None => 0,
    }
}

/// A JSON value, as far as it matters.
enum AnswerValue {
    Object(JsonObject),
    Array,
    Text(String),
    Other,
}

impl AnswerValue {
    /// None if it is not valid JSON.
    fn parse(text: &str) -> Option<Self> {
        let token = Token::parse(text).ok()?;
        Some(match token.kind() {
            TokenKind::Object => Self::Object(object_members(token)),
            TokenKind::Array => Self::Array,
            TokenKind::String => Self::Text(token.string().unwrap_or_default().into_owned()),
            _ => Self::Other,
        })
    }

    /// A string may hold JSON in its turn. If it does not, all of it is text.
    fn parse_again(self) -> Option<Self> {
        match self {
            Self::Text(text) => Self::parse(&text),
            other => Some(other),
        }
    }
}

/// A member that nothing here can hold (half a character, a number out of range, nested without end) does not spoil the others.
fn object_members(object: Token<'_>) -> JsonObject {
    let value = |token: Token<'_>| {
        let whole = serde_json::from_str(token.as_str()).ok();
        let text = || Some(Value::String(token.string()?.into_owned()));
        whole.or_else(text).unwrap_or_default()
    };
    let members = object.members();
    members
        .map(|(key, token)| {
            let key = key.string().unwrap_or_default().into_owned();
            (key, value(token))
        })
        .collect()
}

fn of_text(text: &str, code: i32) -> HookOutput {
    let said = match code {
        0 => ("allow", "systemMessage", text.to_owned()),
        1 => ("allow", "systemMessage", format!("Warning: {text}")),
        _ => ("deny", "reason", text.to_owned()),
    };
    let (decision, key, text) = said;
    let mut output = HookOutput::decided(decision, None);
    output.0.insert(key.to_owned(), text.into());
    output
}

impl HookAnswer {
    /// Whether it blocks or stops.
    pub(super) fn is_refusal(&self) -> bool {
        let refuses = |output: &HookOutput| output.is_blocking() || output.is_stopping();
        self.output.as_ref().is_some_and(refuses)
    }

    /// A hook that exits with 2 refuses, unless its JSON has a decision. Gemini CLI (0.61) lets the action pass if the output is
    /// empty or has no decision; but the author of `exit 2` means no.
    fn block_with_complaint(&mut self, complaint: &str) {
        if self.output.as_ref().is_some_and(has_decision) {
            return;
        }
        let output = self.output.get_or_insert_default();
        output.0.insert("decision".to_owned(), "deny".into());
        if !output.0.get("reason").is_some_and(is_truthy) {
            let silent = "the hook exited with code 2";
            let reason = if complaint.is_empty() {
                silent
            } else {
                complaint
            };
            output.0.insert("reason".to_owned(), reason.into());
        }
        self.is_stricter = true;
    }
}

/// Whether the output has an explicit decision.
fn has_decision(output: &HookOutput) -> bool {
    let words = ["allow", "approve", "ask", "block", "deny"];
    output.is_stopping() || output.decision().is_some_and(|word| words.contains(&word))
}

/// Without the spaces around it that JavaScript takes off.
fn trim_as_javascript(text: &str) -> &str {
    text.trim_matches(is_space)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn check(stdout: &str, stderr: &str, exit: Exit, expected: impl Into<Value>) {
        let answer = answer(stdout, stderr, Some(exit));
        let output = answer.output.map_or(Value::Null, |it| it.0.into());
        assert_eq!(output, expected.into(), "{stdout:?} {stderr:?} {exit:?}");
    }

    fn code(stdout: &str, stderr: &str, code: i32, expected: impl Into<Value>) {
        check(stdout, stderr, Exit::Code(code), expected);
    }

    #[test]
    fn text_means_what_the_exit_code_says() {
        code(
            "hi\n",
            "",
            0,
            json!({"decision": "allow", "systemMessage": "hi"}),
        );
        let warning = json!({"decision": "allow", "systemMessage": "Warning: hi"});
        code("hi", "", 1, warning);
        code("hi", "no", 2, json!({"decision": "deny", "reason": "hi"}));
        code("", " no ", 3, json!({"decision": "deny", "reason": "no"}));
        code(
            "",
            "not found",
            127,
            json!({"decision": "deny", "reason": "not found"}),
        );
        code(
            "",
            "note",
            0,
            json!({"decision": "allow", "systemMessage": "note"}),
        );
        code("", "", 0, Value::Null);
        code("", "", 3, Value::Null);
        code(
            "{} more",
            "",
            0,
            json!({"decision": "allow", "systemMessage": "{} more"}),
        );
    }

    #[test]
    fn json_means_what_it_says() {
        let deny = json!({"decision": "deny", "reason": "r"});
        code(&deny.to_string(), "", 0, deny.clone());
        code(&deny.to_string(), "", 1, deny.clone());
        code("", &deny.to_string(), 0, deny.clone());
        code("\u{feff}{\"a\":1,\"a\":2}\u{a0}", "", 0, json!({"a": 2}));
        code("42", "", 0, Value::Null);
        code("null", "", 0, Value::Null);
        code("[1]", "", 0, json!({}));
        let twice = Value::String(deny.to_string()).to_string();
        code(&twice, "", 0, deny.clone());
        code("\"7\"", "", 0, Value::Null);
        code(
            "\"x\"",
            "",
            0,
            json!({"decision": "allow", "systemMessage": "\"x\""}),
        );
        check(
            "hi",
            "",
            Exit::Signal(9),
            json!({"decision": "allow", "systemMessage": "hi"}),
        );
    }

    #[test]
    fn json_values_that_do_not_fit_do_not_spoil_a_hooks_output() {
        let nested = format!("{}1{}", "[".repeat(9_999), "]".repeat(9_999));
        let said = format!(r#"{{"x":"\ud800","y":{nested},"z":1e999,"decision":"deny"}}"#);
        let expected = json!({"x": "\u{fffd}", "y": null, "z": null, "decision": "deny"});
        code(&said, "", 0, expected);
    }

    #[test]
    fn exit_code_2_blocks_unless_the_json_decides() {
        let silent = json!({"decision": "deny", "reason": "the hook exited with code 2"});
        code("", "", 2, silent.clone());
        code("42", "", 2, silent.clone());
        code("[]", "", 2, silent.clone());
        code("42", "why", 2, json!({"decision": "deny", "reason": "why"}));
        let odd = json!({"decision": "deny", "reason": "r"});
        code(r#"{"decision":"Deny","reason":"r"}"#, "", 2, odd);
        for decided in [
            json!({"decision": "allow"}),
            json!({"decision": "approve"}),
            json!({"decision": "ask"}),
            json!({"decision": "block"}),
            json!({"continue": false}),
        ] {
            code(&decided.to_string(), "", 2, decided);
        }
        assert!(answer("", "", Some(Exit::Code(2))).is_stricter);
        assert!(!answer("no", "", Some(Exit::Code(2))).is_stricter);
        assert!(!answer("", "", Some(Exit::Code(3))).is_stricter);
    }

    #[test]
    fn the_exit_code_decides_if_a_hooks_output_is_too_long() {
        let flood = "x".repeat(2 * MOST_REASON);
        for exit in [Exit::Code(0), Exit::Code(1), Exit::Signal(9)] {
            assert_eq!(
                read_flooded_answer(&flood, Some(exit)),
                HookAnswer::default()
            );
        }
        for code in [2, 3] {
            let output = read_flooded_answer(&flood, Some(Exit::Code(code)))
                .output
                .unwrap();
            assert!(output.is_blocking());
            assert_eq!(output.effective_reason(), flood[..MOST_REASON]);
        }
    }
}
