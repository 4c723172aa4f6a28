//! `lapidary run` with scripted agents: real processes, real deadlines.

mod bad_input;
mod bounds;
mod config;
mod faults;
mod leftovers;
mod library;
mod lossless;
mod on_a_terminal;
mod outcome;
mod prompt;
mod trust;
mod unrecorded;
pub(crate) mod world;
