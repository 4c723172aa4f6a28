//! `${name}` in the texts of a definition.

use serde_json::Value;

use super::{AgentInputs, PromptConfig};

/// Names that every template may have beside the inputs: the executor knows their values.
pub const RUNTIME_INPUTS: [&str; 3] = ["cliVersion", "activeModel", "today"];

/// A template that has names without a value.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "Template validation failed: Missing required input parameters: {}. Available inputs: {}",
    .missing.join(", "), .available.join(", ")
)]
pub struct TemplateError {
    /// The names without a value, in the order of the template.
    pub missing: Vec<String>,
    /// The names that have one.
    pub available: Vec<String>,
}

/// Fills in each `${name}`. A text that looks like a template in a value stays as it is.
///
/// ```
/// use lapidary_gemini::agents::fill_template;
/// use serde_json::json;
///
/// let inputs = json!({"query": "fix it", "n": [1, 2]});
/// let inputs = inputs.as_object().expect("an object");
/// assert_eq!(fill_template("${query}: ${n} ${not-a-name}", inputs).as_deref(), Ok("fix it: 1,2 ${not-a-name}"));
/// assert!(fill_template("${other}", inputs).is_err());
/// ```
pub fn fill_template(template: &str, inputs: &AgentInputs) -> Result<String, TemplateError> {
    let missing = template_names(template).into_iter();
    let missing: Vec<_> = missing.filter(|name| !inputs.contains_key(*name)).collect();
    if !missing.is_empty() {
        return Err(TemplateError {
            missing: missing.into_iter().map(str::to_owned).collect(),
            available: inputs.keys().cloned().collect(),
        });
    }
    let mut filled = String::with_capacity(template.len());
    let mut end = 0;
    for (range, name) in find_placeholders(template) {
        filled.push_str(&template[end..range.start]);
        filled.push_str(&inputs.get(name).map(js_text).unwrap_or_default());
        end = range.end;
    }
    filled.push_str(&template[end..]);
    Ok(filled)
}

/// The names that a template has, each once, in its order.
pub fn template_names(template: &str) -> Vec<&str> {
    let mut seen = std::collections::HashSet::new();
    let names = find_placeholders(template).map(|(_, name)| name);
    names.filter(|name| seen.insert(*name)).collect()
}

impl PromptConfig {
    /// Every text that may have `${name}`.
    pub fn templates(&self) -> Vec<&str> {
        let parts = self
            .initial_messages
            .iter()
            .filter_map(|message| message.get("parts")?.as_array());
        let parts = parts
            .flatten()
            .filter_map(|part| part.get("text")?.as_str());
        let own = self
            .system_prompt
            .iter()
            .chain(&self.query)
            .map(String::as_str);
        own.chain(parts).collect()
    }
}

fn find_placeholders(template: &str) -> impl Iterator<Item = (std::ops::Range<usize>, &str)> {
    let mut from = 0;
    std::iter::from_fn(move || {
        loop {
            let start = from + template[from..].find("${")?;
            let name = start + "${".len();
            let is_word = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
            let end = template[name..]
                .find(|letter: char| !is_word(letter))
                .map_or(template.len(), |at| name + at);
            from = end.max(name);
            if end > name && template[end..].starts_with('}') {
                from = end + 1;
                return Some((start..from, &template[name..end]));
            }
        }
    })
}

/// `String(value)` of JavaScript.
fn js_text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Number(number) => match number.as_f64() {
            Some(float) if number.is_f64() => js_number(float),
            _ => number.to_string(),
        },
        Value::Array(items) => {
            let item = |item: &Value| {
                if item.is_null() {
                    String::new()
                } else {
                    js_text(item)
                }
            };
            items.iter().map(item).collect::<Vec<_>>().join(",")
        }
        Value::Object(_) => "[object Object]".to_owned(),
        Value::Null | Value::Bool(_) => value.to_string(),
    }
}

/// Numbers of more than 21 digits, and those below a millionth, have an exponent with a sign.
fn js_number(number: f64) -> String {
    let size = number.abs();
    if number == 0.0 || (1e-6..1e21).contains(&size) {
        return (number + 0.0).to_string();
    }
    let text = format!("{number:e}");
    if text.contains("e-") {
        return text;
    }
    text.replace('e', "e+")
}
