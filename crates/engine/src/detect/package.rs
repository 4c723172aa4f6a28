//! Which version a program is, without starting it: a start takes Gemini CLI two seconds.

use std::fs::File;
use std::io::Read as _;
use std::path::Path;

use serde::Deserialize;

use crate::detect::AgentVersion;

/// The package that Gemini CLI comes in.
const PACKAGE: &str = "@google/gemini-cli";

/// How far the program may lie below its package.
const DEPTH: usize = 4;

/// No `package.json` is longer.
const LONGEST: u64 = 1024 * 1024;

/// How much of a program's output is searched for its version.
const LOOKED_AT: usize = 64 * 1024;

#[derive(Deserialize)]
struct NpmPackage {
    name: Option<String>,
    version: Option<String>,
}

/// The version of the npm package that the program belongs to, links followed. None for shims and for other packages.
pub fn version_of_package(program: &Path) -> Option<AgentVersion> {
    let real = program.canonicalize().ok()?;
    let packages = real.ancestors().skip(1).take(DEPTH).filter_map(package_in);
    // Some packages contain another one without a name, which only sets how its files are loaded.
    let mut named = packages.filter(|package| package.name.is_some());
    let nearest = named.next()?;
    if nearest.name.as_deref() != Some(PACKAGE) {
        return None;
    }
    AgentVersion::parse(&nearest.version?)
}

fn package_in(dir: &Path) -> Option<NpmPackage> {
    let path = dir.join("package.json");
    if !path.metadata().ok()?.is_file() {
        return None;
    }
    let mut text = String::new();
    let file = File::open(path).ok()?;
    file.take(LONGEST).read_to_string(&mut text).ok()?;
    serde_json::from_str(&text).ok()
}

/// The version in the output of `gemini --version`, among warnings and the like: the last line that is nothing but a version,
/// else a version on a line that names Gemini.
pub fn parse_version_output(stdout: &[u8]) -> Option<AgentVersion> {
    let seen = &stdout[..stdout.len().min(LOOKED_AT)];
    let text = String::from_utf8_lossy(seen);
    let alone = |line: &str| AgentVersion::parse(line.trim());
    let beside = |line: &str| {
        let gemini = line.to_ascii_lowercase().contains("gemini");
        let mut words =
            line.split(|letter: char| letter.is_whitespace() || "(),:;".contains(letter));
        words.find_map(AgentVersion::parse).filter(|_| gemini)
    };
    let last = text.lines().rev().find_map(alone);
    last.or_else(|| text.lines().find_map(beside))
}
