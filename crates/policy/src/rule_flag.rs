//! Rules as they are written on the command line: `execute`, `execute:git diff *`, `edit:src/**`, `tool=NAME`, `mcp=SERVER`, `fetch:HOST`.

use std::path::Path;

use lapidary_vocab::event::ToolKind;

use super::glob::PathGlob;
use super::host::HostPattern;
use super::{PermissionEffect, Rule, RuleOrigin, RuleSubject};
use crate::nearest::nearest_of;

/// Why a flag is no rule.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FlagError {
    /// There is nothing in it.
    #[error("a rule cannot be empty; `*` matches everything")]
    Empty,
    /// A word that is no kind of tool.
    #[error("unknown kind of tool `{}`{}", word.escape_debug(), did_you_mean(*nearest))]
    NoSuchKind {
        /// The word.
        word: String,
        /// The kind that was probably meant.
        nearest: Option<&'static str>,
    },
    /// A pattern behind a kind that has none.
    #[error(
        "`{kind}` takes no pattern: `execute` takes a command, `mcp` a server, `fetch` a host, and what works on files a path"
    )]
    NoPattern {
        /// The kind.
        kind: String,
    },
    /// A pattern that is none.
    #[error("`{pattern}` must be {accepted}")]
    Pattern {
        /// The pattern.
        pattern: String,
        /// An accepted form.
        accepted: &'static str,
    },
}

fn did_you_mean(nearest: Option<&'static str>) -> String {
    match nearest {
        Some(nearest) => format!(" (did you mean `{nearest}`?)"),
        None => format!("; the kinds are {}", ToolKind::KNOWN.join(", ")),
    }
}

impl Rule {
    /// Reads the value of `--allow`, `--deny` or `--ask`. Relative paths in it count from `dir`.
    ///
    /// | spec | is about |
    /// |---|---|
    /// | `*` | everything |
    /// | `read`, `read,search` | these kinds of tools |
    /// | `execute:git diff *` | these commands |
    /// | `edit:src/**` (also `read`, `delete`, `move`, `search`) | these files |
    /// | `mcp:github`, `mcp=github` | the tools of this MCP server |
    /// | `fetch:docs.rs` (also `browse`) | calls that reach this host |
    /// | `tool=run_*` | tools of these names |
    /// | `command=…`, `path=…`, `host=…`, `kind=…` | as in a rule of `lapidary.toml` |
    ///
    /// ```
    /// use lapidary_policy::{PermissionEffect, Rule};
    ///
    /// let here = std::path::Path::new("/work");
    /// let rule = Rule::parse_flag(PermissionEffect::Deny, "execute:rm *", here)?;
    /// assert_eq!(rule.name, "--deny 'execute:rm *'");
    /// let refused = Rule::parse_flag(PermissionEffect::Allow, "exectue", here).unwrap_err();
    /// assert_eq!(refused.to_string(), "unknown kind of tool `exectue` (did you mean `execute`?)");
    /// # Ok::<(), lapidary_policy::FlagError>(())
    /// ```
    pub fn parse_flag(effect: PermissionEffect, spec: &str, dir: &Path) -> Result<Self, FlagError> {
        Ok(Self {
            then: effect,
            reason: None,
            name: format!("--{} '{spec}'", effect.as_str()),
            origin: RuleOrigin::Flag,
            about: RuleSubject::parse(spec.trim(), dir)?,
        })
    }
}

impl RuleSubject {
    fn parse(spec: &str, dir: &Path) -> Result<Self, FlagError> {
        let mut about = Self::default();
        if spec.is_empty() {
            return Err(FlagError::Empty);
        }
        if spec == "*" {
            return Ok(about);
        }
        if let Some((key, value)) = spec.split_once('=')
            && ["kind", "tool", "mcp", "command", "path", "host"].contains(&key.trim())
        {
            return about.look_at(key.trim(), value.trim(), dir).map(|()| about);
        }
        let (kinds, pattern) = match spec.split_once(':') {
            Some((kinds, pattern)) => (kinds, Some(pattern.trim())),
            None => (spec, None),
        };
        about.look_at("kind", kinds, dir)?;
        if let Some(pattern) = pattern {
            let key = key_of(&about.kinds, kinds)?;
            about.look_at(key, pattern, dir)?;
        }
        Ok(about)
    }

    fn look_at(&mut self, key: &str, value: &str, dir: &Path) -> Result<(), FlagError> {
        if value.is_empty() {
            return Err(FlagError::Empty);
        }
        match key {
            "kind" => self.kinds = value.split(',').map(parse_kind).collect::<Result<_, _>>()?,
            "tool" => self.tools.push(value.to_owned()),
            "mcp" => self.servers.push(value.to_owned()),
            "command" => self.commands.push(value.to_owned()),
            "host" => {
                let host = HostPattern::parse(value).map_err(|error| FlagError::Pattern {
                    pattern: value.to_owned(),
                    accepted: error.accepted(),
                })?;
                self.hosts.push(host);
            }
            _ => {
                let glob = PathGlob::parse(value, dir).map_err(|error| FlagError::Pattern {
                    pattern: value.to_owned(),
                    accepted: error.accepted(),
                })?;
                self.paths.push(glob);
            }
        }
        Ok(())
    }
}

/// The condition that a pattern behind these kinds sets.
fn key_of(kinds: &[ToolKind], spelt: &str) -> Result<&'static str, FlagError> {
    let is_file = |kind: &ToolKind| {
        use ToolKind::{Delete, Edit, Move, Read, Search};
        matches!(kind, Read | Edit | Delete | Move | Search)
    };
    let is_fetch = |kind: &ToolKind| matches!(kind, ToolKind::Fetch | ToolKind::Browse);
    match kinds {
        [ToolKind::Execute] => Ok("command"),
        [ToolKind::Mcp] => Ok("mcp"),
        kinds if kinds.iter().all(is_fetch) => Ok("host"),
        kinds if kinds.iter().all(is_file) => Ok("path"),
        _ => Err(FlagError::NoPattern {
            kind: spelt.to_owned(),
        }),
    }
}

fn parse_kind(word: &str) -> Result<ToolKind, FlagError> {
    match ToolKind::from(word.trim()) {
        ToolKind::Other(word) => Err(FlagError::NoSuchKind {
            nearest: nearest_of(&word, ToolKind::KNOWN.iter().copied()),
            word,
        }),
        known => Ok(known),
    }
}
