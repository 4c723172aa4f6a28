//! `[fleet]` in the user's `lapidary.toml`: the repositories, directories, branches and agents that tickets may name on this
//! machine. A project's file has no such part.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::Deserialize;

use crate::workspace::SetupCommand;

/// How long a setup command may take unless configured otherwise.
const SETUP_TIMEOUT: Duration = Duration::from_mins(10);

/// The settings of a fleet's worker. Repositories, directories and branches that are not listed are refused.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FleetSettings {
    /// The address of the store. A project's file has no say: it comes with a cloned repository, and would choose where prompts go.
    #[serde(default)]
    pub store: Option<String>,
    /// Repositories that tickets may name, with `*` for any text: `https://example.org/team/*`.
    #[serde(default)]
    pub repositories: Vec<String>,
    /// Directories below which tickets may work directly.
    #[serde(default)]
    pub directories: Vec<PathBuf>,
    /// Branches to which tickets may push, with `*` for any text.
    #[serde(default)]
    pub push: Vec<String>,
    /// Agents that tickets may name; any configured one if absent.
    #[serde(default)]
    pub agents: Option<Vec<String>>,
    /// The command that runs in each workspace before the agent.
    #[serde(default)]
    pub setup: Option<String>,
    /// How long it may take, in seconds.
    #[serde(default)]
    pub setup_timeout: Option<f64>,
}

/// Why the settings cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SettingsError {
    /// The file cannot be read.
    #[error("cannot read `{}`", file.display())]
    Unreadable {
        /// The file.
        file: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// The part about fleets is wrong.
    #[error("`{}`: {reason}", file.display())]
    Wrong {
        /// The file.
        file: PathBuf,
        /// The reason, with its place.
        reason: String,
    },
}

/// The part of the file that is read here.
#[derive(Deserialize)]
struct FleetPart {
    #[serde(default)]
    fleet: FleetSettings,
}

impl FleetSettings {
    /// Reads the user's file. A missing file gives the default settings.
    pub fn read(file: &Path) -> Result<Self, SettingsError> {
        match fs::read_to_string(file) {
            Ok(text) => Self::parse(&text, file),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Self::default()),
            Err(source) => Err(SettingsError::Unreadable {
                file: file.to_owned(),
                source,
            }),
        }
    }

    /// Reads the text of a file.
    pub fn parse(text: &str, file: &Path) -> Result<Self, SettingsError> {
        let part: FleetPart = toml::from_str(text).map_err(|error| SettingsError::Wrong {
            file: file.to_owned(),
            // Only the message: the line itself may have the password of the store.
            reason: error.message().replace('\n', ", "),
        })?;
        Ok(part.fleet)
    }

    /// The setup command, with its deadline.
    pub(crate) fn setup(&self) -> Option<SetupCommand> {
        let seconds = self.setup_timeout.map(Duration::try_from_secs_f64);
        Some(SetupCommand {
            command: self.setup.clone()?,
            timeout: seconds.and_then(Result::ok).unwrap_or(SETUP_TIMEOUT),
        })
    }
}

/// Whether a text fits a pattern with `*` for any text, also none.
pub(crate) fn fits_pattern(pattern: &str, text: &str) -> bool {
    let mut parts = pattern.split('*');
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = text.strip_prefix(first) else {
        return false;
    };
    let mut parts: Vec<&str> = parts.collect();
    let Some(last) = parts.pop() else {
        return rest.is_empty(); // no `*`
    };
    for part in parts {
        let Some(at) = rest.find(part) else {
            return false;
        };
        rest = &rest[at + part.len()..];
    }
    rest.ends_with(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_stands_for_any_text() {
        for (pattern, text, expected) in [
            ("https://h/t/*", "https://h/t/a.git", true),
            ("https://h/t/*", "https://h/tt/a.git", false),
            ("agent/*/x", "agent/1/2/x", true),
            ("agent/*/x", "agent/x", false),
            ("main", "main", true),
            ("main", "mainly", false),
            ("*", "", true),
            ("a*a", "a", false),
        ] {
            assert_eq!(fits_pattern(pattern, text), expected, "{pattern} {text}");
        }
    }

    #[test]
    fn unknown_keys_are_refused_and_other_parts_of_the_file_are_not_read() {
        let file = Path::new("lapidary.toml");
        let text = "model = 'm'\n[fleet]\nrepositories = ['/srv/*']\nsetup = 'make'\n";
        let settings = FleetSettings::parse(text, file).unwrap();
        assert_eq!(settings.repositories, ["/srv/*"]);
        assert_eq!(settings.setup().unwrap().timeout, SETUP_TIMEOUT);
        let wrong = FleetSettings::parse("[fleet]\nrepositorys = []\n", file);
        assert!(wrong.unwrap_err().to_string().contains("repositorys"));
    }
}
