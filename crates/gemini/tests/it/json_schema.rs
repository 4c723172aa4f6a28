//! Values against schemas, in Ajv's sentences.

use lapidary_gemini::json_schema::{JsonSchema, check, sentence, unknown_keywords};
use proptest::prelude::*;
use serde_json::{Value, json};

fn says(schema: &Value, value: &Value) -> String {
    match check(schema, value) {
        Ok(()) => "fits".to_owned(),
        Err(violations) => sentence("params", &violations),
    }
}

/// Compared with Ajv 8.17.1, sentence by sentence.
#[test]
fn each_keyword_has_its_sentence() {
    for (schema, value, expected) in [
        (json!({"type": "string"}), json!(1), "params must be string"),
        (
            json!({"type": ["string", "null"]}),
            json!(1),
            "params must be string,null",
        ),
        (
            json!({"type": "integer"}),
            json!(1.5),
            "params must be integer",
        ),
        (json!({"type": "integer"}), json!(1.0), "fits"),
        (
            json!({"required": ["a", "b"]}),
            json!({"a": 1}),
            "params must have required property 'b'",
        ),
        (
            json!({"properties": {"a/b": {"type": "null"}}}),
            json!({"a/b": 1}),
            "params/a~1b must be null",
        ),
        (
            json!({"enum": [1, "a"]}),
            json!(2),
            "params must be equal to one of the allowed values",
        ),
        (json!({"enum": [1]}), json!(1.0), "fits"),
        (
            json!({"const": {"a": [1]}}),
            json!({"a": [2]}),
            "params must be equal to constant",
        ),
        (
            json!({"additionalProperties": false, "properties": {"a": {}}}),
            json!({"b": 1}),
            "params must NOT have additional properties",
        ),
        (
            json!({"additionalProperties": {"type": "string"}}),
            json!({"b": 1}),
            "params/b must be string",
        ),
        (
            json!({"minItems": 2}),
            json!([1]),
            "params must NOT have fewer than 2 items",
        ),
        (
            json!({"maxItems": 1}),
            json!([1, 2]),
            "params must NOT have more than 1 items",
        ),
        (
            json!({"uniqueItems": true}),
            json!([1, 2, 1.0]),
            "params must NOT have duplicate items (items ## 0 and 2 are identical)",
        ),
        (
            json!({"items": {"type": "string"}}),
            json!(["a", 1]),
            "params/1 must be string",
        ),
        (
            json!({"minLength": 3}),
            json!("né"),
            "params must NOT have fewer than 3 characters",
        ),
        (
            json!({"maxLength": 1}),
            json!("ab"),
            "params must NOT have more than 1 characters",
        ),
        (
            json!({"pattern": "^a+$"}),
            json!("ab"),
            "params must match pattern \"^a+$\"",
        ),
        (json!({"minimum": 5}), json!(4), "params must be >= 5"),
        (
            json!({"exclusiveMaximum": 5}),
            json!(5),
            "params must be < 5",
        ),
        (
            json!({"multipleOf": 2}),
            json!(3),
            "params must be multiple of 2",
        ),
        (
            json!({"minProperties": 1}),
            json!({}),
            "params must NOT have fewer than 1 properties",
        ),
        (
            json!({"not": {"type": "string"}}),
            json!("a"),
            "params must NOT be valid",
        ),
        (
            json!({"anyOf": [{"type": "string"}, {"type": "null"}]}),
            json!(1),
            "params must be string, params must be null, params must match a schema in anyOf",
        ),
        (
            json!({"oneOf": [{"type": "number"}, {"minimum": 0}]}),
            json!(1),
            "params must match exactly one schema in oneOf",
        ),
        (
            json!({"contains": {"type": "string"}}),
            json!([1]),
            "params must contain at least 1 valid item(s)",
        ),
        (
            json!({"$ref": "#/$defs/a", "$defs": {"a": {"type": "string"}}}),
            json!(1),
            "params must be string",
        ),
        (
            json!({"type": "string", "nullable": true}),
            json!(null),
            "fits",
        ),
        (json!(false), json!(1), "params boolean schema is false"),
        (
            json!({"type": "object", "required": ["a"], "properties": {"b": {"type": "string"}}}),
            json!({"b": 1}),
            "params must have required property 'a'",
        ),
    ] {
        assert_eq!(says(&schema, &value), expected, "{schema} on {value}");
    }
}

