//! A command line as a shell reads it: simple commands, their words without quotes, and their redirections.
//!
//! For rules that refuse. Commands in substitutions are commands of the line too, wherever they stand. The lexer never fails and
//! does not recurse: a line that it cannot read is marked as [unreadable](LexedLine::is_unreadable). Compared with real shells in
//! the tests; `docs/decisions/0004-dependencies.md` has the grammars that were tried instead.

use std::iter::Peekable;
use std::str::Chars;

/// Substitutions in one another that are read. Deeper ones make a line unreadable.
const DEEPEST: usize = 64;

/// Simple commands of a line that are read. More of them make it unreadable.
const MOST_COMMANDS: usize = 4096;

/// The commands and texts of a line.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct LexedLine {
    /// Its simple commands, those in substitutions included, each as soon as it ends.
    pub(super) commands: Vec<SimpleCommand>,
    /// A quote or a substitution does not end, or there is too much of it.
    pub(super) is_unreadable: bool,
    /// The texts of here-documents.
    pub(super) texts: Vec<HereText>,
}

/// The text of a here-document.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct HereText {
    pub(super) text: String,
    /// A shell runs the substitutions in it: the word that ends it has no quotes.
    pub(super) is_expanded: bool,
}

/// A program and its arguments.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(super) struct SimpleCommand {
    pub(super) words: Vec<ShellWord>,
    /// The files of its redirections.
    pub(super) redirections: Vec<Redirection>,
    /// It reads the output of another command, or a text of the line.
    pub(super) is_fed: bool, // also by `<(…)`, which is a file that only this line has
    /// How many words stand before each `&>`, where a command ends for `dash` and none ends for `bash`.
    cuts: Vec<usize>,
}

impl SimpleCommand {
    /// The commands that `dash` makes of this one. None if it has no `&>`.
    fn take_pieces(&mut self) -> Vec<Self> {
        let cuts = std::mem::take(&mut self.cuts);
        let ends = cuts.iter().copied().chain([self.words.len()]);
        let starts = std::iter::once(0).chain(cuts.iter().copied());
        let ranges = starts.zip(ends).filter(|_| !cuts.is_empty());
        let pieces = ranges.map(|(start, end)| Self {
            words: self.words[start..end].to_vec(),
            is_fed: self.is_fed,
            ..Self::default()
        });
        pieces.filter(|piece| !piece.words.is_empty()).collect()
    }
}

/// A word without its quotes.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(super) struct ShellWord {
    pub(super) text: String,
    /// Only a running shell knows it: it has a variable or a substitution in it.
    pub(super) is_expanded: bool,
    /// A shell may make another word or several of it: a variable, a pattern (`tou?h`) or a list (`{touch,x}`) without quotes.
    pub(super) is_open: bool,
    has_quotes: bool,
    has_brace: bool,
}

/// A file that the shell opens for a command: it is none of its arguments.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Redirection {
    pub(super) file: ShellWord,
    pub(super) is_written: bool,
}

/// Reads a line.
pub(super) fn lex_line(line: &str) -> LexedLine {
    let mut lexer = ShellLexer::new(line);
    lexer.read_line();
    lexer.done
}

/// Reads the commands in the substitutions of a text in which quotes mean nothing.
pub(super) fn lex_text(text: &str) -> LexedLine {
    let mut lexer = ShellLexer::new(text);
    lexer.is_quoted = true;
    lexer.is_text = true;
    lexer.read_line();
    lexer.done
}

/// The state around a substitution.
#[derive(Debug)]
struct SubstitutionFrame {
    command: SimpleCommand,
    word: Option<ShellWord>,
    awaits: Option<AwaitedWord>,
    is_quoted: bool,
    documents: Vec<Document>,
    /// The letter that ends it.
    end: char,
    /// A group: a new command begins behind it, as in `f() { …`.
    is_group: bool,
}

/// The role of the next word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum AwaitedWord {
    Read,
    Written,
    /// The text of a here-string.
    Text,
    /// The end of a here-document, whose lines may begin with tabs that do not count.
    End {
        is_indented: bool,
    },
}

/// A here-document that begins behind the line.
#[derive(Debug)]
struct Document {
    end: String,
    is_expanded: bool,
    is_indented: bool,
}

