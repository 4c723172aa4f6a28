//! Turns a job into a conversation, for agents that speak ACP.

use std::fs;
use std::path::{Path, PathBuf};

use lapidary_vocab::Json;
use lapidary_vocab::event::Provider;

use super::own_policy::{GivenPolicy, policy_for_agent};
use super::settings_layer::settings_layer_obstacle;
use super::{AcpOptions, InProcessAgent, Job, JobAgent, JobError, RemoteAgent};
use crate::agents::own_policy::AskAbility;
use crate::agents::{AcpAgent, AgentSpec, ModeWords};
use crate::config::{PermissionMode, TransportChoice};
use crate::conversation::{
    ConversationHooks, ConversationRequest, PromptAttendant, PromptJob, SessionChoice,
};
use crate::detect;
use crate::gemini_cli::{self, GeminiLaunch, LaunchError, PromptText};
use crate::output_schema::{OutputSchema, submission_calls};
use crate::policy::{AnswerCall, PermissionEffect, Policy, Rule, Rules};
use crate::process::Command;
use crate::prompt_files;
use crate::run::GEMINI_STREAM;

/// The `_meta` for an agent of this process when a session is opened: the events for which there are hooks, whether rules judge
/// calls that need no permission otherwise, and the schema of the result.
fn session_meta_of(
    policy: &Policy,
    hooks: Option<&ConversationHooks>,
    schema: Option<&OutputSchema>,
) -> Json {
    let events = hooks
        .map(ConversationHooks::hooked_events)
        .unwrap_or_default();
    let mut rules = policy.rules().iter();
    let judges = rules.any(Rule::narrows_unasked_calls);
    let mut meta = serde_json::json!({"hooks": events, "judgesEveryCall": judges});
    if let Some(schema) = schema {
        meta["outputSchema"] = schema.document().clone();
    }
    Json::from_value(&serde_json::json!({ "lapidary": meta }))
}

/// The call by which an agent of our own ends its task. Only such an agent is known to do nothing else by it.
const COMPLETE_TASK: AnswerCall = AnswerCall::Named("complete_task");

/// The longest prompt that is said in one message.
const LONGEST_PROMPT: u64 = 32 << 20;

/// Gemini CLI has the rules in a policy of its own, and cannot ask.
const NO_QUESTIONS: &str = "over this transport Gemini CLI cannot ask: a call that a rule of `lapidary.toml` asks about is denied";

/// The limits of rules and confinement for an agent on another machine.
const ELSEWHERE: &str = "the agent runs on another machine: rules judge the calls that it asks about and reports, its own files and commands there are \
not confined, and files and commands here are open to it only through Lapidary, inside the workspace";

const OWN_HOOKS: &str = "Gemini CLI runs its hooks itself here";

/// The transport of the agent, and a notice about it for the user.
pub(super) enum ChosenTransport {
    /// Over ACP.
    Spoken(Option<String>),
    /// It gets its prompt once, and writes.
    Headless(Option<String>),
}

/// Whether the permission mode can be another one later.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ModeFlexibility {
    Possible,
    Impossible,
}

/// A program that speaks ACP, ready to be started.
struct PreparedAgent {
    command: Command,
    provider: Provider,
    modes: ModeWords,
    notices: Vec<String>,
    policy: GivenPolicy,
}

impl AcpOptions {
    /// The first thing that was asked for and that only a conversation has. Gemini CLI runs hooks without one, too.
    pub(super) fn first_asked(&self) -> Option<&'static str> {
        let asked = [
            (!self.rules.is_empty(), "a rule (--allow, --deny, --ask)"),
            (
                !self.attachments.is_empty(),
                "something attached to the prompt",
            ),
            (self.auth_method.is_some(), "--auth"),
        ];
        let mut asked = asked.into_iter().filter(|(is_asked, _)| *is_asked);
        asked.next().map(|(_, what)| what)
    }
}

