//! The command of a call, in each shape that agents use: a line, a list of words, a program and its arguments, a list of
//! commands, at any depth.
//!
//! A command in no known shape is kept as it stands, and marked as unclear. The title of a call is its command only where the
//! agent gives no arguments at all: any other title is free text.

use std::borrow::Cow;
use std::cell::LazyCell;
use std::collections::HashSet;

use lapidary_json::{Token, TokenKind};
use lapidary_vocab::event::ToolKind;

use super::argument_names::folded_name;
use super::argument_roles::{
    CODE, COMMAND_ARGUMENTS, COMMAND_LISTS, COMMANDS, EDITORS_WORDS, VARIABLES, is_one_of,
};
use super::shell::command_line;

/// Where arguments stand that are no object.
pub(super) const RAW: &str = "rawInput";

/// Programs that are named beside a command, to run it.
const SHELLS: [&str; 8] = [
    "sh",
    "bash",
    "zsh",
    "dash",
    "fish",
    "pwsh",
    "powershell",
    "cmd",
];

/// How deep in arguments a command is looked for, and its words are read. A deeper value is a word as it stands.
const DEEPEST: usize = 8;

/// How many commands of a call are read one by one.
const MOST_COMMANDS: usize = 64;

/// A command, as hooks and rules see it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ShellCommand {
    /// Its lines.
    pub(super) line: String,
    /// It stands in no known shape: the line is the arguments as they stand, and their words in the next line.
    pub(super) is_unclear: bool,
    /// It is the title of the call: all that the agent says.
    pub(super) is_title: bool,
}

impl ShellCommand {
    /// The command of a call. A tool of any kind may run a command that it is given; of several commands, each is looked at.
    pub(super) fn from_arguments(
        kind: &ToolKind,
        input: Token<'_>,
        title: Option<&str>,
    ) -> Option<Self> {
        let mut found = FoundCommands::new(kind);
        found.in_members(input, DEEPEST);
        if found.lines.is_empty() && *kind == ToolKind::Execute {
            found.in_raw(input);
        }
        let told = |line: String, is_unclear| Self {
            line,
            is_unclear,
            is_title: false,
        };
        match found.into_lines() {
            Some((line, is_unclear)) => Some(told(line, is_unclear)),
            None if *kind != ToolKind::Execute => None,
            None if !is_empty(input, DEEPEST) => Some(told(as_it_stands(input), true)),
            None => title.map(|title| Self {
                line: title.to_owned(),
                is_unclear: false,
                is_title: true,
            }),
        }
    }
}

/// The commands that were found in the arguments of a call.
struct FoundCommands<'a> {
    kind: &'a ToolKind,
    lines: Vec<String>,
    is_unclear: bool,
}

impl<'a> FoundCommands<'a> {
    fn new(kind: &'a ToolKind) -> Self {
        Self {
            kind,
            lines: Vec::new(),
            is_unclear: false,
        }
    }

    /// All lines, each once. A shell that is named beside a command is none.
    fn into_lines(mut self) -> Option<(String, bool)> {
        if self.lines.is_empty() {
            return None;
        }
        let mut seen = HashSet::new();
        self.lines
            .retain(|line| !line.trim().is_empty() && seen.insert(line.clone()));
        if self.lines.iter().any(|line| !is_bare_shell(line)) {
            self.lines.retain(|line| !is_bare_shell(line));
        }
        (!self.lines.is_empty()).then(|| (self.lines.join("\n"), self.is_unclear))
    }

    fn in_members(&mut self, object: Token<'_>, depth: usize) {
        // Each is looked for once, however often a name is repeated.
        let args = LazyCell::new(|| args_of(object));
        let has_path = LazyCell::new(|| object.get("path").is_some());
        for (name, value) in object.members() {
            let name = folded_name(name);
            let is_one_of = |names| is_one_of(&name, names);
            let is_code = *self.kind == ToolKind::Execute && is_one_of(CODE);
            if is_one_of(COMMANDS) || is_code {
                self.in_command(value, *args, depth);
                // `{"path": "a", "command": "view"}`
                if self.is_editors() && *has_path {
                    self.lines.pop();
                }
            } else if is_one_of(COMMAND_LISTS) {
                let items = value
                    .elements()
                    .chain(value.members().map(|(_, item)| item));
                let single = value.if_kind(TokenKind::String);
                for item in items.chain(single) {
                    self.in_command(item, None, depth);
                }
            } else if !is_one_of(VARIABLES) {
                self.search_nested(value, depth);
            }
        }
    }

    /// Whether the last command is one of an editor, `view` or `create`: it is no program if the call names a file beside it.
    fn is_editors(&self) -> bool {
        matches!(self.kind, ToolKind::Read | ToolKind::Edit)
            && (self.lines.last()).is_some_and(|line| EDITORS_WORDS.contains(&line.as_str()))
    }

    /// Arguments may stand in others: `{"input": {"command": …}}`.
    fn search_nested(&mut self, value: Token<'_>, depth: usize) {
        let Some(depth) = depth.checked_sub(1) else {
            return;
        };
        match value.kind() {
            TokenKind::Object => self.in_members(value, depth),
            TokenKind::Array => value
                .elements()
                .for_each(|item| self.search_nested(item, depth)),
            _ => {}
        }
    }

