//! TypeScript types, made from the JSON Schemas.
//!
//! Each kind of event, block and command is an interface of its own, with its discriminator as a literal and the fields that
//! all of them share inherited. So editors narrow a union by its discriminator and have a name to show for the narrowed type.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use serde_json::Value;

use super::shapes::{
    UnionKind, base_name, has_shared_fields, is_required, public_name, published_types,
    reference_name, schema_description, union_choices, union_kinds,
};

const HEADER: &str = "\
// What Lapidary prints and reads, as TypeScript types. Made from the JSON Schemas by `cargo xtask schemas`.
//
// Unions list the kinds that this version knows. A newer version may add kinds, words and fields: keep a default branch.
";

/// A union longer than this is written one choice to a line.
const WIDTH: usize = 100;

/// One module with the types of every published schema.
pub fn declarations() -> String {
    let schemas = published_types();
    let mut module = Module::new(union_kinds(&schemas));
    for (name, schema) in &schemas {
        module.declare_root(name, schema);
        for (name, definition) in schema["$defs"].as_object().into_iter().flatten() {
            module.declare(name, definition);
        }
    }
    module.text
}

#[derive(Debug)]
struct Module {
    text: String,
    declared: BTreeSet<String>,
    kinds: BTreeMap<String, UnionKind>,
}

impl Module {
    fn new(kinds: BTreeMap<String, UnionKind>) -> Self {
        Self {
            text: HEADER.to_owned(),
            declared: BTreeSet::new(),
            kinds,
        }
    }

    /// The type of a whole line. A union's own properties become the interface that its kinds extend.
    fn declare_root(&mut self, name: &str, schema: &Value) {
        if has_shared_fields(schema) {
            let base = base_name(name);
            self.text.push('\n');
            self.doc(&format!("What every `{}` carries.", public_name(name)), "");
            self.interface(&base, schema);
        }
        self.declare(name, schema);
    }

    fn declare(&mut self, name: &str, schema: &Value) {
        let name = public_name(name);
        if !self.declared.insert(name.to_owned()) {
            return;
        }
        self.text.push('\n');
        self.doc(schema_description(schema), "");
        if union_choices(schema).next().is_none() && schema.get("properties").is_some() {
            self.interface(name, schema);
        } else {
            let mut alternatives = format!(" {}", type_of(schema));
            if alternatives.len() > WIDTH {
                alternatives = format!(" |{alternatives}").replace(" | ", "\n  | ");
            }
            let _ = writeln!(self.text, "export type {name} ={alternatives};");
        }
    }

    fn interface(&mut self, name: &str, schema: &Value) {
        let kind = self.kinds.get(name).cloned();
        let base = kind.as_ref().and_then(|kind| kind.base.as_deref());
        let extends = base.map_or_else(String::new, |base| format!(" extends {base}"));
        let _ = writeln!(self.text, "export interface {name}{extends} {{");
        if let Some(UnionKind { tag, word, .. }) = &kind {
            let _ = writeln!(self.text, "  {tag}: {};", quoted_text(word));
        }
        for (property, value) in schema["properties"].as_object().into_iter().flatten() {
            self.doc(schema_description(value), "  ");
            let mark = if is_required(schema, property) {
                ""
            } else {
                "?"
            };
            let _ = writeln!(
                self.text,
                "  {}{mark}: {};",
                property_key(property),
                type_of(value)
            );
        }
        self.text.push_str("}\n");
    }

    fn doc(&mut self, description: &str, indent: &str) {
        let description = description.replace("*/", "*\\/");
        let lines: Vec<_> = description.lines().collect();
        match lines.as_slice() {
            [] => {}
            [line] => {
                let _ = writeln!(self.text, "{indent}/** {line} */");
            }
            lines => {
                let _ = writeln!(self.text, "{indent}/**");
                for line in lines {
                    let _ = writeln!(self.text, "{indent} * {line}");
                }
                let _ = writeln!(self.text, "{indent} */");
            }
        }
    }
}

/// The type that a schema stands for, where no name is given to it.
fn type_of(schema: &Value) -> String {
    if let Some(name) = reference_name(schema) {
        return name.to_owned();
    }
    let alternatives: Vec<_> = union_choices(schema).map(type_of).collect();
    if let [words, rest] = alternatives.as_slice()
        && rest == "string"
    {
        // Words that editors offer, without refusing others: a plain `string` beside them would swallow them.
        return format!("{words} | (string & {{}})");
    }
    if !alternatives.is_empty() {
        return alternatives.join(" | ");
    }
    if let Some(words) = schema["enum"].as_array() {
        let words: Vec<_> = words.iter().map(Value::to_string).collect();
        return words.join(" | ");
    }
    match schema["type"].as_str() {
        Some("integer" | "number") => "number".to_owned(),
        Some("array") => list_of(&type_of(&schema["items"])),
        Some("object") => format!(
            "Record<string, {}>",
            type_of(&schema["additionalProperties"])
        ),
        Some(name) => name.to_owned(),
        None => "unknown".to_owned(),
    }
}

fn list_of(item: &str) -> String {
    if item.contains(' ') {
        format!("({item})[]")
    } else {
        format!("{item}[]")
    }
}

fn property_key(name: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '_';
    if name.chars().all(plain) && !name.starts_with(|c: char| c.is_ascii_digit()) {
        name.to_owned()
    } else {
        quoted_text(name)
    }
}

fn quoted_text(text: &str) -> String {
    Value::from(text).to_string()
}
