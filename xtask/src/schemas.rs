//! The published schemas and the types of the clients, as files that people can read without a build.
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

/// Writes `schemas/` and the types of the clients, and removes outdated schemas.
pub(crate) fn write_schemas(workspace: &Workspace) -> Result<()> {
    run_example(workspace, "write")
}

/// Fails if these files differ from the output of `cargo xtask schemas`.
pub(crate) fn check(workspace: &Workspace) -> Result<()> {
    run_example(workspace, "check")
}

fn run_example(workspace: &Workspace, task: &str) -> Result<()> {
    let mut cargo = workspace.cargo_command("run");
    cargo.arg("--quiet").args(EXAMPLE).args(["--", task]);
    run(cargo.arg(&workspace.root))
}
