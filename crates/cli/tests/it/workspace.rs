//! Terminals for an agent: real processes under the real supervisor.

mod bench;
mod commands;
mod endings;
mod flood;
mod leftovers;
