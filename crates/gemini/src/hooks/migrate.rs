//! Hooks of Claude Code as hooks of Gemini CLI.
//!
//! Units, names and matchers are translated by their effect, not by their form: `docs/hooks.md` says where that differs from
//! `gemini hooks migrate`.

mod command;
mod lost;
mod matchers;
mod merge;
mod timeout;

use std::fmt;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};

use super::names::claude_event;
use super::{HookEvent, MatcherKind};
use crate::file::{self, ReadError};
use crate::settings::value_kind;

/// The hooks of a workspace's settings for Claude Code, translated.
#[derive(Debug, Default)]
pub struct ClaudeHooks {
    /// The files that were read.
    pub sources: Vec<PathBuf>,
    /// The translated definitions, in order.
    pub definitions: Vec<TranslatedDefinition>,
    /// The hooks that could not be translated.
    pub skipped: Vec<SkippedHook>,
    /// Remarks on translated hooks that a person should check.
    pub remarks: Vec<String>,
}

/// A translated definition: hooks with one matcher.
#[derive(Debug, Clone, PartialEq)]
pub struct TranslatedDefinition {
    /// The event.
    pub event: HookEvent,
    /// When it holds.
    pub matcher: Option<String>,
    /// Its hooks, as they go into settings.
    pub hooks: Vec<Map<String, Value>>,
}

/// A hook of Claude Code's that has no translation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SkippedHook {
    /// The file it is in.
    pub origin: PathBuf,
    /// Its kind: an event, a command.
    pub what: String,
    /// Why, in one sentence.
    pub why: String,
}

impl fmt::Display for SkippedHook {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "`{}` in {}: {}",
            self.what,
            self.origin.display(),
            self.why
        )
    }
}

/// Why nothing can be migrated.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MigrateError {
    /// There is nothing to read.
    #[error("there is neither `settings.json` nor `settings.local.json` in `{0}`")]
    NoSettings(PathBuf),
    /// A file is there that cannot be used.
    #[error("`{path}` {source}")]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The problem.
        source: ReadError,
    },
}

impl ClaudeHooks {
    /// Reads the settings in a workspace's `.claude`: the shared settings, then the user's own, which add to them.
    pub fn read(workspace: &Path) -> Result<Self, MigrateError> {
        let folder = workspace.join(".claude");
        let mut claude = Self::default();
        for name in ["settings.json", "settings.local.json"] {
            let path = folder.join(name);
            let content = file::object(&path).map_err(|source| MigrateError::Unreadable {
                path: path.clone(),
                source,
            })?;
            if let Some(content) = content {
                claude.migrate_file(&path, &content);
                claude.sources.push(path);
            }
        }
        if claude.sources.is_empty() {
            Err(MigrateError::NoSettings(folder))
        } else {
            Ok(claude)
        }
    }

    /// Whether a file of settings has hooks, of whichever event.
    pub fn has_hooks(path: &Path) -> bool {
        let content = file::object(path).ok().flatten();
        let hooks = content.as_ref().and_then(|content| content.get("hooks"));
        let hooks = hooks.and_then(Value::as_object);
        hooks.is_some_and(|hooks| !hooks.is_empty())
    }

    fn migrate_file(&mut self, path: &Path, content: &Map<String, Value>) {
        if content.get("disableAllHooks") == Some(&Value::Bool(true)) {
            self.remarks.push(format!(
                "`disableAllHooks` switches all of these off in {}; in Gemini CLI they run unless `hooksConfig.enabled` is false",
                path.display()
            ));
        }
        let hooks = match content.get("hooks") {
            None => return,
            Some(Value::Object(hooks)) => hooks,
            Some(odd) => {
                return self.skip_hook(
                    path,
                    "hooks",
                    format!("it is {}, not an object", value_kind(odd)),
                );
            }
        };
        for (name, definitions) in hooks {
            self.migrate_event(path, name, definitions);
        }
    }

    fn migrate_event(&mut self, path: &Path, name: &str, definitions: &Value) {
        let event = match event_of(name) {
            Ok(event) => event,
            Err(why) => return self.skip_hook(path, name, why),
        };
        let Value::Array(definitions) = definitions else {
            let why = format!("it is {}, not a list", value_kind(definitions));
            return self.skip_hook(path, name, why);
        };
        for (index, definition) in definitions.iter().enumerate() {
            let spot = SourceSpot {
                path,
                event: name,
                place: format!("hooks.{name}[{index}]"),
            };
            self.migrate_definition(&spot, event, definition);
        }
    }

