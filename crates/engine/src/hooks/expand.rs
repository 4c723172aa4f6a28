//! Names that are replaced in a hook's command before a shell sees it, as Gemini CLI (0.61) replaces them: as text, wherever they
//! stand, also as the beginning of a longer name. The form in braces is left to the shell, which finds it in the environment.
//!
//! Text between the quotes of the hook's command is code as soon as it holds a quote or a `$`, however it is quoted itself. So a
//! value with characters that a shell could act on is not replaced, but left to the environment as well: the agent chooses the id
//! of its session, and the client that opens a session chooses its directory.

use super::shell::{from_environment, quoted};

/// The values of the names.
#[derive(Debug, Clone, Copy)]
pub(super) struct NameTable<'a> {
    /// The project's directory, where the hook runs.
    pub(super) project: NameValue<'a>,
    /// Where the session works.
    pub(super) cwd: NameValue<'a>,
    /// Where plans are kept.
    pub(super) plans: NameValue<'a>,
    /// The session's id.
    pub(super) session: NameValue<'a>,
}

/// The value of a name, by its origin.
#[derive(Debug, Clone, Copy)]
pub(super) enum NameValue<'a> {
    /// The user, who knows how Gemini CLI treats a blank.
    Own(&'a str),
    /// The agent or the client.
    Foreign(&'a str),
}

impl<'a> NameValue<'a> {
    pub(super) fn value_text(self) -> &'a str {
        match self {
            Self::Own(text) | Self::Foreign(text) => text,
        }
    }

    /// Whether no shell acts on any of it, in any quotes.
    fn is_harmless(self) -> bool {
        let is_harmless = |char: char| match char {
            ' ' | '~' => matches!(self, Self::Own(_)),
            char if char.is_ascii() => char.is_ascii_alphanumeric() || "/._-+,:=@%".contains(char),
            char => !char.is_whitespace() && !char.is_control(),
        };
        self.value_text().chars().all(is_harmless)
    }
}

/// The command with its names replaced.
pub(super) fn expand_names(command: &str, places: NameTable<'_>) -> String {
    let names = [
        ("GEMINI_PROJECT_DIR", places.project),
        ("GEMINI_CWD", places.cwd),
        ("GEMINI_PLANS_DIR", places.plans),
        ("GEMINI_SESSION_ID", places.session),
        ("CLAUDE_PROJECT_DIR", places.project),
    ];
    let mut command = command.to_owned();
    for (name, place) in names {
        let written = format!("${name}");
        if !command.contains(&written) {
            continue;
        }
        command = match place {
            _ if !place.is_harmless() => keep_name(&command, &written, name),
            NameValue::Own(text) => command.replace(&written, &quoted(text)),
            NameValue::Foreign(text) => command.replace(&written, text),
        };
    }
    command
}

/// The command with a name left to the environment: as one word, wherever the command itself has no quotes around it.
fn keep_name(command: &str, written: &str, name: &str) -> String {
    let mut left = String::with_capacity(command.len());
    let mut rest = command;
    while let Some((before, after)) = rest.split_once(written) {
        left.push_str(before);
        let is_bare = !is_quoted(&left);
        left.push_str(&from_environment(name, is_bare));
        rest = after;
    }
    left + rest
}

/// Whether the text after `before` stands in quotes, or behind a `\`. A wrong guess is safe: the value may be split into words,
/// but is never executed.
fn is_quoted(before: &str) -> bool {
    let (mut open, mut is_escaped) = (None, false);
    for char in before.chars() {
        match (open, char) {
            _ if is_escaped => is_escaped = false,
            (None | Some('"'), '\\') => is_escaped = true,
            (None, '"' | '\'') => open = Some(char),
            (Some(quote), _) if quote == char => open = None,
            _ => {}
        }
    }
    open.is_some() || is_escaped
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[track_caller]
    fn check(command: &str, session: &str, expected: &str) {
        let places = NameTable {
            project: NameValue::Own("/a b"),
            cwd: NameValue::Own("/a b/c"),
            plans: NameValue::Own("/plans"),
            session: NameValue::Foreign(session),
        };
        assert_eq!(expand_names(command, places), expected);
    }

    #[test]
    fn names_are_replaced_as_text() {
        let check = |command, expected| check(command, "s1", expected);
        check("$GEMINI_PROJECT_DIR/x.sh", "'/a b'/x.sh");
        check("ls $GEMINI_CWDX $GEMINI_CWD", "ls '/a b/c'X '/a b/c'");
        check("${GEMINI_CWD} $GEMINI_PLANS_DIR", "${GEMINI_CWD} /plans");
        check("echo '$GEMINI_SESSION_ID'", "echo 's1'");
        check("$CLAUDE_PROJECT_DIR$CLAUDE", "'/a b'$CLAUDE");
        check("$gemini_cwd $HOME", "$gemini_cwd $HOME");
    }

    #[test]
    fn a_session_id_with_shell_characters_is_left_to_the_environment() {
        let ids = [
            "$(x)",
            "`x`",
            "a;b",
            "a b",
            "a\nb",
            "'",
            "\"",
            "\\",
            "a&b",
            "~a",
            "{a,b}",
            "*",
            "\u{a0}",
            "$GEMINI_CWD",
        ];
        for id in ids {
            let check = |command, expected| check(command, id, expected);
            check("a $GEMINI_SESSION_ID b", "a \"${GEMINI_SESSION_ID}\" b");
            check("\"$GEMINI_SESSION_ID\"", "\"${GEMINI_SESSION_ID}\"");
            check("sh -c '$GEMINI_SESSION_ID'", "sh -c '${GEMINI_SESSION_ID}'");
            check("\\$GEMINI_SESSION_IDX", "\\${GEMINI_SESSION_ID}X");
            check(
                "\"it's $GEMINI_SESSION_ID\" $GEMINI_SESSION_ID",
                "\"it's ${GEMINI_SESSION_ID}\" \"${GEMINI_SESSION_ID}\"",
            );
        }
    }

    #[test]
    fn a_project_directory_with_shell_characters_is_left_to_the_environment() {
        for project in ["/a $(x)", "/a;b", "/it's", "/`x`"] {
            let places = NameTable {
                project: NameValue::Own(project),
                cwd: NameValue::Own("/"),
                plans: NameValue::Own("/"),
                session: NameValue::Foreign("s"),
            };
            let command = expand_names("\"$CLAUDE_PROJECT_DIR/$GEMINI_CWD\"", places);
            assert_eq!(command, "\"${CLAUDE_PROJECT_DIR}//\"", "{project}");
        }
    }
}
