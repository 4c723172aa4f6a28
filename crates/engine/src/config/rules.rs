//! `[[rule]]` in a file, and `"rule": […]` of a program.

use std::path::Path;

use toml::Spanned;
use toml::de::DeValue;

use super::problem::{ConfigError, ConfigProblem, FilePosition};
use super::read::in_order;
use super::rule_entry::{WrittenEntry, read_rule};
use super::value::ConfigValue;
use crate::policy::Rules;

/// The key.
pub(super) const RULE: &str = "rule";

/// The rules of a file, each named by where it stands.
pub(super) fn from_toml(
    value: &Spanned<DeValue<'_>>,
    text: &str,
    origin: &Path,
) -> Result<Rules, ConfigError> {
    let DeValue::Array(items) = value.get_ref() else {
        return Err(not_a_rule(value, text, origin));
    };
    let mut rules = Rules::default();
    for item in items {
        let place = |byte| FilePosition::from_offset(origin.to_owned(), text, byte);
        let DeValue::Table(table) = item.get_ref() else {
            return Err(not_a_rule(item, text, origin));
        };
        let here = place(item.span().start);
        let entries = in_order(table)
            .into_iter()
            .map(|(key, value)| WrittenEntry {
                key: key.get_ref().to_string(),
                value: ConfigValue::from_toml(value.get_ref()),
                key_place: place(key.span().start),
                value_place: place(value.span().start),
            });
        let name = format!("{}:{}", origin.display(), here.line);
        let dir = origin.parent().unwrap_or(Path::new(""));
        let rule = read_rule(entries.collect(), name, &here, dir);
        rules.push(rule.map_err(|(place, problem)| ConfigError::At { place, problem })?);
    }
    Ok(rules)
}

fn not_a_rule(value: &Spanned<DeValue<'_>>, text: &str, origin: &Path) -> ConfigError {
    let got = ConfigValue::from_toml(value.get_ref()).python_repr();
    ConfigError::At {
        place: FilePosition::from_offset(origin.to_owned(), text, value.span().start),
        problem: ConfigProblem::NotARule { got },
    }
}

/// The rules of a program, named by their number. There is no file whose directory relative paths could count from, so paths have
/// to be absolute to match.
pub(super) fn from_json(value: &serde_json::Value) -> Result<Rules, ConfigError> {
    let refused = |value: &serde_json::Value| {
        ConfigError::Refused(ConfigProblem::NotARule {
            got: ConfigValue::from(value).python_repr(),
        })
    };
    let items = match value {
        serde_json::Value::Null => return Ok(Rules::default()),
        serde_json::Value::Array(items) => items,
        other => return Err(refused(other)),
    };
    let mut rules = Rules::default();
    for (at, item) in items.iter().enumerate() {
        let members = item.as_object().ok_or_else(|| refused(item))?;
        let members = members.iter().filter(|(_, value)| !value.is_null());
        let entries = members.map(|(key, value)| WrittenEntry {
            key: key.clone(),
            value: ConfigValue::from(value),
            key_place: (),
            value_place: (),
        });
        let name = format!("rule[{at}]");
        let rule = read_rule(entries.collect(), name, &(), Path::new(""));
        rules.push(rule.map_err(|((), problem)| ConfigError::Refused(problem))?);
    }
    Ok(rules)
}
