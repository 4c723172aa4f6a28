//! The agent's kind: meanings of exit codes, and hints, differ from agent to agent.

use lapidary_vocab::Cause;

use super::ProcessEnd;
use super::hints::{of_any_agent, of_turn_limit};
use super::words::fatal_error;

/// How the agent was run, and which it is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum AgentKind {
    /// Gemini CLI, headless.
    #[default]
    Headless,
    /// Another agent with a stream of its own.
    Stream,
    /// Any agent, over ACP.
    Acp { is_gemini: bool },
}

impl AgentKind {
    /// True if the agent is Gemini CLI.
    pub(super) fn is_gemini(self) -> bool {
        !matches!(self, Self::Acp { is_gemini: false } | Self::Stream)
    }

    /// The hint for the user. For a run that we refused ourselves there is none from the agent, unless the agent is missing.
    pub(super) fn user_hint(self, cause: &Cause, ending: &ProcessEnd) -> Option<String> {
        let is_ours = ending.stopped.is_some() && *cause != Cause::AgentMissing;
        let setup = &ending.setup;
        match cause {
            _ if is_ours => None,
            cause if !self.is_gemini() => of_any_agent(cause).map(str::to_owned),
            Cause::AuthRequired if setup.sign_in_hint.is_some() => setup.sign_in_hint.clone(),
            Cause::MaxTurns => Some(of_turn_limit(setup.turn_limit)),
            cause => cause.hint().map(str::to_owned),
        }
    }

    /// The message when only the process's end and stderr are known.
    pub(super) fn complaint_message(self, cause: &Cause, ending: &ProcessEnd) -> Option<String> {
        match self {
            Self::Headless => of_gemini(cause, ending),
            Self::Acp { .. } | Self::Stream => of_anyone(ending),
        }
    }
}

/// In the words of the provider's specification.
fn of_gemini(cause: &Cause, ending: &ProcessEnd) -> Option<String> {
    let stderr = ending.stderr.trim();
    let code = ending.exit_code.filter(|code| *code != 0)?;
    Some(match cause {
        // The specification goes on with `Run: gemini auth login`, which Gemini CLI 0.61 does not have: the hint says what helps.
        Cause::AuthRequired => format!("Gemini CLI authentication error.\n{stderr}")
            .trim_end()
            .to_owned(),
        Cause::AgentMissing => {
            "Gemini CLI not found. Install from: https://github.com/google-gemini/gemini-cli"
                .to_owned()
        }
        Cause::AgentCrashed if stderr.is_empty() => format!("Gemini CLI failed (exit {code})"),
        _ if stderr.is_empty() => return None,
        Cause::Sandbox => match fatal_error(stderr) {
            Some(error) => error.sentence.to_owned(),
            None => format!("Gemini CLI failed (exit {code}): {stderr}"),
        },
        _ => format!("Gemini CLI failed (exit {code}): {stderr}"),
    })
}

fn of_anyone(ending: &ProcessEnd) -> Option<String> {
    let how = format!("{} before it answered", ending.end_description()?);
    let stderr = ending.stderr.trim();
    Some(if stderr.is_empty() {
        how
    } else {
        format!("{how}: {stderr}")
    })
}
