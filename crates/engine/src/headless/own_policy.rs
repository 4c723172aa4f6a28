//! The agent's own policy for a run: the rules and the mode of the job in the agent's words.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use lapidary_vocab::capabilities::RuleKeeping;

use super::acp_job::ModeFlexibility;
use super::settings_layer::server_names;
use super::{Job, JobError};
use crate::OnViolation;
use crate::agents::own_policy::{
    AskAbility, OwnPolicy, PolicyInput, config_variable, own_policy, rule_keeping,
};
use crate::config::PermissionMode;
use crate::detect::AgentVersion;
use crate::gemini_cli;
use crate::policy::{PermissionEffect, Policy};
use crate::process::Command;
use crate::recording::PolicyFile;
use crate::run::RunRequest;

/// Gemini CLI ignores a policy that it is given by an argument if the system has one of its own.
const SYSTEM_POLICIES: &str = "/etc/gemini-cli/policies";

/// The files of a project that opencode reads, in its directory and the ones above, up to the root of the repository.
const OPENCODE_FILES: [&str; 3] = ["opencode.json", "opencode.jsonc", ".opencode"];

/// The notice for an agent that is not told of the rules.
const WATCHED: &str = "this agent is not told of the rules: a call that it does not ask about is seen only once it runs, and stops the run";

/// The rules of a project that let Codex run commands without asking, in its directory and the ones above.
const CODEX_FILES: [&str; 1] = [".codex/rules"];

/// An agent's own policy, whose file is written.
#[derive(Debug, Default)]
pub(super) struct GivenPolicy {
    pub(super) has_policy: bool,
    pub(super) own: OwnPolicy,
    pub(super) file: Option<PolicyFile>,
}

impl GivenPolicy {
    /// None, of an agent that is not told of the rules. A notice says so if there are rules that it could violate.
    pub(super) fn watched_only(policy: &Policy) -> Self {
        let mut given = Self::default();
        if has_restricting_rule(policy) {
            given.own.notices.push(WATCHED.to_owned());
        }
        given
    }

    /// Adds the arguments and variables that carry the policy.
    pub(super) fn add_to_command(&self, command: &mut Command) {
        command.args(self.own.args.clone());
        command.envs(self.own.env.clone());
    }
}

impl Job {
    /// Tells the agent of a family by its own configuration to ask. The version is that of Gemini CLI, where it is known.
    pub(super) fn give_policy(
        &self,
        policy: &Policy,
        asking: AskAbility,
        version: Option<&AgentVersion>,
    ) -> Result<GivenPolicy, JobError> {
        let provider = self.agent.provider();
        let family = provider.as_str();
        if let Some(obstacle) = policy_obstacle(family, version) {
            return self.policy_not_given(policy, family, &obstacle);
        }
        let root = &self.records.root;
        let name = if family == gemini_cli::NAME {
            "rules.toml"
        } else {
            "settings.json"
        };
        let file = PolicyFile::path(root, &self.options.run, name);
        let directory = self.config.working_dir_in(&self.environment.dir);
        let state = self.permission_watch().state;
        let configured = self.agent_config(family);
        let input = PolicyInput {
            policy,
            state: &state,
            file: &file,
            asking,
            allowed_commands: &self.allowed_commands(),
            servers: &server_names(&self.speaking.mcp_servers),
            project_files: &self.project_files(family, &directory),
            agent_config: configured.as_deref(),
        };
        let Some(mut own) = own_policy(family, &input) else {
            return Ok(GivenPolicy::default());
        };
        if let Some(why) = own.unkept.take() {
            let notice = self.unkept_rule_notice(family, why)?;
            own.notices.push(notice);
        }
        let written = own
            .file
            .as_deref()
            .map(|text| PolicyFile::write(&file, text));
        let written = written.transpose();
        let file = written.map_err(|source| JobError::PolicyFile { path: file, source })?;
        Ok(GivenPolicy {
            has_policy: true,
            own,
            file,
        })
    }

    /// Gives Gemini CLI without ACP its policy: it cannot ask, and denies all calls that no rule allows.
    pub(super) fn deny_by_policy(
        &self,
        request: &mut RunRequest,
        version: Option<&AgentVersion>,
    ) -> Result<(), JobError> {
        request.policy = self.headless_policy();
        let Some(policy) = &request.policy else {
            return Ok(());
        };
        let given = self.give_policy(policy, AskAbility::Impossible, version)?;
        given.add_to_command(&mut request.command);
        request.notices.extend(given.own.notices);
        request.policy_file = given.file;
        request.watch.has_policy = given.has_policy;
        Ok(())
    }

