//! Words that tell a cause where no code does: names of errors first, then what messages say.

use lapidary_vocab::Cause;

/// What the name of an error tells: Gemini's own, then those of the protocol's codes.
pub(super) fn told_by_name(name: &str) -> Option<Cause> {
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
    ("INVALID_STREAM", Cause::EmptyResponse),
    ("auth_required", Cause::AuthRequired),
    ("parse_error", Cause::ProtocolError),
    ("invalid_request", Cause::ProtocolError),
    ("method_not_found", Cause::ProtocolError),
    ("invalid_params", Cause::BadInput),
    ("resource_not_found", Cause::BadInput),
    ("request_cancelled", Cause::CancelledByClient),
];

/// What stderr tells of a process that died without a word of its own.
pub(super) fn told_by_stderr(stderr: &str) -> Option<Cause> {
    let words = stderr.to_lowercase();
    let names_auth = words.split_whitespace().any(|word| {
        let word = word.trim_matches(|c: char| c.is_ascii_punctuation());
        matches!(word, "auth" | "login" | "authentication" | "unauthorized")
    });
    told_by_phrases(&words).or_else(|| names_auth.then_some(Cause::AuthRequired))
}

pub(super) fn told_by_phrases(words: &str) -> Option<Cause> {
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
