//! A command line, split into words as a shell would: quotes and backslashes, and nothing else. No variable, no glob, no substitution.

/// Why a command line cannot be split.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum WordsError {
    /// A quote has no end.
    #[error("a quote ({0}) has no end")]
    Quote(char),
    /// Nothing comes after the last backslash.
    #[error("nothing comes after the last backslash")]
    Backslash,
    /// There is no word in it.
    #[error("it is empty")]
    Empty,
}

/// Splits a command line.
///
/// ```
/// use lapidary_engine::agents::split_words;
///
/// assert_eq!(split_words(r#"node 'my agent.js' --name="a b" c\ d"#)?, ["node", "my agent.js", "--name=a b", "c d"]);
/// # Ok::<(), lapidary_engine::agents::WordsError>(())
/// ```
pub fn split(line: &str) -> Result<Vec<String>, WordsError> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    let mut chars = line.chars();
    while let Some(c) = chars.next() {
        match (quote, c) {
            (None, c) if c.is_whitespace() => words.extend(word.take()),
            (None, '\'' | '"') => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            (Some(open), c) if c == open => quote = None,
            (None, '\\') => {
                let c = chars.next().ok_or(WordsError::Backslash)?;
                word.get_or_insert_default().push(c);
            }
            (Some('"'), '\\') => {
                let c = chars.next().ok_or(WordsError::Quote('"'))?;
                let word = word.get_or_insert_default();
                // Before any other character, a backslash stands for itself.
                if !matches!(c, '"' | '\\' | '$' | '`') {
                    word.push('\\');
                }
                word.push(c);
            }
            (_, c) => word.get_or_insert_default().push(c),
        }
    }
    if let Some(open) = quote {
        return Err(WordsError::Quote(open));
    }
    words.extend(word);
    Ok(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(line: &str, expected: &[&str]) {
        assert_eq!(
            split(line).as_deref(),
            Ok(expected
                .iter()
                .map(|word| (*word).to_owned())
                .collect::<Vec<_>>()
                .as_slice()),
            "{line}"
        );
    }

    #[test]
    fn words_are_split_as_a_shell_would() {
        check("", &[]);
        check("  gemini\t--acp\n", &["gemini", "--acp"]);
        check("'' \"\"", &["", ""]);
        check(r#"a'b c'd"e f""#, &["ab cde f"]);
        check(r#""\"\\\n$HOME""#, &[r#""\\n$HOME"#]);
        check(r"'\'", &[r"\"]);
        check(r"a\ b \'", &["a b", "'"]);
        check("$HOME *.rs; ls", &["$HOME", "*.rs;", "ls"]);
    }

    #[test]
    fn an_open_quote_or_trailing_backslash_is_an_error() {
        assert_eq!(split("a 'b"), Err(WordsError::Quote('\'')));
        assert_eq!(split(r#"a "b\""#), Err(WordsError::Quote('"')));
        assert_eq!(split(r"a \"), Err(WordsError::Backslash));
    }
}
