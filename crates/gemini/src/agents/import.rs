//! Agents of other formats, converted into Gemini CLI's: Claude's Markdown files, and the TOML of Gemini CLI 0.24.
//!
//! A conversion never widens an agent's permissions: a tool that cannot be named exactly is dropped, and if none is left the
//! agent has none.

mod claude;
mod legacy_toml;

use std::path::Path;

use super::{AgentLoadError, parse_agents};

pub(super) use claude::claude_tool;
pub use claude::import_claude;
pub use legacy_toml::import_toml;

/// A converted agent file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImportedAgent {
    /// The agent's name, which its file is called after.
    pub name: String,
    /// The text of the file.
    pub text: String,
    /// The dropped and changed parts, a sentence each.
    pub dropped: Vec<String>,
}

/// Why a file cannot be converted.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ImportError {
    /// It has no front matter.
    #[error("does not begin with front matter between two lines `---`")]
    NoFrontmatter,
    /// It is not TOML.
    #[error("is not TOML: {0}")]
    Toml(#[from] toml::de::Error),
    /// A key is missing or of another type.
    #[error("has no `{0}`, or not as a text")]
    Missing(&'static str),
    /// The converted file would not load.
    #[error("cannot be converted: {0}")]
    Invalid(AgentLoadError),
}

/// The text of an agent file, as it is put together.
struct Markdown {
    lines: Vec<String>,
}

impl Markdown {
    fn new() -> Self {
        Self { lines: Vec::new() }
    }

    /// A key with a text. JSON's quotes are YAML's, too.
    fn add_text(&mut self, key: &str, value: &str) {
        self.lines.push(format!("{key}: {}", quoted_text(value)));
    }

    fn add_raw(&mut self, key: &str, value: impl std::fmt::Display) {
        self.lines.push(format!("{key}: {value}"));
    }

    fn add_list(&mut self, key: &str, values: &[String]) {
        let values: Vec<_> = values.iter().map(|value| quoted_text(value)).collect();
        self.lines.push(format!("{key}: [{}]", values.join(", ")));
    }

    /// The file, if it loads.
    fn finish(
        self,
        name: &str,
        body: &str,
        dropped: Vec<String>,
    ) -> Result<ImportedAgent, ImportError> {
        let text = format!("---\n{}\n---\n\n{}\n", self.lines.join("\n"), body.trim());
        parse_agents(Path::new(name), &text).map_err(ImportError::Invalid)?;
        Ok(ImportedAgent {
            name: name.to_owned(),
            text,
            dropped,
        })
    }
}

fn quoted_text(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// A name that fits the format.
fn agent_slug(name: &str) -> String {
    let fits = |letter: char| {
        letter.is_ascii_lowercase() || letter.is_ascii_digit() || "-_".contains(letter)
    };
    let lower = name.to_lowercase();
    let mapped: String = lower
        .chars()
        .map(|letter| if fits(letter) { letter } else { '-' })
        .collect();
    mapped.trim_matches('-').to_owned()
}

/// Inputs that a prompt seems to ask for: Gemini CLI fills in each `${name}` and fails where there is none.
fn template_remarks(body: &str) -> Vec<String> {
    let known = ["query"].into_iter().chain(super::RUNTIME_INPUTS);
    let known: Vec<_> = known.collect();
    let names = super::template_names(body).into_iter();
    let unknown = names.filter(|name| !known.contains(name));
    unknown.map(|name| format!("the prompt has `${{{name}}}`, which is read as an input: change it before the agent runs")).collect()
}
