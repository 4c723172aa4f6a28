//! JSON Schemas of everything we print or read.

use schemars::generate::SchemaSettings;
use schemars::transform::RecursiveTransform;
use schemars::{JsonSchema, Schema};
use serde_json::Value;

/// A published schema.
#[derive(Debug, Clone, Copy)]
pub struct Published {
    /// The name that `lapidary schema NAME` takes, and the file's stem.
    pub name: &'static str,
    /// What it describes, in one line.
    pub about: &'static str,
    generate: fn() -> Schema,
}

/// Every published schema.
pub const PUBLISHED: &[Published] = &[
    Published {
        name: "events",
        about: "one line of `--format events`",
        generate: generate::<crate::Event>,
    },
    Published {
        name: "messages",
        about: "one line of `--format messages`",
        generate: generate::<crate::Message>,
    },
    Published {
        name: "runtime",
        about: "one line of `--format runtime`",
        generate: generate::<crate::RuntimeEvent>,
    },
    Published {
        name: "result",
        about: "the object that `--format result` prints",
        generate: generate::<crate::RunResult>,
    },
    Published {
        name: "commands",
        about: "one line that a front end sends in",
        generate: generate::<crate::command::Command>,
    },
];

impl Published {
    /// The schema called `name`.
    pub fn named(name: &str) -> Option<&'static Self> {
        PUBLISHED.iter().find(|schema| schema.name == name)
    }

    /// The JSON Schema (draft 2020-12).
    pub fn schema(&self) -> Value {
        let mut schema = (self.generate)();
        schema.insert(
            "title".to_owned(),
            format!("lapidary.{}/1", self.name).into(),
        );
        schema.to_value()
    }
}

fn generate<T: JsonSchema>() -> Schema {
    SchemaSettings::draft2020_12()
        .for_serialize()
        .with_transform(RecursiveTransform(absent_instead_of_null))
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
