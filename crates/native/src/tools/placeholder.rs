//! Lines by which a model leaves out code instead of writing it: `// rest of methods ...`.

use lapidary_gemini::js;

const PREFIXES: [&str; 7] = [
    "rest of",
    "rest of method",
    "rest of methods",
    "rest of code",
    "unchanged code",
    "unchanged method",
    "unchanged methods",
];

/// The placeholders in a text, as prefix.
pub(super) fn find_placeholders(text: &str) -> Vec<String> {
    text.split('\n').filter_map(placeholder_prefix).collect()
}

fn placeholder_prefix(line: &str) -> Option<String> {
    let mut text = js::trim(line);
    if let Some(comment) = text.strip_prefix("//") {
        text = js::trim(comment);
    }
    if text.len() > 1
        && let Some(inside) = text
            .strip_prefix('(')
            .and_then(|text| text.strip_suffix(')'))
    {
        text = js::trim(inside);
    }
    let (prefix, suffix) = text.split_once("...")?;
    let prefix = js::trim(prefix).to_lowercase();
    let prefix: Vec<_> = prefix
        .split([' ', '\t', '\n', '\r'])
        .filter(|word| !word.is_empty())
        .collect();
    let prefix = prefix.join(" ");
    let is_end = js::trim(suffix).chars().all(|letter| letter == '.');
    (PREFIXES.contains(&prefix.as_str()) && is_end).then_some(prefix)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_that_stands_for_others_is_known() {
        for line in [
            "// rest of code ...",
            "(rest of methods ...)",
            "Unchanged  code....",
            "rest of ...",
        ] {
            assert_eq!(find_placeholders(line).len(), 1, "{line}");
        }
        for line in [
            "...",
            "rest of it ...",
            "// rest of code ... and more",
            "let x = rest of code...;",
            "(",
        ] {
            assert_eq!(find_placeholders(line).len(), 0, "{line}");
        }
    }
}
