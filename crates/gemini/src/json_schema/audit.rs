//! Reads a schema before it is used: every keyword must be known and have a value that it can have, every reference must lead to a
//! schema of the document and may not run in a circle.

use std::collections::{BTreeMap, HashSet};

use serde_json::{Map, Value};

use super::DEEPEST_SCHEMA;
use super::evaluation::{compile_pattern, decoded_pointer};
use super::keywords::{KeywordForm, SchemaDialect, applies_in_place, is_annotation, keyword_form};
use super::number::ExactDecimal;
use super::schema_error::SchemaError;

/// The names of types.
const TYPES: [&str; 7] = [
    "string", "number", "integer", "boolean", "array", "object", "null",
];

/// Refuses a schema that cannot be checked exactly.
pub(super) fn audit_document(document: &Value) -> Result<(), SchemaError> {
    let mut audit = SchemaAudit {
        dialect: SchemaDialect::Draft2020,
        places: BTreeMap::new(),
        references: Vec::new(),
    };
    if let Some(uri) = document.get("$schema").and_then(Value::as_str) {
        audit.dialect = SchemaDialect::parse(uri).ok_or_else(|| SchemaError::Dialect {
            pointer: String::new(),
            uri: uri.to_owned(),
        })?;
    }
    let mut waiting = vec![(String::new(), document, 0)];
    while let Some((pointer, schema, depth)) = waiting.pop() {
        if depth > DEEPEST_SCHEMA {
            return Err(SchemaError::TooDeep {
                most: DEEPEST_SCHEMA,
            });
        }
        for (below, part) in audit.audit_schema(&pointer, schema)? {
            waiting.push((below, part, depth + 1));
        }
    }
    audit.references_lead_somewhere()?;
    audit.references_end()
}

struct SchemaAudit {
    dialect: SchemaDialect,
    /// Every schema of the document, with the schemas that are about the same value.
    places: BTreeMap<String, Vec<String>>,
    /// References: the schema that has one, and its target.
    references: Vec<(String, String)>,
}

impl SchemaAudit {
    /// One schema. The answer is the schemas within it.
    fn audit_schema<'a>(
        &mut self,
        pointer: &str,
        schema: &'a Value,
    ) -> Result<Vec<(String, &'a Value)>, SchemaError> {
        let members = match schema {
            Value::Object(members) => members,
            Value::Bool(_) => {
                self.places.insert(pointer.to_owned(), Vec::new());
                return Ok(Vec::new());
            }
            _ => {
                return Err(SchemaError::NotASchema {
                    pointer: pointer.to_owned(),
                });
            }
        };
        let (mut parts, mut in_place) = (Vec::new(), Vec::new());
        for (keyword, value) in members {
            let known = keyword_form(keyword).filter(|_| self.dialect.has_keyword(keyword));
            let Some(form) = known else {
                return Err(SchemaError::UnknownKeyword {
                    pointer: pointer.to_owned(),
                    keyword: keyword.clone(),
                });
            };
            self.audit_value(pointer, keyword, form, value)?;
            for (below, part) in form.inner_schemas(value) {
                let below = format!(
                    "{pointer}/{}{below}",
                    super::keywords::escaped_part(keyword)
                );
                if applies_in_place(keyword) {
                    in_place.push(below.clone());
                }
                parts.push((below, part));
            }
        }
        self.beside_reference(pointer, members)?;
        self.places.insert(pointer.to_owned(), in_place);
        Ok(parts)
    }

    /// The value of a keyword.
    fn audit_value(
        &mut self,
        pointer: &str,
        keyword: &str,
        form: KeywordForm,
        value: &Value,
    ) -> Result<(), SchemaError> {
        let place = || pointer.to_owned();
        match (form, value) {
            (KeywordForm::Reference, Value::String(target)) => {
                let Some(inside) = target.strip_prefix('#') else {
                    let (pointer, target) = (place(), target.clone());
                    return Err(SchemaError::Outside { pointer, target });
                };
                self.references.push((place(), inside.to_owned()));
            }
            (KeywordForm::Pattern, Value::String(pattern)) => pattern_error(pointer, pattern)?,
            (KeywordForm::SchemaByPattern, Value::Object(members)) => {
                for pattern in members.keys() {
                    pattern_error(pointer, pattern)?;
                }
            }
            (KeywordForm::Dialect, Value::String(uri)) if !pointer.is_empty() => {
                let (pointer, uri) = (place(), uri.clone());
                return Err(SchemaError::Dialect { pointer, uri });
            }
            (KeywordForm::Text, Value::String(_)) if keyword == "$id" && !pointer.is_empty() => {
                return Err(SchemaError::NestedId { pointer: place() });
            }
            _ => {}
        }
        match expected_values(form) {
            (_, is_valid) if is_valid(value) => Ok(()),
            (expected, _) => Err(SchemaError::Value {
                pointer: place(),
                keyword: keyword.to_owned(),
                expected,
            }),
        }
    }

    /// Draft 7 ignores all but annotations there.
    fn beside_reference(
        &self,
        pointer: &str,
        members: &Map<String, Value>,
    ) -> Result<(), SchemaError> {
        if self.dialect > SchemaDialect::Draft7 || !members.contains_key("$ref") {
            return Ok(());
        }
        let mut keywords = members.keys();
        match keywords.find(|keyword| *keyword != "$ref" && !is_annotation(keyword)) {
            Some(keyword) => Err(SchemaError::BesideReference {
                pointer: pointer.to_owned(),
                keyword: keyword.clone(),
            }),
            None => Ok(()),
        }
    }

    fn references_lead_somewhere(&mut self) -> Result<(), SchemaError> {
        for (pointer, target) in &self.references {
            let inside = decoded_pointer(target).filter(|inside| self.places.contains_key(inside));
            let Some(inside) = inside else {
                return Err(SchemaError::NoTarget {
                    pointer: pointer.clone(),
                    target: format!("#{target}"),
                });
            };
            self.places.entry(pointer.clone()).or_default().push(inside);
        }
        Ok(())
    }

    /// Schemas that are about the same value form no circle.
    fn references_end(&self) -> Result<(), SchemaError> {
        let mut finished = HashSet::new();
        for start in self.places.keys() {
            let mut open: Vec<(&str, usize)> = vec![(start, 0)];
            let mut path: HashSet<&str> = HashSet::from([start.as_str()]);
            while let Some((place, next)) = open.last_mut() {
                let targets = self.places.get(*place).map_or(&[][..], Vec::as_slice);
                let Some(target) = targets.get(*next) else {
                    finished.insert(*place);
                    path.remove(*place);
                    open.pop();
                    continue;
                };
                *next += 1;
                if path.contains(target.as_str()) {
                    let pointer = target.clone();
                    return Err(SchemaError::Endless { pointer });
                }
                if !finished.contains(target.as_str()) {
                    path.insert(target);
                    open.push((target, 0));
                }
            }
        }
        Ok(())
    }
}

