//! Searches the texts of sessions while the user types.

use std::collections::HashMap;
use std::path::Path;

use lapidary::render::live::MarkSet;
use lapidary::sessions::TextMatch;
use lapidary::sessions::search::SearchProgress;

use super::list::{EntryFiles, ListSnippet};
use super::sources::BrowsedProjects;
use super::text::one_line;
use super::title_terms::as_search;

/// Sessions, as places among the entries, and where each says it if that is known.
pub(super) type FoundPlaces = Vec<(usize, Option<ListSnippet>)>;

/// The matches of `sessions search` in listed files. None if the search was given up.
pub(super) fn find_matches(
    sources: &BrowsedProjects,
    query: &str,
    files: &EntryFiles,
    marks: MarkSet,
    watch: &SearchProgress<'_>,
) -> Option<FoundPlaces> {
    let hits = sources.search_sessions(&as_search(query), watch)?;
    let files = files.iter().map(|(place, path)| (path.as_path(), *place));
    let places: HashMap<&Path, usize> = files.collect();
    let found = hits.iter().filter_map(|hit| {
        let place = places.get(hit.session.path.as_path())?;
        let first = hit.snippets.first();
        Some((*place, first.map(|first| list_snippet(first, marks))))
    });
    Some(found.collect())
}

fn list_snippet(found: &TextMatch, marks: MarkSet) -> ListSnippet {
    ListSnippet {
        before: one_line(&found.before, marks),
        matched: one_line(&found.matched, marks),
        after: one_line(&found.after, marks),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_search_snippet_contains_no_terminal_escapes() {
        let found = TextMatch {
            before: "\u{1b}[2Ja ".to_owned(),
            matched: "needle".to_owned(),
            after: "\u{202e}\u{7}".to_owned(),
            role: "user".to_owned(),
            tool: None,
            message: Some(1),
        };
        let snippet = list_snippet(&found, MarkSet::Unicode);
        assert_eq!(
            (snippet.before.as_str(), snippet.matched.as_str()),
            ("a ", "needle")
        );
        assert_eq!(snippet.after, "\\u{202e}");
    }
}
