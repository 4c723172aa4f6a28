//! Options and commands of other tools that people try here, and the names that Lapidary has for them.

/// A guess: the commands it is about (a prefix of their names; if empty, options of all and commands of the first level), the
/// word, and its replacement.
type UsageGuess = (&'static str, &'static str, &'static str);

/// The table. The first row that fits counts.
const GUESSES: &[UsageGuess] = &[
    // Output.
    (
        "run",
        "--output-format",
        "use `--json` for events, or `--format result` for one object",
    ),
    (
        "sessions resume",
        "--output-format",
        "use `--json` for events, or `--format result` for one object",
    ),
    (
        "translate",
        "-o",
        "redirect stdout: `lapidary translate FILE > OUT`",
    ),
    ("", "--output-format", "use `--format`"),
    ("run", "--output-last-message", "use `-o FILE`"),
    (
        "run",
        "--json-schema",
        "use `--output-schema FILE`: the answer fits the schema, or the run fails",
    ),
    (
        "run",
        "--print",
        "leave it out: `run` prints the answer and ends; `-q` prints nothing else",
    ),
    ("run", "--silent", "use `-q`"),
    ("run", "--stream", "use `--json`: one event a line"),
    ("run", "--html", "use `--format html`"),
    ("run", "--debug", "use `--verbose`"),
    (
        "connect",
        "--json",
        "leave it out: `connect` prints one JSON a line",
    ),
    (
        "connect",
        "--format",
        "leave it out: `connect` prints one JSON a line",
    ),
    ("schema", "--json", "leave it out: schemas are JSON"),
    ("sessions export", "--format", "use `--to`"),
    ("sessions export", "--json", "use `--to`"),
    ("", "--no-color", "set NO_COLOR=1"),
    ("", "--no-colour", "set NO_COLOR=1"),
    ("", "--color", "set NO_COLOR=1 to turn colours off"),
    // Permissions.
    (
        "",
        "--approval-mode",
        "use `lapidary run --permission-mode default|acceptEdits|bypassPermissions|plan`",
    ),
    (
        "run",
        "--ask-for-approval",
        "use `--permission-mode`, or rules: `--allow`, `--ask`, `--deny`",
    ),
    ("run", "--full-auto", "use `--permission-mode acceptEdits`"),
    ("run", "--dangerously-skip-permissions", "use `--yolo`"),
    (
        "run",
        "--dangerously-bypass-approvals-and-sandbox",
        "use `--yolo`",
    ),
    ("run", "--allow-all", "use `--yolo`"),
    (
        "run",
        "--yes",
        "use `--yolo`, or allow less: `--permission-mode acceptEdits`",
    ),
    (
        "run",
        "--allowedTools",
        "use `--allow`, such as `--allow 'execute:cargo test*'`",
    ),
    (
        "run",
        "--disallowedTools",
        "use `--deny`, such as `--deny 'execute:git push*'`",
    ),
    (
        "run",
        "--disallowed-tools",
        "use `--deny`, such as `--deny 'execute:git push*'`",
    ),
    ("run", "--skip-trust", "use `--trust-workspace`"),
    (
        "run",
        "--skip-git-repo-check",
        "leave it out: no repository is needed; `--trust-workspace` trusts the folder",
    ),
    // Sessions.
    (
        "",
        "--resume-session",
        "use `lapidary run --resume SESSION`; `latest` is the newest",
    ),
    ("run", "--continue", "use `--resume latest`"),
    ("run", "-c", "use `--resume latest`"),
    (
        "run",
        "-r",
        "use `--resume SESSION`; `latest` is the newest",
    ),
    (
        "run",
        "--session",
        "use `--resume SESSION`; `latest` is the newest",
    ),
    ("", "--list-sessions", "use `lapidary sessions list`"),
    ("", "--delete-session", "use `lapidary sessions delete ID`"),
    // Input and place.
    ("run", "--cwd", "use `-C DIR`"),
    ("run", "--cd", "use `-C DIR`"),
    ("run", "--dir", "use `-C DIR`"),
    ("run", "--add-dir", "use `--include-directories DIR`"),
    (
        "run",
        "--file",
        "use `--prompt-file FILE` for the prompt, `--attach FILE` for a file beside it",
    ),
    (
        "run",
        "-f",
        "use `--prompt-file FILE` for the prompt, `--attach FILE` for a file beside it",
    ),
    ("run", "--image", "use `--attach FILE`"),
    (
        "run",
        "-i",
        "use `--attach FILE` for an image; `run` takes one prompt and ends",
    ),
    (
        "run",
        "--append-system-prompt",
        "use `--system-prompt TEXT`",
    ),
    ("run", "--provider", "use `--agent NAME`"),
    ("run", "--profile", "use `--config FILE`"),
    ("serve", "--port", "use `--listen 127.0.0.1:PORT`"),
    ("serve", "-p", "use `--listen 127.0.0.1:PORT`"),
    ("serve", "--host", "use `--listen ADDRESS:PORT`"),
    // Limits.
    ("run", "--max-tokens", "use `--budget tokens=N`"),
    ("run", "--max-cost", "use `--budget cost=USD`"),
    ("run", "--max-budget-usd", "use `--budget cost=USD`"),
    ("run", "--max-steps", "use `--max-turns N`"),
    ("run", "--retry", "use `--retries N`"),
    // Commands.
    (
        "",
        "chat",
        "use `lapidary run 'PROMPT'`, or `lapidary connect` for programs",
    ),
    ("", "ask", "use `lapidary run 'PROMPT'`"),
    ("", "prompt", "use `lapidary run 'PROMPT'`"),
    ("", "init", "use `lapidary config init`"),
    ("", "setup", "use `lapidary doctor`"),
    (
        "",
        "update",
        "update it with the tool that installed it: npm, pip, cargo or `install.sh`",
    ),
    (
        "",
        "upgrade",
        "update it with the tool that installed it: npm, pip, cargo or `install.sh`",
    ),
    ("", "resume", "use `lapidary sessions resume ID`"),
    ("", "continue", "use `lapidary sessions resume latest`"),
    (
        "",
        "history",
        "use `lapidary runs list`, or `lapidary sessions list`",
    ),
    (
        "",
        "list",
        "use `lapidary runs list`, or `lapidary sessions list`",
    ),
    ("", "logs", "use `lapidary runs show ID`"),
    (
        "",
        "show",
        "use `lapidary runs show ID`, or `lapidary sessions show ID`",
    ),
    ("", "open", "use `lapidary runs open ID`"),
    ("", "transcript", "use `lapidary runs open ID`"),
    ("", "search", "use `lapidary sessions search WORDS`"),
    ("", "export", "use `lapidary sessions export ID`"),
    ("", "stats", "use `lapidary sessions stats`"),
    ("", "install", "use `lapidary skills install SOURCE`"),
    (
        "",
        "login",
        "sign in with the agent itself, such as `gemini`; `lapidary doctor` says what is missing",
    ),
    (
        "",
        "auth",
        "sign in with the agent itself, such as `gemini`; `lapidary doctor` says what is missing",
    ),
    ("", "status", "use `lapidary doctor`"),
    ("", "version", "use `lapidary --version`"),
    ("", "models", "use `lapidary capabilities`"),
    ("", "server", "use `lapidary serve`"),
    ("", "web", "use `lapidary serve --open`"),
    ("", "completion", "use `lapidary completions SHELL`"),
    ("sessions", "find", "use `lapidary sessions search WORDS`"),
    ("sessions", "grep", "use `lapidary sessions search WORDS`"),
    (
        "sessions",
        "open",
        "use `lapidary sessions show ID`, or `lapidary sessions browse`",
    ),
    ("sessions", "cat", "use `lapidary sessions show ID`"),
    ("sessions", "rm", "use `lapidary sessions delete ID`"),
    ("skills", "add", "use `lapidary skills install SOURCE`"),
    ("skills", "remove", "use `lapidary skills uninstall NAME`"),
    ("hooks", "run", "use `lapidary hooks test EVENT`"),
    ("sessions", "ls", "use `lapidary sessions list`"),
    ("runs", "ls", "use `lapidary runs list`"),
    ("skills", "ls", "use `lapidary skills list`"),
    ("hooks", "ls", "use `lapidary hooks list`"),
    ("agents", "ls", "use `lapidary agents list`"),
    ("agents", "acknowledge", "use `lapidary agents ack NAME`"),
];

/// The replacement for a word that `command` does not know, such as `run` or `sessions list`.
pub(crate) fn instead_of(word: &str, command: &str) -> Option<&'static str> {
    let word = word.split_once('=').map_or(word, |(word, _)| word);
    let is_option = word.starts_with('-');
    let is_about = |prefix: &str| match command.strip_prefix(prefix) {
        // A command of another group would mislead: `skills show` is no run.
        Some(rest) if prefix.is_empty() => rest.is_empty() || is_option,
        Some(rest) => rest.is_empty() || rest.starts_with(' '),
        None => false,
    };
    let mut rows = GUESSES.iter();
    let found = rows.find(|(prefix, guess, _)| *guess == word && is_about(prefix));
    found.map(|(_, _, hint)| *hint)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commands::command_line;

    /// The command of this name.
    fn named(name: &str) -> clap::Command {
        let mut command = command_line();
        command.build();
        for word in name.split_whitespace() {
            let below = command.find_subcommand(word);
            command = below
                .unwrap_or_else(|| panic!("no command `{name}`"))
                .clone();
        }
        command
    }

    fn has_flag(command: &clap::Command, flag: &str) -> bool {
        let long = flag.strip_prefix("--");
        let short = flag.strip_prefix('-').and_then(|it| it.chars().next());
        command.get_arguments().any(|it| match long {
            Some(long) => it.get_long() == Some(long),
            None => it.get_short() == short,
        })
    }

    #[test]
    fn no_guess_hides_a_word_that_works() {
        for (command, word, _) in GUESSES {
            let command = named(command);
            let is_known = if word.starts_with('-') {
                has_flag(&command, word)
            } else {
                command.find_subcommand(word).is_some()
            };
            assert!(!is_known, "`{}` knows `{word}`", command.get_name());
        }
    }

    #[test]
    fn every_hint_names_what_there_is() {
        for (command, word, hint) in GUESSES {
            for code in hint.split('`').skip(1).step_by(2) {
                if command.is_empty() && !code.starts_with("lapidary") {
                    continue; // for whatever command it is
                }
                let mut words = code.split_whitespace().peekable();
                let mut at = named(command);
                if words.next_if_eq(&"lapidary").is_some() {
                    at = named("");
                }
                while let Some(next) = words.peek().and_then(|word| at.find_subcommand(word)) {
                    at = next.clone();
                    words.next();
                }
                let mut flags = words.filter(|word| word.starts_with('-'));
                let missing = flags.find(|flag| !has_flag(&at, flag));
                assert_eq!(missing, None, "{word}: {hint} ({})", at.get_name());
            }
        }
    }
}
