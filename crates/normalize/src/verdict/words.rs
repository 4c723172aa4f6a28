//! Words that tell a cause where no code does: names of errors first, then what messages say.

use lapidary_vocab::Cause;

/// The cause by the name of an error: Gemini's own names, then the protocol's codes.
pub(super) fn cause_by_error_name(name: &str) -> Option<Cause> {
    let told = NAMES.iter().find(|(known, _)| *known == name);
    told.map(|(_, cause)| cause.clone())
}

const NAMES: &[(&str, Cause)] = &[
    ("FatalAuthenticationError", Cause::AuthRequired),
    ("FatalInputError", Cause::BadInput),
    ("FatalSandboxError", Cause::Sandbox),
    ("FatalConfigError", Cause::BadConfig),
    ("FatalTurnLimitedError", Cause::MaxTurns),
    ("FatalToolExecutionError", Cause::ToolFatal),
    ("FatalUntrustedWorkspaceError", Cause::UntrustedFolder),
    ("FatalCancellationError", Cause::CancelledByClient),
    ("TIMEOUT", Cause::TimeoutTotal),
    ("ERROR_NO_COMPLETE_TASK_CALL", Cause::NoResult),
    ("quota_retryable", Cause::QuotaRetryable),
    ("quota_terminal", Cause::QuotaTerminal),
    ("empty_response", Cause::EmptyResponse),
    ("auth_required", Cause::AuthRequired),
    ("bad_config", Cause::BadConfig),
    ("protocol_error", Cause::ProtocolError),
    ("refusal", Cause::Refusal),
    ("timeout_start", Cause::TimeoutStart),
    ("parse_error", Cause::ProtocolError),
    ("invalid_request", Cause::ProtocolError),
    ("method_not_found", Cause::ProtocolError),
    ("invalid_params", Cause::BadInput),
    ("resource_not_found", Cause::BadInput),
    ("request_cancelled", Cause::CancelledByClient),
];

/// Names that count only where no words decide.
pub(super) fn cause_by_weak_name(name: &str) -> Option<Cause> {
    match name {
        "INVALID_STREAM" => Some(Cause::EmptyResponse),
        INITIALIZE_REFUSED => Some(Cause::ProtocolError),
        _ => None,
    }
}

/// Our name for an error that answers `initialize` and has no name of its own. No model was asked yet.
pub(crate) const INITIALIZE_REFUSED: &str = "initialize_refused";

/// What stderr tells of a process that died without a word of its own.
pub(super) fn cause_by_stderr(stderr: &str) -> Option<Cause> {
    let words = stderr.to_lowercase();
    let named = fatal_error(stderr).map(|error| error.cause);
    named
        .or_else(|| cause_by_phrases(&words))
        .or_else(|| speaks_of_sign_in(&words).then_some(Cause::AuthRequired))
}

/// The cause by the words of a message. `words` are in lower case.
pub(super) fn cause_by_phrases(words: &str) -> Option<Cause> {
    let plain = plain_words(words);
    let told = PHRASES.iter().find(|(phrase, _)| has_words(&plain, phrase));
    told.map(|(_, cause)| cause.clone())
        .or_else(|| says_sign_in(words).then_some(Cause::AuthRequired))
}

/// An error that Gemini CLI names on stderr as it gives up, such as `FatalSandboxError: Sandbox image '…' is missing`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct FatalError<'a> {
    /// Its cause.
    pub(super) cause: Cause,
    /// Its sentence, which ends with the line.
    pub(super) sentence: &'a str,
}

/// The first of its own fatal errors that Gemini CLI names on stderr. Other names may be those of a stack trace.
pub(super) fn fatal_error(stderr: &str) -> Option<FatalError<'_>> {
    stderr.lines().find_map(|line| {
        let (name, sentence) = line.split_once(": ")?;
        let name = name.rsplit(char::is_whitespace).next()?;
        let cause = cause_by_error_name(name).filter(|_| name.starts_with("Fatal"))?;
        let sentence = sentence.trim();
        Some(FatalError { cause, sentence })
    })
}

/// Words of which one is enough in a message: nothing else is meant by them.
const SIGN_IN: &[&str] = &[
    "authenticate",
    "authenticated",
    "authenticating",
    "authentication",
    "unauthenticated",
    "reauthenticate",
    "reauthentication",
    "unauthorized",
    "unauthorised",
    "oauth",
    "oauth2",
    "invalid_grant",
];

/// Words that mean a sign-in only where a process dies with them.
const LAST_WORDS: &[&str] = &["auth", "login", "relogin"];

fn says_sign_in(words: &str) -> bool {
    single_words(words).any(|word| SIGN_IN.contains(&word))
}

/// `auth_error` and `re-login` are about a sign-in, `author` and a path such as `/src/auth/login.js` are not.
fn speaks_of_sign_in(words: &str) -> bool {
    let parts = single_words(words).flat_map(|word| word.split(['_', '-']));
    says_sign_in(words) || parts.into_iter().any(|part| LAST_WORDS.contains(&part))
}

/// The words of a text without punctuation around them. Paths and addresses are no words.
fn single_words(text: &str) -> impl Iterator<Item = &str> {
    let is_path = |word: &&str| word.contains(['/', '\\']);
    let words = text.split_whitespace().filter(move |word| !is_path(word));
    words.flat_map(|word| word.split(|c: char| !c.is_alphanumeric() && !matches!(c, '_' | '-')))
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
    // In the words of Gemini CLI 0.61, headless: SAFETY, RECITATION, OTHER. Over ACP it does not tell.
    ("blocked due to safety settings", Cause::Refusal),
    ("blocked due to recitation", Cause::Refusal),
    ("blocked due to other policy settings", Cause::Refusal),
    ("empty response", Cause::EmptyResponse),
    ("empty text response", Cause::EmptyResponse),
    // Ours, by Gemini's session log. The log does not say whether the answer was empty, blocked or malformed.
    ("no usable answer", Cause::EmptyResponse),
    ("no final response text", Cause::EmptyResponse),
    (
        "truncated because it exceeded the token limit",
        Cause::MaxTokens,
    ),
    ("maximum session turns", Cause::MaxTurns),
];

/// The words with one space between them, where programs put colons and quotation marks: `"code": 429`.
pub(super) fn plain_words(text: &str) -> String {
    let is_between = |c: char| c.is_whitespace() || matches!(c, ':' | '=' | '"' | '\'');
    let words = text.split(is_between).filter(|word| !word.is_empty());
    words.collect::<Vec<_>>().join(" ")
}

/// True if `phrase` stands in `text` as whole words, with any punctuation between them. Both in lower case.
pub(super) fn has_words_in(text: &str, phrase: &str) -> bool {
    has_words(&plain_words(text), phrase)
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
