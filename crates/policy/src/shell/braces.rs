//! Lists in braces, which a shell makes several words of: `{a,b}.txt`.

/// Words that one word becomes at most. Further lists stay as they stand.
const MOST_WORDS: usize = 64;

/// The words that a word with lists in braces becomes.
pub(crate) fn expand_braces(word: &str) -> Vec<String> {
    let mut open = vec![word.to_owned()];
    let mut done = Vec::new();
    while let Some(word) = open.pop() {
        match first_list(&word).filter(|_| open.len() + done.len() < MOST_WORDS) {
            Some((before, items, behind)) => {
                let words = items.iter().map(|item| format!("{before}{item}{behind}"));
                open.extend(words.take(MOST_WORDS));
            }
            None => done.push(word),
        }
    }
    done
}

/// The first list without another in it: the text before it, its items, and the text behind it.
fn first_list(word: &str) -> Option<(&str, Vec<&str>, &str)> {
    let mut closed = word.match_indices('}').map(|(end, _)| end);
    closed.find_map(|end| {
        let start = word[..end].rfind('{')?;
        let items: Vec<_> = word[start + 1..end].split(',').collect();
        (items.len() > 1).then(|| (&word[..start], items, &word[end + 1..]))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_item_of_a_list_is_a_word() {
        let check = |word: &str, expected: &[&str]| {
            let mut found = expand_braces(word);
            found.sort();
            found.dedup();
            assert_eq!(found, expected, "{word}");
        };
        check("a.txt", &["a.txt"]);
        check("{a,b}.txt", &["a.txt", "b.txt"]);
        check("a{,.bak}", &["a", "a.bak"]);
        check("{a,{b,c}}", &["a", "b", "c"]);
        check("{}", &["{}"]);
        assert!(expand_braces(&"{a,b}".repeat(100)).len() <= 2 * MOST_WORDS);
    }
}
