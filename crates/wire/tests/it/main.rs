//! Other people's formats, read field for field.
#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot go on should stop where it stands"
)]

mod acp;
mod chunk;
mod detect;
mod hooks;
mod lines;
mod modules;
mod output;
mod session;
mod sse;
mod stream;
