//! Where tools put files and commands: one table of the names of arguments, for every agent.
//!
//! Names are compared as [words](super::argument_names::folded_name), so `file_path`, `filePath` and `FilePath` are one. A name that is in no list is
//! judged by its end: `output_path`, `fullPath` and `configFile` are files, too. The agents differ in few names:
//!
//! | agent | files | commands |
//! |---|---|---|
//! | Gemini CLI, Qwen Code | `file_path`, `absolute_path`, `dir_path`, `paths`, `include` | `command` and `dir_path` |
//! | Claude Code | `file_path`, `notebook_path`, `path`, `glob` | `command` |
//! | Codex | `changes` by file name, `move_path`; `*** Update File:` in `patch` or `input` | `command` as a list, `cmd`, `workdir` |
//! | opencode | `filePath`, `path`, `patchText` | `command`, `workdir` |
//! | Goose | `path`, with `view` or `write` as `command` | `command` |
//! | language servers | `textDocument`, `uri`, `documentChanges` | |
//! | Agent Client Protocol | `locations`, `content` of type `diff` | `terminal/create`: `command` and `args` |

/// The role of a member of a call's arguments.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ArgumentRole {
    /// A file or a directory, or several of them.
    File,
    /// An address, of which those of files count.
    Address,
    /// A file of a call that moves or changes one; no file for other calls.
    End,
    /// A list of changes: in each item there may be a file, or each goes by the name of its file.
    Changes,
    /// A list of steps, perhaps on files.
    Steps,
    /// All arguments, or those of a tool within the tool.
    Wrapper,
    /// The content of a file, a message, or a command: no name of a file.
    Content,
    /// A pattern over file names, which may lead anywhere.
    Pattern,
    /// Any other member.
    Other,
}

/// Names of files and directories that do not end like one.
const FILES: &[&str] = &[
    "source",
    "destination",
    "cwd",
    "root",
    "roots",
    "workdir",
    "workspace",
    "workspaceroot",
    "basedir",
    "textdocument",
    "olduri",
    "newuri",
    "location",
    "locations",
    "notebook",
    "document",
];

/// How names of files end.
const FILE_ENDINGS: &[&str] = &[
    "path",
    "paths",
    "file",
    "files",
    "filename",
    "filenames",
    "dir",
    "dirs",
    "directory",
    "directories",
    "folder",
    "folders",
    "fname",
];

/// Names that end like those of files and are none.
const NO_FILES: &[&str] = &["profile", "profiles", "xpath", "jsonpath"];

/// How names of addresses end.
const ADDRESS_ENDINGS: &[&str] = &["uri", "uris", "fileurl"];

const ENDS: &[&str] = &["from", "to", "src", "dst", "dest", "target", "targets"];
const CHANGES: &[&str] = &["edits", "changes", "documentchanges", "filechanges"];
const STEPS: &[&str] = &["operations", "moves", "renames"];
const WRAPPERS: &[&str] = &[
    "input",
    "rawinput",
    "toolinput",
    "args",
    "arguments",
    "params",
    "parameters",
    "options",
    "request",
    "payload",
    "data",
];
const PATTERNS: &[&str] = &["glob", "include", "includes"];

/// Names of texts. Nothing in them names a file, but for patches.
const CONTENT: &[&str] = &[
    "content",
    "contents",
    "filecontent",
    "filecontents",
    "newcontent",
    "newcontents",
    "filetext",
    "text",
    "newtext",
    "oldtext",
    "newstring",
    "oldstring",
    "newstr",
    "oldstr",
    "newsource",
    "inserttext",
    "replacement",
    "codeedit",
    "pattern",
    "query",
    "regex",
    "search",
    "prompt",
    "description",
    "message",
    "question",
    "explanation",
    "reason",
    "thought",
    "title",
    "summary",
    "instructions",
    "todos",
    "plan",
    "env",
    "environment",
    "patch",
    "patchtext",
    "diff",
];

