//! Names that are replaced in a hook's command before a shell sees it, as Gemini CLI (0.61) replaces them: as text, wherever they
//! stand, also as the beginning of a longer name. The form in braces is left to the shell, which finds it in the environment.

use super::shell::quoted;

/// What the names stand for.
#[derive(Debug, Clone, Copy)]
pub(super) struct Places<'a> {
    /// The project's directory, where the hook runs.
    pub(super) project: &'a str,
    /// Where the session works.
    pub(super) cwd: &'a str,
    /// Where plans are kept.
    pub(super) plans: &'a str,
    /// The session's id.
    pub(super) session: &'a str,
}

/// The command with its names replaced. One after the other: what a replacement brings in may be replaced again, as there.
pub(super) fn expanded(command: &str, places: Places<'_>) -> String {
    let names = [
        ("$GEMINI_PROJECT_DIR", places.project),
        ("$GEMINI_CWD", places.cwd),
        ("$GEMINI_PLANS_DIR", places.plans),
        ("$GEMINI_SESSION_ID", places.session),
        ("$CLAUDE_PROJECT_DIR", places.project),
    ];
    names
        .into_iter()
        .fold(command.to_owned(), |command, (name, place)| {
            if command.contains(name) {
                command.replace(name, &quoted(place))
            } else {
                command
            }
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(command: &str, expected: &str) {
        let places = Places {
            project: "/a b",
            cwd: "/a b/c",
            plans: "/plans",
            session: "s1",
        };
        assert_eq!(expanded(command, places), expected);
    }

    #[test]
    fn names_are_replaced_as_text() {
        check("$GEMINI_PROJECT_DIR/x.sh", "'/a b'/x.sh");
        check("ls $GEMINI_CWDX $GEMINI_CWD", "ls '/a b/c'X '/a b/c'");
        check("${GEMINI_CWD} $GEMINI_PLANS_DIR", "${GEMINI_CWD} /plans");
        check("echo '$GEMINI_SESSION_ID'", "echo 's1'");
        check("$CLAUDE_PROJECT_DIR$CLAUDE", "'/a b'$CLAUDE");
        check("$gemini_cwd $HOME", "$gemini_cwd $HOME");
    }
}
