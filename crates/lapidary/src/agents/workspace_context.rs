//! The context of a workspace for agents: skills, memory, directories.

use std::path::Path;

use lapidary_gemini::memory::MemoryText;
use lapidary_gemini::setup::Setup;
use lapidary_gemini::skills::{SkillManager, folder_tree};

use super::WorkspaceContext;

/// The context that agents in a directory are told: the skills of a manager, the memory of a setup, and the tree of the directory.
pub fn workspace_context(
    setup: &Setup,
    skills: &SkillManager,
    directory: &Path,
) -> WorkspaceContext {
    let memory = MemoryText::read(setup);
    WorkspaceContext {
        skills: skills.available_skills(),
        session_memory: memory.session_memory(),
        global_memory: memory.global,
        environment: Some(directory_context(directory)),
        plans_directory: None,
    }
}

/// The directories of a workspace and what is in them, in the form of Gemini CLI.
pub fn directory_context(directory: &Path) -> String {
    let (shown, tree) = (directory.display(), folder_tree(directory));
    format!("- **Workspace Directories:**\n  - {shown}\n- **Directory Structure:**\n\n{tree}")
}
