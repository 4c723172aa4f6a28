//! Runs of agents with a stream of their own, without ACP.

use std::path::PathBuf;

use lapidary_vocab::event::Provider;

use super::acp_job::ChosenTransport;
use super::{Job, JobAgent, JobError};
use crate::agents::{AcpAgent, AgentSpec};
use crate::config::TransportChoice;
use crate::conversation::PromptAttendant;
use crate::flag_answer;
use crate::gemini_cli::PromptText;
use crate::output_schema::OutputSchema;
use crate::own_stream::{StreamAgent, StreamLaunch};
use crate::process::Command;
use crate::recording::PolicyFile;
use crate::run::RunRequest;
use crate::session_guard::agent_home;

impl Job {
    /// The agent of this job as one with a stream of its own. A program of the user's that has the name of one is none.
    pub(super) fn stream_agent(&self) -> Option<&'static StreamAgent> {
        let JobAgent::Acp(agent) = &self.agent else {
            return None;
        };
        let known = AgentSpec::named(&agent.name)?;
        let mut programs = known.commands.iter().map(|command| command[0]);
        let is_itself = programs.any(|program| agent.program.as_os_str() == program);
        (is_itself && agent.endpoint.is_none())
            .then(|| StreamAgent::named(&agent.name))
            .flatten()
    }

    /// The transport of an agent that speaks ACP and may have a stream of its own: ACP, unless only the stream is there.
    pub(super) fn transport_of_agent(
        &self,
        agent: &AcpAgent,
        choice: TransportChoice,
    ) -> Result<ChosenTransport, JobError> {
        let name = || self.agent.name().to_owned();
        match (choice, self.stream_agent()) {
            (TransportChoice::Acp, _) | (TransportChoice::Auto, None) => {
                Ok(ChosenTransport::Spoken(None))
            }
            (TransportChoice::Auto, Some(own)) => {
                let has_adapter = agent.locate(&self.environment).is_some();
                let has_stream = own.locate(&self.environment).is_some();
                if has_adapter || !has_stream {
                    return Ok(ChosenTransport::Spoken(None));
                }
                if let Some(what) = self.conversation_option() {
                    return Err(JobError::NeedsAdapter {
                        what,
                        product: own.product,
                        program: agent.program.display().to_string(),
                        install: agent.install.clone(),
                    });
                }
                Ok(self.own_stream_only(Some(format!(
                    "{} is run with its own stream: its ACP adapter `{}` is not installed",
                    own.product,
                    agent.program.display()
                ))))
            }
            (TransportChoice::StreamJson, Some(_)) => match self.conversation_option() {
                Some(what) => Err(JobError::NotSpoken { what, why: None }),
                None => Ok(self.own_stream_only(None)),
            },
            (TransportChoice::Json, Some(_)) => Err(JobError::NoDocument { agent: name() }),
            (TransportChoice::StreamJson | TransportChoice::Json, None) => {
                Err(JobError::OnlyAcp { agent: name() })
            }
        }
    }

    /// The first option that needs ACP. Without ACP it is an error, not ignored.
    fn conversation_option(&self) -> Option<&'static str> {
        let has_rules = !self.agent_rules().is_empty();
        let has_tools = self.config.allowed_tools.iter().flatten().next().is_some();
        let rules = has_rules.then_some("a rule (`--allow`, `--deny`, `--ask`, `[[rule]]`)");
        let tools = has_tools.then_some("`allowed_tools`");
        let hooks = self.speaking.hooks.then_some("`--hooks`");
        let asked = rules.or(tools).or(hooks);
        asked.or_else(|| self.speaking.first_asked())
    }

    fn own_stream_only(&self, reason: Option<String>) -> ChosenTransport {
        let is_attended = !matches!(self.speaking.attendant, PromptAttendant::Nobody);
        let unasked = is_attended.then(|| NO_QUESTIONS.to_owned());
        let reasons: Vec<_> = reason.into_iter().chain(unasked).collect();
        let reasons = (!reasons.is_empty()).then(|| reasons.join("; "));
        ChosenTransport::Headless(reasons)
    }

    /// The request for a run of an agent with a stream of its own.
    pub(super) fn for_own_stream(&self, own: &'static StreamAgent) -> Result<RunRequest, JobError> {
        let Some(program) = own.locate(&self.environment) else {
            return Err(JobError::NoProgram {
                agent: own.name.to_owned(),
                program: own.program.to_owned(),
                install: Some(own.install.to_owned()),
            });
        };
        let schema = self.output_schema.as_ref().map(OutputSchema::document);
        // A schema that is too long for an argument is part of the prompt.
        let is_short =
            |schema: &&serde_json::Value| schema.to_string().len() <= flag_answer::LONGEST_ARGUMENT;
        let option = schema.filter(|schema| own.takes_schema_file || is_short(schema));
        let file = match option.filter(|_| own.takes_schema_file) {
            Some(schema) => Some(self.write_schema(schema)?),
            None => None,
        };
        let prompt = match (schema, option) {
            (Some(_), None) => match self.prompt_with_schema()? {
                PromptText::Text(text) => text,
                PromptText::File(_) => self.prompt_text()?,
            },
            _ => self.prompt_text()?,
        };
        let invocation = own.prepare(&StreamLaunch {
            config: &self.config,
            dir: &self.environment.dir,
            prompt: &prompt,
            resume: self.resume.as_deref(),
            session_id: self.session_id.as_deref(),
            extra_args: &self.extra_args,
            schema: option,
            schema_file: file.as_ref().map(|(path, _)| path.as_path()),
        })?;
        let directory = self.config.working_dir_in(&self.environment.dir);
        let mut command = Command::new(program, directory);
        command.args(invocation.args);
        command.envs(self.environment.vars.clone());
        if let JobAgent::Acp(agent) = &self.agent {
            command.envs(agent.environment.clone());
        }
        let (input, notices) = (invocation.stdin, invocation.notices);
        let mut request = self.request_for_command(command, input, own.dialect, notices);
        request.has_schema_option = option.is_some();
        if own.dialect.provider == Provider::Codex {
            let environment = self.environment_of_agent();
            request.codex_home = agent_home(&environment, "CODEX_HOME", ".codex");
        }
        request.policy_file = file.map(|(_, file)| file);
        Ok(request)
    }

    /// Writes the schema of the answer where the agent reads it. It goes when the run is over.
    fn write_schema(&self, schema: &serde_json::Value) -> Result<(PathBuf, PolicyFile), JobError> {
        let path = PolicyFile::path(&self.records.root, &self.options.run, "schema.json");
        match PolicyFile::write(&path, &schema.to_string()) {
            Ok(file) => Ok((path, file)),
            Err(source) => Err(JobError::PolicyFile { path, source }),
        }
    }
}

/// The agent writes and reads nothing after its prompt.
const NO_QUESTIONS: &str =
    "with its own stream the agent cannot ask: calls that need permission are denied";
