//! The outcome of a run, judged by the agent's report *and* the end of its process.
//!
//! The two can disagree: Gemini CLI exits with 0 after an empty response, after a loop, and when it was interrupted. Success
//! needs a clean exit and the agent's own word. The exit code is looked at first, words in messages last and as whole words.

mod activity;
mod agent_kind;
mod hints;
mod process_end;
mod stall;
mod words;

use lapidary_vocab::agents::AgentTerminateMode;
use lapidary_vocab::event::{Provider, RunEnd};
use lapidary_vocab::{Cause, Number, Text};

use self::activity::TurnActivity;
use self::agent_kind::AgentKind;
use self::hints::of_api_error;
use self::words::{cause_by_error_name, cause_by_phrases, cause_by_stderr, cause_by_weak_name};
use crate::excerpt::shortened_name;

pub(crate) use self::activity::AgentActivity;
pub use self::hints::{AgentSetup, TurnLimit};
pub use self::process_end::{AgentReport, ExitInitiator, ProcessEnd, StopCause};
pub use self::stall::{AgentStall, StderrOrder};
pub(crate) use self::words::INITIALIZE_REFUSED;

/// How many violations are named in the evidence. `violations` lists all of them.
const MOST_VIOLATIONS: usize = 5;

/// Collects an agent's reports about its run, and judges.
#[derive(Debug, Clone, Default)]
pub struct OutcomeJudge {
    manner: AgentKind,
    result: Option<AgentReport>,
    /// A report before the last one was an error.
    has_failed_turn: bool,
    last_error: Option<Text>,
    /// A warning that takes back a success, and its cause.
    spoiler: Option<(Cause, Text)>,
    /// Headless: by its own count, no model was asked.
    is_hollow: bool,
    /// Over ACP: the activity since the prompt. `None` where the prompt was not seen.
    activity: Option<TurnActivity>,
    /// Over ACP: how far the agent has shown that it speaks the protocol.
    greeting: AcpGreeting,
    /// The client has asked the agent to cancel.
    is_cancelled: bool,
}

/// Whether a program has shown that it speaks ACP.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
enum AcpGreeting {
    /// It has said nothing yet.
    #[default]
    Silent,
    /// It has answered `initialize`, or the connection was not seen from its start.
    Done,
    /// It has printed this instead.
    Noise(String),
    /// It sends our own lines back.
    Echo,
}

impl OutcomeJudge {
    /// About a run over ACP with an agent of this family. There the end of the process counts only until the caller hangs up: an exit
    /// code after that is the agent's answer to the hang-up.
    pub fn over_acp(family: &Provider) -> Self {
        let mut verdict = Self::default();
        verdict.set_family(family);
        verdict
    }

    /// About a headless run of an agent with a stream of its own. Its exit codes have no meaning beyond success and failure.
    pub(crate) fn of_stream() -> Self {
        Self {
            manner: AgentKind::Stream,
            ..Self::default()
        }
    }

    /// The agent over ACP turns out to be of this family.
    pub(crate) fn set_family(&mut self, family: &Provider) {
        self.manner = AgentKind::Acp {
            is_gemini: *family == Provider::Gemini,
        };
    }

