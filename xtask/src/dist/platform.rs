//! The platforms that releases are made for, and their names in the registries.

use std::path::Path;

use anyhow::{Context, Result};
use memchr::memmem;

/// A platform. Only Linux on `x86_64` is tested; the others have their names here so that a binary for them can be packed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ReleasePlatform {
    /// Rust's name, without the C library.
    machine: &'static str,
    /// npm's `os` and `cpu`, which are Node's `process.platform` and `process.arch`.
    pub(crate) npm: (&'static str, &'static str),
    /// The wheel's platform, where that does not depend on the C library.
    wheel: &'static str,
}

const PLATFORMS: [ReleasePlatform; 5] = [
    ReleasePlatform {
        machine: "x86_64-unknown-linux",
        npm: ("linux", "x64"),
        wheel: "x86_64",
    },
    ReleasePlatform {
        machine: "aarch64-unknown-linux",
        npm: ("linux", "arm64"),
        wheel: "aarch64",
    },
    ReleasePlatform {
        machine: "x86_64-apple-darwin",
        npm: ("darwin", "x64"),
        wheel: "macosx_11_0_x86_64",
    },
    ReleasePlatform {
        machine: "aarch64-apple-darwin",
        npm: ("darwin", "arm64"),
        wheel: "macosx_11_0_arm64",
    },
    ReleasePlatform {
        machine: "x86_64-pc-windows",
        npm: ("win32", "x64"),
        wheel: "win_amd64",
    },
];

/// The C library that a binary for Linux needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LinkedLibc {
    /// None: it is linked statically.
    Static,
    /// glibc, of this minor version of 2 at least.
    Glibc(u32),
}

/// No wheel tag is older: every `pip` knows `manylinux_2_17`, and Rust's own libraries need it.
const OLDEST_GLIBC: u32 = 17;

impl ReleasePlatform {
    /// The platform of a target of Rust.
    pub(crate) fn of_target(target: &str) -> Result<Self> {
        let found = PLATFORMS
            .into_iter()
            .find(|platform| target.starts_with(platform.machine));
        found.with_context(|| format!("no release is made for `{target}`"))
    }

    pub(crate) fn is_linux(self) -> bool {
        self.npm.0 == "linux"
    }

    /// The file name of the binary.
    pub(crate) fn program_name(self) -> &'static str {
        match self.npm.0 {
            "win32" => "lapidary.exe",
            _ => "lapidary",
        }
    }

    /// The name of the npm package with the binary.
    pub(crate) fn npm_package(self) -> String {
        let (os, cpu) = self.npm;
        format!("lapidary-{os}-{cpu}")
    }

    /// The platform tag of the wheel with this binary.
    pub(crate) fn wheel_tag(self, libc: LinkedLibc) -> String {
        let machine = self.wheel;
        match libc {
            _ if !self.is_linux() => machine.to_owned(),
            LinkedLibc::Glibc(minor) => {
                format!("manylinux_2_{}_{machine}", minor.max(OLDEST_GLIBC))
            }
            LinkedLibc::Static => {
                format!("manylinux_2_{OLDEST_GLIBC}_{machine}.musllinux_1_1_{machine}")
            }
        }
    }
}

impl LinkedLibc {
    /// Reads which versions of glibc's symbols a binary names. A static binary names none.
    pub(crate) fn of_binary(path: &Path) -> Result<Self> {
        let bytes =
            std::fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
        Ok(Self::of_bytes(&bytes))
    }

    fn of_bytes(bytes: &[u8]) -> Self {
        const MARK: &[u8] = b"GLIBC_2.";
        let minors = memmem::find_iter(bytes, MARK).filter_map(|start| {
            let digits: String = bytes[start + MARK.len()..]
                .iter()
                .take_while(|byte| byte.is_ascii_digit())
                .take(4)
                .map(|byte| char::from(*byte))
                .collect();
            digits.parse().ok()
        });
        minors.max().map_or(Self::Static, Self::Glibc)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wheel_is_tagged_with_the_glibc_that_its_binary_needs() {
        let linux = ReleasePlatform::of_target("x86_64-unknown-linux-gnu").unwrap();
        let tag = |bytes: &[u8]| linux.wheel_tag(LinkedLibc::of_bytes(bytes));
        assert_eq!(
            tag(b"\0GLIBC_2.4\0GLIBC_2.34\0GLIBC_2.2.5\0"),
            "manylinux_2_34_x86_64"
        );
        assert_eq!(tag(b"\0GLIBC_2.2.5\0"), "manylinux_2_17_x86_64");
        assert_eq!(
            tag(b"\0GLIBC_PRIVATE\0"),
            "manylinux_2_17_x86_64.musllinux_1_1_x86_64"
        );
    }

    #[test]
    fn a_platform_without_a_release_is_refused_by_name() {
        let error = ReleasePlatform::of_target("s390x-unknown-linux-gnu").unwrap_err();
        assert_eq!(
            error.to_string(),
            "no release is made for `s390x-unknown-linux-gnu`"
        );
    }
}
