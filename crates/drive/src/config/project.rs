//! What a project's file may not say.

use std::path::Path;

use super::problem::{ConfigError, Warning};
use super::read::Reading;
use super::{Config, PermissionMode};

impl Config {
    /// Reads the file of a project, without what such a file may not say. `origin` is where it lies.
    ///
    /// It comes with a cloned repository, written by whoever wrote that. It may choose a model, a timeout or a prompt, and may
    /// narrow what the agent can do. It cannot grant power, nor choose what is started:
    ///
    /// | key | refused |
    /// |---|---|
    /// | `permission_mode`, `approval_mode` | `acceptEdits`/`auto_edit` and `bypassPermissions`/`yolo`; by [`load`](super::load) also `default` where the user's file says `plan` |
    /// | `allowed_tools` | any tool |
    /// | `trust_workspace` | `true` |
    /// | `sandbox` | `false` |
    /// | `agent` | always: it decides which program is started |
    /// | `include_directories`, `working_dir` | a directory outside the project, links followed, or one that is not there |
    /// | `record` | `false`: nobody switches off the record of what they are about to do |
    ///
    /// What is refused is ignored, with a warning for each key. It is no error: a repository cannot make itself unusable.
    pub fn from_project_toml(
        text: &str,
        origin: &Path,
    ) -> Result<(Self, Vec<Warning>), ConfigError> {
        let mut read = Reading::from_toml(text, origin)?;
        let project = origin.parent().unwrap_or(Path::new(""));
        read.refuse_power(project);
        Ok((read.config, read.warnings))
    }
}

impl Reading {
    fn refuse_power(&mut self, project: &Path) {
        let config = &mut self.config;
        let mut refused = Vec::new();
        if config.agent.take().is_some() {
            refused.push("agent");
        }
        if config.sandbox.take_if(|on| !*on).is_some() {
            refused.push("sandbox");
        }
        if config.record.take_if(|on| !*on).is_some() {
            refused.push("record");
        }
        if config.trust_workspace.take_if(|on| *on).is_some() {
            refused.push("trust_workspace");
        }
        if (config.allowed_tools)
            .take_if(|tools| !tools.is_empty())
            .is_some()
        {
            refused.push("allowed_tools");
        }
        if (config.permission_mode)
            .take_if(|mode| *mode > PermissionMode::Default)
            .is_some()
        {
            refused.extend(["approval_mode", "permission_mode"]);
        }
        if (config.working_dir)
            .take_if(|dir| !lies_inside(dir, project))
            .is_some()
        {
            refused.push("working_dir");
        }
        if let Some(dirs) = &mut config.include_directories {
            let asked = dirs.len();
            dirs.retain(|dir| lies_inside(dir, project));
            if dirs.len() < asked {
                refused.push("include_directories");
            }
        }
        for key in refused {
            self.warn(key);
        }
    }

    /// Nothing, for the name of the permission mode that was not used.
    fn warn(&mut self, key: &'static str) {
        if let Some(written) = self.written.get(key) {
            self.warnings.push(Warning::NotForProjects {
                place: written.place.clone(),
                key,
                asked: written.shown.clone(),
            });
        }
    }
}

/// True if the directory is there and inside the project once all links are followed. What is not there yet may become a link.
fn lies_inside(dir: &Path, project: &Path) -> bool {
    match (dir.canonicalize(), project.canonicalize()) {
        (Ok(dir), Ok(project)) => dir.starts_with(project),
        _ => false,
    }
}
