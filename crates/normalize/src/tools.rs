//! Facts about tools by name: exact tables, no guessing.
//!
//! Each view keeps its own table, as its specification has it: `glob` is a search in events and a file read in ticket mode.

use lapidary_json::{Token, TokenKind};
use lapidary_vocab::event::ToolKind;
use lapidary_vocab::runtime::Category;
use lapidary_vocab::{Json, Text};

use crate::own::{owned_json, owned_text};

/// The prefix of tools that belong to an MCP server: `mcp_<server>_<tool>`, and `mcp__…` with other agents.
const MCP_PREFIX: &str = "mcp_";

/// How many keys may name the file of a call.
const MOST_KEYS: usize = 3;

/// The kind that an agent's word stands for: one of the protocol's in any letters, or what agents write instead of it.
pub fn kind_of_word(word: &str) -> ToolKind {
    let word = word.trim().to_ascii_lowercase();
    match word.as_str() {
        "write" | "create" | "modify" | "update" | "patch" | "replace" => ToolKind::Edit,
        "shell" | "bash" | "command" | "terminal" | "run" | "exec" => ToolKind::Execute,
        "remove" | "unlink" => ToolKind::Delete,
        "rename" => ToolKind::Move,
        "view" => ToolKind::Read,
        "grep" | "glob" | "list" | "find" => ToolKind::Search,
        word => ToolKind::from(word),
    }
}

/// Tools of Claude Code, Codex, Gemini CLI, Goose, opencode and Qwen Code, by their own names: for messages about names that are not
/// among them.
pub const KNOWN_NAMES: &[&str] = &[
    // Gemini CLI and Qwen Code
    "activate_skill",
    "ask_user",
    "edit",
    "enter_plan_mode",
    "exit_plan_mode",
    "glob",
    "google_web_search",
    "grep_search",
    "list_directory",
    "read_file",
    "read_many_files",
    "replace",
    "run_shell_command",
    "save_memory",
    "search_file_content",
    "todo_write",
    "web_fetch",
    "web_search",
    "write_file",
    "write_todos",
    // Claude Code
    "Agent",
    "AskUserQuestion",
    "Bash",
    "BashOutput",
    "Edit",
    "ExitPlanMode",
    "Glob",
    "Grep",
    "KillShell",
    "LS",
    "Monitor",
    "MultiEdit",
    "NotebookEdit",
    "NotebookRead",
    "PowerShell",
    "Read",
    "Skill",
    "SlashCommand",
    "Task",
    "TodoWrite",
    "WebFetch",
    "WebSearch",
    "Write",
    // opencode
    "apply_patch",
    "bash",
    "codesearch",
    "grep",
    "list",
    "lsp",
    "multiedit",
    "patch",
    "question",
    "read",
    "skill",
    "task",
    "todoread",
    "todowrite",
    "webfetch",
    "websearch",
    "write",
    // Codex, Goose
    "developer__shell",
    "developer__text_editor",
    "exec_command",
    "local_shell",
    "shell",
    "update_plan",
    "view_image",
];

/// What sort of tool this is, by the names that Claude Code, Codex, Gemini CLI, Goose, opencode and Qwen Code have for their own.
pub fn kind_of_any_agent(name: &str) -> ToolKind {
    match name {
        "bash" | "shell" | "local_shell" | "exec_command" | "command_execution"
        | "developer__shell" => ToolKind::Execute,
        "Read" | "read" | "NotebookRead" => ToolKind::Read,
        "Write"
        | "write"
        | "Edit"
        | "edit"
        | "MultiEdit"
        | "multiedit"
        | "NotebookEdit"
        | "patch"
        | "apply_patch"
        | "file_change"
        | "developer__text_editor" => ToolKind::Edit,
        "Grep" | "grep" | "Glob" | "LS" | "list" => ToolKind::Search,
        "WebFetch" | "webfetch" => ToolKind::Fetch,
        "WebSearch" | "websearch" => ToolKind::Browse,
        name => kind(name),
    }
}

