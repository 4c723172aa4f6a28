//! Words of a command line that may name hosts.

use super::suspects::{each_command, program_places};

/// Programs that fetch from the hosts that they are given.
const FETCHERS: [&str; 14] = [
    "curl", "wget", "http", "https", "xh", "aria2c", "lynx", "w3m", "links", "nc", "ncat",
    "telnet", "ftp", "sftp",
];

/// A simple command, as far as it may reach a host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CommandWords {
    pub(crate) words: Vec<String>,
    /// Its program fetches.
    pub(crate) fetches: bool,
    /// Only a running shell knows some of its words.
    pub(crate) is_expanded: bool,
}

/// The words of each simple command of a line.
pub(crate) fn command_words(line: &str) -> Vec<CommandWords> {
    let mut found = Vec::new();
    each_command(line, |command| {
        let words: Vec<_> = command.words.iter().map(|it| it.text.clone()).collect();
        let program = |at: &usize| words[*at].rsplit('/').next().unwrap_or_default();
        let fetches = program_places(&words)
            .iter()
            .any(|at| FETCHERS.contains(&program(at)));
        found.push(CommandWords {
            fetches,
            is_expanded: command.words.iter().any(|word| word.is_expanded),
            words,
        });
    });
    found
}
