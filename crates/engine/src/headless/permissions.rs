//! How the calls of a job's agent are watched: by which rules and mode, and which directories of its own the agent may use.

use std::path::{Path, PathBuf};

use lapidary_vocab::event::Provider;

use super::{Job, JobAgent};
use crate::PermissionWatch;
use crate::config::PermissionMode;
use crate::detect::SearchEnvironment;
use crate::gemini_cli;
use crate::policy::Policy;

/// The directories of agents' own state below the home directory: the ones that they may read, and the ones for plans and notes
/// that they write in plan mode without asking.
const OWN: &[(&str, &[&str], &[&str])] = &[
    ("gemini", &[".gemini"], &[".gemini/tmp"]),
    ("claude", &[".claude"], &[".claude/plans"]),
    ("qwen", &[".qwen"], &[".qwen/tmp"]),
    ("codex", &[".codex"], &[]),
    (
        "opencode",
        &[".local/share/opencode", ".config/opencode"],
        &[".local/share/opencode/plans"],
    ),
];

/// Variables that name the directory instead. Gemini CLI's has `.gemini` below it.
const MOVED: &[(&str, &str, &str)] = &[
    ("gemini", "GEMINI_CLI_HOME", ".gemini"),
    ("claude", "CLAUDE_CONFIG_DIR", ""),
    ("codex", "CODEX_HOME", ""),
    ("opencode", "XDG_DATA_HOME", "opencode"),
];

impl Job {
    /// How calls without permission are found.
    pub(super) fn permission_watch(&self) -> PermissionWatch {
        let provider = self.agent.provider();
        let family = provider.as_str();
        PermissionWatch {
            on_violation: self.config.on_violation.unwrap_or_default(),
            is_gemini: provider == Provider::Gemini,
            has_policy: false,
            state: own_directories(family, &self.environment_of_agent(), |row| row.1),
            notes: own_directories(family, &self.environment_of_agent(), |row| row.2),
        }
    }

    /// The policy for Gemini CLI where it never asks. Arguments of the user's own that choose the mode or allow tools come first:
    /// then only rules count.
    pub(super) fn headless_policy(&self) -> Option<Policy> {
        if self.agent != JobAgent::Gemini {
            return None;
        }
        let directory = self.config.working_dir_in(&self.environment.dir);
        let mut policy = self.effective_policy(&self.workspace_roots(directory));
        if gemini_cli::sets_permissions(&self.extra_args) {
            policy.set_mode(PermissionMode::BypassPermissions);
        }
        Some(policy)
    }
}

/// The directories of an agent's own state, which it may read without asking.
pub fn state_directories(family: &str, environment: &SearchEnvironment) -> Vec<PathBuf> {
    own_directories(family, environment, |row| row.1)
}

/// An agent's own directories: its family, the ones it may read, and the ones it may write.
type OwnRow = (
    &'static str,
    &'static [&'static str],
    &'static [&'static str],
);

fn own_directories(
    family: &str,
    environment: &SearchEnvironment,
    pick: impl Fn(&OwnRow) -> &'static [&'static str],
) -> Vec<PathBuf> {
    let names = OWN.iter().filter(|row| row.0 == family).flat_map(pick);
    let home = environment.home.as_deref().unwrap_or(Path::new("/"));
    let usual = names.map(|name| home.join(name));
    let moved = MOVED.iter().filter(|row| row.0 == family);
    let moved = moved.filter_map(|(_, variable, below)| {
        let place = environment.vars.get(std::ffi::OsStr::new(variable))?;
        Some(Path::new(place).join(below)).filter(|place| place.is_absolute())
    });
    let all: Vec<_> = usual.chain(moved).collect();
    let real = all.iter().filter_map(|place| place.canonicalize().ok());
    let real: Vec<_> = real.collect();
    all.into_iter().chain(real).collect()
}
