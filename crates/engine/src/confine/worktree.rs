//! The directories that git writes outside a linked worktree when it commits there.

use std::fs;
use std::path::{Path, PathBuf};

/// The longest file that names a git directory.
const LONGEST: u64 = 16 * 1024;

/// Git's common directory of a workspace that is a linked worktree: objects, branches, and the worktree's own directory are in it. None
/// for any other workspace.
///
/// The file `.git` comes with the workspace, and a hostile one could name any directory: it counts only if git's own directory of the
/// worktree is where git puts it, and names this workspace in turn.
pub(super) fn common_directory(root: &Path) -> Option<PathBuf> {
    linked_directories(root).map(|(_, common)| common)
}

/// Files of such a worktree that decide about the programs that git runs, or that point git to such files.
pub(super) fn powerful_files(root: &Path) -> Vec<PathBuf> {
    let Some((own, common)) = linked_directories(root) else {
        return Vec::new();
    };
    let pointers = ["commondir", "gitdir", "config.worktree"];
    let shared = ["hooks", "config"].map(|name| common.join(name));
    let pointers = pointers.map(|name| own.join(name));
    pointers.into_iter().chain(shared).collect()
}

/// Git's directory of the worktree, and the common one.
fn linked_directories(root: &Path) -> Option<(PathBuf, PathBuf)> {
    let file = root.join(".git");
    let named = short_text(&file)?;
    let named = named.strip_prefix("gitdir:")?.trim();
    let own = root.join(named).canonicalize().ok()?;
    let back = short_text(&own.join("gitdir"))?;
    let is_ours = own.join(back.trim()).canonicalize().ok()? == file.canonicalize().ok()?;
    let worktrees = own.parent()?;
    let common = worktrees.parent()?;
    let is_git = common.join("HEAD").is_file() && common.join("objects").is_dir();
    let is_linked = is_ours && is_git && worktrees.file_name()? == "worktrees";
    is_linked.then(|| (own.clone(), common.to_owned()))
}

fn short_text(path: &Path) -> Option<String> {
    let about = fs::symlink_metadata(path).ok()?;
    let is_short = about.is_file() && about.len() <= LONGEST;
    is_short.then(|| fs::read_to_string(path).ok())?
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A repository with a linked worktree, made by hand: what git would make.
    fn repository(at: &Path) -> (PathBuf, PathBuf) {
        let (git, tree) = (at.join("main/.git"), at.join("tree"));
        let own = git.join("worktrees/tree");
        for directory in [&git.join("objects"), &own, &tree] {
            fs::create_dir_all(directory).unwrap();
        }
        fs::write(git.join("HEAD"), "ref: refs/heads/main\n").unwrap();
        fs::write(
            own.join("gitdir"),
            format!("{}\n", tree.join(".git").display()),
        )
        .unwrap();
        fs::write(tree.join(".git"), format!("gitdir: {}\n", own.display())).unwrap();
        (git, tree)
    }

    #[test]
    fn a_linked_worktree_has_a_common_directory_and_its_hooks_are_powerful() {
        let folder = tempfile::tempdir().unwrap();
        let at = folder.path().canonicalize().unwrap();
        let (git, tree) = repository(&at);
        assert_eq!(common_directory(&tree), Some(git.clone()));
        let powerful = powerful_files(&tree);
        for file in ["hooks", "config", "worktrees/tree/commondir"] {
            assert!(powerful.contains(&git.join(file)), "{powerful:?}");
        }
        assert_eq!(common_directory(&at.join("main")), None);
    }

    #[test]
    fn a_git_file_that_names_a_directory_of_others_grants_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let at = folder.path().canonicalize().unwrap();
        let (git, _) = repository(&at);
        let hostile = at.join("hostile");
        fs::create_dir(&hostile).unwrap();
        let names = [
            git.clone(),
            git.join("worktrees/tree"),
            at.join("main"),
            "/".into(),
        ];
        for named in names {
            let text = format!("gitdir: {}\n", named.display());
            fs::write(hostile.join(".git"), text).unwrap();
            assert_eq!(common_directory(&hostile), None, "{named:?}");
        }
    }
}
