//! Glob patterns as the `glob` package of npm reads them: braces, `**`, classes and groups such as `@(a|b)`.
//!
//! A pattern is matched name by name while a tree is walked, so that directories in which nothing can match are never opened.

use fancy_regex::Regex;
use std::fmt::Write as _;

/// Patterns that braces make of one, at most.
const MOST_ALTERNATIVES: usize = 10_000;
/// A name that needs more steps back does not match.
const MOST_STEPS: usize = 100_000;

/// A pattern for paths below a directory.
#[derive(Debug)]
pub(super) struct GlobPattern {
    alternatives: Vec<Vec<Segment>>,
}

#[derive(Debug)]
enum Segment {
    /// `**`: any number of directories.
    Any,
    /// A name letter for letter.
    Literal(String),
    Matched(Box<Regex>),
}

/// Places in a pattern that the names of a directory have led to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct GlobState(Vec<(usize, usize)>);

/// How letters are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Case {
    Sensitive,
    Ignored,
}

impl GlobPattern {
    /// Reads a pattern. One that leaves the directory matches nothing.
    pub(super) fn new(pattern: &str, case: Case) -> Self {
        let alternatives = expand_braces(pattern);
        let alternatives = alternatives
            .iter()
            .filter_map(|pattern| parse_segments(pattern, case));
        Self {
            alternatives: alternatives.collect(),
        }
    }

    /// A pattern that is a path: its letters have no other meaning.
    pub(super) fn from_literal_path(path: &str, case: Case) -> Self {
        let names = path
            .split('/')
            .filter(|name| !name.is_empty() && *name != ".");
        let segments: Option<Vec<_>> = names.map(|name| literal_segment(name, case)).collect();
        Self {
            alternatives: segments.into_iter().collect(),
        }
    }

    /// The state of the directory where matching begins.
    pub(super) fn start_state(&self) -> GlobState {
        let places = (0..self.alternatives.len()).map(|alternative| (alternative, 0));
        self.closed_state(places.collect())
    }

    /// The state of a directory; none if nothing in it can match.
    pub(super) fn enter_directory(&self, above: &GlobState, name: &str) -> Option<GlobState> {
        let mut places = Vec::new();
        for (alternative, place) in &above.0 {
            match &self.alternatives[*alternative][*place] {
                Segment::Any => places.push((*alternative, *place)),
                segment if segment.matches_name(name) => places.push((*alternative, place + 1)),
                _ => {}
            }
        }
        let state = self.closed_state(places);
        (!state.0.is_empty()).then_some(state)
    }

    /// Whether a file in a directory matches.
    pub(super) fn matches_file(&self, directory: &GlobState, name: &str) -> bool {
        directory.0.iter().any(|(alternative, place)| {
            let segments = &self.alternatives[*alternative];
            place + 1 == segments.len() && segments[*place].matches_name(name)
        })
    }

    /// Whether a path matches.
    pub(super) fn matches_path(&self, path: &str) -> bool {
        let (directories, name) = path
            .rsplit_once('/')
            .map_or(("", path), |(above, name)| (above, name));
        let mut state = self.start_state();
        for directory in directories.split('/').filter(|name| !name.is_empty()) {
            match self.enter_directory(&state, directory) {
                Some(next) => state = next,
                None => return false,
            }
        }
        self.matches_file(&state, name)
    }

    /// Adds the places behind `**`, which may stand for nothing. Places at the end of a pattern lead nowhere.
    fn closed_state(&self, mut places: Vec<(usize, usize)>) -> GlobState {
        let mut next = 0;
        while let Some((alternative, place)) = places.get(next).copied() {
            next += 1;
            let segments = &self.alternatives[alternative];
            let behind = (alternative, place + 1);
            let is_any = matches!(segments.get(place), Some(Segment::Any));
            if is_any && place + 1 < segments.len() && !places.contains(&behind) {
                places.push(behind);
            }
        }
        places.retain(|(alternative, place)| *place < self.alternatives[*alternative].len());
        places.sort_unstable();
        places.dedup();
        GlobState(places)
    }
}

impl Segment {
    fn matches_name(&self, name: &str) -> bool {
        match self {
            Self::Any => true,
            Self::Literal(literal) => literal == name,
            // That a name is not empty is asked here: as a look-ahead in the pattern it would make each match five times as dear.
            Self::Matched(regex) => !name.is_empty() && regex.is_match(name).unwrap_or(false),
        }
    }
}

fn parse_segments(pattern: &str, case: Case) -> Option<Vec<Segment>> {
    let mut segments: Vec<Segment> = Vec::new();
    for part in split_pattern(pattern) {
        match part.as_str() {
            "" | "." => {}
            ".." => match segments.pop() {
                Some(Segment::Literal(_) | Segment::Matched(_)) => {}
                Some(Segment::Any) | None => return None,
            },
            "**" if matches!(segments.last(), Some(Segment::Any)) => {}
            "**" => segments.push(Segment::Any),
            part => segments.push(parse_segment(part, case)?),
        }
    }
    (!segments.is_empty()).then_some(segments)
}

