//! `docs/connect.md` agrees with the program: each line of JSON in it is one that we print or read, and no command or field is
//! missing.

use lapidary::vocab::schema::Published;
use serde_json::Value;

use super::peer::{EVENTS, validator};
use crate::support::read;

fn page() -> String {
    String::from_utf8(read("docs/connect.md")).unwrap()
}

/// The lines of its examples.
fn examples(page: &str) -> Vec<Value> {
    let blocks = page.split("```json\n").skip(1);
    let lines = blocks.flat_map(|block| block.split("```").next().unwrap().lines());
    lines
        .map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}")))
        .collect()
}

/// The kinds of a schema, and where each is described.
fn kinds<'a>(schema: &'a Value, tag: &str) -> Vec<(&'a str, &'a str)> {
    let choices = schema["anyOf"].as_array().unwrap().iter();
    let kind = |choice: &'a Value| {
        let name = choice["properties"][tag]["const"].as_str()?;
        Some((name, choice["$ref"].as_str()?.strip_prefix("#/$defs/")?))
    };
    choices.filter_map(kind).collect()
}

#[test]
fn each_example_is_valid_and_of_a_kind_that_we_know() {
    let (page, commands) = (page(), validator("commands"));
    let examples = examples(&page);
    assert!(examples.len() > 20, "they are found");
    for example in &examples {
        let (validator, schema, tag) = match example.get("command") {
            Some(_) if example.get("event").is_none() => (&commands, "commands", "command"),
            _ => (&*EVENTS, "events", "event"),
        };
        if let Err(error) = validator.validate(example) {
            panic!("{error}: {example}");
        }
        let schema = Published::named(schema).unwrap().schema();
        let known = kinds(&schema, tag);
        let name = example[tag].as_str().unwrap();
        let kind = known.iter().find(|(known, _)| *known == name);
        let (_, place) = kind.unwrap_or_else(|| panic!("no kind that we know: {example}"));
        for field in example.as_object().unwrap().keys() {
            let described = [&schema["$defs"][place]["properties"], &schema["properties"]];
            let is_known = described.iter().any(|fields| !fields[field].is_null());
            assert!(
                is_known || field == tag,
                "`{field}` is not described: {example}"
            );
        }
    }
}

#[test]
fn each_command_is_described_with_all_its_fields_and_shown() {
    let page = page();
    let schema = Published::named("commands").unwrap().schema();
    let examples = examples(&page);
    let commands = kinds(&schema, "command");
    assert_eq!(commands.len(), 18);
    for (name, place) in commands {
        let row = page
            .lines()
            .find(|line| line.starts_with(&format!("| `{name}` |")));
        let row = row.unwrap_or_else(|| panic!("`{name}` is not described"));
        let mut named: Vec<_> = row
            .split('|')
            .nth(2)
            .unwrap()
            .split(", ")
            .map(str::trim)
            .map(str::to_owned)
            .collect();
        let body = &schema["$defs"][place];
        let needed = body["required"].as_array().cloned().unwrap_or_default();
        let fields = body["properties"].as_object().unwrap().keys();
        let mut fields: Vec<_> = fields
            .map(|field| {
                if needed.contains(&Value::from(field.as_str())) {
                    format!("`{field}`")
                } else {
                    format!("`{field}?`")
                }
            })
            .collect();
        named.sort();
        fields.sort();
        assert_eq!(named, fields, "of `{name}`");
        assert!(
            examples.iter().any(|example| example["command"] == name),
            "`{name}` is not shown"
        );
    }
}
