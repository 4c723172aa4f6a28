//! Hooks: which there are, where each is written, which of them count, and which run at an event.
//!
//! Rules are those of Gemini CLI 0.61. A definition that it drops without a word has a reason here ([`LeftOut`]).

pub mod check;
mod definition;
mod enablement;
mod matcher;
mod merge;
pub mod migrate;
mod names;
mod notices;
mod plan;
mod registry;
mod required_files;
mod trusted;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

pub use lapidary_wire::gemini::hooks::{HookEvent, MatcherKind};
pub use names::{event_meant, nearest};
pub use notices::notices;
pub use plan::{HookPlan, PassedOver, RunOrder};
pub use registry::{HookEntry, HookProblem, HookRegistry, LeftOut};
pub use required_files::UnusableFile;
pub use trusted::TrustedHooks;

use crate::settings::SettingsScope;

/// How long a hook may take that does not say.
pub const DEFAULT_TIMEOUT: Duration = Duration::from_mins(1);

/// What Gemini CLI takes for a hook's source, the strongest first: the order in which hooks run.
///
/// It reads hooks from its merged settings and so takes all of them for the project's. Where a hook really is written says
/// [`Hook::scope`].
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum HookSource {
    /// A program registered it.
    Runtime,
    /// Settings.
    Project,
    /// The user's settings, if a program says so.
    User,
    /// The system's settings, if a program says so.
    System,
    /// An extension, by its name.
    Extension(String),
}

/// A hook that can run.
#[derive(Debug, Clone, PartialEq)]
pub struct Hook {
    /// The event it is for.
    pub event: HookEvent,
    /// Its author's name for it.
    pub name: Option<String>,
    /// Its author's description.
    pub description: Option<String>,
    /// The command for the shell.
    pub command: String,
    /// How long it may take: [`DEFAULT_TIMEOUT`] if it does not say.
    pub timeout: Option<Duration>,
    /// Variables for it, over all others.
    pub env: BTreeMap<String, String>,
    /// Whether a call goes on where this `BeforeTool` hook did not end by itself: `failOpen`, which Gemini CLI does not know.
    pub fail_open: bool,
    /// When it runs, as it is written.
    pub matcher: Option<String>,
    /// Whether it makes the hooks of a plan run one after the other.
    pub sequential: bool,
    /// Its source, by which hooks are ordered.
    pub source: HookSource,
    /// The scope of the settings that define it, if settings do.
    pub scope: Option<SettingsScope>,
    /// The file it is written in.
    pub origin: PathBuf,
    /// Where in it: the keys and indices that lead there.
    pub place: Vec<String>,
}

impl HookSource {
    /// Where it stands in the order: the lowest runs first.
    pub const fn priority(&self) -> u8 {
        match self {
            Self::Runtime => 0,
            Self::Project => 1,
            Self::User => 2,
            Self::System => 3,
            Self::Extension(_) => 4,
        }
    }

    /// Gemini CLI's word for it.
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::Runtime => "runtime",
            Self::Project => "project",
            Self::User => "user",
            Self::System => "system",
            Self::Extension(_) => "extensions",
        }
    }
}

impl Hook {
    /// Its name in lists and in `hooksConfig.disabled`: its name, else its command.
    pub fn display_name(&self) -> &str {
        let name = self.name.as_deref().filter(|name| !name.is_empty());
        name.unwrap_or(&self.command)
    }

    /// The key by which two hooks are the same: for running it once, and for having been seen before.
    pub fn key(&self) -> String {
        format!(
            "{}:{}",
            self.name.as_deref().unwrap_or_default(),
            self.command
        )
    }

    /// Why it never runs though it is switched on, if its matcher can match nothing.
    pub fn never_runs(&self) -> Option<String> {
        check::never_matches(self)
    }

    /// How long it may take.
    pub fn deadline(&self) -> Duration {
        self.timeout.unwrap_or(DEFAULT_TIMEOUT)
    }
}
