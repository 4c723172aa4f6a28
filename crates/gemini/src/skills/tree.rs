//! The folder of a skill as a model is shown it.

use std::collections::VecDeque;
use std::fs;
use std::path::{Path, PathBuf};

use crate::js;

/// How many files and folders are shown.
const MOST: usize = 200;
/// How many entries of one folder are looked at. Gemini CLI has no bound; behind it, nothing would be shown anyway.
const MOST_READ: usize = 100_000;

/// Folders of which nothing but the name is shown.
const IGNORED: [&str; 4] = ["node_modules", ".git", "dist", "__pycache__"];

const BRANCH: &str = "├───";
const LAST_BRANCH: &str = "└───";

/// The entries of a folder, files before folders, as many as fit: the words and lines of Gemini CLI.
pub fn folder_tree(directory: &Path) -> String {
    let shown = directory.display();
    let Some(tree) = FolderTree::read(directory) else {
        return format!(
            r#"Error: Could not read directory "{shown}". Check path and permissions."#
        );
    };
    let is_cut = tree.folders.iter().any(TreeFolder::is_cut);
    let more = if is_cut { CUT } else { "" };
    let mut lines = Vec::new();
    tree.write_lines(0, "", &mut lines);
    let separator = std::path::MAIN_SEPARATOR;
    let lines = lines.join("\n");
    format!("Showing up to {MOST} items (files + folders).{more}\n\n{shown}{separator}\n{lines}")
}

const CUT: &str = " Folders or files indicated with ... contain more items not shown, were ignored, or the display limit (200 items) was reached.";

/// Folders by number, the root first.
struct FolderTree {
    folders: Vec<TreeFolder>,
}

#[derive(Default)]
struct TreeFolder {
    name: String,
    files: Vec<String>,
    /// Numbers of those in it.
    folders: Vec<usize>,
    is_ignored: bool,
    has_more_files: bool,
    has_more_folders: bool,
}

impl TreeFolder {
    fn is_cut(&self) -> bool {
        self.is_ignored || self.has_more_files || self.has_more_folders
    }
}

impl FolderTree {
    /// Level by level, until there is no room. None if there is no such folder.
    fn read(root: &Path) -> Option<Self> {
        let mut tree = Self {
            folders: vec![TreeFolder::default()],
        };
        let mut waiting = VecDeque::from([(0, root.to_owned())]);
        let mut count = 0;
        while let Some((number, path)) = waiting.pop_front() {
            if count >= MOST {
                continue;
            }
            match folder_entries(&path) {
                Ok((files, folders)) => {
                    tree.take_files(number, files, &mut count);
                    tree.take_folders((number, &path), folders, &mut count, &mut waiting);
                }
                Err(error) if number == 0 && error.kind() == std::io::ErrorKind::NotFound => {
                    return None;
                }
                Err(_) => {}
            }
        }
        Some(tree)
    }

    fn take_files(&mut self, number: usize, files: Vec<String>, count: &mut usize) {
        let room = MOST - *count;
        let folder = &mut self.folders[number];
        folder.has_more_files = files.len() > room;
        folder.files = files.into_iter().take(room).collect();
        *count += folder.files.len();
    }

    fn take_folders(
        &mut self,
        (parent, path): (usize, &Path),
        names: Vec<String>,
        count: &mut usize,
        waiting: &mut VecDeque<(usize, PathBuf)>,
    ) {
        let room = MOST - *count;
        self.folders[parent].has_more_folders = names.len() > room;
        for name in names.into_iter().take(room) {
            *count += 1;
            let number = self.folders.len();
            let is_ignored = IGNORED.contains(&name.as_str());
            if !is_ignored {
                waiting.push_back((number, path.join(&name)));
            }
            self.folders.push(TreeFolder {
                name,
                is_ignored,
                ..TreeFolder::default()
            });
            self.folders[parent].folders.push(number);
        }
    }

    /// Recursion goes no deeper than there are folders shown.
    fn write_lines(&self, number: usize, indent: &str, lines: &mut Vec<String>) {
        let folder = &self.folders[number];
        let are_last = folder.folders.is_empty() && !folder.has_more_folders;
        let dots = |has_more: bool| has_more.then_some("...");
        let mut say = |name: &str, is_last: bool| {
            let branch = if is_last { LAST_BRANCH } else { BRANCH };
            lines.push(format!("{indent}{branch}{name}"));
        };
        for (place, name) in folder.files.iter().enumerate() {
            // Gemini CLI takes it for the last even if dots follow.
            say(name, are_last && place + 1 == folder.files.len());
        }
        if let Some(dots) = dots(folder.has_more_files) {
            say(dots, are_last);
        }
        for (place, inner) in folder.folders.iter().enumerate() {
            let is_last = place + 1 == folder.folders.len() && !folder.has_more_folders;
            self.write_folder(*inner, indent, is_last, lines);
        }
        if let Some(dots) = dots(folder.has_more_folders) {
            lines.push(format!("{indent}{LAST_BRANCH}{dots}"));
        }
    }

    fn write_folder(&self, number: usize, indent: &str, is_last: bool, lines: &mut Vec<String>) {
        let folder = &self.folders[number];
        let branch = if is_last { LAST_BRANCH } else { BRANCH };
        let dots = if folder.is_ignored { "..." } else { "" };
        let separator = std::path::MAIN_SEPARATOR;
        lines.push(format!("{indent}{branch}{}{separator}{dots}", folder.name));
        let more = if is_last { "    " } else { "│   " };
        self.write_lines(number, &format!("{indent}{more}"), lines);
    }
}

/// The names of files and of folders, sorted. Links are neither.
fn folder_entries(path: &Path) -> std::io::Result<(Vec<String>, Vec<String>)> {
    let (mut files, mut folders) = (Vec::new(), Vec::new());
    for entry in fs::read_dir(path)?.take(MOST_READ) {
        let entry = entry?;
        let kind = entry.file_type()?;
        let name = entry.file_name().to_string_lossy().into_owned();
        if kind.is_file() {
            files.push(name);
        } else if kind.is_dir() {
            folders.push(name);
        }
    }
    files.sort_by(|one, other| js::locale_compare(one, other));
    folders.sort_by(|one, other| js::locale_compare(one, other));
    Ok((files, folders))
}
