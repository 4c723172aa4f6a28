//! An edit of a text: where `old_string` is, and the text with `new_string` there.
//!
//! The place is found as Gemini CLI finds it: letter for letter, then line by line without indentation, then word by word, then
//! nearly. Gemini CLI then puts the new text there with the indentation of the first line, which damages all that is indented
//! otherwise. Here the *change* from `old_string` to `new_string` is made to the lines that are really there ([`merge`]), and
//! an edit that cannot be made so is refused.

mod indent;
mod merge;
mod nearest;
mod search;

pub(super) use nearest::nearest_place_hint;

use search::Found;

/// An edit that a model asks for. Line ends are LF.
#[derive(Debug, Clone, Copy)]
pub(super) struct EditRequest<'a> {
    pub(super) text: &'a str,
    pub(super) old: &'a str,
    pub(super) new: &'a str,
    pub(super) allow_multiple: bool,
}

/// The result of an edit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum EditResult {
    /// The text with the edit in it.
    Edited {
        text: String,
        occurrences: usize,
        /// The lines, counted from 1, of places that are only nearly the same.
        nearly: Vec<(usize, usize)>,
    },
    /// The old text is nowhere.
    Missing,
    /// The old text is in more than one place.
    Ambiguous(usize),
    /// Old and new are the same.
    Unchanged,
    /// The place is found, but not what to write there.
    Unclear {
        lines: (usize, usize),
        why: &'static str,
    },
}

/// Makes an edit.
pub(super) fn edit_text(request: EditRequest<'_>) -> EditResult {
    if request.old.is_empty() {
        return EditResult::Missing;
    }
    let count = request.text.matches(request.old).count();
    if count > 0 {
        return early_result(request, count).unwrap_or_else(|| {
            let text = request.text.replace(request.old, request.new);
            EditResult::Edited {
                text: with_end_of(request.text, text),
                occurrences: count,
                nearly: Vec::new(),
            }
        });
    }
    for search in [
        search::by_line,
        search::by_word,
        search::nearly_equal_places,
    ] {
        let found = search(request);
        if !found.is_empty() {
            return early_result(request, found.len())
                .unwrap_or_else(|| merged_result(request, &found));
        }
    }
    EditResult::Missing
}

fn early_result(request: EditRequest<'_>, count: usize) -> Option<EditResult> {
    if count > 1 && !request.allow_multiple {
        Some(EditResult::Ambiguous(count))
    } else if request.old == request.new {
        Some(EditResult::Unchanged)
    } else {
        None
    }
}

/// Makes the change at every place, from the last to the first.
fn merged_result(request: EditRequest<'_>, found: &[Found]) -> EditResult {
    let mut text = request.text.to_owned();
    for place in found.iter().rev() {
        match merge::merge_change(
            request.old,
            request.new,
            &request.text[place.start..place.end],
        ) {
            Ok(lines) => text.replace_range(place.start..place.end, &lines),
            Err(why) => {
                return EditResult::Unclear {
                    lines: place.line_numbers(request.text),
                    why,
                };
            }
        }
    }
    let nearly = found.iter().filter(|place| place.is_nearly);
    EditResult::Edited {
        text: with_end_of(request.text, text),
        occurrences: found.len(),
        nearly: nearly
            .map(|place| place.line_numbers(request.text))
            .collect(),
    }
}

/// A text that ends with a line end exactly if the old one did.
fn with_end_of(old: &str, mut text: String) -> String {
    match (old.ends_with('\n'), text.ends_with('\n')) {
        (true, false) => text.push('\n'),
        (false, true) => {
            text.pop();
        }
        _ => {}
    }
    text
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn made(text: &str, old: &str, new: &str) -> String {
        let request = EditRequest {
            text,
            old,
            new,
            allow_multiple: false,
        };
        match edit_text(request) {
            EditResult::Edited { text, .. } => text,
            other => format!("{other:?}"),
        }
    }

    #[test]
    fn lost_indentation_comes_back() {
        let text = "fn main() {\n    if x {\n        go();\n    }\n}\n";
        let expected = "fn main() {\n    if x {\n        stop();\n    }\n}\n";
        assert_eq!(
            made(text, "if x {\ngo();\n}\n", "if x {\nstop();\n}\n"),
            expected
        );
        let expected = "fn main() {\n    if y {\n        go();\n    }\n}\n";
        assert_eq!(
            made(
                text,
                "fn main() {\nif x {\ngo();\n}",
                "fn main() {\nif y {\ngo();\n}"
            ),
            expected
        );
    }

    #[test]
    fn a_block_that_is_moved_in_keeps_its_shape() {
        let text = "    a();\n    b();\n";
        assert_eq!(
            made(text, "a();\nb();", "if x {\n  a();\n}\nb();"),
            "    if x {\n      a();\n    }\n    b();\n"
        );
    }

    #[test]
    fn tabs_in_the_file_stay_tabs() {
        let text = "fn f() {\n\tone();\n\tif x {\n\t\ttwo();\n\t}\n}\n";
        let old = "fn f() {\n    one();\n    if x {\n        two();\n    }\n}";
        let new = "fn f() {\n    if x {\n        one();\n        two();\n    }\n}";
        let expected = "fn f() {\n\tif x {\n\t\tone();\n\t\ttwo();\n\t}\n}\n";
        assert_eq!(made(text, old, new), expected);
    }

    #[test]
    fn lines_that_the_model_did_not_know_survive() {
        let text = "start();\nlet count = compute_the_total(of, all, lines);\n\nfinish(count);\n";
        let old = "start();\nlet count = compute_the_total(of, all, lines);\nfinish(count);";
        let new = "begin();\nlet count = compute_the_total(of, all, lines);\nfinish(count);";
        let expected =
            "begin();\nlet count = compute_the_total(of, all, lines);\n\nfinish(count);\n";
        assert_eq!(made(text, old, new), expected);
    }

    #[test]
    fn a_stale_line_is_kept_where_the_edit_does_not_touch_it() {
        let text = "first line of the block\nsecond line is newer here\nthird line of the block\nfourth line of it\n";
        let old = "first line of the block\nsecond line is never here\nthird line of the block\nfourth line of it\n";
        let new = old.replace("third line", "3rd line");
        let expected = text.replace("third line", "3rd line");
        assert_eq!(made(text, old, &new), expected);
        let new = old.replace("never", "always");
        assert!(made(text, old, &new).starts_with("Unclear"));
    }

    proptest! {
        #[test]
        fn any_edit_ends_and_an_exact_one_changes_nothing_else(
            text in "[ab \\t\\n(){}=é]{0,60}",
            old in "[ab \\t\\n(){}=é]{1,12}",
            new in "[ab \\t\\n(){}=é]{0,12}",
        ) {
            let result = edit_text(EditRequest { text: &text, old: &old, new: &new, allow_multiple: false });
            if text.matches(old.as_str()).count() == 1 && old != new {
                let expected = with_end_of(&text, text.replacen(&old, &new, 1));
                prop_assert_eq!(result, EditResult::Edited { text: expected, occurrences: 1, nearly: Vec::new() });
            }
        }
    }
}