/// What sort of tool this is, for events. Knows Gemini's wire names, its older ones, and the class names of `specs/2`.
pub fn kind(name: &str) -> ToolKind {
    match name {
        "run_shell_command" | "ShellTool" | "Bash" => ToolKind::Execute,
        "read_file"
        | "read_many_files"
        | "get_internal_docs"
        | "read_mcp_resource"
        | "read_background_output"
        | "activate_skill"
        | "ReadFileTool" => ToolKind::Read,
        "write_file" | "replace" | "WriteFileTool" | "EditTool" => ToolKind::Edit,
        "glob"
        | "grep_search"
        | "search_file_content"
        | "list_directory"
        | "list_mcp_resources"
        | "list_background_processes"
        | "GrepTool"
        | "GlobTool" => ToolKind::Search,
        "web_fetch" | "WebFetchTool" => ToolKind::Fetch,
        "google_web_search" | "WebSearchTool" => ToolKind::Browse,
        "save_memory" | "MemoryTool" => ToolKind::Memory,
        "ask_user" => ToolKind::Ask,
        "write_todos"
        | "enter_plan_mode"
        | "exit_plan_mode"
        | "complete_task"
        | "invoke_agent"
        // The name of `invoke_agent` in 0.24.
        | "delegate_to_agent"
        | "update_topic"
        | "tracker_create_task"
        | "tracker_update_task"
        | "tracker_get_task"
        | "tracker_list_tasks"
        | "tracker_add_dependency"
        | "tracker_visualize"
        | "codebase_investigator"
        | "cli_help" => ToolKind::Think,
        name if name.starts_with(MCP_PREFIX) => ToolKind::Mcp,
        _ => ToolKind::Unclassified,
    }
}

/// The category of a tool in ticket mode: the exact allowlist of `specs/4`, plus the older name of `grep_search`.
pub fn category(name: &str) -> Option<Category> {
    Some(match name {
        "run_shell_command" => Category::Command,
        "read_file"
        | "read_many_files"
        | "list_directory"
        | "glob"
        | "grep_search"
        | "search_file_content" => Category::FileRead,
        "replace" | "write_file" => Category::FileWrite,
        "ask_user" => Category::AskUser,
        "google_web_search" | "web_fetch" => Category::SearchFetch,
        "write_todos" | "enter_plan_mode" | "exit_plan_mode" | "complete_task" | "save_memory"
        | "activate_skill" | "get_internal_docs" => Category::Planning,
        _ => return None,
    })
}

/// Claude's name for a tool, for messages; the tool's own where Claude has none.
pub fn claude_name(name: Token<'_>) -> Text {
    match name.string().as_deref() {
        Some("read_file") => "Read".into(),
        Some("write_file") => "Write".into(),
        Some("replace") => "Edit".into(),
        Some("list_directory") => "Glob".into(),
        Some(
            "run_shell_command" | "exec_command" | "shell" | "local_shell" | "command_execution",
        ) => "Bash".into(),
        Some("google_web_search") => "WebSearch".into(),
        _ => owned_text(name),
    }
}

/// A call's arguments under Claude's names, for messages. The specification's key first, then the real CLI's.
pub fn claude_input(name: &str, args: Option<Token<'_>>) -> Json {
    let Some(args) = args.and_then(|args| args.if_kind(TokenKind::Object)) else {
        return args
            .and_then(Token::non_null)
            .map_or_else(Json::empty_object, owned_json);
    };
    let first = |keys: &[&str]| {
        keys.iter()
            .find_map(|key| args.get(key).filter(|value| value.is_truthy()))
    };
    let pick = |wanted: &[(&'static str, Option<Token<'_>>)]| {
        Json::object(
            wanted
                .iter()
                .filter_map(|(key, value)| Some((*key, owned_json((*value)?)))),
        )
    };
    match name {
        "read_file" => pick(&[("file_path", first(&["absolute_path", "file_path"]))]),
        "write_file" => pick(&[
            ("file_path", first(&["file_path", "path"])),
            ("content", args.get("content")),
        ]),
        "replace" => pick(&[
            ("file_path", args.get("file_path")),
            ("old_string", args.get("old_string")),
            ("new_string", args.get("new_string")),
        ]),
        "list_directory" => pick(&[
            ("pattern", Token::parse("\"*\"").ok()),
            ("path", first(&["path", "dir_path"])),
        ]),
        "run_shell_command" => pick(&[
            ("command", args.get("command")),
            ("description", args.get("description")),
        ]),
        "exec_command" | "shell" | "local_shell" | "command_execution" => codex_command(args),
        _ => owned_json(args),
    }
}

