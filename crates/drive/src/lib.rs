//! Running agents: start one, follow what it writes, end it with everything it started, and say how it went.

pub mod agents;
pub mod config;
pub mod detect;
pub mod doctor;
mod follow;
pub mod headless;
pub mod process;
pub mod recording;
pub mod run;
