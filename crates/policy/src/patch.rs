//! The files that a patch is about: of a unified diff, or of a patch of Codex (`*** Begin Patch`).

use lapidary_json::{Token, TokenKind};

/// How deep in arguments a patch is looked for.
const DEEPEST: usize = 8;

/// The texts before a file name in a patch of Codex.
const HEADERS: [&str; 4] = [
    "*** Update File: ",
    "*** Add File: ",
    "*** Delete File: ",
    "*** Move to: ",
];

/// The files of each patch in these arguments, under any name.
pub(super) fn patched_files(arguments: Token<'_>) -> Vec<String> {
    let mut found = Vec::new();
    search_patches(arguments, DEEPEST, &mut found);
    found
}

fn search_patches(value: Token<'_>, depth: usize, found: &mut Vec<String>) {
    match (value.kind(), depth.checked_sub(1)) {
        (TokenKind::String, _) if may_be_patch(value.as_str()) => {
            let text = value.string().unwrap_or_default();
            of_text(&text, found);
        }
        (TokenKind::Object | TokenKind::Array, Some(depth)) => {
            let members = value.members().map(|(_, inner)| inner);
            for inner in value.elements().chain(members) {
                search_patches(inner, depth, found);
            }
        }
        _ => {}
    }
}

/// Most texts are none, and need not be decoded.
fn may_be_patch(json: &str) -> bool {
    json.as_bytes().contains(&b' ') && has_header(json)
}

fn has_header(json: &str) -> bool {
    json.contains("*** ") || json.contains("+++ ") || json.contains("diff --git ")
}

fn of_text(text: &str, found: &mut Vec<String>) {
    let is_git = text.lines().any(|line| line.starts_with("diff --git "));
    let mut removed: Option<&str> = None;
    for line in text.lines() {
        let header = HEADERS.iter().find_map(|it| line.strip_prefix(it));
        let renamed = ["rename from ", "rename to "]
            .iter()
            .find_map(|it| line.strip_prefix(it));
        let renamed = renamed.filter(|_| is_git);
        found.extend(header.or(renamed).map(|path| path.trim().to_owned()));
        // A line of a list begins with dashes, too: only both make a header.
        if let (Some(old), Some(new)) = (removed, line.strip_prefix("+++ ")) {
            of_header(old, "a/", is_git, found);
            of_header(new, "b/", is_git, found);
        }
        removed = line.strip_prefix("--- ");
    }
}

/// A file in a unified diff. Git puts a letter before it, and others need not.
fn of_header(path: &str, letter: &str, is_git: bool, found: &mut Vec<String>) {
    let path = path.split('\t').next().unwrap_or(path).trim();
    let plain = path.strip_prefix(letter);
    found.extend(plain.map(str::to_owned));
    if path != "/dev/null" && (plain.is_none() || !is_git) {
        found.push(path.to_owned());
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &[&str]) {
        let arguments = json!({"x": [{"y": text}]}).to_string();
        assert_eq!(
            patched_files(Token::parse(&arguments).unwrap()),
            expected,
            "{text}"
        );
    }

    #[test]
    fn files_of_patches_are_found() {
        check(
            "*** Begin Patch\n*** Update File: a.txt\n*** Move to: b c.txt\n@@\n-x\n+y\n*** End Patch",
            &["a.txt", "b c.txt"],
        );
        check(
            "--- a.txt\t2026\n+++ a.txt\t2026\n@@ -1 +1 @@",
            &["a.txt", "a.txt"],
        );
        check(
            "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1 @@",
            &["x", "x"],
        );
        check("--- a/x\r\n+++ b/x\r\n", &["x", "a/x", "x", "b/x"]);
        check(
            "diff --git a/x b/y\nrename from x\nrename to y",
            &["x", "y"],
        );
        check("diff --git a/x b/x\n--- /dev/null\n+++ b/x", &["x"]);
    }

    #[test]
    fn a_text_that_is_no_patch_names_no_file() {
        check("--- a list\n- x\n+++ y", &[]);
        check("a *** b\nrename from x", &[]);
    }
}