    /// The agent reported how it went. Each report ends a turn, and the last one counts.
    pub fn result(&mut self, mut reported: AgentReport) {
        self.has_failed_turn |= self.result.as_ref().is_some_and(|it| !it.is_success());
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

    /// Over ACP: the agent was given a prompt. Its activity counts from now on.
    pub(crate) fn note_prompt(&mut self) {
        self.activity = Some(TurnActivity::default());
        self.greeting = AcpGreeting::Done;
    }

    /// Over ACP: the agent was active.
    pub(crate) fn note_activity(&mut self, activity: AgentActivity) {
        if let Some(turn) = &mut self.activity {
            turn.note_activity(activity);
        }
    }

    /// Over ACP: the agent has answered `initialize`.
    pub(crate) fn note_handshake(&mut self) {
        self.greeting = AcpGreeting::Done;
    }

    /// Over ACP: the agent printed a line that is no message. The first line is kept if the agent has not answered yet.
    pub(crate) fn note_printed_line(&mut self, line: &str) {
        if self.greeting == AcpGreeting::Silent {
            self.greeting = AcpGreeting::Noise(shortened_name(line.trim()).into_owned());
        }
    }

    /// Over ACP: the agent asked us to initialise, which is our own request coming back.
    pub(crate) fn note_echo(&mut self) {
        if self.greeting != AcpGreeting::Done {
            self.greeting = AcpGreeting::Echo;
        }
    }

    /// The client has asked the agent to cancel its turn.
    pub(crate) fn note_cancellation(&mut self) {
        self.is_cancelled = true;
    }

    /// True once the agent has reported how it went.
    pub fn has_result(&self) -> bool {
        self.result.is_some()
    }

    /// Judges.
    pub fn judge(&self, ending: &ProcessEnd) -> RunEnd {
        let cause = self.end_cause(ending);
        let failed = cause != Cause::EndTurn;
        RunEnd {
            outcome: cause.outcome(),
            exit_code: cause.exit_code(),
            agent_exit_code: ending.exit_code,
            signal: ending.signal.clone(),
            duration_ms: ending
                .duration
                .map(|time| Number::from(u64::try_from(time.as_millis()).unwrap_or(u64::MAX))),
            message: failed.then(|| self.end_message(&cause, ending)),
            evidence: self.evidence_lines(ending),
            hint: self.user_hint(&cause, ending),
            warnings: self.success_warnings(&cause, ending),
            violations: ending.violations.clone(),
            answer: ending.answer.clone().map(Box::new),
            cause,
        }
    }

    fn user_hint(&self, cause: &Cause, ending: &ProcessEnd) -> Option<String> {
        if let Some(trouble) = ending.stall_reason() {
            return trouble.hint.map(str::to_owned);
        }
        if let Some(stopped) = &ending.stopped
            && stopped.hint.is_some()
        {
            return stopped.hint.clone();
        }
        let special = match cause {
            _ if ending.stopped.is_some() => None,
            _ if self.is_too_large(cause) => Some(TOO_LARGE),
            _ if !self.speaks_acp() => Some(NO_ACP),
            Cause::NoResult if self.has_said_nothing() => Some(NO_ACP),
            Cause::NoResult if self.lacks_completion() => Some(NO_COMPLETION),
            Cause::ApiError => self.hint_of_api(),
            _ => None,
        };
        let reported = self.result.as_ref().and_then(|result| result.hint.clone());
        let reported = reported.filter(|_| ending.stopped.is_none() && *cause != Cause::EndTurn);
        let special = reported.or_else(|| special.map(str::to_owned));
        special.or_else(|| self.manner.user_hint(cause, ending))
    }

    fn hint_of_api(&self) -> Option<&'static str> {
        let status = self.result.as_ref().and_then(|result| result.code);
        let message = self.reported_message();
        of_api_error(status, message.as_ref().map(Text::to_str).as_deref()?)
    }

    /// Warnings that a successful run should not hide.
    fn success_warnings(&self, cause: &Cause, ending: &ProcessEnd) -> Vec<String> {
        let ends_in_call = self.activity.is_some_and(TurnActivity::ends_in_call);
        let is_cut = *cause == Cause::EndTurn && ends_in_call;
        let own = is_cut.then(|| ENDS_IN_CALL.to_owned());
        // Over ACP, each prompt has its own answer.
        let is_acp = matches!(self.manner, AgentKind::Acp { .. });
        let is_late = *cause == Cause::EndTurn && self.has_failed_turn && !is_acp;
        let own = own
            .into_iter()
            .chain(is_late.then(|| FAILED_TURN.to_owned()));
        let own = own.chain(ending.violation_warning());
        own.chain(ending.warnings.clone()).collect()
    }

