//! The archive that people and package managers download: the binary, its completions and manual pages, the licences.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

use super::packed_file::PackedFile;
use super::{Release, read_licences};

/// Shells, and the names that their completions have.
const COMPLETIONS: [(&str, &str); 5] = [
    ("bash", "lapidary.bash"),
    ("elvish", "lapidary.elv"),
    ("fish", "lapidary.fish"),
    ("powershell", "_lapidary.ps1"),
    ("zsh", "_lapidary"),
];

/// Writes the archive. `program` prints the completions and pages, so it has to run here.
pub(super) fn write_archive(release: &Release, program: &Path) -> Result<PathBuf> {
    let name = format!("lapidary-{}-{}", release.version, release.target);
    let inside = |path: &str| format!("{name}/{path}");
    let mut files = read_licences(&release.root, &inside(""))?;
    files.push(PackedFile::program(
        inside(release.platform.program_name()),
        release.binary.clone(),
    ));
    for document in ["README.md", "CHANGELOG.md"] {
        files.push(PackedFile::read(
            inside(document),
            &release.root.join(document),
        )?);
    }
    for (shell, file) in COMPLETIONS {
        let script = output_of(program, &["completions", shell])?;
        files.push(PackedFile::new(
            inside(&format!("completions/{file}")),
            script,
        ));
    }
    for (page, text) in manual_pages(program)? {
        files.push(PackedFile::new(inside(&format!("man/man1/{page}.1")), text));
    }
    let path = release.out.join(format!("{name}.tar.gz"));
    release.style.write_tarball(&path, files)?;
    Ok(path)
}

/// The manual pages: that of the program, and all pages that it refers to, directly or not.
fn manual_pages(program: &Path) -> Result<Vec<(String, String)>> {
    let mut pages = Vec::new();
    let mut waiting = vec!["lapidary".to_owned()];
    let mut known: BTreeSet<_> = waiting.iter().cloned().collect();
    while let Some(page) = waiting.pop() {
        let words: Vec<_> = page
            .strip_prefix("lapidary-")
            .map_or_else(|| vec!["man"], |command| vec!["man", command]);
        let text = output_of(program, &words)?;
        for found in pages_named_in(&text) {
            if known.insert(found.clone()) {
                waiting.push(found);
            }
        }
        pages.push((page, text));
    }
    Ok(pages)
}

/// Names of pages, such as `lapidary\-run(1)`. Those of `help` only repeat `--help`.
fn pages_named_in(text: &str) -> Vec<String> {
    let names = text.lines().filter_map(|line| line.strip_suffix("(1)"));
    let names = names.map(|name| name.replace("\\-", "-"));
    names
        .filter(|name| name.starts_with("lapidary-") && !name.ends_with("-help"))
        .collect()
}

fn output_of(program: &Path, args: &[&str]) -> Result<String> {
    let ran = Command::new(program)
        .args(args)
        .output()
        .with_context(|| format!("cannot start {}", program.display()))?;
    ensure!(
        ran.status.success(),
        "`lapidary {}` failed: {}",
        args.join(" "),
        String::from_utf8_lossy(&ran.stderr)
    );
    Ok(String::from_utf8(ran.stdout)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_manual_page_names_the_pages_of_its_commands() {
        let page = ".TP\nlapidary\\-runs(1)\nList runs\n.TP\nlapidary\\-runs\\-help(1)\nlapidary(1)\nsee git(1)\n";
        assert_eq!(pages_named_in(page), ["lapidary-runs"]);
    }
}