    fn migrate_definition(&mut self, spot: &SourceSpot<'_>, event: HookEvent, definition: &Value) {
        let matcher = match definition.get("matcher") {
            None | Some(Value::Null) => "",
            Some(Value::String(matcher)) => matcher,
            Some(odd) => {
                let (place, odd) = (&spot.place, value_kind(odd));
                let why = format!(
                    "`{place}.matcher` is {odd}, not a string: it is not known which tools it is for"
                );
                return self.skip_hook(spot.path, spot.event, why);
            }
        };
        let Some(hooks) = definition.get("hooks").and_then(Value::as_array) else {
            let why = format!("`{}` has no list of hooks", spot.place);
            return self.skip_hook(spot.path, event.as_str(), why);
        };
        let hooks: Vec<_> = hooks
            .iter()
            .enumerate()
            .filter_map(|(index, hook)| self.migrate_hook(&spot.hook_spot(index), event, hook))
            .collect();
        if hooks.is_empty() {
            return;
        }
        self.remarks.extend(lost::subagent_loss(spot, matcher));
        let translated = match event.matching() {
            MatcherKind::ToolName => matchers::translate_tools(matcher),
            MatcherKind::Exact(_) => matchers::translate_words(event, matcher),
            MatcherKind::Ignored => matchers::translate_ignored(event, matcher),
        };
        for (what, why) in translated.lost {
            self.skip_hook(spot.path, &what, why);
        }
        self.remarks.extend(translated.remarks);
        for matcher in translated.matchers {
            let hooks = hooks.clone();
            self.definitions.push(TranslatedDefinition {
                event,
                matcher,
                hooks,
            });
        }
    }

    /// A hook in Gemini CLI's words. Of what Claude Code knows only the command and the timeout mean the same.
    fn migrate_hook(
        &mut self,
        spot: &SourceSpot<'_>,
        event: HookEvent,
        hook: &Value,
    ) -> Option<Map<String, Value>> {
        let word = hook.get("type").and_then(Value::as_str).unwrap_or_default();
        let command = hook
            .get("command")
            .and_then(Value::as_str)
            .filter(|it| !it.is_empty());
        let is_whole = word == "command" && hook.get("args").is_none_or(Value::is_null);
        let Some(command) = command.filter(|_| is_whole) else {
            let what = hook
                .get("prompt")
                .or_else(|| hook.get("url"))
                .and_then(Value::as_str);
            let why = match word {
                "command" if command.is_some() => format!(
                    "`{}` has `args`, and Gemini CLI would run its command without them: write both into `command`",
                    spot.place
                ),
                "command" => format!("`{}` has no command", spot.place),
                "" => format!("`{}` has no type", spot.place),
                other => format!(
                    "`{}` is of type `{other}`, which Claude Code alone has",
                    spot.place
                ),
            };
            self.skip_hook(spot.path, what.unwrap_or(event.as_str()), why);
            return None;
        };
        let mut translated = Map::new();
        translated.insert("type".to_owned(), json!("command"));
        translated.insert(
            "command".to_owned(),
            json!(command::translate_command(command)),
        );
        let timeout = hook.get("timeout").and_then(timeout::timeout_milliseconds);
        let timeout = timeout.unwrap_or_else(|| timeout::default_milliseconds(spot.event));
        translated.insert("timeout".to_owned(), json!(timeout));
        self.remarks.extend(lost::lost_fields(spot, hook));
        self.remarks.extend(lost::answer_loss(spot, command));
        self.remarks.extend(lost::context_loss(spot, command));
        Some(translated)
    }

    fn skip_hook(&mut self, path: &Path, what: &str, why: String) {
        self.skipped.push(SkippedHook {
            origin: path.to_owned(),
            what: what.to_owned(),
            why,
        });
    }
}

/// A place in a file.
struct SourceSpot<'a> {
    path: &'a Path,
    /// The event, as Claude Code calls it.
    event: &'a str,
    /// The keys that lead there.
    place: String,
}

impl SourceSpot<'_> {
    fn hook_spot(&self, index: usize) -> Self {
        Self {
            path: self.path,
            event: self.event,
            place: format!("{}.hooks[{index}]", self.place),
        }
    }
}

/// The event that Claude Code's is here. One that has Gemini CLI's name already stays.
fn event_of(name: &str) -> Result<HookEvent, String> {
    match claude_event(name) {
        Ok(Some(event)) => Ok(event),
        Ok(None) => Err(lost::event_loss(name).to_owned()),
        Err(()) => name.parse().map_err(|_| lost::event_loss(name).to_owned()),
    }
}
