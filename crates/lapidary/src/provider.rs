//! The response provider of the specification `1-headless-provider`: check, describe, generate.
//!
//! ```standalone_crate
//! use lapidary::engine::process::Supervisor;
//! use lapidary::provider::{PromptContext, ResponseProvider};
//! use lapidary::engine::{RunHost, config::Config, run::RecordingOptions};
//!
//! fn main() -> Result<(), Box<dyn std::error::Error>> {
//!     // A program that names itself as the supervisor begins with this.
//!     if lapidary::supervise_if_asked().is_some() {
//!         return Ok(());
//!     }
//! #   let world = std::env::temp_dir().join(format!("lapidary-doc-provider-{}", std::process::id()));
//! #   std::fs::create_dir_all(&world)?;
//! #   let gemini = world.join("gemini");
//! #   std::fs::write(&gemini, "#!/bin/sh\necho '{\"type\":\"message\",\"role\":\"assistant\",\"content\":\"42\",\"delta\":true}'\necho '{\"type\":\"result\",\"status\":\"success\"}'\n")?;
//! #   std::fs::set_permissions(&gemini, std::os::unix::fs::PermissionsExt::from_mode(0o755))?;
//! #   let state = world.join("runs");
//!     let vars = std::env::vars_os();
//! #   let vars = vars.chain([("GEMINI_CLI_PATH".into(), gemini.into()), ("GEMINI_CLI_TRUST_WORKSPACE".into(), "true".into())]);
//!     let host = RunHost::new(vars, std::env::current_dir()?, Supervisor::at(std::env::current_exe()?), RecordingOptions::below(state));
//!     let provider = ResponseProvider::new(Config::builder().set("timeout", 30).build()?, host);
//!     provider.validate()?;
//!     let generated = provider.generate("what is the answer?", &PromptContext::default())?;
//!     assert_eq!(generated.response, "42");
//! #   std::fs::remove_dir_all(world)?;
//!     Ok(())
//! }
//! ```

use std::collections::BTreeMap;
use std::path::PathBuf;

use lapidary_normalize::views::result::ResultFold;
use lapidary_vocab::capabilities::ProviderMetadata;
use lapidary_vocab::event::{PermissionDenial, RunEnd};
use lapidary_vocab::result::{Files, LineSample};
use lapidary_vocab::{Body, Cause, Event};

use lapidary_engine::RunHost;
use lapidary_engine::config::Config;
use lapidary_engine::detect::{self, NotFound};
use lapidary_engine::gemini_cli::PromptText;
use lapidary_engine::headless::{Job, JobAgent};

use crate::adapter_job::adapter_job;
use crate::prepare::{AgentChoiceError, choose_agent};

/// An agent as a provider of responses: Gemini CLI, unless the configuration names another.
#[derive(Debug, Clone)]
pub struct ResponseProvider {
    config: Config,
    host: RunHost,
}

/// Options for one prompt.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PromptContext {
    /// A file that holds the prompt. It is used instead of the text.
    pub prompt_file: Option<PathBuf>,
    /// The agent's working directory, unless the configuration names one.
    pub project_root: Option<PathBuf>,
    /// Said before the prompt. It is used instead of the configured one.
    pub system_prompt: Option<String>,
}

/// The result of a prompt.
#[derive(Debug, Clone, PartialEq)]
pub struct GeneratedResponse {
    /// The agent's last message.
    pub response: String,
    /// All texts of the agent, message by message.
    pub texts: Vec<String>,
    /// The files that the agent wrote. They are on disk already.
    pub files: Files,
    /// Calls that were denied.
    pub permission_denials: Vec<PermissionDenial>,
    /// The beginnings of lines that could not be read, the first few of them. How many there were of each kind is in `diagnostics`.
    pub malformed_lines: Vec<LineSample>,
    /// How many lines could not be read, by kind.
    pub diagnostics: BTreeMap<String, u64>,
}

/// Why there is no response.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ProviderError {
    /// The CLI is not installed.
    #[error(transparent)]
    NotFound(#[from] NotFound),
    /// Another agent is not installed.
    #[error("cannot find `{}`, the program of `{agent}`", program.display())]
    AgentMissing {
        /// The agent.
        agent: String,
        /// Its program.
        program: PathBuf,
    },
    /// There is no such agent.
    #[error(transparent)]
    Agent(#[from] AgentChoiceError),
    /// The agent is not signed in.
    #[error("{}", authentication_message(.0))]
    Authentication(Box<RunEnd>),
    /// It took too long.
    #[error("{}", failure_message(.0))]
    Timeout(Box<RunEnd>),
    /// The run ended in any other way than well.
    #[error("{}", failure_message(.0))]
    Failed(Box<RunEnd>),
    /// The run has no `run_end`: its thread could not be started, or was lost.
    #[error("the run ended without a result")]
    NoEnd,
}

impl ProviderError {
    /// The next step for the user, if we know one.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::NotFound(error) => Some(error.hint()),
            Self::Agent(error) => error.hint(),
            Self::Authentication(end) | Self::Timeout(end) | Self::Failed(end) => end.hint.clone(),
            Self::AgentMissing { .. } | Self::NoEnd => None,
        }
    }
}

