//! The hooks of Gemini's settings, for an agent that is spoken to.

use std::path::Path;
use std::sync::Arc;

use lapidary_home::hooks::{Event, Registry};
use lapidary_home::settings::{Settings, Workspace};
use lapidary_home::setup::Setup;
use lapidary_home::{GeminiHome, Vars};

use super::Job;
use crate::hooks::Surroundings;
use crate::talk::Hooks;

/// Between an agent and its model there is no place for us.
const OUT_OF_REACH: [Event; 4] = [
    Event::PreCompress,
    Event::BeforeModel,
    Event::AfterModel,
    Event::BeforeToolSelection,
];

impl Job {
    /// The hooks that are fired around the agent, if that is wanted, and what the user should know about them.
    pub(super) fn hooks(&self, directory: &Path) -> (Option<Hooks>, Vec<String>) {
        if !self.speaking.hooks {
            return (None, Vec::new());
        }
        let mut vars = self.environment.vars.clone();
        if self.config.trust_workspace == Some(true) {
            vars.insert("GEMINI_CLI_TRUST_WORKSPACE".into(), "true".into());
        }
        let seen = Vars::new(&vars);
        let Some(home) = GeminiHome::from_vars(seen, self.environment.home.as_deref()) else {
            let notice = "there is no home, and so there are no hooks".to_owned();
            return (None, vec![notice]);
        };
        let setup = Setup::read(&home, directory, seen);
        let registry = Registry::of(&setup);
        let notices = notices(&registry);
        let variables = self.environment.vars.clone().into_iter().collect();
        let hooks = Hooks {
            around: Surroundings::of(&setup, "", variables),
            registry: Arc::new(registry),
        };
        (Some(hooks), notices)
    }

    /// Whether Gemini's settings name hooks, of whichever generation.
    pub(super) fn has_hooks(&self) -> bool {
        let vars = Vars::new(&self.environment.vars);
        let Some(home) = GeminiHome::from_vars(vars, self.environment.home.as_deref()) else {
            return false;
        };
        let directory = self.config.working_dir_in(&self.environment.dir);
        let settings = Settings::read(&home, &directory);
        let hooks = settings.get(&["hooks"], Workspace::Counts);
        let is_one =
            |hooks: &serde_json::Value| hooks.as_array().is_some_and(|all| !all.is_empty());
        hooks
            .and_then(serde_json::Value::as_object)
            .is_some_and(|hooks| hooks.values().any(is_one))
    }
}

/// What does not run, and why.
fn notices(registry: &Registry) -> Vec<String> {
    let left_out = registry.left_out.iter().map(|left| {
        let (what, origin) = (&left.what, left.origin.display());
        format!("`{what}` of {origin} does not run: {}", left.why)
    });
    let mut notices: Vec<_> = registry.warnings.iter().cloned().chain(left_out).collect();
    let is_enabled = |event: Event| {
        let mut enabled = registry.hooks.iter().filter(|entry| entry.enabled);
        enabled.any(|entry| entry.hook.event == event)
    };
    if !Event::ALL.into_iter().any(is_enabled) {
        notices.push("there are no hooks to run".to_owned());
    }
    let lost = OUT_OF_REACH.into_iter().filter(|event| is_enabled(*event));
    let lost: Vec<_> = lost.map(|event| format!("`{event}`")).collect();
    if !lost.is_empty() {
        notices.push(format!(
            "hooks of {} do not run: what an agent says to its model does not come by here",
            lost.join(", ")
        ));
    }
    notices
}
