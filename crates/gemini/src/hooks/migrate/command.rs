//! Where the project is, in a command.
//!
//! Gemini CLI puts a quoted path in place of `$GEMINI_PROJECT_DIR` before the shell sees it, also between double quotes, where
//! the quotes of a path with a blank then belong to the path. `${GEMINI_PROJECT_DIR}` is left to the shell, which knows better.

const NAMES: [&str; 2] = ["${CLAUDE_PROJECT_DIR}", "$CLAUDE_PROJECT_DIR"];

pub(super) fn translate_command(command: &str) -> String {
    let mut out = String::with_capacity(command.len());
    let mut rest = command;
    let mut quote = None;
    while let Some(letter) = rest.chars().next() {
        if let Some(name) = NAMES.iter().find(|name| rest.starts_with(**name)) {
            out.push_str(if quote == Some('"') || name.ends_with('}') {
                "${GEMINI_PROJECT_DIR}"
            } else {
                "$GEMINI_PROJECT_DIR"
            });
            rest = &rest[name.len()..];
            continue;
        }
        let length = match (letter, quote) {
            ('\\', None | Some('"')) => 1 + rest[1..].chars().next().map_or(0, char::len_utf8),
            _ => letter.len_utf8(),
        };
        quote = match (letter, quote) {
            ('\'' | '"', None) => Some(letter),
            (_, Some(open)) if open == letter => None,
            (_, open) => open,
        };
        out.push_str(&rest[..length]);
        rest = &rest[length..];
    }
    out
}

#[cfg(test)]
mod tests {
    use super::translate_command;

    #[test]
    fn the_project_is_named_so_that_a_path_with_a_blank_holds() {
        let check =
            |command: &str, expected: &str| assert_eq!(translate_command(command), expected);
        check("$CLAUDE_PROJECT_DIR/a.sh", "$GEMINI_PROJECT_DIR/a.sh");
        check(
            r#""$CLAUDE_PROJECT_DIR"/a.sh"#,
            r#""${GEMINI_PROJECT_DIR}"/a.sh"#,
        );
        check(
            r#""${CLAUDE_PROJECT_DIR}/a.sh""#,
            r#""${GEMINI_PROJECT_DIR}/a.sh""#,
        );
        check("${CLAUDE_PROJECT_DIR}/é", "${GEMINI_PROJECT_DIR}/é");
        check(
            r#"echo \" $CLAUDE_PROJECT_DIR"#,
            r#"echo \" $GEMINI_PROJECT_DIR"#,
        );
        check(
            r#"'"' $CLAUDE_PROJECT_DIR \"#,
            r#"'"' $GEMINI_PROJECT_DIR \"#,
        );
    }
}
