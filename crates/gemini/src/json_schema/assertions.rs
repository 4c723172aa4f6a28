//! Keywords that look at one value, each with its sentence.

use std::cmp::Ordering;

use serde_json::{Map, Number, Value};

use super::audit::whole_count;
use super::equality::is_equal;
use super::evaluation::{CheckExtent, Flow, FoundViolations, InstancePlace, SchemaEvaluation};
use super::number::ExactDecimal;

/// A longer value is not named in a sentence.
const LONGEST_NAMED: usize = 200;

type Schema = Map<String, Value>;

pub(super) fn check_type(
    check: &SchemaEvaluation<'_>,
    schema: &Schema,
    value: &Value,
    place: InstancePlace<'_>,
    found: &mut FoundViolations,
) -> Flow {
    let mut names: Vec<_> = match schema.get("type") {
        Some(Value::String(name)) => vec![name.as_str()],
        Some(Value::Array(names)) => names.iter().filter_map(Value::as_str).collect(),
        _ => return Flow::Continue(()),
    };
    if schema.get("nullable") == Some(&Value::Bool(true)) && !names.contains(&"null") {
        names.push("null");
    }
    if names.iter().any(|name| is_of_type(value, name)) {
        return Flow::Continue(());
    }
    check.report_violation(place, format!("must be {}", names.join(",")), found)
}

fn is_of_type(value: &Value, name: &str) -> bool {
    match name {
        "string" => value.is_string(),
        "number" => value.is_number(),
        "integer" => {
            let number = value.as_number().map(ExactDecimal::new);
            number.is_some_and(ExactDecimal::is_integer)
        }
        "boolean" => value.is_boolean(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        "null" => value.is_null(),
        _ => true,
    }
}

/// Whether a number keeps to a limit.
type Fits = fn(ExactDecimal, ExactDecimal) -> bool;

pub(super) fn check_number(
    check: &SchemaEvaluation<'_>,
    schema: &Schema,
    number: &Number,
    place: InstancePlace<'_>,
    found: &mut FoundViolations,
) -> Flow {
    let rules: [(&str, &str, Fits); 5] = [
        ("maximum", "must be <=", |a, b| {
            a.cmp(&b) != Ordering::Greater
        }),
        ("minimum", "must be >=", |a, b| a.cmp(&b) != Ordering::Less),
        ("exclusiveMaximum", "must be <", |a, b| a < b),
        ("exclusiveMinimum", "must be >", |a, b| a > b),
        (
            "multipleOf",
            "must be multiple of",
            ExactDecimal::is_multiple_of,
        ),
    ];
    for (keyword, words, fits) in rules {
        if let Some(Value::Number(limit)) = schema.get(keyword)
            && !fits(ExactDecimal::new(number), ExactDecimal::new(limit))
        {
            check.report_violation(place, format!("{words} {limit}"), found)?;
        }
    }
    Flow::Continue(())
}

pub(super) fn check_length(
    check: &SchemaEvaluation<'_>,
    schema: &Schema,
    text: &str,
    place: InstancePlace<'_>,
    found: &mut FoundViolations,
) -> Flow {
    let keywords = ["maxLength", "minLength"];
    if !keywords.iter().any(|keyword| schema.contains_key(*keyword)) {
        return Flow::Continue(());
    }
    let length = text.chars().count();
    check_count(
        check,
        schema,
        (keywords, length, "characters"),
        place,
        found,
    )
}

/// `[most, least]` are the keywords of the two limits.
pub(super) fn check_count(
    check: &SchemaEvaluation<'_>,
    schema: &Schema,
    ([most, least], count, of): ([&str; 2], usize, &str),
    place: InstancePlace<'_>,
    found: &mut FoundViolations,
) -> Flow {
    let limit = |keyword| schema.get(keyword).and_then(whole_count);
    let message = match (limit(most), limit(least)) {
        (Some(limit), _) if count as u64 > limit => {
            format!("must NOT have more than {limit} {of}")
        }
        (_, Some(limit)) if (count as u64) < limit => {
            format!("must NOT have fewer than {limit} {of}")
        }
        _ => return Flow::Continue(()),
    };
    check.report_violation(place, message, found)
}

pub(super) fn check_choice(
    check: &SchemaEvaluation<'_>,
    schema: &Schema,
    value: &Value,
    place: InstancePlace<'_>,
    found: &mut FoundViolations,
) -> Flow {
    if let Some(constant) = schema.get("const")
        && !is_equal(constant, value)
    {
        let message = with_wanted_value(check, "must be equal to constant", constant);
        check.report_violation(place, message, found)?;
    }
    if let Some(Value::Array(allowed)) = schema.get("enum")
        && !allowed.iter().any(|one| is_equal(one, value))
    {
        let words = "must be equal to one of the allowed values";
        let message = with_wanted_value(check, words, &schema["enum"]);
        check.report_violation(place, message, found)?;
    }
    Flow::Continue(())
}

/// Ajv does not name the value that is wanted. A model that repairs its answer needs it.
fn with_wanted_value(check: &SchemaEvaluation<'_>, words: &str, wanted: &Value) -> String {
    match check.extent() {
        CheckExtent::First => words.to_owned(),
        CheckExtent::Complete(_) => match wanted.to_string() {
            long if long.len() > LONGEST_NAMED => words.to_owned(),
            short => format!("{words}: {short}"),
        },
    }
}

pub(super) fn check_required(
    check: &SchemaEvaluation<'_>,
    schema: &Schema,
    members: &Map<String, Value>,
    place: InstancePlace<'_>,
    found: &mut FoundViolations,
) -> Flow {
    let names = |list: Option<&Value>| {
        let list = list.and_then(Value::as_array).cloned().unwrap_or_default();
        list.into_iter()
            .filter_map(|name| name.as_str().map(str::to_owned))
            .filter(|name| !members.contains_key(name))
            .collect::<Vec<_>>()
    };
    for name in names(schema.get("required")) {
        let message = format!("must have required property '{name}'");
        check.report_violation(place, message, found)?;
    }
    let dependent = schema.get("dependentRequired").and_then(Value::as_object);
    for (given, wanted) in dependent.into_iter().flatten() {
        for name in names(Some(wanted))
            .into_iter()
            .filter(|_| members.contains_key(given))
        {
            let message = format!("must have property {name} when property {given} is present");
            check.report_violation(place, message, found)?;
        }
    }
    Flow::Continue(())
}
