//! Source code in coloured pieces: eight classes, enough to read by.
//!
//! A scanner, not a parser: it knows comments, strings, numbers, words and the signs beside them, one line at a time, in time
//! linear in the code. Grammars that know a language exactly need seconds for a megabyte and backtrack on hostile input; a
//! transcript of three hundred prompts has a megabyte. Code that the scanner does not recognise stays plain.

mod language;

use language::{LANGUAGES, Language, LanguageKind};

/// The class of a piece of code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CodeClass {
    Plain,
    Comment,
    Text,
    /// Numbers and other constants.
    Constant,
    Keyword,
    Function,
    Type,
    /// Attributes, keys, variables of a shell.
    Attribute,
    Added,
    Removed,
}

/// Reads code line by line. It remembers a comment, string or tag that is open at the end of a line.
#[derive(Debug, Clone)]
pub(crate) struct CodeScanner {
    language: &'static Language,
    open: Option<OpenSpan>,
    /// Within `<…>` of markup.
    is_in_tag: bool,
    /// The last part of a line ended in a comment that ends with the line.
    is_in_comment: bool,
}

/// A comment or a text that ends on a later line.
#[derive(Debug, Clone, Copy)]
struct OpenSpan {
    end: &'static str,
    class: CodeClass,
}

impl CodeScanner {
    /// A scanner for a language, named by a word such as `rust` or by a path. None if it is not known.
    pub(crate) fn new(name: &str) -> Option<Self> {
        let file = name.rsplit(['/', '\\']).next().unwrap_or_default();
        let extension = file.rsplit_once('.').map_or(file, |(_, end)| end);
        let known = |word: &str| {
            let is_named = |named: &&'static str| named.eq_ignore_ascii_case(word);
            let mut all = LANGUAGES.iter();
            all.find(|language| language.names.iter().any(is_named))
        };
        let language = known(file).or_else(|| known(extension))?;
        Some(Self {
            language,
            open: None,
            is_in_tag: false,
            is_in_comment: false,
        })
    }

    /// The pieces of the beginning of a line, whose rest is to follow.
    pub(crate) fn scan_part(&mut self, part: &str) {
        let mut last = CodeClass::Plain;
        self.scan_pieces(part, &mut |class, _| last = class);
        self.is_in_comment |= last == CodeClass::Comment && self.open.is_none();
    }

    /// A line that came in parts is over.
    pub(crate) fn end_line(&mut self) {
        self.is_in_comment = false;
    }

    /// The pieces of the next line, in order. Together they are the line.
    pub(crate) fn scan_line(&mut self, line: &str, put: &mut impl FnMut(CodeClass, &str)) {
        self.scan_pieces(line, put);
        self.end_line();
    }

    fn scan_pieces(&mut self, line: &str, put: &mut impl FnMut(CodeClass, &str)) {
        if self.is_in_comment {
            return put(CodeClass::Comment, line);
        }
        match self.language.sort {
            LanguageKind::Diff => put(diff_class(line), line),
            LanguageKind::Markup => self.put_joined(line, Self::tag_piece, put),
            LanguageKind::Code | LanguageKind::Data => self.put_joined(line, Self::scan_piece, put),
        }
    }

    /// Puts a line piece by piece; pieces of one class that follow each other are put together.
    fn put_joined(
        &mut self,
        line: &str,
        next: fn(&mut Self, &str, usize) -> (CodeClass, usize),
        put: &mut impl FnMut(CodeClass, &str),
    ) {
        let mut at = 0;
        let mut joined = JoinedSpans {
            line,
            from: 0,
            class: CodeClass::Plain,
        };
        while at < line.len() {
            let (class, length) = next(self, line, at);
            joined.add_piece(class, at, put);
            at += length.max(1);
        }
        joined.put_rest(put);
    }

