//! Hints for the user about a failure, as exact as the agent's words and its setup allow.

use lapidary_vocab::Cause;

use super::words::has_words_in;

/// The agent's setup as the caller knows it. Hints become exact by it, and causes that share one word are distinguished.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AgentSetup {
    /// What helps if the agent is not signed in.
    pub sign_in_hint: Option<String>,
    /// How many turns the agent's settings allow.
    pub turn_limit: TurnLimit,
}

/// A limit of turns in the agent's settings.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum TurnLimit {
    /// The settings were not read.
    #[default]
    Unknown,
    /// There is no limit.
    Unlimited,
    /// So many.
    Turns(u64),
}

/// What helps against an error of the model's API, by its HTTP status and its words.
pub(super) fn of_api_error(status: Option<u64>, message: &str) -> Option<&'static str> {
    let words = message.to_lowercase();
    let has = |phrase| has_words_in(&words, phrase);
    if has("input token count") || has("context length") || has("prompt is too long") {
        return Some(TOO_LONG);
    }
    let is_missing = status == Some(404) || has("is not found") || has("model not found");
    if is_missing {
        return Some(NO_MODEL);
    }
    let is_cut_off = [
        "fetch failed",
        "econnrefused",
        "enotfound",
        "etimedout",
        "econnreset",
    ];
    if is_cut_off.into_iter().any(has) {
        return Some(NO_CONNECTION);
    }
    let is_their_fault = status.is_some_and(|status| (500..600).contains(&status))
        || [
            "status 500",
            "status 503",
            "unavailable",
            "overloaded",
            "internal error encountered",
        ]
        .into_iter()
        .any(has);
    is_their_fault.then_some(THEIR_FAULT)
}

const TOO_LONG: &str =
    "shorten the prompt and what belongs to it, or choose a model with a larger context window";

const NO_MODEL: &str = "check the name of the model (--model, or `model.name` in settings.json)";

pub(super) const NO_CONNECTION: &str =
    "check the network, the proxy, and the API's address if one is set (GOOGLE_GEMINI_BASE_URL)";

pub(super) const THEIR_FAULT: &str = "the model's API is at fault: try again later";

/// What helps against a limit of turns. Gemini CLI 0.61 ends a turn over ACP with the same word if it detects a loop.
pub(super) fn of_turn_limit(limit: TurnLimit) -> String {
    match limit {
        TurnLimit::Turns(turns) => {
            format!("raise `model.maxSessionTurns` ({turns}) in settings.json")
        }
        TurnLimit::Unknown | TurnLimit::Unlimited => {
            "raise `model.maxSessionTurns` in settings.json".to_owned()
        }
    }
}

/// What helps whichever agent it is.
pub(super) fn of_any_agent(cause: &Cause) -> Option<&'static str> {
    match cause {
        Cause::AuthRequired => {
            Some("sign in with the agent's own command, or put its API key into the environment")
        }
        Cause::AgentMissing => Some("install it, or give the command that starts it"),
        Cause::UntrustedFolder
        | Cause::MaxTurns
        | Cause::BadConfig
        | Cause::Sandbox
        | Cause::LoopDetected => None,
        cause => cause.hint(),
    }
}
