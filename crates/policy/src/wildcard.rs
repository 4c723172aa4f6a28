//! Patterns over text: `*` is any text, and `?` any letter.

/// True if the whole text is as the pattern says.
pub(super) fn wildcard_matches(pattern: &str, text: &str) -> bool {
    is_as(pattern, text, Some('?'))
}

/// The same for commands, in which only `*` is special: `$?` is a word of its own there.
pub(super) fn command_matches(pattern: &str, text: &str) -> bool {
    is_as(pattern, text, None)
}

fn is_as(pattern: &str, text: &str, any_letter: Option<char>) -> bool {
    let pattern: Vec<char> = pattern.chars().collect();
    let text: Vec<char> = text.chars().collect();
    let (mut at, mut seen) = (0, 0);
    // Where the last star stands, and how much it has taken so far.
    let mut star: Option<(usize, usize)> = None;
    while seen < text.len() {
        match pattern.get(at) {
            Some('*') => {
                star = Some((at, seen));
                at += 1;
            }
            Some(letter) if Some(*letter) == any_letter || *letter == text[seen] => {
                at += 1;
                seen += 1;
            }
            _ => {
                let Some((place, taken)) = star else {
                    return false;
                };
                star = Some((place, taken + 1));
                at = place + 1;
                seen = taken + 1;
            }
        }
    }
    pattern[at..].iter().all(|letter| *letter == '*')
}

/// True if the text stands for more than itself.
pub(super) fn is_pattern(text: &str) -> bool {
    text.contains(['*', '?'])
}
