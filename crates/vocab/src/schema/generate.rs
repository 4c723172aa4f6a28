//! The published schemas as the types describe them.

use std::borrow::Cow;

use schemars::generate::SchemaSettings;
use schemars::transform::RecursiveTransform;
use schemars::{JsonSchema, Schema};
use serde_json::{Value, json};

use super::shapes::choice_tag;
use super::{PUBLISHED, Published, python, typescript};

/// The type that a schema describes.
#[derive(Debug, Clone, Copy)]
pub(super) struct SchemaSource {
    type_name: fn() -> Cow<'static, str>,
    generate: fn() -> Schema,
}

impl SchemaSource {
    pub(super) const fn of<T: JsonSchema>() -> Self {
        Self {
            type_name: T::schema_name,
            generate: generate::<T>,
        }
    }
}

impl Published {
    /// The name of the type that the schema describes, such as `Event`.
    pub fn type_name(&self) -> Cow<'static, str> {
        (self.generator.type_name)()
    }

    /// Generates the schema from its type.
    pub fn generated(&self) -> Value {
        let mut schema = (self.generator.generate)();
        schema.insert(
            "title".to_owned(),
            format!("lapidary.{}/1", self.name).into(),
        );
        schema.to_value()
    }
}

/// The contents of the folder `schemas`: file names and texts.
pub fn files() -> Vec<(String, String)> {
    let types = ("lapidary.d.ts".to_owned(), typescript::declarations());
    let schemas = PUBLISHED.iter().map(|published| {
        let name = format!("{}.schema.json", published.name);
        (name, format!("{:#}\n", published.generated()))
    });
    schemas.chain([types]).collect()
}

/// The types in the packages of our clients: paths from the repository's root, and texts.
pub fn client_files() -> Vec<(&'static str, String)> {
    vec![
        (
            "clients/typescript/src/types.ts",
            typescript::declarations(),
        ),
        (
            "clients/python/src/lapidary_cli/vocabulary.py",
            python::declarations(),
        ),
    ]
}

fn generate<T: JsonSchema>() -> Schema {
    SchemaSettings::draft2020_12()
        .for_serialize()
        .with_transform(RecursiveTransform(absent_instead_of_null))
        .with_transform(RecursiveTransform(open_to_unknown_kinds))
        .with_transform(RecursiveTransform(no_rust_examples))
        .into_generator()
        .into_root_schema_for::<T>()
}

/// An optional field is absent, never null; the generator allows both.
fn absent_instead_of_null(schema: &mut Schema) {
    if let Some(Value::Array(types)) = schema.get_mut("type") {
        types.retain(|name| name != "null");
        if let [only] = types.as_slice() {
            let only = only.clone();
            schema.insert("type".to_owned(), only);
        }
    }
    if let Some(Value::Array(choices)) = schema.get_mut("anyOf") {
        choices.retain(|choice| choice.get("type").is_none_or(|name| name != "null"));
        if let [Value::Object(only)] = choices.as_slice() {
            let only = only.clone();
            schema.remove("anyOf");
            for (key, value) in only {
                schema.insert(key, value);
            }
        }
    }
}

/// Kinds are distinguished by one member with a fixed word. No field of ours stands for it, so it gets its description here. And
/// the choice is left open: a kind that a newer version or an agent adds is kept whole and must not make a line invalid.
fn open_to_unknown_kinds(schema: &mut Schema) {
    let Some(Value::Array(choices)) = schema.get_mut("anyOf") else {
        return;
    };
    let mut known = Vec::new();
    for choice in choices.iter_mut() {
        let Some((name, word)) =
            choice_tag(choice).map(|(name, word)| (name.to_owned(), word.to_owned()))
        else {
            return;
        };
        let origin = match name.as_str() {
            "event" => "Derived",
            "command" => "Upstream",
            _ => "Upstream or derived",
        };
        choice["properties"][&name]["description"] =
            format!("Which kind this is. {origin}.").into();
        known.push((name, word));
    }
    let Some((name, _)) = known.first().cloned() else {
        return;
    };
    let words: Vec<_> = known.into_iter().map(|(_, word)| word).collect();
    choices.push(json!({
        "description": "A kind that this version does not know, kept whole. Readers must accept it.",
        "not": { "type": "object", "properties": { &name: { "enum": words } }, "required": [&name] },
    }));
}

/// A description is the doc comment of a Rust type; the example that may follow is for readers of Rust only.
fn no_rust_examples(schema: &mut Schema) {
    if let Some(Value::String(description)) = schema.get_mut("description")
        && let Some(example) = description.find("\n\n```")
    {
        description.truncate(example);
    }
}
