//! Makes sections of the text behind a command's options: the generator puts all of it into one.

use std::fmt::Write as _;

/// How the generator calls it.
const EXTRA: &str = ".SH EXTRA\n";

/// The page with a section for each paragraph that has a heading, such as examples and exit codes, and one for all other
/// paragraphs.
pub(super) fn section_pages(page: &str) -> String {
    let Some((before, extra)) = page.split_once(EXTRA) else {
        return page.to_owned();
    };
    let (extra, after) = extra.split_at(extra.find("\n.SH ").map_or(extra.len(), |end| end + 1));
    let mut sections = String::new();
    let mut notes = String::new();
    for paragraph in extra.split("\n\n").map(|text| text.trim_matches('\n')) {
        match split_heading(paragraph) {
            Some((heading, lines)) => {
                let heading = section_name(heading);
                // As they were written: the formatter would fill lines up as if they were prose.
                let _ = write!(sections, ".SH {heading}\n.nf\n{lines}\n.fi\n");
            }
            None if paragraph.is_empty() => {}
            None => {
                let _ = write!(notes, ".PP\n{paragraph}\n");
            }
        }
    }
    if !notes.is_empty() {
        sections = format!("{sections}.SH NOTES\n{notes}");
    }
    format!("{before}{sections}{after}")
}

/// A heading, and indented lines below it.
fn split_heading(paragraph: &str) -> Option<(&str, &str)> {
    let (heading, lines) = paragraph.split_once('\n')?;
    let is_indented = lines.lines().all(|line| line.starts_with("  "));
    heading
        .strip_suffix(':')
        .filter(|_| is_indented)
        .map(|heading| (heading, lines))
}

/// The usual name of a section in man pages.
fn section_name(heading: &str) -> String {
    let first = heading.split(',').next().unwrap_or(heading);
    match first {
        "Exit codes" => r#""EXIT STATUS""#.to_owned(),
        other => format!(r#""{}""#, other.to_uppercase()),
    }
}

#[cfg(test)]
mod tests {
    use super::section_pages;

    #[test]
    fn man_page_headings_become_sections_and_other_text_becomes_notes() {
        let page = ".SH OPTIONS\nx\n.SH EXTRA\nExamples:\n  one\n  two\n\nWords.\n\nExit codes:\n  0   fine\n\nMore.\n.SH VERSION\nv1\n";
        let expected = ".SH OPTIONS\nx\n.SH \"EXAMPLES\"\n.nf\n  one\n  two\n.fi\n.SH \"EXIT STATUS\"\n.nf\n  0   fine\n.fi\n.SH NOTES\n.PP\nWords.\n.PP\nMore.\n.SH VERSION\nv1\n";
        assert_eq!(section_pages(page), expected);
        assert_eq!(section_pages(".SH OPTIONS\n"), ".SH OPTIONS\n");
    }
}