/// A command of Codex under Claude's name. The model gives it as `cmd`, or as an argument list; the stream has it with the shell that
/// runs it. Other arguments stay.
fn codex_command(args: Token<'_>) -> Json {
    let given = args.get("cmd").or_else(|| args.get("command"));
    let command = match given {
        Some(list) if list.kind() == TokenKind::Array => {
            let words: Option<Vec<_>> = list.elements().map(Token::string).collect();
            words.and_then(|words| match words.as_slice() {
                [shell, flag, script] if is_shell(shell) && is_script_flag(flag) => {
                    Some(Json::from_value(&script.as_ref()))
                }
                _ => None,
            })
        }
        Some(text) => text
            .string()
            .and_then(|line| script_of_line(&line).map(|script| Json::from_value(&script))),
        None => None,
    };
    let Some(command) = command.or_else(|| given.map(owned_json)) else {
        return owned_json(args);
    };
    let others = args.members().filter_map(|(key, value)| {
        let key = key.string()?;
        (!matches!(&*key, "cmd" | "command")).then(|| (key.into_owned(), owned_json(value)))
    });
    let others: Vec<_> = others.collect();
    let others = others
        .iter()
        .map(|(key, value)| (key.as_str(), value.clone()));
    Json::object(std::iter::once(("command", command)).chain(others))
}

fn is_shell(program: &str) -> bool {
    let name = program.rsplit('/').next().unwrap_or(program);
    matches!(name, "bash" | "sh" | "zsh")
}

fn is_script_flag(flag: &str) -> bool {
    matches!(flag, "-lc" | "-c")
}

/// The script of `/bin/bash -lc '…'`, as Codex quotes it: a word of plain characters bare, any other in single or double quotes.
/// None if the line is something else.
fn script_of_line(line: &str) -> Option<String> {
    let (shell, rest) = line.split_once(' ')?;
    let (flag, quoted) = rest.split_once(' ')?;
    if !is_shell(shell) || !is_script_flag(flag) {
        return None;
    }
    match quoted_words(quoted)?.as_slice() {
        [script] => Some(script.clone()),
        _ => None,
    }
}

/// The words of a line in POSIX quotes. None if a quote is open.
fn quoted_words(line: &str) -> Option<Vec<String>> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut letters = line.chars();
    while let Some(letter) = letters.next() {
        match letter {
            '\'' => {
                let word = word.get_or_insert_default();
                loop {
                    match letters.next()? {
                        '\'' => break,
                        inner => word.push(inner),
                    }
                }
            }
            '"' => {
                let word = word.get_or_insert_default();
                loop {
                    match letters.next()? {
                        '"' => break,
                        '\\' => match letters.next()? {
                            escaped @ ('"' | '\\' | '$' | '`') => word.push(escaped),
                            other => word.extend(['\\', other]),
                        },
                        inner => word.push(inner),
                    }
                }
            }
            '\\' => word.get_or_insert_default().push(letters.next()?),
            ' ' => words.extend(word.take()),
            plain => word.get_or_insert_default().push(plain),
        }
    }
    words.extend(word);
    Some(words)
}

/// The files and folders that a call of a known tool concerns.
pub fn locations(name: &str, args: Option<Token<'_>>) -> Vec<Text> {
    call_location(name, args)
        .into_iter()
        .map(owned_text)
        .collect()
}

