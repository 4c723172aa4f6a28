//! The tools of an agent definition: files, commands, skills and the documentation.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use lapidary_engine::headless::CommandSupervision;
use lapidary_gemini::setup::Setup;
use lapidary_gemini::skills::{SkillManager, SkillSources};
use lapidary_native::http::HttpSettings;
use lapidary_native::mcp::McpSettings;
use lapidary_native::tools::{
    ActivateSkillTool, GetInternalDocsTool, RunShellCommandTool, SharedSkills, ShellSettings,
    file_tools,
};
use lapidary_native::workspace::Workspace;

use super::tool::Tool;

/// Makes the tools of an agent for the directory that it works in.
#[derive(Debug, Clone)]
pub struct ToolKit {
    supervision: CommandSupervision,
    environment: BTreeMap<OsString, OsString>,
    temporary: PathBuf,
    more_directories: Vec<PathBuf>,
    http: HttpSettings,
    skills: Option<SharedSkills>,
}

/// The means of a [`ToolKit`].
#[derive(Debug)]
pub struct ToolKitRequest {
    /// The supervision of commands, which the engine fills in when the run begins.
    pub supervision: CommandSupervision,
    /// The variables that commands see.
    pub environment: BTreeMap<OsString, OsString>,
    /// A directory for outputs that are too long for a model. It need not exist yet.
    pub temporary: PathBuf,
    /// Directories that the tools reach beside the one that the agent works in.
    pub more_directories: Vec<PathBuf>,
    /// Proxies and certificates, for MCP servers behind a URL.
    pub http: HttpSettings,
}

impl ToolKit {
    /// Tools without skills.
    pub fn new(request: ToolKitRequest) -> Self {
        Self {
            supervision: request.supervision,
            environment: request.environment,
            temporary: request.temporary,
            more_directories: request.more_directories,
            http: request.http,
            skills: None,
        }
    }

    /// The same with the skills of a workspace, if it has any.
    #[must_use]
    pub fn with_skills(mut self, setup: &Setup) -> Self {
        let mut skills = SkillManager::new(SkillSources::from_setup(setup, None));
        skills.load_skills();
        let has_skills = skills.active_skills().next().is_some();
        self.skills = has_skills.then(|| Arc::new(Mutex::new(skills)));
        self
    }

    /// The tools for a directory.
    ///
    /// # Errors
    /// A directory cannot be opened.
    pub fn tools(&self, directory: &Path) -> io::Result<Vec<Arc<dyn Tool>>> {
        let workspace = Workspace::open(directory, &self.temporary)?;
        for directory in &self.more_directories {
            workspace.add_root(directory)?;
        }
        let mut tools = file_tools(&workspace);
        tools.push(Arc::new(RunShellCommandTool::new(
            Arc::clone(&workspace),
            self.shell_settings(),
        )));
        tools.push(Arc::new(GetInternalDocsTool::new()));
        if let Some(skills) = &self.skills {
            let skills = Arc::clone(skills);
            tools.push(Arc::new(ActivateSkillTool::new(workspace, skills)));
        }
        Ok(tools)
    }

    /// The means to start MCP servers in a directory: they are confined as commands are.
    pub fn mcp_settings(&self, directory: &Path) -> McpSettings {
        McpSettings {
            supervisor: self.supervision.supervisor(),
            environment: self.command_environment(),
            directory: directory.to_owned(),
            http: self.http.clone(),
        }
    }

    /// Commands have the confinement of the run.
    fn shell_settings(&self) -> ShellSettings {
        ShellSettings::new(self.supervision.supervisor(), self.command_environment())
    }

    /// The variables of commands: those of the run go before those of the environment.
    fn command_environment(&self) -> Vec<(OsString, OsString)> {
        let mut environment = self.environment.clone();
        environment.extend(self.supervision.variables());
        environment.into_iter().collect()
    }
}
