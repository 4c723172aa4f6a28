//! Where a path leads, and which paths are never reachable.

use std::io;
use std::path::{Path, PathBuf};

use lapidary_policy::follow;
pub(crate) use lapidary_policy::lexical;

/// The longest path and the longest name that are looked at.
const LONGEST_PATH: usize = 4096;
const LONGEST_NAME: usize = 255;

/// Beginnings of names by which Gemini CLI knows a line of a log that a model took for a path.
const LOG_MARKS: [&str; 5] = [
    "AssertionError:",
    "FAIL ",
    "\u{2713} ",
    "\u{d7} ",
    "TestingLibraryElementError:",
];

/// Checks the text of a path.
pub(super) fn check(path: &Path) -> Result<(), String> {
    let text = path.to_string_lossy();
    let units = text.encode_utf16().count();
    let is_suspicious = text.contains('"') || text.contains("...");
    let names = || text.split(['/', '\\']);
    let error = if text.contains(['\n', '\r', '\0', '\t']) {
        "Path contains invalid characters (newlines or control characters)."
    } else if names().any(|name| LOG_MARKS.iter().any(|mark| name.starts_with(mark))) {
        "Path appears to be a misinterpreted log fragment."
    } else if is_suspicious && units > 20 {
        "Path contains suspicious characters (double quotes or ellipses) and is too long to be a simple filename."
    } else if units > LONGEST_PATH {
        return Err(format!(
            "Invalid path: Path is too long (maximum {LONGEST_PATH} characters)."
        ));
    } else if let Some(name) = names().find(|name| name.encode_utf16().count() > LONGEST_NAME) {
        let start: String = name.chars().take(20).collect();
        return Err(format!(
            "Invalid path: Path component \"{start}...\" is too long (maximum {LONGEST_NAME} characters)."
        ));
    } else {
        return Ok(());
    };
    Err(format!("Invalid path: {error}"))
}

/// Whether a path below a root has a name that tools never reach: repositories' insides, secrets, and packages of Node.
pub(crate) fn is_blocked(relative: &Path) -> bool {
    let text = relative.to_string_lossy();
    text.split(['/', '\\']).any(|segment| {
        let name = segment.split(':').next().unwrap_or_default();
        let name = name.trim_end_matches([' ', '.']).to_lowercase();
        let is_credentials = name
            .strip_prefix("gha-creds-")
            .is_some_and(|rest| rest.strip_suffix(".json").is_some());
        matches!(name.as_str(), ".git" | ".env" | "node_modules")
            || is_credentials
            || is_short_name(&name)
    })
}

/// Whether a name is what NTFS makes of a blocked one: `git~1`.
fn is_short_name(name: &str) -> bool {
    let Some((stem, rest)) = name.rsplit_once('~') else {
        return false;
    };
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let is_hashed = |prefix: &str| {
        let hash = stem.strip_prefix(prefix);
        hash.is_some_and(|hash| {
            hash.len() == 4 && hash.bytes().all(|byte| byte.is_ascii_hexdigit())
        })
    };
    let json = rest
        .strip_suffix(".json")
        .or_else(|| rest.strip_suffix(".jso"));
    match json {
        Some(number) => is_number(number) && (stem == "gha-cr" || is_hashed("gh")),
        None => {
            is_number(rest)
                && (matches!(stem, "git" | "env" | "node_m")
                    || ["gi", "en", "no"].into_iter().any(is_hashed))
        }
    }
}

/// Where a path leads, as the system would find it. A path to nothing leads to itself.
pub(crate) fn followed_path(path: &Path) -> io::Result<PathBuf> {
    follow(path).map_err(|lost| lost.error)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_secrets_and_repositories_are_blocked_in_any_spelling() {
        for path in [
            ".git/config",
            "a/.GIT",
            ".env",
            "x/.env.",
            "node_modules/a",
            "git~1",
            "gi12ab~3",
            "gha-creds-1.json",
            "GHA-CR~1.JSO",
            ".git:x",
        ] {
            assert!(is_blocked(Path::new(path)), "{path}");
        }
        for path in [
            ".gitignore",
            "env",
            ".env.example",
            "git~",
            "node_module",
            "gha-creds.json",
            "",
        ] {
            assert!(!is_blocked(Path::new(path)), "{path}");
        }
    }

    #[test]
    fn a_path_is_resolved_as_node_resolves_it() {
        assert_eq!(lexical(Path::new("/a/./b//../c/../../..")), Path::new("/"));
        assert_eq!(lexical(Path::new("/a/b/../c")), Path::new("/a/c"));
    }
}
