//! The confinement of a job's agent.

use std::ffi::OsString;
use std::sync::Arc;

use super::{Job, JobAgent, JobError};
use crate::agents::AgentSpec;
use crate::confine::writable::{ConfineRequest, temporary_variables};
use crate::confine::{ConfineError, ConfineMode, ConfinementNeed};
use crate::conversation::{self, PromptAttendant};
use crate::gemini_cli;
use crate::process::LandlockAbi;
use crate::run::RunRequest;

impl Job {
    /// Confines a conversation: the agent, and the terminals that it gets from us.
    pub(super) fn confine_talk(
        &self,
        request: &mut conversation::ConversationRequest,
    ) -> Result<(), JobError> {
        self.confine_run(&mut request.run, &request.attendant)?;
        let confined = request.run.confined.as_ref();
        let variables = confined.map(temporary_variables);
        let variables = variables.into_iter().flatten();
        let variables = variables.map(|(name, path)| (name.into(), path.into()));
        let variables: Vec<(OsString, OsString)> = variables.collect();
        if let JobAgent::InProcess(agent) = &self.agent
            && let Some(supervision) = &agent.supervision
            && (confined.is_some() || self.supervisor.lease().is_some())
        {
            supervision.bind_commands(request.run.supervisor.clone(), variables.clone());
        }
        request.environment.extend(variables);
        Ok(())
    }

    /// Confines a run, if the job wants it. A confinement that the kernel cannot enforce is a warning or an error.
    pub(super) fn confine_run(
        &self,
        run: &mut RunRequest,
        attendant: &PromptAttendant,
    ) -> Result<(), JobError> {
        let mode = self.confine_mode(attendant);
        if mode == ConfineMode::Off {
            return Ok(());
        }
        let connect = self.config.confine_connect.clone();
        let abi = self.supervisor.landlock();
        let missing = abi.missing(connect.is_some());
        if !missing.is_empty() {
            let missing = missing.join(" and ");
            self.warn_unconfined(run, &format!("the kernel has {abi}, so that {missing}"))?;
        }
        if abi == LandlockAbi::NONE {
            return Ok(());
        }
        let environment = self.environment_of_agent();
        let request = ConfineRequest {
            mode,
            roots: &self.workspace_roots(run.command.directory().to_owned()),
            extra: self.config.confine_write.as_deref().unwrap_or_default(),
            connect,
            state: self.known_agent().map_or(&[], |known| known.state),
            environment: &environment,
        };
        let (confinement, confined) = match request.prepare_confinement() {
            Ok(prepared) => prepared,
            // A run in `/` is confined only if `--confine` asks for it.
            Err(error @ ConfineError::Everything { .. }) if self.config.confine.is_none() => {
                return self.warn_unconfined(run, &error.to_string());
            }
            Err(error) => return Err(error.into()),
        };
        let confined = Arc::new(confined);
        run.command.envs(temporary_variables(&confined));
        run.supervisor = run.supervisor.clone().confined(confinement);
        run.confined = Some(confined);
        Ok(())
    }

    /// The kernel cannot enforce the confinement: a warning, or an error if it is required.
    fn warn_unconfined(&self, run: &mut RunRequest, why: &str) -> Result<(), JobError> {
        match self.config.confinement.unwrap_or_default() {
            ConfinementNeed::Required => Err(JobError::Unconfined {
                why: why.to_owned(),
            }),
            ConfinementNeed::Wanted => {
                run.warnings.push(format!(
                    "the agent is not confined as wanted: {why}; `confine = \"off\"` expects that"
                ));
                Ok(())
            }
        }
    }

    /// The mode that was asked for, else the one that is proven for the agent, if no person is there. A confinement that is required is
    /// one for every agent. Of an agent in this process the commands are confined; its other tools reach the workspace only.
    fn confine_mode(&self, attendant: &PromptAttendant) -> ConfineMode {
        let is_unattended = matches!(attendant, PromptAttendant::Nobody);
        let usual = match (self.config.confinement, &self.agent) {
            (Some(ConfinementNeed::Required), _) => ConfineMode::Workspace,
            _ if !is_unattended => ConfineMode::Off,
            (_, JobAgent::InProcess(agent)) if agent.supervision.is_some() => {
                ConfineMode::Workspace
            }
            // The commands that it runs here, through us.
            (_, JobAgent::Remote(_)) => ConfineMode::Workspace,
            _ => self
                .known_agent()
                .filter(|_| self.is_itself())
                .map_or(ConfineMode::Off, AgentSpec::usual_confine_mode),
        };
        self.config.confine.unwrap_or(usual)
    }

    /// True unless it is a program of the user's that only calls itself of a family that we know.
    fn is_itself(&self) -> bool {
        match (&self.agent, self.known_agent()) {
            (JobAgent::Acp(agent), Some(known)) => {
                let mut programs = known.commands.iter().map(|command| command[0]);
                agent.name == known.name || programs.any(|program| program == agent.name)
            }
            _ => true,
        }
    }

    /// The agent, if it is of a family that we know.
    fn known_agent(&self) -> Option<&'static AgentSpec> {
        match &self.agent {
            JobAgent::Gemini => AgentSpec::named(gemini_cli::NAME),
            JobAgent::Acp(agent) => AgentSpec::named(agent.provider.as_str()),
            JobAgent::InProcess(_) | JobAgent::Remote(_) => None,
        }
    }
}
