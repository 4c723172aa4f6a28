//! The stand-in, asked by a bare client and by the real Gemini CLI.
#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot go on should stop where it stands"
)]

mod answers;
mod bounds;
mod client;
mod dialects;
mod gemini_cli;
mod run;
