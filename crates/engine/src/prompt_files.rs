//! Files that a prompt names with `@path`, as Gemini CLI (0.61) reads them headless. Over ACP it takes `@path` for plain text: there a
//! file is a link of its own.

use std::path::{Path, PathBuf};

use lapidary_vocab::Json;
use serde_json::json;

/// Characters that end a path, unless it is escaped or quoted.
const ENDS: &[char] = &[
    ' ', '\t', '\n', '\r', ',', ';', '!', '?', '(', ')', '[', ']', '{', '}',
];

/// A prompt as content blocks: a link for each file of the workspace that it names, and text around them. Any other word that
/// begins with `@` stays text, as headless: a missing file, and a file outside the workspace.
pub(crate) fn prompt_blocks(prompt: &str, roots: &[PathBuf]) -> Vec<Json> {
    let mut blocks = Vec::new();
    let (mut told, mut at) = (0, 0);
    while let Some(found) = prompt[at..].find('@').map(|offset| at + offset) {
        let length = path_length(&prompt[found + 1..]);
        at = found + 1 + length;
        let path = unescaped_path(&prompt[found + 1..at]);
        let is_escaped = prompt[..found].ends_with('\\');
        if is_escaped || path.is_empty() || !is_inside(&path, roots) {
            continue;
        }
        blocks.extend(filled_block(&prompt[told..found]));
        let link = json!({"type": "resource_link", "uri": format!("file://{path}"), "name": path});
        blocks.push(Json::from_value(&link));
        told = at;
    }
    blocks.extend(filled_block(&prompt[told..]));
    blocks
}

fn filled_block(text: &str) -> Option<Json> {
    (!text.is_empty()).then(|| text_block(text))
}

/// A text as a content block.
pub(crate) fn text_block(text: &str) -> Json {
    Json::from_value(&json!({"type": "text", "text": text}))
}

/// How long the path is that a text begins with. A dot belongs to it unless the path or the text ends there.
fn path_length(text: &str) -> usize {
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let next = rest[first.len_utf8()..].chars().next();
        let length = match first {
            '"' => match rest[1..].find('"') {
                Some(end) => end + 2,
                None => 1,
            },
            '\\' => 1 + next.map_or(0, char::len_utf8),
            '.' if next.is_none_or(|next| matches!(next, ' ' | '\t' | '\n' | '\r')) => break,
            other if ENDS.contains(&other) => break,
            other => other.len_utf8(),
        };
        rest = &rest[length..];
    }
    text.len() - rest.len()
}

/// The path without quotes and escapes.
fn unescaped_path(path: &str) -> String {
    let mut plain = String::new();
    let mut letters = path.chars();
    while let Some(letter) = letters.next() {
        match letter {
            '"' => {}
            '\\' => plain.extend(letters.next()),
            other => plain.push(other),
        }
    }
    plain
}

/// True for an existing file in one of the roots, links followed.
fn is_inside(path: &str, roots: &[PathBuf]) -> bool {
    let real = |path: &Path| path.canonicalize().ok();
    let Some(first) = roots.first() else {
        return false;
    };
    let Some(path) = real(&first.join(path)) else {
        return false;
    };
    let mut roots = roots.iter().filter_map(|root| real(root));
    roots.any(|root| path.starts_with(root))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn files_of_the_workspace_become_links_and_nothing_else_does() {
        let world = tempfile::tempdir().unwrap();
        let root = world.path().join("project");
        fs::create_dir_all(root.join("sub")).unwrap();
        for name in ["project/a.txt", "project/my file.txt", "outside.txt"] {
            fs::write(world.path().join(name), "x").unwrap();
        }
        std::os::unix::fs::symlink(world.path().join("outside.txt"), root.join("link")).unwrap();
        let shown = |prompt: &str| {
            let blocks = prompt_blocks(prompt, std::slice::from_ref(&root));
            let shown = blocks.iter().map(|block| {
                let member = |name| {
                    block
                        .token()
                        .get(name)
                        .and_then(lapidary_json::Token::string)
                };
                let link = member("uri").map(|uri| format!("<{uri}>"));
                link.unwrap_or_else(|| member("text").unwrap_or_default().into_owned())
            });
            shown.collect::<Vec<_>>().join("|")
        };
        for (prompt, expected) in [
            ("@a.txt", "<file://a.txt>"),
            ("read @a.txt.", "read |<file://a.txt>|."),
            ("(@a.txt, @sub)", "(|<file://a.txt>|, |<file://sub>|)"),
            ("@my\\ file.txt!", "<file://my file.txt>|!"),
            ("@\"my file.txt\"", "<file://my file.txt>"),
            ("me@a.txt.org", "me@a.txt.org"),
            ("\\@a.txt", "\\@a.txt"),
            (
                "@missing @../outside.txt @link @",
                "@missing @../outside.txt @link @",
            ),
            ("ünï@", "ünï@"),
        ] {
            assert_eq!(shown(prompt), expected, "{prompt}");
        }
    }
}
