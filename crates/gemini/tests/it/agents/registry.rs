//! Which agents count: precedence, duplicates, trust, acknowledgement, settings.

use lapidary_gemini::agents::{
    AcknowledgedAgents, AgentRegistry, AgentReloadSummary, AgentSource, AgentState, AgentTool,
    DisabledBy, disable_agent, enable_agent,
};
use lapidary_gemini::settings::SettingsScope;

use super::{agent, trusted};
use crate::machine::Machine;

const PROJECT: &str = "home/code/project/.gemini/agents";
const USER: &str = "home/.gemini/agents";
const SETTINGS: &str = "home/.gemini/settings.json";

fn load(machine: &Machine) -> AgentRegistry {
    AgentRegistry::load(&machine.setup(), "gemini-2.5-pro")
}

fn acknowledge_all(machine: &Machine) {
    let setup = machine.setup();
    let registry = AgentRegistry::load(&setup, "");
    let agents = registry
        .discovered()
        .iter()
        .filter(|agent| agent.source == AgentSource::Project);
    let mut acknowledged = AcknowledgedAgents::read(&setup.home);
    acknowledged
        .acknowledge(&setup.workspace, agents.map(|agent| &agent.definition))
        .unwrap();
}

fn states(registry: &AgentRegistry) -> Vec<(String, AgentSource, AgentState)> {
    let agents = registry.discovered().iter();
    let agents = agents.filter(|agent| agent.source != AgentSource::Builtin);
    agents
        .map(|agent| {
            (
                agent.definition.name().to_owned(),
                agent.source.clone(),
                agent.state.clone(),
            )
        })
        .collect()
}

#[test]
fn the_first_agent_of_a_name_counts_and_later_ones_are_named_as_duplicates() {
    let machine = trusted()
        .file(&format!("{PROJECT}/one.md"), &agent("one", ""))
        .file(
            &format!("{PROJECT}/generalist.md"),
            &agent("generalist", ""),
        )
        .file(&format!("{USER}/one.md"), &agent("one", "model: other\n"))
        .file(&format!("{USER}/two.md"), &agent("two", ""))
        .file(
            "home/.gemini/extensions/ext/gemini-extension.json",
            r#"{"name": "ext", "version": "1"}"#,
        )
        .file(
            "home/.gemini/extensions/ext/agents/two.md",
            &agent("two", ""),
        )
        .file(
            "home/.gemini/extensions/ext/agents/three.md",
            &agent("three", "").replace("Be three", "In ${extensionPath}"),
        );
    acknowledge_all(&machine);
    let registry = load(&machine);
    let extension = AgentSource::Extension("ext".to_owned());
    let expected = [
        ("generalist", AgentSource::Project, AgentState::Duplicate),
        ("one", AgentSource::Project, AgentState::Active),
        ("one", AgentSource::User, AgentState::Duplicate),
        ("two", AgentSource::User, AgentState::Active),
        ("three", extension.clone(), AgentState::Active),
        ("two", extension, AgentState::Duplicate),
    ];
    let expected = expected.map(|(name, source, state)| (name.to_owned(), source, state));
    assert_eq!(states(&registry), expected);
    assert_eq!(
        registry.warnings[0],
        "Duplicate agent name 'generalist' detected. The later definition will be ignored. Rename one of the agents to avoid this conflict."
    );
    let names: Vec<_> = registry
        .get_all_agents()
        .iter()
        .map(|agent| agent.name())
        .collect();
    assert_eq!(
        names,
        [
            "codebase_investigator",
            "cli_help",
            "generalist",
            "one",
            "two",
            "three"
        ]
    );
    let three = registry.get_agent("three").unwrap().as_local().unwrap();
    let prompt = three.prompt_config.system_prompt.as_deref().unwrap();
    assert!(prompt.contains("/extensions/ext"), "{prompt}");
}

