//! A test of the documents: the program accepts every command line that they show. Those of blocks also run, in `tests/it/documents.rs`.

use clap::error::ErrorKind;
use lapidary_testkit::shown_commands::{calls, pages, shown_commands};

use crate::commands::command_line;

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
        for command in shown_commands(&page) {
            let stands_for_more = |words: &Vec<String>| words.iter().any(|word| word == "…");
            for words in calls(&command.text) {
                if stands_for_more(&words) {
                    continue;
                }
                count += 1;
                if !is_accepted(&words, command.is_whole) {
                    wrong.push(format!("{page}: {}", command.text));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(count > 120, "commands are found: {count}");
}
