//! Errors and warnings of a configuration.

use std::fmt;
use std::io;
use std::path::PathBuf;

use crate::agents::AgentUrlError;
use crate::budget::BudgetError;

/// Why a configuration is refused.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// A file is there and cannot be read.
    #[error("cannot read {}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A file is not TOML.
    #[error("{place}: {reason}")]
    Syntax {
        /// Where.
        place: FilePosition,
        /// The parser's message, in one line.
        reason: String,
    },
    /// A value in a file is refused.
    #[error("{place}: {problem}")]
    At {
        /// Where.
        place: FilePosition,
        /// The problem.
        problem: ConfigProblem,
    },
    /// A value that came from no file is refused.
    #[error("{0}")]
    Refused(ConfigProblem),
}

impl ConfigError {
    /// The problem with a value, if the error is about one.
    pub fn problem(&self) -> Option<&ConfigProblem> {
        match self {
            Self::At { problem, .. } | Self::Refused(problem) => Some(problem),
            Self::Read { .. } | Self::Syntax { .. } => None,
        }
    }

    /// A step that the user can take, if we know one.
    pub fn hint(&self) -> Option<String> {
        self.problem().map(ConfigProblem::hint)
    }
}

/// A place in a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FilePosition {
    /// The file.
    pub path: PathBuf,
    /// The line, from 1.
    pub line: usize,
    /// The character in the line, from 1.
    pub column: usize,
}

impl FilePosition {
    /// The place of a byte in the text of a file.
    pub(super) fn from_offset(path: PathBuf, text: &str, byte: usize) -> Self {
        let before = text.get(..byte).unwrap_or(text);
        let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
        Self {
            path,
            line: before.matches('\n').count() + 1,
            column: before[line_start..].chars().count() + 1,
        }
    }
}

impl fmt::Display for FilePosition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}", self.path.display(), self.line, self.column)
    }
}

/// A problem with a value. Values are shown as Python shows them.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ConfigProblem {
    /// A number that must be greater than 0 is not.
    #[error("{key} must be > 0")]
    NotPositive {
        /// The key.
        key: &'static str,
        /// The value.
        got: String,
    },
    /// A word that the key does not accept.
    #[error("{key} must be one of {}, got: {got}", listed_words(accepted))]
    NotOneOf {
        /// The key.
        key: &'static str,
        /// The words that it takes.
        accepted: Vec<&'static str>,
        /// The value.
        got: String,
    },
    /// A value that is no list where a list belongs.
    #[error("{key} must be a list, got: {got_type}")]
    NotAList {
        /// The key.
        key: &'static str,
        /// The type of the value.
        got_type: &'static str,
        /// The value.
        got: String,
    },
    /// A value of another kind than the key takes.
    #[error("{key} must be {accepted}, got: {got}")]
    Unfit {
        /// The key.
        key: &'static str,
        /// The accepted values of the key.
        accepted: &'static str,
        /// The value.
        got: String,
    },
    /// One setting was given under both its names.
    #[error("approval_mode and permission_mode are one setting and were both given")]
    TwoModes,
    /// A program named a key that does not exist.
    #[error("unknown key {key}")]
    NoSuchKey {
        /// The key as it was given, and the known one it resembles.
        key: UnknownKey,
    },
    /// A budget that is none.
    #[error("{key}: {error}")]
    Budget {
        /// The key.
        key: &'static str,
        /// The problem with the budget.
        error: BudgetError,
    },
    /// `rule` is no list of tables.
    #[error("rule must be a table, got: {got}")]
    NotARule {
        /// The value.
        got: String,
    },
    /// A rule has a key that rules do not have. Its meaning is unknown, so the rule cannot be enforced.
    #[error("a rule has no key {key}")]
    NoSuchRuleKey {
        /// The key as it was given, and the known one it resembles.
        key: UnknownKey,
    },
    /// A rule without an effect.
    #[error("a rule needs `then`")]
    NoEffect,
    /// The address of an agent cannot be used.
    #[error("{0}")]
    AgentUrl(AgentUrlError),
    /// An agent has keys that exclude each other.
    #[error("{} exclude each other", keys.join(" and "))]
    Excluding {
        /// The keys.
        keys: Vec<&'static str>,
    },
    /// An agent's token has a place, and the agent has no address that it could be sent to.
    #[error("{key} needs `url`")]
    TokenWithoutUrl {
        /// The key.
        key: &'static str,
    },
    /// An agent's token would be sent unencrypted over a network.
    #[error("{key} needs an encrypted `url`, or one on this machine")]
    UnprotectedToken {
        /// The key.
        key: &'static str,
    },
}