impl Job {
    /// The transport of this run. Gemini CLI has both: stream-json unless an option needs ACP.
    pub(super) fn chosen_transport(&self) -> Result<ChosenTransport, JobError> {
        let choice = self.config.transport.unwrap_or_default();
        match (&self.agent, choice) {
            (JobAgent::Acp(agent), choice) => self.transport_of_agent(agent, choice),
            (
                JobAgent::InProcess(_) | JobAgent::Remote(_),
                TransportChoice::Auto | TransportChoice::Acp,
            )
            | (JobAgent::Gemini, TransportChoice::Acp) => Ok(ChosenTransport::Spoken(None)),
            (JobAgent::InProcess(_) | JobAgent::Remote(_), _) => {
                let agent = self.agent.name().to_owned();
                Err(JobError::OnlyAcp { agent })
            }
            (JobAgent::Gemini, TransportChoice::Auto) if self.needs_acp() => {
                match self.acp_obstacle() {
                    None => Ok(ChosenTransport::Spoken(None)),
                    Some(why) => self.only_headless(Some(format!(
                        "Gemini CLI is run with stream-json, not over ACP: {why}"
                    ))),
                }
            }
            (JobAgent::Gemini, _) => self.only_headless(None),
        }
    }

    /// True if the run has an option that Gemini CLI supports only over ACP. Over stream-json it never asks, and takes its
    /// prompt as text.
    fn needs_acp(&self) -> bool {
        let AcpOptions {
            rules: _,
            attachments,
            mcp_servers,
            hooks,
            auth_method,
            attendant,
        } = &self.speaking;
        !matches!(attendant, PromptAttendant::Nobody)
            || !self.agent_rules().is_empty()
            || !attachments.is_empty()
            || !mcp_servers.is_empty()
            || auth_method.is_some()
            || *hooks
            || self.output_schema.is_some()
    }

    /// Options that need ACP are an error without it, not ignored.
    fn only_headless(&self, reason: Option<String>) -> Result<ChosenTransport, JobError> {
        let speaking = &self.speaking;
        let own = self.rules_for_agent(&self.config.rules);
        let is_narrowed = own.iter().any(|rule| rule.then != PermissionEffect::Allow)
            && self.config.permission_mode_or_default() > PermissionMode::Default;
        // Without ACP the agent would take actions that such a rule denies.
        let narrowed =
            is_narrowed.then_some("a rule of `lapidary.toml` that narrows the permission mode");
        let servers = self.unreachable_servers();
        if let Some((what, obstacle)) = servers.filter(|_| speaking.first_asked().is_none()) {
            let why = reason.unwrap_or_else(|| obstacle.to_owned());
            let why = Some(why);
            return Err(JobError::NotSpoken { what, why });
        }
        if let Some(what) = narrowed.or_else(|| speaking.first_asked()) {
            return Err(JobError::NotSpoken { what, why: reason });
        }
        let rules = self.unasked_rules().map(str::to_owned);
        let hooks = speaking.hooks.then(|| OWN_HOOKS.to_owned());
        let reasons: Vec<_> = reason.into_iter().chain(rules).chain(hooks).collect();
        let reasons = (!reasons.is_empty()).then(|| reasons.join("; "));
        Ok(ChosenTransport::Headless(reasons))
    }

    /// MCP servers that Gemini CLI cannot be given without ACP, and why.
    fn unreachable_servers(&self) -> Option<(&'static str, &'static str)> {
        if self.speaking.mcp_servers.is_empty() {
            return None;
        }
        let obstacle = settings_layer_obstacle(&self.records.root)?;
        Some(("an MCP server (--with-agents, --mcp-config)", obstacle))
    }

