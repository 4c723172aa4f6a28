//! Claude's agents: Markdown with front matter that Claude reads line by line where it is not YAML.

use super::{ImportError, ImportedAgent, Markdown, agent_slug, template_remarks};
use crate::skills;
use crate::yaml::{self, Yaml};

/// Claude's tools, and Gemini CLI's that do the same.
const TOOLS: [(&str, &str); 14] = [
    ("Read", "read_file"),
    ("Write", "write_file"),
    ("Edit", "replace"),
    ("MultiEdit", "replace"),
    ("Bash", "run_shell_command"),
    ("Glob", "glob"),
    ("Grep", "grep_search"),
    ("LS", "list_directory"),
    ("WebFetch", "web_fetch"),
    ("WebSearch", "google_web_search"),
    ("TodoWrite", "write_todos"),
    ("AskUserQuestion", "ask_user"),
    ("Skill", "activate_skill"),
    ("ExitPlanMode", "exit_plan_mode"),
];

/// Gemini CLI's counterpart of a Claude tool.
pub(crate) fn claude_tool(name: &str) -> Option<&'static str> {
    TOOLS
        .iter()
        .find(|(theirs, _)| *theirs == name)
        .map(|(_, ours)| *ours)
}

/// Converts the text of one of Claude's agent files. `fallback_name` is for files without a name.
pub fn import_claude(text: &str, fallback_name: &str) -> Result<ImportedAgent, ImportError> {
    let (header, body) = skills::split_frontmatter(text).map_err(|_| ImportError::NoFrontmatter)?;
    let mut dropped = Vec::new();
    let pairs = if let Ok(Yaml::Map(pairs)) = yaml::load(header) {
        pairs
    } else {
        dropped.push("the front matter is not YAML: it was read line by line".to_owned());
        from_lines(header)
    };
    let header = Yaml::Map(pairs);
    let text = |key: &str| header.get(key).and_then(Yaml::as_text);
    let written = text("name").unwrap_or(fallback_name);
    let name = agent_slug(written);
    if name != written {
        dropped.push(format!("the name `{written}` became `{name}`"));
    }
    let mut file = Markdown::new();
    file.add_text("name", &name);
    file.add_text(
        "description",
        text("description").ok_or(ImportError::Missing("description"))?,
    );
    if let Some(tools) = remaining_tools(&header, &mut dropped) {
        file.add_list("tools", &tools);
    }
    if let Some(model) = text("model").filter(|model| *model != "inherit") {
        if model.starts_with("gemini-") {
            file.add_text("model", model);
        } else {
            dropped.push(format!(
                "the model `{model}` was dropped: the agent runs on the model of its caller"
            ));
        }
    }
    drop_others(&header, &mut dropped);
    dropped.extend(template_remarks(body));
    file.finish(&name, body, dropped)
}

/// The tools that are left. None if the file names none, which means all.
fn remaining_tools(header: &Yaml, dropped: &mut Vec<String>) -> Option<Vec<String>> {
    let forbidden = listed_names(header.get("disallowedTools"));
    let wanted = match header.get("tools") {
        Some(tools) => listed_names(Some(tools)),
        None if forbidden.is_empty() => return None,
        // There is no list of forbidden tools: name the others.
        None => TOOLS.iter().map(|(name, _)| (*name).to_owned()).collect(),
    };
    if wanted.iter().any(|name| name == "*") && forbidden.is_empty() {
        return None;
    }
    let mut kept: Vec<String> = Vec::new();
    for name in wanted {
        let is_forbidden = forbidden
            .iter()
            .any(|it| it.split('(').next() == Some(&*name));
        match converted_tool(&name).filter(|_| !is_forbidden) {
            Some(tool) if !kept.contains(&tool) => kept.push(tool),
            Some(_) => {}
            None if is_forbidden => {}
            None => dropped.push(why_dropped(&name)),
        }
    }
    Some(kept)
}

fn converted_tool(name: &str) -> Option<String> {
    if let Some(rest) = name.strip_prefix("mcp__") {
        let name = match rest.split_once("__") {
            Some((server, tool)) => format!("mcp_{server}_{tool}"),
            None => format!("mcp_{rest}_*"),
        };
        return crate::agents::is_valid_tool_name(&name).then_some(name);
    }
    claude_tool(name).map(str::to_owned)
}

fn why_dropped(name: &str) -> String {
    if name.contains('(') {
        return format!(
            "the tool `{name}` was dropped: an agent file cannot limit a tool to some arguments"
        );
    }
    if matches!(name, "Task" | "Agent") {
        return format!("the tool `{name}` was dropped: an agent cannot call agents");
    }
    format!("the tool `{name}` was dropped: Gemini CLI has none like it")
}

/// Names with commas between them, or a list. A comma in brackets is part of its name.
fn listed_names(value: Option<&Yaml>) -> Vec<String> {
    match value {
        Some(Yaml::List(items)) => items
            .iter()
            .filter_map(|item| item.as_text().map(str::to_owned))
            .collect(),
        Some(Yaml::Text(text)) => {
            let mut names = vec![String::new()];
            let mut depth = 0_usize;
            for letter in text.chars() {
                match letter {
                    '(' => depth += 1,
                    ')' => depth = depth.saturating_sub(1),
                    _ => {}
                }
                if letter == ',' && depth == 0 {
                    names.push(String::new());
                } else if let Some(last) = names.last_mut() {
                    last.push(letter);
                }
            }
            let names = names.iter().map(|name| name.trim().to_owned());
            names.filter(|name| !name.is_empty()).collect()
        }
        _ => Vec::new(),
    }
}

fn drop_others(header: &Yaml, dropped: &mut Vec<String>) {
    const TAKEN: [&str; 5] = ["name", "description", "tools", "disallowedTools", "model"];
    let Yaml::Map(pairs) = header else { return };
    let others = pairs.iter().map(|(key, _)| key.as_str());
    let others = others.filter(|key| !TAKEN.contains(key));
    dropped.extend(others.map(|key| format!("`{key}` was dropped: agent files have no such key")));
}

/// `key: value` wherever a line begins with a word and a colon.
fn from_lines(header: &str) -> Vec<(String, Yaml)> {
    let mut pairs: Vec<(String, Yaml)> = Vec::new();
    for line in header.lines() {
        let Some((key, value)) = line.split_once(':') else {
            continue;
        };
        let is_word = |letter: char| letter.is_ascii_alphanumeric() || "-_".contains(letter);
        if !key.is_empty()
            && key.chars().all(is_word)
            && pairs.iter().all(|(known, _)| known != key)
        {
            let value = value.trim().trim_matches(['"', '\'']);
            pairs.push((key.to_owned(), Yaml::Text(value.to_owned())));
        }
    }
    pairs
}
