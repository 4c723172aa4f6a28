//! The names of tools for hooks: first the names of Gemini CLI's tools with the same effect, then the agent's own name.

use lapidary_normalize::tools;
use lapidary_vocab::event::ToolKind;

use crate::policy::ToolAction;

/// Gemini CLI's name for a tool that runs commands.
pub(super) const SHELL: &str = "run_shell_command";

/// Whether it is a command by any sign.
pub(super) fn runs_a_command(action: &ToolAction) -> bool {
    action.command.is_some() || action.kind == ToolKind::Execute
}

/// Whether it changes files by any sign.
pub(super) fn changes_files(action: &ToolAction) -> bool {
    let kinds = [ToolKind::Edit, ToolKind::Delete, ToolKind::Move];
    action.shows_diff || kinds.contains(&action.kind)
}

/// The names of each side of an action, of which no two are the same thing.
pub(super) fn tool_names(action: &ToolAction) -> Vec<Vec<String>> {
    let own = own_tool_name(action);
    let mut sides: Vec<Vec<String>> = action_kinds(action)
        .filter_map(|kind| of_kind(&kind, own))
        .collect();
    let Some(name) = own else {
        if sides.is_empty() {
            sides.push(vec![shown_tool_name(action).to_owned()]);
        }
        return sides;
    };
    let is_named = sides.iter().flatten().any(|known| known == name);
    let name = name.to_owned();
    match sides.last_mut() {
        _ if is_named => {}
        // A tool of an MCP server has the same name in Gemini CLI, so it is a side of its own.
        Some(last) if action.mcp_server.is_none() => last.push(name),
        _ => sides.push(vec![name]),
    }
    sides
}

/// The kinds that an action is of, the worst first, and each of the sides once.
fn action_kinds(action: &ToolAction) -> impl Iterator<Item = ToolKind> {
    let shell = runs_a_command(action).then_some(ToolKind::Execute);
    let edit = changes_files(action).then_some(ToolKind::Edit);
    let is_told = [
        ToolKind::Execute,
        ToolKind::Edit,
        ToolKind::Delete,
        ToolKind::Move,
    ];
    let kind = Some(action.kind.clone()).filter(|kind| !is_told.contains(kind));
    [shell, edit, kind].into_iter().flatten()
}

/// The tools of Gemini CLI that do this: the very one, if the agent names it.
fn of_kind(kind: &ToolKind, own: Option<&str>) -> Option<Vec<String>> {
    let is_geminis = |name: &&str| {
        let is_small = |char: char| char.is_ascii_lowercase() || char == '_';
        let known = tools::kind(name);
        name.chars().all(is_small) && known == *kind && known != ToolKind::Unclassified
    };
    if let Some(own) = own.filter(is_geminis) {
        return Some(vec![own.to_owned()]);
    }
    let same: &[&str] = match kind {
        ToolKind::Execute => &[SHELL],
        ToolKind::Edit => &["write_file", "replace"],
        ToolKind::Read => &["read_file"],
        ToolKind::Search => &["grep_search", "glob"],
        ToolKind::Fetch => &["web_fetch"],
        ToolKind::Browse => &["google_web_search"],
        _ => return None,
    };
    Some(same.iter().map(|name| (*name).to_owned()).collect())
}

/// The agent's name for the tool, if it is a name. An agent that names no tool has the title of the call here, which for a
/// command may be the command.
fn own_tool_name(action: &ToolAction) -> Option<&str> {
    let is_word = |char: char| char.is_ascii_alphanumeric() || "_-.:".contains(char);
    let own = action.tool.as_deref().filter(|name| !name.is_empty())?;
    let command = action.command.as_deref().unwrap_or_default();
    let program = command.split_ascii_whitespace().next();
    let is_command = action.title.as_deref() == Some(own) && program == Some(own);
    (own.chars().all(is_word) && !is_command).then_some(own)
}

/// A substitute where there is no name.
fn shown_tool_name(action: &ToolAction) -> &str {
    let tool = action.tool.as_deref().filter(|name| !name.is_empty());
    tool.or(action.title.as_deref()).unwrap_or("unknown")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn action(kind: ToolKind, tool: &str) -> ToolAction {
        ToolAction {
            tool: Some(tool.to_owned()),
            title: Some("Title".to_owned()),
            ..ToolAction::new(kind)
        }
    }

    #[track_caller]
    fn check(action: &ToolAction, expected: &[&[&str]]) {
        assert_eq!(tool_names(action), expected, "{action:?}");
    }

    const EDIT: &[&str] = &["write_file", "replace"];

    #[test]
    fn a_tool_has_gemini_clis_names_and_its_own() {
        let check = |kind, tool, expected: &[&str]| check(&action(kind, tool), &[expected]);
        check(ToolKind::Edit, "write_file", &["write_file"]);
        check(ToolKind::Edit, "replace", &["replace"]);
        check(ToolKind::Edit, "Edit", &["write_file", "replace", "Edit"]);
        check(ToolKind::Edit, "Writing to n.txt", EDIT);
        check(ToolKind::Execute, "Bash", &[SHELL, "Bash"]);
        check(ToolKind::Mcp, "mcp_server_tool", &["mcp_server_tool"]);
        check(ToolKind::Delete, "delete my file", EDIT);
        check(ToolKind::Move, "move my file", EDIT);
        check(ToolKind::Think, "think a while", &["think a while"]);
        check(ToolKind::Unclassified, "", &["Title"]);
        check(ToolKind::Edit, "fs/write_text_file", EDIT);
    }

    #[test]
    fn a_tool_name_does_not_hide_a_command_or_diff_from_matchers() {
        check(
            &action(ToolKind::Execute, "read_file"),
            &[&[SHELL, "read_file"]],
        );
        let command = |kind, tool| ToolAction {
            command: Some("rm x".to_owned()),
            ..action(kind, tool)
        };
        let reads = ["read_file"];
        check(&command(ToolKind::Read, "a b"), &[&[SHELL], &reads]);
        let topic = ["update_topic"];
        check(
            &command(ToolKind::Think, "update_topic"),
            &[&[SHELL], &topic],
        );
        let own = [SHELL, "my_shell"];
        check(&command(ToolKind::Unclassified, "my_shell"), &[&own]);
        let served = ToolAction {
            mcp_server: Some("srv".to_owned()),
            ..command(ToolKind::Unclassified, "mcp_srv_sh")
        };
        check(&served, &[&[SHELL], &["mcp_srv_sh"]]);
        let diff = |kind| ToolAction {
            shows_diff: true,
            ..command(kind, "a b")
        };
        check(&diff(ToolKind::Read), &[&[SHELL], EDIT, &reads]);
        check(&diff(ToolKind::Edit), &[&[SHELL], EDIT]);
    }

    #[test]
    fn a_commands_title_is_no_name() {
        let run = ToolAction {
            title: Some("ls".to_owned()),
            command: Some("ls -l".to_owned()),
            ..action(ToolKind::Execute, "ls")
        };
        check(&run, &[&[SHELL]]);
    }
}
