//! Gemini CLI: its name, its installation command, and the version of each feature.

use crate::detect::AgentVersion;
pub use crate::detect::INSTALL_URL;

/// Its name, as `--agent` takes it.
pub const NAME: &str = "gemini";

/// How people get it.
pub(crate) const INSTALL: &str = "npm install -g @google/gemini-cli";

/// The oldest version that is known to speak ACP well.
pub(crate) const ACP: (u64, u64) = (0, 61);
/// The oldest version that is known to speak ACP at all. It takes half a minute to ask for a permission.
pub(crate) const OLD_ACP: (u64, u64) = (0, 24);
/// The version that brought `-o stream-json`.
pub(crate) const STREAM_JSON: (u64, u64) = (0, 11);
/// The version that brought `--resume`.
pub(crate) const RESUME: (u64, u64) = (0, 15);
/// The version that brought `--approval-mode plan`.
pub(crate) const PLAN: (u64, u64) = (0, 26);
/// The version by which it had begun to end headless runs in folders that are not trusted. Older ones trust, or say so themselves.
pub(crate) const TRUST: (u64, u64) = (0, 40);

/// The oldest version that is known to take a policy that outweighs every other (`--admin-policy`).
pub(crate) const OWN_POLICY: (u64, u64) = (0, 61);

/// True if this version speaks ACP well enough for `--transport auto` to use it where an option needs ACP.
pub fn speaks_acp(version: Option<&AgentVersion>) -> bool {
    version_has(version, ACP)
}

/// Whether a version has a feature of version `since`; an unknown version counts as current.
pub(crate) fn version_has(version: Option<&AgentVersion>, since: (u64, u64)) -> bool {
    version.is_none_or(|version| version.has(since))
}
