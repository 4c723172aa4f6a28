//! The connection of ACP, with an agent in memory: what it says is typed here, byte by byte where that matters.

mod answers;
mod bounds;
mod chunks;
mod noise;
mod peer;
mod requests;