    /// The class of the piece at `at`, and its length in bytes.
    fn scan_piece(&mut self, line: &str, at: usize) -> (CodeClass, usize) {
        let rest = &line[at..];
        if let Some(open) = self.open {
            return self.go_on(open, rest);
        }
        let first = rest.chars().next().unwrap_or(' ');
        if first.is_ascii_whitespace() {
            return (CodeClass::Plain, 1);
        }
        self.scan_comment(line, at)
            .or_else(|| self.scan_string(line, at))
            .or_else(|| self.scan_sign(rest, first))
            .or_else(|| self.scan_word(line, at, first))
            .unwrap_or((CodeClass::Plain, first.len_utf8()))
    }

    fn go_on(&mut self, open: OpenSpan, rest: &str) -> (CodeClass, usize) {
        let end = closing_place(rest, open.end);
        self.open = end.is_none().then_some(open);
        (open.class, end.unwrap_or(rest.len()))
    }

    fn scan_comment(&mut self, line: &str, at: usize) -> Option<(CodeClass, usize)> {
        let rest = &line[at..];
        if let Some((start, end)) = self
            .language
            .block
            .filter(|(start, _)| rest.starts_with(start))
        {
            let open = OpenSpan {
                end,
                class: CodeClass::Comment,
            };
            let (class, length) = self.go_on(open, &rest[start.len()..]);
            return Some((class, start.len() + length));
        }
        let begins = |mark: &&&str| {
            // `$#` and `a#b` of a shell, `--flag` and `https://` are no comments.
            let before = line[..at].chars().next_back();
            let is_apart = before.is_none_or(|c| c.is_whitespace() || c == ';' || c == ')');
            rest.starts_with(**mark) && (is_apart || **mark == "//" && before != Some(':'))
        };
        let mut marks = self.language.line.iter();
        marks.find(begins).map(|_| (CodeClass::Comment, rest.len()))
    }

    fn scan_string(&mut self, line: &str, at: usize) -> Option<(CodeClass, usize)> {
        let rest = &line[at..];
        let mut long = self.language.long.iter();
        if let Some((start, end)) = long.find(|(start, _)| rest.starts_with(start)) {
            let open = OpenSpan {
                end,
                class: CodeClass::Text,
            };
            let (class, length) = self.go_on(open, &rest[start.len()..]);
            return Some((class, start.len() + length));
        }
        let quote = rest
            .chars()
            .next()
            .filter(|c| self.language.quotes.contains(*c))?;
        let end = closing_place(&rest[1..], if quote == '"' { "\"" } else { "'" })?;
        if quote == '\'' && self.language.has_characters && !is_character(&rest[1..end]) {
            return None;
        }
        let length = 1 + end;
        let is_key = self.language.sort == LanguageKind::Data && is_key(&rest[length..]);
        Some((
            if is_key {
                CodeClass::Attribute
            } else {
                CodeClass::Text
            },
            length,
        ))
    }

    /// Variables of a shell, decorators, attributes.
    fn scan_sign(&self, rest: &str, first: char) -> Option<(CodeClass, usize)> {
        if !self.language.signs.contains(first) {
            return None;
        }
        let name = match rest[1..].strip_prefix('{') {
            Some(inside) => inside.find('}').map(|end| end + 2)?,
            None => word_length(&rest[1..], ""),
        };
        (name > 0).then_some((CodeClass::Attribute, 1 + name))
    }

    fn scan_word(&self, line: &str, at: usize, first: char) -> Option<(CodeClass, usize)> {
        let rest = &line[at..];
        let length = word_length(rest, self.language.inner);
        if length == 0 {
            return None;
        }
        let (word, after) = rest.split_at(length);
        if first.is_ascii_digit() {
            let fraction = after
                .strip_prefix('.')
                .map_or(0, |more| word_length(more, ""));
            let length = if fraction > 0 {
                length + 1 + fraction
            } else {
                length
            };
            return Some((CodeClass::Constant, length));
        }
        Some((self.class_of(word, after, &line[..at]), length))
    }

