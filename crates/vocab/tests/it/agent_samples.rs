//! Reports about agents with every field.

use lapidary_vocab::agents::{
    ActivityType, AgentAction, AgentChange, AgentCheckReport, AgentFinding, AgentFindingSeverity,
    AgentInfo, AgentKind, AgentList, AgentOrigin, AgentProgram, AgentShown, AgentStanding,
    CHANGE_SCHEMA, CHECK_SCHEMA, ChangedAgent, LIST_SCHEMA, SHOW_SCHEMA, SubagentActivityEvent,
};
use serde_json::json;

pub(crate) fn list() -> AgentList {
    AgentList {
        schema: LIST_SCHEMA.to_owned(),
        programs: vec![AgentProgram {
            name: "gemini".to_owned(),
            installed: true,
            url: Some("wss://agents.example/acp".to_owned()),
            path: Some("/usr/bin/gemini".to_owned()),
            version: Some("0.61.0".to_owned()),
        }],
        definitions: vec![info()],
        warnings: vec!["`x.md` is not an agent".to_owned()],
        notes: vec!["1 agent skipped".to_owned()],
    }
}

fn info() -> AgentInfo {
    AgentInfo {
        name: "reviewer".to_owned(),
        display_name: Some("Reviewer".to_owned()),
        description: "Reviews changes".to_owned(),
        kind: AgentKind::Local,
        source: AgentOrigin::Extension,
        extension_name: Some("ext".to_owned()),
        path: Some("/home/me/.gemini/agents/reviewer.md".to_owned()),
        state: AgentStanding::Disabled,
        reason: Some("`agents.disabled` lists it".to_owned()),
        model: Some("inherit".to_owned()),
        max_turns: Some(30),
        max_time_minutes: Some(2.5),
        tools: Some(vec!["read_file".to_owned()]),
    }
}

pub(crate) fn shown() -> AgentShown {
    AgentShown {
        schema: SHOW_SCHEMA.to_owned(),
        agent: info(),
        system_prompt: Some("Look for bugs.".to_owned()),
        query: Some("${query}".to_owned()),
        input_schema: json!({"type": "object"}),
        output_name: Some("report".to_owned()),
        output_schema: Some(json!({"type": "string"})),
        generate_content_config: Some(json!({"temperature": 1})),
        mcp_servers: vec!["db".to_owned()],
        agent_card_url: Some("https://a.example/card".to_owned()),
        agent_card_json: Some("{}".to_owned()),
        auth_type: Some("http".to_owned()),
        hash: Some("0123".to_owned()),
    }
}

pub(crate) fn check() -> AgentCheckReport {
    AgentCheckReport {
        schema: CHECK_SCHEMA.to_owned(),
        agents: 2,
        errors: 1,
        warnings: 0,
        findings: vec![AgentFinding {
            severity: AgentFindingSeverity::Error,
            path: "/home/me/.gemini/agents/x.md".to_owned(),
            line: Some(5),
            column: Some(3),
            agent: Some("x".to_owned()),
            message: "tools.0: Invalid tool name".to_owned(),
            hint: Some("did you mean `read_file`?".to_owned()),
        }],
    }
}

pub(crate) fn change() -> AgentChange {
    AgentChange {
        schema: CHANGE_SCHEMA.to_owned(),
        action: AgentAction::Import,
        applied: true,
        changed: vec!["/home/me/.gemini/agents/x.md".to_owned()],
        agents: vec![ChangedAgent {
            name: "x".to_owned(),
            imported_from: Some("/home/me/.claude/agents/x.md".to_owned()),
            dropped: vec!["`color` was dropped".to_owned()],
        }],
        remarks: vec!["this workspace is not trusted".to_owned()],
    }
}

pub(crate) fn activity() -> Vec<SubagentActivityEvent> {
    let data = json!({"text": "thinking"});
    let data = data.as_object().cloned().unwrap_or_default();
    vec![SubagentActivityEvent::new(
        "reviewer",
        ActivityType::ThoughtChunk,
        data,
    )]
}
