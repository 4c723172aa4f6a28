//! `--agent demo`: our own executor on a scripted model, in a throw-away project.
//!
//! It shows a run to a person without any installed agent. The model's words are a script ([`lapidary_standin::demo`]); calls,
//! rules, the permission prompt, the test and the recording are real, as in every run.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::{fs, io};

use lapidary_engine::headless::{CommandSupervision, InProcessAgent, JobAgent};
use lapidary_engine::policy::{FlagError, PermissionEffect, Rule};
use lapidary_engine::process::Supervisor;
use lapidary_gemini::agents::{LocalAgentDefinition, PromptConfig};
use lapidary_native::acp_agent::{AcpIdentity, AcpSession, AcpTask, AgentWork, local_agent};
use lapidary_native::http::HttpSettings;
use lapidary_standin::demo;
use lapidary_vocab::event::Provider;
use tempfile::TempDir;

use crate::agents::tool::PermissionGate;
use crate::agents::{AgentTask, FAMILY, ScriptedModel, ToolKit, ToolKitRequest};

/// The agent that needs nothing installed.
pub const DEMO: &str = "demo";

/// The prompt of a demo that is given none.
pub const DEMO_PROMPT: &str = "what can you do?";

/// The programs that its commands find: those of every system, also where `PATH` is empty.
const PROGRAMS: &str = "/usr/local/bin:/usr/bin:/bin";

/// Whether a person or a client answers permission requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum DemoAttendance {
    /// Requests that no rule decides are denied.
    #[default]
    Unattended,
    /// They are asked.
    Attended,
}

/// The demo in its throw-away directory, which is removed when the last owner is dropped.
#[derive(Debug)]
struct DemoTask {
    directory: TempDir,
    project: PathBuf,
    kit: ToolKit,
}

/// The demo as the agent of a job. `program` supervises its commands; its throw-away project lies below `temporary`.
///
/// # Errors
/// The throw-away directory cannot be made.
pub(crate) fn demo_agent(program: &Path, temporary: &Path) -> io::Result<JobAgent> {
    let directory = tempfile::Builder::new()
        .prefix("lapidary-demo-")
        .tempdir_in(temporary)?;
    let project = directory.path().canonicalize()?.join("greeting");
    fs::create_dir(&project)?;
    let supervision = CommandSupervision::new(Supervisor::at(program));
    let kit = ToolKit::new(ToolKitRequest {
        supervision: supervision.clone(),
        environment: BTreeMap::from([(OsString::from("PATH"), OsString::from(PROGRAMS))]),
        temporary: directory.path().join("outputs"),
        more_directories: Vec::new(),
        http: HttpSettings::default(),
    });
    let task = DemoTask {
        directory,
        project: project.clone(),
        kit,
    };
    Ok(JobAgent::InProcess(InProcessAgent {
        name: DEMO.to_owned(),
        provider: Provider::from(FAMILY),
        notices: Vec::new(),
        supervision: Some(supervision),
        directory: Some(project),
        agent: local_agent(Arc::new(task)),
    }))
}

/// The rules of the demo, which come behind those of the user. Where a person is asked, no rule allows the edit.
pub(crate) fn demo_rules(
    attendance: DemoAttendance,
    project: &Path,
) -> Result<Vec<Rule>, FlagError> {
    let edit = (attendance == DemoAttendance::Unattended).then_some(demo::ALLOWED_EDIT);
    let allowed = [Some(demo::ALLOWED_COMMAND), edit].into_iter().flatten();
    let denied = (PermissionEffect::Deny, demo::DENIED_COMMAND);
    let specs = std::iter::once(denied).chain(allowed.map(|spec| (PermissionEffect::Allow, spec)));
    specs
        .map(|(effect, spec)| Rule::parse_flag(effect, spec, project))
        .collect()
}

/// The rules in words, for the beginning of the run.
pub(crate) fn demo_notice(attendance: DemoAttendance) -> String {
    let edit = match attendance {
        DemoAttendance::Unattended => format!("--allow '{}' ", demo::ALLOWED_EDIT),
        DemoAttendance::Attended => String::new(),
    };
    format!(
        "rules of the demo: {edit}--allow '{}' --deny '{}'",
        demo::ALLOWED_COMMAND,
        demo::DENIED_COMMAND
    )
}

impl DemoTask {
    /// Puts the project back to its beginning: each prompt finds the same bug.
    fn reset_project(&self) -> io::Result<()> {
        let mut files = demo::FILES.iter();
        files.try_for_each(|(name, text)| fs::write(self.project.join(name), text))
    }
}

impl AcpTask for DemoTask {
    fn identity(&self) -> AcpIdentity {
        AcpIdentity {
            name: DEMO.to_owned(),
            model: demo::MODEL.to_owned(),
            is_steerable: true,
        }
    }

    fn prepare(
        &self,
        session: &AcpSession,
        prompt: &str,
        gate: Arc<dyn PermissionGate>,
    ) -> Result<AgentWork, String> {
        let failed = |error: io::Error| {
            let directory = self.directory.path().display();
            format!("cannot write the demo's project in `{directory}`: {error}")
        };
        self.reset_project().map_err(failed)?;
        let tools = self.kit.tools(&self.project).map_err(failed)?;
        let model = Arc::new(ScriptedModel::new(demo::script(prompt)));
        let task = AgentTask::new(demo_definition(), model, demo::MODEL);
        task.tools(move |_| tools.clone())
            .prepare(session, prompt, gate)
    }
}

fn demo_definition() -> LocalAgentDefinition {
    LocalAgentDefinition {
        name: DEMO.to_owned(),
        description: "Mends a greeting.".to_owned(),
        prompt_config: PromptConfig {
            system_prompt: Some("Mend the project.".to_owned()),
            query: Some("${query}".to_owned()),
            ..PromptConfig::default()
        },
        ..LocalAgentDefinition::default()
    }
}
