//! Matchers: names of tools, and words of sessions.

use std::collections::HashSet;

use super::super::names::CLAUDE_TOOLS;
use super::super::{HookEvent, MatcherKind};
use crate::js::regex::{self, PatternMatch};

/// A translated matcher: one or several, and the lost parts.
#[derive(Debug, Default, PartialEq)]
pub(super) struct TranslatedMatcher {
    pub(super) matchers: Vec<Option<String>>,
    /// The lost parts, and why.
    pub(super) lost: Vec<(String, String)>,
    pub(super) remarks: Vec<String>,
}

/// The words of Claude Code's sessions, and Gemini CLI's.
const SESSION_WORDS: [(HookEvent, &str, Option<&str>); 10] = [
    (HookEvent::SessionStart, "startup", Some("startup")),
    (HookEvent::SessionStart, "resume", Some("resume")),
    (HookEvent::SessionStart, "clear", Some("clear")),
    (HookEvent::SessionStart, "compact", None),
    (HookEvent::SessionEnd, "clear", Some("clear")),
    (HookEvent::SessionEnd, "logout", None),
    (HookEvent::SessionEnd, "prompt_input_exit", Some("exit")),
    (HookEvent::SessionEnd, "other", Some("exit")),
    (HookEvent::PreCompress, "manual", Some("manual")),
    (HookEvent::PreCompress, "auto", Some("auto")),
];

/// Claude Code's notification that Gemini CLI has too.
const PERMISSION: &str = "permission_prompt";

fn is_all(matcher: &str) -> bool {
    let matcher = matcher.trim();
    matcher.is_empty() || matcher == "*"
}

/// Each name of a tool becomes ours, wherever it stands as a word; those of servers lose a line between their parts.
pub(super) fn translate_tools(matcher: &str) -> TranslatedMatcher {
    let mut translated = TranslatedMatcher::default();
    if is_all(matcher) {
        translated.matchers.push(None);
        return translated;
    }
    let mut out = String::new();
    for piece in word_pieces(matcher) {
        let known = CLAUDE_TOOLS.iter().find(|(claude, _)| *claude == piece);
        if let Some((_, ours)) = known {
            out.push_str(ours);
        } else if piece.starts_with("mcp__") {
            out.push_str(&piece.replace("__", "_"));
        } else {
            let is_name = piece.starts_with(|it: char| it.is_ascii_uppercase());
            if is_name {
                translated.remarks.push(format!(
                    "`{piece}` in matcher `{matcher}` is not a tool of Gemini CLI, and was kept"
                ));
            }
            out.push_str(piece);
        }
    }
    // The text behind `mcp__` in a pattern is not part of the word.
    let out = if matcher.contains("mcp__") {
        out.replace("__", "_")
    } else {
        out
    };
    translated.matchers.push(Some(each_once(out)));
    translated
}

/// Two tools of Claude Code's may be one here.
fn each_once(matcher: String) -> String {
    let Some(words) = regex::plain_words(&matcher) else {
        return matcher;
    };
    let mut seen = HashSet::new();
    let words: Vec<_> = words
        .into_iter()
        .filter(|word| seen.insert(*word))
        .collect();
    words.join("|")
}

/// A text as words and separators.
fn word_pieces(text: &str) -> Vec<&str> {
    let is_word = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
    let mut pieces = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let kind = is_word(first);
        let end = rest
            .find(|letter| is_word(letter) != kind)
            .unwrap_or(rest.len());
        let (piece, after) = rest.split_at(end);
        pieces.push(piece);
        rest = after;
    }
    pieces
}

/// Session events compare letter for letter here: one matcher for each word that Claude Code's pattern matches.
pub(super) fn translate_words(event: HookEvent, matcher: &str) -> TranslatedMatcher {
    let mut translated = TranslatedMatcher::default();
    if is_all(matcher) {
        translated.matchers.push(None);
        return translated;
    }
    let known = SESSION_WORDS.iter().filter(|(of, _, _)| *of == event);
    for (_, theirs, ours) in known {
        if !matches!(
            regex::search_pattern(matcher, theirs),
            PatternMatch::Certain(true) | PatternMatch::Literal(true)
        ) {
            continue;
        }
        match ours {
            Some(ours) => {
                let ours = Some((*ours).to_owned());
                if !translated.matchers.contains(&ours) {
                    translated.matchers.push(ours);
                }
            }
            None => translated.lost.push((
                (*theirs).to_owned(),
                format!("{event} has no `{theirs}` in Gemini CLI"),
            )),
        }
    }
    if translated.matchers.is_empty() && translated.lost.is_empty() {
        let MatcherKind::Exact(known) = event.matching() else {
            return translated;
        };
        let known = known.join(", ");
        translated.lost.push((
            matcher.to_owned(),
            format!("it matches none of the words of {event}: {known}"),
        ));
    }
    translated
}

/// Where nothing is matched, a matcher only says whether it is worth having.
pub(super) fn translate_ignored(event: HookEvent, matcher: &str) -> TranslatedMatcher {
    let mut translated = TranslatedMatcher::default();
    let is_lost = event == HookEvent::Notification
        && !is_all(matcher)
        && regex::search_pattern(matcher, PERMISSION) == PatternMatch::Certain(false);
    if is_lost {
        translated.lost.push((
            matcher.to_owned(),
            "Gemini CLI notifies of permission prompts only".to_owned(),
        ));
    } else {
        translated.matchers.push(None);
    }
    translated
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tools_get_their_names() {
        let check = |matcher: &str, expected: &str| {
            assert_eq!(
                translate_tools(matcher).matchers,
                [Some(expected.to_owned())],
                "{matcher}"
            );
        };
        check("Edit|Write", "replace|write_file");
        check("Bash", "run_shell_command");
        check("^(Grep|LS)$", "^(grep_search|list_directory)$");
        check("mcp__github__search", "mcp_github_search");
        check("mcp__.*__write.*", "mcp_.*_write.*");
        check("MultiEdit", "replace");
        check("Edit|MultiEdit|Write", "replace|write_file");
        check("^(Edit|MultiEdit)$", "^(replace|replace)$");
        check("NotebookEdit", "NotebookEdit");
        assert_eq!(translate_tools("NotebookEdit|Bash").remarks.len(), 1);
        assert_eq!(translate_tools("*").matchers, [None]);
        assert_eq!(translate_tools("").matchers, [None]);
    }

    #[test]
    fn words_of_sessions_become_one_definition_each() {
        let some = |words: &[&str]| {
            words
                .iter()
                .map(|word| Some((*word).to_owned()))
                .collect::<Vec<_>>()
        };
        let translated = translate_words(HookEvent::SessionStart, "startup|resume|compact");
        assert_eq!(translated.matchers, some(&["startup", "resume"]));
        assert_eq!(
            translated.lost,
            [(
                "compact".to_owned(),
                "SessionStart has no `compact` in Gemini CLI".to_owned()
            )]
        );
        assert_eq!(
            translate_words(HookEvent::SessionEnd, "other|prompt_input_exit").matchers,
            some(&["exit"])
        );
        assert_eq!(translate_words(HookEvent::PreCompress, "").matchers, [None]);
        assert_eq!(
            translate_words(HookEvent::PreCompress, "never").matchers,
            []
        );
        assert_eq!(
            translate_words(HookEvent::PreCompress, "never").lost.len(),
            1
        );
    }
}
