//! What has to hold before anything is merged, tests aside.

use anyhow::Result;

use crate::schemas;
use crate::workspace::{Workspace, run};

/// Formatting, lints and documentation with warnings denied, and fresh schemas.
pub(crate) fn check(workspace: &Workspace) -> Result<()> {
    println!("check: formatting");
    run(workspace.plain_cargo("fmt").args(["--all", "--check"]))?;
    println!("check: lints");
    run(workspace
        .cargo("clippy")
        .args(["--workspace", "--all-targets", "--", "-D", "warnings"]))?;
    println!("check: documentation");
    run(workspace
        .cargo("doc")
        .args(["--workspace", "--no-deps"])
        .env("RUSTDOCFLAGS", "-D warnings"))?;
    println!("check: schemas");
    schemas::check(workspace)?;
    println!("check: all is well");
    Ok(())
}
