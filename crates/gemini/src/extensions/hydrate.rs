//! `${name}` in the texts of an extension.

use std::collections::BTreeMap;

use serde_json::Value;

/// A reference lies on one line, and JavaScript has four ends of one.
const ENDS: [char; 5] = ['}', '\n', '\r', '\u{2028}', '\u{2029}'];

/// Fills in variables that have a value. All others stay.
pub(super) fn hydrate_text(text: &str, variables: &BTreeMap<String, String>) -> String {
    let mut out = String::with_capacity(text.len());
    let mut from = 0;
    // Looked for once, however many begin before it.
    let mut end = 0;
    while let Some(at) = text[from..].find("${") {
        let inner = from + at + "${".len();
        if end < inner {
            end = text[inner..].find(ENDS).map_or(text.len(), |at| inner + at);
        }
        let is_closed = text[end..].starts_with('}');
        let value = is_closed
            .then(|| variables.get(&text[inner..end]))
            .flatten();
        let next = if is_closed { end + 1 } else { inner };
        match value {
            Some(value) => {
                out.push_str(&text[from..from + at]);
                out.push_str(value);
            }
            None => out.push_str(&text[from..next]),
        }
        from = next;
    }
    out.push_str(&text[from..]);
    out
}

/// Does the same in every text of a value.
pub(super) fn hydrate_value(from: &Value, variables: &BTreeMap<String, String>) -> Value {
    match from {
        Value::String(found) => Value::String(hydrate_text(found, variables)),
        Value::Array(items) => items
            .iter()
            .map(|item| hydrate_value(item, variables))
            .collect(),
        Value::Object(object) => {
            let pairs = object.iter().filter(|(key, _)| !is_dangerous(key));
            let pairs = pairs.map(|(key, item)| (key.clone(), hydrate_value(item, variables)));
            Value::Object(pairs.collect())
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => from.clone(),
    }
}

/// In JavaScript they would change all objects.
fn is_dangerous(key: &str) -> bool {
    matches!(key, "__proto__" | "constructor" | "prototype")
}

#[cfg(test)]
mod tests {
    use lapidary_testkit::work::{assert_linear, cost};

    use super::*;

    #[test]
    fn only_known_names_are_filled_in() {
        let variables = BTreeMap::from([("a", "1"), ("/", "/")])
            .into_iter()
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .collect();
        for (given, expected) in [
            ("${a}${/}${b}", "1/${b}"),
            ("${}", "${}"),
            ("${a", "${a"),
            ("${x\n${a}", "${x\n1"),
            ("${${a}", "${${a}"),
            ("$a $${a}", "$a $1"),
        ] {
            assert_eq!(hydrate_text(given, &variables), expected, "{given}");
        }
    }

    #[test]
    fn unclosed_references_take_linear_time() {
        for (start, end) in [("${", ""), ("${", "\n"), ("${", "}"), ("${a", "\u{2028}")] {
            assert_linear(25_000, |count| {
                let given = start.repeat(count) + end;
                cost(|| assert_eq!(hydrate_text(&given, &BTreeMap::new()), given))
            });
        }
    }
}
