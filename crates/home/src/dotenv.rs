//! `.env` files, as far as they sign somebody in.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use crate::file;
use crate::places::GeminiHome;

/// The file that Gemini CLI would read for a workspace: the nearest on the way up, else the home's. One in `.gemini` only counts
/// in a trusted workspace.
pub(crate) fn find(workspace: &Path, home: &GeminiHome, is_trusted: bool) -> Option<PathBuf> {
    let folders = workspace.ancestors().chain([home.home.as_path()]);
    folders
        .flat_map(|folder| {
            let ours = is_trusted.then(|| folder.join(".gemini/.env"));
            ours.into_iter().chain([folder.join(".env")])
        })
        .find(|path| path.exists())
}

/// The names that a file gives a value. The values are nobody's business here.
pub(crate) fn names(path: &Path) -> BTreeSet<String> {
    let text = file::text(path).ok().flatten().unwrap_or_default();
    text.lines().filter_map(name).map(str::to_owned).collect()
}

fn name(line: &str) -> Option<&str> {
    let line = line.trim_start();
    let line = line.strip_prefix("export ").unwrap_or(line);
    let (name, value) = line.split_once('=')?;
    let name = name.trim();
    let value = value.trim().trim_matches(['"', '\'', '`']);
    let is_name = !name.is_empty() && !name.starts_with('#');
    (is_name && !value.is_empty() && !value.starts_with('#')).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_counts_if_it_has_a_value() {
        for (line, expected) in [
            ("GEMINI_API_KEY=abc", Some("GEMINI_API_KEY")),
            ("  export A = 'b' ", Some("A")),
            ("A=", None),
            ("A=\"\"", None),
            ("#A=b", None),
            ("A= # nothing", None),
            ("words", None),
        ] {
            assert_eq!(name(line), expected, "{line:?}");
        }
    }
}
