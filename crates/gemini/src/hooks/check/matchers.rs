//! Matchers that can never match, or that are ignored.

use std::collections::HashSet;

use super::super::names::{known_tools, nearest, tool_meant};
use super::super::{Hook, HookEntry, HookEvent, MatcherKind};
use super::{FindingReport, LintSeverity, UnplacedFinding};
use crate::js;
use crate::js::regex::{self, PatternMatch};

/// How many letters of a matcher are repeated.
const SHOWN: usize = 80;

/// How many words of one matcher are reported.
const MOST_WORDS: usize = 20;

/// The words that are in Gemini CLI's source but that nothing sends.
const NEVER_SENT: [&str; 3] = ["logout", "prompt_input_exit", "other"];

pub(super) fn check_matcher(report: &mut FindingReport<'_>, entry: &HookEntry) {
    for (severity, code, sentence, hint) in matcher_subjects(&entry.hook) {
        let subject = entry.hook.display_name();
        report.add_to(
            entry,
            "../matcher",
            UnplacedFinding {
                severity,
                code,
                subject,
                sentence,
                hint,
            },
        );
    }
}

type MatcherSubject = (LintSeverity, &'static str, String, Option<String>);

/// Why a hook's matcher can never match, if that is certain.
pub(in crate::hooks) fn never_matches(hook: &Hook) -> Option<String> {
    let (severity, code, sentence, _) = matcher_subjects(hook).into_iter().next()?;
    let is_dead = code == "bad_matcher" || code == "dead_matcher";
    let is_all_of_it =
        severity == LintSeverity::Error || matches!(hook.event.matching(), MatcherKind::Exact(_));
    (is_dead && is_all_of_it).then_some(sentence)
}

fn matcher_subjects(hook: &Hook) -> Vec<MatcherSubject> {
    let pattern = hook.matcher.as_deref().map(js::trim);
    let Some(pattern) = pattern.filter(|it| !it.is_empty() && *it != "*") else {
        return Vec::new();
    };
    match hook.event.matching() {
        MatcherKind::ToolName => tool_subjects(pattern),
        MatcherKind::Exact(words) => session_subject(hook.event, pattern, words)
            .into_iter()
            .collect(),
        MatcherKind::Ignored => vec![ignored_subject(hook.event)],
    }
}

/// A matcher for a message, shortened.
fn shortened_pattern(pattern: &str) -> String {
    match pattern.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}…", &pattern[..end]),
        None => pattern.to_owned(),
    }
}

fn ignored_subject(event: HookEvent) -> MatcherSubject {
    (
        LintSeverity::Warning,
        "ignored_matcher",
        format!("{event} has nothing to match: the matcher is ignored, and the hook always runs"),
        Some("leave the matcher out".to_owned()),
    )
}

/// Session events compare letter for letter.
fn session_subject(
    event: HookEvent,
    pattern: &str,
    words: &[&'static str],
) -> Option<MatcherSubject> {
    if NEVER_SENT.contains(&pattern) && words.contains(&pattern) {
        let sentence =
            format!("nothing ends with `{pattern}` in Gemini CLI 0.61, so the hook never runs");
        return Some((LintSeverity::Warning, "dead_matcher", sentence, None));
    }
    if words.contains(&pattern) {
        return None;
    }
    let sent: Vec<&str> = words
        .iter()
        .filter(|word| !NEVER_SENT.contains(word))
        .copied()
        .collect();
    let parts = pattern.split('|').map(str::trim);
    let hint = if pattern.contains('|') && parts.clone().all(|part| words.contains(&part)) {
        "write one definition for each word, or leave the matcher out".to_owned()
    } else if let Some(word) = nearest(pattern, sent.iter().copied()) {
        format!("did you mean `{word}`?")
    } else {
        format!("{event} has the words {}", sent.join(", "))
    };
    let pattern = shortened_pattern(pattern);
    let sentence = format!(
        "{event} compares a matcher letter for letter, and `{pattern}` is none of its words: the hook never runs"
    );
    Some((LintSeverity::Error, "dead_matcher", sentence, Some(hint)))
}

/// Tools are matched by a regular expression, and their names are known but for those of servers and agents.
fn tool_subjects(pattern: &str) -> Vec<MatcherSubject> {
    let Some(words) = regex::plain_words(pattern) else {
        return expression_subject(pattern).into_iter().collect();
    };
    let mut seen = HashSet::new();
    let words = words.into_iter().filter(|word| seen.insert(*word));
    let about = words.filter_map(|word| tool_word(pattern, word));
    about.take(MOST_WORDS).collect()
}

/// A matcher that is more than words.
fn expression_subject(pattern: &str) -> Option<MatcherSubject> {
    let found: Vec<PatternMatch> = known_tools()
        .map(|tool| regex::search_pattern(pattern, tool))
        .collect();
    let may_be_others = pattern.contains("mcp") || pattern.contains("discovered");
    let pattern = shortened_pattern(pattern);
    if let Some(PatternMatch::Unknown(why)) = found
        .iter()
        .find(|it| matches!(it, PatternMatch::Unknown(_)))
    {
        let sentence =
            format!("cannot tell what `{pattern}` matches: {why}; Lapidary runs the hook");
        return Some((LintSeverity::Warning, "hard_matcher", sentence, None));
    }
    if found
        .iter()
        .any(|it| matches!(it, PatternMatch::Literal(_)))
    {
        let sentence = format!(
            "`{pattern}` is not a regular expression, so it is compared as plain text and matches no tool"
        );
        return Some((
            LintSeverity::Error,
            "bad_matcher",
            sentence,
            Some("close every bracket, and put `\\\\` before what stands for itself".to_owned()),
        ));
    }
    let is_dead = found.iter().all(|it| *it == PatternMatch::Certain(false));
    if !is_dead || may_be_others {
        return None;
    }
    let sentence = format!("`{pattern}` matches none of Gemini CLI's own tools");
    Some((LintSeverity::Warning, "unknown_tool", sentence, None))
}

/// One of the words of a matcher that is nothing but words.
fn tool_word(pattern: &str, word: &str) -> Option<MatcherSubject> {
    let is_known = known_tools().any(|tool| tool.contains(word));
    let of_others = word.starts_with("mcp_") || word.starts_with("discovered_tool_");
    if is_known || of_others {
        return None;
    }
    let whole = if pattern == word {
        String::new()
    } else {
        format!(" (of `{}`)", shortened_pattern(pattern))
    };
    let word = &*shortened_pattern(word);
    if let Some(tool) = tool_meant(word) {
        let others = pattern
            .split('|')
            .any(|other| known_tools().any(|tool| tool.contains(other)));
        let severity = if others {
            LintSeverity::Warning
        } else {
            LintSeverity::Error
        };
        let sentence =
            format!("no tool is called `{word}`{whole}: it never matches, and case counts");
        return Some((
            severity,
            "dead_matcher",
            sentence,
            Some(format!("write `{tool}`")),
        ));
    }
    let sentence = format!("`{word}`{whole} is in the name of none of Gemini CLI's own tools");
    let hint = nearest(word, known_tools()).map(|tool| format!("did you mean `{tool}`?"));
    Some((LintSeverity::Warning, "unknown_tool", sentence, hint))
}
