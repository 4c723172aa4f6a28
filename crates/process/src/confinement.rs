//! The files and ports that the kernel lets a process tree write and connect to.
//!
//! Only Linux has this, by Landlock. Its interface has grown over the years, so how much of a confinement holds depends on the
//! [version](LandlockAbi) that the kernel has.

use std::fmt;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// The limits on a program and on every process that it starts.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Confinement {
    /// The files that can be written, and the directories in which everything can. One that does not exist grants nothing.
    pub write: Vec<PathBuf>,
    /// The TCP ports that can be connected to. None for all of them.
    pub connect: Option<Vec<u16>>,
}

/// A version of Landlock's interface. Versions in which nothing changed for us count as the one before.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct LandlockAbi(u8);

impl LandlockAbi {
    /// No Landlock: it is not built into the kernel, not enabled, or this is not Linux.
    pub const NONE: Self = Self(0);
    /// The first one: creating, writing and removing. Renaming to another directory always fails.
    pub const FILES: Self = Self(1);
    /// Renaming and linking between directories.
    pub const RENAMES: Self = Self(2);
    /// Truncating files by their name.
    pub const TRUNCATION: Self = Self(3);
    /// TCP ports.
    pub const TCP: Self = Self(4);
    /// Signals and abstract Unix sockets. Nothing newer is used.
    pub const SCOPES: Self = Self(6);

    /// The version of this kernel. No process is restricted to find out.
    pub fn of_kernel() -> Self {
        super::landlock::abi_of_kernel()
    }

    /// Its number. 0 is none.
    pub fn version(self) -> u8 {
        self.0
    }

    /// The parts of a confinement that this version does not enforce, in words, with or without a limit for TCP. Empty if it
    /// enforces all of them.
    pub fn missing(self, with_ports: bool) -> Vec<&'static str> {
        let lacks = [
            (self < Self::FILES, "files can be written everywhere"),
            (
                self >= Self::FILES && self < Self::TRUNCATION,
                "files can be truncated everywhere",
            ),
            (
                self < Self::TCP && with_ports,
                "TCP connections are not limited",
            ),
        ];
        let lacks = lacks.into_iter().filter(|(is_missing, _)| *is_missing);
        lacks.map(|(_, what)| what).collect()
    }
}

impl fmt::Display for LandlockAbi {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            0 => f.write_str("no Landlock"),
            version => write!(f, "Landlock ABI {version}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_limits_of_an_old_kernel_are_named() {
        let check = |abi: LandlockAbi, files: usize, with_ports: usize| {
            let found = (abi.missing(false).len(), abi.missing(true).len());
            assert_eq!(found, (files, with_ports), "{abi}");
        };
        check(LandlockAbi::NONE, 1, 2);
        check(LandlockAbi::RENAMES, 1, 2);
        check(LandlockAbi::TRUNCATION, 0, 1);
        check(LandlockAbi::SCOPES, 0, 0);
    }
}
