//! The spec of a ticket: prompt, agent, workspace and limits. It has no command line, no environment and no rule that allows: the
//! worker's configuration bounds every run, and a ticket only narrows it.

use std::path::{Path, PathBuf};
use std::time::Duration;

use lapidary::engine::git::shown;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

/// The version of the specs that this program writes. It reads all versions up to it.
pub const SPEC_VERSION: u32 = 1;

/// The largest spec that is accepted: a prompt of 32 MiB, escaped.
const LARGEST_SPEC: usize = 64 * 1024 * 1024;

/// A task for an agent. Unknown fields are refused: an option that the worker does not know might be a limit.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct TicketSpec {
    /// The version of the spec.
    pub version: u32,
    /// The prompt.
    pub prompt: String,
    /// The name of an agent in the worker's configuration; the configured one if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// The model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Where the agent works. Without one, in an empty directory of the attempt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace: Option<WorkspaceSpec>,
    /// The widest permission mode, as `--permission-mode` has it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub permission_mode: Option<String>,
    /// Rules that deny, as `--deny` has them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub deny: Vec<String>,
    /// Rules that make the agent ask, as `--ask` has them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ask: Vec<String>,
    /// How long one attempt may take, in seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout: Option<f64>,
    /// How much one attempt may use, as `--budget` has it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budget: Option<String>,
    /// How long a permission request waits for an answer, in seconds, before it is denied.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ask_timeout: Option<f64>,
    /// The JSON Schema that the answer must fit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_schema: Option<Box<RawValue>>,
    /// When an attempt that failed, or whose worker vanished, is repeated.
    #[serde(default)]
    pub retry: RetryPolicy,
}

/// Where the agent works.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct WorkspaceSpec {
    /// A git repository: a URL, or a path on the worker's machine. Each attempt gets a worktree of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repo: Option<String>,
    /// Its branch, tag or commit; the default branch if absent.
    #[serde(default, skip_serializing_if = "Option::is_none", rename = "ref")]
    pub reference: Option<String>,
    /// The branch to which the result is pushed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub push: Option<String>,
    /// A directory on the worker's machine, which must be below the worker's root. Attempts share it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub directory: Option<PathBuf>,
}

/// When an attempt is repeated by itself.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RetryPolicy {
    /// An attempt is repeated if its log shows no side effects.
    #[default]
    Untouched,
    /// An attempt is repeated even if its log shows side effects.
    Always,
    /// An attempt is never repeated.
    Never,
}

impl RetryPolicy {
    /// Its word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Untouched => "untouched",
            Self::Always => "always",
            Self::Never => "never",
        }
    }

    /// The policy of a word that [`Self::as_str`] gave. One that is not known repeats nothing.
    pub(crate) fn from_word(word: &str) -> Self {
        let all = [Self::Untouched, Self::Always, Self::Never];
        let known = all.into_iter().find(|policy| policy.as_str() == word);
        known.unwrap_or(Self::Never)
    }

    /// Whether an attempt may be repeated. `touched`: its log shows side effects.
    pub fn allows(self, touched: bool) -> bool {
        match self {
            Self::Untouched => !touched,
            Self::Always => true,
            Self::Never => false,
        }
    }
}

/// Why a spec is refused.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SpecError {
    /// It is no JSON of this shape.
    #[error("the spec cannot be read")]
    Unreadable(#[source] serde_json::Error),
    /// It is of a newer version.
    #[error("the spec has version {version}; this program knows versions up to {SPEC_VERSION}")]
    NewerVersion {
        /// Its version.
        version: u64,
    },
    /// It has more bytes than `LARGEST_SPEC`.
    #[error("the spec has {bytes} bytes; {LARGEST_SPEC} are accepted")]
    TooLarge {
        /// Its size.
        bytes: usize,
    },
    /// A field has a value that makes no sense.
    #[error("`{field}` {problem}")]
    Field {
        /// The field.
        field: &'static str,
        /// The problem in words.
        problem: &'static str,
    },
}

impl SpecError {
    /// The next step for the user, if we know one.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::NewerVersion { .. } => Some("update lapidary on this machine"),
            Self::TooLarge { .. } => Some("put large inputs into the repository, and name them"),
            Self::Unreadable(_) | Self::Field { .. } => None,
        }
    }
}

/// The version alone: a newer spec may have fields that this program does not know.
#[derive(Deserialize)]
struct VersionOnly {
    version: u64,
}

impl TicketSpec {
    /// A spec with this prompt, and nothing else.
    pub fn new(prompt: impl Into<String>) -> Self {
        Self {
            version: SPEC_VERSION,
            prompt: prompt.into(),
            agent: None,
            model: None,
            workspace: None,
            permission_mode: None,
            deny: Vec::new(),
            ask: Vec::new(),
            timeout: None,
            budget: None,
            ask_timeout: None,
            output_schema: None,
            retry: RetryPolicy::default(),
        }
    }

