//! Programs that make another agent speak ACP. They come from npm, and Lapidary can install them below its own directory.

use std::path::{Path, PathBuf};

use crate::detect::{self, SearchEnvironment};

/// An adapter: a package of npm at the version that Lapidary is tested with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AcpAdapter {
    /// The package.
    pub package: &'static str,
    /// The exact version.
    pub version: &'static str,
    /// The program that the package has.
    pub program: &'static str,
    /// The product whose agent it speaks for.
    pub product: &'static str,
    /// The program of that product.
    pub product_program: &'static str,
}

/// For Claude Code. The version is that of `peers/package.json`, as a test checks.
pub(super) const CLAUDE: AcpAdapter = AcpAdapter {
    package: "@agentclientprotocol/claude-agent-acp",
    version: "0.99.1",
    program: "claude-agent-acp",
    product: "Claude Code",
    product_program: "claude",
};

impl AcpAdapter {
    /// The directory below `root` that this version is installed in.
    pub fn directory(&self, root: &Path) -> PathBuf {
        root.join(format!("{}-{}", self.program, self.version))
    }

    /// The directory of programs in an installation.
    pub fn programs(&self, root: &Path) -> PathBuf {
        self.directory(root).join("node_modules").join(".bin")
    }

    /// Where the product's own program is, if it is installed.
    pub fn product_at(&self, environment: &SearchEnvironment) -> Option<PathBuf> {
        detect::on_path(self.product_program, environment)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_adapter_is_the_one_that_the_tests_run_against() {
        let pins = include_str!("../../../../peers/package.json");
        let pins: serde_json::Value = serde_json::from_str(pins).unwrap();
        assert_eq!(pins["dependencies"][CLAUDE.package], CLAUDE.version);
    }
}
