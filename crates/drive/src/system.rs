//! What systems do in different ways, under one name each. Processes, where they differ most, are in [`process`](crate::process).

#[cfg(unix)]
mod unix;
#[cfg(windows)]
mod windows;

#[cfg(unix)]
pub(crate) use unix::*;
#[cfg(windows)]
pub(crate) use windows::*;
