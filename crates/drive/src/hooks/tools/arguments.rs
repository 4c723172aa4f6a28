//! What hooks are told that a tool is called with.

use std::path::Path;

use serde_json::{Map, Value};

use super::Wanted;

/// The agent's own arguments, with what is known about the call under Gemini's names: a command is the whole line, whatever it is cut
/// into, so that it can be looked at in one place. Gemini CLI (0.61) sends no arguments over ACP.
pub(super) fn of(wanted: Wanted<'_>, file: Option<&Path>) -> Value {
    let given = serde_json::from_str::<Map<String, Value>>(wanted.input.as_str());
    let mut given = given.unwrap_or_default();
    if let Some(line) = &wanted.deed.command {
        let before = given.insert("command".to_owned(), line.clone().into());
        if let Some(words @ Value::Array(_)) = before {
            given.entry("argv").or_insert(words);
        }
    }
    // Of a single file the agent's own word is the one that was found.
    let own = given.get("file_path").and_then(Value::as_str);
    let is_said = own.is_some_and(|own| !own.is_empty()) && wanted.deed.paths.len() == 1;
    if let Some(file) = file.filter(|_| !is_said) {
        let file = file.to_string_lossy().into_owned();
        given.insert("file_path".to_owned(), file.into());
    }
    Value::Object(given)
}

#[cfg(test)]
mod tests {
    use lapidary_vocab::Json;
    use lapidary_vocab::event::ToolKind;
    use serde_json::json;

    use super::*;
    use crate::policy::Deed;

    fn deed(command: Option<&str>, paths: &[&str]) -> Deed {
        Deed {
            kind: ToolKind::Unclassified,
            tool: None,
            title: None,
            command: command.map(str::to_owned),
            paths: paths.iter().map(Into::into).collect(),
            shows_diff: false,
            mcp_server: None,
        }
    }

    #[track_caller]
    fn check(input: &Value, deed: &Deed, expected: &[Value]) {
        let input = lapidary_json::SharedToken::parse(&input.to_string()).unwrap();
        let input = &Json::from(input);
        let wanted = Wanted { deed, input };
        let sides = wanted.sides();
        let files = sides.iter().flat_map(|side| &side.files);
        let told: Vec<_> = files.map(|file| of(wanted, *file)).collect();
        assert_eq!(told, expected, "{input:?}");
    }

    #[test]
    fn a_command_is_the_whole_line() {
        let run = deed(Some("rm -rf 'a b'"), &[]);
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
    fn each_file_is_told_of() {
        let one = deed(None, &["/w/a.txt"]);
        check(&json!({}), &one, &[json!({"file_path": "/w/a.txt"})]);
        let own = json!({"file_path": "a.txt", "content": "x"});
        check(&own, &one, std::slice::from_ref(&own));
        for odd in [json!(["a.txt"]), json!("")] {
            let odd = json!({"file_path": odd});
            check(&odd, &one, &[json!({"file_path": "/w/a.txt"})]);
        }
        let two = deed(None, &["/w/a.txt", "/w/b.txt"]);
        let told = ["/w/a.txt", "/w/b.txt"].map(|it| json!({"file_path": it, "content": "x"}));
        check(&own, &two, &told);
    }
}