impl ConfigProblem {
    /// The values that would be accepted.
    pub fn hint(&self) -> String {
        match self {
            Self::NotPositive { key, got } => {
                format!("`{key}` is {got}: leave it out for the default")
            }
            Self::NotOneOf { key, accepted, .. } => {
                format!("`{key}` takes {}", accepted.join(", "))
            }
            Self::NotAList { key, got, .. } => {
                format!("`{key}` takes strings in brackets: {key} = [{got}]")
            }
            Self::Unfit { key, accepted, .. } => format!("`{key}` takes {accepted}"),
            Self::TwoModes | Self::Excluding { .. } => "keep one of them".to_owned(),
            Self::NoSuchKey { .. } => format!("there are {}", super::KEYS.join(", ")),
            Self::Budget { key, .. } => {
                format!(
                    "`{key}` takes limits, such as \"tokens=200000,cost=1.50,tool-calls=50,turns=20\""
                )
            }
            Self::NotARule { .. } => "each rule begins with a line [[rule]]".to_owned(),
            Self::NoSuchRuleKey { .. } => {
                format!("there are {}", super::rule_entry::RULE_KEYS.join(", "))
            }
            Self::NoEffect => "write then = \"allow\", \"deny\" or \"ask\"".to_owned(),
            Self::AgentUrl(error) => error.hint().to_owned(),
            Self::TokenWithoutUrl { .. } => "a program gets its credentials from `env`".to_owned(),
            Self::UnprotectedToken { .. } => "use wss:// or https://".to_owned(),
        }
    }
}

/// A problem that does not stop the run.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum ConfigWarning {
    /// Unknown keys were ignored.
    UnknownKeys {
        /// The file, if they came from one.
        origin: Option<PathBuf>,
        /// The keys, in the order of the file.
        keys: Vec<UnknownKey>,
        /// Where each of them stands, if they came from a file.
        places: Vec<FilePosition>,
    },
    /// A project's file asked for power that only the user can give. The key was ignored.
    NotForProjects {
        /// Where it stands.
        place: FilePosition,
        /// The key.
        key: &'static str,
        /// The value that it asked for.
        asked: String,
    },
    /// A project's file has a rule that allows actions. It was ignored.
    RuleNotForProjects {
        /// Where it stands.
        rule: String,
    },
    /// A project's file asked for more than the user's own file allows. The key was ignored.
    WiderThanUser {
        /// The project's file.
        origin: PathBuf,
        /// The value that it asked for.
        asked: &'static str,
        /// The value in the user's file.
        user: &'static str,
    },
    /// A file with the name of a project's file belongs neither to the user nor to root. It was ignored.
    NotOurs {
        /// The file.
        origin: PathBuf,
    },
}

impl fmt::Display for ConfigWarning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnknownKeys { origin, keys, .. } => {
                if let Some(origin) = origin {
                    write!(f, "{}: ", origin.display())?;
                }
                f.write_str(if keys.len() == 1 {
                    "unknown key ignored: "
                } else {
                    "unknown keys ignored: "
                })?;
                for (index, key) in keys.iter().enumerate() {
                    write!(f, "{}{key}", if index > 0 { ", " } else { "" })?;
                }
                Ok(())
            }
            Self::NotForProjects { place, key, asked } => write!(
                f,
                "{place}: `{key} = {asked}` ignored: a project's file cannot grant this; put it into your own \
                 {}, or on the command line",
                super::FILE_NAME
            ),
            Self::RuleNotForProjects { rule } => write!(
                f,
                "{rule}: the rule is ignored: a project's file cannot allow anything; put it into your own {}, or on \
                 the command line",
                super::FILE_NAME
            ),
            Self::WiderThanUser {
                origin,
                asked,
                user,
            } => write!(
                f,
                "{}: permission mode `{asked}` ignored: your own {} says `{user}`, and a project's file cannot widen that",
                origin.display(),
                super::FILE_NAME
            ),
            Self::NotOurs { origin } => write!(
                f,
                "{} ignored: it belongs to another user",
                origin.display()
            ),
        }
    }
}

/// An unknown key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnknownKey {
    /// The key.
    pub key: String,
    /// The key that was probably meant.
    pub nearest: Option<&'static str>,
}

impl fmt::Display for UnknownKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}`", self.key.escape_debug())?;
        match self.nearest {
            Some(nearest) => write!(f, " (did you mean `{nearest}`?)"),
            None => Ok(()),
        }
    }
}

/// Words as a list in Python.
fn listed_words(words: &[&'static str]) -> String {
    let words: super::ConfigValue = words.iter().copied().collect();
    words.to_string()
}