    /// True for an agent of our own whose model never handed over a result.
    fn lacks_completion(&self) -> bool {
        let error = self.result.as_ref().and_then(|it| it.error_type.as_deref());
        error == Some(AgentTerminateMode::ErrorNoCompleteTaskCall.as_str())
    }

    /// True for a program over ACP that did not even answer `initialize`.
    fn has_said_nothing(&self) -> bool {
        matches!(self.manner, AgentKind::Acp { .. }) && self.greeting == AcpGreeting::Silent
    }

    /// False for a program over ACP that wrote lines, but none of the protocol.
    fn speaks_acp(&self) -> bool {
        let is_acp = matches!(self.manner, AgentKind::Acp { .. });
        !is_acp || !matches!(self.greeting, AcpGreeting::Noise(_) | AcpGreeting::Echo)
    }

    fn end_cause(&self, ending: &ProcessEnd) -> Cause {
        if let Some(stopped) = &ending.stopped {
            let trouble = ending.stall_reason().map(|trouble| trouble.cause);
            return trouble.unwrap_or_else(|| stopped.cause.clone());
        }
        if let AgentKind::Acp { is_gemini } = self.manner {
            return self.cause_over_acp(ending, is_gemini);
        }
        if ending.signal.is_some() {
            return Cause::AgentCrashed;
        }
        if self.manner == AgentKind::Stream {
            return self.cause_of_stream(ending);
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
                .or_else(|| self.cause_by_words())
                .unwrap_or(Cause::ApiError),
            None if clean => Cause::NoResult,
            None => cause_by_stderr(&ending.stderr).unwrap_or(Cause::AgentCrashed),
        }
    }

    /// Success needs a clean exit and the agent's own word.
    fn cause_of_stream(&self, ending: &ProcessEnd) -> Cause {
        let clean = matches!(ending.exit_code, None | Some(0));
        match &self.result {
            Some(result) if result.is_success() && !clean => Cause::AgentCrashed,
            Some(result) if result.is_success() && self.is_hollow => Cause::EmptyResponse,
            Some(result) if result.is_success() => Cause::EndTurn,
            Some(result) => {
                let told = result.cause.clone().or_else(|| result.stop_reason());
                told.or_else(|| self.cause_by_words())
                    .unwrap_or(Cause::ApiError)
            }
            None if clean => Cause::NoResult,
            None if ending.exit_code == Some(127) => Cause::AgentMissing,
            None => cause_by_stderr(&ending.stderr).unwrap_or(Cause::AgentCrashed),
        }
    }

    fn cause_over_acp(&self, ending: &ProcessEnd, is_gemini: bool) -> Cause {
        if self.greeting == AcpGreeting::Echo {
            return Cause::ProtocolError;
        }
        match (&self.result, &ending.signal, ending.exit_code) {
            (Some(result), ..) if result.is_success() => self.cause_of_success(ending),
            (Some(result), ..)
                if is_gemini && result.is_loop_of_gemini(ending.setup.turn_limit) =>
            {
                Cause::LoopDetected
            }
            (Some(result), ..) => result
                .stop_reason()
                .or_else(|| self.cause_of_status(result))
                .or_else(|| self.cause_by_words())
                .unwrap_or(Cause::ApiError),
            (None, None, None | Some(0)) if !self.speaks_acp() => Cause::ProtocolError,
            (None, None, None | Some(0)) => Cause::NoResult,
            (None, None, Some(code)) => {
                let told = is_gemini.then(|| self.cause_of_exit(code)).flatten();
                told.or_else(|| cause_by_stderr(&ending.stderr))
                    .unwrap_or(Cause::AgentCrashed)
            }
            (None, Some(_), _) => Cause::AgentCrashed,
        }
    }

