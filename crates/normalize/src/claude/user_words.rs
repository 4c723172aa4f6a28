//! Words in the user's name that no user said.

/// Beginnings of texts that the program says in the name of the user.
const PROGRAM_WORDS: [&str; 4] = [
    "<local-command-",
    "<bash-stdout>",
    "<system-reminder>",
    "<task-notification>",
];

/// The beginning of the text that an interruption leaves.
const INTERRUPTED: &str = "[Request interrupted by user";

/// True if the program said it.
pub(super) fn is_program(said: &str) -> bool {
    PROGRAM_WORDS.iter().any(|start| said.starts_with(start))
}

/// True for the mark of an interruption.
pub(super) fn is_interruption(said: &str) -> bool {
    said.starts_with(INTERRUPTED)
}
