//! Findings about agent files, each with its position: everything that Gemini CLI refuses, and errors that it reports only when
//! an agent runs.

use std::path::{Path, PathBuf};

use super::failure::in_file;
use super::frontmatter::{self, Frontmatter, MCP_SERVER, REMOTE_AUTH};
use super::load::{IgnoredFile, load_agents};
use super::template::{RUNTIME_INPUTS, template_names};
use super::tool_names::nearest_tool;
use super::{
    AcknowledgedAgents, AgentDefinition, AgentLoadError, AgentRegistry, AgentSource, AgentState,
    load_agent_file,
};
use crate::file;
use crate::notice::{FileNotice, TextPosition};
use crate::setup::Setup;
use crate::skills;
use crate::yaml::{self, Yaml, YamlPlaces};

/// An error or a warning about an agent file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentFinding {
    /// How bad it is.
    pub severity: AgentSeverity,
    /// The file.
    pub path: PathBuf,
    /// Where in it.
    pub place: Option<TextPosition>,
    /// The agent, if the file is one.
    pub agent: Option<String>,
    /// What there is to know, as a sentence.
    pub sentence: String,
    /// What to do about it.
    pub hint: Option<String>,
}

/// How bad a finding is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum AgentSeverity {
    /// The agent cannot be used.
    Error,
    /// The agent counts, or would, but not as it is written.
    Warning,
    /// It may be meant so.
    Note,
}

/// The findings, and how many agents were read.
#[derive(Debug, Default)]
pub struct AgentCheck {
    /// The agents that could be read.
    pub agents: usize,
    /// What there is to say about them and the other files, file by file.
    pub findings: Vec<AgentFinding>,
}

/// Checks the agents of a workspace.
pub fn check_agents(setup: &Setup, main_model: &str) -> AgentCheck {
    let registry = AgentRegistry::load(setup, main_model);
    let acknowledged = AcknowledgedAgents::read(&setup.home);
    let mut check = AgentCheck::default();
    check.add_errors(&registry.errors);
    check.add_errors(&registry.inactive_errors);
    if let Some(problem) = acknowledged.problem() {
        let sentence = format!("{problem}; Gemini CLI takes it for empty");
        check.add_finding(AgentSeverity::Warning, acknowledged.path(), sentence);
    }
    for found in registry.discovered() {
        if found.source == AgentSource::Builtin {
            continue;
        }
        check.agents += 1;
        check.check_definition(&found.definition);
        let was_known = acknowledged.has_name(&setup.workspace, found.definition.name());
        check.check_state(&found.definition, &found.state, was_known);
    }
    check.add_ignored(&registry.ignored);
    check.into_sorted()
}

/// Checks one file, or the files of one directory, wherever they are.
pub fn check_path(path: &Path) -> AgentCheck {
    let mut check = AgentCheck::default();
    let (agents, errors) = if path.is_dir() {
        let loaded = load_agents(path);
        check.add_ignored(&loaded.ignored);
        (loaded.agents, loaded.errors)
    } else {
        match load_agent_file(path) {
            Ok(agents) => (agents, Vec::new()),
            Err(error) => (Vec::new(), vec![error]),
        }
    };
    check.add_errors(&errors);
    check.agents = agents.len();
    let mut names = std::collections::HashSet::new();
    for agent in &agents {
        check.check_definition(agent);
        if !names.insert(agent.name()) {
            check.check_state(agent, &AgentState::Duplicate, false);
        }
    }
    check.into_sorted()
}

impl AgentCheck {
    /// How many findings are of a severity.
    pub fn count(&self, severity: AgentSeverity) -> usize {
        let findings = self.findings.iter();
        findings
            .filter(|finding| finding.severity == severity)
            .count()
    }

    fn add_finding(
        &mut self,
        severity: AgentSeverity,
        path: &Path,
        sentence: String,
    ) -> &mut AgentFinding {
        self.findings.push(AgentFinding {
            severity,
            path: path.to_owned(),
            place: None,
            agent: None,
            sentence,
            hint: None,
        });
        let last = self.findings.len() - 1;
        &mut self.findings[last]
    }

    fn add_errors(&mut self, errors: &[AgentLoadError]) {
        for error in errors {
            let is_claude = is_claude_file(&error.path);
            for FileNotice {
                path,
                place,
                sentence,
                ..
            } in error.notices()
            {
                let hint = tool_hint(&path, place, &sentence)
                    .or_else(|| is_claude.then(|| claude_hint(&path)));
                let finding = self.add_finding(AgentSeverity::Error, &path, sentence);
                finding.place = place;
                finding.hint = hint;
            }
        }
    }

