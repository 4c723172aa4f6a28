//! What every verb can be told: whose sessions, and of which projects.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use anyhow::{Context as _, anyhow};
use lapidary::engine::detect::Environment;
use lapidary::engine::recorded_sessions::RecordingSessions;
use lapidary::engine::recording::ListingMode;
use lapidary::gemini::GeminiHome;
use lapidary::gemini::Vars;
use lapidary::sessions::vault::Vault;
use lapidary::sessions::{
    Index, Listed, Listing, OnlyInVault, Project, ProjectReach, ProviderScope, SelectError,
    Selection, SessionProvider as _, Store, select,
};

use crate::failure::Failure;
use lapidary::{directories, prepare};

/// Which projects.
#[derive(Debug, Clone, clap::Args)]
pub(super) struct Scope {
    /// The project's directory [default: here]
    #[arg(short = 'C', long, value_name = "DIR", conflicts_with = "all")]
    pub(super) project: Option<PathBuf>,
    /// Every project
    #[arg(short, long)]
    pub(super) all: bool,
    /// Read the files even if there is an index of them
    #[arg(long)]
    pub(super) no_index: bool,
}

/// How lists are printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(in crate::commands) enum Format {
    /// For reading on a terminal
    Text,
    /// One object, as `lapidary schema` describes it
    Json,
}

impl Format {
    /// Text for people, JSON for programs.
    pub(in crate::commands) fn or_usual(format: Option<Self>, is_terminal: bool) -> Self {
        let usual = if is_terminal { Self::Text } else { Self::Json };
        format.unwrap_or(usual)
    }
}

/// A home, opened: where sessions are, and where ours are kept.
pub(in crate::commands) struct Place {
    pub(in crate::commands) environment: Environment,
    pub(in crate::commands) store: Store,
    pub(super) now: SystemTime,
}

impl Place {
    pub(in crate::commands) fn open() -> Result<Self, Failure> {
        Self::seen_with(&[])
    }

    /// The same with some variables set otherwise.
    pub(in crate::commands) fn seen_with(
        assigned: &[(OsString, OsString)],
    ) -> Result<Self, Failure> {
        let here = std::env::current_dir().unwrap_or_default();
        let vars = std::env::vars_os().chain(assigned.iter().cloned());
        let environment = Environment::from_vars(vars, here);
        let home = GeminiHome::from_vars(Vars::new(&environment.vars), environment.home.as_deref());
        let Some(home) = home else {
            let failure = Failure::bad_input(anyhow!("there is no home directory to look in"));
            return Err(failure.with_hint("set HOME or GEMINI_CLI_HOME"));
        };
        Ok(Self {
            environment,
            store: Store::new(home),
            now: SystemTime::now(),
        })
    }

    /// The projects that are meant.
    pub(super) fn projects(&self, scope: &Scope) -> Result<Vec<Project>, Failure> {
        if scope.all {
            return Ok(self.store.projects());
        }
        let root = self.root(scope.project.as_deref())?;
        Ok(vec![self.store.project(&root)])
    }

    /// The directory of the project that is meant. The CLI goes by what the system calls the current directory, links resolved;
    /// one that is gone goes by its name.
    pub(in crate::commands) fn root(&self, named: Option<&Path>) -> Result<PathBuf, Failure> {
        let Some(named) = named else {
            let here = std::env::current_dir();
            let here = here.context("cannot determine the current directory");
            return here.map_err(|error| {
                Failure::bad_input(error).with_hint("name a project with --project, or say --all")
            });
        };
        let path = self.environment.dir.join(named);
        Ok(path.canonicalize().unwrap_or(path))
    }

    /// The sessions of those projects.
    pub(super) fn listing(&self, scope: &Scope) -> Result<Listing, Failure> {
        let mut index = self.index(scope);
        let mut listing = Listing::with(&self.projects(scope)?, self.now, &mut index);
        listing.warnings.append(&mut index.warnings);
        Ok(listing)
    }

    /// The sessions of those projects of which only the vault has a copy. A vault that cannot be found has none.
    pub(super) fn only_in_vault(&self, projects: &[Project]) -> OnlyInVault {
        let vault = prepare::vault_in(&self.environment);
        vault.map_or_else(
            |_| OnlyInVault::default(),
            |folder| OnlyInVault::of(&Vault::open(folder), projects),
        )
    }

    /// The sessions of recorded runs in those projects, in files of Gemini CLI or not. A directory that cannot be found has none.
    pub(super) fn recordings(&self, scope: &Scope, projects: &[Project]) -> Recordings {
        let Ok(place) = prepare::recorded_in(None, &self.environment) else {
            return Recordings::default();
        };
        let mut provider = RecordingSessions::new(place.root, ListingMode::Cached);
        let listing = provider.list(&ProviderScope {
            projects,
            reach: if scope.all {
                ProjectReach::Everywhere
            } else {
                ProjectReach::Named
            },
            now: self.now,
        });
        Recordings { provider, listing }
    }

    /// The index of this home, if there is one and nobody minds.
    pub(super) fn index(&self, scope: &Scope) -> Index {
        match self.index_path() {
            Some(path) if !scope.no_index => Index::open(&path, self.now),
            path => Index::none(&path.unwrap_or_default(), self.now),
        }
    }

    /// Where the index of this home is, or would be.
    pub(super) fn index_path(&self) -> Option<PathBuf> {
        let cache = directories::cache(&self.environment)?;
        Some(Index::path(&cache, &self.store.home))
    }
}

/// Recorded runs as sessions.
#[derive(Debug, Default)]
pub(super) struct Recordings {
    pub(super) provider: RecordingSessions,
    pub(super) listing: Listing,
}

impl Recordings {
    /// Without the sessions that are known from elsewhere.
    pub(super) fn retain(&mut self, is_wanted: impl Fn(&Listed) -> bool) {
        self.listing.sessions.retain(is_wanted);
    }
}

/// The session that is meant, or a failure that says what there is instead.
pub(super) fn selected<'l>(
    listing: &'l Listing,
    identifier: &str,
    selection: Selection,
) -> Result<&'l Listed, Failure> {
    select(listing, identifier, selection).map_err(not_found)
}

#[expect(clippy::needless_pass_by_value, reason = "`map_err` hands it over")]
pub(super) fn not_found(error: SelectError) -> Failure {
    let hint = match &error {
        SelectError::NoSessions => "`lapidary sessions list --all` shows those of other projects",
        SelectError::NotWhole { .. } => {
            "give the whole id, or the number in `lapidary sessions list`"
        }
        SelectError::Ambiguous { .. } => "write more of the id",
        _ => {
            "`lapidary sessions list` prints numbers and ids; the beginning of an id is enough, except to delete"
        }
    };
    let code = error.code();
    Failure::bad_input(anyhow!("{error} ({code})")).with_hint(hint)
}
