//! Why a job cannot be run, and how that is told as the end of a run.

use std::io;
use std::path::PathBuf;

use lapidary_home::trust::{Reason, Trust};
use lapidary_normalize::{Ending, Stopped};
use lapidary_vocab::Cause;

use crate::agents::gemini::{self, LaunchError};
use crate::detect::{How, NotFound, Refusal, Tried};
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
        /// What the agent is called.
        agent: String,
        /// What its program is called.
        program: String,
        /// How one gets it, if we know.
        install: Option<String>,
    },
    /// The agent can only be spoken to.
    #[error("`{agent}` speaks nothing but ACP")]
    OnlyAcp {
        /// What the agent is called.
        agent: String,
    },
    /// The agent is not spoken to, and something was asked for that needs it.
    #[error("{what} needs an agent that speaks ACP")]
    NotSpoken {
        /// What was asked for.
        what: &'static str,
        /// The agent, if there is no way to speak to it.
        agent: Option<String>,
    },
    /// The run's id cannot name a recording.
    #[error(transparent)]
    Record(#[from] RecordError),
    /// There is no such directory to work in, or it cannot be entered.
    #[error("cannot work in `{}`: {}", directory.display(), unenterable(.source))]
    Directory {
        /// The one that was wanted.
        directory: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// The agent would refuse to work there: nobody said that the folder can be trusted.
    #[error("`{}` is not a trusted folder: {reason}", directory.display())]
    Untrusted {
        /// Where it was to work.
        directory: PathBuf,
        /// Who says so.
        reason: Reason,
    },
    /// Hooks are wanted, and a file that may hold some cannot be used: to go on would be to go on without them.
    #[error("hooks are wanted, and `{}` cannot be used: {why}", path.display())]
    HookFile {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// Hooks are wanted, and would not run: nobody said that the folder can be trusted.
    #[error(
        "hooks are wanted, and {} here only if `{}` is trusted: {}",
        run(*.hooks),
        directory.display(),
        doubt(.trust)
    )]
    UntrustedHooks {
        /// Where the agent was to work.
        directory: PathBuf,
        /// How many hooks would not run.
        hooks: usize,
        /// Who says so.
        trust: Trust,
    },
    /// Hooks are wanted, and nobody knows where the settings are.
    #[error("hooks are wanted, and there is no home to find them in")]
    NoHome,
    /// Gemini CLI (0.61) reads its stdin to the end before it starts its sandbox, so that over ACP it would wait for ever.
    #[error("Gemini CLI cannot use its sandbox over ACP, and {source_name} asks for it")]
    SandboxOverAcp {
        /// What asks for the sandbox.
        source_name: &'static str,
    },
    /// A prompt that is too long for stdin cannot be written to a file.
    #[error("cannot write the prompt to `{}`: {source}", path.display())]
    PromptFile {
        /// Where it was to be written.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
}

impl JobError {
    fn cause(&self) -> Cause {
        match self {
            Self::NotFound(_) | Self::NoProgram { .. } => Cause::AgentMissing,
            Self::OnlyAcp { .. }
            | Self::NotSpoken { .. }
            | Self::Launch(_)
            | Self::Record(_)
            | Self::Directory { .. } => Cause::BadInput,
            Self::Untrusted { .. } | Self::UntrustedHooks { .. } => Cause::UntrustedFolder,
            Self::HookFile { .. } | Self::NoHome => Cause::BadConfig,
            Self::SandboxOverAcp { .. } => Cause::Sandbox,
            Self::PromptFile { .. } => Cause::Internal,
        }
    }

    /// Where the agent was looked for in vain.
    fn remarks(&self) -> Vec<String> {
        let Self::NotFound(NotFound { tried }) = self else {
            return Vec::new();
        };
        let is_worth_a_word = |tried: &&Tried| {
            tried.refused != Refusal::Missing || matches!(tried.how, How::Variable(_))
        };
        let named = tried.iter().filter(is_worth_a_word);
        let named = named.map(|tried| format!("`{}`: {}", tried.path.display(), tried.refused));
        let looked = match tried.len() {
            1 => "it was looked for there and nowhere else".to_owned(),
            count => format!("it was looked for in {count} places"),
        };
        named.chain([looked]).collect()
    }

    /// What the user can do about it, if we know.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::NotFound(error) => Some(error.hint()),
            Self::Launch(error) => error.hint(),
            Self::Untrusted { reason, .. } => Some(gemini::trust_hint(reason)),
            Self::NoProgram { install, .. } => {
                let install = install.as_deref().map(as_command);
                let install = install.map(|install| format!("install it with {install}"));
                let usual =
                    "a program is looked for on PATH, or named by its path; no shell is asked";
                Some(install.unwrap_or_else(|| usual.to_owned()))
            }
            Self::OnlyAcp { .. } => {
                Some("`--transport acp` speaks it, and so does `auto`".to_owned())
            }
            Self::NotSpoken {
                agent: Some(agent), ..
            } => Some(format!(
                "`{agent}` cannot be spoken to; `--agent` takes another one"
            )),
            Self::NotSpoken { agent: None, .. } => {
                Some("`--transport acp` makes it one, if it can be".to_owned())
            }
            Self::UntrustedHooks { trust, .. } => Some(match trust {
                Trust::Trusted(reason) | Trust::Untrusted(reason) => gemini::trust_hint(reason),
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
            Self::NoHome => Some("set HOME, or GEMINI_CLI_HOME".to_owned()),
            Self::Record(_) | Self::Directory { .. } | Self::PromptFile { .. } => None,
        }
    }
}

/// Why a directory cannot be worked in.
fn unenterable(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => "it is no directory".to_owned(),
        _ => format!("it cannot be entered: {error}"),
    }
}

/// What hooks do, in words.
fn run(hooks: usize) -> String {
    match hooks {
        1 => "the only one runs".to_owned(),
        count => format!("the {count} there are run"),
    }
}

/// Why a folder is not trusted.
fn doubt(trust: &Trust) -> String {
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

impl From<&JobError> for Ending {
    fn from(error: &JobError) -> Self {
        Self {
            stopped: Some(Stopped {
                cause: error.cause(),
                message: error.to_string(),
                hint: error.hint(),
            }),
            remarks: error.remarks(),
            ..Self::default()
        }
    }
}
