//! Commands that delete or move files: agents have no tools for that, so rules about these kinds look at commands.

use lapidary_vocab::event::ToolKind;

const DELETES: &[&str] = &[
    "rm *",
    "rmdir *",
    "unlink *",
    "shred *",
    "trash *",
    "trash-put *",
    "gio trash *",
    "gio remove *",
    "rimraf *",
    "find *-delete*",
    "git rm *",
    "git -* rm *",
    "git clean *",
    "git -* clean *",
    "rsync *--delete*",
    "rsync *--remove-source-files*",
];

const MOVES: &[&str] = &[
    "mv *",
    "rename *",
    "gio move *",
    "git mv *",
    "git -* mv *",
    "rsync *--remove-source-files*",
];

/// Patterns of the commands that perform this kind of action. Other programs can do the same, and no pattern knows them.
pub(crate) fn commands_of(kind: &ToolKind) -> &'static [&'static str] {
    match kind {
        ToolKind::Delete => DELETES,
        ToolKind::Move => MOVES,
        _ => &[],
    }
}