    /// Reads a spec, and checks it.
    pub fn parse(bytes: &[u8]) -> Result<Self, SpecError> {
        check_size(bytes)?;
        let VersionOnly { version } =
            serde_json::from_slice(bytes).map_err(SpecError::Unreadable)?;
        if version > u64::from(SPEC_VERSION) {
            return Err(SpecError::NewerVersion { version });
        }
        let spec: Self = serde_json::from_slice(bytes).map_err(SpecError::Unreadable)?;
        spec.check()?;
        Ok(spec)
    }

    /// The spec as the store keeps it. The same spec has the same bytes.
    #[expect(clippy::missing_panics_doc, reason = "a spec can always be written")]
    pub fn to_bytes(&self) -> Vec<u8> {
        serde_json::to_vec(self).expect("a spec has text keys only")
    }

    /// How long a permission request waits for an answer.
    pub fn ask_timeout(&self) -> Option<Duration> {
        self.ask_timeout
            .and_then(|seconds| Duration::try_from_secs_f64(seconds).ok())
    }

    /// Refuses values that no worker can use. The bounds of a worker's configuration are checked by that worker.
    pub fn check(&self) -> Result<(), SpecError> {
        let field = |field, problem| Err(SpecError::Field { field, problem });
        if self.prompt.trim().is_empty() {
            return field("prompt", "is empty");
        }
        for (name, seconds) in [("timeout", self.timeout), ("askTimeout", self.ask_timeout)] {
            if seconds.is_some_and(|it| !is_duration(it)) {
                return field(name, "is not a number of seconds above 0");
            }
        }
        let Some(workspace) = &self.workspace else {
            return Ok(());
        };
        if workspace.repo.as_deref().is_some_and(has_credentials) {
            // The store would show them to every viewer.
            let problem =
                "has a `repo` with credentials: the worker's own git configuration has them";
            return field("workspace", problem);
        }
        match (&workspace.repo, &workspace.directory) {
            (Some(_), Some(_)) => field("workspace", "has both `repo` and `directory`"),
            (None, None) => field("workspace", "has neither `repo` nor `directory`"),
            (None, _) if workspace.reference.is_some() || workspace.push.is_some() => {
                field("workspace", "has `ref` or `push`, but no `repo`")
            }
            _ => Ok(()),
        }
    }
}

/// Refuses a spec that no worker reads.
pub(crate) fn check_size(bytes: &[u8]) -> Result<(), SpecError> {
    let bytes = bytes.len();
    if bytes > LARGEST_SPEC {
        return Err(SpecError::TooLarge { bytes });
    }
    Ok(())
}

fn has_credentials(repo: &str) -> bool {
    !Path::new(repo).is_absolute() && shown(repo) != repo
}

fn is_duration(seconds: f64) -> bool {
    Duration::try_from_secs_f64(seconds).is_ok_and(|it| !it.is_zero())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(text: &str) -> String {
        TicketSpec::parse(text.as_bytes()).unwrap_err().to_string()
    }

    #[test]
    fn a_spec_reads_back() {
        let mut spec = TicketSpec::new("fix it");
        spec.workspace = Some(WorkspaceSpec {
            repo: Some("https://example.org/a.git".to_owned()),
            reference: Some("main".to_owned()),
            push: None,
            directory: None,
        });
        spec.output_schema = Some(RawValue::from_string("{ \"const\": 1.0 }".to_owned()).unwrap());
        let bytes = spec.to_bytes();
        assert_eq!(TicketSpec::parse(&bytes).unwrap().to_bytes(), bytes);
    }

    #[test]
    fn a_newer_version_is_refused_before_its_fields_are_read() {
        let refused = refusal(r#"{"version":2,"prompt":"x","sandbox":{}}"#);
        assert_eq!(
            refused,
            "the spec has version 2; this program knows versions up to 1"
        );
    }

    #[test]
    fn a_command_line_or_an_environment_is_refused() {
        for field in ["command", "env", "args", "allow", "mcpServers"] {
            let text = format!(r#"{{"version":1,"prompt":"x","{field}":[]}}"#);
            assert!(TicketSpec::parse(text.as_bytes()).is_err(), "{field}");
        }
    }

    #[test]
    fn values_that_make_no_sense_are_refused() {
        assert_eq!(
            refusal(r#"{"version":1,"prompt":" \n"}"#),
            "`prompt` is empty"
        );
        assert_eq!(
            refusal(r#"{"version":1,"prompt":"x","timeout":0}"#),
            "`timeout` is not a number of seconds above 0"
        );
        assert_eq!(
            refusal(r#"{"version":1,"prompt":"x","workspace":{"ref":"main","directory":"/a"}}"#),
            "`workspace` has `ref` or `push`, but no `repo`"
        );
        let refused = refusal(
            r#"{"version":1,"prompt":"x","workspace":{"repo":"https://me:secret@h/a.git"}}"#,
        );
        assert_eq!(
            refused,
            "`workspace` has a `repo` with credentials: the worker's own git configuration has them"
        );
    }
}