struct ShellLexer<'a> {
    rest: Peekable<Chars<'a>>,
    open: Vec<SubstitutionFrame>,
    command: SimpleCommand,
    word: Option<ShellWord>,
    awaits: Option<AwaitedWord>,
    /// Within double quotes.
    is_quoted: bool,
    /// All of it is a text in which quotes mean nothing.
    is_text: bool,
    documents: Vec<Document>,
    done: LexedLine,
}

impl<'a> ShellLexer<'a> {
    fn new(line: &'a str) -> Self {
        Self {
            rest: line.chars().peekable(),
            open: Vec::new(),
            command: SimpleCommand::default(),
            word: None,
            awaits: None,
            is_quoted: false,
            is_text: false,
            documents: Vec::new(),
            done: LexedLine::default(),
        }
    }

    fn read_line(&mut self) {
        while let Some(letter) = self.rest.next() {
            if self.done.commands.len() >= MOST_COMMANDS {
                self.done.is_unreadable = true;
                return;
            }
            if self.is_quoted {
                self.read_quoted(letter);
            } else {
                self.read_plain(letter);
            }
        }
        let is_quoted = self.is_quoted && !self.is_text;
        self.done.is_unreadable |= is_quoted || !self.open.is_empty();
        self.end_command();
        while let Some(frame) = self.open.pop() {
            self.resume_frame(frame);
            self.end_command();
        }
    }

    fn read_plain(&mut self, letter: char) {
        match letter {
            ' ' | '\t' => self.end_word(),
            '|' => self.read_pipe(),
            '&' if self.take_if_next('>') => {
                self.end_word();
                self.command.cuts.push(self.command.words.len());
                self.read_redirection('>');
            }
            '\n' => {
                self.end_command();
                self.read_documents();
            }
            ';' | '&' => self.end_command(),
            '\'' => self.single_quoted(),
            '"' => {
                self.current_word().has_quotes = true;
                self.is_quoted = true;
            }
            '\\' => self.read_escaped(),
            '$' => self.read_dollar(),
            '`' => self.read_backtick(),
            '<' | '>' if self.take_if_next('(') => {
                self.command.is_fed |= letter == '<';
                self.enter_frame(')');
            }
            '<' | '>' => self.read_redirection(letter),
            '#' if self.word.is_none() => {
                while self.rest.next_if(|next| *next != '\n').is_some() {}
            }
            '(' => {
                self.enter_frame(')');
                self.mark_group();
            }
            ')' => self.leave_frame(')'),
            letter => self.push_bare(letter),
        }
    }

    /// A letter without quotes: some make a pattern or a list of the word.
    fn push_bare(&mut self, letter: char) {
        let word = self.current_word();
        word.has_brace |= letter == '{';
        let is_list = letter == ',' || (letter == '.' && word.text.ends_with('.'));
        word.is_open |= matches!(letter, '*' | '?' | '[') || (word.has_brace && is_list);
        word.text.push(letter);
    }

    /// A letter in double quotes: only these have a meaning there.
    fn read_quoted(&mut self, letter: char) {
        match letter {
            '"' if self.is_text && self.open.is_empty() => self.push(letter),
            '"' => self.is_quoted = false,
            '$' => self.read_dollar(),
            '`' => self.read_backtick(),
            '\\' => match self.rest.next() {
                Some('\n') | None => {}
                Some(next @ ('$' | '`' | '"' | '\\')) => self.push(next),
                Some(next) => {
                    self.push('\\');
                    self.push(next);
                }
            },
            letter => self.push(letter),
        }
    }

    fn take_if_next(&mut self, letter: char) -> bool {
        self.rest.next_if_eq(&letter).is_some()
    }

    fn current_word(&mut self) -> &mut ShellWord {
        self.word.get_or_insert_default()
    }

    fn push(&mut self, letter: char) {
        self.current_word().text.push(letter);
    }

    fn read_escaped(&mut self) {
        match self.rest.next() {
            Some('\n') | None => {} // the line goes on
            Some(letter) => {
                self.current_word().has_quotes = true;
                self.push(letter);
            }
        }
    }

    fn single_quoted(&mut self) {
        self.current_word().has_quotes = true;
        loop {
            match self.rest.next() {
                Some('\'') => return,
                Some(letter) => self.push(letter),
                None => return self.done.is_unreadable = true,
            }
        }
    }

