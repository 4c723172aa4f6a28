//! Every way in which our tools differ from Gemini CLI's, by name. There are at most twenty.
//!
//! A name excuses a difference only where the files themselves prove it: an edit of Gemini CLI that is not the one that was meant, a
//! file that its search leaves out or should have left out. The shape of an answer excuses nothing.

use std::collections::BTreeSet;

use lapidary_native::workspace::IgnoreFiles;
use serde_json::{Value, json};

use super::cases::Case;
use super::node::Oracle;
use super::{Compared, Verdict};

/// The verdict on answers that differ; `None` if no known deviation explains them.
pub(super) fn judge(compared: &Compared<'_>, oracle: &mut Oracle) -> Option<Verdict> {
    match compared.case.tool {
        "replace" => replace(compared),
        "glob" => glob(compared),
        "grep_search" => grep_search(compared, oracle),
        _ => None,
    }
}

fn glob(compared: &Compared<'_>) -> Option<Verdict> {
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
        return Some(Verdict::Chosen(
            "a link to an ignored file is not counted as ignored",
        ));
    }
    let pattern = compared.case.arguments["pattern"].as_str()?;
    let leaves = pattern.starts_with('/') || pattern.split('/').any(|part| part == "..");
    (leaves && compared.ours.text.starts_with("No files found")).then_some(Verdict::Promised(
        "a glob pattern does not lead out of the directory that is searched",
    ))
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
    if is_equal_with_grep(compared, oracle) {
        return Some(Verdict::EqualWithGrep);
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
    reasons.extend(missed(compared, &arguments, &mut kept));
    kept.truncate(most);
    if !is_told(compared, &kept) {
        return None;
    }
    if are_left_out_by_grep(compared, oracle, &skipped) {
        reasons.retain(|reason| ![BINARY, LINK].contains(reason));
    }
    match (reasons.first(), skipped.is_empty()) {
        // The same matches but for the limit: only the order of the files differs.
        (None, true) => (kept.len() == most).then_some(Verdict::Equal),
        (None, false) => Some(Verdict::EqualWithGrep),
        (Some(reason), _) => {
            let chosen = reasons.iter().find(|reason| !PROMISED.contains(reason));
            Some(chosen.map_or(Verdict::Promised(reason), |reason| Verdict::Chosen(reason)))
        }
    }
}

const BINARY: &str = "binary files are not searched";
const LINK: &str = "links are not searched";
const BLOCKED: &str = "a file that tools must not read is not searched";
const GEMINIIGNORE: &str = "`.geminiignore` counts for `grep_search`";

/// A link may lead out of the workspace, and ignored files are not shown. Other reasons are a choice.
const PROMISED: [&str; 3] = [LINK, BLOCKED, GEMINIIGNORE];

/// The same call on a machine that has `grep`, if it was made without.
fn case_with_grep(compared: &Compared<'_>) -> Option<Case> {
    compared.case.path?;
    Some(Case {
        path: None,
        ..compared.case.clone()
    })
}

/// Whether Gemini CLI gives our answer if it finds `grep`, as on nearly every machine. `grep` leaves out links and binary files.
fn is_equal_with_grep(compared: &Compared<'_>, oracle: &mut Oracle) -> bool {
    let workspace = &compared.tree.workspace;
    case_with_grep(compared).is_some_and(|case| oracle.ask(&case, workspace) == *compared.ours)
}

/// Whether Gemini CLI with `grep` finds no line at all in the links and binary files among these.
fn are_left_out_by_grep(
    compared: &Compared<'_>,
    oracle: &mut Oracle,
    skipped: &[(&'static str, String)],
) -> bool {
    let is_left_out = |(reason, _): &&(&str, String)| [BINARY, LINK].contains(reason);
    let left_out: Vec<_> = skipped.iter().filter(is_left_out).collect();
    let Some(case) = case_with_grep(compared).filter(|_| !left_out.is_empty()) else {
        return false;
    };
    let mut arguments =
        json!({ "pattern": "", "names_only": true, "total_max_matches": 1_000_000 });
    if let Some(directory) = case.arguments.get("dir_path") {
        arguments["dir_path"] = directory.clone();
    }
    let found = oracle.ask_with(&case, &arguments, &compared.tree.workspace);
    // An answer without matches would prove nothing.
    let has_matches = found.error.is_none() && found.text.starts_with("Found ");
    let found: BTreeSet<_> = found.text.lines().skip(1).collect();
    let is_absent = |(_, file): &&(&str, String)| !found.contains(file.as_str());
    has_matches && left_out.iter().all(is_absent)
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
        return Some(LINK);
    }
    let path = path.canonicalize().ok()?;
    if tree.workspace.open().place(&path).is_err() {
        return Some(BLOCKED);
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
        return Some(GEMINIIGNORE);
    }
    let bytes = std::fs::read(path).ok()?;
    (!tree.is_repository && bytes[..bytes.len().min(8000)].contains(&0)).then_some(BINARY)
}

/// Adds the matches that Gemini CLI misses, by arguments without a limit, and says why it does.
fn missed(
    compared: &Compared<'_>,
    arguments: &Value,
    kept: &mut Vec<LineMatch>,
) -> Option<&'static str> {
    let text = |name: &str| {
        arguments
            .get(name)
            .and_then(Value::as_str)
            .unwrap_or_default()
    };
    let known: BTreeSet<_> = kept.iter().cloned().collect();
    let unlimited = Case {
        arguments: arguments.clone(),
        ..compared.case.clone()
    };
    let extra: Vec<_> = matches(&compared.tree.call(&unlimited).text)
        .into_iter()
        .filter(|found| !known.contains(found))
        .collect();
    let is_top = extra.iter().all(|(file, _)| !file.contains('/'));
    let is_missed = compared.tree.is_repository && !extra.is_empty() && is_top;
    if !is_missed || !text("include_pattern").starts_with("**/") {
        return None;
    }
    kept.extend(extra);
    kept.sort();
    Some("`**/` in `include_pattern` stands for the directory itself, too")
}