impl ResponseProvider {
    /// A provider with this configuration.
    pub fn new(config: Config, host: RunHost) -> Self {
        Self { config, host }
    }

    /// Checks that the agent is there. Starts nothing.
    pub fn validate(&self) -> Result<(), ProviderError> {
        let program = self.host.supervisor.program();
        match choose_agent(&self.config, program, &self.host.environment)? {
            JobAgent::Gemini => drop(detect::gemini(&self.host.environment)?),
            JobAgent::Acp(agent) if agent.locate(&self.host.environment).is_none() => {
                return Err(ProviderError::AgentMissing {
                    agent: agent.name,
                    program: agent.program,
                });
            }
            JobAgent::Acp(_) | JobAgent::InProcess(_) | JobAgent::Remote(_) => {}
        }
        Ok(())
    }

    /// The provider's name and description, its configuration keys and its abilities.
    pub fn metadata() -> ProviderMetadata {
        lapidary_engine::capabilities::gemini_metadata()
    }

    /// Runs the agent on a prompt and waits for its end.
    pub fn generate(
        &self,
        prompt: &str,
        context: &PromptContext,
    ) -> Result<GeneratedResponse, ProviderError> {
        self.validate()?; // the error says more than the end of a run does
        let mut run = self.job_of_prompt(prompt, context)?.start();
        generated_response(std::iter::from_fn(|| run.blocking_next()))
    }

    fn job_of_prompt(
        &self,
        prompt: &str,
        context: &PromptContext,
    ) -> Result<Job, AgentChoiceError> {
        let mut config = self.config.clone();
        config.working_dir = config.working_dir.or_else(|| context.project_root.clone());
        if let Some(system) = &context.system_prompt {
            config.system_prompt = Some(system.clone());
        }
        let prompt = match &context.prompt_file {
            Some(file) => PromptText::File(file.clone()),
            None => PromptText::Text(prompt.to_owned()),
        };
        adapter_job(&self.host, config, prompt)
    }
}

/// Folds the events of a run into a response.
fn generated_response(
    events: impl Iterator<Item = Event>,
) -> Result<GeneratedResponse, ProviderError> {
    let mut fold = ResultFold::default();
    let mut end = None;
    for event in events {
        fold.push(&event);
        if let Body::RunEnd(said) = event.body {
            end = Some(said);
        }
    }
    match end {
        None => return Err(ProviderError::NoEnd),
        Some(end) if end.cause != Cause::EndTurn => return Err(provider_error(end)),
        Some(_) => {}
    }
    let result = fold.finish(false);
    Ok(GeneratedResponse {
        response: result.response.to_str().into_owned(),
        texts: result.texts.iter().map(ToString::to_string).collect(),
        files: result.files,
        permission_denials: result.permission_denials,
        malformed_lines: result.diagnostic_samples,
        diagnostics: result.diagnostics,
    })
}

fn provider_error(end: RunEnd) -> ProviderError {
    match end.cause {
        Cause::AgentMissing => ProviderError::NotFound(NotFound { tried: Vec::new() }),
        Cause::AuthRequired => ProviderError::Authentication(Box::new(end)),
        Cause::TimeoutStart | Cause::TimeoutIdle | Cause::TimeoutTotal => {
            ProviderError::Timeout(Box::new(end))
        }
        _ => ProviderError::Failed(Box::new(end)),
    }
}

/// The specification's sentence, the hint, and the agent's message. Its `Run: gemini auth login` does not exist in Gemini CLI
/// 0.61.
fn authentication_message(end: &RunEnd) -> String {
    let hint = end.hint.as_deref().unwrap_or("run `gemini` and sign in");
    let mut letters = hint.chars();
    let first = letters.next().map(|first| first.to_uppercase().to_string());
    let hint = format!("{}{}", first.unwrap_or_default(), letters.as_str());
    format!("{AUTHENTICATION} {hint}\n{}", failure_message(end))
}

const AUTHENTICATION: &str = "Gemini CLI authentication error.";

/// The message of a failed run. The sentence about authentication stands in its error already.
fn failure_message(end: &RunEnd) -> String {
    let message = end.message.as_ref().map(ToString::to_string);
    let message = message.unwrap_or_default();
    let rest = message.strip_prefix(AUTHENTICATION).unwrap_or(&message);
    rest.trim_start().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_that_does_not_say_how_it_ended_is_no_success() {
        let generated = generated_response(std::iter::empty());
        assert!(matches!(generated, Err(ProviderError::NoEnd)));
    }
}
