//! How a run ended, judged by what it said *and* how its process went.
//!
//! The two can disagree: Gemini CLI exits with 0 after an empty response, after a loop, and when it was interrupted. Success
//! needs a clean exit and the agent's own word. The exit code is looked at first, words in messages last and as whole words.

use std::time::Duration;

use lapidary_vocab::event::RunEnd;
use lapidary_vocab::{Cause, Number, Text};

/// How the agent's process ended, as far as the caller knows.
#[derive(Debug, Clone, Default)]
pub struct Ending {
    /// Its exit code.
    pub exit_code: Option<i32>,
    /// The signal that ended it.
    pub signal: Option<String>,
    /// The end of what it wrote to stderr.
    pub stderr: String,
    /// What else led to it, as evidence.
    pub remarks: Vec<String>,
    /// When that was, for a run that is live.
    pub at: Option<String>,
    /// How long the run took, if it was live.
    pub duration: Option<Duration>,
    /// Why the caller ended it, or could not start it. This decides.
    pub stopped: Option<Stopped>,
}

/// Why a run was ended by whoever ran it, or was not even started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stopped {
    /// The cause in one word.
    pub cause: Cause,
    /// The cause in a sentence: what was waited for, what was refused.
    pub message: String,
    /// What the user can do about it, if that is more than the cause says.
    pub hint: Option<String>,
}

/// Collects what an agent said about how it went, and judges.
#[derive(Debug, Clone, Default)]
pub struct Verdict {
    result: Option<Reported>,
    last_error: Option<Text>,
    /// A warning that takes back a success, and what it means.
    spoiler: Option<(Cause, Text)>,
    /// By its own count no model was asked, and nothing was said.
    is_hollow: bool,
}

/// What an agent reported at the end of a turn.
#[derive(Debug, Clone, Default)]
pub struct Reported {
    /// Its own word: `success`, over ACP `end_turn`, or anything else.
    pub status: String,
    /// The name of the error.
    pub error_type: Option<String>,
    /// The error in words.
    pub message: Option<Text>,
    /// The code of the error, an exit code or an HTTP status, where it says one.
    pub code: Option<u64>,
}

impl Reported {
    fn is_success(&self) -> bool {
        matches!(self.status.as_str(), "success" | "end_turn")
    }

    /// What one of ACP's stop reasons means.
    fn stop_reason(&self) -> Option<Cause> {
        Some(match self.status.as_str() {
            "refusal" => Cause::Refusal,
            "max_tokens" => Cause::MaxTokens,
            "max_turn_requests" => Cause::MaxTurns,
            "cancelled" | "canceled" => Cause::CancelledByClient,
            _ => return None,
        })
    }
}

impl Verdict {
    /// The agent reported how it went.
    pub fn result(&mut self, mut reported: Reported) {
        reported.message = reported.message.map(|text| text.detached());
        self.result = Some(reported);
    }

    /// The agent gave a warning or reported an error on the way.
    pub fn notice(&mut self, is_error: bool, message: &Text) {
        let words = message.to_str();
        let spoils = if words.starts_with("Loop detected") {
            Some(Cause::LoopDetected)
        } else if words.starts_with("Maximum session turns exceeded") {
            Some(Cause::MaxTurns)
        } else if words.starts_with("Agent execution blocked") {
            Some(Cause::PermissionDenied)
        } else {
            None
        };
        if let Some(cause) = spoils {
            self.spoiler = Some((cause, message.detached()));
        }
        if is_error {
            self.last_error = Some(message.detached());
        }
    }

    /// The agent's own statistics tell whether any model was asked. Gemini CLI 0.61 reports success without asking one when the
    /// prompt is larger than the model can take.
    pub fn asked(&mut self, asked: bool) {
        self.is_hollow = !asked;
    }

    /// True once the agent has reported how it went.
    pub fn has_result(&self) -> bool {
        self.result.is_some()
    }

    /// Judges.
    pub fn judge(&self, ending: &Ending) -> RunEnd {
        let cause = self.cause(ending);
        let failed = cause != Cause::EndTurn;
        let special = match &ending.stopped {
            Some(stopped) => stopped.hint.clone(),
            None => self.is_hollow_success(&cause).then(|| TOO_LARGE.to_owned()),
        };
        RunEnd {
            outcome: cause.outcome(),
            exit_code: ending.exit_code,
            signal: ending.signal.clone(),
            duration_ms: ending
                .duration
                .map(|time| Number::from(u64::try_from(time.as_millis()).unwrap_or(u64::MAX))),
            message: failed.then(|| self.message(&cause, ending)),
            evidence: self.evidence(ending),
            hint: special.or_else(|| usual_hint(&cause, ending)),
            cause,
        }
    }

