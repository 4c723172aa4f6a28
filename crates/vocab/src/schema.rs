//! JSON Schemas of everything we print or read.

pub mod typescript;

use std::borrow::Cow;

use schemars::generate::SchemaSettings;
use schemars::transform::RecursiveTransform;
use schemars::{JsonSchema, Schema};
use serde_json::{Value, json};

/// A published schema.
#[derive(Debug, Clone, Copy)]
pub struct Published {
    /// The name that `lapidary schema NAME` takes, and the file's stem.
    pub name: &'static str,
    /// What it describes, in one line.
    pub about: &'static str,
    root: fn() -> Cow<'static, str>,
    generate: fn() -> Schema,
}

/// Every published schema.
pub const PUBLISHED: &[Published] = &[
    published::<crate::Event>("events", "one line of `--format events`"),
    published::<crate::Message>("messages", "one line of `--format messages`"),
    published::<crate::RuntimeEvent>("runtime", "one line of `--format runtime`"),
    published::<crate::RunResult>("result", "the object that `--format result` prints"),
    published::<crate::agents::SubagentActivityEvent>(
        "activity",
        "one line of `lapidary agents run --format activity`",
    ),
    published::<crate::command::CommandLine>(
        "commands",
        "one line that a front end sends to `connect`",
    ),
    published::<crate::recording::Recording>("recording", "`run.json` of a recorded run"),
    published::<crate::runs::RunList>("runs", "what `lapidary runs list` prints"),
    published::<crate::runs::RunRemoval>(
        "runs-removal",
        "what `lapidary runs delete` and `lapidary runs prune` print",
    ),
    published::<crate::Capabilities>("capabilities", "one line of `lapidary capabilities`"),
    published::<crate::Checkup>("doctor", "what `lapidary doctor` prints"),
    published::<crate::PolicyReport>("policy", "what `lapidary policy test` prints"),
    published::<crate::policy_report::CompiledPolicy>(
        "compiled-policy",
        "what `lapidary policy compile` prints",
    ),
    published::<crate::session::SessionList>("sessions", "what `lapidary sessions list` prints"),
    published::<crate::session::SearchResult>("search", "what `lapidary sessions search` prints"),
    published::<crate::session_document::SessionDocument>(
        "session",
        "what `lapidary sessions export --to json` writes",
    ),
    published::<crate::removal::Removal>(
        "removal",
        "what `lapidary sessions delete` and `lapidary sessions prune` print",
    ),
    published::<crate::stats::Stats>("stats", "what `lapidary sessions stats` prints"),
    published::<crate::vault::VaultReport>("vault", "what `lapidary sessions vault` prints"),
    published::<crate::vault::RecoverReport>("recover", "what `lapidary sessions recover` prints"),
    published::<crate::skills::SkillList>("skills", "what `lapidary skills list` prints"),
    published::<crate::skills::SkillCheck>("skills-check", "what `lapidary skills check` prints"),
    published::<crate::skills::SkillChange>(
        "skills-change",
        "what `lapidary skills enable`, `disable`, `install`, `link` and `uninstall` print with `--format json`",
    ),
    published::<crate::hooks::HookList>("hooks", "what `lapidary hooks list` prints"),
    published::<crate::hooks::HookCheck>("hooks-check", "what `lapidary hooks check` prints"),
    published::<crate::hooks::HookChange>(
        "hooks-change",
        "what `lapidary hooks enable`, `disable` and `migrate` print",
    ),
    published::<crate::hook_test::HookTest>("hooks-test", "what `lapidary hooks test` prints"),
    published::<crate::agents::AgentList>("agents", "what `lapidary agents list` prints"),
    published::<crate::agents::AgentShown>("agent", "what `lapidary agents show` prints"),
    published::<crate::agents::AgentCheckReport>(
        "agents-check",
        "what `lapidary agents check` prints",
    ),
    published::<crate::agents::AgentChange>(
        "agents-change",
        "what `lapidary agents enable`, `disable`, `ack` and `import` print with `--format json`",
    ),
    published::<crate::config_report::ConfigShown>("config", "what `lapidary config show` prints"),
    published::<crate::config_report::ConfigCheck>(
        "config-check",
        "what `lapidary config check` prints",
    ),
];

const fn published<T: JsonSchema>(name: &'static str, about: &'static str) -> Published {
    Published {
        name,
        about,
        root: T::schema_name,
        generate: generate::<T>,
    }
}

impl Published {
    /// The schema called `name`.
    pub fn named(name: &str) -> Option<&'static Self> {
        PUBLISHED.iter().find(|schema| schema.name == name)
    }

    /// The name of the type that the schema describes, such as `Event`.
    pub fn type_name(&self) -> Cow<'static, str> {
        (self.root)()
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

    /// The JSON Schema as text, indented, with a newline at its end.
    pub fn text(&self) -> String {
        format!("{:#}\n", self.schema())
    }
}

/// The contents of the folder `schemas`: file names and texts.
pub fn files() -> Vec<(String, String)> {
    let types = ("lapidary.d.ts".to_owned(), typescript::declarations());
    let schemas = PUBLISHED
        .iter()
        .map(|schema| (format!("{}.schema.json", schema.name), schema.text()));
    schemas.chain([types]).collect()
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

/// Kinds are told apart by one member with a fixed word. No field of ours stands for it, so it gets its description here. And
/// the choice is left open: a kind that a newer version or an agent adds is kept whole and must not make a line invalid.
fn open_to_unknown_kinds(schema: &mut Schema) {
    let Some(Value::Array(choices)) = schema.get_mut("anyOf") else {
        return;
    };
    let mut known = Vec::new();
    for choice in choices.iter_mut() {
        let Some((name, word)) = tag(choice).map(|(name, word)| (name.to_owned(), word.to_owned()))
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

/// The member that tells a choice from the others, and its word.
pub(crate) fn tag(choice: &Value) -> Option<(&str, &str)> {
    let properties = choice.get("properties")?.as_object()?;
    properties.iter().find_map(|(name, value)| {
        let word = value.get("const")?.as_str()?;
        Some((name.as_str(), word))
    })
}

/// A description is the doc comment of a Rust type; the example that may follow is for readers of Rust only.
fn no_rust_examples(schema: &mut Schema) {
    if let Some(Value::String(description)) = schema.get_mut("description")
        && let Some(example) = description.find("\n\n```")
    {
        description.truncate(example);
    }
}