    /// The word has a part that only a running shell knows.
    fn mark_expanded(&mut self) {
        let is_open = !self.is_quoted;
        let word = self.current_word();
        word.is_expanded = true;
        word.is_open |= is_open;
    }

    fn read_dollar(&mut self) {
        match self.rest.peek() {
            Some('(') => {
                self.rest.next();
                self.mark_expanded();
                self.enter_frame(')');
            }
            Some('\'') if !self.is_quoted => {
                self.rest.next();
                self.ansi_quoted();
            }
            Some('"') if !self.is_quoted => {} // translated, else as it stands
            Some('{') => {
                self.rest.next();
                self.mark_expanded();
                self.read_parameter();
            }
            Some(next) if next.is_ascii_alphanumeric() || "_?!@*#$-".contains(*next) => {
                self.mark_expanded();
                self.rest.next();
                while self
                    .rest
                    .next_if(|next| next.is_ascii_alphanumeric() || *next == '_')
                    .is_some()
                {}
            }
            _ => self.push('$'),
        }
    }

    /// `$'\x72m'`
    fn ansi_quoted(&mut self) {
        self.current_word().has_quotes = true;
        loop {
            match self.rest.next() {
                Some('\'') => return,
                Some('\\') => {
                    // For `dash` the `$` is a letter, and this quote ends the text.
                    self.done.is_unreadable |= self.rest.peek() == Some(&'\'');
                    let letter = self.ansi_escape();
                    self.current_word().text.extend(letter);
                }
                Some(letter) => self.push(letter),
                None => return self.done.is_unreadable = true,
            }
        }
    }

    fn ansi_escape(&mut self) -> Option<char> {
        let (digits, radix) = match self.rest.next()? {
            'x' => (2, 16),
            'u' => (4, 16),
            'U' => (8, 16),
            first @ '0'..='7' => return self.read_number(first.to_digit(8)?, 2, 8),
            'n' => return Some('\n'),
            't' => return Some('\t'),
            'r' => return Some('\r'),
            'c' => return self.rest.next().map(|_| ' '),
            'a' | 'b' | 'e' | 'E' | 'f' | 'v' => return Some(' '),
            letter => return Some(letter),
        };
        self.read_number(0, digits, radix)
    }

    fn read_number(&mut self, first: u32, digits: u32, radix: u32) -> Option<char> {
        let mut value = first;
        for _ in 0..digits {
            let Some(digit) = self.rest.peek().and_then(|next| next.to_digit(radix)) else {
                break;
            };
            self.rest.next();
            value = value.wrapping_mul(radix).wrapping_add(digit);
        }
        char::from_u32(value)
    }

    /// `${x:-$(rm y)}`: its default is a word, and commands stand in it.
    fn read_parameter(&mut self) {
        let mut depth = 1;
        let mut inside = String::new();
        for letter in self.rest.by_ref() {
            match letter {
                '{' => depth += 1,
                '}' => depth -= 1,
                _ => {}
            }
            if depth == 0 {
                break;
            }
            inside.push(letter);
        }
        self.done.is_unreadable |= depth > 0;
        if inside.contains(['`', '(']) {
            self.done.is_unreadable = true; // rare, and the pieces are looked at anyway
        }
    }

    fn read_backtick(&mut self) {
        if self.open.iter().any(|frame| frame.end == '`') {
            return self.leave_frame('`');
        }
        self.mark_expanded();
        self.enter_frame('`');
    }

    /// A substitution or a group begins.
    fn enter_frame(&mut self, end: char) {
        if self.open.len() >= DEEPEST {
            self.done.is_unreadable = true;
            return self.end_command();
        }
        self.open.push(SubstitutionFrame {
            command: std::mem::take(&mut self.command),
            word: self.word.take(),
            awaits: self.awaits.take(),
            is_quoted: std::mem::take(&mut self.is_quoted),
            documents: std::mem::take(&mut self.documents),
            end,
            is_group: false,
        });
    }

    fn mark_group(&mut self) {
        if let Some(frame) = self.open.last_mut() {
            frame.is_group = true;
        }
    }

