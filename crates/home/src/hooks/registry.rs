//! All hooks of a workspace, and all that is none.

use std::path::PathBuf;

use super::{Event, Hook, Plan, plan};

/// The hooks of a workspace, in the order in which they were found.
#[derive(Debug, Clone, Default)]
pub struct Registry {
    /// Those that could run.
    pub hooks: Vec<Entry>,
    /// What is written but does not count, and why.
    pub left_out: Vec<LeftOut>,
    /// What Gemini CLI says aloud when it starts with these hooks, in its words.
    pub warnings: Vec<String>,
}

/// A hook and whether it is switched on.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    /// The hook.
    pub hook: Hook,
    /// Whether it runs.
    pub enabled: bool,
    /// The files that switch it off.
    pub disabled_by: Vec<PathBuf>,
}

/// Something that is written where hooks are but does not count.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeftOut {
    /// What it is: a hook's name, an event, a file.
    pub what: String,
    /// The file it is written in.
    pub origin: PathBuf,
    /// Where in it: the keys and indices that lead there.
    pub place: Vec<String>,
    /// Why, in one sentence.
    pub why: String,
}

impl Registry {
    /// The hooks that run at an event. The context is what matchers are compared with: a tool's name, or the word of a
    /// session's event (`startup`, `exit`, `auto`, …).
    pub fn plan(&self, event: Event, context: Option<&str>) -> Plan {
        let enabled = self.hooks.iter().filter(|entry| entry.enabled);
        plan::plan(event, context, enabled.map(|entry| &entry.hook))
    }
}