    fn class_of(&self, word: &str, after: &str, before: &str) -> CodeClass {
        let is_member = before.ends_with('.') || before.ends_with("->");
        let starts_line = before.trim_start_matches([' ', '-', '\t']).is_empty();
        if self.language.sort == LanguageKind::Data && starts_line && is_key(after) {
            CodeClass::Attribute
        } else if self.language.is_keyword(word) && !is_member {
            CodeClass::Keyword
        } else if CONSTANTS.contains(&word) {
            CodeClass::Constant
        } else if self.language.sort == LanguageKind::Data {
            CodeClass::Plain
        } else if after.starts_with('(') || after.starts_with("!(") {
            CodeClass::Function
        } else if is_type(word) {
            CodeClass::Type
        } else {
            CodeClass::Plain
        }
    }

    /// A tag, an attribute or text.
    fn tag_piece(&mut self, line: &str, at: usize) -> (CodeClass, usize) {
        let rest = &line[at..];
        if let Some(open) = self.open {
            return self.go_on(open, rest);
        }
        if let Some(comment) = self.scan_comment(line, at) {
            return comment;
        }
        if !self.is_in_tag {
            let to_tag = rest.find('<').unwrap_or(rest.len());
            if to_tag > 0 {
                return (CodeClass::Plain, to_tag);
            }
            self.is_in_tag = true;
            let slash = usize::from(rest[1..].starts_with('/'));
            let name = word_length(&rest[1 + slash..], "-:");
            self.is_in_tag = name > 0;
            return (
                if name > 0 {
                    CodeClass::Keyword
                } else {
                    CodeClass::Plain
                },
                1 + slash + name,
            );
        }
        self.scan_attribute(rest)
    }

    fn scan_attribute(&mut self, rest: &str) -> (CodeClass, usize) {
        let first = rest.chars().next().unwrap_or(' ');
        match first {
            '>' => {
                self.is_in_tag = false;
                (CodeClass::Keyword, 1)
            }
            '"' | '\'' => {
                let end = closing_place(&rest[1..], if first == '"' { "\"" } else { "'" });
                (CodeClass::Text, 1 + end.unwrap_or(rest.len() - 1))
            }
            _ => match word_length(rest, "-:@.") {
                0 => (CodeClass::Plain, first.len_utf8()),
                length => (CodeClass::Attribute, length),
            },
        }
    }
}

const CONSTANTS: [&str; 9] = [
    "true",
    "false",
    "null",
    "None",
    "True",
    "False",
    "nil",
    "undefined",
    "NaN",
];

/// Joins neighbours of one class.
struct JoinedSpans<'l> {
    line: &'l str,
    from: usize,
    class: CodeClass,
}

impl JoinedSpans<'_> {
    fn add_piece(&mut self, class: CodeClass, at: usize, put: &mut impl FnMut(CodeClass, &str)) {
        if class != self.class {
            self.put_span(at, put);
            self.from = at;
            self.class = class;
        }
    }

    fn put_rest(&self, put: &mut impl FnMut(CodeClass, &str)) {
        self.put_span(self.line.len(), put);
    }

    fn put_span(&self, to: usize, put: &mut impl FnMut(CodeClass, &str)) {
        if self.from < to {
            put(self.class, &self.line[self.from..to]);
        }
    }
}

fn diff_class(line: &str) -> CodeClass {
    match line.as_bytes().first() {
        Some(b'+') => CodeClass::Added,
        Some(b'-') => CodeClass::Removed,
        Some(b'@') => CodeClass::Function,
        _ => CodeClass::Plain,
    }
}

/// Where `end` is over, unless it is escaped.
fn closing_place(rest: &str, end: &str) -> Option<usize> {
    let mut from = 0;
    loop {
        let at = from + rest[from..].find(end)?;
        let slashes = rest[..at]
            .bytes()
            .rev()
            .take_while(|byte| *byte == b'\\')
            .count();
        if slashes % 2 == 0 || end.len() > 1 {
            return Some(at + end.len());
        }
        from = at + end.len();
    }
}