    fn cause(&self, ending: &Ending) -> Cause {
        if let Some(stopped) = &ending.stopped {
            return stopped.cause.clone();
        }
        if ending.signal.is_some() {
            return Cause::AgentCrashed;
        }
        if let Some(cause) = ending.exit_code.and_then(|code| self.cause_of_exit(code)) {
            return cause;
        }
        let clean = matches!(ending.exit_code, None | Some(0));
        match &self.result {
            Some(result) if result.is_success() && clean => match &self.spoiler {
                Some((cause, _)) => cause.clone(),
                None if self.is_hollow => Cause::EmptyResponse,
                None => Cause::EndTurn,
            },
            Some(result) if result.is_success() => Cause::AgentCrashed,
            Some(result) => result
                .stop_reason()
                .or_else(|| self.cause_of_code(result.code))
                .or_else(|| self.told_by_words())
                .unwrap_or(Cause::ApiError),
            None if clean => Cause::NoResult,
            None => told_by_stderr(&ending.stderr).unwrap_or(Cause::AgentCrashed),
        }
    }

    /// The code that an error document names is the exit code before it is cut to eight bits.
    fn cause_of_code(&self, code: Option<u64>) -> Option<Cause> {
        self.cause_of_exit(i32::try_from(code? % 256).ok()?)
    }

    /// Gemini's own exit codes, then HTTP statuses modulo 256.
    fn cause_of_exit(&self, code: i32) -> Option<Cause> {
        Some(match code {
            41 | 145 | 147 => Cause::AuthRequired,
            42 => Cause::BadInput,
            44 => Cause::Sandbox,
            52 => Cause::BadConfig,
            53 => Cause::MaxTurns,
            54 => Cause::ToolFatal,
            55 => Cause::UntrustedFolder,
            127 => Cause::AgentMissing,
            130 => Cause::CancelledByClient,
            144 => self.told_by_words().unwrap_or(Cause::ApiError),
            173 => self.told_by_words().unwrap_or(Cause::QuotaRetryable),
            _ => return None,
        })
    }

    /// What the error's name or its words tell.
    fn told_by_words(&self) -> Option<Cause> {
        let error_type = self
            .result
            .as_ref()
            .and_then(|result| result.error_type.as_deref());
        match error_type {
            Some("FatalAuthenticationError" | "auth_required") => return Some(Cause::AuthRequired),
            Some("FatalInputError") => return Some(Cause::BadInput),
            Some("FatalSandboxError") => return Some(Cause::Sandbox),
            Some("FatalConfigError") => return Some(Cause::BadConfig),
            Some("FatalTurnLimitedError") => return Some(Cause::MaxTurns),
            Some("FatalToolExecutionError") => return Some(Cause::ToolFatal),
            Some("FatalUntrustedWorkspaceError") => return Some(Cause::UntrustedFolder),
            Some("FatalCancellationError") => return Some(Cause::CancelledByClient),
            Some("INVALID_STREAM") => return Some(Cause::EmptyResponse),
            _ => {}
        }
        let words = self.reported_message()?.to_str().to_lowercase();
        told_by_phrases(&words)
    }

    fn reported_message(&self) -> Option<Text> {
        let result = self.result.as_ref();
        let said = result
            .and_then(|result| result.message.clone())
            .filter(|text| !text.is_empty());
        let named = || {
            result
                .and_then(|result| result.error_type.clone())
                .map(Text::from)
        };
        said.or_else(named).or_else(|| self.last_error.clone())
    }

    /// What the caller decided, else the agent's own words, else what it complained about, else the cause in words.
    fn message(&self, cause: &Cause, ending: &Ending) -> Text {
        if let Some(stopped) = &ending.stopped {
            return stopped.message.clone().into();
        }
        if self.is_hollow_success(cause) {
            return Text::from("the agent reported success, but asked no model and said nothing");
        }
        let spoilt = self
            .spoiler
            .as_ref()
            .filter(|(spoiler, _)| spoiler == cause)
            .map(|(_, text)| text.clone());
        spoilt
            .or_else(|| self.reported_message())
            .or_else(|| complained(cause, ending).map(Text::from))
            .unwrap_or_else(|| cause.described().to_owned().into())
    }

