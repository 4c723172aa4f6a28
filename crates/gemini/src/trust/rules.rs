//! `trustedFolders.json`: a path and a level each.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::fmt;
use std::path::{Component, Path, PathBuf};

use super::{Trust, TrustDoubt, TrustReason};
use crate::file;
use crate::paths::GeminiHome;
use crate::settings::{EditError, EditOutcome, edit_private};

/// One entry of the file of trusted folders.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TrustRule {
    /// The folder, as it stands in the file.
    pub path: String,
    /// The level of trust.
    pub level: TrustLevel,
}

/// How far the trust goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TrustLevel {
    /// The folder and all in it.
    Folder,
    /// The folder that this one lies in, and all in it.
    Parent,
    /// Neither the folder nor its content.
    No,
}

impl TrustLevel {
    fn from_word(word: &str) -> Option<Self> {
        match word {
            "TRUST_FOLDER" => Some(Self::Folder),
            "TRUST_PARENT" => Some(Self::Parent),
            "DO_NOT_TRUST" => Some(Self::No),
            _ => None,
        }
    }

    /// The word in the file.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Folder => "TRUST_FOLDER",
            Self::Parent => "TRUST_PARENT",
            Self::No => "DO_NOT_TRUST",
        }
    }
}

impl fmt::Display for TrustRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} for `{}`", self.level.as_str(), self.path)
    }
}

/// Judges a folder by the file's rules. One wrong level invalidates the whole file, as in Gemini CLI.
pub(super) fn judge_by_rules(folder: &Path, file: &Path) -> Trust {
    let rules = match read_rules(file, folder) {
        Ok(rules) => rules,
        Err(doubt) => return Trust::Unknown(doubt),
    };
    let folder = real_path(folder);
    let mut longest: Option<(usize, TrustRule)> = None;
    for (path, rule) in rules
        .into_iter()
        .filter(|(path, rule)| is_folder_covered(path, rule, &folder))
    {
        // The path of the rule counts, not the folder that it stands for; of two as long as each other, the first.
        let length = utf16_length(&path);
        if longest.as_ref().is_none_or(|(most, _)| length > *most) {
            longest = Some((length, rule));
        }
    }
    match longest {
        None => Trust::Untrusted(TrustReason::NoRule),
        Some((_, rule)) if rule.level == TrustLevel::No => {
            Trust::Untrusted(TrustReason::Rule(rule))
        }
        Some((_, rule)) => Trust::Trusted(TrustReason::Rule(rule)),
    }
}

/// Sets the trust level of a folder. Other entries of the file stay; a file with an unknown level is not changed.
///
/// ```
/// use lapidary_gemini::GeminiHome;
/// use lapidary_gemini::trust::{TrustLevel, set};
///
/// let home = tempfile::tempdir()?;
/// let home = GeminiHome::at(home.path());
/// set(std::path::Path::new("/srv/project"), TrustLevel::Folder, &home)?;
/// assert_eq!(
///     std::fs::read_to_string(&home.trusted_folders)?,
///     "{\n  \"/srv/project\": \"TRUST_FOLDER\"\n}"
/// );
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn set(folder: &Path, level: TrustLevel, home: &GeminiHome) -> Result<EditOutcome, EditError> {
    let wanted = absolute_path(Path::new("/"), folder);
    edit_private(&home.trusted_folders, |document| {
        for (path, value) in document.object() {
            if value.as_str().and_then(TrustLevel::from_word).is_none() {
                return Err(EditError::OddValue {
                    path: home.trusted_folders.clone(),
                    key: path.clone(),
                    found: "something else",
                    expected: "a trust level",
                });
            }
        }
        // The same folder may be written in other ways; the last counts.
        let mut keys = document.object().keys().rev();
        let same = keys.find(|key| absolute_path(folder, Path::new(key)) == wanted);
        let key = same
            .cloned()
            .unwrap_or_else(|| wanted.display().to_string());
        document.set(&[&key], level.as_str().into())
    })
}

/// The rules, each with its absolute path. A later rule for the same path takes the place of the earlier one.
fn read_rules(file: &Path, folder: &Path) -> Result<Vec<(PathBuf, TrustRule)>, TrustDoubt> {
    let object = file::object(file).map_err(|error| TrustDoubt::from_read_error(file, &error))?;
    let mut rules: Vec<(PathBuf, TrustRule)> = Vec::new();
    let mut places: HashMap<PathBuf, usize> = HashMap::new();
    for (path, value) in object.unwrap_or_default() {
        let level = value.as_str().and_then(TrustLevel::from_word);
        let level = level.ok_or_else(|| TrustDoubt::BadFile {
            path: file.to_owned(),
            problem: format!("has the trust level {value} for `{path}`"),
        })?;
        let absolute = absolute_path(folder, Path::new(&path));
        let rule = TrustRule { path, level };
        match places.entry(absolute.clone()) {
            Entry::Occupied(place) => rules[*place.get()].1 = rule,
            Entry::Vacant(place) => {
                place.insert(rules.len());
                rules.push((absolute, rule));
            }
        }
    }
    Ok(rules)
}

fn is_folder_covered(path: &Path, rule: &TrustRule, folder: &Path) -> bool {
    let of = match rule.level {
        TrustLevel::Parent => path.parent().unwrap_or(path),
        TrustLevel::Folder | TrustLevel::No => path,
    };
    folded_path(folder).starts_with(folded_path(&real_path(of)))
}

/// The path with links resolved, if it exists; else as it is.
fn real_path(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_owned())
}

/// The path from the root, without `.` and `..`, which are resolved by name alone.
fn absolute_path(from: &Path, path: &Path) -> PathBuf {
    let mut parts = PathBuf::new();
    for part in from.join(path).components() {
        match part {
            Component::ParentDir => {
                parts.pop();
            }
            Component::CurDir => {}
            part => parts.push(part),
        }
    }
    parts
}

/// Upper and lower case are the same where file systems think so.
fn folded_path(path: &Path) -> PathBuf {
    if cfg!(any(target_os = "macos", windows)) {
        PathBuf::from(path.to_string_lossy().to_lowercase())
    } else {
        path.to_owned()
    }
}

/// JavaScript counts UTF-16.
fn utf16_length(path: &Path) -> usize {
    path.to_string_lossy().encode_utf16().count()
}
