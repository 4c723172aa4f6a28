//! Hints about a folder that is not trusted.

use lapidary_gemini::trust::TrustReason;

/// How to have it trusted, for once and for good.
pub(crate) fn trust_hint(reason: &TrustReason) -> String {
    let for_good = match reason {
        TrustReason::Variable(name, _) => format!("unset {name}"),
        TrustReason::Rule(_) => "change its entry in trustedFolders.json".to_owned(),
        TrustReason::SwitchedOff | TrustReason::NoRule => {
            "run `gemini` there once and trust the folder".to_owned()
        }
    };
    format!("pass `--trust-workspace` for this run only; for good, {for_good}")
}
