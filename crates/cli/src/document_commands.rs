//! A test of the documents: the program accepts every command line that they show.

use std::fs;
use std::path::{Path, PathBuf};

use clap::error::ErrorKind;

use crate::commands::command_line;

fn pages() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let docs = fs::read_dir(root.join("docs")).unwrap();
    let mut pages: Vec<_> = docs.map(|entry| entry.unwrap().path()).collect();
    pages.retain(|page| page.extension().is_some_and(|it| it == "md"));
    pages.push(root.join("README.md"));
    pages
}

/// A command line of a `sh` or `console` block, or a text in backticks, which may name a part of a command only.
struct ShownCommand {
    text: String,
    is_whole: bool,
}

fn shown_commands(page: &str) -> Vec<ShownCommand> {
    let mut commands = Vec::new();
    let mut block = None;
    let mut prose = String::new();
    let mut lines = page.lines();
    while let Some(line) = lines.next() {
        if let Some(language) = line.trim_start().strip_prefix("```") {
            block = block.is_none().then_some(language);
            continue;
        }
        let mut command = match block {
            None => {
                prose.extend([line, "\n"]);
                continue;
            }
            Some("console") => line.strip_prefix("$ ").map(str::to_owned),
            Some("sh" | "bash") => Some(line.to_owned()),
            Some(_) => None,
        };
        while let Some(begun) = command.as_ref().and_then(|it| it.strip_suffix('\\')) {
            command = Some(format!("{begun} {}", lines.next().unwrap_or_default()));
        }
        commands.extend(command.map(|text| ShownCommand {
            text,
            is_whole: true,
        }));
    }
    let quoted = prose.split('`').skip(1).step_by(2);
    commands.extend(quoted.map(|text| ShownCommand {
        text: text.replace('\n', " "),
        is_whole: false,
    }));
    commands
}

/// The words of each call of `lapidary` in a command line.
fn calls(line: &str) -> Vec<Vec<String>> {
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

/// Whether the program knows every command and option of these words. A whole command has all its arguments and valid values, too.
fn is_accepted(words: &[String], is_whole: bool) -> bool {
    match command_line().try_get_matches_from(words) {
        Ok(_) => true,
        Err(error) if is_whole => !error.use_stderr(),
        Err(error) => !matches!(
            error.kind(),
            ErrorKind::UnknownArgument | ErrorKind::InvalidSubcommand
        ),
    }
}

#[test]
fn every_command_that_a_document_shows_is_accepted() {
    let mut count = 0;
    let mut wrong = Vec::new();
    for page in pages() {
        for command in shown_commands(&fs::read_to_string(&page).unwrap()) {
            let stands_for_more = |words: &Vec<String>| words.iter().any(|word| word == "…");
            for words in calls(&command.text) {
                if stands_for_more(&words) {
                    continue;
                }
                count += 1;
                if !is_accepted(&words, command.is_whole) {
                    wrong.push(format!("{}: {}", page.display(), command.text));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(count > 120, "commands are found: {count}");
}
