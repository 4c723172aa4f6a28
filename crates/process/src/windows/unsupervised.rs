//! A program without a supervisor: our own child, in a job that ends with everything in it. Checked by the compiler, never run.

use std::io;
use std::process::Stdio;

use process_wrap::tokio::{ChildWrapper, CommandWrap, JobObject, KillOnDrop};
use tokio::process::{ChildStderr, ChildStdin, ChildStdout};

use crate::{Command, Exit};

/// The program. Dropping it kills it, and everything that it started.
#[derive(Debug)]
pub(crate) struct UnsupervisedChild {
    job: Box<dyn ChildWrapper>,
}

impl UnsupervisedChild {
    pub(crate) fn start(command: &Command) -> io::Result<Self> {
        let mut program = CommandWrap::with_new(&command.program, |program| {
            let variables = command.environment.iter();
            program
                .args(&command.args)
                .current_dir(&command.directory)
                .env_clear()
                .envs(variables.map(|(name, value)| (name, value)))
                .stdin(Stdio::piped())
                .stdout(Stdio::piped())
                .stderr(Stdio::piped());
        });
        let job = program.wrap(KillOnDrop).wrap(JobObject).spawn()?;
        Ok(Self { job })
    }

    pub(crate) fn pipes(
        &mut self,
    ) -> (Option<ChildStdin>, Option<ChildStdout>, Option<ChildStderr>) {
        let job = &mut self.job;
        (job.stdin().take(), job.stdout().take(), job.stderr().take())
    }

    /// Waits for the program itself.
    pub(crate) async fn wait(&mut self) -> Option<Exit> {
        let status = self.job.inner_mut().wait().await.ok()?;
        status.code().map(Exit::Code)
    }

    /// Called when the program ended by itself. Its leftover processes end with the job.
    #[expect(clippy::unused_self, reason = "as where there is no job")]
    pub(crate) fn release(&mut self) -> u32 {
        0
    }

    /// Kills it and everything that it started.
    pub(crate) async fn end(&mut self) -> (Option<Exit>, u32) {
        let _ = self.job.start_kill();
        (self.wait().await, 0)
    }
}
