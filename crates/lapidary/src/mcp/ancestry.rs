//! The Lapidary servers above a program: each passes its depth and its bounds to the programs that it starts.
//!
//! Some agents start MCP servers with few variables, and an agent could remove or change one. So the variables that the processes
//! above were started with count, too, where the system shows them.

use std::ffi::{OsStr, OsString};

use lapidary_engine::detect::SearchEnvironment;
use lapidary_engine::process::ancestor_values;

use crate::prepare::{BOUNDS_VARIABLE, RunBounds};
use crate::server_depth::{DEPTH_VARIABLE, MAX_DEPTH, parsed_depth};

/// The servers above a program.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ServerAncestry {
    /// How many there are.
    pub depth: u32,
    /// The bounds of their runs, the nearest first.
    pub bounds: Vec<RunBounds>,
}

impl ServerAncestry {
    /// The servers that an environment shows.
    pub fn from_environment(environment: &SearchEnvironment) -> Self {
        let value = |name: &str| environment.vars.get(OsStr::new(name)).cloned();
        Self::from_values(value(DEPTH_VARIABLE), value(BOUNDS_VARIABLE))
    }

    /// The servers that the given environment and the environments of this process's ancestors name.
    pub fn of_this_process(environment: &SearchEnvironment) -> Self {
        let value = |name: &str| {
            let own = environment.vars.get(OsStr::new(name)).cloned();
            own.into_iter().chain(ancestor_values(name))
        };
        Self::from_values(value(DEPTH_VARIABLE), value(BOUNDS_VARIABLE))
    }

    fn from_values(
        depths: impl IntoIterator<Item = OsString>,
        bounds: impl IntoIterator<Item = OsString>,
    ) -> Self {
        let depth = depths.into_iter().map(|value| parsed_depth(&value)).max();
        let mut values: Vec<_> = bounds.into_iter().collect();
        values.dedup();
        let bounds = values.iter();
        let bounds: Option<_> = bounds.map(|it| RunBounds::parse(it.to_str()?)).collect();
        match bounds {
            Some(bounds) => Self {
                depth: depth.unwrap_or_default(),
                bounds,
            },
            // Bounds that cannot be read cannot be kept, so no agent is started.
            None => Self {
                depth: MAX_DEPTH,
                bounds: Vec::new(),
            },
        }
    }
}
