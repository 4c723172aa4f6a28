//! The caches of build tools, which agents fill when they build and test: a table. Configuration and programs beside them are not in
//! it.

use super::state_place::StatePlace;

/// The caches of one tool.
#[derive(Debug)]
pub(super) struct ToolCache {
    /// The program. A cache that is missing is created only if it is on PATH.
    pub(super) tool: &'static str,
    pub(super) places: &'static [StatePlace],
}

pub(super) const CACHES: &[ToolCache] = &[
    ToolCache {
        tool: "cargo",
        places: &[
            StatePlace::below("CARGO_HOME", ".cargo", "registry"),
            StatePlace::below("CARGO_HOME", ".cargo", "git"),
            StatePlace::below("CARGO_HOME", ".cargo", ".package-cache").file(""),
            StatePlace::below("CARGO_HOME", ".cargo", ".package-cache-mutate").file(""),
        ],
    },
    ToolCache {
        tool: "npm",
        places: &[
            StatePlace::home(".npm").or("npm_config_cache"),
            StatePlace::cache("node-gyp"),
        ],
    },
    ToolCache {
        tool: "pnpm",
        places: &[
            StatePlace::below("XDG_DATA_HOME", ".local/share", "pnpm/store"),
            StatePlace::below("XDG_STATE_HOME", ".local/state", "pnpm"),
            StatePlace::cache("pnpm"),
        ],
    },
    ToolCache {
        tool: "yarn",
        places: &[
            StatePlace::cache("yarn").or("YARN_CACHE_FOLDER"),
            StatePlace::home(".yarn/berry"),
        ],
    },
    ToolCache {
        tool: "bun",
        places: &[StatePlace::home(".bun/install/cache").or("BUN_INSTALL_CACHE_DIR")],
    },
    ToolCache {
        tool: "deno",
        places: &[StatePlace::cache("deno").or("DENO_DIR")],
    },
    ToolCache {
        tool: "pip",
        places: &[StatePlace::cache("pip").or("PIP_CACHE_DIR")],
    },
    ToolCache {
        tool: "uv",
        places: &[StatePlace::cache("uv").or("UV_CACHE_DIR")],
    },
    ToolCache {
        tool: "poetry",
        places: &[StatePlace::cache("pypoetry").or("POETRY_CACHE_DIR")],
    },
    ToolCache {
        tool: "go",
        places: &[
            StatePlace::cache("go-build").or("GOCACHE"),
            StatePlace::below("GOPATH", "go", "pkg").or("GOMODCACHE"),
        ],
    },
    ToolCache {
        // Not its `init.d`, which it runs.
        tool: "gradle",
        places: &[
            StatePlace::below("GRADLE_USER_HOME", ".gradle", "caches"),
            StatePlace::below("GRADLE_USER_HOME", ".gradle", "daemon"),
            StatePlace::below("GRADLE_USER_HOME", ".gradle", "native"),
            StatePlace::below("GRADLE_USER_HOME", ".gradle", "wrapper"),
        ],
    },
    ToolCache {
        tool: "mvn",
        places: &[StatePlace::home(".m2/repository")],
    },
    ToolCache {
        tool: "dotnet",
        places: &[StatePlace::home(".nuget/packages").or("NUGET_PACKAGES")],
    },
    ToolCache {
        tool: "ccache",
        places: &[StatePlace::cache("ccache").or("CCACHE_DIR")],
    },
];
