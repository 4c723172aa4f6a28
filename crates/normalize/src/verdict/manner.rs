//! Whom a verdict is about: what an exit code means, and what helps, differs from agent to agent.

use lapidary_vocab::Cause;

use super::Ending;

/// How the agent was run, and which it is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Manner {
    /// Gemini CLI, headless.
    #[default]
    Headless,
    /// Any agent, over ACP.
    Acp { is_gemini: bool },
}

impl Manner {
    /// What the user can do. What we refused ourselves is not the agent's to explain, unless it is not there at all.
    pub(super) fn hint(self, cause: &Cause, ending: &Ending) -> Option<String> {
        let is_ours = ending.stopped.is_some() && *cause != Cause::AgentMissing;
        let hint = match self {
            Self::Headless | Self::Acp { is_gemini: true } => cause.hint(),
            Self::Acp { is_gemini: false } => general_hint(cause),
        };
        hint.filter(|_| !is_ours).map(str::to_owned)
    }

    /// What is to be said when only the process's end and stderr speak.
    pub(super) fn complaint(self, cause: &Cause, ending: &Ending) -> Option<String> {
        match self {
            Self::Headless => of_gemini(cause, ending),
            Self::Acp { .. } => of_anyone(ending),
        }
    }
}

/// What helps whichever agent it is.
fn general_hint(cause: &Cause) -> Option<&'static str> {
    match cause {
        Cause::AuthRequired => {
            Some("sign in with the agent's own command, or put its API key into the environment")
        }
        Cause::AgentMissing => Some("install it, or give the command that starts it"),
        Cause::UntrustedFolder | Cause::MaxTurns | Cause::BadConfig => None,
        cause => cause.hint(),
    }
}

/// In the words of the provider's specification.
fn of_gemini(cause: &Cause, ending: &Ending) -> Option<String> {
    let stderr = ending.stderr.trim();
    let code = ending.exit_code.filter(|code| *code != 0)?;
    Some(match cause {
        Cause::AuthRequired => {
            format!("Gemini CLI authentication error. Run: gemini auth login\n{stderr}")
                .trim_end()
                .to_owned()
        }
        Cause::AgentMissing => {
            "Gemini CLI not found. Install from: https://github.com/google-gemini/gemini-cli"
                .to_owned()
        }
        Cause::AgentCrashed if stderr.is_empty() => format!("Gemini CLI failed (exit {code})"),
        _ if stderr.is_empty() => return None,
        _ => format!("Gemini CLI failed (exit {code}): {stderr}"),
    })
}

fn of_anyone(ending: &Ending) -> Option<String> {
    let how = match (&ending.signal, ending.exit_code) {
        (Some(signal), _) => format!("the agent was ended by {signal} before it answered"),
        (None, Some(code)) => format!("the agent exited with code {code} before it answered"),
        (None, None) => return None,
    };
    let stderr = ending.stderr.trim();
    Some(if stderr.is_empty() {
        how
    } else {
        format!("{how}: {stderr}")
    })
}
