//! Problems of hooks as they are written, without running any.

mod definitions;
mod disabled;
mod duplicates;
mod keys;
mod matchers;
mod positions;
mod remarks;
mod scripts;
mod shebang;
mod shown;
mod silence;
mod timeouts;

use std::collections::HashSet;
use std::fmt;
use std::path::{Path, PathBuf};

use super::{HookEntry, HookEvent, HookProblem, HookRegistry};
use crate::notice::TextPosition;
use crate::settings::SettingsScope;
use crate::setup::Setup;
use crate::trust::Trust;
pub(super) use matchers::never_matches;
use positions::FilePositions;
pub(super) use silence::answers_claude;

/// A problem of a hook.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LintFinding {
    /// How bad it is.
    pub severity: LintSeverity,
    /// What sort of thing it is, in a word that stays the same.
    pub code: &'static str,
    /// The file it is in: settings, an extension's, or a script.
    pub path: PathBuf,
    /// Where in it, if the place is known.
    pub place: Option<TextPosition>,
    /// The hook or event it is about.
    pub subject: String,
    /// The problem, as a sentence.
    pub sentence: String,
    /// What to do about it.
    pub hint: Option<String>,
}

/// How bad a finding is, the worst first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum LintSeverity {
    /// A hook does not do as it is written.
    Error,
    /// It may not.
    Warning,
    /// It does, but its effect may be a surprise.
    Note,
}

impl fmt::Display for LintSeverity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Error => "error",
            Self::Warning => "warning",
            Self::Note => "note",
        })
    }
}

/// Where programs are found that have no path.
#[derive(Debug, Clone, Copy)]
pub struct CheckContext<'a> {
    /// The directories of `PATH`.
    pub search_path: &'a [PathBuf],
    /// What `~` stands for in a shell.
    pub home: &'a Path,
}

/// More findings than that are counted, not listed: a list that long is not read, and each finding has to be located in its file.
const MOST: usize = 1000;

/// Looks at every hook that is written for a workspace, whether it counts there or not.
pub fn check(setup: &Setup, surroundings: CheckContext<'_>) -> Vec<LintFinding> {
    let registry = HookRegistry::if_trusted(setup, true);
    let mut report = FindingReport {
        setup,
        surroundings,
        spots: FilePositions::default(),
        findings: Vec::new(),
        scripts: HashSet::new(),
        told: HashSet::new(),
        more: 0,
        worst: LintSeverity::Note,
    };
    report.check_trust(&registry);
    disabled::check_disabled(&mut report, &registry);
    duplicates::check_duplicates(&mut report, &registry);
    definitions::check_definitions(&mut report, &registry);
    keys::check_keys(&mut report, &registry);
    for entry in &registry.hooks {
        matchers::check_matcher(&mut report, entry);
        timeouts::check_timeout(&mut report, entry);
        scripts::check_script(&mut report, entry);
        shown::check_shown_text(&mut report, entry);
    }
    remarks::add_remarks(&mut report, &registry);
    let (more, worst) = (report.more, report.worst);
    let mut findings = report.findings;
    findings.sort_by(|one, other| {
        (one.severity, &one.path, one.place).cmp(&(other.severity, &other.path, other.place))
    });
    if more > 0 {
        findings.push(LintFinding {
            severity: worst,
            code: "more",
            path: setup.workspace.clone(),
            place: None,
            subject: "hooks".to_owned(),
            sentence: format!("there are {more} more findings"),
            hint: None,
        });
    }
    findings
}

/// Findings on their way.
struct FindingReport<'a> {
    setup: &'a Setup,
    surroundings: CheckContext<'a>,
    spots: FilePositions,
    findings: Vec<LintFinding>,
    /// The scripts that have been read, each for an event.
    scripts: HashSet<(PathBuf, HookEvent)>,
    /// The findings so far: one script may serve many hooks, and one matcher many hooks.
    told: HashSet<(PathBuf, Option<TextPosition>, &'static str, String)>,
    /// How many findings there are beyond the listed ones, and how bad the worst of them is.
    more: usize,
    worst: LintSeverity,
}