/// The parts between slashes. A slash in a class does not part.
fn split_pattern(pattern: &str) -> Vec<String> {
    pattern.split('/').map(str::to_owned).collect()
}

fn parse_segment(part: &str, case: Case) -> Option<Segment> {
    let is_magic = part.contains(['*', '?', '[', '(', '\\', '+', '@', '!']);
    if !is_magic {
        return literal_segment(part, case);
    }
    let letters: Vec<char> = part.chars().collect();
    let mut writer = SegmentWriter {
        letters: &letters,
        at: 0,
    };
    let body = writer.write_sequence(None)?;
    regex_segment(&body, case)
}

fn literal_segment(name: &str, case: Case) -> Option<Segment> {
    match case {
        Case::Sensitive => Some(Segment::Literal(name.to_owned())),
        Case::Ignored => regex_segment(&regex::escape(name), case),
    }
}

fn regex_segment(body: &str, case: Case) -> Option<Segment> {
    let flag = if case == Case::Ignored { "(?i)" } else { "" };
    let mut builder = fancy_regex::RegexBuilder::new(&format!(r"(?s){flag}\A(?:{body})\z"));
    let regex = builder.backtrack_limit(MOST_STEPS).build().ok()?;
    Some(Segment::Matched(Box::new(regex)))
}

/// Writes one part of a pattern as a regular expression.
struct SegmentWriter<'a> {
    letters: &'a [char],
    at: usize,
}

impl SegmentWriter<'_> {
    /// Items up to the end, or up to the end of a group.
    fn write_sequence(&mut self, group: Option<char>) -> Option<String> {
        let mut out = String::new();
        while let Some(letter) = self.letters.get(self.at).copied() {
            if group.is_some() && matches!(letter, '|' | ')') {
                return Some(out);
            }
            self.at += 1;
            self.write_item(letter, &mut out);
        }
        group.is_none().then_some(out)
    }

    fn write_item(&mut self, letter: char, out: &mut String) {
        let opens = self.letters.get(self.at) == Some(&'(');
        match letter {
            '?' | '*' | '+' | '@' | '!' if opens => match self.write_group(letter) {
                Some(group) => out.push_str(&group),
                None => push_plain(letter, out),
            },
            '*' => out.push_str("[^/]*?"),
            '?' => out.push_str("[^/]"),
            '[' => match self.write_class() {
                Some(class) => out.push_str(&class),
                None => out.push_str(r"\["),
            },
            '\\' => match self.letters.get(self.at).copied() {
                Some(next) => {
                    self.at += 1;
                    out.push_str(&regex::escape(&next.to_string()));
                }
                None => out.push_str(r"\\"),
            },
            other => out.push_str(&regex::escape(&other.to_string())),
        }
    }

    /// A group such as `@(a|b)`; none if it is not closed, and nothing is read then.
    fn write_group(&mut self, kind: char) -> Option<String> {
        let start = self.at;
        self.at += 1;
        let mut alternatives = Vec::new();
        loop {
            let Some(alternative) = self.write_sequence(Some(kind)) else {
                self.at = start;
                return None;
            };
            alternatives.push(alternative);
            self.at += 1;
            match self.letters.get(self.at - 1) {
                Some(')') => break,
                Some('|') => {}
                _ => {
                    self.at = start;
                    return None;
                }
            }
        }
        let all = alternatives.join("|");
        Some(match kind {
            '!' => {
                // The rest belongs to the excluded name: `!(a).txt` is not `a.txt`.
                let behind = SegmentWriter {
                    letters: self.letters,
                    at: self.at,
                }
                .write_sequence(None)
                .unwrap_or_default();
                format!("(?:(?!(?:{all}){behind}\\z)[^/]*?)")
            }
            '@' => format!("(?:{all})"),
            other => format!("(?:{all}){other}"),
        })
    }

    /// A class such as `[a-z]`; none if it is not closed.
    fn write_class(&mut self) -> Option<String> {
        let mut at = self.at;
        let is_negated = matches!(self.letters.get(at), Some('!' | '^'));
        at += usize::from(is_negated);
        let mut members = String::new();
        let first = at;
        loop {
            let letter = *self.letters.get(at)?;
            if letter == ']' && at > first {
                break;
            }
            if letter == '[' && self.letters.get(at + 1) == Some(&':') {
                let rest: String = self.letters[at + 2..].iter().collect();
                if let Some((name, _)) = rest.split_once(":]") {
                    let _ = write!(members, "[:{name}:]");
                    at += name.chars().count() + 4;
                    continue;
                }
            }
            let letter = if letter == '\\' {
                at += 1;
                *self.letters.get(at)?
            } else {
                letter
            };
            if letter == '-'
                && at > first
                && self.letters.get(at + 1).is_some_and(|next| *next != ']')
            {
                members.push('-');
            } else {
                members.push_str(&regex::escape(&letter.to_string()));
            }
            at += 1;
        }
        self.at = at + 1;
        let mark = if is_negated { "^" } else { "" };
        Some(format!("[{mark}{members}]"))
    }
}

