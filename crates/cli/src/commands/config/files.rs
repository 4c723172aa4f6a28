//! The configuration files that count in a directory.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, anyhow};
use lapidary::engine::config::{self, ConfigLayers};
use lapidary::engine::detect::SearchEnvironment;
use lapidary::vocab::config_report::{ConfigFile, ConfigOwner};

use crate::failure::Failure;
use crate::invocation::Invocation;
use lapidary::directories;

/// Which files are meant.
#[derive(Debug, clap::Args)]
pub(super) struct FileArgs {
    /// Directory of the project [default: .]
    #[arg(short = 'C', long = "working-dir", value_name = "DIR")]
    working_dir: Option<PathBuf>,
    /// Use this file instead of the project's lapidary.toml
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
}

/// The paths, whether there is a file or not.
pub(super) struct ConfigPaths {
    pub(super) user: Option<PathBuf>,
    pub(super) project: Option<PathBuf>,
    pub(super) named: Option<PathBuf>,
}

impl ConfigPaths {
    pub(super) fn find_files(args: &FileArgs, invocation: &Invocation) -> Result<Self, Failure> {
        let (directory, environment) = search_context(args.working_dir.as_deref(), invocation)?;
        let named = args.config.as_ref().map(|file| environment.dir.join(file));
        if let Some(named) = named.as_ref().filter(|named| !named.exists()) {
            let error = anyhow!("`{}` does not exist", named.display());
            return Err(Failure::bad_input(error));
        }
        let project = config::find_project_file(&directory, environment.home.as_deref());
        Ok(Self {
            user: user_file(&environment),
            project: project.filter(|_| named.is_none()),
            named,
        })
    }

    pub(super) fn config_layers(&self) -> ConfigLayers<'_> {
        ConfigLayers {
            user: self.user.as_deref(),
            project: self.project.as_deref(),
            named: self.named.as_deref(),
        }
    }

    /// The files as reports list them.
    pub(super) fn listed_files(&self) -> Vec<ConfigFile> {
        let files = [
            (ConfigOwner::User, &self.user),
            (ConfigOwner::Project, &self.project),
            (ConfigOwner::Named, &self.named),
        ];
        let files = files.into_iter().filter_map(|(owner, path)| {
            let path = path.as_ref()?;
            Some(ConfigFile {
                owner,
                path: path.display().to_string(),
                exists: path.exists(),
            })
        });
        files.collect()
    }
}

/// The user's own file, which need not be there.
pub(super) fn user_file(environment: &SearchEnvironment) -> Option<PathBuf> {
    let directory = directories::config(environment)?;
    Some(directory.join(config::FILE_NAME))
}

/// The working directory, and our environment.
pub(super) fn search_context(
    working_dir: Option<&Path>,
    invocation: &Invocation,
) -> Result<(PathBuf, SearchEnvironment), Failure> {
    let here = invocation
        .current_dir()
        .context("cannot find the current directory");
    let here = here.map_err(Failure::bad_input)?;
    let environment = SearchEnvironment::from_vars(invocation.all_variables(), &here);
    let directory = working_dir.map_or_else(|| here.clone(), |dir| here.join(dir));
    if !directory.is_dir() {
        let error = anyhow!("`{}` is not a directory", directory.display());
        return Err(Failure::bad_input(error));
    }
    Ok((directory, environment))
}
