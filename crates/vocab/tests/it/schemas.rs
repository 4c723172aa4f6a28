//! The rules that the published schemas keep without any sample.

use std::collections::BTreeMap;

use lapidary_vocab::schema::PUBLISHED;
use serde_json::{Value, json};

/// Calls `visit` with the name and schema of every property, wherever it stands.
fn each_property(schema: &Value, visit: &mut impl FnMut(&str, &Value)) {
    match schema {
        Value::Object(members) => {
            for (key, value) in members {
                match (key.as_str(), value) {
                    ("not", _) => {} // describes no property: it only keeps known kinds out of the unknown ones
                    ("properties", Value::Object(properties)) => {
                        for (name, property) in properties {
                            visit(name, property);
                            each_property(property, visit);
                        }
                    }
                    _ => each_property(value, visit),
                }
            }
        }
        Value::Array(items) => items.iter().for_each(|item| each_property(item, visit)),
        _ => {}
    }
}

#[test]
fn every_property_says_whether_it_is_upstream_or_derived() {
    let mut silent = Vec::new();
    let mut seen = 0;
    for published in PUBLISHED {
        each_property(&published.schema(), &mut |name, property| {
            seen += 1;
            let description = property["description"].as_str().unwrap_or_default();
            let description = description.to_lowercase();
            if !["upstream", "derived"]
                .iter()
                .any(|word| description.contains(word))
            {
                silent.push(format!("{}: `{name}`", published.name));
            }
        });
    }
    assert!(silent.is_empty(), "{silent:#?}");
    assert!(
        seen > 200,
        "only {seen} properties were found: the test is blind"
    );
}

/// The named definitions of a schema. A flat schema has none.
fn definitions(schema: &Value) -> impl Iterator<Item = (String, Value)> {
    let members = schema.get("$defs").and_then(Value::as_object).cloned();
    members.unwrap_or_default().into_iter()
}

#[test]
fn a_name_means_the_same_in_every_schema() {
    let mut meanings: BTreeMap<String, (&str, Value)> = BTreeMap::new();
    for published in PUBLISHED {
        let schema = published.schema();
        let mut root = schema.clone();
        // What only a root has says nothing about the type.
        for of_a_root in ["$defs", "$schema", "title"] {
            root.as_object_mut().unwrap().remove(of_a_root);
        }
        let root = (published.type_name().into_owned(), root);
        for (name, meaning) in definitions(&schema).chain([root]) {
            let (first, known) = meanings
                .entry(name.clone())
                .or_insert((published.name, meaning.clone()));
            assert_eq!(
                *known, meaning,
                "`{name}` in {first} and {}",
                published.name
            );
        }
    }
}

/// Each definition that is a variant of a union has the same discriminator in every schema.
#[test]
fn a_definition_has_one_discriminator_wherever_it_stands() {
    let mut words: BTreeMap<String, Value> = BTreeMap::new();
    for published in PUBLISHED {
        let schema = published.schema();
        let unions = definitions(&schema).map(|(_, union)| union);
        for union in unions.chain([schema.clone()]) {
            for choice in union["anyOf"].as_array().into_iter().flatten() {
                let (Some(name), Some(properties)) =
                    (choice["$ref"].as_str(), choice.get("properties"))
                else {
                    continue;
                };
                let known = words.entry(name.to_owned()).or_insert(properties.clone());
                assert_eq!(known, properties, "{name}");
            }
        }
    }
    assert!(
        words.len() > 40,
        "only {} kinds were found: the test is blind",
        words.len()
    );
}

#[track_caller]
fn check_accepts(schema: &str, line: &Value, expected: bool) {
    let published = lapidary_vocab::schema::Published::named(schema).unwrap();
    let validator = jsonschema::validator_for(&published.schema()).unwrap();
    assert_eq!(validator.is_valid(line), expected, "{line}");
}

#[test]
fn additions_of_a_newer_version_are_valid_and_wrong_types_are_not() {
    let event = |body: Value| {
        let mut event = json!({ "id": "r-0", "seq": 0, "provider": "newcomer" });
        let members = body.as_object().unwrap().clone();
        event.as_object_mut().unwrap().extend(members);
        event
    };
    let block = |block: Value| {
        event(
            json!({ "event": "tool_completion", "callId": "c", "status": "postponed", "content": [block] }),
        )
    };
    check_accepts(
        "events",
        &event(json!({ "event": "text", "text": "x", "kind": "poem" })),
        true,
    );
    check_accepts(
        "events",
        &event(json!({ "event": "invented_later", "x": 1 })),
        true,
    );
    check_accepts(
        "events",
        &block(json!({ "type": "hologram", "z": 1 })),
        true,
    );
    check_accepts(
        "events",
        &block(json!({ "type": "text", "text": "x" })),
        true,
    );

    check_accepts("events", &block(json!({ "type": "text" })), false);
    check_accepts(
        "events",
        &event(json!({ "event": "text", "kind": "text" })),
        false,
    );
    check_accepts(
        "events",
        &event(json!({ "event": "text", "text": null, "kind": "text" })),
        false,
    );
    check_accepts(
        "events",
        &json!({ "event": "text", "text": "x", "kind": "text" }),
        false,
    );
    check_accepts(
        "commands",
        &json!({ "command": "kill", "sessionId": 1 }),
        false,
    );
    check_accepts("commands", &json!({ "command": "kill" }), true);
}