/// The file or folder that a call of a known tool concerns: the first of its keys that has a text.
pub(crate) fn call_location<'a>(name: &str, args: Option<Token<'a>>) -> Option<Token<'a>> {
    let keys: &[&str] = match name {
        "read_file" | "write_file" | "replace" | "ReadFileTool" | "WriteFileTool" | "EditTool" => {
            &["absolute_path", "file_path", "path"]
        }
        "list_directory"
        | "glob"
        | "grep_search"
        | "search_file_content"
        | "GrepTool"
        | "GlobTool" => &["dir_path", "path"],
        _ => &[],
    };
    // In one pass: arguments may be long, and of a key that stands twice the last counts.
    let mut found = [None; MOST_KEYS];
    for (key, value) in args.into_iter().flat_map(Token::members) {
        if let Some(place) = keys.iter().position(|known| key.is(known)) {
            found[place] = value.if_kind(TokenKind::String);
        }
    }
    found.into_iter().flatten().next()
}

/// The path that a successful call of a writing tool has written: the exact string it was given.
pub fn written_path(name: &str, args: Token<'_>) -> Option<String> {
    let path = match name {
        "write_file" => args.get("file_path").or_else(|| args.get("path")),
        "replace" => args.get("file_path"),
        _ => None,
    };
    path?.string().map(std::borrow::Cow::into_owned)
}

#[cfg(test)]
mod tests {
    use lapidary_wire::gemini::BUILT_IN_TOOLS;

    use super::*;

    /// Two tools that 0.61 offers besides those that it lists, and two agents that are tools in plan mode.
    const UNLISTED_TOOLS: [&str; 4] = [
        "list_background_processes",
        "read_background_output",
        "codebase_investigator",
        "cli_help",
    ];

    #[test]
    fn the_first_known_key_with_a_text_names_the_file_of_a_call() {
        let file = |name, args| {
            let token = call_location(name, Token::parse(args).ok());
            token.and_then(Token::string)
        };
        for (args, expected) in [
            (r#"{"path":"a","file_path":"b"}"#, Some("b")),
            (r#"{"file_path":"a","path":"c","file_path":"b"}"#, Some("b")),
            (r#"{"file_path":"a","file_path":7,"path":"c"}"#, Some("c")),
            (r#"{"absolute_path":null,"content":"x"}"#, None),
            ("[]", None),
        ] {
            assert_eq!(file("write_file", args).as_deref(), expected, "{args}");
        }
        assert_eq!(file("glob", r#"{"dir_path":"d"}"#).as_deref(), Some("d"));
        assert_eq!(file("shell", r#"{"path":"d"}"#), None);
    }

    #[test]
    fn a_command_of_codex_is_the_same_from_its_stream_and_its_rollout() {
        let script = r#"{"command":"printf 'a\\nb\\n'; echo \"$HOME\""}"#;
        for (name, args) in [
            (
                "exec_command",
                r#"{"cmd":"printf 'a\\nb\\n'; echo \"$HOME\""}"#,
            ),
            (
                "command_execution",
                r#"{"command":"/bin/bash -lc \"printf 'a\\\\nb\\\\n'; echo \\\"\\$HOME\\\"\""}"#,
            ),
            (
                "shell",
                r#"{"command":["bash","-lc","printf 'a\\nb\\n'; echo \"$HOME\""]}"#,
            ),
        ] {
            let input = claude_input(name, Token::parse(args).ok());
            assert_eq!(input.as_str(), script, "{name}");
        }
        for (args, expected) in [
            (r#"{"command":"bash -c ls"}"#, r#"{"command":"ls"}"#),
            (r#"{"command":"ls -l"}"#, r#"{"command":"ls -l"}"#),
            (
                r#"{"command":"sh -c 'open"}"#,
                r#"{"command":"sh -c 'open"}"#,
            ),
            (
                r#"{"command":["rm","-r"],"workdir":"/x"}"#,
                r#"{"command":["rm","-r"],"workdir":"/x"}"#,
            ),
            ("{}", "{}"),
        ] {
            let input = claude_input("shell", Token::parse(args).ok());
            assert_eq!(input.as_str(), expected);
        }
    }

    #[test]
    fn every_tool_of_gemini_cli_has_a_kind() {
        for name in BUILT_IN_TOOLS.into_iter().chain(UNLISTED_TOOLS) {
            assert_ne!(kind(name), ToolKind::Unclassified, "{name}");
        }
    }
}
