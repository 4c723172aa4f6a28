//! What somebody probably meant who wrote a name that nobody has.

/// Nobody mistypes longer words, and comparing them takes time.
const LONGEST: usize = 64;

/// The candidate that a word was probably meant to be, if it is close.
pub(crate) fn nearest<'a>(
    word: &str,
    candidates: impl Iterator<Item = &'a str>,
) -> Option<&'a str> {
    let word = word.to_ascii_lowercase();
    let scored = candidates
        .filter(|candidate| candidate.len() <= LONGEST)
        .map(|candidate| (distance(&word, &candidate.to_ascii_lowercase()), candidate));
    let (distance, candidate) = scored.min_by_key(|(distance, _)| *distance)?;
    (distance <= word.len().max(4) / 3).then_some(candidate)
}

/// How many letters have to be put in, taken out or changed (Levenshtein). Words are short.
fn distance(one: &str, other: &str) -> usize {
    if one.len() > LONGEST {
        return usize::MAX;
    }
    let other: Vec<char> = other.chars().collect();
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for (line, letter) in one.chars().enumerate() {
        let mut corner = row[0];
        row[0] = line + 1;
        for (column, against) in other.iter().enumerate() {
            let changed = corner + usize::from(letter != *against);
            corner = row[column + 1];
            row[column + 1] = changed.min(corner + 1).min(row[column] + 1);
        }
    }
    row[other.len()]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hooks::Event;

    #[test]
    fn a_word_that_is_close_is_found_and_no_other() {
        let events = || Event::ALL.into_iter().map(Event::as_str);
        assert_eq!(nearest("beforeTool", events()), Some("BeforeTool"));
        assert_eq!(nearest("BeforeTools", events()), Some("BeforeTool"));
        assert_eq!(nearest("SesionStart", events()), Some("SessionStart"));
        assert_eq!(nearest("Frobnicate", events()), None);
        assert_eq!(nearest(&"x".repeat(10_000), events()), None);
        let long = "x".repeat(65);
        assert_eq!(nearest(&long[1..], [long.as_str()].into_iter()), None);
        assert_eq!(distance("kitten", "sitting"), 3);
    }
}