#[test]
fn a_schema_that_refers_to_itself_ends() {
    let endless = json!({"$ref": "#"});
    assert_eq!(
        says(&endless, &json!(1)),
        "params must NOT be nested so deeply"
    );
    let tree = json!({"properties": {"next": {"$ref": "#"}}, "type": "object"});
    assert_eq!(says(&tree, &json!({"next": {"next": {}}})), "fits");
}

#[test]
fn unknown_keywords_are_listed() {
    let schema = json!({
        "type": "object", "$anchor": "x", "description": "x",
        "properties": {"if": {"unevaluatedItems": {}}, "a": {"items": {"x-mine": 1}}},
    });
    let unknown: Vec<_> = unknown_keywords(&schema).into_iter().collect();
    assert_eq!(unknown, ["$anchor", "unevaluatedItems", "x-mine"]);
}

fn values() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(json!(null)),
        any::<bool>().prop_map(Value::from),
        (-3_i64..4).prop_map(Value::from),
        Just(json!(1.5)),
        "[ab]{0,3}".prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 12, 3, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
            proptest::collection::vec(("[ab]", inner), 0..3)
                .prop_map(|it| it.into_iter().collect()),
        ]
    })
}

fn schemas() -> impl Strategy<Value = Value> {
    let kind = prop_oneof![
        Just("string"),
        Just("number"),
        Just("integer"),
        Just("boolean"),
        Just("array"),
        Just("object"),
        Just("null"),
    ];
    let leaf = prop_oneof![
        kind.prop_map(|kind| json!({ "type": kind })),
        (0_u64..3).prop_map(|n| json!({"minLength": n, "maxItems": n, "minimum": n})),
        proptest::collection::vec(values(), 1..3).prop_map(|list| json!({ "enum": list })),
        values().prop_map(|value| json!({ "const": value })),
        proptest::collection::btree_set("[ab]", 0..3)
            .prop_map(|names| json!({ "required": names })),
        Just(json!({"uniqueItems": true, "pattern": "^a"})),
        Just(json!({"multipleOf": 2, "exclusiveMaximum": 2, "maxLength": 2})),
        any::<bool>().prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 16, 3, |inner| {
        prop_oneof![
            (inner.clone(), inner.clone())
                .prop_map(|(a, b)| json!({"properties": {"a": a}, "additionalProperties": b})),
            (inner.clone(), inner.clone())
                .prop_map(|(a, b)| json!({"patternProperties": {"^a": a}, "propertyNames": b})),
            inner.clone().prop_map(|it| json!({ "items": it })),
            inner.clone().prop_map(|it| json!({ "contains": it })),
            inner.clone().prop_map(|it| json!({ "not": it })),
            proptest::collection::vec(inner.clone(), 1..3).prop_map(|it| json!({ "anyOf": it })),
            proptest::collection::vec(inner.clone(), 1..3).prop_map(|it| json!({ "oneOf": it })),
            proptest::collection::vec(inner, 1..3).prop_map(|it| json!({ "allOf": it })),
        ]
    })
}

proptest! {
    #[test]
    fn the_verdict_is_that_of_a_complete_checker(schema in schemas(), value in values()) {
        let oracle = jsonschema::draft7::new(&schema).unwrap();
        prop_assert_eq!(check(&schema, &value).is_ok(), oracle.is_valid(&value), "{} on {}", schema, value);
    }
}

/// `peers/json-schema/verdicts.py` wrote the table with `jsonschema` of Python.
#[test]
fn the_verdict_is_that_of_pythons_jsonschema() {
    let table = include_str!("../../../../fixtures/json-schema/verdicts.jsonl");
    let mut verdicts = [0, 0];
    for line in table.lines() {
        let line: Value = serde_json::from_str(line).unwrap();
        let schema = JsonSchema::parse(&line["schema"].to_string()).unwrap();
        for case in line["cases"].as_array().unwrap() {
            let (value, expected) = (&case[0], case[1].as_bool().unwrap());
            let violations = schema.violations(&value.to_string());
            assert_eq!(
                violations.is_empty(),
                expected,
                "{} on {value}: {violations:?}",
                line["schema"]
            );
            let first = check(schema.document(), value);
            assert_eq!(first.is_ok(), expected, "{} on {value}", line["schema"]);
            verdicts[usize::from(expected)] += 1;
        }
    }
    assert!(verdicts.iter().all(|count| *count > 1000), "{verdicts:?}");
}