    fn in_command(&mut self, command: Token<'_>, args: Option<Token<'_>>, depth: usize) {
        if self.lines.len() >= MOST_COMMANDS {
            self.is_unclear = true;
            return;
        }
        match command.kind() {
            TokenKind::String => {
                let program = command.string().unwrap_or_default();
                let line = self.with_args(&program, args);
                self.lines.push(line);
            }
            TokenKind::Array => self.in_list(command, depth),
            TokenKind::Object => self.in_object(command, depth),
            _ => {}
        }
    }

    /// Words, or lists of words.
    fn in_list(&mut self, list: Token<'_>, depth: usize) {
        let is_lists = list
            .elements()
            .next()
            .is_some_and(|it| it.kind() == TokenKind::Array);
        match depth.checked_sub(1) {
            Some(depth) if is_lists => {
                for words in list.elements() {
                    self.in_command(words, None, depth);
                }
            }
            _ => {
                let words = self.command_words(list);
                self.lines.push(line_of_words(&words));
            }
        }
    }

    /// An object that has a command in it. If it has none that can be read, the object itself is the command.
    fn in_object(&mut self, object: Token<'_>, depth: usize) {
        let mut inner = FoundCommands::new(self.kind);
        if let Some(depth) = depth.checked_sub(1) {
            inner.in_members(object, depth);
        }
        match inner.into_lines() {
            Some((line, false)) => self.lines.push(line),
            _ if object.members().next().is_none() => {}
            _ => {
                self.is_unclear = true;
                self.lines.push(as_it_stands(object));
            }
        }
    }

    /// Arguments that are no object at all.
    fn in_raw(&mut self, input: Token<'_>) {
        if let Some(raw) = input.get(RAW) {
            self.in_command(raw, None, DEEPEST);
        }
    }

    fn with_args(&mut self, program: &str, args: Option<Token<'_>>) -> String {
        let Some(args) = args else {
            return program.to_owned(); // a line as a user types it
        };
        match args.kind() {
            TokenKind::String => format!("{program} {}", args.string().unwrap_or_default()),
            TokenKind::Array => {
                let words = self.command_words(args);
                match words.as_slice() {
                    [] => program.to_owned(),
                    words => command_line(program, words.iter().map(String::as_str)),
                }
            }
            _ => {
                self.is_unclear = true;
                format!("{program} {}", args.as_str())
            }
        }
    }

    fn command_words(&mut self, list: Token<'_>) -> Vec<String> {
        let is_nested =
            |word: Token<'_>| matches!(word.kind(), TokenKind::Array | TokenKind::Object);
        self.is_unclear |= list.elements().any(is_nested);
        let text = |word: Token<'_>| word.string().map(Cow::into_owned);
        let words = list.elements();
        let words = words.map(|word| text(word).unwrap_or_else(|| word.as_str().to_owned()));
        words.collect()
    }
}

/// The arguments of the program that stands beside them.
fn args_of(object: Token<'_>) -> Option<Token<'_>> {
    let mut members = object.members();
    let args = members.find(|(name, it)| {
        !it.is_null() && COMMAND_ARGUMENTS.contains(&folded_name(*name).as_str())
    });
    args.map(|(_, args)| args)
}

/// Codex writes `["bash", "-lc", "git diff"]`, which a rule sees as `git diff`.
fn line_of_words(words: &[String]) -> String {
    match words {
        [shell, flag, script] if is_shell(shell) && matches!(flag.as_str(), "-c" | "-lc") => {
            script.clone()
        }
        [] => String::new(),
        [program, args @ ..] => command_line(program, args.iter().map(String::as_str)),
    }
}

/// One of the system's: a `./bash` may be any program.
fn is_shell(program: &str) -> bool {
    matches!(in_the_system(program), "sh" | "bash" | "zsh" | "dash")
}

fn is_bare_shell(line: &str) -> bool {
    SHELLS.contains(&in_the_system(line))
}

fn in_the_system(program: &str) -> &str {
    let mut known = ["/bin/", "/usr/bin/", "/usr/local/bin/"].into_iter();
    let name = known.find_map(|dir| program.strip_prefix(dir));
    name.unwrap_or(program)
}

/// A command in an unknown shape. No rule that allows commands is sure of it, and one that denies finds its words in the second
/// line.
fn as_it_stands(value: Token<'_>) -> String {
    let mut words = Vec::new();
    words_in(value, DEEPEST, &mut words);
    format!("{}\n{}", value.as_str(), words.join(" "))
}

/// The texts in a value, in the order in which they stand.
fn words_in(value: Token<'_>, depth: usize, words: &mut Vec<String>) {
    words.extend(value.string().map(Cow::into_owned));
    for inner in inner_values(value) {
        match depth.checked_sub(1) {
            Some(depth) => words_in(inner, depth, words),
            None => words.push(inner.as_str().to_owned()),
        }
    }
}

/// Whether a value is empty. A value that is too deep to be looked at counts as not empty.
fn is_empty(value: Token<'_>, depth: usize) -> bool {
    match (value.kind(), depth.checked_sub(1)) {
        (TokenKind::Null, _) => true,
        (TokenKind::String, _) => value.string().is_none_or(|text| text.trim().is_empty()),
        (TokenKind::Object | TokenKind::Array, Some(depth)) => {
            inner_values(value).all(|inner| is_empty(inner, depth))
        }
        _ => false,
    }
}

fn inner_values(value: Token<'_>) -> impl Iterator<Item = Token<'_>> {
    let members = value.members().map(|(_, inner)| inner);
    value.elements().chain(members)
}
