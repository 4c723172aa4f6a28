//! The connection of ACP, with an agent in memory: the tests contain its output, byte by byte where that matters.

mod answers;
mod bounds;
mod chunks;
mod noise;
mod peer;
mod requests;