fn pattern_error(pointer: &str, pattern: &str) -> Result<(), SchemaError> {
    match compile_pattern(pattern) {
        Ok(_) => Ok(()),
        Err(reason) => Err(SchemaError::Pattern {
            pointer: pointer.to_owned(),
            pattern: pattern.to_owned(),
            reason,
        }),
    }
}

/// The values of a form, in words and as a check.
fn expected_values(form: KeywordForm) -> (&'static str, fn(&Value) -> bool) {
    match form {
        KeywordForm::Any => ("any value", |_| true),
        KeywordForm::Text | KeywordForm::Dialect => ("text", Value::is_string),
        KeywordForm::Pattern => ("a regular expression", Value::is_string),
        KeywordForm::Reference => ("a reference such as `#/$defs/name`", Value::is_string),
        KeywordForm::Flag => ("`true` or `false`", Value::is_boolean),
        KeywordForm::Types => (
            "`string`, `number`, `integer`, `boolean`, `array`, `object`, `null`, or a list of different ones",
            are_types,
        ),
        KeywordForm::List => ("a list", Value::is_array),
        KeywordForm::Names => ("a list of different names", are_names),
        KeywordForm::NamesByMember => ("an object of lists of different names", |value| {
            let members = value.as_object();
            members.is_some_and(|members| members.values().all(are_names))
        }),
        KeywordForm::Count => ("a whole number from 0", |value| {
            value.as_u64().is_some() || whole_count(value).is_some()
        }),
        KeywordForm::Number => ("a number", Value::is_number),
        KeywordForm::PositiveNumber => ("a number above 0", |value| {
            value.as_f64().is_some_and(|number| number > 0.0)
        }),
        KeywordForm::Schema => ("a schema: an object, `true` or `false`", |value| {
            value.is_object() || value.is_boolean()
        }),
        KeywordForm::Schemas => ("a list of at least one schema", |value| {
            value.as_array().is_some_and(|list| !list.is_empty())
        }),
        KeywordForm::SchemaByMember | KeywordForm::SchemaByPattern => {
            ("an object of schemas", Value::is_object)
        }
    }
}

/// A count that is written as `2.0`.
pub(super) fn whole_count(value: &Value) -> Option<u64> {
    let number = value.as_number()?;
    let is_whole = ExactDecimal::new(number).is_integer();
    let number = number.as_f64().filter(|it| is_whole && *it >= 0.0)?;
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "it is whole and not negative; larger numbers than fit become the largest"
    )]
    Some(number as u64)
}

fn are_types(value: &Value) -> bool {
    let is_type = |value: &Value| value.as_str().is_some_and(|name| TYPES.contains(&name));
    is_type(value)
        || value.as_array().is_some_and(|names| {
            !names.is_empty() && names.iter().all(is_type) && are_different(names)
        })
}

fn are_names(value: &Value) -> bool {
    let names = value.as_array();
    names.is_some_and(|names| names.iter().all(Value::is_string) && are_different(names))
}

fn are_different(names: &[Value]) -> bool {
    let different: HashSet<_> = names.iter().filter_map(Value::as_str).collect();
    different.len() == names.len()
}
