//! How many of our MCP servers are below each other: each passes its depth to the programs that it starts.

use std::ffi::OsStr;

use lapidary_engine::detect::SearchEnvironment;

/// The variable with the number of Lapidary's servers above a program. A program that a server starts gets one more.
pub const DEPTH_VARIABLE: &str = "LAPIDARY_DEPTH";

/// How many servers may be below each other: an agent that was started through a server may start one more through its own.
pub const MAX_DEPTH: u32 = 2;

/// The number of servers above a program with this environment. A value that is no number counts as too deep.
pub(crate) fn depth_in(environment: &SearchEnvironment) -> u32 {
    let depth = environment.vars.get(OsStr::new(DEPTH_VARIABLE));
    depth.map_or(0, |depth| parsed_depth(depth))
}

/// The number in the value of the variable.
pub(crate) fn parsed_depth(value: &OsStr) -> u32 {
    let depth = value.to_str().and_then(|depth| depth.parse().ok());
    depth.unwrap_or(MAX_DEPTH)
}
