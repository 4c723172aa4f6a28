//! `${name}` in the texts of an extension.

use std::collections::BTreeMap;

use serde_json::Value;

/// Fills in what has a value. Everything else stays.
pub(super) fn text(text: &str, variables: &BTreeMap<String, String>) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find("${") {
        let (before, reference) = rest.split_at(at);
        out.push_str(before);
        let inner = &reference[2..];
        let end = inner.find(['}', '\n', '\r', '\u{2028}', '\u{2029}']);
        let end = end.filter(|&end| inner[end..].starts_with('}'));
        let Some(end) = end else {
            out.push_str("${");
            rest = inner;
            continue;
        };
        let whole = &reference[..end + 3];
        let value = variables.get(&inner[..end]).map(String::as_str);
        out.push_str(value.unwrap_or(whole));
        rest = &inner[end + 1..];
    }
    out.push_str(rest);
    out
}

/// Does the same in every text of a value.
pub(super) fn value(from: &Value, variables: &BTreeMap<String, String>) -> Value {
    match from {
        Value::String(found) => Value::String(text(found, variables)),
        Value::Array(items) => items.iter().map(|item| value(item, variables)).collect(),
        Value::Object(object) => {
            let pairs = object.iter().filter(|(key, _)| !is_dangerous(key));
            let pairs = pairs.map(|(key, item)| (key.clone(), value(item, variables)));
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
            assert_eq!(text(given, &variables), expected, "{given}");
        }
    }
}