    /// Ends a substitution, together with all that are still open in it.
    fn leave_frame(&mut self, end: char) {
        self.end_command();
        let Some(at) = self.open.iter().rposition(|frame| frame.end == end) else {
            return;
        };
        self.done.is_unreadable |= at + 1 < self.open.len();
        while self.open.len() > at {
            self.end_command();
            if let Some(frame) = self.open.pop() {
                self.resume_frame(frame);
            }
        }
    }

    fn resume_frame(&mut self, frame: SubstitutionFrame) {
        self.command = frame.command;
        self.word = frame.word;
        self.awaits = frame.awaits;
        self.is_quoted = frame.is_quoted;
        // Shells disagree about a here-document whose text would begin behind the substitution.
        self.done.is_unreadable |= !self.documents.is_empty();
        self.documents = frame.documents;
        if frame.is_group {
            self.end_command();
        }
    }

    fn read_redirection(&mut self, letter: char) {
        let is_number = |word: &ShellWord| word.text.chars().all(|letter| letter.is_ascii_digit());
        let is_variable = |word: &ShellWord| word.text.starts_with('{') && word.text.ends_with('}');
        match self.word.take() {
            Some(word) if is_number(&word) || is_variable(&word) => {}
            Some(word) => {
                self.word = Some(word);
                self.end_word();
            }
            None => {}
        }
        let mut operator = String::from(letter);
        while operator.len() < 3
            && let Some(next) = self.rest.next_if(|next| "<>&|".contains(*next))
        {
            operator.push(next);
        }
        // `<<-` and `3>&-` end with it; of `>-` it is the file.
        let is_dashed = matches!(operator.as_str(), "<<" | "<&" | ">&") && self.take_if_next('-');
        self.awaits = match operator.as_str() {
            "<<" => Some(AwaitedWord::End {
                is_indented: is_dashed,
            }),
            _ if is_dashed => None,
            "<<<" => Some(AwaitedWord::Text),
            "<" | "<&" => Some(AwaitedWord::Read),
            _ => Some(AwaitedWord::Written),
        };
        self.command.is_fed |= letter == '<' && self.awaits.is_some();
    }

    fn read_pipe(&mut self) {
        self.take_if_next('&');
        let is_pipe = !self.take_if_next('|');
        self.end_command();
        self.command.is_fed = is_pipe;
    }

    fn end_word(&mut self) {
        let Some(word) = self.word.take() else {
            return;
        };
        match self.awaits.take() {
            None => self.command.words.push(word),
            Some(AwaitedWord::Text) => {}
            Some(AwaitedWord::End { is_indented }) => self.documents.push(Document {
                end: word.text,
                is_expanded: !word.has_quotes,
                is_indented,
            }),
            Some(awaited) => self.command.redirections.push(Redirection {
                file: word,
                is_written: awaited == AwaitedWord::Written,
            }),
        }
    }

    /// The here-documents that begin behind a line, each up to the line that ends it.
    fn read_documents(&mut self) {
        for document in std::mem::take(&mut self.documents) {
            let text = self.read_document(&document);
            self.done.texts.push(HereText {
                text,
                is_expanded: document.is_expanded,
            });
        }
    }

    fn read_document(&mut self, document: &Document) -> String {
        let mut text = String::new();
        while self.rest.peek().is_some() {
            let mut line = String::new();
            while let Some(letter) = self.rest.next_if(|next| *next != '\n') {
                line.push(letter);
            }
            self.rest.next();
            let tabs = |letter| letter == '\t' && document.is_indented;
            let line = line.trim_start_matches(tabs);
            if line == document.end {
                break;
            }
            text.push_str(line);
            text.push('\n');
        }
        text
    }