    /// Adds the errors that Gemini CLI reports only when the agent runs, and the keys that it drops silently.
    fn check_definition(&mut self, agent: &AgentDefinition) {
        let Some(path) = agent
            .metadata()
            .and_then(|metadata| metadata.file_path.clone())
        else {
            return;
        };
        let name = Some(agent.name().to_owned());
        let text = file::text(&path).ok().flatten().unwrap_or_default();
        if let Some(local) = agent.as_local() {
            if local
                .prompt_config
                .system_prompt
                .as_deref()
                .is_none_or(str::is_empty)
            {
                let sentence = "has no instructions below its front matter: every run of it fails";
                self.add_finding(AgentSeverity::Error, &path, sentence.to_owned())
                    .agent
                    .clone_from(&name);
            }
            for (unknown, place) in unknown_inputs(agent, &text) {
                let sentence = format!(
                    "`${{{unknown}}}` is not an input: every run of it fails (inputs: {})",
                    known_inputs(agent).join(", ")
                );
                let finding = self.add_finding(AgentSeverity::Error, &path, sentence);
                finding.place = place;
                finding.agent.clone_from(&name);
            }
        }
        for (place, sentence) in dropped_keys(&text) {
            let finding = self.add_finding(AgentSeverity::Warning, &path, sentence);
            finding.place = place;
            finding.agent.clone_from(&name);
        }
    }

    fn check_state(&mut self, agent: &AgentDefinition, state: &AgentState, was_known: bool) {
        let Some(path) = agent
            .metadata()
            .and_then(|metadata| metadata.file_path.clone())
        else {
            return;
        };
        let name = agent.name();
        let (severity, sentence, hint) = match state {
            AgentState::Active => return,
            AgentState::Duplicate => (
                AgentSeverity::Warning,
                format!("another agent is called `{name}` and counts"),
                Some("rename one of them".to_owned()),
            ),
            AgentState::Unacknowledged if was_known => (
                AgentSeverity::Warning,
                "has changed since it was acknowledged: it does not count".to_owned(),
                Some(format!("read it, then `lapidary agents ack {name}`")),
            ),
            AgentState::Unacknowledged => (
                AgentSeverity::Warning,
                "is not acknowledged: it does not count".to_owned(),
                Some(format!("read it, then `lapidary agents ack {name}`")),
            ),
            AgentState::Untrusted => (
                AgentSeverity::Warning,
                "does not count: the workspace is not trusted".to_owned(),
                Some(
                    "`--trust-workspace` trusts it for one run; `gemini` asks for good when it starts there"
                        .to_owned(),
                ),
            ),
            AgentState::Incomplete => (
                AgentSeverity::Warning,
                "has no name or no description".to_owned(),
                None,
            ),
            AgentState::InactiveExtension => (
                AgentSeverity::Note,
                "does not count: its extension is not active".to_owned(),
                None,
            ),
            AgentState::SwitchedOff => (
                AgentSeverity::Note,
                "does not count: `experimental.enableAgents` is false".to_owned(),
                None,
            ),
            AgentState::Disabled(by) => (
                AgentSeverity::Note,
                format!("is disabled: {}", by.reason(name)),
                None,
            ),
        };
        let finding = self.add_finding(severity, &path, sentence);
        finding.agent = Some(name.to_owned());
        finding.hint = hint;
    }

    fn add_ignored(&mut self, ignored: &[IgnoredFile]) {
        for IgnoredFile { path, reason } in ignored {
            let is_toml = path.extension().is_some_and(|it| it == "toml");
            let severity = if is_toml {
                AgentSeverity::Warning
            } else {
                AgentSeverity::Note
            };
            let finding = self.add_finding(severity, path, format!("is passed over: it {reason}"));
            finding.hint = is_toml.then(|| {
                format!(
                    "`lapidary agents import --from-toml {}` makes an agent of it",
                    path.display()
                )
            });
        }
    }

    fn into_sorted(mut self) -> Self {
        self.findings.sort_by(|one, other| {
            (&one.path, one.place, one.severity).cmp(&(&other.path, other.place, other.severity))
        });
        self
    }
}

