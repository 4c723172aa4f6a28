//! Every way in which our tools differ from Gemini CLI's, by name. There are at most twenty.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use super::Compared;

/// The name of a deviation, if this is one.
pub(super) fn name(compared: &Compared<'_>) -> Option<&'static str> {
    match compared.case.tool {
        "replace" => replace(compared),
        "glob" => glob(compared),
        "grep_search" => grep_search(compared),
        _ => None,
    }
}

fn glob(compared: &Compared<'_>) -> Option<&'static str> {
    let counted = |text: &str| -> String {
        let (before, behind) = text.split_once(" (").unwrap_or((text, ""));
        format!(
            "{before}{}",
            behind
                .split_once(" ignored)")
                .map_or(behind, |(_, rest)| rest)
        )
    };
    if counted(&compared.ours.text) == counted(&compared.theirs.text) {
        return Some("a link to an ignored file is not counted as ignored");
    }
    let pattern = compared.case.arguments["pattern"].as_str()?;
    let leaves = pattern.starts_with('/') || pattern.split('/').any(|part| part == "..");
    (leaves && compared.ours.text.starts_with("No files found"))
        .then_some("a glob pattern does not lead out of the directory that is searched")
}

/// The files of an answer, each with its lines.
fn blocks(text: &str) -> BTreeMap<&str, &str> {
    let blocks = text
        .split("\n---")
        .filter_map(|block| block.trim_start().strip_prefix("File: "));
    blocks
        .map(|block| block.split_once('\n').unwrap_or((block, "")))
        .collect()
}

fn grep_search(compared: &Compared<'_>) -> Option<&'static str> {
    let limit = "(results limited to ";
    if compared.ours.text.contains(limit) && compared.theirs.text.contains(limit) {
        return Some("of more matches than the limit, those of the first paths are returned");
    }
    let names_only = compared.case.arguments["names_only"] == true;
    let (ours, theirs) = (&compared.ours.text, &compared.theirs.text);
    let names = |text: &str| -> BTreeSet<String> {
        if names_only {
            return text.lines().skip(1).map(str::to_owned).collect();
        }
        blocks(text).into_keys().map(str::to_owned).collect()
    };
    let (ours, theirs) = (names(ours), names(theirs));
    let directory = compared.case.arguments["dir_path"].as_str().unwrap_or(".");
    let directory = compared.tree.workspace.root.join(directory);
    let mut extra = theirs
        .difference(&ours)
        .map(|name| directory.join(name))
        .peekable();
    extra.peek()?;
    if !ours.is_subset(&theirs) {
        return None;
    }
    let first = extra.peek()?.clone();
    let reason = reason(compared, &first)?;
    extra
        .all(|path| self::reason(compared, &path).is_some())
        .then_some(reason)
}

/// Why a file is not searched.
fn reason(compared: &Compared<'_>, path: &Path) -> Option<&'static str> {
    if path.is_symlink() {
        return Some("links are not searched");
    }
    if path
        .components()
        .any(|part| part.as_os_str() == "node_modules")
    {
        return Some("`node_modules` is not searched, also where Git does not ignore it");
    }
    if path.ends_with(".env") {
        return Some("`.env` is not searched");
    }
    let bytes = std::fs::read(path).ok()?;
    if bytes[..bytes.len().min(8000)].contains(&0) {
        return Some("binary files are not searched");
    }
    let root = &compared.tree.workspace.root;
    root.join(".geminiignore")
        .exists()
        .then_some("`.geminiignore` counts for `grep_search`")
}

fn replace(compared: &Compared<'_>) -> Option<&'static str> {
    let (ours, theirs) = (compared.ours, compared.theirs);
    let truth = compared.case.truth.as_ref().map(String::as_bytes);
    let is_untouched = compared.our_bytes == compared.before;
    if ours.error == theirs.error && theirs.error.is_some() && ours.text.starts_with(&theirs.text) {
        // A miss: the nearest place is named, too.
        return Some("a miss names the nearest place");
    }
    if ours.error.is_some() && is_untouched && ours.text.contains("is not UTF-8 text") {
        return Some("a file that is not UTF-8 is not edited");
    }
    truth?;
    if compared.our_bytes == truth {
        return Some("lines that are there keep their indentation and white space");
    }
    if ours.error.is_some() && is_untouched && compared.their_bytes != truth {
        return Some("an edit that would damage other lines is refused");
    }
    (words(compared.our_bytes) == words(truth))
        .then_some("white space of lines that the edit does not touch stays")
}

/// Whether our edit changed the file into something else than the edit meant. White space is left to the other comparisons, and so are
/// edits whose new text is perturbed itself or that are made in several places.
pub(super) fn is_wrong(compared: &Compared<'_>) -> bool {
    let case = compared.case;
    let is_judged = !matches!(case.perturbation, None | Some("escapes"))
        && case.arguments["allow_multiple"] != true;
    let Some(truth) = case.truth.as_ref().filter(|_| is_judged) else {
        return false;
    };
    let is_edited = compared.ours.error.is_none() && compared.our_bytes != compared.before;
    is_edited && words(compared.our_bytes) != words(Some(truth.as_bytes()))
}

/// The lines of a text without white space, and without empty ones.
fn words(bytes: Option<&[u8]>) -> Vec<String> {
    let text = String::from_utf8_lossy(bytes.unwrap_or_default()).into_owned();
    let lines = text.lines().map(|line| {
        line.chars()
            .filter(|letter| !letter.is_whitespace())
            .collect::<String>()
    });
    lines.filter(|line| !line.is_empty()).collect()
}
