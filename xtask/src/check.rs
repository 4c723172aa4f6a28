//! The checks before a merge, tests aside.

mod document_paths;
mod document_tests;
mod embedded_files;
mod lexer;
mod module_graph;
mod source_text;
mod words;

use std::path::Path;
use std::process::Command;

use anyhow::{Result, ensure};

use self::module_graph::{ModuleCycle, ModuleGraph};
use crate::schemas;
use crate::workspace::{Workspace, run};

/// Systems that we do not run on, and the target that stands for each: for Windows the one that needs nothing of Microsoft's.
const ELSEWHERE: [(&str, &str); 2] = [
    ("Windows", "x86_64-pc-windows-gnu"),
    ("macOS", "x86_64-apple-darwin"),
];

/// Formatting, lints and documentation with warnings denied, and fresh schemas.
pub(crate) fn check(workspace: &Workspace) -> Result<()> {
    println!("check: formatting");
    run(workspace.plain_cargo("fmt").args(["--all", "--check"]))?;
    println!("check: module cycles");
    check_module_cycles(workspace)?;
    println!("check: paths in documents");
    check_document_paths(workspace)?;
    println!("check: tests in documents");
    check_document_tests(workspace)?;
    println!("check: embedded files");
    let outside = embedded_files::outside_files(&workspace.root)?;
    ensure!(
        outside.is_empty(),
        "files outside of a crate are missing in its published package: {}",
        outside.join(", ")
    );
    println!("check: words");
    words::check(&workspace.root)?;
    println!("check: lints");
    run(workspace.cargo_command("clippy").args([
        "--workspace",
        "--all-targets",
        "--",
        "-D",
        "warnings",
    ]))?;
    for (system, target) in ELSEWHERE {
        check_for(workspace, system, target)?;
    }
    println!("check: documentation");
    run(workspace
        .cargo_command("doc")
        .args(["--workspace", "--no-deps"])
        .env("RUSTDOCFLAGS", "-D warnings"))?;
    println!("check: schemas");
    schemas::check(workspace)?;
    println!("check: all is well");
    Ok(())
}

/// The words report on the crates below another directory, to compare ours with.
pub(crate) fn report_words(root: &Path) -> Result<()> {
    words::print_words_report(root)
}

/// How many cycles there may be between modules within folders. Lower it when one is untied; never raise it.
const FOLDER_CYCLES: usize = 23;

/// No two modules at the root of a crate refer to each other, directly or through others. Cycles between modules further down, each
/// within one folder, have a ceiling.
fn check_module_cycles(workspace: &Workspace) -> Result<()> {
    let (mut found, mut folders) = (Vec::new(), Vec::new());
    for entry in std::fs::read_dir(workspace.root.join("crates"))? {
        let package = entry?.path();
        let graph = ModuleGraph::read_crate(&package.join("src"))?;
        let name = package
            .file_name()
            .unwrap_or_default()
            .display()
            .to_string();
        let (roots, below): (Vec<_>, Vec<_>) = graph
            .module_cycles()
            .into_iter()
            .partition(ModuleCycle::is_at_root);
        folders.extend(below.iter().map(|cycle| format!("{name}, {cycle}")));
        found.extend(roots.iter().map(|cycle| format!("{name}, {cycle}")));
    }
    found.sort();
    folders.sort();
    let count = folders.len();
    println!("check: {count} cycles within folders of a crate, of at most {FOLDER_CYCLES}");
    ensure!(
        count <= FOLDER_CYCLES,
        "more modules within folders refer to each other in a circle than before:\n{}",
        folders.join("\n")
    );
    ensure!(
        found.is_empty(),
        "modules that refer to each other in a circle:\n{}",
        found.join("\n")
    );
    Ok(())
}

/// Documents that name source files: a file that was moved is named as it is now.
const MAPS: [&str; 3] = ["ARCHITECTURE.md", "CONTRIBUTING.md", "docs/GLOSSARY.md"];

fn check_document_paths(workspace: &Workspace) -> Result<()> {
    for document in MAPS {
        let missing = document_paths::missing_paths(&workspace.root, document)?;
        ensure!(
            missing.is_empty(),
            "`{document}` names files that do not exist: {}",
            missing.join(", ")
        );
    }
    Ok(())
}

/// The document that names a test for each requirement.
const REQUIREMENTS: &str = "docs/specifications.md";

fn check_document_tests(workspace: &Workspace) -> Result<()> {
    let missing = document_tests::missing_tests(&workspace.root, REQUIREMENTS)?;
    ensure!(
        missing.is_empty(),
        "`{REQUIREMENTS}` names tests that do not exist: {}",
        missing.join(", ")
    );
    Ok(())
}

/// The same lints on code that is compiled only for another system. Tests need Linux, and these tasks Unix.
fn check_for(workspace: &Workspace, system: &str, target: &str) -> Result<()> {
    if !is_installed(target) {
        println!("check: {system} left out, `rustup target add {target}` would let it in");
        return Ok(());
    }
    println!("check: {system}");
    let packages = ["--workspace", "--exclude", "xtask"];
    // SQLite is C, and compiling it for another system takes a compiler for that. Lints do not need its library.
    let no_tool = |tool: &str| (format!("{tool}_{}", target.replace('-', "_")), "true");
    run(workspace
        .cargo_command("clippy")
        .envs([no_tool("CC"), no_tool("AR")])
        .args(["--target", target])
        .args(packages)
        .args(["--", "-D", "warnings"]))
}

/// A target that the compiler knows has a directory for its libraries; only one that is installed has it on disk.
fn is_installed(target: &str) -> bool {
    let asked = Command::new("rustc")
        .args(["--print", "target-libdir", "--target", target])
        .output();
    asked.is_ok_and(|answer| {
        let directory = String::from_utf8_lossy(&answer.stdout);
        answer.status.success() && Path::new(directory.trim()).is_dir()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_host_target_is_installed_and_an_unknown_one_is_not() {
        let answer = Command::new("rustc")
            .args(["--print", "host-tuple"])
            .output()
            .unwrap();
        let host = String::from_utf8(answer.stdout).unwrap();
        assert!(is_installed(host.trim()));
        assert!(!is_installed("z80-zx-spectrum"));
    }
}
