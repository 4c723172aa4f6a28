//! Recordings of runs, read back as events ([`Past`]) or run again without a process ([`ReplaySource`]).
//!
//! How a recording is played as a program is [`lapidary_recording::replay`].

mod past;
mod source;

pub use lapidary_recording::replay::{
    Dialogue, Pace, Parts, Replay, ReplayError, ReplayRate, Stage,
};
pub use past::{Past, PastAttempts, PastFormat, PastReading};
pub use source::ReplaySource;
