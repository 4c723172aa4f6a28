//! The first line of an executable script: whether its interpreter is there.

use std::fs;
use std::path::{Path, PathBuf};

use super::super::HookEntry;
use super::scripts::is_executable;
use super::{FindingReport, LintSeverity, UnplacedFinding};
use crate::file;
use crate::notice::TextPosition;

/// Systems look no further.
const LONGEST: u64 = 4096;

pub(super) fn check_shebang(report: &mut FindingReport<'_>, entry: &HookEntry, path: &Path) {
    let Some(line) = first_line(path) else { return };
    let Some((severity, sentence, hint)) = shebang_trouble(report, path, &line) else {
        return;
    };
    let found = UnplacedFinding {
        severity,
        code: "bad_interpreter",
        subject: entry.hook.display_name(),
        sentence,
        hint,
    };
    report.add_at(path, Some(TextPosition { line: 1, column: 1 }), found);
}

/// The text behind `#!`, if a file begins like that.
fn first_line(path: &Path) -> Option<String> {
    let bytes = file::first_bytes(path, LONGEST)?;
    let line = bytes.strip_prefix(b"#!")?;
    let line = line.split(|byte| *byte == b'\n').next()?;
    Some(String::from_utf8_lossy(line).into_owned())
}

type ShebangTrouble = (LintSeverity, String, Option<String>);

fn shebang_trouble(report: &FindingReport<'_>, path: &Path, line: &str) -> Option<ShebangTrouble> {
    let mut words = line.split([' ', '\t']).filter(|word| !word.is_empty());
    let program = words.next()?; // without one, the shell runs it itself
    if line.ends_with('\r') {
        let shown = line.trim();
        let sentence = format!(
            "its first line ends as lines do on Windows, so the shell looks for `{shown}` with a carriage return behind it, and cannot start it"
        );
        let hint = format!("sed -i 's/\\r$//' {}", path.display());
        return Some((LintSeverity::Error, sentence, Some(hint)));
    }
    // A relative path counts from where hooks run.
    let interpreter = report.setup.workspace.join(program);
    let what = match fs::metadata(&interpreter) {
        Err(_) => "is not there",
        Ok(about) if about.is_dir() => "is a directory",
        Ok(about) if !is_executable(&about) => "is not executable",
        Ok(_) => return by_env(program, words, report.surroundings.search_path),
    };
    let sentence =
        format!("`{program}`, which its first line names, {what}: the shell cannot start it");
    Some((LintSeverity::Error, sentence, None))
}

/// `env` looks for the program in `PATH`, which may be another when hooks run.
fn by_env<'a>(
    program: &str,
    words: impl Iterator<Item = &'a str>,
    search_path: &[PathBuf],
) -> Option<ShebangTrouble> {
    if program.rsplit('/').next() != Some("env") || search_path.is_empty() {
        return None;
    }
    let name = words
        .into_iter()
        .find(|word| !word.starts_with('-') && !word.contains('='))?;
    let is_there = |folder: &PathBuf| folder.join(name).is_file();
    if search_path.iter().any(is_there) {
        return None;
    }
    let sentence = format!(
        "`{name}`, which its first line names, is in no directory of PATH: `env` cannot start it"
    );
    Some((LintSeverity::Warning, sentence, None))
}
