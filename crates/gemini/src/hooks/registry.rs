//! All hooks of a workspace, and all that is none.

use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

use super::definition::{self, HookOrigin, ParsedDefinition};
use super::enablement::HookSwitches;
use super::merge::{self, SWITCHES};
use super::{Hook, HookEvent, HookPlan, HookSource, PassedOver, TrustedHooks, plan};
use crate::extensions::Extension;
use crate::file;
use crate::settings::{SettingsFile, SettingsScope, value_kind};
use crate::setup::Setup;
use crate::trust::Trust;

/// The hooks of a workspace, in the order in which they were found.
#[derive(Debug, Clone, Default)]
pub struct HookRegistry {
    /// The hooks that could run.
    pub hooks: Vec<HookEntry>,
    /// Entries that do not count, and why.
    pub left_out: Vec<LeftOut>,
    /// What Gemini CLI says aloud when it starts with these hooks, in its words.
    pub warnings: Vec<String>,
    /// The names of the hooks of the first notice, which Gemini CLI has not seen before.
    pub unseen: Vec<String>,
    /// The files that switch off all hooks.
    pub switched_off_by: Vec<PathBuf>,
}

/// A hook and whether it is switched on.
#[derive(Debug, Clone, PartialEq)]
pub struct HookEntry {
    /// The hook.
    pub hook: Hook,
    /// Whether it runs.
    pub enabled: bool,
    /// The files that switch it off.
    pub disabled_by: Vec<PathBuf>,
}

/// An entry among hooks that does not count.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeftOut {
    /// Its kind: a hook's name, an event, a file.
    pub what: String,
    /// The file it is written in.
    pub origin: PathBuf,
    /// Where in it: the keys and indices that lead there.
    pub place: Vec<String>,
    /// The problem.
    pub misfit: HookProblem,
    /// Why, in one sentence.
    pub why: String,
}

/// Why an entry does not count as a hook.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum HookProblem {
    /// The file cannot be used.
    File,
    /// There is no such event.
    Event,
    /// It is written in another shape.
    Shape,
    /// Its `type` is none.
    Type,
    /// It has no command.
    Command,
    /// Its matcher is no text.
    Matcher,
    /// Its extension is not active.
    Extension,
    /// The folder is not trusted.
    Trust,
}

impl HookRegistry {
    /// The hooks that count in a workspace. Nothing is written.
    pub fn from_setup(setup: &Setup) -> Self {
        Self::if_trusted(setup, setup.is_trusted())
    }

    /// The hooks that would count if the workspace were trusted, or were not.
    pub(super) fn if_trusted(setup: &Setup, is_trusted: bool) -> Self {
        let counts = |file: &&SettingsFile| is_trusted || file.scope != SettingsScope::Workspace;
        let files = || setup.settings.files.iter().filter(counts);
        let switches = HookSwitches::read(files());
        let mut registry = Self {
            switched_off_by: switches.off.clone(),
            ..Self::default()
        };
        registry.add_unreadable_files(setup);
        if is_trusted {
            registry.warn_of_unseen(setup);
            registry.add_settings(files(), &switches);
        } else {
            registry.leave_all(setup);
        }
        for extension in &setup.extensions {
            registry.add_extension(extension, &switches);
        }
        registry
    }

    /// The hooks that run at an event. The context is what matchers are compared with: a tool's name, or the word of a
    /// session's event (`startup`, `exit`, `auto`, …).
    pub fn plan(&self, event: HookEvent, context: Option<&str>) -> HookPlan {
        let enabled = self.hooks.iter().filter(|entry| entry.enabled);
        plan::plan_hooks(event, context, enabled.map(|entry| &entry.hook))
    }

    /// The hooks of an event that do not run, and why.
    pub fn passed_over(&self, event: HookEvent, context: Option<&str>) -> Vec<PassedOver> {
        plan::passed_over(event, context, self.hooks.iter())
    }

    /// That Gemini CLI will announce hooks that it has not seen before, in a sentence.
    pub fn announcement(&self) -> Option<String> {
        match self.unseen.len() {
            0 => None,
            1 => Some("1 hook is new to Gemini CLI, which will announce it".to_owned()),
            count => Some(format!(
                "{count} hooks are new to Gemini CLI, which will announce them"
            )),
        }
    }

    /// What else Gemini CLI says aloud.
    pub fn other_warnings(&self) -> &[String] {
        &self.warnings[usize::from(!self.unseen.is_empty())..]
    }

    fn add_unreadable_files(&mut self, setup: &Setup) {
        for file in &setup.settings.files {
            if let Err(error) = &file.content {
                self.left_out.push(LeftOut {
                    what: "settings".to_owned(),
                    origin: file.path.clone(),
                    place: Vec::new(),
                    misfit: HookProblem::File,
                    why: format!("it {error}; {}", error.verdict(&file.path)),
                });
            }
        }
    }

    /// Says what Gemini CLI says about hooks of the workspace that it has not seen before.
    fn warn_of_unseen(&mut self, setup: &Setup) {
        let Some(hooks) = workspace_hooks(setup) else {
            return;
        };
        let unseen = TrustedHooks::read(&setup.home).unseen(&setup.workspace, hooks);
        if unseen.is_empty() || !self.switched_off_by.is_empty() {
            return;
        }
        let list: Vec<String> = unseen.iter().map(|hook| format!("  - {hook}")).collect();
        self.warnings.push(format!(
            "WARNING: The following project-level hooks have been detected in this workspace:\n{}\n\n\
             These hooks will be executed. If you did not configure these hooks or do not trust this project,\n\
             please review the project settings (.gemini/settings.json) and remove them.",
            list.join("\n")
        ));
        self.unseen = unseen;
    }

