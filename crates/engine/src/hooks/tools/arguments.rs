//! The arguments of a tool call, as hooks get them.

use std::path::Path;

use lapidary_json::{Token, TokenKind};
use serde_json::{Map, Value};

use super::{WantedCall, readable};

/// The key of arguments that are no object, or that could not be parsed.
const RAW: &str = "rawInput";

/// The arguments of a tool call.
#[derive(Debug, PartialEq)]
pub(super) struct ToolArguments {
    /// As far as a value can hold it.
    pub(super) value: Value,
    /// The same with each number as it stands, where a value cannot hold all of them.
    pub(super) verbatim: Option<String>,
}

/// The agent's own arguments, plus the known facts of the call under Gemini's names. A command is the whole line, even if the
/// agent splits it into words, so that a hook finds it in one place. Gemini CLI (0.61) sends no arguments over ACP.
pub(super) fn tool_arguments(wanted: WantedCall<'_>, file: Option<&Path>) -> ToolArguments {
    let token = wanted.input.token();
    let read = readable::readable_value(token);
    let mut given = match read.value {
        Value::Object(given) => given,
        other => Map::from_iter([(RAW.to_owned(), other)]),
    };
    let known = known_arguments(wanted, file, &given);
    given.extend(known.clone());
    ToolArguments {
        verbatim: (!read.is_exact).then(|| verbatim_members(token, &given, &known)),
        value: Value::Object(given),
    }
}

/// The known facts of the call. They override the agent's own arguments.
fn known_arguments(
    wanted: WantedCall<'_>,
    file: Option<&Path>,
    given: &Map<String, Value>,
) -> Map<String, Value> {
    let mut known = Map::new();
    if let Some(line) = &wanted.action.command {
        known.insert("command".to_owned(), line.clone().into());
        let words = given.get("command").filter(|before| !before.is_string());
        if let Some(words) = words.filter(|_| !given.contains_key("argv")) {
            known.insert("argv".to_owned(), words.clone());
        }
    }
    // If the call has a single file, the agent's own `file_path` is that file.
    let own = given.get("file_path").and_then(Value::as_str);
    let is_said = own.is_some_and(|own| !own.is_empty()) && wanted.action.paths.len() == 1;
    if let Some(file) = file.filter(|_| !is_said) {
        let file = file.to_string_lossy().into_owned();
        known.insert("file_path".to_owned(), file.into());
    }
    known
}

/// The members of an object that was read, with each number as it stands.
fn verbatim_members(
    token: Token<'_>,
    given: &Map<String, Value>,
    known: &Map<String, Value>,
) -> String {
    let member = |(name, value): (&String, &Value)| {
        let own = token.members().filter(|(own, _)| {
            let own = own.string();
            own.as_deref() == Some(name)
        });
        let own = own.last().map(|(_, own)| own);
        let own =
            own.or_else(|| (name == RAW && token.kind() != TokenKind::Object).then_some(token));
        let own = own.filter(|_| !known.contains_key(name));
        let text = own.map_or_else(|| value.to_string(), readable::readable_text);
        format!("{}:{text}", Value::from(name.as_str()))
    };
    let members: Vec<_> = given.iter().map(member).collect();
    format!("{{{}}}", members.join(","))
}

#[cfg(test)]
mod tests {
    use lapidary_vocab::Json;
    use lapidary_vocab::event::ToolKind;
    use serde_json::json;

    use super::*;
    use crate::policy::ToolAction;

    fn action(command: Option<&str>, paths: &[&str]) -> ToolAction {
        ToolAction {
            command: command.map(str::to_owned),
            paths: paths.iter().map(Into::into).collect(),
            ..ToolAction::new(ToolKind::Unclassified)
        }
    }

    #[track_caller]
    fn check(input: &Value, action: &ToolAction, expected: &[Value]) {
        let input = lapidary_json::SharedToken::parse(&input.to_string()).unwrap();
        let input = &Json::from(input);
        let wanted = WantedCall { action, input };
        let sides = wanted.sides();
        let files = sides.iter().flat_map(|side| &side.files);
        let told: Vec<_> = files
            .map(|file| tool_arguments(wanted, *file).value)
            .collect();
        assert_eq!(told, expected, "{input:?}");
    }

    #[test]
    fn a_command_is_the_whole_line() {
        let run = action(Some("rm -rf 'a b'"), &[]);
        let line = json!({"command": "rm -rf 'a b'"});
        check(&json!({}), &run, &[line]);
        let args = json!(["-rf", "a b"]);
        let given = json!({"command": "rm", "args": args});
        let told = json!({"command": "rm -rf 'a b'", "args": args});
        check(&given, &run, &[told]);
        let words = json!(["rm", "-rf", "a b"]);
        let told = json!({"command": "rm -rf 'a b'", "argv": words});
        check(&json!({"command": words}), &run, &[told]);
    }

    #[test]
    fn hooks_get_each_file_of_a_call() {
        let one = action(None, &["/w/a.txt"]);
        check(&json!({}), &one, &[json!({"file_path": "/w/a.txt"})]);
        let own = json!({"file_path": "a.txt", "content": "x"});
        check(&own, &one, std::slice::from_ref(&own));
        for odd in [json!(["a.txt"]), json!("")] {
            let odd = json!({"file_path": odd});
            check(&odd, &one, &[json!({"file_path": "/w/a.txt"})]);
        }
        let two = action(None, &["/w/a.txt", "/w/b.txt"]);
        let told = ["/w/a.txt", "/w/b.txt"].map(|it| json!({"file_path": it, "content": "x"}));
        check(&own, &two, &told);
    }
    #[test]
    fn a_command_of_another_sort_is_kept() {
        let run = action(Some("rm x"), &[]);
        let odd = json!({"program": "rm"});
        let told = json!({"command": "rm x", "argv": odd});
        check(&json!({"command": odd}), &run, &[told]);
    }

    #[test]
    fn hooks_get_arguments_that_are_no_object() {
        let think = action(None, &[]);
        check(&json!("rm x"), &think, &[json!({"rawInput": "rm x"})]);
        let list = json!(["rm", "x"]);
        check(&list, &think, &[json!({"rawInput": list})]);
    }

    #[test]
    fn arguments_that_a_json_value_cannot_hold_are_passed_verbatim() {
        let given =
            r#"{"command": ["x"], "n": [1e999, 1], "\u0041": "\ud800", "n": [1.50, 1e999]}"#;
        let input = Json::from(lapidary_json::SharedToken::parse(given).unwrap());
        let action = &action(Some("x"), &["/w/a"]);
        let wanted = WantedCall {
            action,
            input: &input,
        };
        let told = tool_arguments(wanted, Some(Path::new("/w/a")));
        let value = json!({"command": "x", "n": [1.5, "1e999"], "A": "\u{fffd}", "argv": ["x"], "file_path": "/w/a"});
        assert_eq!(told.value, value);
        let verbatim = told.verbatim.unwrap();
        let expected = value
            .to_string()
            .replace(r#"[1.5,"1e999"]"#, "[1.50, 1e999]");
        assert_eq!(verbatim, expected);
    }
}
