//! Why a file is no agent definition, in Gemini CLI's words.

use std::fmt;
use std::path::PathBuf;

use crate::file::ReadError;
use crate::notice::{FileNotice, TextPosition};
use crate::yaml::YamlError;

/// A file, or a directory, that could not be loaded.
#[derive(Debug, thiserror::Error)]
#[error("Failed to load agent from {}: {problem}", .path.display())]
pub struct AgentLoadError {
    /// The file or directory.
    pub path: PathBuf,
    /// The problem with it.
    pub problem: LoadProblem,
}

/// A reason why an agent file cannot be loaded.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LoadProblem {
    /// The directory cannot be listed.
    #[error("Could not list directory: {0}")]
    Directory(std::io::Error),
    /// The file cannot be read.
    #[error("Could not read file: it {0}")]
    Unreadable(ReadError),
    /// It does not begin with front matter.
    #[error(
        "Invalid agent definition: Missing mandatory YAML frontmatter. Agent Markdown files MUST start with YAML frontmatter enclosed in triple-dashes \"---\" (e.g., ---\nname: my-agent\n---)."
    )]
    NoFrontmatter,
    /// The front matter is not YAML.
    #[error("YAML frontmatter parsing failed: {0}")]
    Yaml(YamlError),
    /// The front matter is YAML, but no definition.
    #[error("Validation failed: {context}:\n{}", issue_lines(.issues))]
    Invalid {
        /// The name of the expected definition.
        context: &'static str,
        /// The mismatches, in the order of Gemini CLI.
        issues: Vec<FrontmatterIssue>,
    },
}

/// One thing that is wrong with front matter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FrontmatterIssue {
    /// Where in the file: the key, else the nearest one above it.
    pub place: TextPosition,
    /// The kind of agent that it was read as, where both kinds were tried.
    pub label: Option<&'static str>,
    /// The key, with dots between the steps; empty for the whole.
    pub path: String,
    /// The message.
    pub message: String,
}

impl fmt::Display for FrontmatterIssue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(label) = self.label {
            write!(f, "({label}) ")?;
        }
        if !self.path.is_empty() {
            write!(f, "{}: ", self.path)?;
        }
        f.write_str(&self.message)
    }
}

fn issue_lines(issues: &[FrontmatterIssue]) -> String {
    let lines = issues.iter().map(ToString::to_string);
    lines.collect::<Vec<_>>().join("\n")
}

impl AgentLoadError {
    /// The same as one notice for each thing that is wrong, with its place.
    pub fn notices(&self) -> Vec<FileNotice> {
        let notice = |place, sentence| FileNotice {
            path: self.path.clone(),
            place,
            key: None,
            sentence,
        };
        match &self.problem {
            LoadProblem::Directory(_) | LoadProblem::Unreadable(_) => {
                vec![notice(None, self.problem.to_string())]
            }
            LoadProblem::NoFrontmatter => {
                let sentence =
                    "does not begin with a line `---`, front matter and another line `---`";
                vec![notice(
                    Some(TextPosition { line: 1, column: 1 }),
                    sentence.to_owned(),
                )]
            }
            LoadProblem::Yaml(error) => {
                let (line, column) = (error.line, error.column);
                let place = in_file(TextPosition { line, column });
                vec![notice(
                    Some(place),
                    format!("is not YAML: {}", error.problem),
                )]
            }
            LoadProblem::Invalid { issues, .. } => {
                let each = issues.iter();
                each.map(|issue| notice(Some(issue.place), issue.to_string()))
                    .collect()
            }
        }
    }
}

/// Front matter begins on the second line of its file.
pub(super) fn in_file(place: TextPosition) -> TextPosition {
    TextPosition {
        line: place.line + 1,
        ..place
    }
}
