//! Counts of words, vague words, and clauses that stand in for a noun, in comments.

/// Words that name no thing and no person.
const VAGUE: [&str; 9] = [
    "whoever",
    "whatever",
    "somebody",
    "anybody",
    "nobody",
    "anything",
    "something",
    "somewhere",
    "elsewhere",
];

/// Words that make a clause of `what` or `who` before them: `what is`, `who has`, `what it`.
const CLAUSE: [&str; 34] = [
    "is", "was", "are", "were", "has", "had", "have", "it", "they", "he", "she", "we", "you", "a",
    "an", "the", "this", "that", "its", "their", "our", "can", "cannot", "could", "does", "did",
    "comes", "came", "goes", "stands", "makes", "follows", "waits", "wants",
];

/// Counts over the comments of a crate.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ProseCounts {
    pub(crate) words: usize,
    pub(crate) vague: usize,
    /// Clauses with `what`, `who` or `those` where a noun could stand.
    pub(crate) free_relatives: usize,
    /// Lines with a `//` comment that is no documentation.
    pub(crate) line_comments: usize,
}

impl ProseCounts {
    /// Adds the comments of one file. Code between fences is skipped.
    pub(crate) fn add_comments(&mut self, comments: &[String]) {
        let mut in_code = false;
        let mut words = Vec::new();
        for comment in comments {
            let is_doc = ["///", "//!", "/**"]
                .iter()
                .any(|it| comment.starts_with(it));
            self.line_comments += usize::from(!is_doc);
            let text = comment.trim_start_matches(['/', '!', '*']);
            if text.trim_start().starts_with("```") {
                in_code = !in_code;
            } else if !in_code {
                words.extend(words_of(text));
            }
        }
        self.words += words.len();
        self.vague += words
            .iter()
            .filter(|it| VAGUE.contains(&it.as_str()))
            .count();
        self.free_relatives += words.windows(2).filter(|pair| is_clause(pair)).count();
    }

    /// How often a count occurs in a thousand words.
    #[expect(
        clippy::cast_precision_loss,
        reason = "counts of words in one workspace"
    )]
    pub(crate) fn per_thousand(&self, count: usize) -> f64 {
        count as f64 * 1000.0 / self.words.max(1) as f64
    }
}

fn is_clause(pair: &[String]) -> bool {
    match pair[0].as_str() {
        "what" | "who" => CLAUSE.contains(&pair[1].as_str()),
        "those" => ["that", "who", "which"].contains(&pair[1].as_str()),
        _ => false,
    }
}

/// Words in lower case, code spans left out.
fn words_of(text: &str) -> Vec<String> {
    let prose = text.split('`').step_by(2);
    let words =
        prose.flat_map(|part| part.split(|letter: char| !letter.is_alphabetic() && letter != '\''));
    words
        .filter(|word| !word.is_empty())
        .map(str::to_lowercase)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vague_words_and_free_relatives_are_counted_outside_of_code() {
        let mut counts = ProseCounts::default();
        let comments = [
            "/// What is kept for whoever asks, and those that `nobody` knows.",
            "/// ```",
            "/// anything",
            "/// ```",
            "// Whatever.",
        ];
        counts.add_comments(&comments.map(ToOwned::to_owned));
        let expected = ProseCounts {
            words: 11,
            vague: 2,
            free_relatives: 2,
            line_comments: 1,
        };
        assert_eq!(counts, expected);
    }
}
