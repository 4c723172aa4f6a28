//! Code with its colours: seven classes, enough to read by, small enough to send.
//!
//! syntect's own HTML generator writes every scope as a class (`<span class="source rust meta function …">`), which makes a
//! page five to ten times as large as its code. Here a scope that matters becomes one letter.

use std::sync::LazyLock;
use std::time::{Duration, Instant};

use syntect::easy::ScopeRegionIterator;
use syntect::parsing::{ParseState, Scope, ScopeStack, SyntaxReference, SyntaxSet};
use syntect::util::LinesWithEndings;

use super::escape::escape_clean;
use crate::plain::sanitize;

/// Larger blocks stay plain: colours would take longer than anyone waits, and nobody reads that much.
const LARGEST_BLOCK: usize = 64 * 1024;
const LONGEST_LINE: usize = 2000;
/// All blocks of a page together, so that a thousand middling ones do not add up: about three seconds of work.
const LARGEST_SUM: usize = 1024 * 1024;
/// Grammars backtrack, and a hostile text can make them. When this is used up the rest stays plain.
const PATIENCE: Duration = Duration::from_secs(10);

static SYNTAXES: LazyLock<SyntaxSet> = LazyLock::new(two_face::syntax::extra_newlines);

/// What a scope is shown as; the first that fits wins. An empty class ends the search: plain text within something coloured.
static CLASSES: LazyLock<Vec<(Scope, &'static str)>> = LazyLock::new(|| {
    let table = [
        ("comment", "c"),
        ("constant.character.escape", "n"),
        ("string", "s"),
        ("constant", "n"),
        ("keyword.operator", ""),
        ("keyword", "k"),
        ("storage", "k"),
        ("entity.name.function", "f"),
        ("support.function", "f"),
        ("variable.function", "f"),
        ("entity.name.tag", "k"),
        ("entity.name", "t"),
        ("support.type", "t"),
        ("support.class", "t"),
        ("entity.other.attribute-name", "a"),
        ("markup.heading", "t"),
        ("meta.interpolation", ""),
        ("meta.embedded", ""),
    ];
    table
        .iter()
        .filter_map(|(scope, class)| Some((Scope::new(scope).ok()?, *class)))
        .collect()
});

/// Colours code, as long as the page's budget lasts.
#[derive(Debug)]
pub(super) struct Highlighter {
    budget: usize,
    patience: Duration,
}

impl Default for Highlighter {
    fn default() -> Self {
        Self {
            budget: LARGEST_SUM,
            patience: PATIENCE,
        }
    }
}

impl Highlighter {
    /// The code as HTML. `language` is a word such as `rust`, or a path whose extension tells.
    pub(super) fn html(&mut self, code: &str, language: &str) -> String {
        let clean = sanitize(code);
        let mut html = String::with_capacity(clean.len() * 2);
        match self.syntax(&clean, language) {
            Some(syntax) => {
                let started = Instant::now();
                colour(&clean, syntax, started + self.patience, &mut html);
                self.patience = self.patience.saturating_sub(started.elapsed());
            }
            None => escape_clean(&clean, &mut html),
        }
        html
    }

    fn syntax(&mut self, code: &str, language: &str) -> Option<&'static SyntaxReference> {
        let fits = code.len() <= LARGEST_BLOCK && code.len() <= self.budget;
        if language.is_empty() || !fits || code.lines().any(|line| line.len() > LONGEST_LINE) {
            return None;
        }
        // By name only: syntect's search by path would open the file.
        let name = language.rsplit(['/', '\\']).next().unwrap_or_default();
        let extension = name
            .rsplit_once('.')
            .map_or(name, |(_, extension)| extension);
        let found = SYNTAXES
            .find_syntax_by_extension(name)
            .or_else(|| SYNTAXES.find_syntax_by_token(extension))?;
        if found.name == "Plain Text" {
            return None;
        }
        self.budget -= code.len();
        Some(found)
    }
}

fn colour(code: &str, syntax: &SyntaxReference, deadline: Instant, html: &mut String) {
    let mut state = ParseState::new(syntax);
    let mut scopes = ScopeStack::new();
    let mut spans = Spans { html, open: "" };
    for line in LinesWithEndings::from(code) {
        if Instant::now() > deadline {
            spans.push("", line);
            continue;
        }
        // A grammar that stumbles costs the colours of the line, not the line.
        let ops = state.parse_line(line, &SYNTAXES).unwrap_or_default();
        for (text, op) in ScopeRegionIterator::new(&ops, line) {
            if scopes.apply(op).is_err() {
                scopes = ScopeStack::new();
            }
            spans.push(class(&scopes), text);
        }
    }
    spans.switch("");
}

fn class(scopes: &ScopeStack) -> &'static str {
    let of = |scope: &Scope| {
        CLASSES
            .iter()
            .find(|(known, _)| known.is_prefix_of(*scope))
            .map(|(_, class)| *class)
    };
    scopes
        .as_slice()
        .iter()
        .rev()
        .find_map(of)
        .unwrap_or_default()
}

/// Joins neighbours of one class.
struct Spans<'a> {
    html: &'a mut String,
    open: &'static str,
}

impl Spans<'_> {
    fn push(&mut self, class: &'static str, text: &str) {
        if text.is_empty() {
            return;
        }
        if !text.trim().is_empty() {
            self.switch(class);
        }
        escape_clean(text, self.html);
    }

    fn switch(&mut self, class: &'static str) {
        if self.open == class {
            return;
        }
        if !self.open.is_empty() {
            self.html.push_str("</span>");
        }
        if !class.is_empty() {
            self.html.push_str("<span class=\"");
            self.html.push_str(class);
            self.html.push_str("\">");
        }
        self.open = class;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_is_coloured_and_escaped() {
        let html = Highlighter::default().html("fn a() { \"<b>\" } // c\n", "src/main.rs");
        assert_eq!(
            html,
            "<span class=\"k\">fn </span><span class=\"f\">a</span>() { <span class=\"s\">&quot;&lt;b&gt;&quot; </span>} \
             <span class=\"c\">// c\n</span>"
        );
    }

    #[test]
    fn unknown_large_and_wide_code_stays_plain() {
        let mut highlighter = Highlighter::default();
        assert_eq!(highlighter.html("fn <", "no such language"), "fn &lt;");
        for code in ["fn a() {}\n".repeat(10_000), "fn ".repeat(1000)] {
            assert_eq!(highlighter.html(&code, "rs"), code);
        }
        highlighter.patience = Duration::ZERO;
        assert_eq!(highlighter.html("fn a() {}\n", "rs"), "fn a() {}\n");
        highlighter.budget = 5;
        assert_eq!(highlighter.html("fn a() {}", "rs"), "fn a() {}");
    }
}
