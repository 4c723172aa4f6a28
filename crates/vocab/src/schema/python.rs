//! Python types, made from the JSON Schemas: a `TypedDict` per object.
//!
//! Python 3.9 has no way to mark one key as optional, so the required keys of a type are in a class of their own (`_Name`), which the
//! class with the optional ones extends.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use serde_json::Value;

use super::shapes::{
    UnionKind, base_name, has_shared_fields, is_required, public_name, published_types,
    reference_name, schema_description, union_choices, union_kinds,
};

const HEADER: &str = "\
# What Lapidary prints and reads, as Python types. Made from the JSON Schemas by `cargo xtask schemas`.
#
# Unions list the kinds that this version knows. A newer version may add kinds, words and keys: keep an `else` branch.

from __future__ import annotations

from typing import Any, Dict, List, Literal, TypedDict, Union
";

/// One module with the types of every published schema.
pub fn declarations() -> String {
    let schemas = published_types();
    let mut module = Module {
        kinds: union_kinds(&schemas),
        ..Module::default()
    };
    for (name, schema) in &schemas {
        if has_shared_fields(schema) {
            let about = format!("What every `{}` carries.", public_name(name));
            module.class(&base_name(name), &about, schema);
        }
        module.declare(name, schema);
        for (name, definition) in schema["$defs"].as_object().into_iter().flatten() {
            module.declare(name, definition);
        }
    }
    let Module {
        words,
        classes,
        unions,
        aliases,
        ..
    } = module;
    format!("{HEADER}{words}{classes}\n{unions}{aliases}")
}

/// The declarations, in the order in which Python can evaluate them: annotations are not evaluated, aliases and base classes are.
#[derive(Debug, Default)]
struct Module {
    words: String,
    classes: String,
    unions: String,
    /// Aliases that may refer to a union.
    aliases: String,
    declared: BTreeSet<String>,
    kinds: BTreeMap<String, UnionKind>,
}

impl Module {
    fn declare(&mut self, name: &str, schema: &Value) {
        let name = public_name(name);
        if !self.declared.insert(name.to_owned()) {
            return;
        }
        if union_choices(schema).next().is_none() && schema.get("properties").is_some() {
            self.class(name, schema_description(schema), schema);
            return;
        }
        let is_union = union_choices(schema).any(|choice| reference_name(choice).is_some());
        let text = if is_union {
            &mut self.unions
        } else if schema.to_string().contains("\"$ref\"") {
            &mut self.aliases
        } else {
            &mut self.words
        };
        text.push('\n');
        comment(text, schema_description(schema), "");
        let _ = writeln!(text, "{name} = {}", type_of(schema));
    }

    fn class(&mut self, name: &str, about: &str, schema: &Value) {
        let kind = self.kinds.get(name).cloned();
        let mut required = String::new();
        let mut optional = String::new();
        if let Some(UnionKind { tag, word, .. }) = &kind {
            let _ = writeln!(
                required,
                "    {tag}: Literal[{}]",
                Value::from(word.as_str())
            );
        }
        for (property, value) in schema["properties"].as_object().into_iter().flatten() {
            let fields = if is_required(schema, property) {
                &mut required
            } else {
                &mut optional
            };
            comment(fields, schema_description(value), "    ");
            let _ = writeln!(fields, "    {property}: {}", type_of(value));
        }
        let base = kind.and_then(|kind| kind.base);
        let mut base = base.unwrap_or_else(|| "TypedDict".to_owned());
        let about = format!("    \"\"\"{}\"\"\"\n", about.replace('\\', "\\\\"));
        if !required.is_empty() && !optional.is_empty() {
            let _ = write!(self.classes, "\n\nclass _{name}({base}):\n{required}");
            required.clear();
            base = format!("_{name}");
        }
        let (total, fields) = if required.is_empty() {
            (", total=False", optional)
        } else {
            ("", required)
        };
        let _ = write!(
            self.classes,
            "\n\nclass {name}({base}{total}):\n{about}{fields}"
        );
    }
}

fn comment(text: &mut String, description: &str, indent: &str) {
    for line in description.lines() {
        let line = format!("{indent}# {line}");
        let _ = writeln!(text, "{}", line.trim_end());
    }
}

/// The type that a schema stands for. Names of Python 3.8's `typing`: an alias is evaluated.
fn type_of(schema: &Value) -> String {
    if let Some(name) = reference_name(schema) {
        return name.to_owned();
    }
    let alternatives: Vec<_> = union_choices(schema).map(type_of).collect();
    if !alternatives.is_empty() {
        return format!("Union[{}]", alternatives.join(", "));
    }
    if let Some(words) = schema["enum"].as_array() {
        let words: Vec<_> = words.iter().map(Value::to_string).collect();
        return format!("Literal[{}]", words.join(", "));
    }
    match schema["type"].as_str() {
        Some("integer") => "int".to_owned(),
        Some("number") => "float".to_owned(),
        Some("string") => "str".to_owned(),
        Some("boolean") => "bool".to_owned(),
        Some("null") => "None".to_owned(),
        Some("array") => format!("List[{}]", type_of(&schema["items"])),
        Some("object") => format!("Dict[str, {}]", type_of(&schema["additionalProperties"])),
        _ => "Any".to_owned(),
    }
}
