//! The TOML of Gemini CLI 0.24, which later versions pass over in silence.

use toml::{Table, Value};

use super::{ImportError, ImportedAgent, Markdown, agent_slug, template_remarks};

/// The minutes that an agent had without a limit of its own.
const OLD_TIMEOUT_MINS: i64 = 5;

/// Converts the text of a TOML file. One with `[[remote_agents]]` gives several.
pub fn import_toml(text: &str) -> Result<Vec<ImportedAgent>, ImportError> {
    let table: Table = text.parse()?;
    if let Some(Value::Array(agents)) = table.get("remote_agents") {
        let agents = agents.iter().filter_map(Value::as_table);
        return agents.map(import_remote).collect();
    }
    if string_at(&table, "kind") == Some("remote") {
        return Ok(vec![import_remote(&table)?]);
    }
    Ok(vec![import_local(&table)?])
}

fn import_local(table: &Table) -> Result<ImportedAgent, ImportError> {
    let mut dropped = Vec::new();
    let mut file = Markdown::new();
    let name = add_head(table, &mut file, &mut dropped)?;
    file.add_text(
        "description",
        string_at(table, "description").ok_or(ImportError::Missing("description"))?,
    );
    if let Some(Value::Array(tools)) = table.get("tools") {
        file.add_list("tools", &kept_tools(tools, &mut dropped));
    }
    let part = |key: &str| {
        table
            .get(key)
            .and_then(Value::as_table)
            .cloned()
            .unwrap_or_default()
    };
    let (prompts, model, run) = (part("prompts"), part("model"), part("run"));
    if let Some(model) = string_at(&model, "model") {
        file.add_text("model", model);
    }
    if let Some(temperature) = model.get("temperature") {
        file.add_raw("temperature", temperature);
    }
    if let Some(turns) = run.get("max_turns") {
        file.add_raw("max_turns", turns);
    }
    let minutes = run.get("timeout_mins").and_then(Value::as_integer);
    file.add_raw("timeout_mins", minutes.unwrap_or(OLD_TIMEOUT_MINS));
    if let Some(query) = string_at(&prompts, "query").filter(|query| *query != "${query}") {
        dropped.push(format!(
            "`prompts.query` was dropped: `{query}`; the caller's prompt takes its place"
        ));
    }
    let top = [
        "kind",
        "name",
        "description",
        "display_name",
        "tools",
        "prompts",
        "model",
        "run",
    ];
    drop_unknown(table, "", &top, &mut dropped);
    drop_unknown(
        &prompts,
        "prompts.",
        &["system_prompt", "query"],
        &mut dropped,
    );
    drop_unknown(&model, "model.", &["model", "temperature"], &mut dropped);
    drop_unknown(&run, "run.", &["max_turns", "timeout_mins"], &mut dropped);
    let body = string_at(&prompts, "system_prompt")
        .ok_or(ImportError::Missing("prompts.system_prompt"))?;
    dropped.extend(template_remarks(body));
    file.finish(&name, body, dropped)
}

fn import_remote(table: &Table) -> Result<ImportedAgent, ImportError> {
    let mut dropped = Vec::new();
    let mut file = Markdown::new();
    file.add_raw("kind", "remote");
    let name = add_head(table, &mut file, &mut dropped)?;
    if let Some(description) = string_at(table, "description") {
        file.add_text("description", description);
    }
    file.add_text(
        "agent_card_url",
        string_at(table, "agent_card_url").ok_or(ImportError::Missing("agent_card_url"))?,
    );
    let known = [
        "kind",
        "name",
        "description",
        "display_name",
        "agent_card_url",
    ];
    drop_unknown(table, "", &known, &mut dropped);
    file.finish(&name, "", dropped)
}

fn add_head(
    table: &Table,
    file: &mut Markdown,
    dropped: &mut Vec<String>,
) -> Result<String, ImportError> {
    let written = string_at(table, "name").ok_or(ImportError::Missing("name"))?;
    let name = agent_slug(written);
    if name != written {
        dropped.push(format!("the name `{written}` became `{name}`"));
    }
    file.add_text("name", &name);
    if let Some(display_name) = string_at(table, "display_name") {
        file.add_text("display_name", display_name);
    }
    Ok(name)
}

fn kept_tools(tools: &[Value], dropped: &mut Vec<String>) -> Vec<String> {
    let mut kept = Vec::new();
    for tool in tools {
        match tool.as_str() {
            Some(name) if crate::agents::is_valid_tool_name(name) => kept.push(name.to_owned()),
            Some(name) => dropped.push(format!(
                "the tool `{name}` was dropped: Gemini CLI has no such tool"
            )),
            None => dropped.push(format!("the tool `{tool}` was dropped: it is not a name")),
        }
    }
    kept
}

fn drop_unknown(table: &Table, prefix: &str, known: &[&str], dropped: &mut Vec<String>) {
    let others = table.keys().filter(|key| !known.contains(&key.as_str()));
    dropped.extend(
        others.map(|key| format!("`{prefix}{key}` was dropped: agent files have no such key")),
    );
}

fn string_at<'a>(table: &'a Table, key: &str) -> Option<&'a str> {
    table.get(key)?.as_str()
}
