//! The jobs that a server starts: under its own options, one level below it, within its bounds.

use lapidary_engine::fresh_run;
use lapidary_engine::headless::Job;
use lapidary_normalize::NormalizeOptions;

use super::McpContext;
use crate::prepare::{BOUNDS_VARIABLE, RunBounds, RunOptions};
use crate::server_depth::{DEPTH_VARIABLE, MAX_DEPTH};

impl McpContext {
    /// The options of the server for a new run.
    pub(super) fn run_options(&self) -> RunOptions {
        RunOptions {
            events: NormalizeOptions::new(&fresh_run()),
            with_agents: false,
            bounds: self.options.ancestry.bounds.clone(),
            ..self.options.run.clone()
        }
    }

    /// The job of these options, unless too many servers are above this one already.
    pub(super) fn make_job(&self, options: &RunOptions) -> Result<Job, String> {
        let depth = self.options.ancestry.depth;
        if depth >= MAX_DEPTH {
            return Err(format!(
                "agents are {depth} levels deep already: do the task yourself"
            ));
        }
        let job = options.job(&self.options.surroundings, &mut |_| {});
        job.map_err(|error| with_hint(error.to_string(), error.hint()))
    }

    /// Tells the programs of a job how deep they are, and the bounds of its settings, for servers below it.
    pub(super) fn pass_bounds(&self, job: &mut Job, options: &RunOptions) -> Result<(), String> {
        let depth = self.options.ancestry.depth + 1;
        let bounds = RunBounds::of_job(job, options).to_value()?;
        job.environment.vars.extend([
            (DEPTH_VARIABLE.into(), depth.to_string().into()),
            (BOUNDS_VARIABLE.into(), bounds.into()),
        ]);
        Ok(())
    }
}

pub(super) fn with_hint(message: String, hint: Option<String>) -> String {
    match hint {
        Some(hint) => format!("{message}\nhint: {hint}"),
        None => message,
    }
}
