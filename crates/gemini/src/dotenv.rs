//! `.env` files: which one counts, and its variables.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use regex::Regex;

use crate::file;
use crate::paths::GeminiHome;

/// A line as the `dotenv` of Node takes it, quoted values over several lines included.
static LINE: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(
        r#"(?m)^\s*(?:export\s+)?([0-9A-Za-z_.-]+)(?:\s*=\s*?|:\s+?)(\s*'(?:\\'|[^'])*'|\s*"(?:\\"|[^"])*"|\s*`(?:\\`|[^`])*`|[^#\r\n]+)?\s*(?:#.*)?$"#,
    )
    .expect("the pattern of this module is sound")
});

/// The search for a `.env` file.
#[derive(Debug, Clone, Copy)]
pub(crate) struct DotenvSearch {
    /// A file in `.gemini` counts only in a trusted workspace.
    pub(crate) is_trusted: bool,
    /// Whether only the home's own `.env` counts, and those in `.gemini`.
    pub(crate) ignores_local: bool,
}

impl DotenvSearch {
    /// The file that Gemini CLI would read for a workspace: the nearest on the way up, else the home's.
    pub(crate) fn find_file(self, workspace: &Path, home: &GeminiHome) -> Option<PathBuf> {
        let on_the_way = workspace.ancestors().map(|folder| (folder, false));
        let folders = on_the_way.chain([(home.home.as_path(), true)]);
        folders
            .flat_map(|(folder, is_last)| {
                let ours = self.is_trusted.then(|| folder.join(".gemini/.env"));
                let counts = !self.ignores_local || is_last || folder == home.home;
                let plain = counts.then(|| folder.join(".env"));
                ours.into_iter().chain(plain)
            })
            .find(|path| path.exists())
    }
}

/// The value that Gemini CLI takes of a variable: all of it in a trusted workspace, else only credentials, and of these only
/// harmless letters.
pub(crate) fn admitted_value(name: &str, value: String, is_trusted: bool) -> Option<String> {
    const SIGN_IN: [&str; 4] = [
        "GEMINI_API_KEY",
        "GOOGLE_API_KEY",
        "GOOGLE_CLOUD_PROJECT",
        "GOOGLE_CLOUD_LOCATION",
    ];
    if is_trusted {
        return Some(value);
    }
    let is_fine = |letter: &char| letter.is_ascii_alphanumeric() || "-_./".contains(*letter);
    let signs_in = SIGN_IN.contains(&name);
    signs_in.then(|| value.chars().filter(is_fine).collect())
}

/// The names that a file gives a value. The values are not read.
pub(crate) fn variable_names(path: &Path) -> BTreeSet<String> {
    let pairs = read_variables(path).into_iter();
    let with_value = pairs.filter(|(_, value)| !value.is_empty());
    with_value.map(|(name, _)| name).collect()
}

/// The variables of a file. An unreadable file has none.
pub(crate) fn read_variables(path: &Path) -> BTreeMap<String, String> {
    let text = file::text(path).ok().flatten();
    text.map(|text| parse(&text)).unwrap_or_default()
}

fn parse(text: &str) -> BTreeMap<String, String> {
    let text = text.replace("\r\n", "\n").replace('\r', "\n");
    let lines = LINE.captures_iter(&text);
    let pairs = lines.map(|line| {
        let found = line.get(2).map_or("", |found| found.as_str().trim());
        (line[1].to_owned(), unquoted_value(found))
    });
    pairs.collect()
}

fn unquoted_value(value: &str) -> String {
    let quote = value.chars().next().filter(|first| "'\"`".contains(*first));
    let inner = quote.and_then(|quote| value.strip_prefix(quote)?.strip_suffix(quote));
    let inner = inner.unwrap_or(value);
    match quote {
        Some('"') => inner.replace("\\n", "\n").replace("\\r", "\r"),
        _ => inner.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_read_as_node_does() {
        for (line, expected) in [
            ("GEMINI_API_KEY=abc", Some(("GEMINI_API_KEY", "abc"))),
            ("  export A = 'b' ", Some(("A", "b"))),
            ("A=", Some(("A", ""))),
            ("A=\"\"", Some(("A", ""))),
            ("#A=b", None),
            ("A= # nothing", Some(("A", ""))),
            ("A=b # more", Some(("A", "b"))),
            ("A='b # c'", Some(("A", "b # c"))),
            ("A=\"b\\nc\"", Some(("A", "b\nc"))),
            ("A='b\\nc'", Some(("A", "b\\nc"))),
            ("A=\"b\nc\"", Some(("A", "b\nc"))),
            ("A: b", Some(("A", "b"))),
            ("A=\"", Some(("A", "\""))),
            ("words", None),
        ] {
            let found = parse(line).into_iter().next();
            let expected = expected.map(|(name, value)| (name.to_owned(), value.to_owned()));
            assert_eq!(found, expected, "{line:?}");
        }
    }
}
