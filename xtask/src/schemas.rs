//! The published schemas, as files that people can read without a build.
//!
//! An example of `lapidary-vocab` writes them, so that the tasks are built without the types and their schemas.

use anyhow::Result;

use crate::workspace::{Workspace, run};

const EXAMPLE: [&str; 6] = [
    "--package",
    "lapidary-vocab",
    "--features",
    "generate",
    "--example",
    "schemas",
];

/// Writes `schemas/`, and removes outdated files.
pub(crate) fn write_schemas(workspace: &Workspace) -> Result<()> {
    run_example(workspace, "write")
}

/// Fails if `schemas/` is not what `cargo xtask schemas` would write.
pub(crate) fn check(workspace: &Workspace) -> Result<()> {
    run_example(workspace, "check")
}

fn run_example(workspace: &Workspace, task: &str) -> Result<()> {
    let mut cargo = workspace.cargo_command("run");
    cargo.arg("--quiet").args(EXAMPLE).args(["--", task]);
    run(cargo.arg(workspace.root.join("schemas")))
}
