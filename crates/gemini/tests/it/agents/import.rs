//! Conversions of other formats.

use std::path::Path;

use lapidary_gemini::agents::{AgentTool, import_claude, import_toml, parse_agents};

fn tools(text: &str) -> Option<Vec<String>> {
    let agents = parse_agents(Path::new("x.md"), text).unwrap();
    let tools = agents[0].as_local().unwrap().tool_config.clone()?.tools;
    Some(
        tools
            .iter()
            .filter_map(AgentTool::name)
            .map(str::to_owned)
            .collect(),
    )
}

#[test]
fn an_agent_of_claude_loses_what_has_no_counterpart_and_never_gains_a_tool() {
    let text = "---\nname: Code Reviewer\ndescription: Use this: always\ntools: Read, Edit, MultiEdit, Bash(git diff, git log), Task, mcp__db__query, mcp__web, NotebookEdit\nmodel: opus\ncolor: red\n---\n\nReview ${FILE}.\n";
    let agent = import_claude(text, "x").unwrap();
    assert_eq!(agent.name, "code-reviewer");
    assert_eq!(
        tools(&agent.text).unwrap(),
        ["read_file", "replace", "mcp_db_query", "mcp_web_*"]
    );
    assert_eq!(
        agent.dropped,
        [
            "the front matter is not YAML: it was read line by line",
            "the name `Code Reviewer` became `code-reviewer`",
            "the tool `Bash(git diff, git log)` was dropped: an agent file cannot limit a tool to some arguments",
            "the tool `Task` was dropped: an agent cannot call agents",
            "the tool `NotebookEdit` was dropped: Gemini CLI has none like it",
            "the model `opus` was dropped: the agent runs on the model of its caller",
            "`color` was dropped: agent files have no such key",
            "the prompt has `${FILE}`, which is read as an input: change it before the agent runs",
        ]
    );
    assert!(
        agent.text.contains("description: \"Use this: always\"\n"),
        "{}",
        agent.text
    );
}

#[test]
fn tools_that_claude_forbids_stay_forbidden() {
    let import = |header: &str| {
        import_claude(
            &format!("---\nname: a\ndescription: b\n{header}---\nx"),
            "a",
        )
        .unwrap()
    };
    let without_bash = tools(&import("disallowedTools: Bash, Write\n").text).unwrap();
    assert!(
        without_bash.contains(&"read_file".to_owned()),
        "{without_bash:?}"
    );
    assert!(
        !without_bash
            .iter()
            .any(|tool| tool == "run_shell_command" || tool == "write_file")
    );
    assert_eq!(tools(&import("tools: [Task]\n").text), Some(Vec::new()));
    assert_eq!(tools(&import("").text), None);
}

#[test]
fn old_toml_becomes_markdown_with_its_old_time_limit() {
    let text = "name = \"planner\"\ndescription = \"Plans\"\ntools = [\"read_file\", \"nope\"]\nextra = 1\n[prompts]\nsystem_prompt = \"Plan.\"\nquery = \"Go\"\n[model]\nmodel = \"gemini-2.5-pro\"\ntemperature = 0.2\n[run]\nmax_turns = 9\n";
    let agents = import_toml(text).unwrap();
    let definition = parse_agents(Path::new("x.md"), &agents[0].text).unwrap();
    let planner = definition[0].as_local().unwrap();
    assert_eq!(
        (
            planner.run_config.max_turns(),
            planner.run_config.max_time_minutes()
        ),
        (9, 5.0)
    );
    assert_eq!(
        planner.prompt_config.system_prompt.as_deref(),
        Some("Plan.")
    );
    assert_eq!(tools(&agents[0].text).unwrap(), ["read_file"]);
    assert_eq!(
        agents[0].dropped,
        [
            "the tool `nope` was dropped: Gemini CLI has no such tool",
            "`prompts.query` was dropped: `Go`; the caller's prompt takes its place",
            "`extra` was dropped: agent files have no such key",
        ]
    );
    let remote =
        import_toml("[[remote_agents]]\nname = \"far\"\nagent_card_url = \"https://a.example\"\n")
            .unwrap();
    assert_eq!(
        parse_agents(Path::new("x.md"), &remote[0].text).unwrap()[0].kind(),
        "remote"
    );
    for bad in [
        "",
        "name = 5",
        "name = \"a\"",
        "[[remote_agents]]\nname = \"a\"\n",
        "= =",
    ] {
        assert!(import_toml(bad).is_err(), "{bad}");
    }
}
