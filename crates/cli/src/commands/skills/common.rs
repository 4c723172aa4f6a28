//! Options of all `skills` commands: the workspace and the scope.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::anyhow;
use lapidary::engine::detect;
use lapidary::gemini::setup::Setup;
use lapidary::gemini::skills::{self, DiscoveryTier, SkillManager, SkillSources};
use lapidary::vocab::skills::{SkillScope, SkillTier};

use super::install::not_installed;
use crate::commands::sessions::SessionsContext;
use crate::failure::Failure;
use crate::invocation::Invocation;

/// Which workspace.
#[derive(Debug, Clone, clap::Args)]
pub(super) struct SkillsWorkspace {
    /// The workspace [default: here]
    #[arg(short = 'C', long, value_name = "DIR")]
    pub(super) project: Option<PathBuf>,
}

/// The scope whose skills or settings a command changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum SkillScopeArg {
    /// In your home
    User,
    /// In the workspace
    Workspace,
}

impl SkillScopeArg {
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Workspace => "workspace",
        }
    }

    pub(super) fn skill_scope(self) -> SkillScope {
        match self {
            Self::User => SkillScope::User,
            Self::Workspace => SkillScope::Workspace,
        }
    }
}

/// A workspace, its home, and all that counts there.
pub(super) struct SkillsContext {
    pub(super) place: SessionsContext,
    pub(super) setup: Setup,
}

impl SkillsContext {
    pub(super) fn read_context(
        workspace: &SkillsWorkspace,
        invocation: &Arc<Invocation>,
    ) -> Result<Self, Failure> {
        let place = SessionsContext::open(invocation)?;
        let setup = place.read_setup(workspace.project.as_deref())?;
        Ok(Self { place, setup })
    }

    /// The skills, loaded.
    pub(super) fn load_skills(&self) -> SkillManager {
        let builtin = self.builtin_dir();
        let builtin = builtin.ok();
        let mut skills =
            SkillManager::new(SkillSources::from_setup(&self.setup, builtin.as_deref()));
        skills.load_skills();
        skills
    }

    /// The directory of the skills that come with the installed Gemini CLI: beside its program. The error says why it is unknown.
    pub(super) fn builtin_dir(&self) -> Result<PathBuf, String> {
        let found = detect::gemini(&self.place.environment);
        let found = found.map_err(|_| "there is no Gemini CLI here".to_owned())?;
        let program = found.path.canonicalize().unwrap_or(found.path);
        let directory = program.with_file_name("builtin");
        if directory.is_dir() {
            return Ok(directory);
        }
        let (program, variable) = (program.display(), detect::GEMINI_CLI_PATH);
        Err(format!(
            "none are beside `{program}`; {variable} can name the Gemini CLI itself"
        ))
    }

    /// The directory that skills of a scope are installed into. A link in a project may lead anywhere: not with us.
    pub(super) fn target_dir(&self, scope: SkillScopeArg) -> Result<PathBuf, Failure> {
        let base = match scope {
            SkillScopeArg::User => &self.setup.home.home,
            SkillScopeArg::Workspace => &self.setup.workspace,
        };
        let target = base.join(".gemini/skills");
        if leads_out(base, &target) {
            let (target, base) = (target.display(), base.display());
            let failure = anyhow!("`{target}` points outside `{base}`: nothing is changed there");
            return Err(Failure::bad_input(failure));
        }
        Ok(target)
    }

    /// A warning that an untrusted workspace skips the skills that are put into it.
    pub(super) fn untrusted_warning(&self, scope: SkillScopeArg) -> Option<String> {
        let is_left_out = scope == SkillScopeArg::Workspace && !self.setup.is_trusted();
        is_left_out.then(|| {
            "this workspace is not trusted, so Gemini CLI leaves its skills and settings out until it is".to_owned()
        })
    }
}

/// Whether a directory lies outside its base, or would once it is made: then its nearest existing ancestor decides. A dangling
/// link counts as outside.
fn leads_out(base: &Path, directory: &Path) -> bool {
    let Ok(base) = base.canonicalize() else {
        return false;
    };
    let mut way = directory.ancestors();
    let last = way.find(|step| step.symlink_metadata().is_ok());
    match last.map(Path::canonicalize) {
        Some(Ok(real)) => !real.starts_with(base),
        Some(Err(_)) => last.is_some_and(Path::is_symlink),
        None => false,
    }
}

/// Removes the leftovers of installations that were killed, and reports them.
pub(super) fn remove_leftovers(
    target: &Path,
    invocation: &Invocation,
    is_stopped: &dyn Fn() -> bool,
) -> Result<(), Failure> {
    let told = skills::recover(target, is_stopped).map_err(not_installed)?;
    for one in &told {
        let is_well = one.trouble.is_none();
        let word = if is_well { "note" } else { "warning" };
        invocation.print_message(&format!("{word}: {one}"));
    }
    Ok(())
}

pub(super) fn published_tier(tier: DiscoveryTier) -> SkillTier {
    match tier {
        DiscoveryTier::Builtin => SkillTier::Builtin,
        DiscoveryTier::Extension => SkillTier::Extension,
        DiscoveryTier::User => SkillTier::User,
        DiscoveryTier::UserAgents => SkillTier::UserAgents,
        DiscoveryTier::Workspace => SkillTier::Workspace,
        DiscoveryTier::WorkspaceAgents => SkillTier::WorkspaceAgents,
    }
}
