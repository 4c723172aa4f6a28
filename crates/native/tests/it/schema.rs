//! Values against schemas, in Ajv's sentences.

use lapidary_native::schema::{check, sentence, unknown_keywords};
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
fn unknown_keywords_are_told_apart() {
    let schema = json!({
        "type": "object", "if": {}, "description": "x",
        "properties": {"if": {"dependentRequired": {}}, "a": {"items": {"x-mine": 1}}},
    });
    let unknown: Vec<_> = unknown_keywords(&schema).into_iter().collect();
    assert_eq!(unknown, ["dependentRequired", "if", "x-mine"]);
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
