//! The parts of a JSON Schema that the types of other languages are made of.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde_json::Value;

use super::PUBLISHED;

/// Names that a language's own globals would clash with, and ours: browsers have an `Event` and a `TextEvent`, and a module that forgets
/// its import would be checked against those.
const RENAMED: [(&str, &str); 2] = [("Event", "AgentEvent"), ("TextEvent", "AgentText")];

/// Every published schema, with the name of its type.
pub(super) fn published_types() -> Vec<(Cow<'static, str>, Value)> {
    let schemas = PUBLISHED.iter();
    schemas
        .map(|published| (published.type_name(), published.generated()))
        .collect()
}

/// A kind of a union: its discriminator, and the type whose fields the whole union shares.
#[derive(Debug, Clone)]
pub(super) struct UnionKind {
    pub(super) tag: String,
    pub(super) word: String,
    pub(super) base: Option<String>,
}

/// The definitions that are kinds of a union, by name.
pub(super) fn union_kinds(schemas: &[(Cow<'static, str>, Value)]) -> BTreeMap<String, UnionKind> {
    let mut kinds = BTreeMap::new();
    for (root, schema) in schemas {
        let definitions = schema["$defs"].as_object().into_iter().flatten();
        for (_, definition) in definitions {
            collect_choices(definition, None, &mut kinds);
        }
        let base = schema.get("properties").map(|_| base_name(root));
        collect_choices(schema, base.as_deref(), &mut kinds);
    }
    kinds
}

fn collect_choices(union: &Value, base: Option<&str>, kinds: &mut BTreeMap<String, UnionKind>) {
    for choice in union_choices(union) {
        if let (Some(name), Some((tag, word))) = (reference_name(choice), choice_tag(choice)) {
            let kind = UnionKind {
                tag: tag.to_owned(),
                word: word.to_owned(),
                base: base.map(str::to_owned),
            };
            kinds.insert(name.to_owned(), kind);
        }
    }
}

/// The name of a type in other languages.
pub(super) fn public_name(name: &str) -> &str {
    let renamed = RENAMED.iter().find(|(ours, _)| *ours == name);
    renamed.map_or(name, |(_, theirs)| theirs)
}

pub(super) fn base_name(root: &str) -> String {
    format!("{}Base", public_name(root))
}

/// Whether a schema is a union whose kinds share fields.
pub(super) fn has_shared_fields(schema: &Value) -> bool {
    union_choices(schema).next().is_some() && schema.get("properties").is_some()
}

/// The known choices of a union. The one that admits unknown kinds is left out: a union with it could not be narrowed.
pub(super) fn union_choices(schema: &Value) -> impl Iterator<Item = &Value> {
    let choices = schema["anyOf"].as_array().into_iter().flatten();
    choices.filter(|choice| choice.get("not").is_none())
}

/// The name of the type that a schema refers to.
pub(super) fn reference_name(schema: &Value) -> Option<&str> {
    let name = schema.get("$ref")?.as_str()?.strip_prefix("#/$defs/")?;
    Some(public_name(name))
}

pub(super) fn schema_description(schema: &Value) -> &str {
    schema["description"].as_str().unwrap_or_default()
}

pub(super) fn is_required(schema: &Value, property: &str) -> bool {
    let required = schema["required"].as_array();
    required.is_some_and(|names| names.iter().any(|name| name == property))
}

/// The member that tells a choice from the others, and its word.
pub(super) fn choice_tag(choice: &Value) -> Option<(&str, &str)> {
    let properties = choice.get("properties")?.as_object()?;
    properties.iter().find_map(|(name, value)| {
        let word = value.get("const")?.as_str()?;
        Some((name.as_str(), word))
    })
}