#[test]
fn agents_of_an_untrusted_workspace_do_not_count() {
    let settings = r#"{"security": {"folderTrust": {"enabled": true}}}"#;
    let machine = Machine::new()
        .file(SETTINGS, settings)
        .file(&format!("{PROJECT}/one.md"), &agent("one", ""))
        .file(&format!("{PROJECT}/bad.md"), "no agent")
        .file(&format!("{USER}/two.md"), &agent("two", ""));
    let registry = load(&machine);
    let states: Vec<_> = states(&registry)
        .into_iter()
        .map(|(name, _, state)| (name, state))
        .collect();
    let expected = [("one", AgentState::Untrusted), ("two", AgentState::Active)];
    assert_eq!(
        states,
        expected.map(|(name, state)| (name.to_owned(), state))
    );
    assert!(registry.errors.is_empty(), "{:?}", registry.errors);
    assert!(registry.get_agent("one").is_none());
}

#[test]
fn an_agent_of_a_workspace_counts_from_its_acknowledgement_until_its_file_changes() {
    let path = format!("{PROJECT}/one.md");
    let machine = trusted().file(&path, &agent("one", ""));
    let state = |machine: &Machine| load(machine).get_discovered("one").unwrap().state.clone();
    assert_eq!(state(&machine), AgentState::Unacknowledged);
    acknowledge_all(&machine);
    assert_eq!(state(&machine), AgentState::Active);
    let before = load(&machine);
    let machine = machine.file(&path, &agent("one", "max_turns: 3\n"));
    assert_eq!(state(&machine), AgentState::Unacknowledged);
    let gone = AgentReloadSummary::between(&before, &load(&machine));
    assert_eq!(
        (gone.total_loaded, &*gone.deleted_agents),
        (3, &["one".to_owned()][..])
    );
    acknowledge_all(&machine);
    let changed = AgentReloadSummary::between(&before, &load(&machine));
    assert_eq!(changed.updated_agents, ["one"]);
}

#[test]
fn settings_disable_agents_by_override_then_by_list() {
    let settings = r#"{"agents": {
        "enabled": ["codebase-investigator", "one", "two"],
        "disabled": ["two", "codebase-investigator"],
        "overrides": {"one": {"enabled": false}, "cli_help": {"enabled": true}}
    }}"#;
    let machine = trusted()
        .file(SETTINGS, settings)
        .file(&format!("{USER}/one.md"), &agent("one", ""))
        .file(&format!("{USER}/two.md"), &agent("two", ""));
    let registry = load(&machine);
    let state = |name: &str| registry.get_discovered(name).unwrap().state.clone();
    assert_eq!(state("one"), AgentState::Disabled(DisabledBy::Override));
    assert_eq!(state("two"), AgentState::Disabled(DisabledBy::DisabledList));
    assert_eq!(
        state("codebase-investigator"),
        AgentState::Disabled(DisabledBy::DisabledList)
    );
    assert_eq!(state("cli-help"), AgentState::Active);
    assert_eq!(
        state("generalist"),
        AgentState::Disabled(DisabledBy::EnabledList)
    );
}

#[test]
fn overrides_change_limits_model_tools_and_servers_of_local_agents() {
    let settings = r#"{"agents": {"overrides": {"one": {
        "runConfig": {"maxTurns": 7},
        "modelConfig": {"model": "gemini-3-pro", "generateContentConfig": {"topP": 0.5, "thinkingConfig": {"thinkingBudget": 1}}},
        "tools": ["glob"],
        "mcpServers": {"b": {"command": "x"}}
    }}}}"#;
    let file = agent(
        "one",
        "timeout_mins: 2\ntemperature: 0.3\ntools: [read_file]\nmcp_servers:\n  a: {url: 'http://a'}\n",
    );
    let machine = trusted()
        .file(SETTINGS, settings)
        .file(&format!("{USER}/one.md"), &file);
    let registry = load(&machine);
    let one = registry.get_agent("one").unwrap().as_local().unwrap();
    assert_eq!(
        (
            one.run_config.max_turns(),
            one.run_config.max_time_minutes()
        ),
        (7, 2.0)
    );
    assert_eq!(one.model_config.model.as_deref(), Some("gemini-3-pro"));
    let config = one.model_config.generate_content_config.as_ref().unwrap();
    assert_eq!(
        config,
        &serde_json::json!({"temperature": 0.3, "topP": 0.5, "thinkingConfig": {"thinkingBudget": 1}})
    );
    assert_eq!(
        one.tool_config.as_ref().unwrap().tools,
        [AgentTool::Name("glob".to_owned())]
    );
    let servers: Vec<_> = one
        .mcp_servers
        .iter()
        .map(|(name, _)| name.as_str())
        .collect();
    assert_eq!(servers, ["a", "b"]);
    assert_eq!(registry.get_model_config_alias(one), "one-config");
}