    /// The agent takes no policy. If it never asks about some calls, rules that it could violate are a reason not to start it,
    /// unless violations are only reported.
    fn policy_not_given(
        &self,
        policy: &Policy,
        family: &str,
        obstacle: &PolicyObstacle,
    ) -> Result<GivenPolicy, JobError> {
        let mut given = GivenPolicy::default();
        match obstacle {
            PolicyObstacle::Known(why) if has_restricting_rule(policy) => {
                let notice = self.unkept_rule_notice(family, why.clone())?;
                given.own.notices.push(notice);
            }
            PolicyObstacle::Known(_) => {}
            PolicyObstacle::Unknown => given = GivenPolicy::watched_only(policy),
        }
        Ok(given)
    }

    /// A rule could be violated without a question: a reason not to start, unless violations are only reported.
    fn unkept_rule_notice(&self, family: &str, why: String) -> Result<String, JobError> {
        let agent = family.to_owned();
        if self.permission_watch().on_violation == OnViolation::Stop {
            return Err(JobError::CannotAsk { agent, why });
        }
        Ok(format!(
            "`{agent}` cannot be told to ask ({why}): a call against a rule is seen only once it runs"
        ))
    }

    /// The present value of the variable that carries the agent's configuration.
    fn agent_config(&self, family: &str) -> Option<String> {
        let environment = self.environment_of_agent();
        let value = environment.vars.get(OsStr::new(config_variable(family)?))?;
        value.to_str().map(str::to_owned)
    }

    fn allowed_commands(&self) -> Vec<String> {
        let tools = self.config.allowed_tools.iter().flatten();
        let commands = tools.filter_map(|tool| gemini_cli::allowed_command(tool));
        commands.map(str::to_owned).collect()
    }

    /// Configuration of the project that could allow more than the rules do, and that the user does not vouch for.
    fn project_files(&self, family: &str, directory: &Path) -> Vec<String> {
        let names: &[&str] = match family {
            _ if self.config.trust_workspace == Some(true) => &[],
            "opencode" => &OPENCODE_FILES,
            "codex" => &CODEX_FILES,
            _ => &[],
        };
        let mut found = Vec::new();
        for place in directory.ancestors() {
            let files = names.iter().map(|name| place.join(name));
            let files = files.filter(|file| file.exists());
            found.extend(files.map(|file| shown_path(&file, directory)));
            if place.join(".git").exists() {
                break;
            }
        }
        found
    }
}

/// Whether a rule denies or asks.
fn has_restricting_rule(policy: &Policy) -> bool {
    let mut rules = policy.rules().iter();
    rules.any(|rule| rule.then != PermissionEffect::Allow)
}

/// The policy that the agent gets. A client program may change the mode later.
pub(super) fn policy_for_agent(policy: &Policy, mode: ModeFlexibility) -> Policy {
    let mut told = policy.clone();
    let is_open = told.mode() == PermissionMode::BypassPermissions;
    if mode == ModeFlexibility::Possible && is_open {
        told.set_mode(PermissionMode::Default);
    }
    told
}

/// Why an agent takes no policy.
enum PolicyObstacle {
    /// It is known, and has no way.
    Known(String),
    /// It is not known.
    Unknown,
}

fn policy_obstacle(family: &str, version: Option<&AgentVersion>) -> Option<PolicyObstacle> {
    if rule_keeping(family, None) == RuleKeeping::Watched {
        return Some(PolicyObstacle::Unknown);
    }
    if family != gemini_cli::NAME {
        return None;
    }
    match version {
        None => Some(PolicyObstacle::Unknown),
        Some(version) if !version.has(gemini_cli::OWN_POLICY) => {
            Some(PolicyObstacle::Known(format!(
                "versions before 0.61 are not known to keep to an `--admin-policy`, and this is {version}"
            )))
        }
        Some(_) if has_system_policies() => Some(PolicyObstacle::Known(format!(
            "`{SYSTEM_POLICIES}` outweighs it"
        ))),
        Some(_) => None,
    }
}

fn has_system_policies() -> bool {
    let entries = std::fs::read_dir(SYSTEM_POLICIES).into_iter().flatten();
    let mut names = entries
        .flatten()
        .map(|entry| PathBuf::from(entry.file_name()));
    names.any(|name| name.extension().is_some_and(|ending| ending == "toml"))
}

/// A file by its name in the directory, or by its whole path.
fn shown_path(file: &Path, directory: &Path) -> String {
    let name = file.strip_prefix(directory).unwrap_or(file);
    format!("`{}`", name.display())
}