    fn add_settings<'a>(
        &mut self,
        files: impl Iterator<Item = &'a SettingsFile>,
        switches: &HookSwitches,
    ) {
        let mut layers = merge::merge_hooks(files);
        self.left_out.append(&mut layers.left_out);
        for (name, path) in layers.unknown {
            let place = vec!["hooks".to_owned(), name.to_owned()];
            self.unknown_event(name, path, place, &HookSource::Project);
        }
        for (event, definitions) in &layers.events {
            for written in definitions {
                let origin = HookOrigin {
                    source: &HookSource::Project,
                    scope: Some(written.file.scope),
                    path: &written.file.path,
                };
                let read =
                    definition::read_definition(*event, written.value, origin, &written.place);
                self.add_parsed(read, switches);
            }
        }
    }

    fn unknown_event(&mut self, name: &str, path: &Path, place: Vec<String>, source: &HookSource) {
        if self.switched_off_by.is_empty() {
            self.warnings.push(format!(
                "Invalid hook event name: \"{name}\" from {} config. Skipping.",
                source.as_str()
            ));
        }
        self.left_out.push(LeftOut {
            what: name.to_owned(),
            origin: path.to_owned(),
            place,
            misfit: HookProblem::Event,
            why: "there is no hook event of this name".to_owned(),
        });
    }

    fn add_parsed(&mut self, mut read: ParsedDefinition, switches: &HookSwitches) {
        self.left_out.append(&mut read.left_out);
        self.hooks.extend(read.hooks.into_iter().map(|hook| {
            let disabled_by = switches.disabling_files(hook.display_name());
            HookEntry {
                enabled: disabled_by.is_empty(),
                disabled_by,
                hook,
            }
        }));
    }

    /// In a folder that is not trusted no hook of any settings runs.
    fn leave_all(&mut self, setup: &Setup) {
        let mut all = Self::default();
        all.add_settings(setup.settings.files.iter(), &HookSwitches::default());
        self.left_out.append(&mut all.left_out);
        let why = match &setup.trust {
            Trust::Unknown(doubt) => {
                format!("it is unknown whether the folder is trusted: {doubt}")
            }
            Trust::Trusted(reason) | Trust::Untrusted(reason) => {
                format!("the folder is not trusted: {reason}")
            }
        };
        self.left_out.extend(all.hooks.into_iter().map(|entry| {
            let hook = entry.hook;
            let whose = match hook.scope {
                Some(SettingsScope::Workspace) => "",
                _ => "; Gemini CLI then runs no hooks of any settings, the user's own included",
            };
            LeftOut {
                what: hook.display_name().to_owned(),
                misfit: HookProblem::Trust,
                why: format!("{why}{whose}"),
                origin: hook.origin,
                place: hook.place,
            }
        }));
    }

    fn add_extension(&mut self, extension: &Extension, switches: &HookSwitches) {
        let path = extension.directory.join("hooks").join("hooks.json");
        let leave = |misfit: HookProblem, why: String| LeftOut {
            what: format!("the hooks of extension {}", extension.name),
            origin: path.clone(),
            place: Vec::new(),
            misfit,
            why,
        };
        let hooks = match extension_hooks(&path) {
            Ok(None) => return,
            Ok(Some(hooks)) => hooks,
            Err(why) => return self.left_out.push(leave(HookProblem::File, why)),
        };
        if let Some(why) = &extension.inactive {
            let why = format!("it is not active: {why}");
            return self.left_out.push(leave(HookProblem::Extension, why));
        }
        let source = HookSource::Extension(extension.name.clone());
        for (name, definitions) in &hooks {
            let place = vec!["hooks".to_owned(), name.clone()];
            if SWITCHES.contains(&name.as_str()) {
                continue;
            }
            let Ok(event) = name.parse() else {
                self.unknown_event(name, &path, place, &source);
                continue;
            };
            let definitions = extension.hydrate_all(definitions);
            let Value::Array(definitions) = &definitions else {
                let why = format!("it is {}, not a list", value_kind(&definitions));
                let what = name.clone();
                self.left_out.push(LeftOut {
                    what,
                    place,
                    ..leave(HookProblem::Shape, why)
                });
                continue;
            };
            let origin = HookOrigin {
                source: &source,
                scope: None,
                path: &path,
            };
            for (index, value) in definitions.iter().enumerate() {
                let place = definition::place_below(&place, &[&index.to_string()]);
                let mut read = definition::read_definition(event, value, origin, &place);
                for hook in &mut read.hooks {
                    hook.env.extend(extension.env.clone());
                }
                self.add_parsed(read, switches);
            }
        }
    }
}

/// The hooks of the workspace's own settings, as they stand there.
fn workspace_hooks(setup: &Setup) -> Option<&Map<String, Value>> {
    let file = setup.in_scope(SettingsScope::Workspace)?;
    file.content.as_ref().ok()?.get("hooks")?.as_object()
}

/// The content of an extension's `hooks.json`, which is JSON without comments.
fn extension_hooks(path: &Path) -> Result<Option<Map<String, Value>>, String> {
    let text = match file::text(path) {
        Ok(None) => return Ok(None),
        Ok(Some(text)) => text,
        Err(error) => return Err(format!("it {error}")),
    };
    let content: Value =
        serde_json::from_str(&text).map_err(|error| format!("it is not valid JSON: {error}"))?;
    match content.get("hooks") {
        Some(Value::Object(hooks)) => Ok(Some(hooks.clone())),
        _ => Err("its `hooks` is not an object".to_owned()),
    }
}