    /// A notice about the rules of `lapidary.toml` in a run without ACP.
    fn unasked_rules(&self) -> Option<&'static str> {
        let rules = self.rules_for_agent(&self.config.rules);
        let mut rules = rules.iter();
        rules
            .any(|rule| rule.then == PermissionEffect::Ask)
            .then_some(NO_QUESTIONS)
    }

    /// Why Gemini CLI cannot be run over ACP here. A program whose version is unknown, such as the script of a version manager,
    /// is taken for a new one.
    fn acp_obstacle(&self) -> Option<String> {
        let found = detect::gemini(&self.environment);
        let version = found.ok().and_then(|found| found.version);
        if let Some(old) = version.filter(|version| !version.has(gemini_cli::ACP)) {
            return Some(format!("version {old} does not speak it well"));
        }
        let obstacle = if self.session_id.is_some() {
            "`--session-id` is Gemini CLI's own"
        } else if self.resume.is_some() && self.vault.is_none() {
            "without the vault, Gemini CLI can destroy a session that it resumes over ACP"
        } else if self.config.sandbox == Some(true) {
            "its sandbox reads all of stdin before it starts"
        } else {
            return None;
        };
        Some(obstacle.to_owned())
    }

    /// The request for a conversation, and its prompt.
    pub(super) fn conversation_request(
        &self,
        reason: Option<String>,
    ) -> Result<(ConversationRequest, PromptJob), JobError> {
        let mut request = self.talk_to(ModeFlexibility::Impossible)?;
        request.run.notices.extend(reason);
        self.confine_talk(&mut request)?;
        let mut prompt = self.prompt_blocks()?;
        let schema = request.run.output_schema.as_ref();
        if let Some(schema) = schema.filter(|_| !request.has_schema_in_session()) {
            prompt.push(prompt_files::text_block(&schema.instructions()));
        }
        let errand = PromptJob {
            opening: self.session_choice()?,
            prompt,
        };
        Ok((request, errand))
    }

    /// The session of the conversation. Gemini CLI (0.61) lists no sessions over ACP: their names are looked up on disk.
    fn session_choice(&self) -> Result<SessionChoice, JobError> {
        Ok(match self.resumed_session()?.as_deref() {
            None => SessionChoice::New,
            Some("latest") => SessionChoice::Latest,
            Some(id) => SessionChoice::Again(id.to_owned()),
        })
    }

    /// The conversation.
    pub(super) fn talk_to(&self, mode: ModeFlexibility) -> Result<ConversationRequest, JobError> {
        let directory = self.check()?;
        let roots = self.workspace_roots(directory.clone());
        let policy = self.effective_policy(&roots);
        let schema = self.schema_for_agent();
        let policy = policy.with_answer_calls(self.answer_calls(schema.as_ref()));
        let told = policy_for_agent(&policy, mode);
        let started = match &self.agent {
            JobAgent::Acp(agent) => self.start_acp(agent, &directory, &told)?,
            JobAgent::Gemini => self.start_gemini(&told)?,
            JobAgent::InProcess(agent) => self.start_in_process(agent, &directory),
            JobAgent::Remote(agent) => self.reach_remote(agent, &directory, &told),
        };
        let (hooks, mut notices) = self.conversation_hooks(&directory)?;
        notices.splice(..0, started.notices);
        let GivenPolicy {
            has_policy,
            own,
            file,
        } = started.policy;
        notices.extend(own.notices);
        let mut run =
            self.request_for_command(started.command, Vec::new(), &GEMINI_STREAM, notices);
        run.policy_file = file;
        run.output_schema.clone_from(&schema);
        run.watch.has_policy = has_policy;
        self.mark_request(&mut run);
        let config = &self.config;
        let local = match &self.agent {
            JobAgent::InProcess(agent) => Some(agent.agent.clone()),
            JobAgent::Remote(agent) => Some(agent.agent.clone()),
            JobAgent::Gemini | JobAgent::Acp(_) => None,
        };
        let is_ours = matches!(self.agent, JobAgent::InProcess(_));
        let local_meta = is_ours.then(|| session_meta_of(&policy, hooks.as_ref(), schema.as_ref()));
        Ok(ConversationRequest {
            run,
            provider: started.provider,
            environment: self.environment.vars.clone().into_iter().collect(),
            local,
            mcp_servers: self.speaking.mcp_servers.clone(),
            session_meta: local_meta.or(own.session_meta),
            policy,
            roots,
            attendant: self.speaking.attendant.clone(),
            hooks,
            auth_method: self.speaking.auth_method.clone(),
            modes: started.modes,
            model: config
                .model
                .clone()
                .filter(|_| self.agent != JobAgent::Gemini),
            system_prompt: config.system_prompt.clone(),
        })
    }

    /// The output schema, with a tool for the answer if the agent can start our program: a process on this machine that takes MCP
    /// servers over ACP.
    fn schema_for_agent(&self) -> Option<OutputSchema> {
        let schema = self.output_schema.clone()?;
        Some(match &self.agent {
            JobAgent::Gemini | JobAgent::Acp(_) => schema,
            JobAgent::InProcess(_) | JobAgent::Remote(_) => schema.without_tool(),
        })
    }

    /// The calls by which the agent hands over its answer.
    fn answer_calls(&self, schema: Option<&OutputSchema>) -> &'static [AnswerCall] {
        match &self.agent {
            JobAgent::InProcess(_) => &[COMPLETE_TASK],
            _ if schema.and_then(OutputSchema::tool).is_some() => {
                submission_calls(&self.agent.provider())
            }
            _ => &[],
        }
    }

    pub(super) fn effective_policy(&self, roots: &[PathBuf]) -> Policy {
        let config = &self.config;
        let tools = config.allowed_tools.iter().flatten();
        let dir = &self.environment.dir;
        let tools = tools.filter_map(|tool| {
            let spec = match gemini_cli::allowed_command(tool) {
                Some(beginning) => format!("execute:{beginning} *"),
                None => format!("tool={tool}"),
            };
            Rule::parse_flag(PermissionEffect::Allow, &spec, dir).ok()
        });
        let rules = self.agent_rules().before(Rules::new(tools));
        Policy::new(rules, config.permission_mode_or_default()).with_roots(roots)
    }

    /// The rules for this agent: the rules of flags, then the rules of files.
    pub(super) fn agent_rules(&self) -> Rules {
        let flags = self.rules_for_agent(&self.speaking.rules);
        flags.before(self.rules_for_agent(&self.config.rules))
    }

    /// The rules among these that apply to this agent.
    fn rules_for_agent(&self, rules: &Rules) -> Rules {
        let family = self.agent.provider();
        rules.for_agent(&[self.agent.name(), family.as_str()])
    }

    /// Why an agent's program is not there: its product may be, without the adapter.
    fn not_located(&self, agent: &AcpAgent) -> JobError {
        let adapter = AgentSpec::named(&agent.name).and_then(|known| known.adapter);
        let adapter = adapter.filter(|adapter| agent.program == Path::new(adapter.program));
        let product = adapter.and_then(|adapter| adapter.product_at(&self.environment));
        match (adapter, product) {
            (Some(adapter), Some(product)) => JobError::NoAdapter {
                agent: agent.name.clone(),
                adapter,
                product,
            },
            _ => JobError::NoProgram {
                agent: agent.name.clone(),
                program: agent.program.display().to_string(),
                install: agent.install.clone(),
            },
        }
    }

    fn start_acp(
        &self,
        agent: &AcpAgent,
        directory: &PathBuf,
        told: &Policy,
    ) -> Result<PreparedAgent, JobError> {
        let Some(program) = agent.locate(&self.environment) else {
            return Err(self.not_located(agent));
        };
        let version = detect::version_of_package(&program);
        let mut command = Command::new(program, directory);
        command.args(agent.args.iter().chain(&self.extra_args).cloned());
        command.envs(self.environment.vars.clone());
        command.envs(agent.environment.clone());
        let policy = self.give_policy(told, AskAbility::Possible, version.as_ref())?;
        policy.add_to_command(&mut command);
        Ok(PreparedAgent {
            command,
            provider: agent.provider.clone(),
            modes: agent.modes.clone(),
            notices: self.only_for_gemini(),
            policy,
        })
    }

    /// An agent of this process. Its command only describes it in the recording.
    fn start_in_process(&self, agent: &InProcessAgent, directory: &Path) -> PreparedAgent {
        let mut notices = agent.notices.clone();
        notices.extend(self.only_for_gemini());
        PreparedAgent {
            command: Command::new(&agent.name, directory),
            provider: agent.provider.clone(),
            modes: ModeWords::default(),
            notices,
            policy: GivenPolicy::default(),
        }
    }

    /// A remote agent. Its command only describes it in the recording.
    fn reach_remote(&self, agent: &RemoteAgent, directory: &Path, told: &Policy) -> PreparedAgent {
        let mut notices = Vec::new();
        if !agent.url.is_loopback() {
            notices.push(ELSEWHERE.to_owned());
        }
        if !agent.url.is_protected() {
            notices.push(format!(
                "the connection to `{}` is not encrypted: prompts and files can be read on the way",
                agent.url.shown()
            ));
        }
        if !self.extra_args.is_empty() {
            notices.push(
                "a remote agent takes no arguments: those behind `--` are not used".to_owned(),
            );
        }
        notices.extend(self.only_for_gemini());
        PreparedAgent {
            command: Command::new(agent.url.shown(), directory),
            provider: agent.provider.clone(),
            modes: agent.modes.clone(),
            notices,
            policy: GivenPolicy::watched_only(told),
        }
    }

    /// Notices about options that only Gemini CLI has, and that this agent ignores.
    fn only_for_gemini(&self) -> Vec<String> {
        let config = &self.config;
        let asked = [
            (self.session_id.is_some(), "`--session-id`"),
            (config.sandbox == Some(true), "`sandbox`"),
        ];
        let asked = asked.into_iter().filter(|(is_asked, _)| *is_asked);
        let told = asked.map(|(_, what)| format!("{what} is only for Gemini CLI, and not used"));
        told.collect()
    }

    /// Gemini CLI checks no trust over ACP: we do.
    fn start_gemini(&self, told: &Policy) -> Result<PreparedAgent, JobError> {
        let found = detect::gemini(&self.environment)?;
        self.check_trust(&found)?;
        if let Some(source_name) = self.sandbox_source() {
            return Err(JobError::SandboxOverAcp { source_name });
        }
        let spoken = gemini_cli::prepare_acp(&GeminiLaunch {
            config: &self.config,
            dir: &self.environment.dir,
            prompt: self.prompt.clone(),
            resume: None,
            session_id: None,
            extra_args: &self.extra_args,
            version: found.version.as_ref(),
        })?;
        let mut command = Command::new(
            found.path,
            self.config.working_dir_in(&self.environment.dir),
        );
        command
            .args(spoken.args)
            .envs(self.environment.vars.clone());
        command.envs(spoken.env);
        let policy = self.give_policy(told, AskAbility::Possible, found.version.as_ref())?;
        policy.add_to_command(&mut command);
        let known = AgentSpec::named(gemini_cli::NAME);
        Ok(PreparedAgent {
            command,
            provider: Provider::Gemini,
            modes: known.map(AgentSpec::modes).unwrap_or_default(),
            notices: Vec::new(),
            policy,
        })
    }

    /// The directories of the agent's workspace, the working directory first.
    pub(super) fn workspace_roots(&self, directory: PathBuf) -> Vec<PathBuf> {
        let included = self.config.include_directories.iter().flatten();
        let included = included.map(|other| self.environment.dir.join(other));
        [directory].into_iter().chain(included).collect()
    }

    /// The prompt as content blocks.
    fn prompt_blocks(&self) -> Result<Vec<Json>, JobError> {
        let text = self.prompt_text()?;
        let text = match &self.config.system_prompt {
            Some(system) => format!("{system}\n\n{text}"),
            None => text,
        };
        let attached = self.speaking.attachments.iter().cloned();
        let mut blocks = if self.agent == JobAgent::Gemini {
            let directory = self.config.working_dir_in(&self.environment.dir);
            prompt_files::prompt_blocks(&text, &self.workspace_roots(directory))
        } else {
            vec![prompt_files::text_block(&text)]
        };
        blocks.extend(attached);
        Ok(blocks)
    }

    /// The text of the prompt.
    pub(super) fn prompt_text(&self) -> Result<String, JobError> {
        let text = match &self.prompt {
            PromptText::Text(text) => text.clone(),
            PromptText::File(path) => self.read_prompt(path)?,
        };
        if text.trim().is_empty() {
            return Err(LaunchError::EmptyPrompt.into());
        }
        Ok(text)
    }

    fn read_prompt(&self, path: &PathBuf) -> Result<String, JobError> {
        let unusable = |reason: String| LaunchError::PromptFile {
            path: path.clone(),
            reason,
        };
        let file = self.environment.dir.join(path);
        let about = fs::metadata(&file).map_err(|error| unusable(error.to_string()))?;
        if !about.is_file() {
            return Err(unusable("it is not a regular file".to_owned()).into());
        }
        if about.len() > LONGEST_PROMPT {
            let reason = format!("it has more than {LONGEST_PROMPT} bytes");
            return Err(unusable(reason).into());
        }
        let text = fs::read_to_string(&file);
        Ok(text.map_err(|error| unusable(error.to_string()))?)
    }
}
