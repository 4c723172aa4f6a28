//! `lapidary run` with scripted agents: real processes, real deadlines.

pub(crate) mod asking;
mod bad_input;
mod bounds;
mod config;
mod faults;
mod flags;
mod lease;
mod leftovers;
mod library;
mod lossless;
mod on_a_terminal;
mod outcome;
mod output_schema;
mod prompt;
mod readers;
mod trust;
mod unrecorded;
mod violations;
pub(crate) mod world;
