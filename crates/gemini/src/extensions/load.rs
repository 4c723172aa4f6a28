//! One extension: its manifest, where it came from, its settings.

use std::collections::BTreeMap;
use std::path::{MAIN_SEPARATOR_STR, Path, PathBuf};

use serde_json::{Map, Value};

use super::{Extension, ExtensionInstall, ExtensionRules, hydrate};
use crate::js::regex::{self, PatternMatch};
use crate::paths::Vars;
use crate::settings::{self, VariableSource};
use crate::{dotenv, file};

/// The data shared by all extensions.
pub(super) struct ExtensionLoader<'a> {
    pub(super) folder: &'a Path,
    pub(super) workspace: &'a Path,
    pub(super) vars: Vars<'a>,
    pub(super) merged: &'a Map<String, Value>,
    pub(super) enablement: ExtensionRules,
    pub(super) reads_settings: bool,
    pub(super) is_trusted: bool,
}

impl ExtensionLoader<'_> {
    /// The extension in a directory, or why it is none.
    pub(super) fn load(&self, directory: &Path) -> Result<Extension, String> {
        let install = read_install(directory);
        self.check_allowed(install.as_ref())?;
        let linked = install.as_ref().filter(|install| install.kind == "link");
        let directory = match linked {
            Some(link) => PathBuf::from(&link.source),
            None => directory.to_owned(),
        };
        let mut variables = self.path_variables(&directory);
        let mut manifest = read_manifest(&directory, &variables)?;
        let name = manifest_text(&manifest, "name")?;
        check_name(&name)?;
        let version = manifest_text(&manifest, "version")?;
        let own = self.own_settings(&name);
        let known = VariableSource {
            own: Some(&own),
            vars: self.vars,
        };
        known.fill_object(&mut manifest);
        let env = declared_settings(&manifest, &own);
        variables.extend(own);
        let rule = self.enablement.disabled_by(&name, self.workspace);
        Ok(Extension {
            inactive: rule.map(|rule| format!("`{rule}` in extension-enablement.json")),
            name,
            version,
            directory,
            install,
            manifest,
            env,
            variables,
        })
    }

    /// Whether settings let it in.
    fn check_allowed(&self, install: Option<&ExtensionInstall>) -> Result<(), String> {
        let security = |key| settings::value_at(self.merged, &["security", key]);
        let allowed = security("allowedExtensions").and_then(Value::as_array);
        if let Some(patterns) = allowed.filter(|patterns| !patterns.is_empty()) {
            let install = install.ok_or(
                "`security.allowedExtensions` is set, and nothing says where it came from",
            )?;
            let source = Path::new(&install.source);
            let source = source.canonicalize().unwrap_or_else(|_| source.to_owned());
            let source = source.to_string_lossy();
            return allowed_by(patterns, &source);
        }
        let is_remote =
            install.is_some_and(|install| ["git", "github-release"].contains(&&*install.kind));
        let blocks = security("blockGitExtensions").is_some_and(settings::is_truthy);
        if is_remote && blocks {
            return Err(
                "`security.blockGitExtensions` is set, and it came from elsewhere".to_owned(),
            );
        }
        Ok(())
    }

    fn path_variables(&self, directory: &Path) -> BTreeMap<String, String> {
        let pairs = [
            ("extensionPath", directory.display().to_string()),
            ("workspacePath", self.workspace.display().to_string()),
            ("/", MAIN_SEPARATOR_STR.to_owned()),
            ("pathSeparator", MAIN_SEPARATOR_STR.to_owned()),
        ];
        pairs.map(|(name, value)| (name.to_owned(), value)).into()
    }

    /// The values of its settings: the user's, and the workspace's over them.
    fn own_settings(&self, name: &str) -> BTreeMap<String, String> {
        if !self.reads_settings {
            return BTreeMap::new();
        }
        let mut own = dotenv::read_variables(&self.folder.join(name).join(".env"));
        if self.is_trusted {
            own.extend(dotenv::read_variables(&self.workspace.join(".env")));
        }
        own
    }
}

/// As Gemini CLI tries one pattern after the other, until one matches. A pattern that cannot be decided allows no extension.
fn allowed_by(patterns: &[Value], source: &str) -> Result<(), String> {
    let mut why = "`security.allowedExtensions` does not have it".to_owned();
    for pattern in patterns.iter().filter_map(Value::as_str) {
        match regex::search_pattern(pattern, source) {
            PatternMatch::Certain(true) => return Ok(()),
            PatternMatch::Certain(false) => {}
            PatternMatch::Literal(_) => {
                return Err(format!(
                    "`security.allowedExtensions` has `{pattern}`, which is not a regular expression"
                ));
            }
            PatternMatch::Unknown(reason) => {
                why = format!(
                    "cannot tell whether `{pattern}` of `security.allowedExtensions` matches it: {reason}"
                );
            }
        }
    }
    Err(why)
}

fn read_manifest(
    directory: &Path,
    variables: &BTreeMap<String, String>,
) -> Result<Map<String, Value>, String> {
    let path = directory.join("gemini-extension.json");
    let object = file::strict_object(&path)
        .map_err(|error| format!("`{}` {error}", path.display()))?
        .ok_or_else(|| format!("there is no `{}`", path.display()))?;
    match hydrate::hydrate_value(&Value::Object(object), variables) {
        Value::Object(object) => Ok(object),
        _ => Ok(Map::new()),
    }
}

/// Where an extension came from. An unreadable file says nothing.
fn read_install(directory: &Path) -> Option<ExtensionInstall> {
    let path = directory.join(".gemini-extension-install.json");
    let about = file::strict_object(&path).ok()??;
    let text = |key: &str| Some(about.get(key)?.as_str()?.to_owned());
    Some(ExtensionInstall {
        kind: text("type").unwrap_or_default(),
        source: text("source")?,
    })
}

fn manifest_text(manifest: &Map<String, Value>, key: &str) -> Result<String, String> {
    let value = manifest.get(key).filter(|value| settings::is_truthy(value));
    match value {
        Some(Value::String(text)) => Ok(text.clone()),
        Some(odd) => Ok(odd.to_string()),
        None => Err(format!("its gemini-extension.json has no `{key}`")),
    }
}

/// It becomes part of a path.
fn check_name(name: &str) -> Result<(), String> {
    let is_fine = |letter: char| letter.is_ascii_alphanumeric() || letter == '-';
    if name.chars().all(is_fine) {
        Ok(())
    } else {
        Err(format!(
            "its name `{name}` has more than letters, digits and dashes"
        ))
    }
}

/// The settings that the manifest names and that have a value.
fn declared_settings(
    manifest: &Map<String, Value>,
    own: &BTreeMap<String, String>,
) -> BTreeMap<String, String> {
    let declared = manifest.get("settings").and_then(Value::as_array);
    let names = declared.into_iter().flatten();
    let names = names.filter_map(|setting| setting.get("envVar")?.as_str());
    names
        .filter_map(|name| Some((name.to_owned(), own.get(name)?.clone())))
        .collect()
}