/// One character, or an escape sequence. Longer text between two single quotes stands between two lifetimes of Rust.
fn is_character(inside: &str) -> bool {
    inside.starts_with('\\') || inside.chars().count() == 1
}

fn word_length(text: &str, inner: &str) -> usize {
    let is_inside = |c: char| c.is_alphanumeric() || c == '_' || inner.contains(c);
    text.find(|c| !is_inside(c)).unwrap_or(text.len())
}

/// True if a colon or an equals sign follows, so that the word is a key.
fn is_key(after: &str) -> bool {
    after.trim_start().starts_with([':', '='])
}

/// `Vec`, `HashMap`, not `MAX` and not `main`.
fn is_type(word: &str) -> bool {
    word.starts_with(char::is_uppercase) && word.contains(char::is_lowercase)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each piece with the first letter of its class, plain ones as they are.
    fn check(language: &str, code: &str, expected: &str) {
        let mut scanner = CodeScanner::new(language).unwrap();
        let mut shown = String::new();
        for line in code.split_inclusive('\n') {
            scanner.scan_line(line, &mut |class, text| match class {
                CodeClass::Plain => shown.push_str(text),
                class => shown.extend([&format!("{class:?}"), "‹", text, "›"]),
            });
        }
        assert_eq!(shown, expected, "{code}");
    }

    #[test]
    fn tokens_of_code_have_classes_of_their_own() {
        check(
            "src/main.rs",
            "fn a(b: &'x Vec<'x>) { \"\\\"\" + '\\'' } // c\n",
            "Keyword‹fn› Function‹a›(b: &'x Type‹Vec›<'x>) { Text‹\"\\\"\"› + Text‹'\\''› } Comment‹// c\n›",
        );
        check(
            "python",
            "@cached\nx = 1.5 # é\n",
            "Attribute‹@cached›\nx = Constant‹1.5› Comment‹# é\n›",
        );
        check(
            "sh",
            "echo \"$A\" ${B} $# https://x",
            "echo Text‹\"$A\"› Attribute‹${B}› $# https://x",
        );
        check(
            "sql",
            "select 1 -- one",
            "Keyword‹select› Constant‹1› Comment‹-- one›",
        );
        check("diff", "+a\n-b\n c", "Added‹+a\n›Removed‹-b\n› c");
    }

    #[test]
    fn an_open_comment_goes_on_with_the_next_line() {
        check("ts", "a /* b\n c */ d", "a Comment‹/* b\n›Comment‹ c */› d");
        check("ts", "`a\nb` c", "Text‹`a\n›Text‹b`› c");
        check("rs", "r#\"a\nb\"# c", "Text‹r#\"a\n›Text‹b\"#› c");
        let mut scanner = CodeScanner::new("rs").unwrap();
        scanner.scan_part("a // b");
        scanner.scan_line("for c", &mut |class, _| {
            assert_eq!(class, CodeClass::Comment);
        });
        scanner.scan_line("d", &mut |class, _| assert_eq!(class, CodeClass::Plain));
    }

    #[test]
    fn keys_and_tags_have_classes_of_their_own() {
        check(
            "json",
            "{\"a\": [true, \"b\"]}",
            "{Attribute‹\"a\"›: [Constant‹true›, Text‹\"b\"›]}",
        );
        check("yaml", "- a-b: c # d", "- Attribute‹a-b›: c Comment‹# d›");
        check(
            "html",
            "<a href='b'>c</a>",
            "Keyword‹<a› Attribute‹href›=Text‹'b'›Keyword‹>›cKeyword‹</a>›",
        );
    }

    #[test]
    fn languages_are_known_by_name_and_by_file() {
        for name in ["rust", "/a/b.RS", "Dockerfile", "x.test.ts", "Makefile"] {
            assert!(CodeScanner::new(name).is_some(), "{name}");
        }
        for name in ["", "txt", "klingon", "a.rs/b"] {
            assert!(CodeScanner::new(name).is_none(), "{name}");
        }
    }
}
