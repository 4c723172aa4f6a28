//! How a prompt reaches the CLI.
//!
//! Text goes by stdin: no limit on arguments, no hyphen that looks like a flag. A file is named with `-p`, and the agent reads it
//! with its own tool. A positional prompt is never used.

use std::path::{Path, PathBuf};

use super::launch::GeminiLaunch;
use super::problem::LaunchError;

/// How many bytes the CLI reads from its stdin. It drops the rest with a mere warning.
pub const STDIN_LIMIT: usize = 8 * 1024 * 1024;

/// How long the text of `-p` may get. Linux ends at 128 KiB an argument, Windows at 32 KiB for all of them.
const ARGUMENT_LIMIT: usize = 16 * 1024;

/// The prompt for the agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PromptText {
    /// This text.
    Text(String),
    /// The content of this file, which the agent reads itself. A relative path counts from the caller's directory.
    File(PathBuf),
}

/// The way that a prompt takes.
#[derive(Debug)]
pub(super) enum PromptRoute {
    /// By stdin.
    Stdin(String),
    /// As the text of `-p`, behind the text on stdin.
    Argument { text: String, stdin: Option<String> },
    /// By a file that is not there yet.
    TooLong { text: String, notice: String },
}

pub(super) fn route_prompt(
    launch: &GeminiLaunch<'_>,
    notices: &mut Vec<String>,
) -> Result<PromptRoute, LaunchError> {
    let system = launch.config.system_prompt.as_deref();
    if let Some(size) = system.map(str::len).filter(|size| *size > STDIN_LIMIT) {
        return Err(LaunchError::SystemPromptTooLong { size });
    }
    match &launch.prompt {
        PromptText::Text(text) => by_stdin(system, text),
        PromptText::File(path) => {
            let path = launch.dir.join(path);
            check_file(&path)?;
            notices.extend(out_of_reach(launch, &path));
            by_file(system, &path)
        }
    }
}

fn by_stdin(system: Option<&str>, text: &str) -> Result<PromptRoute, LaunchError> {
    if text.trim().is_empty() {
        return Err(LaunchError::EmptyPrompt);
    }
    let whole = prompt_with_system(system, text);
    if whole.len() <= STDIN_LIMIT {
        return Ok(PromptRoute::Stdin(whole));
    }
    let notice = format!(
        "the prompt has {} bytes, more than the {STDIN_LIMIT} that Gemini CLI reads: it is passed as a file, which the agent \
         reads in parts",
        whole.len()
    );
    let text = text.to_owned();
    Ok(PromptRoute::TooLong { text, notice })
}

/// A system prompt that is too long for an argument comes by stdin, which the CLI puts in front of the argument.
fn by_file(system: Option<&str>, path: &Path) -> Result<PromptRoute, LaunchError> {
    let Some(name) = path.to_str() else {
        return Err(unusable_file(path, "its name is not UTF-8"));
    };
    let order = format!("Process the prompt in {name}");
    let text = prompt_with_system(system, &order);
    Ok(match system {
        Some(system) if text.len() > ARGUMENT_LIMIT => PromptRoute::Argument {
            text: order,
            stdin: Some(system.to_owned()),
        },
        _ => PromptRoute::Argument { text, stdin: None },
    })
}

/// The system prompt, a blank line, the prompt.
fn prompt_with_system(system: Option<&str>, prompt: &str) -> String {
    match system {
        Some(system) => format!("{system}\n\n{prompt}"),
        None => prompt.to_owned(),
    }
}

fn check_file(path: &Path) -> Result<(), LaunchError> {
    let about = path
        .metadata()
        .map_err(|error| unusable_file(path, &error.to_string()))?;
    if about.is_dir() {
        return Err(unusable_file(path, "it is a directory"));
    }
    if !about.is_file() {
        return Err(unusable_file(path, "it is not a regular file"));
    }
    if about.len() == 0 {
        return Err(LaunchError::EmptyPrompt);
    }
    Ok(())
}

fn unusable_file(path: &Path, reason: &str) -> LaunchError {
    LaunchError::PromptFile {
        path: path.to_owned(),
        reason: reason.to_owned(),
    }
}

/// The agent's own tool reads the file, and refuses files outside its workspace.
fn out_of_reach(launch: &GeminiLaunch<'_>, path: &Path) -> Option<String> {
    let workspace = launch.config.working_dir_in(launch.dir);
    let included = launch.config.include_directories.iter().flatten();
    let included = included.map(|dir| launch.dir.join(dir));
    let real = path.canonicalize().ok()?;
    let inside = [workspace]
        .into_iter()
        .chain(included)
        .filter_map(|dir| dir.canonicalize().ok())
        .any(|dir| real.starts_with(dir));
    (!inside).then(|| {
        format!(
            "{} lies outside the workspace, where Gemini CLI refuses to read files: add its directory to \
             include_directories, or pass the text itself",
            path.display()
        )
    })
}
