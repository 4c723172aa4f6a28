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
    let arguments = &compared.case.arguments;
    let is_git = compared.tree.is_repository;
    if is_git
        && arguments["include_pattern"]
            .as_str()
            .is_some_and(|pattern| pattern.starts_with("**/"))
    {
        return Some("`**/` in `include_pattern` stands for the directory itself, too");
    }
    if is_git
        && arguments["pattern"]
            .as_str()
            .is_some_and(|pattern| pattern.ends_with('$'))
    {
        return Some("`$` matches before CR LF");
    }
    let is_limited = |text: &str| text.contains("(results limited to ");
    let (ours, theirs) = (&compared.ours.text, &compared.theirs.text);
    if is_limited(ours) && is_limited(theirs) {
        return Some("of more matches than the limit, those of the first paths are returned");
    }
    let names = |text: &str| -> BTreeSet<String> {
        if arguments["names_only"] == true {
            return text.lines().skip(1).map(str::to_owned).collect();
        }
        blocks(text).into_keys().map(str::to_owned).collect()
    };
    let (our_names, their_names) = (names(ours), names(theirs));
    if !our_names.is_subset(&their_names) && !is_limited(theirs) {
        return None;
    }
    let directory = arguments["dir_path"].as_str().unwrap_or(".");
    let directory = compared.tree.workspace.root.join(directory);
    let extra = their_names
        .difference(&our_names)
        .map(|name| directory.join(name));
    let reasons: Vec<_> = extra.map(|path| reason(compared, &path)).collect();
    reasons
        .into_iter()
        .collect::<Option<Vec<_>>>()?
        .first()
        .copied()
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
    if is_untouched
        && ours
            .text
            .contains("but the lines that the edit changes are different there")
    {
        return Some("a line that the edit changes has to be the one in `old_string`");
    }
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
    let before = String::from_utf8_lossy(compared.before.unwrap_or_default()).replace("\r\n", "\n");
    let old = case.arguments["old_string"]
        .as_str()
        .unwrap_or_default()
        .replace("\r\n", "\n");
    if before.contains(&old) {
        return false; // an exact edit is what was asked for
    }
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
