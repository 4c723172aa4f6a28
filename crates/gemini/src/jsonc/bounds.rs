//! Bounds on a text: valid JSON can still need more memory than a process has.

/// How deep values may nest. Gemini CLI itself gives up at a depth above 1,500; with every copy of a value as deep as the value,
/// this fits on the stack of any thread.
pub(crate) const DEEPEST: usize = 512;

/// How many values there may be. One of two bytes takes a hundred in memory.
pub(crate) const MOST: usize = 1_000_000;

/// What there is too much of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ExcessKind {
    /// Levels; this byte is where the first of them begins that is too deep.
    Levels(usize),
    /// Values.
    Values,
}

/// Whether a text that is valid JSON is within the bounds.
pub(super) fn check(valid: &str) -> Result<(), ExcessKind> {
    let (mut depth, mut values) = (0_usize, 1_usize);
    let mut bytes = valid.bytes().enumerate();
    while let Some((at, byte)) = bytes.next() {
        match byte {
            b'"' => skip_string(&mut bytes),
            b'{' | b'[' => {
                (depth, values) = (depth + 1, values + 1);
                if depth > DEEPEST {
                    return Err(ExcessKind::Levels(at));
                }
            }
            b'}' | b']' => depth = depth.saturating_sub(1),
            b',' => values += 1,
            _ => {}
        }
        if values > MOST {
            return Err(ExcessKind::Values);
        }
    }
    Ok(())
}

fn skip_string(bytes: &mut impl Iterator<Item = (usize, u8)>) {
    while let Some((_, byte)) = bytes.next() {
        match byte {
            b'\\' => drop(bytes.next()),
            b'"' => return,
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn brackets_count_only_where_they_are_brackets() {
        let nested = |levels: usize| format!("{}{}", "[".repeat(levels), "]".repeat(levels));
        assert_eq!(check(&nested(DEEPEST)), Ok(()));
        let over = nested(DEEPEST + 1);
        assert_eq!(check(&over), Err(ExcessKind::Levels(DEEPEST)));
        let wide = format!("[{}[]]", "[],".repeat(DEEPEST));
        assert_eq!(check(&wide), Ok(()));
        let text = format!(r#"["\"{}", "\\"]"#, "[".repeat(DEEPEST + 1));
        assert_eq!(check(&text), Ok(()));
        // The list itself is one, and so is what it is in.
        let list = |commas: usize| format!("[1{}]", ",1".repeat(commas));
        assert_eq!(check(&list(MOST - 2)), Ok(()));
        assert_eq!(check(&list(MOST - 1)), Err(ExcessKind::Values));
    }
}
