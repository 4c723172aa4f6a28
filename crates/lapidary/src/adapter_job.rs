//! A job for the adapters of the specifications: any agent, which the configuration names.

use lapidary_engine::config::Config;
use lapidary_engine::gemini_cli::PromptText;
use lapidary_engine::headless::Job;
use lapidary_engine::{RunHost, fresh_run};

use crate::prepare::{AgentChoiceError, choose_agent};

/// A job with a new id.
pub(crate) fn adapter_job(
    host: &RunHost,
    config: Config,
    prompt: PromptText,
) -> Result<Job, AgentChoiceError> {
    let agent = choose_agent(&config, host.supervisor.program(), &host.environment)?;
    let job = Job::gemini(host, config, prompt, &fresh_run());
    Ok(Job { agent, ..job })
}
