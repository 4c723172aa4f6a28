//! The commands that the README and the pages of `docs` show, with the output that they show for them.

use std::fs;
use std::path::{Path, PathBuf};

/// A command line of a block of commands, or a text in backticks, which may name a part of a command only.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShownCommand {
    /// The line, with its continuations.
    pub text: String,
    /// Whether it has all its arguments.
    pub is_whole: bool,
    /// The number of its line in the page; 0 for a text in backticks.
    pub line: usize,
    /// The lines that the block shows after the command, up to the next one.
    pub output: Vec<String>,
}

/// The README and the pages of `docs`, by their paths from the root.
///
/// # Panics
/// If they cannot be listed.
pub fn pages() -> Vec<String> {
    let docs = fs::read_dir(root().join("docs")).expect("the pages can be listed");
    let names = docs.map(|entry| entry.expect("a page").file_name());
    let names = names.filter_map(|name| name.into_string().ok());
    let pages = names.filter(|name| Path::new(name).extension().is_some_and(|it| it == "md"));
    let mut pages: Vec<_> = pages.map(|name| format!("docs/{name}")).collect();
    pages.push("README.md".to_owned());
    pages.sort();
    pages
}

/// The commands of a page. A block of `sh` has commands only; in `console` they begin with `$ `; a block without a language has
/// either form, or no command.
///
/// # Panics
/// If the page cannot be read.
pub fn shown_commands(page: &str) -> Vec<ShownCommand> {
    let text = fs::read_to_string(root().join(page)).expect("the page can be read");
    let mut commands = Vec::<ShownCommand>::new();
    let mut block: Option<Block> = None;
    let mut prose = String::new();
    let mut lines = text.lines().enumerate();
    while let Some((number, line)) = lines.next() {
        if let Some(language) = line.trim_start().strip_prefix("```") {
            block = block.is_none().then(|| Block::new(language));
            continue;
        }
        let Some(block) = &mut block else {
            prose.extend([line, "\n"]);
            continue;
        };
        let Some(begun) = block.command(line) else {
            if let Some(command) = commands.last_mut().filter(|_| block.has_command) {
                command.output.push(line.to_owned());
            }
            continue;
        };
        block.has_command = true;
        let mut text = begun.to_owned();
        while let Some(begun) = text.strip_suffix('\\') {
            let (_, next) = lines.next().unwrap_or_default();
            text = format!("{begun} {next}");
        }
        commands.push(ShownCommand {
            text,
            is_whole: true,
            line: number + 1,
            output: Vec::new(),
        });
    }
    let quoted = prose.split('`').skip(1).step_by(2);
    commands.extend(quoted.map(|text| ShownCommand {
        text: text.replace('\n', " "),
        is_whole: false,
        line: 0,
        output: Vec::new(),
    }));
    commands
}

struct Block {
    language: String,
    has_command: bool,
}

impl Block {
    fn new(language: &str) -> Self {
        Self {
            language: language.to_owned(),
            has_command: false,
        }
    }

    /// The command of a line of the block.
    fn command<'a>(&self, line: &'a str) -> Option<&'a str> {
        match self.language.as_str() {
            "sh" | "bash" => Some(line),
            "console" => line.strip_prefix("$ "),
            "" => line
                .strip_prefix("$ ")
                .or_else(|| line.starts_with("lapidary ").then_some(line)),
            _ => None,
        }
    }
}

/// The words of each call of `lapidary` in a command line.
pub fn calls(line: &str) -> Vec<Vec<String>> {
    let mut calls = Vec::new();
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    for letter in line.chars().chain(['\n']) {
        match (quote, letter) {
            (Some(mark), _) if letter == mark => quote = None,
            (None, '\'' | '"') => {
                quote = Some(letter);
                word.get_or_insert_default();
            }
            (None, ' ' | '\n' | '|' | ';' | '>' | '<' | '&' | '#') => {
                words.extend(word.take());
                if letter == '#' && !words.is_empty() {
                    break;
                }
                if letter != ' ' {
                    calls.push(std::mem::take(&mut words));
                }
            }
            _ => word.get_or_insert_default().push(letter),
        }
    }
    calls.push(words);
    calls.retain(|words| words.first().is_some_and(|word| word == "lapidary") && words.len() > 1);
    calls
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}
