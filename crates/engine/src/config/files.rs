//! Finding and reading `lapidary.toml`.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use super::Config;
use super::problem::{ConfigError, ConfigWarning};
use super::read::ParsedConfig;
use crate::system::is_ours;

/// The name of a configuration file, the user's and a project's.
pub const FILE_NAME: &str = lapidary_policy::CONFIG_FILE_NAME;

/// Longer files are refused.
const LONGEST: u64 = 1024 * 1024;

/// The configuration of the files, the project's laid over the user's.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct LoadedConfig {
    /// The configuration.
    pub config: Config,
    /// Its entries that were ignored.
    pub warnings: Vec<ConfigWarning>,
}

/// Reads the user's and the project's file; a missing file counts as empty.
///
/// A project cannot grant power: see [`Config::from_project_toml`]. Nor can another user pose as a project: directories that many
/// people share are above many projects, so a file there counts only if it belongs to the user or to root.
pub fn load(user: Option<&Path>, project: Option<&Path>) -> Result<LoadedConfig, ConfigError> {
    let user = user.map(read_users).transpose()?.unwrap_or_default();
    let project = project.map(|origin| read_projects(origin, &user.config));
    let project = project.transpose()?.unwrap_or_default();
    Ok(LoadedConfig::from_files(project, user))
}

/// Reads the user's file and lays a file over it that the user names instead of a project's. The named file may grant the same
/// power as the user's own file, and must exist.
pub fn load_named(user: Option<&Path>, named: &Path) -> Result<LoadedConfig, ConfigError> {
    let user = user.map(read_users).transpose()?.unwrap_or_default();
    let named = read_named(named)?;
    Ok(LoadedConfig::from_files(named, user))
}

impl LoadedConfig {
    fn from_files(upper: ParsedConfig, lower: ParsedConfig) -> Self {
        let mut warnings = lower.warnings;
        warnings.extend(upper.warnings);
        Self {
            config: upper.config.over(lower.config),
            warnings,
        }
    }
}

/// Finds the file of the project that `dir` lies in: the nearest one on the way up, as far as the root of the repository or the
/// user's home.
pub fn find_project_file(dir: &Path, home: Option<&Path>) -> Option<PathBuf> {
    let real_home = home.and_then(|home| home.canonicalize().ok());
    let is_home = |dir: &Path| home == Some(dir) || real_home.as_deref() == Some(dir);
    for dir in dir.ancestors() {
        let file = dir.join(FILE_NAME);
        if file.symlink_metadata().is_ok() {
            return Some(file);
        }
        if is_home(dir) || dir.join(".git").symlink_metadata().is_ok() {
            return None;
        }
    }
    None
}

/// Drops a permission mode of the project that is wider than the user's.
fn keep_narrow(project: &mut Config, user: &Config, origin: &Path) -> Option<ConfigWarning> {
    let user = user.permission_mode?;
    let asked = project.permission_mode.take_if(|mode| *mode > user)?;
    Some(ConfigWarning::WiderThanUser {
        origin: origin.to_owned(),
        asked: asked.as_str(),
        user: user.as_str(),
    })
}

type ParseFunction = fn(&str, &Path) -> Result<ParsedConfig, ConfigError>;

pub(super) fn read_users(origin: &Path) -> Result<ParsedConfig, ConfigError> {
    parse_file(origin, open(origin).map(Some), ParsedConfig::from_toml)
}

pub(super) fn read_projects(origin: &Path, user: &Config) -> Result<ParsedConfig, ConfigError> {
    let file = open_if_ours(origin);
    let mut read = parse_file(origin, file, ParsedConfig::from_project_toml)?;
    let config = &mut read.config;
    read.warnings.extend(keep_narrow(config, user, origin));
    if let (Some(budget), Some(user)) = (config.budget, user.budget) {
        config.budget = Some(user.narrowed_by(budget));
    }
    if let (Some(mode), Some(user)) = (config.confine, user.confine) {
        config.confine = Some(mode.max(user));
    }
    if let (Some(ports), Some(user)) = (&mut config.confine_connect, &user.confine_connect) {
        ports.retain(|port| user.contains(port));
    }
    keep_smaller(&mut config.max_turns, user.max_turns);
    keep_smaller(&mut config.max_output, user.max_output);
    keep_smaller(&mut config.retries, user.retries);
    Ok(read)
}

/// Keeps the smaller one of two limits.
fn keep_smaller<T: Ord>(project: &mut Option<T>, user: Option<T>) {
    if let (Some(limit), Some(user)) = (project, user)
        && *limit > user
    {
        *limit = user;
    }
}

/// A file that the user names has to be there.
pub(super) fn read_named(origin: &Path) -> Result<ParsedConfig, ConfigError> {
    let text = open(origin).and_then(text_of);
    let text = text.map_err(|source| unreadable_file(origin, source))?;
    ParsedConfig::from_toml(&text, origin)
}

/// Parses a file. A missing file counts as empty, and a file of another user is ignored with a warning.
fn parse_file(
    origin: &Path,
    file: io::Result<Option<File>>,
    parse: ParseFunction,
) -> Result<ParsedConfig, ConfigError> {
    match file.and_then(|file| file.map(text_of).transpose()) {
        Ok(Some(text)) => parse(&text, origin),
        Ok(None) => {
            let origin = origin.to_owned();
            Ok(ParsedConfig {
                warnings: vec![ConfigWarning::NotOurs { origin }],
                ..ParsedConfig::default()
            })
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(ParsedConfig::default()),
        Err(source) => Err(unreadable_file(origin, source)),
    }
}

fn unreadable_file(path: &Path, source: io::Error) -> ConfigError {
    let path = path.to_owned();
    ConfigError::Read { path, source }
}

/// The file, unless it or a link to it belongs to another user. The path is checked first, because another user's file need not
/// even be readable; the open file is checked again, because it may be another file by then.
fn open_if_ours(path: &Path) -> io::Result<Option<File>> {
    if !is_ours(&path.symlink_metadata()?) || !is_ours(&path.metadata()?) {
        return Ok(None);
    }
    let file = open(path)?;
    Ok(is_ours(&file.metadata()?).then_some(file))
}

/// Opens a regular file. A read of any other file, such as a pipe, could wait without end.
fn open(path: &Path) -> io::Result<File> {
    if !path.metadata()?.is_file() {
        return Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            "it is not a regular file",
        ));
    }
    File::open(path)
}

fn text_of(file: File) -> io::Result<String> {
    let mut text = String::new();
    file.take(LONGEST + 1).read_to_string(&mut text)?;
    if text.len() as u64 > LONGEST {
        return Err(io::Error::new(
            io::ErrorKind::FileTooLarge,
            "it is longer than 1 MiB",
        ));
    }
    Ok(text)
}
