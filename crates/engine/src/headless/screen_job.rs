//! The agent's own screen: Gemini CLI on the user's terminal, with the vault around it.

use super::{Job, JobAgent, JobError};
use crate::detect;
use crate::fresh_run;
use crate::gemini_cli::{self, GeminiLaunch};
use crate::process::{Command, StartError, TreeExit};
use crate::session_guard::SessionGuard;

/// An agent that is to have the terminal.
#[derive(Debug)]
pub struct ScreenJob {
    /// The command that opens the screen.
    pub command: Command,
    /// The sessions that it may destroy, if they are to be kept safe.
    pub safekeeping: Option<SessionGuard>,
}

impl Job {
    /// The command that opens the agent's own screen in the session that is to be resumed.
    pub fn screen(&self) -> Result<ScreenJob, JobError> {
        if self.agent != JobAgent::Gemini {
            return Err(JobError::NoScreen {
                agent: self.agent.name().to_owned(),
            });
        }
        if let Some(what) = self.speaking.first_asked() {
            return Err(JobError::NeedsPrompt { what });
        }
        let found = detect::gemini(&self.environment)?;
        let resume = self.resumed_session()?;
        let prepared = gemini_cli::prepare_screen(&GeminiLaunch {
            config: &self.config,
            dir: &self.environment.dir,
            prompt: self.prompt.clone(),
            resume: resume.as_deref(),
            session_id: self.session_id.as_deref(),
            extra_args: &self.extra_args,
            version: found.version.as_ref(),
        })?;
        let directory = self.config.working_dir_in(&self.environment.dir);
        let mut command = Command::new(found.path, directory);
        command.args(prepared.args);
        command.envs(self.environment.vars.clone());
        command.envs(prepared.env);
        command.mark("LAPIDARY_MARK", fresh_run());
        Ok(ScreenJob {
            command,
            safekeeping: self.session_guard(),
        })
    }

    /// Gives the agent the terminal until it ends, or until `stop` does: then it is asked to end.
    pub async fn run_screen(
        &self,
        command: Command,
        stop: impl Future<Output = ()>,
    ) -> Result<TreeExit, StartError> {
        let mut running = self.supervisor.start_in_foreground(command).await?;
        // Waiting can be cancelled.
        let ended = tokio::select! {
            ended = running.wait() => Some(ended),
            () = stop => None,
        };
        if let Some(ended) = ended {
            return Ok(ended);
        }
        running.stop(self.config.grace_or_default()).await;
        Ok(running.wait().await)
    }
}
