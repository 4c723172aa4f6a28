//! `lapidary run` with scripted agents: real processes, real deadlines.

mod bad_input;
mod bounds;
mod faults;
mod leftovers;
mod lossless;
mod outcome;
mod trust;
pub(crate) mod world;
