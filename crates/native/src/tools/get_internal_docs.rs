//! `get_internal_docs`: the documentation that this program carries.

use serde_json::{Map, Value, json};

use super::{Arguments, ReadingCall, failed_output, reading_preview, tool_declaration};
use crate::tool::{CallKind, PreparedCall, Tool, ToolDeclaration, ToolError, ToolOutput};

macro_rules! embedded {
    ($($name:literal),* $(,)?) => {
        [$(($name, include_str!(concat!("../../docs/", $name)))),*]
    };
}

/// Every page of `docs/` for users, by name. `STYLE.md` and `specifications.md` are for contributors. A link in this crate leads there:
/// a published package has its own copy.
const PAGES: [(&str, &str); 24] = embedded![
    "GLOSSARY.md",
    "README.md",
    "agents.md",
    "benchmarks.md",
    "clients.md",
    "configuration.md",
    "confinement.md",
    "connect.md",
    "editors.md",
    "fleet.md",
    "hooks-any-agent.md",
    "hooks.md",
    "mcp.md",
    "outcomes.md",
    "output-schema.md",
    "permissions.md",
    "replay.md",
    "runs.md",
    "security.md",
    "serve.md",
    "sessions.md",
    "settings.md",
    "skills.md",
    "vault.md",
];

/// Reads the documentation.
#[derive(Debug)]
pub struct GetInternalDocsTool {
    declaration: ToolDeclaration,
}

impl GetInternalDocsTool {
    /// The tool.
    pub fn new() -> Self {
        let properties = json!({
            "path": {
                "type": "string",
                "description": "The page to read, such as `sessions.md`. Without it, the pages are listed.",
            },
        });
        let description = "Reads a page of Lapidary's documentation, or lists the pages.";
        Self {
            declaration: tool_declaration("get_internal_docs", description, &properties, &[]),
        }
    }
}

impl Default for GetInternalDocsTool {
    fn default() -> Self {
        Self::new()
    }
}

impl Tool for GetInternalDocsTool {
    fn declaration(&self) -> &ToolDeclaration {
        &self.declaration
    }

    fn prepare(&self, arguments: &Map<String, Value>) -> Result<Box<dyn PreparedCall>, ToolError> {
        let arguments = Arguments::check(&self.declaration, arguments)?;
        let path = arguments.optional_text("path").map(str::to_owned);
        let title = match &path {
            Some(path) => format!("Read documentation: {path}"),
            None => "List documentation".to_owned(),
        };
        Ok(Box::new(ReadingCall {
            preview: reading_preview(CallKind::Read, title, Vec::new()),
            work: move |_: &_| path.map_or_else(page_list, |path| page_output(&path)),
        }))
    }
}

fn page_list() -> ToolOutput {
    let names: Vec<_> = PAGES.iter().map(|(name, _)| format!("- {name}")).collect();
    let text = format!(
        "Available Lapidary documentation files:\n\n{}",
        names.join("\n")
    );
    let mut output = ToolOutput::from_text(text);
    output.display = Some(format!("Found {} documentation files.", PAGES.len()));
    output
}

fn page_output(path: &str) -> ToolOutput {
    let name = path.trim_start_matches("./");
    if let Some((_, text)) = PAGES.iter().find(|(own, _)| *own == name) {
        let mut output = ToolOutput::from_text(*text);
        output.display = Some(format!("Successfully read documentation: {path}"));
        return output;
    }
    let why = if path.starts_with('/') || path.split('/').any(|part| part == "..") {
        "Access denied: Requested path is outside the documentation directory.".to_owned()
    } else {
        format!("ENOENT: no such file or directory, open '{path}'")
    };
    failed_output(
        "execution_failed",
        why.clone(),
        format!("Failed to access documentation: {why}"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_page_of_the_documentation_is_embedded() {
        let docs = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
        let names = std::fs::read_dir(docs)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let mut names: Vec<_> = names
            .filter(|name| {
                std::path::Path::new(name)
                    .extension()
                    .is_some_and(|own| own == "md")
            })
            .filter(|name| !["STYLE.md", "specifications.md"].contains(&name.as_str()))
            .collect();
        names.sort();
        assert_eq!(PAGES.map(|(name, _)| name.to_owned()).to_vec(), names);
    }

    #[test]
    fn a_page_outside_the_documentation_is_refused() {
        assert!(
            page_output("../Cargo.toml")
                .text
                .starts_with("Access denied")
        );
        assert!(page_output("nothing.md").text.starts_with("ENOENT"));
        assert!(page_output("skills.md").error.is_none());
    }
}
