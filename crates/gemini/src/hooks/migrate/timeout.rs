//! How long a hook may take. Claude Code counts seconds, Gemini CLI milliseconds.
//!
//! Gemini CLI lets a call pass if its hook takes too long, so a guard keeps the time that it had: it is always written down.

use serde_json::Value;

/// Less than this looks like seconds, as `check` says: half a second becomes a whole one.
const LEAST: u64 = 1000;

/// A timeout of Claude Code in milliseconds, if Gemini CLI can count to it.
pub(super) fn timeout_milliseconds(seconds: &Value) -> Option<u64> {
    let milliseconds = (seconds.as_f64()? * 1000.0).round();
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "within the range that is checked"
    )]
    let kept = (1.0..=2_147_483_647.0)
        .contains(&milliseconds)
        .then_some((milliseconds as u64).max(LEAST));
    kept
}

/// The milliseconds that Claude Code gives to a hook which does not say. At the end of a session all share a budget, which
/// can be raised to a minute.
pub(super) fn default_milliseconds(event: &str) -> u64 {
    match event {
        "UserPromptSubmit" => 30_000,
        "SessionEnd" => 60_000,
        _ => 600_000,
    }
}
