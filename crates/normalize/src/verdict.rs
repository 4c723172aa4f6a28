//! How a run ended, judged by what it said *and* how its process went.
//!
//! The two can disagree: Gemini CLI exits with 0 after an empty response, after a loop, and when it was interrupted. Success
//! needs a clean exit and the agent's own word. The exit code is looked at first, words in messages last and as whole words.

mod manner;
mod words;

use std::time::Duration;

use lapidary_vocab::event::{Provider, RunEnd};
use lapidary_vocab::{Cause, Number, Text};

use self::manner::Manner;
use self::words::{told_by_name, told_by_phrases, told_by_stderr};
use crate::gemini::stream::shortened;

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
    manner: Manner,
    result: Option<Reported>,
    last_error: Option<Text>,
    /// A warning that takes back a success, and what it means.
    spoiler: Option<(Cause, Text)>,
    /// Nothing was said or done: headless, by its own count, no model was even asked.
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
    /// About a run over ACP with an agent of this family. There an agent's word is all that counts once it is given: how the process
    /// ends after that is up to whoever ends it.
    pub fn over_acp(family: &Provider) -> Self {
        let mut verdict = Self::default();
        verdict.is_of(family);
        verdict
    }

    /// The agent over ACP turns out to be of this family.
    pub(crate) fn is_of(&mut self, family: &Provider) {
        self.manner = Manner::Acp {
            is_gemini: *family == Provider::Gemini,
        };
    }

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

    /// Over ACP: whether anything was said or done since the prompt. Gemini CLI 0.61 ends a turn well in which the model, asked four
    /// times, gave no answer that could be used; headless it calls the same an error.
    pub fn answered(&mut self, answered: bool) {
        self.is_hollow = !answered;
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
            None => self.is_too_large(&cause).then(|| TOO_LARGE.to_owned()),
        };
        RunEnd {
            outcome: cause.outcome(),
            exit_code: cause.exit_code(),
            agent_exit_code: ending.exit_code,
            signal: ending.signal.clone(),
            duration_ms: ending
                .duration
                .map(|time| Number::from(u64::try_from(time.as_millis()).unwrap_or(u64::MAX))),
            message: failed.then(|| self.message(&cause, ending)),
            evidence: self.evidence(ending),
            hint: special.or_else(|| self.manner.hint(&cause, ending)),
            cause,
        }
    }

    fn cause(&self, ending: &Ending) -> Cause {
        if let Some(stopped) = &ending.stopped {
            return stopped.cause.clone();
        }
        if let Manner::Acp { is_gemini } = self.manner {
            return self.cause_over_acp(ending, is_gemini);
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

    fn cause_over_acp(&self, ending: &Ending, is_gemini: bool) -> Cause {
        match (&self.result, &ending.signal, ending.exit_code) {
            (Some(result), ..) if result.is_success() && self.is_hollow => Cause::EmptyResponse,
            (Some(result), ..) if result.is_success() => Cause::EndTurn,
            (Some(result), ..) => result
                .stop_reason()
                .or_else(|| self.cause_of_status(result))
                .or_else(|| self.told_by_words())
                .unwrap_or(Cause::ApiError),
            (None, None, None | Some(0)) => Cause::NoResult,
            (None, None, Some(code)) if is_gemini => {
                self.cause_of_exit(code).unwrap_or(Cause::AgentCrashed)
            }
            (None, ..) => Cause::AgentCrashed,
        }
    }

    /// Gemini puts the HTTP status of its API where the protocol has its own codes, which have names.
    fn cause_of_status(&self, result: &Reported) -> Option<Cause> {
        match result.code? {
            401 | 403 => Some(Cause::AuthRequired),
            429 => Some(self.told_by_words().unwrap_or(Cause::QuotaRetryable)),
            _ => None,
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
        if let Some(cause) = error_type.and_then(told_by_name) {
            return Some(cause);
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
        if self.is_too_large(cause) {
            return Text::from("the agent reported success, but asked no model and said nothing");
        }
        if self.is_hollow_success(cause) {
            return Text::from("the agent ended its turn well, but said nothing and did nothing");
        }
        let spoilt = self
            .spoiler
            .as_ref()
            .filter(|(spoiler, _)| spoiler == cause)
            .map(|(_, text)| text.clone());
        spoilt
            .or_else(|| self.reported_message())
            .or_else(|| self.complaint(cause, ending).map(Text::from))
            .unwrap_or_else(|| cause.described().to_owned().into())
    }

    /// What is to be said when the agent said nothing about it. Over ACP its last word counts, not how its process ended after that.
    fn complaint(&self, cause: &Cause, ending: &Ending) -> Option<String> {
        match (&self.result, self.manner) {
            (Some(result), Manner::Acp { .. }) => match result.status.as_str() {
                "" => Some("the agent ended its turn without a reason".to_owned()),
                _ if result.stop_reason().is_some() => None,
                status => Some(format!(
                    "the agent ended its turn with `{}`",
                    shortened(status)
                )),
            },
            _ => self.manner.complaint(cause, ending),
        }
    }

    /// Headless, that is what a success without a word means.
    fn is_too_large(&self, cause: &Cause) -> bool {
        self.manner == Manner::Headless && self.is_hollow_success(cause)
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

/// A run that was refused before it began can have no result.
fn was_started(ending: &Ending) -> bool {
    ending.stopped.is_none() || ending.exit_code.is_some() || ending.signal.is_some()
}
