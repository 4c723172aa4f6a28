//! The operations that the sessions of a provider support, and the answer to a user who asks for another.

use crate::listing::ListedSession;

/// The hint for sessions that no command deletes.
pub(crate) const NO_DELETE_HINT: &str =
    "`lapidary sessions show {id}` shows it; Lapidary deletes sessions of Gemini CLI only";

/// The operations that the sessions of a provider support. All of them can be listed, shown, searched, counted, and exported as a
/// transcript.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProviderCapabilities {
    /// A list gives them numbers, which select them.
    pub has_numbers: bool,
    /// `sessions resume` continues them.
    pub resume: SessionAbility,
    /// `sessions delete` and `sessions prune` remove them.
    pub delete: SessionAbility,
    /// They are records in Gemini CLI's format, which `sessions export --to json|session` writes.
    pub records: SessionAbility,
}

impl ProviderCapabilities {
    /// Sessions that their own agent resumes and Lapidary only reads. The hint names the way to delete one.
    pub(crate) fn read_only(reason: &'static str, delete_hint: &'static str) -> Self {
        Self {
            has_numbers: false,
            resume: SessionAbility::Supported,
            delete: SessionAbility::Unsupported {
                reason,
                hint: delete_hint,
            },
            records: SessionAbility::Unsupported {
                reason,
                hint: "use `--to markdown` or `--to html`; `lapidary sessions show {id} --format events` prints its records",
            },
        }
    }
}

/// Whether the sessions of a provider support an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SessionAbility {
    /// The operation works.
    Supported,
    /// The operation is refused.
    Unsupported {
        /// The kind of session that it is instead; a sentence whose subject is the session.
        reason: &'static str,
        /// The next step. `{id}` stands for the session's id, `{run}` for that of its newest recorded run.
        hint: &'static str,
    },
}

/// An operation that a provider does not support for one of its sessions.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("session `{id}` {reason}")]
pub struct UnsupportedOperation {
    /// The session's id.
    pub id: String,
    /// The kind of session that it is instead.
    pub reason: &'static str,
    /// The next step.
    pub hint: String,
}

impl SessionAbility {
    /// An error, if this cannot be done with the session.
    pub fn check(self, session: &ListedSession) -> Result<(), UnsupportedOperation> {
        let Self::Unsupported { reason, hint } = self else {
            return Ok(());
        };
        let row = session.row();
        let hint = hint.replace("{run}", row.run.unwrap_or_default());
        Err(UnsupportedOperation {
            id: row.id.to_owned(),
            reason,
            hint: hint.replace("{id}", row.id),
        })
    }
}
