//! The hooks of Gemini's settings, for an agent over ACP.

use std::path::Path;
use std::sync::Arc;

use lapidary_gemini::hooks::{HookEntry, HookEvent, HookRegistry, LeftOut, UnusableFile};
use lapidary_gemini::settings::{Settings, WorkspaceTrust};
use lapidary_gemini::setup::Setup;
use lapidary_gemini::{FileNotice, GeminiHome, Vars};

use super::{Job, JobAgent, JobError};
use crate::agent_hooks::{ConversationHooks, OUT_OF_REACH};
use crate::config::TransportChoice;
use crate::hooks::{HookContext, hook_name};

impl Job {
    /// The hooks that run around the agent, if the job wants them, and notices about them for the user. A file that may hold
    /// hooks and cannot be used is an error: the user relies on the hooks in it.
    pub(super) fn conversation_hooks(
        &self,
        directory: &Path,
    ) -> Result<(Option<ConversationHooks>, Vec<String>), JobError> {
        if !self.fires_hooks() {
            return Ok((None, Vec::new()));
        }
        let (setup, registry) = self.hook_setup(directory)?;
        let is_local = matches!(self.agent, JobAgent::InProcess(_));
        let out_of_reach = if is_local { &[][..] } else { &OUT_OF_REACH };
        refuse_distrust(&setup, out_of_reach)?;
        let mut notices = hook_notices(&registry);
        notices.extend(not_loaded(&setup));
        let variables = self.environment.vars.clone().into_iter().collect();
        let hooks = ConversationHooks {
            around: HookContext::from_setup(&setup, "", variables),
            store: self.gemini_store(),
            registry: Arc::new(registry),
        };
        Ok((Some(hooks), notices))
    }

    /// Reads the setup and its hooks. An error if a file that may hold hooks cannot be used.
    pub(super) fn hook_setup(&self, directory: &Path) -> Result<(Setup, HookRegistry), JobError> {
        let mut vars = self.environment.vars.clone();
        if self.config.trust_workspace == Some(true) {
            vars.insert("GEMINI_CLI_TRUST_WORKSPACE".into(), "true".into());
        }
        let seen = Vars::new(&vars);
        let home = GeminiHome::from_vars(seen, self.environment.home.as_deref());
        let home = home.ok_or(JobError::NoHome)?;
        let setup = Setup::read(&home, directory, seen);
        let registry = HookRegistry::from_setup(&setup);
        if let Some(UnusableFile { path, why }) = registry.unusable(&setup) {
            return Err(JobError::HookFile { path, why });
        }
        Ok((setup, registry))
    }

    /// Whether we fire hooks: by `--hooks`, and around Gemini CLI where we chose ACP. Headless it runs its hooks itself, over
    /// ACP not all of them, and a guard must not depend on the transport.
    fn fires_hooks(&self) -> bool {
        let is_auto = self.config.transport.unwrap_or_default() == TransportChoice::Auto;
        self.speaking.hooks || (self.agent == JobAgent::Gemini && is_auto && self.has_hooks())
    }

    /// Whether Gemini's settings have a list of hooks that is not empty, under any event name.
    pub(super) fn has_hooks(&self) -> bool {
        let vars = Vars::new(&self.environment.vars);
        let Some(home) = GeminiHome::from_vars(vars, self.environment.home.as_deref()) else {
            return false;
        };
        let directory = self.config.working_dir_in(&self.environment.dir);
        let settings = Settings::read(&home, &directory);
        let hooks = settings.get(&["hooks"], WorkspaceTrust::Counts);
        let is_one =
            |hooks: &serde_json::Value| hooks.as_array().is_some_and(|all| !all.is_empty());
        hooks
            .and_then(serde_json::Value::as_object)
            .is_some_and(|hooks| hooks.values().any(is_one))
    }
}

/// Hooks that are skipped only because the folder is not trusted may be the user's guard, so a run does not start without them.
fn refuse_distrust(setup: &Setup, out_of_reach: &[HookEvent]) -> Result<(), JobError> {
    let is_in_reach = |event: &HookEvent| !out_of_reach.contains(event);
    let withheld = HookRegistry::withheld(setup);
    let mut events: Vec<HookEvent> = withheld.iter().map(|hook| hook.event).collect();
    events.retain(is_in_reach);
    if events.is_empty() {
        return Ok(());
    }
    Err(JobError::UntrustedHooks {
        directory: setup.workspace.clone(),
        hooks: events.len(),
        trust: setup.trust.clone(),
    })
}

/// Extensions that have hooks and are none for Gemini CLI either.
fn not_loaded(setup: &Setup) -> impl Iterator<Item = String> {
    let notices = setup.notices.iter();
    let has_hooks = |notice: &&FileNotice| notice.path.join("hooks/hooks.json").exists();
    notices.filter(has_hooks).map(FileNotice::to_string)
}

/// Notices about hooks that do not run, with the reason.
fn hook_notices(registry: &HookRegistry) -> Vec<String> {
    let left_out = registry.left_out.iter().map(|left| {
        let (what, origin) = (&left.what, left.origin.display());
        let event = event_of(left);
        format!("`{what}`{event} of {origin} does not run: {}", left.why)
    });
    let off = registry.hooks.iter().filter(|entry| !entry.enabled);
    let off = off.map(
        |HookEntry {
             hook, disabled_by, ..
         }| {
            let files = disabled_by.iter().map(|path| path.display().to_string());
            let (name, event) = (hook_name(hook), hook.event);
            let files = files.collect::<Vec<_>>().join(", ");
            format!("`{name}` (`{event}`) is disabled by {files}")
        },
    );
    let warnings = registry.other_warnings().iter().cloned();
    let warnings = registry.announcement().into_iter().chain(warnings);
    let mut notices: Vec<_> = warnings.chain(left_out).chain(off).collect();
    let is_enabled = |event: HookEvent| {
        let mut enabled = registry.hooks.iter().filter(|entry| entry.enabled);
        enabled.any(|entry| entry.hook.event == event)
    };
    if !HookEvent::ALL.into_iter().any(is_enabled) {
        notices.push("there are no hooks to run".to_owned());
    }
    notices
}

/// The event of a skipped definition, unless the definition has that name itself.
fn event_of(left: &LeftOut) -> String {
    let event = left.place.get(1).filter(|event| **event != left.what);
    event.map_or_else(String::new, |event| format!(" (`{event}`)"))
}