/// Each with the sentence and the next step.
#[test]
fn a_schema_that_cannot_be_checked_exactly_is_refused_with_the_place() {
    let deep = "{\"items\":".repeat(200) + "{}" + &"}".repeat(200);
    let endless =
        r##"{"$defs": {"a": {"anyOf": [{"$ref": "#/$defs/b"}]}, "b": {"$ref": "#/$defs/a"}}}"##;
    for (schema, expected, hint) in [
        (
            "{",
            "it is not JSON: EOF while parsing an object at line 1 column 1",
            "",
        ),
        (
            "1",
            "the schema is not a schema: a schema is an object, `true` or `false`",
            "",
        ),
        (
            r#"{"type": "object", "type": "array"}"#,
            "it is not JSON: the key `type` occurs twice at line 1 column 35",
            "",
        ),
        (&deep, "it is nested more than 128 levels deep", "leave out"),
        (
            r#"{"items": {"x-mine": 1}}"#,
            "`/items` has the keyword `x-mine`, which is not supported",
            "would not be checked",
        ),
        (
            r#"{"unevaluatedProperties": false}"#,
            "the schema has the keyword `unevaluatedProperties`, which is not supported",
            "additionalProperties",
        ),
        (
            r#"{"type": "string", "nullable": true}"#,
            "the schema has the keyword `nullable`, which is not supported",
            "\"null\"",
        ),
        (
            r#"{"type": "text"}"#,
            "`/type` is not a valid `type`: it must be `string`, `number`, `integer`, `boolean`, `array`, `object`, `null`, or a list of different ones",
            "",
        ),
        (
            r#"{"properties": {"a": 1}}"#,
            "`/properties/a` is not a schema: a schema is an object, `true` or `false`",
            "",
        ),
        (
            r#"{"items": [{}]}"#,
            "`/items` is not a valid `items`: it must be a schema: an object, `true` or `false`",
            "",
        ),
        (
            r#"{"anyOf": []}"#,
            "`/anyOf` is not a valid `anyOf`: it must be a list of at least one schema",
            "",
        ),
        (
            r#"{"required": ["a", "a"]}"#,
            "`/required` is not a valid `required`: it must be a list of different names",
            "",
        ),
        (
            r#"{"minItems": -1}"#,
            "`/minItems` is not a valid `minItems`: it must be a whole number from 0",
            "",
        ),
        (
            r#"{"multipleOf": 0}"#,
            "`/multipleOf` is not a valid `multipleOf`: it must be a number above 0",
            "",
        ),
        (
            r#"{"pattern": "("}"#,
            "the schema has the pattern `(`: Unterminated group",
            "",
        ),
        (
            r#"{"$ref": "https://example.com/a.json"}"#,
            "the schema refers to `https://example.com/a.json`, outside the document",
            "nothing is fetched",
        ),
        (
            r#"{"$ref": "other.json"}"#,
            "the schema refers to `other.json`, outside the document",
            "nothing is fetched",
        ),
        (
            r##"{"items": {"$ref": "#/$defs/a"}}"##,
            "`/items` refers to `#/$defs/a`, where there is no schema",
            "#/$defs/name",
        ),
        (
            r##"{"$ref": "#/enum/0", "enum": [{}]}"##,
            "the schema refers to `#/enum/0`, where there is no schema",
            "",
        ),
        (
            r##"{"$ref": "#"}"##,
            "the schema refers to itself without end",
            "properties",
        ),
        (endless, "`/$defs/a` refers to itself without end", ""),
        (
            r#"{"$schema": "http://json-schema.org/draft-04/schema#"}"#,
            "the schema names `http://json-schema.org/draft-04/schema#`, a version of JSON Schema that is not supported",
            "2020-12",
        ),
        (
            r##"{"$schema": "http://json-schema.org/draft-07/schema#", "allOf": [{"$ref": "#/$defs/a", "type": "string"}], "$defs": {"a": {}}}"##,
            "`/allOf/0` has `type` beside `$ref`, where draft 7 ignores it",
            "allOf",
        ),
        (
            r#"{"$schema": "http://json-schema.org/draft-07/schema#", "prefixItems": [{}]}"#,
            "the schema has the keyword `prefixItems`, which is not supported",
            "",
        ),
        (
            r#"{"items": {"$id": "x"}}"#,
            "`/items` has an `$id`, which only the whole document can have",
            "",
        ),
    ] {
        let error = JsonSchema::parse(schema).unwrap_err();
        assert_eq!(error.to_string(), expected);
        let told = error.hint().unwrap_or_default();
        assert!(told.contains(hint), "{schema}: {told}");
    }
    let huge = format!(r#"{{"title": "{}"}}"#, "x".repeat(300 * 1024));
    let error = JsonSchema::parse(&huge).unwrap_err();
    assert_eq!(error.to_string(), "it has more than 256 KiB");
}

#[test]
fn every_violation_is_found_with_its_pointer_and_the_wanted_values() {
    let schema = json!({
        "type": "object",
        "required": ["title", "severity"],
        "properties": {
            "severity": {"enum": ["low", "high"]},
            "files": {"type": "array", "items": {"type": "string"}},
            "kind": {"const": "bug"},
        },
        "additionalProperties": false,
    });
    let schema = JsonSchema::from_value(schema).unwrap();
    let text = r#"{"severity": "mid", "files": ["a", 1, null], "kind": "x", "more": 1}"#;
    assert_told(
        &schema.violations(text),
        &[
            "must have required property 'title'",
            "must NOT have the additional property 'more'",
            "/severity must be equal to one of the allowed values: [\"low\",\"high\"]",
            "/files/1 must be string",
            "/files/2 must be string",
            "/kind must be equal to constant: \"bug\"",
        ],
    );
    assert_told(
        &schema.violations(r#"{"title": 1, "title": 2}"#),
        &["cannot be checked: the key `title` occurs twice at line 1 column 24"],
    );
}

fn assert_told(violations: &[lapidary_gemini::json_schema::SchemaViolation], expected: &[&str]) {
    let told: Vec<_> = violations
        .iter()
        .map(|it| format!("{} {}", it.path, it.message).trim().to_owned())
        .collect();
    assert_eq!(told, expected);
}

/// Without a bound, the first would take 2^40 steps and the second years.
#[test]
fn a_check_that_takes_too_long_ends_without_a_verdict_in_favour_of_the_value() {
    let levels = (0..40).map(|level| {
        let next = json!({"$ref": format!("#/$defs/{}", level + 1)});
        (
            level.to_string(),
            json!({"anyOf": [{"not": next}, {"not": next}]}),
        )
    });
    let mut levels: serde_json::Map<String, Value> = levels.collect();
    levels.insert("40".to_owned(), json!({"type": "string"}));
    let doubling = json!({"$ref": "#/$defs/0", "$defs": levels});
    let schema = JsonSchema::from_value(doubling).unwrap();
    assert_told(&schema.violations("1"), &["takes too many steps to check"]);

    let pattern = JsonSchema::from_value(json!({"not": {"pattern": "^(a|a)*\\1b$"}})).unwrap();
    let text = format!("\"{}\"", "a".repeat(40));
    assert_told(
        &pattern.violations(&text),
        &["has text for which a pattern takes too many steps"],
    );
}

#[test]
fn large_numbers_and_decimals_are_compared_digit_by_digit() {
    let schema = JsonSchema::from_value(json!({"enum": [9_007_199_254_740_993_u64]})).unwrap();
    assert!(schema.violations("9007199254740993").is_empty());
    assert!(!schema.violations("9007199254740992").is_empty());
    let cents = JsonSchema::from_value(json!({"multipleOf": 0.01})).unwrap();
    assert!(cents.violations("19.99").is_empty());
    assert!(!cents.violations("19.995").is_empty());
}