    fn is_hollow_success(&self, cause: &Cause) -> bool {
        let is_success = self.result.as_ref().is_some_and(Reported::is_success);
        is_success && self.is_hollow && *cause == Cause::EmptyResponse
    }

    fn evidence(&self, ending: &Ending) -> Vec<String> {
        let mut evidence = Vec::new();
        if let Some(code) = ending.exit_code {
            evidence.push(format!("the agent exited with code {code}"));
        }
        if let Some(signal) = &ending.signal {
            evidence.push(format!("the agent was ended by {signal}"));
        }
        match &self.result {
            Some(Reported {
                status,
                error_type: Some(name),
                ..
            }) => evidence.push(format!("its result says `{status}`: {name}")),
            Some(Reported { status, .. }) => evidence.push(format!("its result says `{status}`")),
            None if was_started(ending) => evidence.push("it gave no result".to_owned()),
            None => {}
        }
        if let Some((_, text)) = &self.spoiler {
            evidence.push(format!("it warned: {text}"));
        } else if let Some(text) = &self.last_error {
            evidence.push(format!("it reported: {text}"));
        }
        evidence.extend(ending.remarks.iter().cloned());
        evidence
    }
}

const TOO_LARGE: &str =
    "is the prompt, with all that belongs to it, larger than the model can take?";

/// What we refused ourselves is not the agent's to explain, unless it is not there at all.
fn usual_hint(cause: &Cause, ending: &Ending) -> Option<String> {
    let is_ours = ending.stopped.is_some() && *cause != Cause::AgentMissing;
    let hint = cause.hint().filter(|_| !is_ours);
    hint.map(str::to_owned)
}

/// A run that was refused before it began can have no result.
fn was_started(ending: &Ending) -> bool {
    ending.stopped.is_none() || ending.exit_code.is_some() || ending.signal.is_some()
}

/// What is to be said when only the exit code and stderr speak, in the words of the provider's specification.
fn complained(cause: &Cause, ending: &Ending) -> Option<String> {
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

/// What stderr tells of a process that died without a word of its own.
fn told_by_stderr(stderr: &str) -> Option<Cause> {
    let words = stderr.to_lowercase();
    let names_auth = words.split_whitespace().any(|word| {
        let word = word.trim_matches(|c: char| c.is_ascii_punctuation());
        matches!(word, "auth" | "login" | "authentication" | "unauthorized")
    });
    told_by_phrases(&words).or_else(|| names_auth.then_some(Cause::AuthRequired))
}

fn told_by_phrases(words: &str) -> Option<Cause> {
    let plain = without_punctuation(words);
    let told = PHRASES.iter().find(|(phrase, _)| has_words(&plain, phrase));
    told.map(|(_, cause)| cause.clone())
}

/// Words that tell a cause where no code and no name does, in order of precedence.
const PHRASES: &[(&str, Cause)] = &[
    ("api_key_invalid", Cause::AuthRequired),
    ("unauthenticated", Cause::AuthRequired),
    ("api key not valid", Cause::AuthRequired),
    ("permission_denied", Cause::AuthRequired),
    ("daily quota", Cause::QuotaTerminal),
    ("exhausted your capacity", Cause::QuotaTerminal),
    ("resource_exhausted", Cause::QuotaRetryable),
    ("rate limit", Cause::QuotaRetryable),
    ("quota exceeded", Cause::QuotaRetryable),
    ("too many requests", Cause::QuotaRetryable),
    // The number alone may be the line of a stack trace.
    ("status 429", Cause::QuotaRetryable),
    ("code 429", Cause::QuotaRetryable),
    ("error 429", Cause::QuotaRetryable),
    ("http 429", Cause::QuotaRetryable),
    ("empty response", Cause::EmptyResponse),
    ("maximum session turns", Cause::MaxTurns),
];

/// The words with one space between them, where programs put colons and quotation marks: `"code": 429`.
fn without_punctuation(text: &str) -> String {
    let is_between = |c: char| c.is_whitespace() || matches!(c, ':' | '=' | '"' | '\'');
    let words = text.split(is_between).filter(|word| !word.is_empty());
    words.collect::<Vec<_>>().join(" ")
}

/// True if `phrase` stands in `text` as whole words: `auth` is not in `author`. Both in lower case.
fn has_words(text: &str, phrase: &str) -> bool {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    text.match_indices(phrase).any(|(at, found)| {
        let before = text[..at].chars().next_back();
        let after = text[at + found.len()..].chars().next();
        !before.is_some_and(is_word) && !after.is_some_and(is_word)
    })
}