    fn end_command(&mut self) {
        self.end_word();
        self.awaits = None;
        let mut command = std::mem::take(&mut self.command);
        self.done.commands.extend(command.take_pieces());
        if !command.words.is_empty() || !command.redirections.is_empty() {
            self.done.commands.push(command);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(line: &str, expected: &[&[&str]]) {
        let lexed = lex_line(line);
        let words = |command: &SimpleCommand| -> Vec<String> {
            command.words.iter().map(|word| word.text.clone()).collect()
        };
        let commands: Vec<_> = lexed.commands.iter().map(words).collect();
        assert_eq!(commands, expected, "{line}");
        assert!(!lexed.is_unreadable, "{line}");
    }

    #[test]
    fn words_are_read_as_a_shell_reads_them() {
        check("rm -rf x", &[&["rm", "-rf", "x"]]);
        check(
            r#"r\m 'a b' "c d"e $'\x72m\n' $'\162m'"#,
            &[&["rm", "a b", "c de", "rm\n", "rm"]],
        );
        check("a\\\nb; c # d\ne", &[&["ab"], &["c"], &["e"]]);
        check("'' \"\"", &[&["", ""]]);
        check(
            "a && b || c |& d & e",
            &[&["a"], &["b"], &["c"], &["d"], &["e"]],
        );
        check("(a; b)", &[&["a"], &["b"]]);
        check("f() { a; }", &[&["f"], &["{", "a"], &["}"]]);
        check("a\u{2028}b é", &[&["a\u{2028}b", "é"]]);
    }

    #[test]
    fn commands_in_substitutions_are_commands() {
        check("echo $(rm x) y", &[&["rm", "x"], &["echo", "", "y"]]);
        check("echo \"a `rm x` b\"", &[&["rm", "x"], &["echo", "a  b"]]);
        check("a <(rm x) b", &[&["rm", "x"], &["a", "b"]]);
        check("a \"$(b \"$(c)\")\"", &[&["c"], &["b", ""], &["a", ""]]);
        check("$x y \"$z\"", &[&["", "y", ""]]);
    }

    #[test]
    fn redirections_are_no_words() {
        for line in [
            ">/dev/null rm x",
            "2>/dev/null rm x",
            "rm >> log x",
            "rm x 2>&1",
            "{fd}>log rm x",
            "<in rm x",
            "rm <<< text x",
            "rm >|log x",
            "rm x 3>&-",
            "3>&- rm x",
            "<&- rm x",
            ">- rm x",
            "<<-E rm x",
        ] {
            check(line, &[&["rm", "x"]]);
        }
        let files = |line: &str| {
            let commands = lex_line(line).commands.into_iter();
            let redirections = commands.flat_map(|command| command.redirections);
            redirections
                .map(|it| (it.file.text, it.is_written))
                .collect::<Vec<_>>()
        };
        let expected = [("in".to_owned(), false), ("out".to_owned(), true)];
        assert_eq!(files("a < in >out"), expected);
    }

    #[test]
    fn an_ampersand_before_a_redirection_ends_a_command_for_some_shells() {
        check("rm &>log x", &[&["rm"], &["x"], &["rm", "x"]]);
        check("rm x &>log", &[&["rm", "x"], &["rm", "x"]]);
        check("&>log rm x", &[&["rm", "x"], &["rm", "x"]]);
        let repeated = lex_line(&"a &>b ".repeat(1000)).commands;
        let words: usize = repeated.iter().map(|it| it.words.len()).sum();
        assert_eq!((repeated.len(), words), (1001, 2000));
    }

    #[test]
    fn a_here_document_ends_at_its_word_and_its_quotes_mean_nothing() {
        check("cat <<E\n'\nE\nrm x #'", &[&["cat"], &["rm", "x"]]);
        check(
            "cat <<-'E F'\n\t\"\n\tE F\nrm x #\"",
            &[&["cat"], &["rm", "x"]],
        );
        check("$(cat <<E\n)\nE\nrm x)", &[&["cat"], &["rm", "x"], &[""]]);
        let texts = lex_line("a <<A <<'B'\n1\nA\n2\nB\n").texts;
        let texts: Vec<_> = texts
            .iter()
            .map(|it| (it.text.as_str(), it.is_expanded))
            .collect();
        assert_eq!(texts, [("1\n", true), ("2\n", false)]);
        let inside = lex_text("it's \" $(rm x) `rm y`").commands;
        let programs: Vec<_> = inside.iter().map(|it| it.words[0].text.as_str()).collect();
        assert_eq!(programs, ["rm", "rm", "it's \"  "]);
    }

    #[test]
    fn an_unterminated_or_overlong_shell_line_is_unreadable() {
        for line in [
            "a 'b".to_owned(),
            "a \"b".to_owned(),
            "a $(b".to_owned(),
            "`a".to_owned(),
            "$(".repeat(100_000),
            "(".repeat(100_000),
            "\"$(".repeat(100_000),
            "a;".repeat(100_000),
            "${x:-".repeat(100_000),
        ] {
            assert!(lex_line(&line).is_unreadable, "{}", &line[..4]);
        }
    }
}
