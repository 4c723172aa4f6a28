//! The context of a workspace for agents: memory and directories.

use std::path::Path;

use lapidary_gemini::memory::MemoryText;
use lapidary_gemini::setup::Setup;
use lapidary_gemini::skills::folder_tree;

use super::WorkspaceContext;

/// The context that agents in a directory are told: the memory of a setup, and the tree of the directory. Skills come with the tool that
/// activates them.
pub fn workspace_context(setup: &Setup, directory: &Path) -> WorkspaceContext {
    let memory = MemoryText::read(setup);
    WorkspaceContext {
        session_memory: memory.session_memory(),
        project_memory: memory.project_memory(),
        global_memory: memory.global,
        environment: Some(directory_context(directory)),
        plans_directory: None,
    }
}

/// The directories of a workspace and their entries, in the form of Gemini CLI.
pub fn directory_context(directory: &Path) -> String {
    let (shown, tree) = (directory.display(), folder_tree(directory));
    format!("- **Workspace Directories:**\n  - {shown}\n- **Directory Structure:**\n\n{tree}")
}
