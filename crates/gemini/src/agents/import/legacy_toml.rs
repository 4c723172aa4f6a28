//! The TOML of Gemini CLI 0.24, which later versions pass over in silence.

use toml::{Table, Value};

use super::{ImportError, ImportedAgent, Markdown, slug, template_remarks};

/// The minutes that an agent had without a limit of its own.
const OLD_TIMEOUT_MINS: i64 = 5;

/// Converts the text of a TOML file. One with `[[remote_agents]]` gives several.
pub fn import_toml(text: &str) -> Result<Vec<ImportedAgent>, ImportError> {
    let table: Table = text.parse()?;
    if let Some(Value::Array(agents)) = table.get("remote_agents") {
        let agents = agents.iter().filter_map(Value::as_table);
        return agents.map(remote).collect();
    }
    if string(&table, "kind") == Some("remote") {
        return Ok(vec![remote(&table)?]);
    }
    Ok(vec![local(&table)?])
}

fn local(table: &Table) -> Result<ImportedAgent, ImportError> {
    let mut dropped = Vec::new();
    let mut file = Markdown::new();
    let name = head(table, &mut file, &mut dropped)?;
    file.text(
        "description",
        string(table, "description").ok_or(ImportError::Missing("description"))?,
    );
    if let Some(Value::Array(tools)) = table.get("tools") {
        file.list("tools", &kept_tools(tools, &mut dropped));
    }
    let part = |key: &str| {
        table
            .get(key)
            .and_then(Value::as_table)
            .cloned()
            .unwrap_or_default()
    };
    let (prompts, model, run) = (part("prompts"), part("model"), part("run"));
    if let Some(model) = string(&model, "model") {
        file.text("model", model);
    }
    if let Some(temperature) = model.get("temperature") {
        file.raw("temperature", temperature);
    }
    if let Some(turns) = run.get("max_turns") {
        file.raw("max_turns", turns);
    }
    let minutes = run.get("timeout_mins").and_then(Value::as_integer);
    file.raw("timeout_mins", minutes.unwrap_or(OLD_TIMEOUT_MINS));
    if let Some(query) = string(&prompts, "query").filter(|query| *query != "${query}") {
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
    unknown(table, "", &top, &mut dropped);
    unknown(
        &prompts,
        "prompts.",
        &["system_prompt", "query"],
        &mut dropped,
    );
    unknown(&model, "model.", &["model", "temperature"], &mut dropped);
    unknown(&run, "run.", &["max_turns", "timeout_mins"], &mut dropped);
    let body =
        string(&prompts, "system_prompt").ok_or(ImportError::Missing("prompts.system_prompt"))?;
    dropped.extend(template_remarks(body));
    file.finish(&name, body, dropped)
}

fn remote(table: &Table) -> Result<ImportedAgent, ImportError> {
    let mut dropped = Vec::new();
    let mut file = Markdown::new();
    file.raw("kind", "remote");
    let name = head(table, &mut file, &mut dropped)?;
    if let Some(description) = string(table, "description") {
        file.text("description", description);
    }
    file.text(
        "agent_card_url",
        string(table, "agent_card_url").ok_or(ImportError::Missing("agent_card_url"))?,
    );
    let known = [
        "kind",
        "name",
        "description",
        "display_name",
        "agent_card_url",
    ];
    unknown(table, "", &known, &mut dropped);
    file.finish(&name, "", dropped)
}

fn head(
    table: &Table,
    file: &mut Markdown,
    dropped: &mut Vec<String>,
) -> Result<String, ImportError> {
    let written = string(table, "name").ok_or(ImportError::Missing("name"))?;
    let name = slug(written);
    if name != written {
        dropped.push(format!("the name `{written}` became `{name}`"));
    }
    file.text("name", &name);
    if let Some(display_name) = string(table, "display_name") {
        file.text("display_name", display_name);
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

fn unknown(table: &Table, prefix: &str, known: &[&str], dropped: &mut Vec<String>) {
    let others = table.keys().filter(|key| !known.contains(&key.as_str()));
    dropped.extend(
        others.map(|key| format!("`{prefix}{key}` was dropped: agent files have no such key")),
    );
}

fn string<'a>(table: &'a Table, key: &str) -> Option<&'a str> {
    table.get(key)?.as_str()
}
