//! The tools of our own agents, beside those of Gemini CLI and on files that mean harm.
#![cfg(unix)] // what is only checked elsewhere is not tested there
#![expect(
    clippy::disallowed_methods,
    reason = "tests start programs, and read the environment and the clock"
)]
#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot go on should stop where it stands"
)]

mod crowd;
mod hostile;
mod modules;
mod oracle;
mod support;