fn push_plain(letter: char, out: &mut String) {
    match letter {
        '*' => out.push_str("[^/]*?"),
        '?' => out.push_str("[^/]"),
        other => out.push_str(&regex::escape(&other.to_string())),
    }
}

/// The patterns that braces stand for: `{a,b}` and `{1..3}`.
fn expand_braces(pattern: &str) -> Vec<String> {
    let mut done = Vec::new();
    let mut waiting = vec![pattern.to_owned()];
    while let Some(pattern) = waiting.pop() {
        if done.len() + waiting.len() >= MOST_ALTERNATIVES {
            done.push(pattern);
            continue;
        }
        match first_braces(&pattern) {
            Some((start, end, parts)) => {
                let (before, behind) = (&pattern[..start], &pattern[end..]);
                let all = parts.iter().map(|part| format!("{before}{part}{behind}"));
                waiting.extend(all.rev().collect::<Vec<_>>());
            }
            None => done.push(pattern),
        }
    }
    done
}

/// The first braces that are a list: their place and their choices.
fn first_braces(pattern: &str) -> Option<(usize, usize, Vec<String>)> {
    let bytes = pattern.as_bytes();
    let mut from = 0;
    while let Some(open) = bytes[from..]
        .iter()
        .position(|byte| *byte == b'{')
        .map(|place| from + place)
    {
        let is_escaped = open > 0 && bytes[open - 1] == b'\\';
        let is_variable = open > 0 && bytes[open - 1] == b'$';
        if !is_escaped
            && !is_variable
            && let Some((close, parts)) = braces_at(pattern, open)
        {
            return Some((open, close + 1, parts));
        }
        from = open + 1;
    }
    None
}

fn braces_at(pattern: &str, open: usize) -> Option<(usize, Vec<String>)> {
    let bytes = pattern.as_bytes();
    let (mut depth, mut commas) = (0, vec![open]);
    let mut at = open;
    loop {
        match *bytes.get(at)? {
            b'\\' => at += 1,
            b'{' => depth += 1,
            b'}' => {
                depth -= 1;
                if depth == 0 {
                    break;
                }
            }
            b',' if depth == 1 => commas.push(at),
            _ => {}
        }
        at += 1;
    }
    if commas.len() == 1 {
        return expand_range(&pattern[open + 1..at]).map(|parts| (at, parts));
    }
    commas.push(at);
    let parts = commas
        .windows(2)
        .map(|pair| pattern[pair[0] + 1..pair[1]].to_owned());
    Some((at, parts.collect()))
}

/// The numbers or letters of a range.
fn expand_range(inside: &str) -> Option<Vec<String>> {
    let (first, last) = inside.split_once("..")?;
    if let (Ok(first), Ok(last)) = (first.parse::<i64>(), last.parse::<i64>()) {
        let count = usize::try_from(first.abs_diff(last)).ok()?;
        if count > MOST_ALTERNATIVES {
            return None;
        }
        let numbers = first.min(last)..=first.max(last);
        let mut numbers: Vec<_> = numbers.map(|number| number.to_string()).collect();
        if first > last {
            numbers.reverse();
        }
        return Some(numbers);
    }
    let letter = |text: &str| match text.as_bytes() {
        [byte] if byte.is_ascii_alphabetic() => Some(*byte),
        _ => None,
    };
    let (first, last) = (letter(first)?, letter(last)?);
    let mut letters: Vec<_> = (first.min(last)..=first.max(last))
        .map(|byte| char::from(byte).to_string())
        .collect();
    if first > last {
        letters.reverse();
    }
    Some(letters)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn patterns_match_as_those_of_npm() {
        let check = |pattern: &str, path: &str, expected: bool| {
            let glob = GlobPattern::new(pattern, Case::Ignored);
            assert_eq!(glob.matches_path(path), expected, "{pattern} on {path}");
        };
        check("*.rs", "a.rs", true);
        check("*.rs", "src/a.rs", false);
        check("**/*.rs", "a.rs", true);
        check("**/*.rs", "src/deep/A.RS", true);
        check("src/**", "src/a/b", true);
        check("src/**", "src", false);
        check("*.{rs,toml}", "a.toml", true);
        check("{a,b{c,d}}.txt", "bd.txt", true);
        check("v{1..3}.txt", "v2.txt", true);
        check("[ab].txt", "b.txt", true);
        check("[!ab].txt", "b.txt", false);
        check("@(a|b).txt", "a.txt", true);
        check("!(a).txt", "a.txt", false);
        check("+(ab).txt", "abab.txt", true);
        check("**", "a/b", true);
        check("./a.txt", "a.txt", true);
        check("src/../a.txt", "a.txt", true);
        check("../a.txt", "a.txt", false);
        check("[", "[", true);
        check("(a", "(a", true);
        check("*", ".hidden", true);
    }

    proptest! {
        #[test]
        fn any_pattern_is_read_and_matched(pattern in "[ab*?/!@+(){}|,.\\[\\]\\\\-]{0,16}", path in "[ab./]{1,10}") {
            GlobPattern::new(&pattern, Case::Ignored).matches_path(&path);
        }
    }
}