/// Arguments that a call has beside a file only if it writes: the content, or the file's new name.
const WRITTEN: &[&str] = &[
    "content",
    "contents",
    "filecontent",
    "filecontents",
    "newcontent",
    "newcontents",
    "filetext",
    "text",
    "newtext",
    "oldtext",
    "newstring",
    "oldstring",
    "newstr",
    "oldstr",
    "newsource",
    "inserttext",
    "replacement",
    "codeedit",
    "data",
    "destination",
    "destinationpath",
    "newpath",
    "topath",
    "movepath",
    "newuri",
];

/// The role of a member of this name.
pub(super) fn argument_role(word: &str) -> ArgumentRole {
    let is_one_of = |names| is_one_of(word, names);
    let ends_as = |endings: &[&str]| endings.iter().any(|it| word.ends_with(it));
    if is_one_of(CONTENT) || is_one_of(COMMANDS) || is_one_of(COMMAND_LISTS) {
        ArgumentRole::Content
    } else if is_one_of(CHANGES) {
        ArgumentRole::Changes
    } else if is_one_of(STEPS) {
        ArgumentRole::Steps
    } else if is_one_of(WRAPPERS) {
        ArgumentRole::Wrapper
    } else if is_one_of(ENDS) {
        ArgumentRole::End
    } else if is_one_of(PATTERNS) {
        ArgumentRole::Pattern
    } else if is_one_of(FILES) || (ends_as(FILE_ENDINGS) && !is_one_of(NO_FILES)) {
        ArgumentRole::File
    } else if ends_as(ADDRESS_ENDINGS) {
        ArgumentRole::Address
    } else {
        ArgumentRole::Other
    }
}

/// Whether a call that has this beside a file writes it.
pub(super) fn is_written(word: &str) -> bool {
    is_one_of(word, WRITTEN)
}

/// Whether a list has this word. Most differ in length already: `contains` calls a function for each.
#[inline]
pub(super) fn is_one_of(word: &str, names: &[&str]) -> bool {
    let mut names = names.iter();
    names.any(|name| name.len() == word.len() && *name == word)
}

/// Where agents put a command.
pub(super) const COMMANDS: &[&str] = &[
    "command",
    "cmd",
    "script",
    "commandline",
    "cmdline",
    "shellcommand",
    "bashcommand",
    "commandtorun",
    "bash",
    "shell",
    "exec",
    "execute",
    "executable",
    "program",
    "argv",
];

/// Names under which some agents put the command and other tools put any text: only a call of kind `execute` has a command there.
pub(super) const CODE: &[&str] = &["code", "run"];

/// Where agents put several commands.
pub(super) const COMMAND_LISTS: &[&str] = &["commands", "cmds", "commandlines", "scripts"];

/// Where agents put the arguments of a program.
pub(super) const COMMAND_ARGUMENTS: &[&str] = &["args", "arguments", "params", "parameters"];

/// Variables have names of their own.
pub(super) const VARIABLES: &[&str] = &["env", "environment", "envs", "variables"];

/// Words that editors have in the place where other tools have a command.
pub(super) const EDITORS_WORDS: &[&str] = &[
    "view",
    "create",
    "str_replace",
    "insert",
    "undo_edit",
    "write",
    "read",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_files_are_known_by_their_end() {
        for word in [
            "filepath",
            "outputpath",
            "fullpath",
            "configfile",
            "dir",
            "targetdirectory",
            "cwd",
        ] {
            assert_eq!(argument_role(word), ArgumentRole::File, "{word}");
        }
        for word in ["uri", "documenturi", "fileuri"] {
            assert_eq!(argument_role(word), ArgumentRole::Address, "{word}");
        }
        for word in ["profile", "limit", "offset", "url"] {
            assert_eq!(argument_role(word), ArgumentRole::Other, "{word}");
        }
    }
}