    /// Over ACP, the agent says that its turn ended well.
    fn cause_of_success(&self, ending: &ProcessEnd) -> Cause {
        if ending.is_crash() {
            Cause::AgentCrashed
        } else if self.has_no_answer() {
            Cause::EmptyResponse
        } else {
            Cause::EndTurn
        }
    }

    fn has_no_answer(&self) -> bool {
        self.activity.is_some_and(TurnActivity::is_empty)
    }

    /// Gemini puts the HTTP status of its API where the protocol has its own codes, which have names.
    fn cause_of_status(&self, result: &AgentReport) -> Option<Cause> {
        match result.code? {
            401 | 403 => Some(Cause::AuthRequired),
            429 => Some(self.cause_by_words().unwrap_or(Cause::QuotaRetryable)),
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
            144 => self.cause_by_words().unwrap_or(Cause::ApiError),
            173 => self.cause_by_words().unwrap_or(Cause::QuotaRetryable),
            _ => return None,
        })
    }

    /// The cause by the error's name or its words.
    fn cause_by_words(&self) -> Option<Cause> {
        let error_type = self
            .result
            .as_ref()
            .and_then(|result| result.error_type.as_deref());
        if let Some(cause) = error_type.and_then(cause_by_error_name) {
            return Some(cause);
        }
        let words = self.reported_message();
        let words = words.map(|words| words.to_str().to_lowercase());
        words
            .and_then(|words| cause_by_phrases(&words))
            .or_else(|| error_type.and_then(cause_by_weak_name))
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

    /// The caller's message, else the agent's own words, else its complaint, else the cause in words.
    fn end_message(&self, cause: &Cause, ending: &ProcessEnd) -> Text {
        if let Some(stopped) = &ending.stopped {
            let message = &stopped.message;
            return match ending.stall_reason() {
                Some(trouble) => format!("{message}: {}", trouble.message).into(),
                None => message.clone().into(),
            };
        }
        if let Some(words) = self.cause_description(cause, ending) {
            return Text::from(words);
        }
        let spoilt = self
            .spoiler
            .as_ref()
            .filter(|(spoiler, _)| spoiler == cause)
            .map(|(_, text)| text.clone());
        spoilt
            .or_else(|| self.reported_message())
            .or_else(|| self.complaint_message(cause, ending).map(Text::from))
            .unwrap_or_else(|| cause.described().to_owned().into())
    }

    /// The cause in words that are more exact than its own, where the agent has none or wrong ones.
    fn cause_description(&self, cause: &Cause, ending: &ProcessEnd) -> Option<String> {
        let words = match cause {
            Cause::MaxTokens if self.is_unasked() => {
                "the prompt, with all that belongs to it, is larger than the model can take: no model was asked"
            }
            _ if self.is_too_large(cause) => {
                "the agent reported success, but asked no model and said nothing"
            }
            Cause::EmptyResponse if self.is_hollow_success(cause) => self.missing_part(),
            Cause::ProtocolError => match &self.greeting {
                AcpGreeting::Noise(line) => {
                    return Some(format!("the agent does not speak ACP: it printed `{line}`"));
                }
                AcpGreeting::Echo => "the agent does not speak ACP: it sends our own lines back",
                AcpGreeting::Silent | AcpGreeting::Done => return None,
            },
            Cause::CancelledByClient if self.has_cancelled_itself() => {
                "the agent ended its turn as cancelled, without a request to cancel"
            }
            Cause::AgentCrashed if self.has_succeeded() && ending.is_crash() => {
                return Some(format!(
                    "{} after it had ended its turn",
                    ending.end_description()?
                ));
            }
            _ => return None,
        };
        Some(words.to_owned())
    }

    /// The missing part of an empty response.
    fn missing_part(&self) -> &'static str {
        match self.activity {
            Some(activity) if activity.has_only_thoughts() => {
                "the agent ended its turn well, but only thought and gave no answer"
            }
            _ => "the agent ended its turn well, but said nothing and did nothing",
        }
    }

    /// Over ACP the client's wish to cancel is seen.
    fn has_cancelled_itself(&self) -> bool {
        let is_acp = matches!(self.manner, AgentKind::Acp { .. });
        is_acp && self.result.is_some() && !self.is_cancelled
    }

    fn is_unasked(&self) -> bool {
        self.result.as_ref().is_some_and(|result| result.is_unasked)
    }

    fn has_succeeded(&self) -> bool {
        self.result.as_ref().is_some_and(AgentReport::is_success)
    }

    /// The message when the agent gave none. Over ACP its last report counts, not how its process ended after that.
    fn complaint_message(&self, cause: &Cause, ending: &ProcessEnd) -> Option<String> {
        match (&self.result, self.manner) {
            (Some(result), AgentKind::Acp { .. }) => match result.status.as_str() {
                "" => Some("the agent ended its turn without a reason".to_owned()),
                _ if result.stop_reason().is_some() => None,
                status => Some(format!(
                    "the agent ended its turn with `{}`",
                    shortened_name(status)
                )),
            },
            _ => self.manner.complaint_message(cause, ending),
        }
    }

    /// Headless, a success without any output means that. Over ACP the agent says `max_tokens` where it asked no model.
    fn is_too_large(&self, cause: &Cause) -> bool {
        let is_headless = self.manner == AgentKind::Headless && self.is_hollow_success(cause);
        is_headless || (*cause == Cause::MaxTokens && self.is_unasked())
    }

    fn is_hollow_success(&self, cause: &Cause) -> bool {
        let is_hollow = self.is_hollow || self.has_no_answer();
        self.has_succeeded() && is_hollow && *cause == Cause::EmptyResponse
    }

    fn evidence_lines(&self, ending: &ProcessEnd) -> Vec<String> {
        let mut evidence = Vec::new();
        if let Some(code) = ending.exit_code {
            evidence.push(format!("the agent exited with code {code}"));
        }
        if let Some(signal) = &ending.signal {
            evidence.push(format!("the agent was ended by {signal}"));
        }
        match &self.result {
            Some(AgentReport {
                status,
                error_type: Some(name),
                ..
            }) => evidence.push(format!("its result says `{status}`: {name}")),
            Some(AgentReport { status, .. }) if status.is_empty() => {
                evidence.push("its result does not say how it went".to_owned());
            }
            Some(AgentReport { status, .. }) => {
                evidence.push(format!("its result says `{status}`"));
            }
            None if ending.was_started() => evidence.push("it gave no result".to_owned()),
            None => {}
        }
        if let Some((_, text)) = &self.spoiler {
            evidence.push(format!("it warned: {text}"));
        } else if let Some(text) = &self.last_error {
            evidence.push(format!("it reported: {text}"));
        }
        if let AcpGreeting::Noise(line) = &self.greeting
            && ending.stopped.is_some()
        {
            evidence.push(format!("it printed `{line}`, which is not ACP"));
        }
        if let (Some(stopped), Some(trouble)) = (&ending.stopped, ending.stall_reason()) {
            evidence.push(format!("it was ended by a timeout ({})", stopped.cause));
            evidence.push(format!("its stderr says: {}", trouble.line));
        }
        let violations = ending.violations.iter().take(MOST_VIOLATIONS);
        evidence.extend(violations.map(|violation| violation.message.to_string()));
        evidence.extend(ending.remarks.iter().cloned());
        evidence
    }
}

const TOO_LARGE: &str =
    "is the prompt, with all that belongs to it, larger than the model can take?";

const NO_COMPLETION: &str = "the model never called `complete_task`: say in the prompt what the result is, or use another model (--model)";

const NO_ACP: &str = "does it speak ACP? Its command may lack an argument, such as `--acp`";

const FAILED_TURN: &str = "an earlier turn of the agent's stream ended with an error";

const ENDS_IN_CALL: &str =
    "the turn ended with a tool call: the agent said nothing after it, and may have broken off";