fn replace(compared: &Compared<'_>) -> Option<Verdict> {
    let is_untouched = compared.our_bytes == compared.before;
    let is_theirs_untouched = compared.their_bytes == compared.before;
    let is_refusal = compared.ours.error.is_some() && is_untouched;
    let is_text = |bytes: Option<&[u8]>| std::str::from_utf8(bytes.unwrap_or_default()).is_ok();
    if is_refusal && !is_text(compared.before) && !is_theirs_untouched {
        return Some(Verdict::Promised("a file that is not UTF-8 is not edited"));
    }
    let truth = compared.case.truth.as_ref().map(String::as_bytes);
    truth?;
    if is_refusal && compared.their_bytes == truth && is_other_line_changed(compared) {
        return Some(Verdict::Chosen(
            "a line that the edit changes has to be the one in `old_string`",
        ));
    }
    // From here on an excuse needs an edit of Gemini CLI that is not the one that was meant.
    if is_theirs_untouched || compared.their_bytes == truth {
        return None;
    }
    if is_refusal {
        let name = "an edit that would damage lines is refused";
        return Some(Verdict::Promised(name));
    }
    if compared.our_bytes == truth {
        let name = "lines keep their indentation and white space";
        return Some(Verdict::Promised(name));
    }
    let is_nearer = distance(compared.our_bytes, truth) <= distance(compared.their_bytes, truth);
    let is_meant = words(compared.our_bytes) == words(truth) && is_nearer;
    is_meant.then(|| match damage_by_gemini_cli(compared) {
        Some(name) => Verdict::Promised(name),
        None => Verdict::Chosen("lines that the edit changes differ in white space"),
    })
}

/// How Gemini CLI damages lines of the file that was meant, which our tool has.
fn damage_by_gemini_cli(compared: &Compared<'_>) -> Option<&'static str> {
    let all_lines = |bytes: Option<&[u8]>| -> Vec<String> {
        let text = String::from_utf8_lossy(bytes.unwrap_or_default()).into_owned();
        text.split('\n').map(str::to_owned).collect()
    };
    let truth = all_lines(compared.case.truth.as_ref().map(String::as_bytes));
    let (ours, theirs) = (
        all_lines(compared.our_bytes),
        all_lines(compared.their_bytes),
    );
    let full = |lines: &[String]| -> BTreeSet<String> {
        let full = lines.iter().filter(|line| !line.trim().is_empty());
        full.cloned().collect()
    };
    let indented = |lines: &BTreeSet<String>| -> BTreeSet<String> {
        let start = |line: &String| {
            let inside = line.trim_start();
            format!("{}{}", &line[..line.len() - inside.len()], words_of(inside))
        };
        lines.iter().map(start).collect()
    };
    let kept = &full(&truth) & &full(&ours);
    let empty_lines = |lines: &[String]| lines.iter().filter(|line| line.trim().is_empty()).count();
    let misses = |lines: &[String]| empty_lines(lines).abs_diff(empty_lines(&truth));
    if !(&indented(&full(&truth)) & &indented(&full(&ours))).is_subset(&indented(&full(&theirs))) {
        Some("lines keep their indentation, nearly as meant")
    } else if !kept.is_subset(&full(&theirs)) {
        Some("lines that the edit does not change keep white space within and behind them")
    } else if misses(&theirs) > misses(&ours) {
        Some("an edit adds and removes no empty lines beside its own")
    } else {
        None
    }
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

/// Whether our edit made another change than the case intends. The other comparisons judge white space, edits whose new text is
/// perturbed itself, and edits in several places.
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
        return false; // an exact edit is the intended one
    }
    let is_edited = compared.ours.error.is_none() && compared.our_bytes != compared.before;
    is_edited && words(compared.our_bytes) != words(Some(truth.as_bytes()))
}

/// The lines of a text without white space, and without empty ones.
fn words(bytes: Option<&[u8]>) -> Vec<String> {
    let text = String::from_utf8_lossy(bytes.unwrap_or_default()).into_owned();
    let lines = text.lines().map(words_of);
    lines.filter(|line| !line.is_empty()).collect()
}

fn words_of(line: &str) -> String {
    let letters = line.chars();
    letters.filter(|letter| !letter.is_whitespace()).collect()
}