#[test]
fn an_override_limits_the_time_of_a_remote_agent() {
    let settings = r#"{"agents": {"overrides": {"far": {"runConfig": {"maxTimeMinutes": 2.5, "maxTurns": 3}}}}}"#;
    let file = |name: &str| {
        format!("---\nkind: remote\nname: {name}\nagent_card_url: http://127.0.0.1:1/card\n---\n")
    };
    let machine = trusted()
        .file(SETTINGS, settings)
        .file(&format!("{USER}/far.md"), &file("far"))
        .file(&format!("{USER}/near.md"), &file("near"));
    let registry = load(&machine);
    let minutes = |name: &str| {
        let agent = registry.get_agent(name).unwrap().as_remote().unwrap();
        agent.max_time_minutes
    };
    assert_eq!((minutes("far"), minutes("near")), (Some(2.5), None));
}

#[test]
fn agents_that_a_setting_switches_off_stay_discovered() {
    let settings = r#"{"experimental": {"enableAgents": false}}"#;
    let registry = load(&trusted().file(SETTINGS, settings));
    assert!(registry.get_all_agents().is_empty());
    assert_eq!(
        registry.get_discovered("cli_help").unwrap().state,
        AgentState::SwitchedOff
    );
}

#[test]
fn disabling_and_enabling_writes_the_override_and_keeps_the_rest_of_the_file() {
    let machine = trusted().file(SETTINGS, "{\n  // mine\n  \"ui\": {}\n}\n");
    let disabled = disable_agent(&machine.setup(), "cli-help", SettingsScope::User).unwrap();
    assert_eq!(
        (disabled.name.as_str(), disabled.modified.len()),
        ("cli_help", 1)
    );
    let text = std::fs::read_to_string(machine.path(SETTINGS)).unwrap();
    assert!(text.contains("// mine"), "{text}");
    assert!(load(&machine).get_agent("cli_help").is_none());
    assert_eq!(
        disable_agent(&machine.setup(), "cli_help", SettingsScope::User)
            .unwrap()
            .modified,
        []
    );
    enable_agent(&machine.setup(), "cli_help", None).unwrap();
    assert!(load(&machine).get_agent("cli-help").is_some());
}

#[test]
fn built_in_agents_have_the_inputs_results_limits_and_tools_of_gemini_cli() {
    let registry = load(&trusted());
    let told = registry.get_all_agents().into_iter().map(|agent| {
        let agent = agent.as_local().unwrap();
        let tools = agent
            .tool_config
            .iter()
            .flat_map(|config| config.tools.iter().filter_map(AgentTool::name));
        format!(
            "{} {:?} {} {} turns {} min {:?} {}",
            agent.name,
            agent.input_config.names(),
            agent.output_config.as_ref().unwrap().output_name,
            agent.run_config.max_turns(),
            agent.run_config.max_time_minutes(),
            tools.collect::<Vec<_>>(),
            agent.model_config.model.as_deref().unwrap(),
        )
    });
    assert_eq!(
        told.collect::<Vec<_>>(),
        [
            r#"codebase_investigator ["objective"] report 50 turns 10 min ["list_directory", "read_file", "glob", "grep_search"] gemini-2.5-pro"#,
            r#"cli_help ["question"] report 10 turns 3 min ["get_internal_docs"] flash"#,
            r#"generalist ["request"] result 20 turns 10 min [] inherit"#,
        ]
    );
    let help = registry.get_agent("cli_help").unwrap().as_local().unwrap();
    let output = serde_json::json!({"answer": " Yes. ", "sources": ["a.md", " a.md", "", "b.md"]});
    let text = help.process_output.as_ref().unwrap().process(&output);
    assert_eq!(text, "Yes.\n\n**Sources:**\n- a.md\n- b.md");
}
