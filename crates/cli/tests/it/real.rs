//! `lapidary run` and the library with the real Gemini CLI, on a scripted model: the agent here is no script of ours.
//!
//! A start of the CLI costs seconds of CPU, so each run checks several properties at once.

mod acp;
mod answers;
mod asking;
mod carry_on;
mod denied;
mod exported;
mod failures;
mod fleet;
mod hooks;
mod leftovers;
mod library;
mod lossless;
mod parity;
mod quiet;
mod sessions;
mod soak;
mod tools;
mod vault;
mod world;
