//! What systems do in different ways, under one name each. Processes, where they differ most, are in the other modules of this crate.

#[cfg(unix)]
mod unix;
#[cfg(windows)]
mod windows;

#[cfg(unix)]
pub use unix::*;
#[cfg(windows)]
pub use windows::*;
