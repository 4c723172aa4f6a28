//! The cost of `lapidary serve`: one watcher of a recording, many live runs and watchers, and the events that are lost when
//! connections are cut and servers are killed.

mod faults;
mod live;
mod recorded;
mod server;

use std::fs;
use std::path::Path;

use anyhow::Result;

use super::verdict::BenchVerdict;
use crate::workspace::Workspace;

/// Measures and prints.
pub(super) fn report_serve(
    workspace: &Workspace,
    folder: &Path,
    lapidary: &Path,
    rounds: u32,
) -> Result<BenchVerdict> {
    let folder = folder.join("serve");
    let _ = fs::remove_dir_all(&folder); // of an earlier bench
    fs::create_dir_all(&folder)?;
    println!("## The server\n");
    let plain = workspace.target.join("release/examples/plain_file");
    let mut verdict = recorded::report_watcher(&folder, lapidary, &plain, rounds)?;
    verdict.add_verdict(live::report_live(workspace, &folder, lapidary)?);
    verdict.add_verdict(faults::report_faults(workspace, &folder, lapidary)?);
    Ok(verdict)
}
