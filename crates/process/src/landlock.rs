//! Landlock: a process gives up rights, for itself and for everything that it starts from then on. No privilege is needed for it, and
//! none brings the rights back.

#[cfg(target_os = "linux")]
mod linux;

#[cfg(target_os = "linux")]
pub(super) use linux::{abi_of_kernel, restrict};

#[cfg(not(target_os = "linux"))]
use super::LandlockAbi;

/// Other systems have none.
#[cfg(not(target_os = "linux"))]
pub(super) fn abi_of_kernel() -> LandlockAbi {
    LandlockAbi::NONE
}

/// Other systems have none.
#[cfg(all(unix, not(target_os = "linux")))]
pub(super) fn restrict(
    _: &super::Confinement,
    _: LandlockAbi,
    _: &super::Stdio,
) -> std::io::Result<()> {
    Err(std::io::ErrorKind::Unsupported.into())
}
