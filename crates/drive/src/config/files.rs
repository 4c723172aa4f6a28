//! Finding and reading `lapidary.toml`.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use super::Config;
use super::problem::{ConfigError, Warning};

/// What a configuration file is called, the user's and a project's.
pub const FILE_NAME: &str = "lapidary.toml";

/// No configuration is longer, and what is longer is none.
const LONGEST: u64 = 1024 * 1024;

/// What the files say, the project's laid over the user's.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Loaded {
    /// The configuration.
    pub config: Config,
    /// What was ignored in it.
    pub warnings: Vec<Warning>,
}

/// Reads the user's and the project's file; one that is not there says nothing.
///
/// A project cannot grant power: see [`Config::from_project_toml`].
pub fn load(user: Option<&Path>, project: Option<&Path>) -> Result<Loaded, ConfigError> {
    let (user, mut warnings) = read(user, Config::from_toml)?;
    let (mut config, more) = read(project, Config::from_project_toml)?;
    warnings.extend(more);
    if let Some(origin) = project {
        warnings.extend(keep_narrow(&mut config, &user, origin));
    }
    Ok(Loaded {
        config: config.over(user),
        warnings,
    })
}

/// Reads the user's file and lays one over it that they name instead of a project's. What the user names may grant what their own
/// file may, and must be there.
pub fn load_named(user: Option<&Path>, named: &Path) -> Result<Loaded, ConfigError> {
    let (user, mut warnings) = read(user, Config::from_toml)?;
    let text = text_of(named).map_err(|source| unreadable(named, source))?;
    let (config, more) = Config::from_toml(&text, named)?;
    warnings.extend(more);
    Ok(Loaded {
        config: config.over(user),
        warnings,
    })
}

/// Finds the file of the project that `dir` lies in: the nearest one on the way up, as far as the root of the repository.
pub fn find_project_file(dir: &Path) -> Option<PathBuf> {
    for dir in dir.ancestors() {
        let file = dir.join(FILE_NAME);
        if file.symlink_metadata().is_ok() {
            return Some(file);
        }
        if dir.join(".git").symlink_metadata().is_ok() {
            return None;
        }
    }
    None
}

/// A user who only lets agents plan is not overruled by the project.
fn keep_narrow(project: &mut Config, user: &Config, origin: &Path) -> Option<Warning> {
    let user = user.permission_mode?;
    let asked = project.permission_mode.take_if(|mode| *mode > user)?;
    Some(Warning::WiderThanUser {
        origin: origin.to_owned(),
        asked: asked.as_str(),
        user: user.as_str(),
    })
}

type Parse = fn(&str, &Path) -> Result<(Config, Vec<Warning>), ConfigError>;

fn read(path: Option<&Path>, parse: Parse) -> Result<(Config, Vec<Warning>), ConfigError> {
    let Some(path) = path else {
        return Ok(Default::default());
    };
    match text_of(path) {
        Ok(text) => parse(&text, path),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Default::default()),
        Err(source) => Err(unreadable(path, source)),
    }
}

fn unreadable(path: &Path, source: io::Error) -> ConfigError {
    let path = path.to_owned();
    ConfigError::Read { path, source }
}

/// The text of a regular file. Anything else, a pipe say, could be waited for without end.
fn text_of(path: &Path) -> io::Result<String> {
    if !path.metadata()?.is_file() {
        return Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            "it is not a regular file",
        ));
    }
    let mut text = String::new();
    File::open(path)?
        .take(LONGEST + 1)
        .read_to_string(&mut text)?;
    if text.len() as u64 > LONGEST {
        return Err(io::Error::new(
            io::ErrorKind::FileTooLarge,
            "it is longer than 1 MiB",
        ));
    }
    Ok(text)
}