fn known_inputs(agent: &AgentDefinition) -> Vec<&str> {
    let own = agent.input_config().names().into_iter();
    own.chain(RUNTIME_INPUTS).collect()
}

/// Names in templates that are no inputs, and where they stand.
fn unknown_inputs(agent: &AgentDefinition, text: &str) -> Vec<(String, Option<TextPosition>)> {
    let Some(local) = agent.as_local() else {
        return Vec::new();
    };
    let known = known_inputs(agent);
    let templates = local.prompt_config.templates();
    let names = templates
        .iter()
        .flat_map(|template| template_names(template));
    let unknown = names.filter(|name| !known.contains(name));
    unknown
        .map(|name| (name.to_owned(), place_of(text, &format!("${{{name}}}"))))
        .collect()
}

fn place_of(text: &str, needle: &str) -> Option<TextPosition> {
    let before = &text[..text.find(needle)?];
    let start = before.rfind('\n').map_or(0, |at| at + 1);
    Some(TextPosition {
        line: before.matches('\n').count() + 1,
        column: before[start..].chars().count() + 1,
    })
}

/// Keys of MCP servers and of `auth` that Gemini CLI drops without a word.
fn dropped_keys(text: &str) -> Vec<(Option<TextPosition>, String)> {
    let Ok((header, _)) = skills::split_frontmatter(text) else {
        return Vec::new();
    };
    let places = YamlPlaces::read(header);
    let mut dropped = Vec::new();
    let mut say = |path: &[&str], key: &str| {
        let place = places.find(path.iter().chain([&key]));
        dropped.push((
            place.map(in_file),
            format!(
                "`{}.{key}` is dropped: there is no such key",
                path.join(".")
            ),
        ));
    };
    match frontmatter::read_frontmatter(text) {
        Ok(Frontmatter::Local { header, .. }) => {
            if let Some(Yaml::Map(servers)) = header.get("mcp_servers") {
                for (name, server) in servers {
                    let unknown = MCP_SERVER.unknown_keys(server);
                    for key in unknown {
                        say(&["mcp_servers", name], key);
                    }
                }
            }
        }
        Ok(Frontmatter::Remote(agents)) => {
            let is_list = matches!(yaml::load(header), Ok(Yaml::List(_)));
            for (place, agent) in agents.iter().enumerate() {
                let Some(auth) = agent.get("auth") else {
                    continue;
                };
                let kind = auth.get("type").and_then(Yaml::as_text);
                let shape = REMOTE_AUTH.iter().find(|(name, _)| Some(*name) == kind);
                let unknown = shape
                    .map(|(_, shape)| shape.unknown_keys(auth))
                    .unwrap_or_default();
                let number = place.to_string();
                let path: &[&str] = if is_list {
                    &[&number, "auth"]
                } else {
                    &["auth"]
                };
                for key in unknown {
                    say(path, key);
                }
            }
        }
        Err(_) => {}
    }
    dropped
}

/// The tool that was meant, where a name is none.
fn tool_hint(path: &Path, place: Option<TextPosition>, sentence: &str) -> Option<String> {
    if !sentence.ends_with("Invalid tool name") {
        return None;
    }
    let text = file::text(path).ok()??;
    let place = place?;
    let line = text.lines().nth(place.line.checked_sub(1)?)?;
    let word: String = line.chars().skip(place.column - 1).collect();
    let is_word = |letter: char| letter.is_alphanumeric() || "_-.:*".contains(letter);
    let word: String = word
        .trim_start_matches(['"', '\''])
        .chars()
        .take_while(|letter| is_word(*letter))
        .collect();
    let meant = super::import::claude_tool(&word).or_else(|| nearest_tool(&word))?;
    Some(format!("did you mean `{meant}`?"))
}

/// Whether a file looks like one of Claude's agents, which Gemini CLI refuses.
fn is_claude_file(path: &Path) -> bool {
    let text = file::text(path).ok().flatten().unwrap_or_default();
    let Ok((header, _)) = skills::split_frontmatter(&text) else {
        return false;
    };
    let starts = |key: &str| header.lines().any(|line| line.starts_with(key));
    let has_text_of_tools = header
        .lines()
        .any(|line| line.starts_with("tools: ") && !line.contains('['));
    starts("color:") || starts("permissionMode:") || starts("skills:") || has_text_of_tools
}

fn claude_hint(path: &Path) -> String {
    format!(
        "this looks like an agent of Claude: `lapidary agents import --from-claude {}` converts it",
        path.display()
    )
}
