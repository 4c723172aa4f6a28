//! Directories that a definition adds to the workspace, for the tools of its agent alone.

use std::borrow::Cow;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use lapidary_gemini::agents::LocalAgentDefinition;

use super::AgentError;
use crate::tool::Tool;
use crate::workspace::{Workspace, followed_path, lexical};

/// The caller's tools with the directories of the definition in reach. Tools that share a workspace share the wider one, so that a
/// skill which one of them activates can be read by the others.
pub(super) fn scoped_tools<'a>(
    definition: &LocalAgentDefinition,
    tools: &'a [Arc<dyn Tool>],
) -> Result<Cow<'a, [Arc<dyn Tool>]>, AgentError> {
    let directories = &definition.workspace_directories;
    if directories.is_empty() {
        return Ok(Cow::Borrowed(tools));
    }
    for directory in directories {
        check_directory(directory).map_err(|error| AgentError::Directory {
            agent: definition.name.clone(),
            directory: directory.display().to_string(),
            reason: error.to_string(),
        })?;
    }
    let mut known: Vec<(Arc<Workspace>, Arc<Workspace>)> = Vec::new();
    let mut scope = |workspace: &Arc<Workspace>| {
        let found = known.iter().find(|(own, _)| Arc::ptr_eq(own, workspace));
        if let Some((_, wider)) = found {
            return Arc::clone(wider);
        }
        let wider = wider_workspace(workspace, directories);
        known.push((Arc::clone(workspace), Arc::clone(&wider)));
        wider
    };
    let scoped = tools.iter().map(|tool| {
        let scoped = tool.in_scope(&mut scope);
        scoped.unwrap_or_else(|| Arc::clone(tool))
    });
    Ok(Cow::Owned(scoped.collect()))
}

/// The root directory contains every file, and a link may lead to it.
fn check_directory(directory: &Path) -> io::Result<()> {
    if !directory.is_absolute() {
        return Err(io::Error::other("it is not an absolute path"));
    }
    let path = followed_path(&lexical(directory))?;
    if path.parent().is_none() {
        return Err(io::Error::other("it is the root directory"));
    }
    lapidary_policy::confined_files::list(&path, 1).map(drop)
}

/// The directories were there a moment ago; if one is gone now, no tool could reach it anyway.
fn wider_workspace(workspace: &Arc<Workspace>, directories: &[PathBuf]) -> Arc<Workspace> {
    let wider = workspace.widened(directories);
    wider.unwrap_or_else(|_| Arc::clone(workspace))
}
