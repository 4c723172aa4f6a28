//! Calls that were permitted, and the changes of protected files that they explain.

use std::path::{Path, PathBuf};

use lapidary_vocab::event::ToolKind;

use super::protected::ProtectedFiles;
use crate::policy::{ToolAction, may_configure_git, resolved};

/// More files than that are not remembered.
const MOST_FILES: usize = 10_000;

/// The protected files that permitted calls name.
#[derive(Debug, Default)]
pub(super) struct PermittedCalls {
    /// Files that an edit or a command names, and directories.
    named: Vec<PathBuf>,
    /// A command runs git.
    has_git: bool,
}

impl PermittedCalls {
    /// Notes a call before it runs: later a link may lead to another file. Of a command only its words count, and no other claims
    /// of the agent about it.
    pub(super) fn note_call(
        &mut self,
        action: &ToolAction,
        directory: &Path,
        protected: &ProtectedFiles,
    ) {
        let changes = [ToolKind::Edit, ToolKind::Delete, ToolKind::Move];
        let mut named = Vec::new();
        if action.shows_diff || changes.contains(&action.kind) {
            named.clone_from(&action.paths);
        }
        if let Some(command) = &action.command {
            self.has_git |= may_configure_git(command);
            let words = ToolAction {
                command: Some(command.clone()),
                ..ToolAction::new(ToolKind::Execute)
            };
            named.extend(words.with_files_of_command(directory).possible_paths);
        }
        let named = named.iter().map(|path| beyond_links(path));
        let named = named.filter(|path| protected.is_protected_path(path));
        let room = MOST_FILES.saturating_sub(self.named.len());
        self.named.extend(named.take(room));
    }

    /// True if a permitted call is about this file, or about a directory that it is in.
    pub(super) fn has_call_about(&self, path: &Path, protected: &ProtectedFiles) -> bool {
        let is_named = self.named.iter().any(|named| path.starts_with(named));
        is_named || (self.has_git && protected.is_git_setting(path))
    }
}

/// Where a file is, links followed on the way to it. The file itself may be a link.
fn beyond_links(path: &Path) -> PathBuf {
    let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
        return path.to_owned();
    };
    resolved(parent).map_or_else(|| path.to_owned(), |parent| parent.join(name))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    /// Whether a command explains a change of these files: git's configuration, a hook of git, and a setting.
    fn explained(command: &str) -> [bool; 3] {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        fs::create_dir_all(root.join(".git/hooks")).unwrap();
        fs::create_dir(root.join(".vscode")).unwrap();
        let protected = ProtectedFiles::find(std::slice::from_ref(&root), &[]);
        let action = ToolAction {
            command: Some(command.to_owned()),
            possible_paths: vec![root.join(".envrc")],
            ..ToolAction::new(ToolKind::Execute)
        };
        let mut permitted = PermittedCalls::default();
        permitted.note_call(&action, &root, &protected);
        assert!(!permitted.has_call_about(&root.join(".envrc"), &protected));
        [".git/config", ".git/hooks/pre-push", ".vscode/tasks.json"]
            .map(|file| permitted.has_call_about(&root.join(file), &protected))
    }

    #[test]
    fn a_command_explains_the_files_that_it_names_and_git_its_configuration() {
        let check = |command: &str, expected: [bool; 3]| {
            assert_eq!(explained(command), expected, "{command}");
        };
        check("git config user.name x", [true, false, false]);
        check("make && sudo git -C . remote add a b", [true, false, false]);
        check("git commit -m x; git status", [false; 3]);
        check("cp a .git/hooks/pre-push", [false, true, false]);
        check("chmod +x .git/hooks/*", [false; 3]);
        check("rm -r .git", [true, true, false]);
        check("cp -r a/ ./.vscode/", [false, false, true]);
        check("cat .vscode/tasks.json .git/config", [false; 3]);
        check("npm install .", [false; 3]);
        check("touch ..", [false; 3]);
    }

    #[test]
    fn calls_add_up_and_links_on_the_way_to_a_file_are_followed() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        fs::create_dir_all(root.join(".git/hooks")).unwrap();
        std::os::unix::fs::symlink(".git/hooks", root.join("link")).unwrap();
        let protected = ProtectedFiles::find(std::slice::from_ref(&root), &[]);
        let mut permitted = PermittedCalls::default();
        let edit = ToolAction {
            paths: vec![root.join("link/pre-push")],
            ..ToolAction::new(ToolKind::Edit)
        };
        let run = |command: &str| ToolAction {
            command: Some(command.to_owned()),
            ..ToolAction::new(ToolKind::Execute)
        };
        for action in [run("git config a b"), edit, run("ls")] {
            permitted.note_call(&action, &root, &protected);
        }
        for (file, expected) in [
            (".git/config", true),
            (".git/hooks/pre-push", true),
            (".git/hooks/pre-commit", false),
        ] {
            let is_explained = permitted.has_call_about(&root.join(file), &protected);
            assert_eq!(is_explained, expected, "{file}");
        }
    }
}
