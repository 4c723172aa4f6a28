//! Every way in which our tools differ from Gemini CLI's, by name. There are at most twenty.
//!
//! A name excuses a difference only where the files themselves prove it: an edit of Gemini CLI that is not the one that was meant, a
//! file that its search leaves out or should have left out. The shape of an answer excuses nothing.

use std::collections::BTreeSet;

use lapidary_native::workspace::IgnoreFiles;
use serde_json::{Value, json};

use super::node::Oracle;
use super::{Compared, Verdict};

/// What is to be said of answers that are not the same.
pub(super) fn judge(compared: &Compared<'_>, oracle: &mut Oracle) -> Option<Verdict> {
    match compared.case.tool {
        "replace" => replace(compared).map(Verdict::Named),
        "glob" => glob(compared).map(Verdict::Named),
        "grep_search" => grep_search(compared, oracle),
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
    let root = &compared.tree.workspace.root;
    let has_links = root.join("link-in").is_symlink();
    if has_links && counted(&compared.ours.text) == counted(&compared.theirs.text) {
        return Some("a link to an ignored file is not counted as ignored");
    }
    let pattern = compared.case.arguments["pattern"].as_str()?;
    let leaves = pattern.starts_with('/') || pattern.split('/').any(|part| part == "..");
    (leaves && compared.ours.text.starts_with("No files found"))
        .then_some("a glob pattern does not lead out of the directory that is searched")
}

/// A file, and the number of a line in it.
type LineMatch = (String, usize);

/// The lines that an answer says match, in the order of the paths' bytes.
fn matches(text: &str) -> Vec<LineMatch> {
    let mut all = Vec::new();
    for block in text
        .split("\n---")
        .filter_map(|block| block.trim_start().strip_prefix("File: "))
    {
        let (file, lines) = block.split_once('\n').unwrap_or((block, ""));
        let numbers = lines.lines().filter_map(|line| {
            let (number, _) = line.strip_prefix('L')?.split_once(':')?;
            number.parse::<usize>().ok()
        });
        all.extend(numbers.map(|number| (file.to_owned(), number)));
    }
    all.sort();
    all
}

/// Compares with all matches that Gemini CLI finds when it is not limited: the files that it reads first are the file system's choice,
/// and ours are the first by path.
fn grep_search(compared: &Compared<'_>, oracle: &mut Oracle) -> Option<Verdict> {
    let (ours, theirs) = (compared.ours, compared.theirs);
    if ours.error.is_some() || theirs.error.is_some() {
        return None;
    }
    let mut arguments = compared.case.arguments.clone();
    let most = arguments["total_max_matches"].as_u64().unwrap_or(100);
    let most = usize::try_from(most).unwrap();
    arguments["total_max_matches"] = json!(1_000_000);
    arguments["names_only"] = json!(false);
    let all = oracle.ask_with(compared.case, &arguments, &compared.tree.workspace);
    let mut kept = matches(&all.text);
    let files: BTreeSet<_> = kept.iter().map(|(file, _)| file.clone()).collect();
    let skipped = files
        .into_iter()
        .filter_map(|file| Some((reason(compared, &file)?, file)));
    let skipped: Vec<_> = skipped.collect();
    kept.retain(|(file, _)| skipped.iter().all(|(_, skipped)| skipped != file));
    let mut reasons: BTreeSet<_> = skipped.iter().map(|(reason, _)| *reason).collect();
    reasons.extend(missed(compared, &mut kept));
    kept.truncate(most);
    if !is_told(compared, &kept) {
        return None;
    }
    match reasons.first() {
        Some(reason) => Some(Verdict::Named(reason)),
        // The same matches but for the limit: only the order of the files differs.
        None => (kept.len() == most).then_some(Verdict::Equal),
    }
}

/// Whether our answer has exactly these matches, and says so in its first line.
fn is_told(compared: &Compared<'_>, kept: &[LineMatch]) -> bool {
    let text = &compared.ours.text;
    let is_names = compared.case.arguments["names_only"] == true;
    let names: BTreeSet<_> = kept.iter().map(|(file, _)| file.clone()).collect();
    let count = if is_names { names.len() } else { kept.len() };
    let first = match count {
        0 => "No matches found".to_owned(),
        1 if !is_names => "Found 1 match ".to_owned(),
        count if is_names => format!("Found {count} files "),
        count => format!("Found {count} matches "),
    };
    let is_same = if is_names {
        text.lines()
            .skip(1)
            .map(str::to_owned)
            .collect::<BTreeSet<_>>()
            == names
    } else {
        matches(text) == kept
    };
    text.starts_with(&first) && is_same
}

/// Why a file with matches is not searched by us.
fn reason(compared: &Compared<'_>, file: &str) -> Option<&'static str> {
    let tree = compared.tree;
    let directory = compared.case.arguments["dir_path"].as_str().unwrap_or(".");
    let path = tree.workspace.root.join(directory).join(file);
    if path.is_symlink() {
        return Some("links are not searched");
    }
    let path = path.canonicalize().ok()?;
    if tree.workspace.open().place(&path).is_err() {
        return Some("a file that tools must not read is not searched");
    }
    let only_gemini = IgnoreFiles {
        git: false,
        ..IgnoreFiles::ALL
    };
    if tree
        .workspace
        .open()
        .rules()
        .is_ignored(&path, false, only_gemini)
    {
        return Some("`.geminiignore` counts for `grep_search`");
    }
    let bytes = std::fs::read(path).ok()?;
    (!tree.is_repository && bytes[..bytes.len().min(8000)].contains(&0))
        .then_some("binary files are not searched")
}

/// Adds the matches that Gemini CLI misses, and says why it does.
fn missed(compared: &Compared<'_>, kept: &mut Vec<LineMatch>) -> Option<&'static str> {
    let arguments = &compared.case.arguments;
    let text = |name: &str| {
        arguments
            .get(name)
            .and_then(Value::as_str)
            .unwrap_or_default()
    };
    let known: BTreeSet<_> = kept.iter().cloned().collect();
    let extra: Vec<_> = matches(&compared.ours.text)
        .into_iter()
        .filter(|found| !known.contains(found))
        .collect();
    let root = compared.tree.workspace.root.join(match text("dir_path") {
        "" => ".",
        directory => directory,
    });
    let has_carriage_return = |file: &str| {
        std::fs::read(root.join(file)).is_ok_and(|bytes| bytes.windows(2).any(|two| two == b"\r\n"))
    };
    let is_repository = compared.tree.is_repository && !extra.is_empty();
    let name = if is_repository
        && text("include_pattern").starts_with("**/")
        && extra.iter().all(|(file, _)| !file.contains('/'))
    {
        "`**/` in `include_pattern` stands for the directory itself, too"
    } else if is_repository
        && text("pattern").ends_with('$')
        && extra.iter().all(|(file, _)| has_carriage_return(file))
    {
        "`$` matches before CR LF"
    } else {
        return None;
    };
    kept.extend(extra);
    kept.sort();
    Some(name)
}

fn replace(compared: &Compared<'_>) -> Option<&'static str> {
    let (ours, theirs) = (compared.ours, compared.theirs);
    let is_untouched = compared.our_bytes == compared.before;
    let is_theirs_untouched = compared.their_bytes == compared.before;
    let is_refusal = ours.error.is_some() && is_untouched;
    if ours.error == theirs.error && theirs.error.is_some() && ours.text.starts_with(&theirs.text) {
        return is_untouched.then_some("a miss names the nearest place");
    }
    let is_text = |bytes: Option<&[u8]>| std::str::from_utf8(bytes.unwrap_or_default()).is_ok();
    if is_refusal && !is_text(compared.before) && !is_theirs_untouched {
        return Some("a file that is not UTF-8 is not edited");
    }
    let truth = compared.case.truth.as_ref().map(String::as_bytes);
    truth?;
    if is_refusal && is_other_line_changed(compared) {
        return Some("a line that the edit changes has to be the one in `old_string`");
    }
    // From here on an excuse needs an edit of Gemini CLI that is not the one that was meant.
    if is_theirs_untouched || compared.their_bytes == truth {
        return None;
    }
    if is_refusal {
        return Some("an edit that would damage lines is refused");
    }
    if compared.our_bytes == truth {
        return Some("lines keep their indentation and white space");
    }
    let is_nearer = distance(compared.our_bytes, truth) <= distance(compared.their_bytes, truth);
    (words(compared.our_bytes) == words(truth) && is_nearer)
        .then_some("lines that the edit does not change keep their white space")
}

/// Whether the edit that was meant changes a line that is not in `old_string`: the model has not seen it as it is.
fn is_other_line_changed(compared: &Compared<'_>) -> bool {
    let old = compared.case.arguments["old_string"]
        .as_str()
        .unwrap_or_default();
    let old = words(Some(old.as_bytes()));
    let truth = words(compared.case.truth.as_ref().map(String::as_bytes));
    let before = words(compared.before);
    let is_changed = |line: &String| {
        let count = |lines: &[String]| lines.iter().filter(|other| *other == line).count();
        count(&before) > count(&truth) && !old.contains(line)
    };
    before.iter().any(is_changed)
}

/// How many lines are not those of the text that was meant.
fn distance(bytes: Option<&[u8]>, truth: Option<&[u8]>) -> usize {
    let lines = |bytes: Option<&[u8]>| -> Vec<String> {
        let text = String::from_utf8_lossy(bytes.unwrap_or_default()).into_owned();
        text.lines().map(str::to_owned).collect()
    };
    let (one, other) = (lines(bytes), lines(truth));
    let front = one
        .iter()
        .zip(&other)
        .take_while(|(one, other)| one == other)
        .count();
    let back = one[front..].iter().rev().zip(other[front..].iter().rev());
    let back = back.take_while(|(one, other)| one == other).count();
    one.len().max(other.len()) - front - back
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
