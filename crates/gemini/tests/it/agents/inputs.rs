//! Templates and the arguments of a call.

use lapidary_gemini::agents::{
    AgentInputs, InputConfig, InputError, InputSpec, InputType, fill_template,
};
use serde_json::{Value, json};

fn inputs(value: &Value) -> AgentInputs {
    value.as_object().unwrap().clone()
}

fn config() -> InputConfig {
    let names = ["text", "number", "flag", "count", "words", "sizes"];
    let all = names.into_iter().zip(InputType::ALL);
    InputConfig::from_inputs(all.map(|(name, input_type)| {
        let description = format!("the {name}");
        let is_required = name == "text";
        (
            name.to_owned(),
            InputSpec {
                description,
                input_type,
                is_required,
            },
        )
    }))
}

#[test]
fn a_template_without_a_value_names_what_is_missing_and_what_is_there() {
    let values =
        inputs(&json!({"a": "x", "b": null, "c": {"d": 1}, "e": 2.0, "f": true, "g": 1e21}));
    let filled = fill_template(
        "${a} ${b} ${c} ${e} ${f} ${g} $a ${a-b} ${} ${${a}}",
        &values,
    );
    assert_eq!(
        filled.unwrap(),
        "x null [object Object] 2 true 1e+21 $a ${a-b} ${} ${x}"
    );
    let error = fill_template("${z} ${a} ${y} ${z}", &values).unwrap_err();
    assert_eq!(
        error.to_string(),
        "Template validation failed: Missing required input parameters: z, y. Available inputs: a, b, c, e, f, g"
    );
}

#[test]
fn a_call_is_checked_by_the_type_of_each_input() {
    let config = config();
    let good = json!({"text": "x", "number": 1.5, "flag": true, "count": 3, "words": ["a"], "sizes": [1, 2.5], "other": 1});
    assert_eq!(config.validate(&inputs(&good)), Ok(()));
    assert_eq!(
        config.validate(&inputs(&json!({"count": 1}))),
        Err(InputError::Missing {
            name: "text".to_owned()
        })
    );
    for (name, wrong, sentence) in [
        (
            "text",
            json!(5),
            "the input `text` must be a text, not a number",
        ),
        (
            "number",
            json!("5"),
            "the input `number` must be a number, not a text",
        ),
        (
            "flag",
            json!("true"),
            "the input `flag` must be true or false, not a text",
        ),
        (
            "count",
            json!(1.5),
            "the input `count` must be a whole number, not a number",
        ),
        (
            "words",
            json!(["a", 1]),
            "the input `words` must be a list of texts, not a list",
        ),
        (
            "sizes",
            json!("1"),
            "the input `sizes` must be a list of numbers, not a text",
        ),
    ] {
        let mut values = inputs(&json!({"text": "x"}));
        values.insert(name.to_owned(), wrong);
        assert_eq!(config.validate(&values).unwrap_err().to_string(), sentence);
    }
}

#[test]
fn words_of_a_command_line_become_values_of_the_declared_type() {
    let config = config();
    for (name, text, expected) in [
        ("text", "5", json!("5")),
        ("number", "1.5", json!(1.5)),
        ("flag", "true", json!(true)),
        ("count", "3", json!(3)),
        ("words", "a, b", json!(["a", "b"])),
        ("words", "[\"a,b\"]", json!(["a,b"])),
        ("sizes", "1, 2.5", json!([1, 2.5])),
    ] {
        assert_eq!(
            config.parse_input(name, text),
            Ok(expected),
            "{name}={text}"
        );
    }
    for (name, text) in [
        ("number", "x"),
        ("flag", "yes"),
        ("count", "1.5"),
        ("sizes", "1,x"),
        ("none", "1"),
    ] {
        assert!(config.parse_input(name, text).is_err(), "{name}={text}");
    }
}
