//! Hooks of Claude Code as hooks of Gemini CLI.
//!
//! Units, names and matchers are translated by what they do, not by how they look: `docs/hooks.md` says where that differs
//! from `gemini hooks migrate`.

mod command;
mod lost;
mod matchers;
mod merge;

use std::fmt;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};

use super::names::claude_event;
use super::{Event, Matching};
use crate::file::{self, ReadError};
use crate::settings::kind;

/// The hooks of a workspace's settings for Claude Code, translated.
#[derive(Debug, Default)]
pub struct Claude {
    /// The files that were read.
    pub sources: Vec<PathBuf>,
    /// What could be translated, in order.
    pub definitions: Vec<Definition>,
    /// What could not.
    pub skipped: Vec<Skipped>,
    /// What somebody should look at in what could.
    pub remarks: Vec<String>,
}

/// A translated definition: hooks with one matcher.
#[derive(Debug, Clone, PartialEq)]
pub struct Definition {
    /// The event.
    pub event: Event,
    /// When it holds.
    pub matcher: Option<String>,
    /// Its hooks, as they go into settings.
    pub hooks: Vec<Map<String, Value>>,
}

/// A hook of Claude Code's that has no translation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Skipped {
    /// The file it is in.
    pub origin: PathBuf,
    /// What it is: an event, a command.
    pub what: String,
    /// Why, in one sentence.
    pub why: String,
}

impl fmt::Display for Skipped {
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
        /// What is wrong with it.
        source: ReadError,
    },
}

impl Claude {
    /// Reads what a workspace has in `.claude`: the shared settings, then one's own, which add to them.
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
                claude.file(&path, &content);
                claude.sources.push(path);
            }
        }
        if claude.sources.is_empty() {
            Err(MigrateError::NoSettings(folder))
        } else {
            Ok(claude)
        }
    }

    fn file(&mut self, path: &Path, content: &Map<String, Value>) {
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
                return self.skip(path, "hooks", format!("it is {}, not an object", kind(odd)));
            }
        };
        for (name, definitions) in hooks {
            let event = match event_of(name) {
                Ok(event) => event,
                Err(why) => {
                    self.skip(path, name, why);
                    continue;
                }
            };
            match definitions {
                Value::Array(definitions) => {
                    for (index, definition) in definitions.iter().enumerate() {
                        let spot = Spot {
                            path,
                            place: format!("hooks.{name}[{index}]"),
                        };
                        self.definition(&spot, event, definition);
                    }
                }
                odd => self.skip(path, name, format!("it is {}, not a list", kind(odd))),
            }
        }
    }

    fn definition(&mut self, spot: &Spot<'_>, event: Event, definition: &Value) {
        let Some(hooks) = definition.get("hooks").and_then(Value::as_array) else {
            let why = format!("`{}` has no list of hooks", spot.place);
            return self.skip(spot.path, event.as_str(), why);
        };
        let hooks: Vec<_> = hooks
            .iter()
            .enumerate()
            .filter_map(|(index, hook)| self.hook(&spot.hook(index), event, hook))
            .collect();
        if hooks.is_empty() {
            return;
        }
        let matcher = definition
            .get("matcher")
            .and_then(Value::as_str)
            .unwrap_or_default();
        let translated = match event.matching() {
            Matching::ToolName => matchers::tool(matcher),
            Matching::Exact(_) => matchers::words(event, matcher),
            Matching::Ignored => matchers::ignored(event, matcher),
        };
        for why in translated.lost {
            self.skip(spot.path, matcher, why);
        }
        self.remarks.extend(translated.remarks);
        for matcher in translated.matchers {
            let hooks = hooks.clone();
            self.definitions.push(Definition {
                event,
                matcher,
                hooks,
            });
        }
    }

    /// A hook in Gemini CLI's words. Of what Claude Code knows only the command and the timeout mean the same.
    fn hook(&mut self, spot: &Spot<'_>, event: Event, hook: &Value) -> Option<Map<String, Value>> {
        let word = hook.get("type").and_then(Value::as_str).unwrap_or_default();
        let command = hook
            .get("command")
            .and_then(Value::as_str)
            .filter(|it| !it.is_empty());
        let Some(command) = command.filter(|_| word == "command") else {
            let what = hook
                .get("prompt")
                .or_else(|| hook.get("url"))
                .and_then(Value::as_str);
            let why = match word {
                "command" => format!("`{}` has no command", spot.place),
                "" => format!("`{}` has no type", spot.place),
                other => format!(
                    "`{}` is of type `{other}`, which Claude Code alone has",
                    spot.place
                ),
            };
            self.skip(spot.path, what.unwrap_or(event.as_str()), why);
            return None;
        };
        let mut translated = Map::new();
        translated.insert("type".to_owned(), json!("command"));
        translated.insert("command".to_owned(), json!(command::translate(command)));
        let timeout = hook.get("timeout");
        if let Some(timeout) = timeout.and_then(milliseconds) {
            translated.insert("timeout".to_owned(), timeout);
        }
        self.remarks.extend(lost::fields(spot, hook));
        self.remarks.extend(lost::answers(spot, command));
        Some(translated)
    }

    fn skip(&mut self, path: &Path, what: &str, why: String) {
        self.skipped.push(Skipped {
            origin: path.to_owned(),
            what: what.to_owned(),
            why,
        });
    }
}

/// Where something is written.
struct Spot<'a> {
    path: &'a Path,
    /// The keys that lead there.
    place: String,
}

impl Spot<'_> {
    fn hook(&self, index: usize) -> Self {
        Self {
            path: self.path,
            place: format!("{}.hooks[{index}]", self.place),
        }
    }
}

/// The event that Claude Code's is here. One that has Gemini CLI's name already stays.
fn event_of(name: &str) -> Result<Event, String> {
    match claude_event(name) {
        Ok(Some(event)) => Ok(event),
        Ok(None) => Err("Gemini CLI has no such event".to_owned()),
        Err(()) => name
            .parse()
            .map_err(|_| "nobody knows such an event".to_owned()),
    }
}

/// Claude Code counts seconds.
fn milliseconds(seconds: &Value) -> Option<Value> {
    let milliseconds = (seconds.as_f64()? * 1000.0).round();
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "within the range that is checked"
    )]
    let kept = (1.0..=2_147_483_647.0)
        .contains(&milliseconds)
        .then(|| json!(milliseconds as u64));
    kept
}
