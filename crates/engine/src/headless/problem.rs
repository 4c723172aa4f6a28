//! Why a job cannot be run, and the `run_end` for it.

use std::io;
use std::path::PathBuf;

use lapidary_gemini::trust::{Trust, TrustReason};
use lapidary_normalize::{ProcessEnd, StopCause};
use lapidary_sessions::SelectError;
use lapidary_vocab::Cause;

use crate::agents::{AcpAdapter, AgentSpec};
use crate::confine::ConfineError;
use crate::detect::{NotFound, PlaceRefusal, RejectedPlace, SearchReason};
use crate::gemini_cli::{self, LaunchError};
use crate::own_stream::StreamAgent;
use crate::recording::RecordError;

/// Why a job cannot be run at all.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum JobError {
    /// The agent is not installed.
    #[error(transparent)]
    NotFound(#[from] NotFound),
    /// The agent cannot be started like this.
    #[error(transparent)]
    Launch(#[from] LaunchError),
    /// The agent's program is not there.
    #[error("cannot find `{program}`, the program of the agent `{agent}`")]
    NoProgram {
        /// The name of the agent.
        agent: String,
        /// The name of its program.
        program: String,
        /// How one gets it, if we know.
        install: Option<String>,
    },
    /// The agent's product is there, and the adapter is not through which it speaks ACP.
    #[error(
        "{} is installed (`{}`), but not its ACP adapter `{}`, through which it speaks ACP",
        adapter.product,
        product.display(),
        adapter.program
    )]
    NoAdapter {
        /// The name of the agent.
        agent: String,
        /// The missing adapter.
        adapter: &'static AcpAdapter,
        /// Where the product's own program is.
        product: PathBuf,
    },
    /// The agent speaks only ACP.
    #[error("`{agent}` speaks only ACP")]
    OnlyAcp {
        /// The name of the agent.
        agent: String,
    },
    /// The agent has a stream of its own, and no document.
    #[error("`{agent}` has no `json` transport")]
    NoDocument {
        /// The name of the agent.
        agent: String,
    },
    /// The agent is used without ACP, and an option needs ACP.
    #[error("{what} needs ACP{}", .why.as_ref().map(|why| format!(": {why}")).unwrap_or_default())]
    NotSpoken {
        /// The option.
        what: &'static str,
        /// Why ACP is not used, if that was not the user's choice.
        why: Option<String>,
    },
    /// An option needs ACP, and only the agent's own program is installed.
    #[error("{what} needs ACP, and `{program}`, the ACP adapter of {product}, is not installed")]
    NeedsAdapter {
        /// The option.
        what: &'static str,
        /// The product.
        product: &'static str,
        /// The program of the adapter.
        program: String,
        /// How one gets the adapter.
        install: Option<String>,
    },
    /// Only Gemini CLI has a screen of its own that a session can be resumed in.
    #[error("`{agent}` has no screen to resume a session in")]
    NoScreen {
        /// The name of the agent.
        agent: String,
    },
    /// An option was given that only a run has, and the agent's own screen does not.
    #[error("{what} needs a prompt")]
    NeedsPrompt {
        /// The option.
        what: &'static str,
    },
    /// There are rules, and the agent makes some calls without asking.
    #[error("`{agent}` cannot be told to ask before each call, so rules would not hold: {why}")]
    CannotAsk {
        /// The name of the agent.
        agent: String,
        /// Why it cannot be made to ask.
        why: String,
    },
    /// The policy for the agent cannot be written.
    #[error("cannot write the agent's policy `{}`: {source}", path.display())]
    PolicyFile {
        /// The file.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// The system's settings of Gemini CLI cannot be read, so that MCP servers cannot be added to them for the run.
    #[error("cannot add MCP servers to the system's settings `{}` for this run: {reason}", path.display())]
    SystemSettings {
        /// The file.
        path: PathBuf,
        /// The reason.
        reason: String,
    },
    /// The session to continue is not one.
    #[error(transparent)]
    Session(#[from] SelectError),
    /// The run's id cannot name a recording.
    #[error(transparent)]
    Record(#[from] RecordError),
    /// There is no such directory to work in, or it cannot be entered.
    #[error("cannot work in `{}`: {}", directory.display(), unenterable_reason(.source))]
    Directory {
        /// The requested directory.
        directory: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// The agent would refuse to work there: the folder is not trusted.
    #[error("`{}` is not a trusted folder: {reason}", directory.display())]
    Untrusted {
        /// Where it was to work.
        directory: PathBuf,
        /// Why it is not trusted.
        reason: TrustReason,
    },
    /// Hooks are wanted, and a file that may hold some cannot be used: to go on would be to go on without them.
    #[error("hooks cannot be used: `{}`: {why}", path.display())]
    HookFile {
        /// The file.
        path: PathBuf,
        /// The reason why it cannot be used.
        why: String,
    },
    /// Hooks are wanted, and would not run: the folder is not trusted.
    #[error(
        "hooks cannot be used: {} here only if `{}` is trusted: {}",
        run(*.hooks),
        directory.display(),
        distrust_reason(.trust)
    )]
    UntrustedHooks {
        /// Where the agent was to work.
        directory: PathBuf,
        /// How many hooks would not run.
        hooks: usize,
        /// The state of trust, with its source.
        trust: Trust,
    },
    /// Hooks are wanted, and the directory of the settings is unknown.
    #[error("hooks need a home directory, and HOME is not set")]
    NoHome,
    /// Gemini CLI (0.61) reads its stdin to the end before it starts its sandbox, so that over ACP it would wait for ever.
    #[error("Gemini CLI cannot use its sandbox over ACP, and {source_name} asks for it")]
    SandboxOverAcp {
        /// The option, variable or setting that turns on the sandbox.
        source_name: &'static str,
    },
    /// The agent has to be confined, and the kernel cannot do that.
    #[error("the agent cannot be confined, and `confinement` is `required`: {why}")]
    Unconfined {
        /// The restriction that the kernel cannot enforce.
        why: String,
    },
    /// The requested confinement is invalid.
    #[error("the agent cannot be confined: {0}")]
    Confine(#[from] ConfineError),
    /// A prompt that is too long for stdin cannot be written to a file.
    #[error("cannot write the prompt to `{}`: {source}", path.display())]
    PromptFile {
        /// Where it was to be written.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
}

impl JobError {
    fn cause(&self) -> Cause {
        match self {
            Self::NotFound(_) | Self::NoProgram { .. } | Self::NoAdapter { .. } => {
                Cause::AgentMissing
            }
            Self::OnlyAcp { .. }
            | Self::NoDocument { .. }
            | Self::NeedsAdapter { .. }
            | Self::NotSpoken { .. }
            | Self::NoScreen { .. }
            | Self::NeedsPrompt { .. }
            | Self::Session(_)
            | Self::Launch(_)
            | Self::Record(_)
            | Self::Directory { .. } => Cause::BadInput,
            Self::Untrusted { .. } | Self::UntrustedHooks { .. } => Cause::UntrustedFolder,
            Self::SandboxOverAcp { .. }
            | Self::Unconfined { .. }
            | Self::Confine(ConfineError::Temporary { .. }) => Cause::Sandbox,
            Self::HookFile { .. } | Self::NoHome | Self::CannotAsk { .. } | Self::Confine(_) => {
                Cause::BadConfig
            }
            Self::SystemSettings { .. } => Cause::BadConfig,
            Self::PromptFile { .. } | Self::PolicyFile { .. } => Cause::Internal,
        }
    }

    /// Where the agent was looked for in vain.
    fn search_remarks(&self) -> Vec<String> {
        let Self::NotFound(NotFound { tried }) = self else {
            return Vec::new();
        };
        let is_worth_a_word = |tried: &&RejectedPlace| {
            tried.refused != PlaceRefusal::Missing || matches!(tried.how, SearchReason::Variable(_))
        };
        let named = tried.iter().filter(is_worth_a_word);
        let named = named.map(|tried| format!("`{}`: {}", tried.path.display(), tried.refused));
        let looked = match tried.len() {
            1 => "it was looked for there and nowhere else".to_owned(),
            count => format!("it was looked for in {count} places"),
        };
        named.chain([looked]).collect()
    }

    /// A step that the user can take, if we know one.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::NotFound(error) => Some(error.hint()),
            Self::Launch(error) => error.hint(),
            Self::Untrusted { reason, .. } => Some(gemini_cli::trust_hint(reason)),
            Self::NoAdapter { agent, .. } => Some(format!(
                "run `lapidary doctor --agent {agent} --install`, which asks first"
            )),
            Self::NoProgram {
                agent,
                program,
                install,
            } => {
                let install = install.as_deref().map(as_command);
                let install = install.map(|install| format!("install it with {install}"));
                let usual = "check PATH, or give the full path (shell aliases do not work)";
                let hint = install.unwrap_or_else(|| usual.to_owned());
                let can_install = AgentSpec::named(agent).is_some_and(|it| it.adapter.is_some());
                let ours = format!("{hint}, or run `lapidary doctor --agent {agent} --install`");
                let hint = if can_install { ours } else { hint };
                Some(match own_program_hint(agent, program) {
                    Some(own) => format!("{hint}; {own}"),
                    None => hint,
                })
            }
            Self::OnlyAcp { .. } => {
                Some("`--transport acp` speaks it, and so does `auto`".to_owned())
            }
            Self::NeedsAdapter { install, .. } => {
                let install = install.as_deref().map(as_command);
                install.map(|install| format!("install it with {install}"))
            }
            Self::NoDocument { .. } => {
                Some("use `--transport stream-json` or `--transport acp`".to_owned())
            }
            Self::NotSpoken { why: None, .. } => {
                Some("leave `--transport` out, or pass `--transport acp`".to_owned())
            }
            Self::UntrustedHooks { trust, .. } => Some(match trust {
                Trust::Trusted(reason) | Trust::Untrusted(reason) => gemini_cli::trust_hint(reason),
                Trust::Unknown(_) => "pass `--trust-workspace` for this run only".to_owned(),
            }),
            Self::HookFile { .. } => Some(
                "correct it, or move it away; `lapidary hooks check` names what is wrong, and without `--hooks` no hook guards the agent"
                    .to_owned(),
            ),
            Self::SandboxOverAcp { .. } => Some(
                "`--transport stream-json` can use it, without rules, hooks of ours and questions; or leave the sandbox out"
                    .to_owned(),
            ),
            Self::Unconfined { .. } => Some(
                "use a kernel with Landlock (Linux 6.2 or later), or set `confinement = \"wanted\"`"
                    .to_owned(),
            ),
            Self::Confine(error) => Some(error.hint().to_owned()),
            Self::NoHome => Some("set HOME, or GEMINI_CLI_HOME".to_owned()),
            Self::NoScreen { .. } | Self::NeedsPrompt { .. } => Some(
                "add a prompt: lapidary sessions resume latest 'and now the documentation'"
                    .to_owned(),
            ),
            Self::Session(_) => Some("write more of the id".to_owned()),
            Self::CannotAsk { .. } => Some(
                "`--on-violation report` starts it all the same: calls against a rule are then reported, not prevented"
                    .to_owned(),
            ),
            Self::NotSpoken { .. }
            | Self::Record(_)
            | Self::Directory { .. }
            | Self::PromptFile { .. }
            | Self::PolicyFile { .. } => None,
            Self::SystemSettings { .. } => {
                Some("repair the file, or use `--transport acp`, which needs no settings".to_owned())
            }
        }
    }
}

/// An agent with a stream of its own runs without the adapter that is missing.
fn own_program_hint(agent: &str, program: &str) -> Option<String> {
    let own = StreamAgent::named(agent).filter(|own| own.program != program)?;
    Some(format!(
        "or install {} itself, which runs without it: `{}`",
        own.product, own.install
    ))
}

/// Why a directory cannot be worked in.
fn unenterable_reason(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => {
            "it is not a directory".to_owned()
        }
        _ => format!("it cannot be entered: {error}"),
    }
}

/// The subject and verb of a message about hooks.
fn run(hooks: usize) -> String {
    match hooks {
        1 => "the only one runs".to_owned(),
        count => format!("the {count} there are run"),
    }
}

/// Why a folder is not trusted.
fn distrust_reason(trust: &Trust) -> String {
    match trust {
        Trust::Trusted(reason) | Trust::Untrusted(reason) => reason.to_string(),
        Trust::Unknown(doubt) => doubt.to_string(),
    }
}

/// A command is quoted, a sentence is not.
fn as_command(install: &str) -> String {
    if install.starts_with("the ") {
        install.to_owned()
    } else {
        format!("`{install}`")
    }
}

impl From<&JobError> for ProcessEnd {
    fn from(error: &JobError) -> Self {
        Self {
            stopped: Some(StopCause {
                cause: error.cause(),
                message: error.to_string(),
                hint: error.hint(),
            }),
            remarks: error.search_remarks(),
            ..Self::default()
        }
    }
}