/// A finding, before it has a place.
struct UnplacedFinding<'a> {
    severity: LintSeverity,
    code: &'static str,
    subject: &'a str,
    sentence: String,
    hint: Option<String>,
}

impl FindingReport<'_> {
    /// Adds a finding at a path of keys of a file.
    fn add_finding(&mut self, path: &Path, keys: &[String], found: UnplacedFinding<'_>) {
        let is_full = self.findings.len() >= MOST;
        let place = if is_full {
            None
        } else {
            self.spots.key_position(path, keys)
        };
        self.add_at(path, place, found);
    }

    fn add_at(&mut self, path: &Path, place: Option<TextPosition>, found: UnplacedFinding<'_>) {
        if self.findings.len() >= MOST {
            self.more += 1;
            self.worst = self.worst.min(found.severity);
            return;
        }
        let key = (path.to_owned(), place, found.code, found.sentence.clone());
        if !self.told.insert(key) {
            return;
        }
        self.findings.push(LintFinding {
            severity: found.severity,
            code: found.code,
            path: path.to_owned(),
            place,
            subject: found.subject.to_owned(),
            sentence: found.sentence,
            hint: found.hint,
        });
    }

    /// Adds a finding at a key of a hook, or of its definition with `..` before the key.
    fn add_to(&mut self, entry: &HookEntry, key: &str, found: UnplacedFinding<'_>) {
        let hook = &entry.hook;
        let mut keys = hook.place.clone();
        let key = match key.strip_prefix("../") {
            Some(key) => {
                keys.truncate(keys.len().saturating_sub(2));
                key
            }
            None => key,
        };
        keys.push(key.to_owned());
        let path = hook.origin.clone();
        self.add_finding(&path, &keys, found);
    }

    /// The files in which hooks are written that could count, each once.
    fn hook_files(&self, registry: &HookRegistry) -> Vec<PathBuf> {
        let settings = self.setup.settings.files.iter().map(|file| &file.path);
        let hooks = registry.hooks.iter().map(|entry| &entry.hook.origin);
        let left_out = registry.left_out.iter();
        let left_out = left_out.filter(|left| left.misfit != HookProblem::Extension);
        let all = settings
            .chain(hooks)
            .chain(left_out.map(|left| &left.origin));
        let mut seen = HashSet::new();
        all.filter(|path| seen.insert(*path)).cloned().collect()
    }

    /// In a folder that is not trusted all of this is in vain.
    fn check_trust(&mut self, registry: &HookRegistry) {
        if self.setup.is_trusted() {
            return;
        }
        let ours = registry
            .hooks
            .iter()
            .filter(|entry| entry.hook.scope.is_some());
        let (count, mine) = ours.fold((0, 0), |(count, mine), entry| {
            let is_mine = entry.hook.scope != Some(SettingsScope::Workspace);
            (count + 1, mine + usize::from(is_mine))
        });
        if count == 0 {
            return;
        }
        let why = match &self.setup.trust {
            Trust::Unknown(doubt) => {
                format!("it is unknown whether this folder is trusted ({doubt})")
            }
            Trust::Trusted(reason) | Trust::Untrusted(reason) => {
                format!("this folder is not trusted ({reason})")
            }
        };
        let whose = match mine {
            0 => "",
            _ if mine == count => ", though they are not the folder's own",
            1 => ", not even the one that is not the folder's own",
            _ => ", not even those that are not the folder's own",
        };
        let which = match count {
            1 => "does not run the only hook".to_owned(),
            _ => format!("runs none of the {count} hooks"),
        };
        let path = self.setup.home.trusted_folders.clone();
        self.add_at(&path, None, UnplacedFinding {
            severity: LintSeverity::Warning,
            code: "untrusted_folder",
            subject: "hooks",
            sentence: format!("{why}, so Gemini CLI {which} in settings here{whose}"),
            hint: Some("trust the folder in Gemini CLI, or set GEMINI_CLI_TRUST_WORKSPACE=true for one run".to_owned()),
        });
    }
}
